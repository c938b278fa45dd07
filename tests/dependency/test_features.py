"""Features against loops over heads, and what they carry: exact moments give exact probabilities."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.papers.known_grammars import change_basis
from benchmarks.papers.weighted_nodes import estimate_from_nodes
from spectral_latent.dependency import Attachment, DependencySentence, HeadSymbol
from spectral_latent.dependency.conversion import Side, compute_dependency_features, convert_trees
from spectral_latent.estimation import (
    EstimatorOptions,
    FeatureColumns,
    Shard,
    inside_templates,
    outside_templates,
)
from spectral_latent.inference import tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, SkeletalTrees, Vocabulary
from tests.dependency.trees import Heads, LatentTrees, children, random_model, random_tree

SIDES: list[Side] = ["left", "right"]

# ---------------------------------------------------------------------------------------------------------------------
# Columns


class Node(NamedTuple):
    """A node of a word's chain: the children attached so far, and all of them, in order of attachment."""

    word: int
    attached: int
    children: tuple[int, ...]


def nodes_of(heads: Heads, first: Side) -> list[tuple[Node, list[int]]]:
    """Every node in post-order, with the words below it in the order of the leaves."""

    def under(word: int) -> tuple[list[tuple[Node, list[int]]], list[int]]:
        left, right = children(heads, word)
        mine = tuple(left + right if first == "left" else right + left)
        leaf = Node(word, 0, mine)
        parts, below = [(leaf, [word])], [word]
        for number, child in enumerate(mine, start=1):
            of_child, words = under(child)
            parts, below = (of_child + parts, words + below) if child < word else (parts + of_child, below + words)
            parts = [*parts, (Node(word, number, mine), below)]
        return parts, below

    return under(heads.index(0) + 1)[0]


def magnitude(distance: int) -> int:
    return len(f"{abs(distance):b}")


def expected(heads: Heads, tags: Sequence[int], words: Sequence[int], first: Side) -> Iterator[dict[str, Any]]:
    """Every template of this formalism by its definition, node by node."""
    tag, word = ({0: None, **dict(enumerate(column, start=1))} for column in (tags, words))
    nodes = nodes_of(heads, first)
    order = nodes[-1][1]
    for node, below in nodes:
        h = node.word
        dependant = node.children[node.attached - 1] if node.attached else 0
        governor = heads[h - 1]
        sibling = node.children[node.attached] if node.attached < len(node.children) else governor
        at, end = order.index(below[0]), order.index(below[-1])
        assert order[at : end + 1] == below
        before, after = order[at - 1] if at else 0, order[end + 1] if end + 1 < len(order) else 0
        side = (governor > 0) * (1 + (governor > h))
        gap = min(abs(order.index(governor) - edge) for edge in (at, end)) if governor else 0
        yield {
            "head": word[h],
            "dependant-tag": (tag[dependant], 0 < dependant < h),
            "dependant": word[dependant],
            "first-tag": tag[below[0]],
            "last-tag": tag[below[-1]],
            "first": word[below[0]],
            "last": word[below[-1]],
            "governor-tag": (tag[governor], side),
            "governor": word[governor],
            "sibling-tag": (tag[sibling], side),
            "before-tag": tag[before],
            "after-tag": tag[after],
            "before": word[before],
            "after": word[after],
            "distance": (magnitude(gap) if governor else 0, side),
        }


N_INSIDE = 7


def partition(column: Sequence[Any]) -> tuple[int, ...]:
    """Which rows have equal values: numbered by first occurrence."""
    numbers: dict[Any, int] = {}
    return tuple(numbers.setdefault(value, len(numbers)) for value in column)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 9), min_size=1, max_size=4), st.sampled_from(SIDES))
def test_columns_tell_apart_what_the_definitions_do(seed: int, sizes: list[int], first: Side) -> None:
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, n) for n in sizes]
    tags, words = rng.integers(0, 3, sum(sizes)), rng.integers(0, 4, sum(sizes))
    cuts = np.cumsum(sizes)[:-1]
    by_sentence = (
        [column.tolist() for column in np.split(tags, cuts)],
        [part.tolist() for part in np.split(words, cuts)],
    )
    sentences = [DependencySentence.of(["w"] * n).with_heads(heads) for n, heads in zip(sizes, trees, strict=True)]
    names = [list(map(str, mine)) for mine in by_sentence[0]]
    converted = convert_trees(sentences, names, Attachment(first), Vocabulary())
    found = compute_dependency_features(converted, tags, words)
    rows = [row for parts in zip(trees, *by_sentence, strict=True) for row in expected(*parts, first)]
    worded = converted.over(words)
    core = inside_templates(worded), outside_templates(worded)
    wanted = {name: [row[name] for row in rows] for name in rows[0]}
    own = [list(wanted.values())[:N_INSIDE], list(wanted.values())[N_INSIDE:]]
    for columns, by_core, by_definition in zip((found.inside, found.outside), core, own, strict=True):
        templates = [*(column.tolist() for column in by_core.values()), *by_definition]
        assert Counter(map(partition, columns.T.tolist())) == Counter(map(partition, templates))


