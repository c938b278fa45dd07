"""Phrases to s-trees and back: unary chains collapsed, phrases binarised outward from a child.

A phrase X over children c_1 ... c_n with head c_h becomes

    X → c_1 @X,   @X → c_2 @X,   ...,   @X → @X c_n,   ...,   @X → c_h c_{h+1}

where the left children hang above the right ones.  Binarisation to the left or right is the case h = 1 or h = n.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

import numpy as np

from spectral_latent._options import AtLeast, Options
from spectral_latent.constituency.heads import head_child
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.trees import IntArray, SkeletalTrees, TreeBuilder

__all__ = ["Binarisation", "Label", "PhraseTreeBuilder", "phrase_of", "skeletal_trees", "tag_numbers"]


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


PhraseTreeBuilder = TreeBuilder[Label, str, bool]
"""Growing s-trees of phrases; the note on a binary node tells whether the head lies below its right child."""


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


def _append(builder: PhraseTreeBuilder, phrase: Phrase, binarisation: Binarisation) -> None:
    """Append one phrase's s-tree, nodes in post-order."""
    finished: list[int] = []
    tasks: list[tuple[Phrase, tuple[str, ...]] | _Merge] = [(phrase, ("",) * min(binarisation.parents, 1))]
    while tasks:
        task = tasks.pop()
        if isinstance(task, _Merge):
            right, left = finished.pop(), finished.pop()
            finished.append(builder.add(task.symbol, left, right, note=task.head_is_right))
            continue
        steps = _expand(*task, binarisation)
        if isinstance(steps, tuple):
            finished.append(builder.add(steps[0], -1, -1, steps[1], note=False))
        else:
            tasks.extend(reversed(steps))
    builder.root.append(finished.pop())


def skeletal_trees(phrases: Iterable[Phrase], binarisation: Binarisation, builder: PhraseTreeBuilder) -> None:
    """Append the s-trees of cleaned phrases.  Every phrase must have children that are all phrases, or one word.

    >>> builder = PhraseTreeBuilder()
    >>> tree = Phrase("S", (Phrase("NP", (Phrase("NNS", ("dogs",)),)), Phrase("VP", (Phrase("VBP", ("bark",)),))))
    >>> skeletal_trees([tree], Binarisation(), builder)
    >>> [label.chain for label in builder.symbols], list(builder.terminals)
    ([('NP', 'NNS'), ('VP', 'VBP'), ('S',)], ['dogs', 'bark'])
    """
    for phrase in phrases:
        _append(builder, phrase, binarisation)


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
