"""Learn latent-variable PCFGs from constituency trees, and parse with them."""

from spectral_latent.constituency.cleaning import Changes, base_label, clean
from spectral_latent.constituency.constituents import Constituent
from spectral_latent.constituency.constraints import (
    Bracket,
    PartialPhrase,
    PhraseConstraints,
    partial_phrase,
    unknown_phrase,
)
from spectral_latent.constituency.conversion import Binarisation, PhraseSymbol
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.model import ConstituencyModel
from spectral_latent.constituency.options import ConstituencyOptions
from spectral_latent.constituency.parsing import FALLBACK
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.constituency.presets import preset
from spectral_latent.constituency.self_training import self_train
from spectral_latent.constituency.spans import SpanOptions
from spectral_latent.constituency.training import prepare

__all__ = [
    "FALLBACK",
    "Binarisation",
    "Bracket",
    "Changes",
    "ConstituencyModel",
    "ConstituencyOptions",
    "Constituent",
    "PartialPhrase",
    "Phrase",
    "PhraseConstraints",
    "PhraseGrammar",
    "PhraseSymbol",
    "SpanOptions",
    "base_label",
    "clean",
    "partial_phrase",
    "prepare",
    "preset",
    "self_train",
    "unknown_phrase",
]
