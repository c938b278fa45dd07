"""Features against loops over heads."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.dependency import Attachment, DependencySentence
from spectral_latent.dependency.conversion import Side, compute_dependency_features, convert_trees
from spectral_latent.estimation import inside_templates, outside_templates
from spectral_latent.trees import Vocabulary
from tests.dependency.trees import Heads, children, random_tree
from tests.oracles import partition

SIDES: list[Side] = ["left", "right"]


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
            "distance": (gap.bit_length() if governor else 0, side),
        }


N_INSIDE = 7


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
