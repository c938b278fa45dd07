"""The pages of pictures run, and show the answers of the models."""

import runpy

import numpy as np
import pytest
from matplotlib import pyplot

from spectral_latent.inspection import NamedOperators
from spectral_latent.plotting import plot_spectra
from tests.documents import ROOT


def test_the_page_of_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    ran = runpy.run_path(str(ROOT / "docs/tutorial_pictures.py"))
    assert ran["parses"]._repr_html_().count("<svg") == 2
    bars = {label: bar.get_width() for label, bar in zip(ran["names"], ran["bars"], strict=True)}
    assert bars == {label: p for label, (_, p) in zip(ran["names"], ran["posteriors"], strict=True)}
    assert 0.05 < bars["NP: the man with a telescope"] < 0.95  # ambiguous
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
