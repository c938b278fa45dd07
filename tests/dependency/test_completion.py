"""Partial dependency trees that are completed are the E-step of EM over the trees that obey."""

from __future__ import annotations

import numpy as np
import pytest

from spectral_latent.dependency import (
    DependencyConstraints,
    DependencyModel,
    DependencySentence,
)
from spectral_latent.model import Partial, complete
from tests.dependency.test_constraints import CONSTRAINTS, WORDS, exact_model, obeys
from tests.dependency.trees import projective_trees


@pytest.fixture(scope="module")
def model() -> DependencyModel:
    return exact_model()


@pytest.mark.parametrize("constraints", [DependencyConstraints(), *CONSTRAINTS], ids=range(len(CONSTRAINTS) + 1))
def test_weights_are_shares_of_all_trees_that_obey(model: DependencyModel, constraints: DependencyConstraints) -> None:
    sentence = DependencySentence.of(WORDS, [word.upper() for word in WORDS])
    trees = [heads for heads in projective_trees(4) if obeys(heads, constraints)]
    p = np.exp(model.score([sentence.with_heads(heads) for heads in trees]).log)
    expected = dict(zip(trees, p / p.sum(), strict=True))
    found = {tree.heads: weight for tree, weight in complete(model.parse_all([Partial(sentence, constraints)], 1000))}
    assert sum(found.values()) == pytest.approx(1.0)
    assert found == pytest.approx({heads: expected[heads] for heads in found}, abs=1e-6)
    assert sum(expected[heads] for heads in found) == pytest.approx(1.0, abs=1e-6)  # rarer arcs are in no tree


def test_trees_that_are_known_are_themselves(model: DependencyModel) -> None:
    """So training on them is training on the trees."""
    crossing = DependencySentence.of(WORDS, list("BABC")).with_heads((3, 0, 2, 1), ("right", "left", "left", "left"))
    assert crossing.heads is not None
    known = DependencyConstraints(
        dict(enumerate(crossing.heads, start=1)), dict(enumerate(crossing.relations, start=1))
    )
    trees = [Partial(crossing.without_tree(), known)]
    assert list(complete(model.parse_all(trees, projective=False))) == [(crossing, 1.0)]
    with pytest.raises(ValueError, match="cross"):
        next(complete(model.parse_all(trees)))
    with pytest.raises(ValueError, match="n_best must be an integer of at least 1"):
        next(complete(model.parse_all(trees, 0)))
