"""Plot singular values, traces of EM and errors by sample size, with matplotlib, which the extra `pictures` installs.

Lines differ in their markers, and in colours that the colour-blind can tell apart, of the palette of Okabe and Ito.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from spectral_latent.inspection import NamedOperators
from spectral_latent.trees import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["needs_matplotlib", "plot_errors", "plot_objectives", "plot_spectra", "slope_of"]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_MARKERS = "os^Dv<>"
_CONVERGES = -0.1  # errors with a larger slope do not fall as the sample grows


@contextmanager
def needs_matplotlib() -> Iterator[None]:
    """Turn the error of a missing matplotlib into one that says how to install it.

    >>> with needs_matplotlib():
    ...     raise ImportError("no matplotlib")
    Traceback (most recent call last):
    ImportError: pictures need matplotlib; run `pip install matplotlib`
    """
    try:
        yield
    except ImportError:
        raise ImportError("pictures need matplotlib; run `pip install matplotlib`") from None


def _axes(axes: Axes | None, **labels: Any) -> Axes:
    """Make axes if none are given, and label them."""
    if axes is None:
        with needs_matplotlib():
            from matplotlib import pyplot

        axes = pyplot.figure(figsize=(6.4, 4.0), layout="constrained").subplots()
    axes.set(**labels)
    axes.grid(which="major", color="0.5", alpha=0.25, linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _style(number: int) -> dict[str, Any]:
    """Choose the colour and the marker of a line."""
    return {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKERS[number % len(_MARKERS)], "markersize": 4.5}


def plot_spectra(named: NamedOperators, symbols: Sequence[str], axes: Axes | None = None) -> Axes:
    """Plot the singular values of symbols; the values beyond the number of states are hollow.

    named: operators with names.
    symbols: the names of the symbols.
    axes: the axes to plot on; None for a new figure.

    Raises ValueError for a symbol without singular values, and ImportError without matplotlib.

    >>> from spectral_latent import ConstituencyModel
    >>> from spectral_latent.corpora.embedded import embedded_treebank
    >>> model = ConstituencyModel.train(embedded_treebank(60))
    >>> [text.get_text() for text in plot_spectra(model.named_operators, ["NP", "VP"]).get_legend().get_texts()]
    ['NP: m = 24', 'VP: m = 23']
    """
    axes = _axes(axes, xlabel="direction", ylabel="singular value", yscale="log")
    for number, symbol in enumerate(symbols):
        if symbol not in named.symbols or not (values := named.spectrum(symbol)):
            raise ValueError(f"the model has no singular values of {symbol!r}")
        m = int(named.operators.states[named.symbols.index(symbol)])
        style = _style(number)
        place = np.arange(1, len(values) + 1)
        axes.plot(place, values, label=f"{symbol}: m = {m}", **style)
        axes.plot(place[m:], values[m:], **style, linestyle="none", markerfacecolor="white")
    axes.legend(frameon=False)
    return axes


def plot_objectives(traces: Mapping[str, Sequence[float]], axes: Axes | None = None) -> Axes:
    """Plot how far each iteration of EM has raised its objective above the start.

    traces: the objective at the start and after each iteration, by the name of the model.
    axes: the axes to plot on; None for a new figure.

    Raises ImportError without matplotlib.

    >>> axes = plot_objectives({"phrases": [-300.0, -200.0, -150.0]})
    >>> axes.get_lines()[0].get_ydata().tolist()
    [0.0, 100.0, 150.0]
    """
    axes = _axes(axes, xlabel="iteration of EM", ylabel="objective above the start")
    for number, (name, trace) in enumerate(traces.items()):
        axes.plot(np.arange(len(trace)), np.subtract(trace, trace[0]), label=name, **_style(number))
    axes.legend(frameon=False)
    return axes


def slope_of(sizes: Sequence[int], errors: FloatArray) -> tuple[float, float]:
    """Fit log error to log size by least squares, and return the slope and the intercept.

    sizes: the sizes of samples.
    errors: (sizes, seeds) the error of each sample.

    >>> slope, _ = slope_of([1, 100], np.array([[1.0], [0.1]]))
    >>> round(slope, 6)
    -0.5
    """
    slope, intercept = np.polyfit(np.log(sizes), np.log(errors).mean(axis=1), 1)
    return float(slope), float(intercept)


def plot_errors(sizes: Sequence[int], errors: Mapping[str, FloatArray], axes: Axes | None = None) -> Axes:
    """Plot the errors of samples by their sizes, on logarithmic axes.

    A line is fitted to the errors of each estimator.  If they do not fall, a dashed line joins their geometric means.

    sizes: the sizes of samples.
    errors: (sizes, seeds) the error of each sample, by the name of the estimator.
    axes: the axes to plot on; None for a new figure.

    Raises ImportError without matplotlib.

    >>> axes = plot_errors([1, 100], {"spectral": np.array([[1.0], [0.1]])})
    >>> axes.get_legend().get_texts()[0].get_text()
    'spectral: slope −0.50'
    """
    axes = _axes(axes, xlabel="size of the sample", ylabel="error", xscale="log", yscale="log")
    ends = np.array([min(sizes), max(sizes)])
    for number, (name, of_estimator) in enumerate(errors.items()):
        style = _style(number)
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
