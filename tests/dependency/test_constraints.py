"""Dependency parses under constraints, against the enumeration of all trees."""

from typing import Any

import numpy as np
import pytest

from spectral_latent.dependency import DependencyConstraints, DependencyModel, DependencyOptions, DependencySentence
from spectral_latent.dependency.decoding import make_arc_matrix
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.model import Partial, complete
from tests.dependency.trees import Heads, projective_trees, random_tree

WORDS = ("b", "a", "b", "c")
CONSTRAINTS = [
    DependencyConstraints({1: 3}),
    DependencyConstraints({2: 0}),
    DependencyConstraints({4: 1, 2: 3}),
    DependencyConstraints({1: 2, 2: 3, 3: 4, 4: 0}),
    DependencyConstraints(forbidden=[(0, 2), (3, 4)]),
    DependencyConstraints({3: 2}, forbidden=[(0, 1)]),
]


@pytest.fixture(scope="module")
def model() -> DependencyModel:
    """Learn from random trees a grammar that prunes nothing, with relations by the side of the head."""
    rng = np.random.default_rng(0)
    trees = []
    for _ in range(60):
        heads = random_tree(rng, int(rng.integers(2, 6)))
        words = rng.choice(["a", "b", "c"], len(heads)).tolist()
        relations = tuple("left" if head < word else "right" for word, head in enumerate(heads, start=1))
        sentence = DependencySentence.of(words, [word.upper() for word in words])
        trees.append(sentence.with_heads(heads, relations))
    exact = DependencyOptions(
        estimator=EstimatorOptions("em", n_states=2, iterations=2),
        unseen=0.0,
        fragments=0.0,
        threshold=0.0,
        beam=0.0,
    )
    return DependencyModel.train(trees, exact)


def obeys(heads: Heads, constraints: DependencyConstraints) -> bool:
    """Tell whether a tree has the known heads and no forbidden arc."""
    has_heads = all(heads[word - 1] == head for word, head in constraints.heads.items())
    return has_heads and not any(heads[word - 1] == head for head, word in constraints.forbidden)


@pytest.mark.parametrize("tags", [None, [word.upper() for word in WORDS]], ids=["bare", "tagged"])
@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=range(len(CONSTRAINTS)))
def test_arcs_have_the_posteriors_of_the_trees_that_obey(
    model: DependencyModel, constraints: DependencyConstraints, tags: list[str] | None
) -> None:
    """With the tags known, the posterior of an arc is the share of the trees that have it."""
    sentence = DependencySentence.of(WORDS, tags)
    trees = [heads for heads in projective_trees(4) if obeys(heads, constraints)]
    assert 0 < len(trees) < len(projective_trees(4))
    if tags:
        p = np.exp(model.score([sentence.with_heads(heads) for heads in trees]).log)
        expected = np.zeros((5, 4))
        for heads, share in zip(trees, p / p.sum(), strict=True):
            expected[list(heads), np.arange(4)] += share
        parts = model.analyse([Partial(sentence, constraints)]).parts
        np.testing.assert_allclose(make_arc_matrix(parts, 4), expected, atol=1e-9)
        found = {tree.heads: p for tree, p in complete(model.parse_all([Partial(sentence, constraints)], 1000))}
        assert sum(found.values()) == pytest.approx(1.0)
        weights = dict(zip(trees, p / p.sum(), strict=True))
        assert found == pytest.approx({heads: weights[heads] for heads in found}, abs=1e-6)
    parses = model.parse_nbest(sentence, 100, constraints=constraints)
    assert {parse.tree.heads for parse in parses} <= set(trees)
    assert not any(parse.is_fallback for parse in parses)
    assert model.parse(sentence, constraints=constraints) == parses[0]


def test_arcs_that_cross(model: DependencyModel) -> None:
    crossing = DependencyConstraints({1: 3, 2: 4})
    sentence = DependencySentence.of(WORDS)
    with pytest.raises(ValueError, match="the arcs 3 → 1 and 4 → 2 cross"):
        model.parse(sentence, constraints=crossing)
    heads = model.parse(sentence, projective=False, constraints=crossing).tree.heads
    assert heads is not None
    assert heads[:2] == (3, 4)
    with pytest.raises(ValueError, match="n_best"):
        model.parse_all([sentence], 2, projective=False)


@pytest.mark.parametrize(
    ("heads", "forbidden"),
    [({1: 0, 3: 0}, []), ({1: 2}, [(2, 1)]), ({2: 2}, []), ({4: 1, 1: 2, 2: 3, 3: 1}, [])],
)
def test_constraints_that_contradict_each_other_are_refused(heads: dict[int, int], forbidden: Any) -> None:
    with pytest.raises(ValueError):
        DependencyConstraints(heads, forbidden=forbidden)


@pytest.mark.parametrize(
    "constraints",
    [
        DependencyConstraints({1: 5}),
        DependencyConstraints(forbidden=[(1, 0)]),
        DependencyConstraints(relations={1: "nsubj"}),
        DependencyConstraints(relations={5: "left"}),
        DependencyConstraints(forbidden=[(head, 1) for head in (0, 2, 3, 4)]),
        DependencyConstraints(forbidden=[(0, 1), (0, 2), (3, 1), (3, 2), (4, 1), (4, 2)]),
        DependencyConstraints(forbidden=[(0, word) for word in (1, 2, 3, 4)]),
    ],
    ids=str,
)
def test_constraints_that_no_tree_obeys_are_refused(model: DependencyModel, constraints: DependencyConstraints) -> None:
    with pytest.raises(ValueError):
        model.parse(DependencySentence.of(WORDS), constraints=constraints)


def test_trees_that_are_known_are_themselves(model: DependencyModel) -> None:
    """So training on them is training on the trees."""
    crossing = DependencySentence.of(WORDS, list("BABC")).with_heads((3, 0, 2, 1), ("right", "left", "left", "left"))
    columns = (dict(enumerate(column, start=1)) for column in (crossing.heads or (), crossing.relations))
    trees = [Partial(crossing.without_tree(), DependencyConstraints(*columns))]
    assert list(complete(model.parse_all(trees, projective=False))) == [(crossing, 1.0)]
    with pytest.raises(ValueError, match="cross"):
        next(complete(model.parse_all(trees)))


def test_fallbacks_are_flat_but_for_the_constraints() -> None:
    """A grammar that has no rule for such arcs keeps those that are known."""
    tree = DependencySentence.of(["a", "b", "c"], ["A", "B", "C"]).with_heads((0, 1, 1), ("root", "x", "y"))
    model = DependencyModel.train([tree] * 9, DependencyOptions(unseen=0.0))
    parse = model.parse(tree, constraints=DependencyConstraints({2: 3}, {2: "y"}, [(0, 1)]))
    assert parse.is_fallback
    assert (parse.tree.heads, parse.tree.relations[1]) == ((3, 3, 0), "y")
    assert model.parse(tree, constraints=DependencyConstraints({1: 2})).tree.heads == (2, 0, 2)
