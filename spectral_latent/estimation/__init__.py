"""Estimation of observable operators from treebanks of skeletal trees."""

from spectral_latent._names import ESTIMATORS, EstimatorName
from spectral_latent.estimation._choice import search_states
from spectral_latent.estimation._clustering import Clusters, state_counts
from spectral_latent.estimation._em import has_converged, run_em
from spectral_latent.estimation._estimators import (
    Estimate,
    estimate,
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
from spectral_latent.estimation._formalism import Formalism, read_treebanks
from spectral_latent.estimation._low_rank import low_rank_operators
from spectral_latent.estimation._moments import LeafMoments, Moments
from spectral_latent.estimation._options import (
    EstimationError,
    EstimatorOptions,
    Listener,
    Progress,
    silent,
)
from spectral_latent.estimation._parallel import parallel_map
from spectral_latent.estimation._progress import ProgressLine, shown
from spectral_latent.estimation._projections import Projection, states_for, truncated_svd
from spectral_latent.estimation._simplex import anchors, convex_weights
from spectral_latent.estimation._smoothing import operators_from_moments
from spectral_latent.estimation._treebank import (
    SHARD_NODES,
    Columns,
    ColumnStore,
    Priors,
    Shard,
    SkeletalShard,
    Treebank,
    TreebankCounts,
    TreebankShard,
)

__all__ = [
    "ESTIMATORS",
    "SHARD_NODES",
    "Clusters",
    "ColumnStore",
    "Columns",
    "Estimate",
    "EstimationError",
    "EstimatorName",
    "EstimatorOptions",
    "FeatureColumns",
    "Formalism",
    "LeafMoments",
    "Listener",
    "Moments",
    "Priors",
    "Progress",
    "ProgressLine",
    "Projection",
    "Shard",
    "SkeletalShard",
    "Treebank",
    "TreebankCounts",
    "TreebankShard",
    "anchors",
    "convex_weights",
    "estimate",
    "has_converged",
    "hash_columns",
    "inside_templates",
    "low_rank_operators",
    "operators_from_moments",
    "outside_templates",
    "parallel_map",
    "read_treebanks",
    "relative_frequencies",
    "rule_names",
    "run_em",
    "search_states",
    "shown",
    "silent",
    "spectral_moments",
    "state_counts",
    "states_for",
    "truncated_svd",
]
