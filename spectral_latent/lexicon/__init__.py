"""Number words and the signatures of unseen words, smooth their emissions, and find the leaf rules of sentences."""

from spectral_latent.lexicon.buckets import (
    BucketArray,
    HashArray,
    Templates,
    descend,
    find_words,
    hash_features,
    hash_name,
    hash_to_ends,
    round_weights,
    sum_weights,
)
from spectral_latent.lexicon.choices import JudgeOptions
from spectral_latent.lexicon.lexicon import EncodedWords, Lexicon, LexiconOptions, WordEncoder
from spectral_latent.lexicon.smoothing import EmissionSmoothing
from spectral_latent.lexicon.spelling import Signature, SpellingModel, SpellingOptions, WordCounts, signatures

__all__ = [
    "BucketArray",
    "EmissionSmoothing",
    "EncodedWords",
    "HashArray",
    "JudgeOptions",
    "Lexicon",
    "LexiconOptions",
    "Signature",
    "SpellingModel",
    "SpellingOptions",
    "Templates",
    "WordCounts",
    "WordEncoder",
    "descend",
    "find_words",
    "hash_features",
    "hash_name",
    "hash_to_ends",
    "round_weights",
    "signatures",
    "sum_weights",
]
