"""Fit and plot how errors fall with the size of the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from spectral_latent.plotting import axes_with, line_style
from spectral_latent.trees import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_errors", "slope_of"]

_CONVERGES = -0.1  # errors with a larger slope do not fall as the sample grows


def slope_of(sizes: Sequence[int], errors: FloatArray) -> tuple[float, float]:
    """Fit log error to log size by least squares, and return the slope and the intercept.

    >>> slope, _ = slope_of([1, 100], np.array([[1.0], [0.1]]))
    >>> round(slope, 6)
    -0.5
    """
    slope, intercept = np.polyfit(np.log(sizes), np.log(errors).mean(axis=1), 1)
    return float(slope), float(intercept)


def plot_errors(sizes: Sequence[int], errors: Mapping[str, FloatArray], axes: Axes | None = None) -> Axes:
    """Plot the errors (sizes, seeds) of samples by their sizes, on logarithmic axes.

    A line is fitted to the errors of each estimator.  If they do not fall, a dashed line joins their geometric means.

    Raises ImportError without matplotlib.

    >>> axes = plot_errors([1, 100], {"spectral": np.array([[1.0], [0.1]])})
    >>> axes.get_legend().get_texts()[0].get_text()
    'spectral: slope −0.50'
    """
    axes = axes_with(axes, xlabel="size of the sample", ylabel="error", xscale="log", yscale="log")
    ends = np.array([min(sizes), max(sizes)])
    for number, (name, of_estimator) in enumerate(errors.items()):
        style = line_style(number)
        slope, intercept = slope_of(sizes, of_estimator)
        size_of_each = np.repeat(sizes, of_estimator.shape[1])
        axes.plot(size_of_each, of_estimator.ravel(), **style, linestyle="none", alpha=0.5, markeredgewidth=0)
        if slope > _CONVERGES:
            means = np.exp(np.log(of_estimator).mean(axis=1))
            axes.plot(sizes, means, "--", color=style["color"], label=f"{name}: no convergence")
        else:
            label = f"{name}: slope {slope:.2f}".replace("-", "\N{MINUS SIGN}")
            axes.plot(ends, np.exp(intercept) * ends**slope, color=style["color"], label=label)
    axes.legend(frameon=False, loc="lower left")
    return axes
