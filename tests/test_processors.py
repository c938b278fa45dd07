"""The same bytes on other processors, as far as NumPy and its BLAS can be made to choose code for them."""

import platform
from pathlib import Path

import pytest

from tests.processors import OTHER, difference, trained


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the variables are those of x86-64")
def test_another_processor_learns_the_same_models(tmp_path: Path) -> None:
    chosen = ["constituency, spectral", "dependency, fast", "tagger, fast"]
    ours = trained(tmp_path / "ours", {}, chosen)
    theirs = trained(tmp_path / "theirs", OTHER, chosen)
    assert [difference(ours / name, theirs / name) for name in chosen] == ["", "", ""]