# ---------------------------------------------------------------------------------------------------------------------
# Whole populations of sentences of three tags: A has up to two children on either side, B on the right of A may have C
# on its own left.  Latent states are those of `LatentTrees`; neither the tree nor its tags depend on them.  How many
# children are still to come is latent too; that B is likelier close to A than far from it lets features tell.

K, V = 2, 2
EXACT = EstimatorOptions(n_states=16, scaling=None, smoothing=None, cutoff=1e-9)


class Shape(NamedTuple):
    """A tree without words, and p(tree, tags)."""

    tags: str
    heads: Heads
    p: float


def put_together(tag: str, left: Sequence[Shape], right: Sequence[Shape], p: float) -> Shape:
    """A word of this tag with children whose shapes are given in order."""
    head = sum(len(part.tags) for part in left) + 1
    tags, heads = "", list[int]()
    for part in (*left, None, *right):
        if part is None:
            tags, heads = tags + tag, [*heads, 0]
        else:
            heads += [h + len(tags) if h else head for h in part.heads]
            tags += part.tags
    return Shape(tags, tuple(heads), p * math.prod(part.p for part in (*left, *right)))


def shapes(rng: np.random.Generator) -> list[Shape]:
    """All trees over tags."""
    c, b = Shape("C", (0,), 1.0), Shape("B", (0,), 1.0)
    stop = rng.uniform(0.3, 0.7)
    right_b = [b._replace(p=stop), put_together("B", [c], [], 1 - stop)]
    by_side = []
    for of_b in ([b], right_b):
        p_count, p_b = rng.dirichlet(np.full(3, 5.0)).tolist(), (0.2, 0.7)
        close, far = ([c._replace(p=1 - p), *(shape._replace(p=shape.p * p) for shape in of_b)] for p in p_b)
        slots: list[list[list[Shape]]] = [[], [far], [close, far]]  # the last child is far, if it is the only one too
        by_side.append([(seq, p) for n, p in zip(slots, p_count, strict=True) for seq in itertools.product(*n)])
    pairs = itertools.product(*by_side)
    return [put_together("A", left[::-1], right, p * q) for (left, p), (right, q) in pairs]


class Population(NamedTuple):
    """All sentences of a model: s-trees over words, their probabilities, and what an estimator is given."""

    trees: SkeletalTrees
    p: np.ndarray
    features: FeatureColumns

    @staticmethod
    def of(model: LatentTrees, every: list[Shape], attachment: Attachment) -> Population:
        """Words are pairs of a tag and what the model emits."""
        drawn: list[tuple[Shape, tuple[int, ...]]] = []
        p: list[float] = []
        for shape in every:
            table = shape.p * model.sentences(shape.heads)
            drawn += [(shape, words) for words in np.ndindex(*table.shape)]
            p += table.ravel().tolist()
        records = (DependencySentence.of(list(shape.tags)).with_heads(shape.heads) for shape, _ in drawn)
        converted = convert_trees(records, [shape.tags for shape, _ in drawn], attachment, Vocabulary[HeadSymbol]())
        tag = np.array([ord(name) - ord("A") for shape, _ in drawn for name in shape.tags])
        word = tag * len(model.emission) + np.array([x for _, words in drawn for x in words])
        trees = converted.over(word)
        return Population(trees, np.array(p), compute_dependency_features(converted, tag, word))

    def estimated(self, options: EstimatorOptions = EXACT) -> ObservableOperators:
        """By the default estimator, from moments in which every sentence has its probability as its weight."""
        weights = self.p[self.trees.tree]
        return estimate_from_nodes(Shard.of(self.trees, self.features), weights, options)

    def estimates(self, operators: ObservableOperators) -> np.ndarray:
        found = tree_weights(operators, Forest.of_trees(self.trees, operators.rules))
        return found.sign * np.exp(found.log)


def singular(model: LatentTrees, side: Side) -> LatentTrees:
    """T of rank one on this side: the states of children do not depend on their parents'."""
    table = getattr(model, side)
    return model._replace(**{side: np.repeat(table[:, :1], K, axis=1)})


@pytest.mark.parametrize("first", SIDES)
@pytest.mark.parametrize("is_singular", [False, True], ids=["T", "singular T"])
def test_exact_moments_give_exact_probabilities_of_every_shape(is_singular: bool, first: Side) -> None:
    """By the default estimator, which does not invert T; in any basis; and not if it has one state alone."""
    rng = np.random.default_rng(1)
    model = random_model(rng, K, V, stationary=False)
    if is_singular:
        model = singular(model, "left" if first == "right" else "right")
    population = Population.of(model, shapes(rng), Attachment(first))
    assert population.p.sum() == pytest.approx(1.0)
    operators = population.estimated()
    assert population.estimates(operators) == pytest.approx(population.p, rel=1e-8)
    bases = [np.linalg.qr(rng.normal(size=(m, m)))[0] * rng.uniform(0.5, 2.0, m) for m in operators.states]
    assert population.estimates(change_basis(operators, bases)) == pytest.approx(population.p, rel=1e-8)
    plain = population.estimated(EstimatorOptions(n_states=1, scaling=None, smoothing=None))
    assert np.abs(population.estimates(plain) - population.p).sum() > 0.02
