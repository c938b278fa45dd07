"""All trees of given constituents: against a brute-force enumeration."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Phrase
from spectral_latent.constituency.decoding import PhraseForest, build_bracketings
from spectral_latent.constituency.forests import PhraseColumns
from spectral_latent.inference import n_best_derivations
from spectral_latent.model.parts import Parts

CHAINS = [("A",), ("B",), ("C", "D")]


def constituents(rows: list[tuple[int, int, int]]) -> Parts:
    first, end, chain = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Parts(np.zeros_like(first), first, end, chain, np.ones(len(rows)))


def best_trees(trees: PhraseForest, words: list[str], k: int) -> list[Phrase]:
    return trees.columns(n_best_derivations(trees.forest, trees.weight, k), CHAINS).trees(words)


def chained(chain: int, children: tuple[Phrase | str, ...]) -> Phrase:
    tree = children
    for label in reversed(CHAINS[chain]):
        tree = (Phrase(label, tree),)
    (top,) = tree
    assert isinstance(top, Phrase)
    return top


def every_tree(gains: dict[tuple[int, int, int], float], words: list[str]) -> dict[Phrase, float]:
    """All trees and the sums of their gains: of every split of a span into two parts or more, all choices."""

    def phrases(i: int, j: int) -> Iterator[tuple[Phrase, float]]:
        for (first, end, chain), gain in gains.items():
            if (first, end) != (i, j):
                continue
            if j == i + 1:
                yield chained(chain, (words[i],)), gain
                continue
            for size in range(2, j - i + 1):
                for cuts in itertools.combinations(range(i + 1, j), size - 1):
                    spans = itertools.pairwise((i, *cuts, j))
                    for parts in itertools.product(*(list(phrases(*span)) for span in spans)):
                        children = tuple(tree for tree, _ in parts)
                        yield chained(chain, children), gain + sum(own for _, own in parts)

    return dict(phrases(0, len(words)))


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[str], dict[tuple[int, int, int], float]]:
    n = draw(st.integers(1, 4))
    spans = [(i, j, c) for i in range(n) for j in range(i + 1, n + 1) for c in range(len(CHAINS))]
    kept = draw(st.lists(st.sampled_from(spans), unique=True))
    gain = st.floats(-1, 1, allow_subnormal=False)
    return [f"w{i}" for i in range(n)], {span: draw(gain) for span in kept}


@given(sentences(), st.integers(1, 40))
def test_the_best_trees_are_the_first_of_all(case: tuple[list[str], dict[tuple[int, int, int], float]], k: int) -> None:
    words, gains = case
    every = every_tree(gains, words)
    rows, gain = list(gains), np.array(list(gains.values()))
    trees = best_trees(build_bracketings(constituents(rows), gain, np.array([0, len(words)])), words, k)
    assert len(trees) == len(set(trees)) == min(k, len(every))
    assert [every[tree] for tree in trees] == pytest.approx(sorted(every.values(), reverse=True)[:k], abs=1e-9)


@given(st.lists(sentences(), min_size=1, max_size=4), st.integers(1, 5))
def test_the_trees_of_a_sentence_do_not_depend_on_its_batch(
    cases: list[tuple[list[str], dict[tuple[int, int, int], float]]], k: int
) -> None:
    start = np.cumsum([0, *(len(words) for words, _ in cases)])
    batch = Parts.join([constituents(list(gains)) for _, gains in cases])
    gain = np.array([gain for _, gains in cases for gain in gains.values()])
    words = [word for words, _ in cases for word in words]
    forest = build_bracketings(batch, gain, start)
    found = n_best_derivations(forest.forest, forest.weight, k)
    columns = forest.columns(found, CHAINS)
    trees = columns.trees(words)
    lists: list[list[Phrase]] = [[] for _ in cases]
    for at, tree in zip(forest.sentence[found.component].tolist(), trees, strict=True):
        lists[at].append(tree)
    for (own, gains), of_sentence in zip(cases, lists, strict=True):
        alone = build_bracketings(constituents(list(gains)), np.array(list(gains.values())), np.array([0, len(own)]))
        assert of_sentence == best_trees(alone, own, k)
    # The nodes are those of the trees that are read, though in another order.
    read = PhraseColumns.of(lists, start)
    assert read.trees(words) == trees
    assert read.n_phrases.tolist() == columns.n_phrases.tolist()
    assert sorted(read.place.tolist()) == sorted(columns.place.tolist())
