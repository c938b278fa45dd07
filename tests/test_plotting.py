"""Plots have the numbers that they are given, in colours and marks that tell them apart."""

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spectral_latent.plotting import plot_matrices, plot_objectives, plot_spectra

SPECTRA = {"A": [3.0, 2.0, 1.0], "B": [5.0, 4.0], "C": []}
NAMED: Any = SimpleNamespace(
    symbols=list(SPECTRA), spectrum=SPECTRA.__getitem__, operators=SimpleNamespace(states=np.array([2, 1, 1]))
)


@pytest.fixture(autouse=True)
def _on_no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")


def test_matrices_have_their_numbers_written_in_if_they_are_small() -> None:
    given = {"a": [[1.0, -2.0], [0.5, 0.0]], "row": np.arange(25.0), "longer": np.arange(26.0), "zero": [0.0]}
    small, row, longer, zero = plot_matrices(given).axes
    assert [axes.get_title() for axes in (small, row, longer, zero)] == list(given)
    (image,) = small.images
    assert image.get_array().tolist() == given["a"] and image.get_clim() == (-2.0, 2.0)
    blue, red = image.to_rgba([[2.0, -2.0]])[0]
    assert blue[2] > blue[0] and red[0] > red[2]
    written = {(*text.get_position(), text.get_text()) for text in small.texts}
    assert written == {(0, 0, "1.00"), (1, 0, "-2.00"), (0, 1, "0.50"), (1, 1, "0.00")}
    assert (len(row.texts), len(longer.texts), longer.images[0].get_array().shape) == (25, 0, (1, 26))
    assert zero.images[0].get_clim()[1] > 0.0


def test_singular_values_beyond_the_states_are_hollow() -> None:
    axes = plot_spectra(NAMED, ["B", "A"])
    lines = axes.get_lines()
    shown = [line.get_xydata().tolist() for line in lines]
    assert shown == [[[1, 5], [2, 4]], [[2, 4]], [[1, 3], [2, 2], [3, 1]], [[3, 1]]]
    assert [line.get_markerfacecolor() == "white" for line in lines] == [False, True, False, True]
    assert [line.get_linestyle() for line in lines[1::2]] == ["None", "None"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["B: m = 1", "A: m = 2"]
    assert (axes.get_yscale(), axes.get_xlabel(), axes.get_ylabel()) == ("log", "direction", "singular value")
    for name in ("C", "D"):
        with pytest.raises(ValueError, match=f"no singular values of '{name}'"):
            plot_spectra(NAMED, [name])


def test_objectives_begin_at_zero_and_lines_differ() -> None:
    traces = {str(n): [-3.0 - n, -1.0 - n, -n] for n in range(7)}
    axes = plot_objectives(traces)
    lines = axes.get_lines()
    assert all(line.get_xydata().tolist() == [[0, 0], [1, 2], [2, 3]] for line in lines)
    assert len({line.get_color() for line in lines}) == len({line.get_marker() for line in lines}) == 7


def test_a_missing_matplotlib_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (lambda: plot_matrices({"a": [1.0]}), lambda: plot_objectives({"a": [1.0]})):
        with pytest.raises(ImportError, match="pip install matplotlib"):
            draw()
