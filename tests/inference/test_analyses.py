"""The best analyses of an input are those of the best derivations of its forest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from spectral_latent.inference import Derivations, best_analyses
from spectral_latent.trees import FloatArray, Forest


class Letters(NamedTuple):
    """Words of one letter, an edge each."""

    forest: Forest
    weight: FloatArray

    def analyses(self, derivations: Derivations) -> list[str]:
        return ["abc"[edge] for (edge,) in (derivation.edges for derivation in derivations)]


@pytest.mark.parametrize(("n_best", "expected"), [(1, ["b"]), (2, ["b", "c"]), (4, ["b", "c", "a"])])
def test_analyses_are_those_of_the_best_derivations(n_best: int, expected: list[str]) -> None:
    rules = np.array([0, 1, 2])
    absent = np.full(3, -1)
    weight = np.array([0.1, 0.6, 0.3])
    forest = Forest(np.array([0]), np.array([0, 3]), rules, absent, absent, np.array([0]), np.array([0]))
    assert best_analyses(Letters(forest, weight), n_best) == expected
    assert best_analyses(Letters(forest._replace(rule=absent), weight), n_best) == []
