"""Models have the same bytes on other processors, as far as NumPy and its BLAS can be made to choose other code."""

import platform
from pathlib import Path

import pytest

from tests.processors import OTHER, differences, train


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the variables are those of x86-64")
def test_another_processor_learns_the_same_models(tmp_path: Path) -> None:
    chosen = ["constituency, clusters", "tagger, fast"]
    train(tmp_path, chosen)
    assert differences(tmp_path, OTHER, chosen) == []
