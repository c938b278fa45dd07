"""The tutorial runs, and its statements are true."""

import contextlib
import io
import runpy
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).resolve().parents[1] / "docs/tutorial_trees.py"


def test_models_with_states_come_close_to_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        ran = runpy.run_path(str(TUTORIAL))
    log, right = ran["mean_log"], ran["right"]
    assert ran["positive"].mean() > 0.95
    for name in ("spectral", "clusters-em"):
        assert log["truth"] - log[name] < 0.15 * (log["truth"] - log["plain"])
        assert right[name] > right["truth"] - 0.03
    assert right["plain"] < 0.5 * right["truth"]
    assert "─╼ ancestor" in printed.getvalue()
    assert all(f"\n{name} " in printed.getvalue() for name in ("plain", "spectral", "clusters-em", "truth"))
