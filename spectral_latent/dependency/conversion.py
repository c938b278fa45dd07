"""Dependency trees to s-trees: a head's children are attached one after the other, outward from the head.

With the right children r_1 ... r_b of word i first, then the left ones l_1 ... l_a, each from the closest on,

    t_0 = i,   t_j = (t_{j-1}, tree(r_j)),   t_{b+j} = (tree(l_j), t_{b+j-1}),   tree(i) = t_{a+b}

so that n words make n leaves and n - 1 binary nodes, one for each arc.  A symbol is the head's tag and a role: the side
of the child that is attached above the node, or that all children are attached.  What the probabilities of rules then
say is when to stop on either side, and so the tree itself has a probability.  No order of words is looked at but which
side of its head a child is on: trees may be non-projective.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from spectral_latent.dependency.sentence import DependencySentence
from spectral_latent.estimation import EstimationError
from spectral_latent.trees import BoolArray, IntArray, SkeletalTrees, Vocabulary

__all__ = ["Attachment", "DependencyTrees", "Label", "heads_are_right", "possible_rules", "skeletal_trees"]

Side = Literal["left", "right"]
Role = Literal["complete", "left", "right"]


class Label(NamedTuple):
    """A symbol: the tag of the head, and the side of the child that is attached above the node, or `complete`."""

    tag: str
    role: Role


@dataclass(frozen=True)
class Attachment:
    """How dependency trees become binary.

    first: the side whose children are attached first.
    refined: whether symbols tell the head's tag; otherwise there is one symbol a role.
    """

    first: Side = "right"
    refined: bool = True


class DependencyTrees(NamedTuple):
    """s-trees of N nodes whose terminals are the places of words: the words of all sentences, one after the other.

    head: (N,) the place of each node's head word.
    """

    trees: SkeletalTrees
    head: IntArray

    @property
    def head_is_right(self) -> BoolArray:
        """(N,) whether a binary node's head is in its right child."""
        trees = self.trees
        found: BoolArray = trees.is_binary & (self.head[trees.right] == self.head)
        return found


class _Step(NamedTuple):
    """The s-tree of a word and all below it, still to be made; or, once its role is known, one node of its head.

    side: where the child is that the node joins with what was finished before; `complete` for a leaf.
    """

    word: int
    role: Role | None = None
    side: Role = "complete"


def _steps(word: int, children: Sequence[int], first: Side) -> list[_Step]:
    """What makes the s-tree of a word, in post-order."""
    left, right = [c for c in children if c < word], [c for c in children if c > word]
    on_left: list[Role] = ["left"] * len(left)
    on_right: list[Role] = ["right"] * len(right)
    sides = on_left + on_right if first == "left" else on_right + on_left
    merges = [_Step(word, above, side) for above, side in zip([*sides[1:], "complete"], sides, strict=False)]
    to_left, to_right = ([merge for merge in merges if merge.side == side] for side in ("left", "right"))
    steps = [*map(_Step, left), _Step(word, sides[0] if sides else "complete")]
    if first == "left":
        steps += to_left
    for child, merge in zip(right, to_right, strict=True):
        steps += [_Step(child), merge]
    return steps + (to_left if first == "right" else [])


def skeletal_trees(
    sentences: Iterable[DependencySentence],
    tags: Iterable[Sequence[str]],
    attachment: Attachment,
    labels: Vocabulary[Label],
) -> DependencyTrees:
    """The s-trees of sentences with their heads' tags; new labels are entered.

    Raises EstimationError for a sentence without heads, or whose heads are not one tree.

    >>> labels, words = Vocabulary[Label](), DependencySentence.of(["big", "dogs", "bark"])._replace(heads=(2, 3, 0))
    >>> trees, head = skeletal_trees([words], [["J", "N", "V"]], Attachment(), labels)
    >>> trees.terminal, trees.left, head
    (array([ 0,  1, -1,  2, -1]), array([-1, -1,  0, -1,  2]), array([0, 1, 1, 2, 2]))
    >>> [labels.names[symbol] for symbol in trees.symbol[1:3].tolist()]
    [Label(tag='N', role='left'), Label(tag='N', role='complete')]
    """
    columns: tuple[list[int], ...] = ([], [], [], [], [], [])
    symbol, left, right, terminal, root, head = columns
    offset = 0
    for number, (sentence, names) in enumerate(zip(sentences, tags, strict=True), start=1):
        _require_tree(sentence, number)
        children = sentence.dependants()
        finished: list[int] = []
        waiting = [_Step(children[0][0])]
        while waiting:
            word, role, side = waiting.pop()
            if role is None:
                waiting += reversed(_steps(word, children[word], attachment.first))
                continue
            is_leaf = side == "complete"
            right.append(-1 if is_leaf else finished.pop())
            left.append(-1 if is_leaf else finished.pop())
            finished.append(len(symbol))
            symbol.append(labels.add(Label(names[word - 1] if attachment.refined else "", role)))
            head.append(offset + word - 1)
            terminal.append(offset + word - 1 if is_leaf else -1)
        root.append(len(symbol) - 1)
        offset += len(sentence.forms)
    *of_trees, heads = (np.array(column, dtype=np.int64) for column in columns)
    return DependencyTrees(SkeletalTrees(*of_trees), heads)


def _require_tree(sentence: DependencySentence, number: int) -> None:
    """Raise EstimationError unless the heads are one tree."""
    text = " ".join(sentence.forms[:12])
    if sentence.heads is None:
        raise EstimationError(f"sentence {number} ({text}) has no heads; annotate them")
    if not sentence.is_tree():
        raise EstimationError(f"sentence {number} ({text}): its heads make a cycle; every word must lead to the root")
    if len(sentence.roots) != 1:
        raise EstimationError(
            f"sentence {number} ({text}) has {len(sentence.roots)} roots; it needs one word of head 0"
        )


def possible_rules(labels: Sequence[Label], attachment: Attachment) -> tuple[IntArray, BoolArray]:
    """All binary rules (R, 3) among the symbols of a grammar that trees may have, and whether the right child is the
    dependant (R,).

    >>> labels = [Label("N", "complete"), Label("V", "complete"), Label("V", "right")]
    >>> rules, dependant_is_right = possible_rules(labels, Attachment())
    >>> rules, dependant_is_right
    (array([[1, 2, 0],
           [1, 2, 1],
           [2, 2, 0],
           [2, 2, 1]]), array([ True,  True,  True,  True]))
    """
    number = {label: symbol for symbol, label in enumerate(labels)}
    complete = [symbol for symbol, label in enumerate(labels) if label.role == "complete"]
    rules = []
    for parent, (tag, above) in enumerate(labels):
        sides: tuple[Side, ...] = ("left", "right") if above != attachment.first else (attachment.first,)
        for side in sides:
            head = number.get(Label(tag, side))
            if head is not None:
                rules += [(parent, d, head) if side == "left" else (parent, head, d) for d in complete]
    table = np.array(rules, dtype=np.int64).reshape(-1, 3)
    return table, np.isin(table[:, 2], complete)


def heads_are_right(labels: Sequence[Label], rules: IntArray) -> BoolArray:
    """Whether the head is in the right child, for every binary rule (R, 3): the child that is not complete has it."""
    complete = np.array([label.role == "complete" for label in labels], dtype=bool)
    return complete[rules[:, 1]]
