"""Hold the latent tree model that all formalisms share: what it is asked for, and what it answers."""

from spectral_latent.model.jackknife import Estimates, Jackknife
from spectral_latent.model.latent_tree import LatentTreeModel, Member
from spectral_latent.model.parses import (
    Parse,
    Parses,
    Partial,
    check_kind,
    check_labels,
    check_sentences,
    check_trees,
    check_words,
    complete,
)
from spectral_latent.model.parts import Analysis, Parts
from spectral_latent.model.surprisal import NextWords, Prefixes, Surprisal, Unit, entropies, surprisal_of_regions

__all__ = [
    "Analysis",
    "Estimates",
    "Jackknife",
    "LatentTreeModel",
    "Member",
    "NextWords",
    "Parse",
    "Parses",
    "Partial",
    "Parts",
    "Prefixes",
    "Surprisal",
    "Unit",
    "check_kind",
    "check_labels",
    "check_sentences",
    "check_trees",
    "check_words",
    "complete",
    "entropies",
    "surprisal_of_regions",
]
