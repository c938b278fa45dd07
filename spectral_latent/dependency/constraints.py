"""Hold the constraints on the dependency tree of a sentence: known heads and relations, and forbidden arcs.

A node of the binarised tree covers a head with some of its dependants, and all words below these.  Only the head itself
has its own head outside the node.  Therefore a span of the chart is empty if it has two words whose heads are known to
be outside.  If it has one such word, the symbol over the span has the tag of this word.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeAlias

import numpy as np

from spectral_latent.dependency.tree import DependencySentence
from spectral_latent.grammar import Permits, cells
from spectral_latent.model import Partial
from spectral_latent.trees import BoolArray, IntArray


@dataclass(frozen=True)
class DependencyConstraints:
    """Constraints on the dependency tree of a sentence; words are numbered from 1, and 0 is the root.

    relations: the known relations of words to their heads; the heads may be unknown.
    forbidden: arcs that the tree must not have: pairs of a head and a word.

    >>> DependencyConstraints({1: 2, 2: 1})
    Traceback (most recent call last):
    ValueError: the heads of the words 1, 2 are a cycle, so that no tree has them
    """

    heads: Mapping[int, int] = field(default_factory=dict)
    relations: Mapping[int, str] = field(default_factory=dict)
    forbidden: Sequence[tuple[int, int]] = ()

    def __post_init__(self) -> None:
        # Turn lists of arcs into tuples, so that constraints with the same arcs are equal.
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

        >>> DependencyConstraints({1: 3, 2: 0}).crossing()
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
        """Raise ValueError if the constraints name words beyond a sentence or unknown relations, or allow a word no
        head.
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
        """Mark the arcs (n + 1, n) that a tree may have, from each word, where 0 is the root, to word m + 1.

        >>> DependencyConstraints({1: 2}, forbidden=[(0, 1)]).allowed(2).astype(int)
        array([[0, 1],
               [0, 0],
               [1, 0]])
        """
        allowed = ~np.eye(n_words + 1, n_words, -1, dtype=np.bool_)
        for head, word in self.forbidden:
            allowed[head, word - 1] = False
        for word, head in self.heads.items():
            allowed[:, word - 1] = False
            # No arc leads back from a word to its known head.  If the root is the known head, no other word is below
            # it.
            allowed[word, head - 1 : head] = False
            if head == 0:
                allowed[0] = False
        for word, head in self.heads.items():
            allowed[head, word - 1] = True
        return allowed

    def with_known_relations(self, tree: DependencySentence) -> DependencySentence:
        """Replace the relations of a tree by the known relations.

        >>> tree = DependencySentence.of(["Dogs", "bark"]).with_heads((2, 0), ("obj", "root"))
        >>> DependencyConstraints(relations={1: "nsubj"}).with_known_relations(tree).relations
        ('nsubj', 'root')
        """
        found = enumerate(tree.relations, start=1)
        return tree.with_heads(tree.heads, tuple(self.relations.get(word, relation) for word, relation in found))

    def permits(self, tag: IntArray, tag_of_symbol: IntArray) -> Permits:
        """List the symbols of a grammar that may stand over each span.

        tag: (n,) the number of the tag of each word; -1 for an unknown tag.
        tag_of_symbol: (S,) the number of the tag of each symbol's head."""
        n = len(tag)
        first, end = cells(n)

        def covers(word: int) -> BoolArray:
            """Tell which spans have a word in them; no span has the root in it."""
            return np.asarray((first < word) & (word <= end))

        # Count the words in each span whose heads are known to be outside, and find the last of them.
        count = np.zeros(len(end), dtype=np.int64)
        last = np.zeros(len(end), dtype=np.int64)
        for word, head in self.heads.items():
            is_outside = covers(word) & ~covers(head)
            count += is_outside
            last[is_outside] = word
        # Row 0 permits all symbols, row m the symbols with the tag of word m, and row n + 1 none.
        row = np.where(count == 0, 0, np.where(count == 1, last, n + 1))
        everything = np.ones((1, len(tag_of_symbol)), dtype=np.bool_)
        of_word = (tag[:, None] < 0) | (tag[:, None] == tag_of_symbol)
        return Permits(row, np.concatenate([everything, of_word, ~everything]))


ANY_TREE = DependencyConstraints()
"""No constraints: every tree obeys them."""


PartialDependencies: TypeAlias = Partial[DependencySentence, DependencyConstraints]


def unknown_tree(sentence: DependencySentence) -> PartialDependencies:
    """Make a sentence of whose tree nothing is known.

    sentence: the words, with tags or without.

    >>> unknown_tree(DependencySentence.of(["Yes"])).constraints
    DependencyConstraints(heads={}, relations={}, forbidden=())
    """
    return Partial(sentence, ANY_TREE)
