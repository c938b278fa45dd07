"""Dependency trees the plain way, by enumeration.

Heads count words from 1, and 0 stands for the root, as in CoNLL-U.
"""

import itertools
from functools import cache

import numpy as np

Heads = tuple[int, ...]


def above(heads: Heads, word: int) -> set[int]:
    """What is reached from a word over its heads, the word with it; 0 unless there is a cycle."""
    found = set[int]()
    while word not in found:
        found.add(word)
        word = heads[word - 1] if word else 0
    return found


def is_tree(heads: Heads) -> bool:
    """Whether one word, and one only, hangs from the root, and all others from it in the end."""
    return heads.count(0) == 1 and all(0 in above(heads, word) for word in range(1, len(heads) + 1))


def is_projective(heads: Heads) -> bool:
    """Whether everything between a word and its head hangs from that head."""
    return all(
        head in above(heads, between)
        for word, head in enumerate(heads, start=1)
        if head
        for between in range(min(word, head) + 1, max(word, head))
    )


@cache
def spanning_trees(n: int) -> list[Heads]:
    """All of n words, projective or not: 1, 2, 9, 64, 625."""
    return [heads for heads in itertools.product(range(n + 1), repeat=n) if is_tree(heads)]


@cache
def projective_trees(n: int) -> list[Heads]:
    """All of n words: 1, 2, 7, 30, 143, 728."""
    return list(filter(is_projective, spanning_trees(n)))


def random_tree(rng: np.random.Generator, n: int) -> Heads:
    """A tree of n words that need not be projective: each word, in random order, hangs from an earlier one."""
    order = rng.permutation(n) + 1
    heads = np.zeros(n, dtype=int)
    for i in range(1, n):
        heads[order[i] - 1] = order[rng.integers(i)]
    return tuple(heads.tolist())


def children(heads: Heads, word: int) -> tuple[list[int], list[int]]:
    """The left and the right children of a word, the closest first."""
    mine = [child for child, head in enumerate(heads, start=1) if head == word]
    return [child for child in reversed(mine) if child < word], [child for child in mine if child > word]
