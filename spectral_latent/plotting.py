"""Plot matrices, singular values and traces of EM, with matplotlib, which the extra `pictures` installs.

Lines differ in their markers, and in colours that the colour-blind can tell apart, of the palette of Okabe and Ito.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spectral_latent.inspection import NamedOperators

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

__all__ = ["plot_matrices", "plot_objectives", "plot_spectra"]

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_MARKERS = "os^Dv<>"
_WRITTEN = 25  # the most numbers of a matrix that are written in its squares
_DARKEST = 1e-12  # a matrix of smaller numbers is drawn as zeros


def _pyplot() -> Any:
    """Import pyplot; the error of a missing matplotlib says how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("pictures need matplotlib; run `pip install matplotlib`") from None
    return pyplot


def _axes(**labels: Any) -> Axes:
    """Make axes with labels."""
    axes: Axes = _pyplot().figure(figsize=(6.4, 4.0), layout="constrained").subplots()
    axes.set(**labels)
    axes.grid(which="major", color="0.5", alpha=0.25, linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _style(number: int) -> dict[str, Any]:
    """Choose the colour and the marker of a line."""
    return {"color": _COLOURS[number % len(_COLOURS)], "marker": _MARKERS[number % len(_MARKERS)], "markersize": 4.5}


def plot_spectra(named: NamedOperators, symbols: Sequence[str]) -> Axes:
    """Plot the singular values of symbols; the values beyond the number of states are hollow."""
    axes = _axes(xlabel="direction", ylabel="singular value", yscale="log")
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


def plot_objectives(traces: Mapping[str, Sequence[float]]) -> Axes:
    """Plot how far each iteration of EM has raised its objective above the start."""
    axes = _axes(xlabel="iteration of EM", ylabel="objective above the start")
    for number, (name, trace) in enumerate(traces.items()):
        axes.plot(np.arange(len(trace)), np.subtract(trace, trace[0]), label=name, **_style(number))
    axes.legend(frameon=False)
    return axes


def plot_matrices(matrices: Mapping[str, ArrayLike]) -> Figure:
    """Plot matrices side by side: blue squares for numbers above zero, red ones for those below.

    matrices: each matrix (n, d), or vector (d,), by its name.  Small ones have their numbers written in."""
    tables = {name: np.atleast_2d(np.asarray(matrix, dtype=np.float64)) for name, matrix in matrices.items()}
    drawn: Figure = _pyplot().figure(figsize=(2.6 * len(tables), 2.6), layout="constrained")
    places = drawn.subplots(1, len(tables), squeeze=False)[0]
    for axes, (name, table) in zip(places, tables.items(), strict=True):
        largest = float(np.abs(table).max(initial=_DARKEST))
        axes.imshow(table, cmap="RdBu", vmin=-largest, vmax=largest)
        axes.set(title=name, xticks=[], yticks=[])
        for (row, column), number in np.ndenumerate(table) if table.size <= _WRITTEN else ():
            colour = "white" if abs(number) > largest / 2 else "black"
            axes.text(column, row, f"{number:.2f}", ha="center", va="center", color=colour, fontsize=8)
    return drawn
