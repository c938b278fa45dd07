"""Estimation of observable operators from skeletal trees."""

from spectral_latent.estimation.features import FeatureColumns, above, inside_templates, joint, outside_templates
from spectral_latent.estimation.moments import LeafMoments, Moments
from spectral_latent.estimation.projections import ProjectedViews, project, states_for, truncated_svd
from spectral_latent.estimation.smoothing import LeafSmoothing, confidence, solve
from spectral_latent.estimation.spectral import EstimationError, SpectralOptions, relative_frequencies, spectral

__all__ = [
    "EstimationError",
    "FeatureColumns",
    "LeafMoments",
    "LeafSmoothing",
    "Moments",
    "ProjectedViews",
    "SpectralOptions",
    "above",
    "confidence",
    "inside_templates",
    "joint",
    "outside_templates",
    "project",
    "relative_frequencies",
    "solve",
    "spectral",
    "states_for",
    "truncated_svd",
]
