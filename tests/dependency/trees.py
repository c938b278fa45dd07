"""Latent dependency trees the plain way: every tree, every sequence of states, every sentence by enumeration.

Heads count words from 1, and 0 stands for the root, as in CoNLL-U.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.papers.observations import Observations
from spectral_latent.inference import tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, SkeletalTrees
from tests.oracles import Tree, columns

Heads = tuple[int, ...]
Sentence = tuple[tuple[int, ...], Heads]  # words, heads

# ---------------------------------------------------------------------------------------------------------------------
# Trees


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


def projective_trees(n: int) -> list[Heads]:
    """All of n words: 1, 2, 7, 30, 143, 728."""
    every = itertools.product(range(n + 1), repeat=n)
    return [heads for heads in every if is_tree(heads) and is_projective(heads)]


def random_tree(rng: np.random.Generator, n: int) -> Heads:
    """A tree of n words that need not be projective: each word, in random order, hangs from an earlier one."""
    order = rng.permutation(n) + 1
    heads = np.zeros(n, dtype=int)
    for i in range(1, n):
        heads[order[i] - 1] = order[rng.integers(i)]
    return tuple(heads.tolist())


def star(left: int, right: int) -> Heads:
    """A root with so many children to either side."""
    return (*[left + 1] * left, 0, *[left + 1] * right)


def children(heads: Heads, word: int) -> tuple[list[int], list[int]]:
    """The left and the right children of a word, the closest first."""
    mine = [child for child, head in enumerate(heads, start=1) if head == word]
    return [child for child in reversed(mine) if child < word], [child for child in mine if child > word]


# ---------------------------------------------------------------------------------------------------------------------
# The model


class LatentTrees(NamedTuple):
    """p(words | tree) of Dhillon et al. (2012), equation 2.

    initial: (k,) of the root.  left, right: (k, k) p(child's state | parent's), the child by rows.
    emission: (V, k) p(x | state).
    """

    initial: np.ndarray
    left: np.ndarray
    right: np.ndarray
    emission: np.ndarray

    def states(self, heads: Heads) -> np.ndarray:
        """p(h_1 ... h_n | tree), (k,) * n."""
        n, k = len(heads), len(self.initial)

        def over(factor: np.ndarray, *words: int) -> np.ndarray:
            return factor.reshape([k if word in words else 1 for word in range(1, n + 1)])

        joint = np.ones((k,) * n)
        for word, head in enumerate(heads, start=1):
            if not head:
                joint = joint * over(self.initial, word)
            elif word < head:
                joint = joint * over(self.left, word, head)
            else:
                joint = joint * over(self.right.T, head, word)
        return joint

    def sentences(self, heads: Heads) -> np.ndarray:
        """p(x_1 ... x_n | tree) of every sentence, (V,) * n."""
        table = self.states(heads)
        for _ in heads:
            table = np.tensordot(table, self.emission, (0, 1))  # the first word's states leave, its words come last
        return table

    def probability(self, sentence: Sentence) -> float:
        """Σ_h p(h | tree) Π_j p(x_j | h_j)."""
        words, heads = sentence
        joint = self.states(heads)
        for x in words:
            joint = np.tensordot(self.emission[x], joint, (0, 0))
        return float(joint)

    def population(self, rng: np.random.Generator, longest: int = 4) -> Observations:
        """All sentences over all projective trees of up to so many words, which occur at random rates."""
        sentences: list[Sentence] = []
        weights: list[float] = []
        for heads in itertools.chain(*(projective_trees(n) for n in range(1, longest + 1))):
            table = rng.exponential() * self.sentences(heads)
            sentences += [(words, heads) for words in np.ndindex(*table.shape)]
            weights += table.ravel().tolist()
        return Observations.of(sentences, len(self.emission), weights)


def random_model(rng: np.random.Generator, k: int, v: int, *, stationary: bool) -> LatentTrees:
    """Random probabilities; if stationary, every word of every tree has the root's distribution over states."""
    initial = rng.dirichlet(np.full(k, 3.0))
    emission = rng.dirichlet(np.full(v, 0.5), k).T
    if not stationary:
        left, right = (rng.dirichlet(np.full(k, 0.7), k).T for _ in range(2))
        return LatentTrees(initial, left, right, emission)
    left, right = (_with_margins(rng.exponential(size=(k, k)) ** 2, initial) / initial for _ in range(2))
    return LatentTrees(initial, left, right, emission)


def _with_margins(joint: np.ndarray, margin: np.ndarray) -> np.ndarray:
    """The joint distribution nearest to this one whose margins are both the given one (Sinkhorn)."""
    for _ in range(3000):
        joint = joint * (margin / joint.sum(axis=1))[:, None]
        joint = joint * (margin / joint.sum(axis=0))
    return joint


# ---------------------------------------------------------------------------------------------------------------------
# As s-trees of two symbols: 0 a head with what hangs from it so far, 1 the same with a right child still to come


def s_tree(sentence: Sentence) -> Tree:
    """Head outward: right children, the closest first, then left ones."""
    words, heads = sentence

    def under(word: int) -> Tree:
        left, right = children(heads, word)
        chain: Tree = (int(bool(right)), words[word - 1])
        for number, child in enumerate(right, start=1):
            chain = (int(number < len(right)), chain, under(child))
        for child in left:
            chain = (0, under(child), chain)
        return chain

    return under(heads.index(0) + 1)


def s_trees(sentences: Iterable[Sentence]) -> SkeletalTrees:
    return columns(s_tree(sentence) for sentence in sentences)


def estimates(operators: ObservableOperators, sentences: Sequence[Sentence]) -> np.ndarray:
    """p̂ of each sentence."""
    weight = tree_weights(operators, Forest.of_trees(s_trees(sentences), operators.rules))
    return weight.sign * np.exp(weight.log)


def every_shape(rng: np.random.Generator, v: int) -> list[Sentence]:
    """Random words on all projective trees up to 4 words, words with up to three children on each side, and others."""

    def trees() -> Iterator[Heads]:
        for n in range(1, 5):
            yield from projective_trees(n)
        yield from itertools.starmap(star, itertools.product(range(4), repeat=2))
        yield from (random_tree(rng, n) for n in (5, 6, 7) for _ in range(20))

    return [(tuple(rng.integers(0, v, len(heads)).tolist()), heads) for heads in trees()]
