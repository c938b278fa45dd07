"""Inference over forests: the one inside-outside engine, and decoding."""

from spectral_latent.inference.decoding import Derivation, best_derivation, k_best_derivations
from spectral_latent.inference.inside_outside import (
    ScaledVectors,
    Weight,
    inside,
    marginals,
    outside,
    total_weight,
    tree_weights,
)

__all__ = [
    "Derivation",
    "ScaledVectors",
    "Weight",
    "best_derivation",
    "inside",
    "k_best_derivations",
    "marginals",
    "outside",
    "total_weight",
    "tree_weights",
]
