"""Hold what is known of a sentence's dependency tree before it is parsed: heads, relations, and arcs that are excluded.

A node of the binarised tree covers a head with some of its dependants, and all words below these.  Of the words that it
covers, the head alone has its own head outside.  A span of the chart is therefore empty if it has two words whose heads
are known to be outside; if it has one, the symbol over it is one of that word's tag.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

import numpy as np

from spectral_latent.dependency.sentence import DependencySentence
from spectral_latent.grammar import Permits, cells
from spectral_latent.trees import BoolArray, IntArray

__all__ = ["ANY_TREE", "Constraints", "PartialTree"]


@dataclass(frozen=True)
class Constraints:
    """The dependency trees that a sentence may have; words are numbered from 1, and 0 stands for the root.

    heads: the heads of words.
    relations: the relations of words to their heads, which may be unknown.
    forbidden: arcs that the tree must not have: pairs of a head and a word.

    >>> Constraints({1: 2, 2: 1})
    Traceback (most recent call last):
    ValueError: the heads of the words 1, 2 are a cycle, so that no tree has them
    """

    heads: Mapping[int, int] = field(default_factory=dict)
    relations: Mapping[int, str] = field(default_factory=dict)
    forbidden: Sequence[tuple[int, int]] = ()

    def __post_init__(self) -> None:
        # Lists and tuples of the same arcs are equal.
        object.__setattr__(self, "forbidden", tuple((head, word) for head, word in self.forbidden))
        roots = [word for word, head in self.heads.items() if head == 0]
        if len(roots) > 1:
            raise ValueError(f"the words {roots[0]} and {roots[1]} both have the head 0, and a tree has one root")
        for head, word in self.forbidden:
            if self.heads.get(word) == head:
                raise ValueError(f"the arc {head} → {word} is required and forbidden")
        for start in self.heads:
            if self.heads[start] == start:
                raise ValueError(f"the word {start} is its own head")
            chain = [start]
            while (head := self.heads.get(chain[-1], 0)) not in (0, *chain):
                chain.append(head)
            if head == start:
                words = ", ".join(map(str, sorted(chain)))
                raise ValueError(f"the heads of the words {words} are a cycle, so that no tree has them")

    def crossing(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Find two known arcs, each a head and a word, that cross; None if there are none.

        >>> Constraints({1: 3, 2: 0}).crossing()
        ((3, 1), (0, 2))
        """
        arcs = [(head, word) for word, head in self.heads.items()]
        for one, other in combinations(arcs, 2):
            a, b = sorted(one)
            c, d = sorted(other)
            if a < c < b < d or c < a < d < b:
                return one, other
        return None

    def check(self, n_words: int, relations: Collection[str]) -> None:
        """Raise ValueError if the constraints are beyond a sentence, leave a word no head, or name unknown relations.

        n_words: n, the number of words.
        relations: the relations that the parser knows.
        """
        arcs = [*((head, word) for word, head in self.heads.items()), *self.forbidden]
        for head, word in arcs:
            if not (1 <= word <= n_words and 0 <= head <= n_words):
                raise ValueError(f"the arc {head} → {word} is not within the {n_words} words of the sentence")
        for word, relation in self.relations.items():
            if not 1 <= word <= n_words:
                raise ValueError(
                    f"the relation {relation!r} is of word {word}, which is not among the {n_words} of the sentence"
                )
            if relation not in relations:
                names = f"its relations are {', '.join(sorted(relations))}" if relations else "it knows no relations"
                raise ValueError(f"the parser has no relation {relation!r}; {names}")
        allowed = self.allowed(n_words)
        for place in np.flatnonzero(~allowed.any(axis=0))[:1]:
            raise ValueError(f"every head of the word {place + 1} is forbidden; allow one of them")
        if not allowed[0].any():
            raise ValueError("no word may be the root")

    def allowed(self, n_words: int) -> BoolArray:
        """Mark the arcs (n + 1, n) that a tree may have, from each word, 0 the root, to word m + 1.

        n_words: n, the number of words.

        >>> Constraints({1: 2}, forbidden=[(0, 1)]).allowed(2).astype(int)
        array([[0, 1],
               [0, 0],
               [1, 0]])
        """
        allowed = ~np.eye(n_words + 1, n_words, -1, dtype=np.bool_)
        for head, word in self.forbidden:
            allowed[head, word - 1] = False
        for word, head in self.heads.items():
            allowed[:, word - 1] = False
            # A word that hangs from this one is not its head; a root leaves no other.
            allowed[word, head - 1 : head] = False
            if head == 0:
                allowed[0] = False
        for word, head in self.heads.items():
            allowed[head, word - 1] = True
        return allowed

    def with_known_relations(self, tree: DependencySentence) -> DependencySentence:
        """Replace the relations of a tree by those that are known.

        tree: a tree with relations.

        >>> tree = DependencySentence.of(["Dogs", "bark"]).with_heads((2, 0), ("obj", "root"))
        >>> Constraints(relations={1: "nsubj"}).with_known_relations(tree).relations
        ('nsubj', 'root')
        """
        found = enumerate(tree.relations, start=1)
        return tree.with_heads(tree.heads, tuple(self.relations.get(word, relation) for word, relation in found))

    def permits(self, tag: IntArray, tag_of_symbol: IntArray) -> Permits:
        """List the symbols of a grammar that may stand over each span.

        tag: (n,) the number of the tag of each word; -1 where it is not known.
        tag_of_symbol: (S,) the number of the tag of each symbol's head.
        """
        n = len(tag)
        first, end = cells(n)

        def covers(word: int) -> BoolArray:
            """Tell which spans have a word; no span has the root."""
            return np.asarray((first < word) & (word <= end))

        # The words whose heads are outside a span: how many, and the last of them.
        count = np.zeros(len(end), dtype=np.int64)
        last = np.zeros(len(end), dtype=np.int64)
        for word, head in self.heads.items():
            is_outside = covers(word) & ~covers(head)
            count += is_outside
            last[is_outside] = word
        row = np.where(count == 0, 0, np.where(count == 1, last, n + 1))
        everything = np.ones((1, len(tag_of_symbol)), dtype=np.bool_)
        of_word = (tag[:, None] < 0) | (tag[:, None] == tag_of_symbol)
        return Permits(row, np.concatenate([everything, of_word, ~everything]))


ANY_TREE = Constraints()
"""The constraints that all trees obey."""


class PartialTree(NamedTuple):
    """A sentence, and what is known of its tree.

    sentence: the words, with tags or without.
    constraints: the trees that the sentence may have.
    """

    sentence: DependencySentence
    constraints: Constraints

    @staticmethod
    def unknown(sentence: DependencySentence) -> PartialTree:
        """Leave the tree of a sentence open.

        sentence: the words, with tags or without.

        >>> PartialTree.unknown(DependencySentence.of(["Yes"])).constraints
        Constraints(heads={}, relations={}, forbidden=())
        """
        return PartialTree(sentence, ANY_TREE)
