"""Estimate observable operators from treebanks of skeletal trees."""

from spectral_latent.estimation._estimators import (
    EM,
    ESTIMATORS,
    Anchors,
    Clusters,
    CountsEstimator,
    Decomposition,
    Estimate,
    Estimator,
    EstimatorOptions,
    Random,
    Spectral,
    estimate,
    reestimate,
    relative_frequencies,
    spectral_moments,
)
from spectral_latent.estimation._features import (
    FeatureColumns,
    hash_columns,
    inside_templates,
    outside_templates,
    rule_names,
)
from spectral_latent.estimation._formalism import Formalism, TreeReader, read_treebanks
from spectral_latent.estimation._moments import LeafMoments, Moments, Priors
from spectral_latent.estimation._options import (
    EstimationError,
    Listener,
    Progress,
    ProjectionOptions,
    StateOptions,
    silent,
)
from spectral_latent.estimation._parallel import dismiss_workers, on_one_thread, parallel_map
from spectral_latent.estimation._projections import Projection
from spectral_latent.estimation._smoothing import operators_from_moments
from spectral_latent.estimation._treebank import (
    SHARD_NODES,
    Columns,
    Shard,
    Treebank,
    TreebankShard,
)

__all__ = [
    "EM",
    "ESTIMATORS",
    "SHARD_NODES",
    "Anchors",
    "Clusters",
    "Columns",
    "CountsEstimator",
    "Decomposition",
    "Estimate",
    "EstimationError",
    "Estimator",
    "EstimatorOptions",
    "FeatureColumns",
    "Formalism",
    "LeafMoments",
    "Listener",
    "Moments",
    "Priors",
    "Progress",
    "Projection",
    "ProjectionOptions",
    "Random",
    "Shard",
    "Spectral",
    "StateOptions",
    "TreeReader",
    "Treebank",
    "TreebankShard",
    "dismiss_workers",
    "estimate",
    "hash_columns",
    "inside_templates",
    "on_one_thread",
    "operators_from_moments",
    "outside_templates",
    "parallel_map",
    "read_treebanks",
    "reestimate",
    "relative_frequencies",
    "rule_names",
    "silent",
    "spectral_moments",
]
