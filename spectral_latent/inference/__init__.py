"""Infer over forests: the one inside-outside engine, decoding, sampling, and means over the trees of a model."""

from spectral_latent._compiled import by_python
from spectral_latent.inference._checks import check_forest
from spectral_latent.inference._kernels import ScaledVectors
from spectral_latent.inference.decoding import Derivation, Derivations, n_best_derivations
from spectral_latent.inference.inside_outside import (
    SignedLog,
    edge_marginals,
    expected_counts,
    inside,
    marginals,
    outside,
    state_posteriors,
    total_weight,
    tree_weights,
)
from spectral_latent.inference.sampling import SampledTrees, sample_trees
from spectral_latent.inference.sums import LeftCorners, collapse, mean_inside_vectors, mean_node_counts

__all__ = [
    "Derivation",
    "Derivations",
    "LeftCorners",
    "SampledTrees",
    "ScaledVectors",
    "SignedLog",
    "by_python",
    "check_forest",
    "collapse",
    "edge_marginals",
    "expected_counts",
    "inside",
    "marginals",
    "mean_inside_vectors",
    "mean_node_counts",
    "n_best_derivations",
    "outside",
    "sample_trees",
    "state_posteriors",
    "total_weight",
    "tree_weights",
]
