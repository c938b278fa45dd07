"""Compilation where nothing can be kept: the library is of use where nobody may write."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numba.core.caching import CacheImpl

from spectral_latent._compiled import compiled

USE = """
from numba.core.caching import CacheImpl
CacheImpl._locator_classes = []  # the folders for the cache that could be written to
from spectral_latent.sequence import HiddenMarkov
"""


def test_functions_are_compiled_without_a_place_for_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])

    @compiled
    def total(numbers: np.ndarray) -> float:
        found = 0.0
        for number in numbers:
            found += number
        return found

    assert total(np.arange(4.0)) == 6.0


def test_the_library_is_imported_without_a_place_for_the_cache() -> None:
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
