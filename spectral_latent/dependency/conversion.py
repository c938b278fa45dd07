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

from spectral_latent._compiled import compiled
from spectral_latent._options import Options
from spectral_latent.dependency.sentence import DependencySentence
from spectral_latent.estimation import EstimationError
from spectral_latent.trees import BoolArray, IntArray, SkeletalTrees, Vocabulary

__all__ = [
    "Attachment",
    "DependencyTrees",
    "Label",
    "heads_are_right",
    "possible_rules",
    "require_heads",
    "skeletal_trees",
]

Side = Literal["left", "right"]
Role = Literal["complete", "left", "right"]


class Label(NamedTuple):
    """A symbol: the tag of the head, and the side of the child that is attached above the node, or `complete`."""

    tag: str
    role: Role


@dataclass(frozen=True)
class Attachment(Options):
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

    def over(self, word: IntArray) -> SkeletalTrees:
        """The s-trees with words for their places; word: (n,) the number of each, by place."""
        trees = self.trees
        terminal = np.where(trees.is_leaf, word[trees.terminal], -1)
        return SkeletalTrees(trees.symbol, trees.left, trees.right, terminal, trees.root)


_ROLES: tuple[Role, ...] = ("complete", "left", "right")  # as `_nodes` numbers them


@compiled
def _nodes(head: IntArray, start: IntArray, left_first: bool) -> IntArray:
    """Build the s-trees of sentences: rows role, left, right, head (4, N).

    head: (n,) the place of each word's head, -1 for the root.
    start: (T + 1,) the first word of each sentence.  A tree of k words takes the nodes from twice its place on, less
    one for each sentence before, and a subtree of k words 2 k - 1 nodes of them, which end with its top.
    """
    n = len(head)
    nodes = np.full((4, 2 * n - (len(start) - 1)), -1, dtype=np.int64)
    first_child, next_child = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    # Children of each word, in order, as chains.
    for word in range(n - 1, -1, -1):
        if head[word] >= 0:
            next_child[word] = first_child[head[word]]
            first_child[head[word]] = word
    order, size, place = np.empty(n, dtype=np.int64), np.ones(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    # Words from the roots down, and the sizes of their subtrees from the leaves up.
    n_ordered = 0
    for sentence in range(len(start) - 1):
        for word in range(start[sentence], start[sentence + 1]):
            if head[word] < 0:
                order[n_ordered] = word
                place[word] = 2 * start[sentence] - sentence
                n_ordered += 1
    at = 0
    while at < n_ordered:  # parents before children
        child = first_child[order[at]]
        while child >= 0:
            order[n_ordered] = child
            n_ordered += 1
            child = next_child[child]
        at += 1
    for k in range(n_ordered - 1, -1, -1):
        if head[order[k]] >= 0:
            size[head[order[k]]] += size[order[k]]
    # Give every word's subtrees their nodes, left ones first, and merge them.
    on_left = np.empty(n, dtype=np.int64)
    for k in range(n_ordered):
        word = order[k]
        node, n_left, n_right = place[word], 0, 0
        child = first_child[word]
        while child >= 0:
            if child < word:
                place[child] = node
                node += 2 * size[child] - 1
                on_left[n_left] = node - 1
                n_left += 1
            else:
                n_right += 1
            child = next_child[child]
        # The word's own leaf, then a binary node for each child, outward from the word.
        done_left, done_right, top = 0, 0, node
        nodes[3, node] = word
        child = first_child[word]
        while done_left + done_right < n_left + n_right:
            is_left = done_left < n_left and (left_first or done_right == n_right)
            nodes[0, top] = 1 if is_left else 2
            if is_left:
                done_left += 1
                node += 1
                nodes[1, node], nodes[2, node] = on_left[n_left - done_left], top
            else:
                while child < word:
                    child = next_child[child]
                place[child] = node + 1
                node += 2 * size[child]
                nodes[1, node], nodes[2, node] = top, node - 1
                done_right += 1
                child = next_child[child]
            nodes[3, node] = word
            top = node
        nodes[0, top] = 0
    return nodes


def skeletal_trees(
    sentences: Iterable[DependencySentence],
    tags: Iterable[Sequence[str]],
    attachment: Attachment,
    labels: Vocabulary[Label],
    first: int = 1,
) -> DependencyTrees:
    """Convert sentences with their heads' tags to s-trees; new labels are entered.

    first: the number of the first sentence, for messages.
    Raises EstimationError for a sentence without heads, or whose heads are not one tree.

    >>> labels, words = Vocabulary[Label](), DependencySentence.of(["big", "dogs", "bark"])._replace(heads=(2, 3, 0))
    >>> trees, head = skeletal_trees([words], [["J", "N", "V"]], Attachment(), labels)
    >>> trees.terminal, trees.left, head
    (array([ 0,  1, -1,  2, -1]), array([-1, -1,  0, -1,  2]), array([0, 1, 1, 2, 2]))
    >>> [labels.names[symbol] for symbol in trees.symbol[1:3].tolist()]
    [Label(tag='N', role='left'), Label(tag='N', role='complete')]
    """
    sentences = list(sentences)
    tags = list(tags)
    for number, sentence in enumerate(sentences, start=first):
        _require_tree(sentence, number)
    if [len(row) for row in tags] != [len(sentence.forms) for sentence in sentences]:
        raise EstimationError("there must be one tag for each word of each sentence")
    start = np.cumsum([0, *(len(sentence.forms) for sentence in sentences)])
    head = np.array([h for sentence in sentences for h in sentence.heads or ()], dtype=np.int64)
    head = np.where(head > 0, head - 1 + np.repeat(start[:-1], np.diff(start)), -1)
    role, left, right, word = _nodes(head, start, attachment.first == "left")
    names = Vocabulary[str]()
    tag = np.array([names.add(name) for of_sentence in tags for name in of_sentence], dtype=np.int64)
    kind = role + len(_ROLES) * (tag[word] if attachment.refined else 0)
    kinds, begins, which = np.unique(kind, return_index=True, return_inverse=True)
    number_of = np.zeros(len(kinds), dtype=np.int64)
    for k in np.argsort(begins):
        name, at = divmod(int(kinds[k]), len(_ROLES))
        number_of[k] = labels.add(Label(names.names[name] if attachment.refined else "", _ROLES[at]))
    terminal = np.where(left < 0, word, -1)
    root = 2 * start[1:] - np.arange(1, len(start)) - 1
    return DependencyTrees(SkeletalTrees(number_of[which], left, right, terminal, root), word)


def require_heads(sentence: DependencySentence, number: int) -> None:
    """Raise EstimationError unless each word has a head that is 0 or the number of a word.

    number: that of the sentence, for messages.
    """
    text, n = " ".join(sentence.forms[:12]), len(sentence.forms)
    if sentence.heads is None:
        raise EstimationError(f"sentence {number} ({text}) has no heads; annotate them")
    if len(sentence.heads) != n:
        raise EstimationError(f"sentence {number} ({text}) has {len(sentence.heads)} heads for {n} words")
    for word, head in enumerate(sentence.heads, start=1):
        if not 0 <= head <= n:
            raise EstimationError(f"sentence {number} ({text}), word {word}: head {head} is neither 0 nor a word of it")


def _require_tree(sentence: DependencySentence, number: int) -> None:
    """Raise EstimationError unless the heads are one tree."""
    require_heads(sentence, number)
    text = " ".join(sentence.forms[:12])
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
