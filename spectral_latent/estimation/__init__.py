"""Estimation of observable operators from skeletal trees."""

from spectral_latent.estimation.choice import search_states
from spectral_latent.estimation.clustering import cluster_states, clustering, from_states
from spectral_latent.estimation.em import (
    Climb,
    Counts,
    climb,
    expectation,
    expectation_maximisation,
    maximisation,
    moments_of,
    random_start,
)
from spectral_latent.estimation.estimators import estimate
from spectral_latent.estimation.features import FeatureColumns, above, inside_templates, joint, outside_templates
from spectral_latent.estimation.mapping import mapped
from spectral_latent.estimation.moments import LeafMoments, Moments
from spectral_latent.estimation.options import (
    EstimationError,
    EstimatorName,
    EstimatorOptions,
    Listener,
    LoweredStates,
    Progress,
    TrainingData,
    silent,
)
from spectral_latent.estimation.passes import ShardedMoments, moments_of_shards
from spectral_latent.estimation.pivots import StateViews, pivot_counts, pivot_start, pivots, state_views
from spectral_latent.estimation.projections import (
    ProjectedTrees,
    ProjectedViews,
    project,
    project_trees,
    states_for,
    svd_of,
    truncated_svd,
)
from spectral_latent.estimation.shards import Shard, ShardedData, SomeTrees, StoredShards, tally_of
from spectral_latent.estimation.simplex import ConvexWeights, anchors, convex_weights
from spectral_latent.estimation.smoothing import LeafSmoothing, RuleCounts, Unseen, confidence, normalised, solve
from spectral_latent.estimation.spectral import (
    draw_one_node_per_tree,
    relative_frequencies,
    spectral,
    spectral_moments,
    spectral_operators,
)
from spectral_latent.estimation.tally import Tally

__all__ = [
    "Climb",
    "ConvexWeights",
    "Counts",
    "EstimationError",
    "EstimatorName",
    "EstimatorOptions",
    "FeatureColumns",
    "LeafMoments",
    "LeafSmoothing",
    "Listener",
    "LoweredStates",
    "Moments",
    "Progress",
    "ProjectedTrees",
    "ProjectedViews",
    "RuleCounts",
    "Shard",
    "ShardedData",
    "ShardedMoments",
    "SomeTrees",
    "StateViews",
    "StoredShards",
    "Tally",
    "TrainingData",
    "Unseen",
    "above",
    "anchors",
    "climb",
    "cluster_states",
    "clustering",
    "confidence",
    "convex_weights",
    "draw_one_node_per_tree",
    "estimate",
    "expectation",
    "expectation_maximisation",
    "from_states",
    "inside_templates",
    "joint",
    "mapped",
    "maximisation",
    "moments_of",
    "moments_of_shards",
    "normalised",
    "outside_templates",
    "pivot_counts",
    "pivot_start",
    "pivots",
    "project",
    "project_trees",
    "random_start",
    "relative_frequencies",
    "search_states",
    "silent",
    "solve",
    "spectral",
    "spectral_moments",
    "spectral_operators",
    "state_views",
    "states_for",
    "svd_of",
    "tally_of",
    "truncated_svd",
]
