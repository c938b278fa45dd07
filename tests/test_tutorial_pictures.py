"""The pages of pictures run, and show the answers of the models."""

import runpy

import numpy as np
import pytest
from matplotlib import pyplot

from spectral_latent.inspection import NamedOperators
from spectral_latent.plotting import plot_errors, plot_spectra
from tests.documents import ROOT


def test_the_page_of_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    ran = runpy.run_path(str(ROOT / "docs/tutorial_pictures.py"))
    assert ran["parses"]._repr_html_().count("<svg") == 2
    assert all(">S 1.00<" in ran["table"] and word in ran["tags"] for word in ran["words"])
    named: NamedOperators = ran["model"].named_operators
    lines = ran["spectra"].get_lines()
    for symbol, line, hollow in zip(["NP", "VP", "NN"], lines[::2], lines[1::2], strict=True):
        assert line.get_ydata().tolist() == named.spectrum(symbol)
        m = named.operators.states[named.symbols.index(symbol)]
        assert hollow.get_ydata().tolist() == named.spectrum(symbol)[m:]
    for trace, line in zip(ran["traces"].values(), ran["objectives"].get_lines(), strict=True):
        np.testing.assert_allclose(line.get_ydata(), np.array(trace) - trace[0])
    with pytest.raises(ValueError, match="no singular values of 'XYZ'"):
        plot_spectra(named, ["XYZ"])
    pyplot.close("all")


def test_errors_that_do_not_fall_are_joined() -> None:
    sizes = [100, 1000, 10000]
    falling = np.outer([1.0, 0.1, 0.01], [1.0, 1.0])
    axes = plot_errors(sizes, {"right": falling, "wrong": np.ones((3, 2))})
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["right: slope −1.00", "wrong: no convergence"]
    np.testing.assert_allclose(axes.get_lines()[1].get_ydata(), [1.0, 0.01])
    pyplot.close("all")
