"""Learn latent-variable PCFGs from constituency trees, and parse with them."""

from spectral_latent.constituency.annotation import (
    Doubt,
    Repair,
    Suggestion,
    check_trees,
    repair,
    repair_all,
    suggest_trees,
)
from spectral_latent.constituency.cleaning import Changes, base_label, clean
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
from spectral_latent.constituency.training import prepare
from spectral_latent.constituency.tree import Constituent, Phrase
from spectral_latent.constituency.workbench import Workbench

__all__ = [
    "FALLBACK",
    "Binarisation",
    "Bracket",
    "Changes",
    "ConstituencyModel",
    "ConstituencyOptions",
    "Constituent",
    "Doubt",
    "PartialPhrase",
    "Phrase",
    "PhraseConstraints",
    "PhraseGrammar",
    "PhraseSymbol",
    "Repair",
    "SpanOptions",
    "Suggestion",
    "Workbench",
    "base_label",
    "check_trees",
    "clean",
    "partial_phrase",
    "prepare",
    "preset",
    "repair",
    "repair_all",
    "self_train",
    "suggest_trees",
    "unknown_phrase",
]
