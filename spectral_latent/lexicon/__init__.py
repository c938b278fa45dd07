"""Number words and the signatures of unseen words, smooth their emissions, and find the leaf rules of sentences."""

from spectral_latent.lexicon.counts import WordCounts
from spectral_latent.lexicon.lexicon import Lexicon, LexiconOptions
from spectral_latent.lexicon.signatures import Signature, signatures
from spectral_latent.lexicon.smoothing import smooth_emissions
from spectral_latent.lexicon.spelling import SpellingModel, SpellingOptions
from spectral_latent.lexicon.words import EncodedWords, WordEncoder

__all__ = [
    "EncodedWords",
    "Lexicon",
    "LexiconOptions",
    "Signature",
    "SpellingModel",
    "SpellingOptions",
    "WordCounts",
    "WordEncoder",
    "signatures",
    "smooth_emissions",
]
