"""Learn latent-variable PCFGs from constituency trees, and parse with them."""

from spectral_latent._names import ConstituencyPresetName
from spectral_latent.constituency.cleaning import Changes, base_label, clean, tagged_words, without_functions
from spectral_latent.constituency.constraints import (
    Bracket,
    PartialPhrase,
    PhraseConstraints,
    partial_phrase,
    unknown_phrase,
)
from spectral_latent.constituency.conversion import Binarisation, PhraseSymbol
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.model import FALLBACK, ConstituencyModel, self_train
from spectral_latent.constituency.options import ConstituencyOptions, SpanOptions, preset
from spectral_latent.constituency.sums import ModelSums
from spectral_latent.constituency.training import prepare
from spectral_latent.constituency.tree import Constituent, FlatPhrases, Phrase, list_constituents

__all__ = [
    "FALLBACK",
    "Binarisation",
    "Bracket",
    "Changes",
    "ConstituencyModel",
    "ConstituencyOptions",
    "ConstituencyPresetName",
    "Constituent",
    "FlatPhrases",
    "ModelSums",
    "PartialPhrase",
    "Phrase",
    "PhraseConstraints",
    "PhraseGrammar",
    "PhraseSymbol",
    "SpanOptions",
    "base_label",
    "clean",
    "list_constituents",
    "partial_phrase",
    "prepare",
    "preset",
    "self_train",
    "tagged_words",
    "unknown_phrase",
    "without_functions",
]
