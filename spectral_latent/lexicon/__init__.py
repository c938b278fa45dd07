"""Number words and the signatures of unseen words, smooth their emissions, and find the leaf rules of sentences."""

from spectral_latent.lexicon.choices import JudgeOptions
from spectral_latent.lexicon.lexicon import EncodedWords, Lexicon, LexiconOptions, WordEncoder
from spectral_latent.lexicon.smoothing import EmissionSmoothing
from spectral_latent.lexicon.spelling import Signature, SpellingModel, SpellingOptions, WordCounts, signatures

__all__ = [
    "EmissionSmoothing",
    "EncodedWords",
    "JudgeOptions",
    "Lexicon",
    "LexiconOptions",
    "Signature",
    "SpellingModel",
    "SpellingOptions",
    "WordCounts",
    "WordEncoder",
    "signatures",
]
