"""Phrases to s-trees and back: unary chains collapsed, phrases binarised outward from a child.

A phrase X over children c_1 ... c_n with head c_h becomes

    X → c_1 @X,   @X → c_2 @X,   ...,   @X → @X c_n,   ...,   @X → c_h c_{h+1}

where the left children hang above the right ones.  Binarisation to the left or right is the case h = 1 or h = n.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

import numpy as np

from spectral_latent._options import AtLeast, Options
from spectral_latent.constituency.heads import head_child
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.trees import BoolArray, IntArray, SkeletalTrees, Vocabulary

__all__ = ["Binarisation", "Label", "TreeColumns", "phrase_of", "skeletal_trees", "tag_numbers"]


class Label(NamedTuple):
    """A symbol of the binarised grammar.

    chain: the labels of a collapsed unary chain, top to bottom, down to the tag where it ends in one.
    bar: whether this is @X, a part of the phrase X = chain[0].
    memory: labels remembered from around: siblings inside a bar, parents of a phrase.
    """

    chain: tuple[str, ...]
    bar: bool = False
    memory: tuple[str, ...] = ()


@dataclass(frozen=True)
class Binarisation(Options):
    """How phrases become binary.

    outward_from: the head (Collins' table and a fallback), or always the first or the last child.
    siblings: how many of the last attached children a bar symbol remembers.
    parents: how many labels of the phrases above a phrase's symbol remembers.
    """

    outward_from: Literal["head", "first", "last"] = "head"
    siblings: Annotated[int, AtLeast(0)] = 0
    parents: Annotated[int, AtLeast(0)] = 0

    def centre(self, label: str, children: Sequence[str]) -> int:
        """The child that binarisation starts from."""
        if self.outward_from == "head":
            return head_child(label, children)
        return 0 if self.outward_from == "first" else len(children) - 1


class _Merge(NamedTuple):
    """Join the last two finished subtrees under a symbol."""

    symbol: Label
    head_is_right: bool


def _column() -> array[int]:
    return array("q")


@dataclass
class TreeColumns:
    """Columns of a growing treebank; see `SkeletalTrees`.

    head_is_right: of binary nodes, whether the head lies below the right child.
    """

    symbols: Vocabulary[Label]
    terminals: Vocabulary[str]
    symbol: array[int] = field(default_factory=_column)
    left: array[int] = field(default_factory=_column)
    right: array[int] = field(default_factory=_column)
    terminal: array[int] = field(default_factory=_column)
    head_is_right: array[int] = field(default_factory=_column)
    root: array[int] = field(default_factory=_column)

    @staticmethod
    def empty(labels: Iterable[Label] = ()) -> TreeColumns:
        """No trees, and symbols numbered as given."""
        return TreeColumns(Vocabulary(labels), Vocabulary())

    def add(self, symbol: Label, left: int, right: int, word: str | None, head_is_right: bool) -> int:
        """Append a node and return its number."""
        self.symbol.append(self.symbols.add(symbol))
        self.left.append(left)
        self.right.append(right)
        self.terminal.append(-1 if word is None else self.terminals.add(word))
        self.head_is_right.append(head_is_right)
        return len(self.symbol) - 1

    def trees(self) -> tuple[SkeletalTrees, BoolArray]:
        """The finished trees, and `head_is_right` (N,)."""
        trees = SkeletalTrees.of(self.symbol, left=self.left, right=self.right, terminal=self.terminal, root=self.root)
        return trees, np.array(self.head_is_right, dtype=bool)

    def taken(self) -> tuple[SkeletalTrees, BoolArray]:
        """What `trees` gives; the columns are empty then, and numbers keep their meaning for trees to come."""
        found = self.trees()
        for column in (self.symbol, self.left, self.right, self.terminal, self.head_is_right, self.root):
            del column[:]
        return found


def tag_numbers(labels: Sequence[Label], tags: Sequence[str]) -> IntArray:
    """The number of the tag that each symbol ends in (S,); -1 where it ends in none."""
    number = {tag: t for t, tag in enumerate(tags)}
    return np.array([number.get(label.chain[-1], -1) for label in labels], dtype=np.int64)


@lru_cache(1 << 14)
def _merges(binarisation: Binarisation, symbol: Label, labels: tuple[str, ...]) -> tuple[int, tuple[_Merge, ...]]:
    """The child to start from, and how the others join it, of a phrase over children with these labels."""
    label = symbol.chain[-1]
    centre = binarisation.centre(label, labels)
    order = [*range(centre + 1, len(labels)), *range(centre - 1, -1, -1)]
    merges = []
    for step, at in enumerate(order, start=1):
        memory = tuple(labels[sibling] for sibling in order[max(step - binarisation.siblings, 0) : step])
        bar = symbol if step == len(order) else Label((label,), True, memory)
        merges.append(_Merge(bar, head_is_right=at < centre))
    return centre, tuple(merges)


def _expand(
    phrase: Phrase, parents: tuple[str, ...], binarisation: Binarisation
) -> list[tuple[Phrase, tuple[str, ...]] | _Merge] | tuple[Label, str]:
    """What a phrase is made of: a symbol over a word, or children and merges in post-order."""
    chain = [phrase.label]
    while len(phrase.children) == 1 and isinstance(phrase.children[0], Phrase):
        phrase = phrase.children[0]
        chain.append(phrase.label)
    symbol = Label(tuple(chain), memory=parents)
    first = phrase.children[0]
    if isinstance(first, str) and len(phrase.children) == 1:
        return symbol, first
    children = [child for child in phrase.children if isinstance(child, Phrase)]
    if len(children) < len(phrase.children):
        raise ValueError(f"a phrase {phrase.label} holds several words, or words beside phrases; give each word a tag")
    centre, merges = _merges(binarisation, symbol, tuple([child.label for child in children]))
    below = (chain[-1], *parents)[: binarisation.parents]
    steps: list[tuple[Phrase, tuple[str, ...]] | _Merge] = [(child, below) for child in children[: centre + 1]]
    for child, merge in zip(children[centre + 1 :], merges, strict=False):
        steps += [(child, below), merge]
    return [*steps, *merges[len(children) - centre - 1 :]]


def _append(columns: TreeColumns, phrase: Phrase, binarisation: Binarisation) -> None:
    """Append one phrase's s-tree, nodes in post-order."""
    finished: list[int] = []
    tasks: list[tuple[Phrase, tuple[str, ...]] | _Merge] = [(phrase, ("",) * min(binarisation.parents, 1))]
    while tasks:
        task = tasks.pop()
        if isinstance(task, _Merge):
            right, left = finished.pop(), finished.pop()
            finished.append(columns.add(task.symbol, left, right, None, task.head_is_right))
            continue
        steps = _expand(*task, binarisation)
        if isinstance(steps, tuple):
            finished.append(columns.add(steps[0], -1, -1, steps[1], False))
        else:
            tasks.extend(reversed(steps))
    columns.root.append(finished.pop())


def skeletal_trees(phrases: Iterable[Phrase], binarisation: Binarisation, columns: TreeColumns) -> None:
    """Append cleaned phrases to `columns`.  Every phrase must have children that are all phrases, or one word.

    >>> columns = TreeColumns.empty()
    >>> tree = Phrase("S", (Phrase("NP", (Phrase("NNS", ("dogs",)),)), Phrase("VP", (Phrase("VBP", ("bark",)),))))
    >>> skeletal_trees([tree], Binarisation(), columns)
    >>> [label.chain for label in columns.symbols], list(columns.terminals)
    ([('NP', 'NNS'), ('VP', 'VBP'), ('S',)], ['dogs', 'bark'])
    """
    for phrase in phrases:
        _append(columns, phrase, binarisation)


def phrase_of(tree: SkeletalTrees, labels: Sequence[Label], words: Sequence[str]) -> Phrase:
    """The phrase that one s-tree over the given words stands for; labels name its symbols.

    A bar @X at the top stands for its phrase X.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[0, 1, -1], root=[2])
    >>> labels = [Label(("NP", "NNS")), Label(("VP", "VBP")), Label(("S",))]
    >>> print(phrase_of(tree, labels, ["dogs", "bark"]).bracketed())
    (S (NP (NNS dogs)) (VP (VBP bark)))
    """
    rest = iter(words)
    finished: list[tuple[Phrase | str, ...]] = []
    for symbol, left in zip(tree.symbol.tolist(), tree.left.tolist(), strict=True):
        label = labels[symbol]
        children: tuple[Phrase | str, ...]
        if left < 0:
            children = (next(rest),)
        else:
            right_part = finished.pop()
            children = finished.pop() + right_part
        if not label.bar:
            for name in reversed(label.chain):
                children = (Phrase(name, children),)
        finished.append(children)
    (*parts,) = finished.pop()
    top = parts[0]
    if label.bar or not isinstance(top, Phrase):
        return Phrase(label.chain[0], tuple(parts))
    return top
