"""Turn hidden Markov models into those of hmmlearn, and back: the same states, with the same likelihoods."""

from __future__ import annotations

from typing import Any

import numpy as np

from spectral_latent_sklearn._markov import SpectralGaussianHMM, SpectralHMM


def to_hmmlearn(estimator: SpectralHMM | SpectralGaussianHMM) -> Any:
    """Make hmmlearn's `CategoricalHMM` or `GaussianHMM` of a fitted estimator.

    estimator: a fitted estimator that has states.  hmmlearn numbers categories: number i is `estimator.categories_[i]`.

    Raises ModuleNotFoundError if hmmlearn is not installed, and ValueError if the estimator has no states."""
    from hmmlearn.hmm import CategoricalHMM, GaussianHMM

    if not hasattr(estimator, "transmat_"):
        raise ValueError("the estimator has no states; fit it first, and with moments-em, em or anchors")
    model: Any
    if isinstance(estimator, SpectralHMM):
        model = CategoricalHMM(n_components=len(estimator.startprob_))
        model.n_features = estimator.emissionprob_.shape[1]
        model.emissionprob_ = estimator.emissionprob_
    else:
        model = GaussianHMM(n_components=len(estimator.startprob_), covariance_type=estimator.covariance_type)
        model.n_features = estimator.means_.shape[1]
        model.means_ = estimator.means_
        diagonal = np.diagonal(estimator.covars_, axis1=1, axis2=2)
        model.covars_ = diagonal if estimator.covariance_type == "diag" else estimator.covars_
    model.startprob_, model.transmat_ = estimator.startprob_, estimator.transmat_
    return model


def from_hmmlearn(model: Any) -> SpectralHMM | SpectralGaussianHMM:
    """Make a fitted estimator of hmmlearn's `CategoricalHMM` or `GaussianHMM`.

    model: a model with parameters, fitted or set.  Any `covariance_type` can be read; a form other than `diag`
        becomes `full`.

    Raises ValueError for a model of another class, or one without parameters."""
    estimator: SpectralHMM | SpectralGaussianHMM
    if not hasattr(model, "transmat_"):
        raise ValueError(f"{type(model).__name__} has no parameters; fit it first")
    if hasattr(model, "emissionprob_") and type(model).__name__ == "CategoricalHMM":
        estimator = SpectralHMM(n_components=model.n_components)
        estimator.emissionprob_ = np.array(model.emissionprob_)
        estimator.categories_ = np.arange(estimator.emissionprob_.shape[1])
        estimator.n_features_in_ = 1
    elif hasattr(model, "means_") and type(model).__name__ == "GaussianHMM":
        is_diagonal = model.covariance_type == "diag"
        estimator = SpectralGaussianHMM(model.n_components, "diag" if is_diagonal else "full")
        estimator.means_ = np.array(model.means_)
        # hmmlearn returns the matrix of each state; of spherical ones it repeats each d times.
        d = estimator.means_.shape[1]
        estimator.covars_ = np.array(model.covars_).reshape(model.n_components, -1, d, d)[:, 0]
        estimator.n_features_in_ = d
    else:
        raise ValueError(f"give a CategoricalHMM or a GaussianHMM, not {type(model).__name__}")
    estimator.startprob_, estimator.transmat_ = np.array(model.startprob_), np.array(model.transmat_)
    return estimator
