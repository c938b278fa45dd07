"""Convert phrases to s-trees and back: unary chains are collapsed, and phrases binarised outward from one child.

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
from spectral_latent.constituency.cleaning import base_label
from spectral_latent.constituency.heads import head_child
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.trees import BoolArray, SkeletalTrees, TreeBuilder, Vocabulary

__all__ = [
    "Binarisation",
    "PhraseSymbol",
    "PhraseTrees",
    "build_phrase",
    "phrase_of",
    "skeletal_trees",
]


class PhraseSymbol(NamedTuple):
    """A symbol of a binarised grammar.

    chain: the labels of a collapsed unary chain, top to bottom; over a word, the last label is its tag.
    bar: whether this is @X, a part of the phrase X = chain[0].
    memory: labels of the context: the siblings inside a bar, or the parents of a phrase.
    """

    chain: tuple[str, ...]
    bar: bool = False
    memory: tuple[str, ...] = ()

    @property
    def last(self) -> str:
        """The last label of the chain: the tag of a word, or the label of a phrase."""
        return self.chain[-1]

    @property
    def name(self) -> str:
        """The symbol in one word.

        >>> PhraseSymbol(("S", "VP"), bar=True, memory=("NP",)).name
        '@S|VP^NP'
        """
        return "@" * self.bar + "|".join(self.chain) + "".join(f"^{label}" for label in self.memory)


@dataclass(frozen=True)
class Binarisation(Options):
    """Settings of the conversion of phrases to binary trees.

    outward_from: the child to which the other children are attached: the first child, the last child, or the head (by
    Collins' table, or by a rule for other labels).
    siblings: the number of children whose labels a bar symbol remembers: those attached last.
    parents: the number of phrases above a phrase whose labels its symbol remembers.
    """

    outward_from: Literal["head", "first", "last"] = "head"
    siblings: Annotated[int, AtLeast(0)] = 0
    parents: Annotated[int, AtLeast(0)] = 0

    def centre(self, label: str, children: Sequence[str]) -> int:
        """Find the child from which binarisation starts.

        label: the label of the phrase.
        children: the labels of its children, left to right.
        """
        if self.outward_from == "head":
            return head_child(label, children)
        return 0 if self.outward_from == "first" else len(children) - 1


class _Merge(NamedTuple):
    """A step of binarisation, which joins the last two finished subtrees under a symbol."""

    symbol: PhraseSymbol
    head_is_right: bool


class PhraseTrees(NamedTuple):
    """s-trees of N nodes with their heads.

    trees: the s-trees.
    head_is_right: (N,) whether the head of a node is below its right child; False at a leaf.
    """

    trees: SkeletalTrees
    head_is_right: BoolArray


@lru_cache(1 << 14)
def _merges(
    binarisation: Binarisation, symbol: PhraseSymbol, labels: tuple[str, ...]
) -> tuple[int, tuple[_Merge, ...]]:
    """Find the child from which binarisation starts, and the steps that join the other children to it.

    Heads, bars and memories do not depend on function labels.
    """
    label = base_label(symbol.last)
    labels = tuple(map(base_label, labels))
    centre = binarisation.centre(label, labels)
    order = [*range(centre + 1, len(labels)), *range(centre - 1, -1, -1)]
    merges = []
    for step, at in enumerate(order, start=1):
        memory = tuple(labels[sibling] for sibling in order[max(step - binarisation.siblings, 0) : step])
        bar = symbol if step == len(order) else PhraseSymbol((label,), True, memory)
        merges.append(_Merge(bar, head_is_right=at < centre))
    return centre, tuple(merges)


def _expand(
    phrase: Phrase, parents: tuple[str, ...], binarisation: Binarisation
) -> list[tuple[Phrase, tuple[str, ...]] | _Merge] | tuple[PhraseSymbol, str]:
    """Divide a phrase: a symbol over a word, or children and merges in post-order."""
    chain = [phrase.label]
    while len(phrase.children) == 1 and isinstance(phrase.children[0], Phrase):
        phrase = phrase.children[0]
        chain.append(phrase.label)
    symbol = PhraseSymbol(tuple(chain), memory=parents)
    first = phrase.children[0]
    if isinstance(first, str) and len(phrase.children) == 1:
        return symbol, first
    children = [child for child in phrase.children if isinstance(child, Phrase)]
    if len(children) < len(phrase.children):
        raise ValueError(f"a phrase {phrase.label} holds several words, or words beside phrases; give each word a tag")
    centre, merges = _merges(binarisation, symbol, tuple([child.label for child in children]))
    below = tuple(map(base_label, (chain[-1], *parents)[: binarisation.parents]))
    steps: list[tuple[Phrase, tuple[str, ...]] | _Merge] = [(child, below) for child in children[: centre + 1]]
    for child, merge in zip(children[centre + 1 :], merges, strict=False):
        steps += [(child, below), merge]
    return [*steps, *merges[len(children) - centre - 1 :]]


def _append(builder: TreeBuilder[PhraseSymbol, str, bool], phrase: Phrase, binarisation: Binarisation) -> None:
    """Append the s-tree of a phrase, nodes in post-order; the note on a node is whether its head is on the right."""
    finished: list[int] = []  # nodes without a parent yet
    tasks: list[tuple[Phrase, tuple[str, ...]] | _Merge] = [(phrase, ("",) * min(binarisation.parents, 1))]
    while tasks:
        task = tasks.pop()
        if isinstance(task, _Merge):
            right = finished.pop()
            left = finished.pop()
            finished.append(builder.add(task.symbol, left, right, note=task.head_is_right))
            continue
        steps = _expand(*task, binarisation)
        if isinstance(steps, tuple):
            finished.append(builder.add(steps[0], -1, -1, steps[1], note=False))
        else:
            tasks.extend(reversed(steps))
    builder.root.append(finished.pop())


def skeletal_trees(
    phrases: Iterable[Phrase],
    binarisation: Binarisation,
    symbols: Vocabulary[PhraseSymbol],
    terminals: Vocabulary[str],
) -> PhraseTrees:
    """Convert cleaned phrases to s-trees; new symbols and words get new numbers.

    Raises ValueError for other trees.

    >>> symbols, words = Vocabulary[PhraseSymbol](), Vocabulary[str]()
    >>> tree = Phrase("S", (Phrase("NP", (Phrase("NNS", ("dogs",)),)), Phrase("VP", (Phrase("VBP", ("bark",)),))))
    >>> skeletal_trees([tree], Binarisation(), symbols, words).trees.symbol
    array([0, 1, 2])
    >>> [symbol.chain for symbol in symbols], list(words)
    ([('NP', 'NNS'), ('VP', 'VBP'), ('S',)], ['dogs', 'bark'])
    """
    builder = TreeBuilder[PhraseSymbol, str, bool](symbols, terminals)
    for phrase in phrases:
        _append(builder, phrase, binarisation)
    trees, notes = builder.trees()
    return PhraseTrees(trees, np.array(notes, dtype=np.bool_))


def build_phrase(chains: Iterable[tuple[str, ...]], n_children: Iterable[int], words: Iterable[str]) -> Phrase:
    """Build a phrase from nodes in post-order.

    >>> chains = [("N",), ("N",), ("NP",), ("V",), (), ("S",)]
    >>> print(build_phrase(chains, [0, 0, 2, 0, 2, 1], ["guard", "dogs", "bark"]).bracketed())
    (S (NP (N guard) (N dogs)) (V bark))
    """
    rest = iter(words)
    parts: list[Phrase | str] = []  # phrases and words that have no parent yet
    sizes: list[int] = []  # the number of these parts below each node without a parent
    for chain, n in zip(chains, n_children, strict=True):
        if n == 0:
            parts.append(next(rest))
            size = 1
        else:
            size = sum(sizes[-n:])
            del sizes[-n:]
        if chain:
            below = tuple(parts[-size:])
            for label in reversed(chain):
                below = (Phrase(label, below),)
            parts[-size:] = below
            size = 1
        sizes.append(size)
    (top,) = parts
    assert isinstance(top, Phrase)
    return top


def phrase_of(tree: SkeletalTrees, symbols: Sequence[PhraseSymbol], words: Iterable[str]) -> Phrase:
    """Convert one s-tree back to a phrase.  A bar @X at the top stands for its phrase X.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[0, 1, -1], root=[2])
    >>> symbols = [PhraseSymbol(("NP", "NNS")), PhraseSymbol(("VP", "VBP")), PhraseSymbol(("S",))]
    >>> print(phrase_of(tree, symbols, ["dogs", "bark"]).bracketed())
    (S (NP (NNS dogs)) (VP (VBP bark)))
    """
    named = [symbols[symbol] for symbol in tree.symbol.tolist()]
    chains = [() if symbol.bar else symbol.chain for symbol in named]
    chains[-1] = named[-1].chain
    return build_phrase(chains, np.where(tree.left < 0, 0, 2).tolist(), words)
