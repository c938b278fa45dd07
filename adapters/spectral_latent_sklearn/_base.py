"""Hold the base of estimators over lists of sequences or trees, whose models have latent states."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from spectral_latent._names import EstimatorName
from spectral_latent._options import Count, checked
from spectral_latent.estimation import Estimator, EstimatorOptions
from spectral_latent_sklearn._checks import seed_of

__all__ = ["LatentEstimator"]


class LatentEstimator(BaseEstimator):
    """Base of estimators over lists of examples.

    n_states: the largest number of latent states of a tag or a label.
    estimator: the way to find states, as `spectral_latent.estimation.EstimatorOptions` names it.
    random_state: the source of the starts of clusters and of random states.
    """

    def __init__(
        self, n_states: int = 8, *, estimator: EstimatorName = "clusters-em", random_state: Any = None
    ) -> None:
        self.n_states = n_states
        self.estimator = estimator
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _estimator_options(self) -> Estimator:
        """Make the options of training.  Raises ValueError for a parameter out of range."""
        checked("n_states", self.n_states, Count)
        return EstimatorOptions(self.estimator, n_states=int(self.n_states), seed=seed_of(self.random_state))
