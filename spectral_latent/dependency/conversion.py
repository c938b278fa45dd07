"""Convert dependency trees to s-trees: a head's children are attached one after the other, outward from the head.

The right children r_1 ... r_b of word i are attached first, then its left children l_1 ... l_a, the closest child first
on each side:

    t_0 = i,   t_j = (t_{j-1}, tree(r_j)),   t_{b+j} = (tree(l_j), t_{b+j-1}),   tree(i) = t_{a+b}

So n words make n leaves and n - 1 binary nodes, one for each arc.  A symbol is the tag of the head with a role: the
side of the child that is attached above the node, or `complete` if all children are attached.  The probabilities of
rules include the decision to stop on either side, so that a tree has a probability.  Trees may be non-projective,
because only the side of a child matters, not its exact place.

For features, the core computes the templates that need only the s-tree.  This module adds templates of words, tags
and distances below a node (inside) and around it (outside).  The order of words is that of the leaves, which is the
order of the sentence if the tree is projective.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from spectral_latent._options import Options
from spectral_latent.dependency.tree import DependencySentence
from spectral_latent.estimation import (
    EstimationError,
    FeatureColumns,
    hash_columns,
    inside_templates,
    outside_templates,
)
from spectral_latent.trees import BoolArray, IntArray, SkeletalTrees, Vocabulary

Side = Literal["left", "right"]
Role = Literal["complete", "left", "right"]


class HeadSymbol(NamedTuple):
    """A symbol of the grammar.

    role: the side of the child that is attached above the node, or `complete` if all children are attached."""

    tag: str
    role: Role


@dataclass(frozen=True)
class Attachment(Options):
    """Settings of the conversion of dependency trees to binary trees.

    first_side: the side whose children are attached first.
    symbols_have_tags: whether symbols have the head's tag; otherwise there is one symbol for each role."""

    first_side: Side = "right"
    symbols_have_tags: bool = True


class DependencyTrees(NamedTuple):
    """s-trees of N nodes over the words of sentences.  The place of a word is its number among all words.

    head: (N,) the place of each node's head word."""

    trees: SkeletalTrees
    head: IntArray

    @property
    def head_is_right(self) -> BoolArray:
        """Whether each node is binary and has its head in its right child, (N,)."""
        trees = self.trees
        is_right: BoolArray = trees.is_binary & (self.head[trees.right] == self.head)
        return is_right

    def over(self, word: IntArray) -> SkeletalTrees:
        """Replace the places in the leaves by words.

        word: (n,) the number of the word at each place."""
        trees = self.trees
        terminal = np.where(trees.is_leaf, word[trees.terminal], -1)
        return SkeletalTrees(trees.symbol, trees.left, trees.right, terminal, trees.root)


_ROLES: tuple[Role, ...] = ("complete", "left", "right")  # in the order of their numbers in `_nodes`


def _nodes(head: IntArray, start: IntArray, left_first: bool) -> IntArray:
    """Build the s-trees of sentences, (4, N): the rows are role, left child, right child and head.

    The subtree of a word with k words in all takes 2k - 1 neighbouring nodes, and its top is the last of them.

    head: (n,) the place of each word's head, -1 for the root.
    start: (T + 1,) the first word of each sentence."""
    n = len(head)
    # Find the words of each depth: the roots, their children, and so on.
    depth = np.zeros(n, dtype=np.int64)
    below = np.flatnonzero(head >= 0)
    above = head[below]
    while len(below):
        depth[below] += 1
        above = head[above]
        below, above = below[above >= 0], above[above >= 0]
    levels = np.split(np.argsort(depth, kind="stable"), np.cumsum(np.bincount(depth))[:-1])
    size = np.ones(n, dtype=np.int64)  # the number of words in the subtree of each word
    for words in levels[:0:-1]:
        np.add.at(size, head[words], size[words])

    # The children of every head from left to right, and the number of nodes in the subtree of each.  For a child on the
    # right, it includes the node that joins it with its head, which comes directly after the subtree.
    child = np.argsort(head, kind="stable")[len(start) - 1 :]
    above = head[child]
    is_left = child < above
    width = 2 * size[child] - is_left
    first = np.searchsorted(above, above)
    before = np.cumsum(width) - width
    before -= before[first]
    n_left, on_left, on_right = (
        np.bincount(above[which], numbers[which], minlength=n).astype(np.int64)
        for which, numbers in ((is_left, np.ones(len(child))), (is_left, width), (~is_left, width))
    )
    # Find the first node of each subtree.  It has the subtrees of left children, the leaf of the word, and those of
    # right children.  The nodes that join left children follow one another, after the leaf or at the end.
    offset = np.zeros(n, dtype=np.int64)
    offset[child] = before + np.where(is_left, 0, 1 + left_first * n_left[above])
    place = np.zeros(n, dtype=np.int64)
    place[levels[0]] = 2 * start[:-1] - np.arange(len(start) - 1)  # each tree has one node less than twice its words
    for words in levels[1:]:
        place[words] = place[head[words]] + offset[words]
    leaf = place + on_left
    top = place + 2 * size - 2

    # A child is joined with a node of its head, whose role is the side of the child.
    nth_left = n_left[above] - 1 - (np.arange(len(child)) - first)  # from the head outward
    joins_left = leaf + 1 + (0 if left_first else on_right)
    join = np.where(is_left, joins_left[above] + nth_left, top[child] + 1)
    of_head = np.where(is_left, join, place[child]) - 1
    nodes = np.full((4, 2 * n - (len(start) - 1)), -1, dtype=np.int64)
    nodes[0, top] = 0
    nodes[0, of_head] = np.where(is_left, 1, 2)
    nodes[1:3, join] = np.where(is_left, (top[child], of_head), (of_head, top[child]))
    nodes[3, leaf] = np.arange(n)
    nodes[3, join] = above
    return nodes


def convert_trees(
    sentences: Iterable[DependencySentence],
    tags: Iterable[Sequence[str]],
    attachment: Attachment,
    symbols: Vocabulary[HeadSymbol],
    first: int = 1,
) -> DependencyTrees:
    """Convert T sentences to s-trees; new symbols get new numbers."""
    sentences = list(sentences)
    tags = list(tags)
    for number, sentence in enumerate(sentences, start=first):
        require_heads(sentence, number)
        text = f"sentence {number} ({' '.join(sentence.forms[:12])})"
        if not sentence.is_tree():
            raise EstimationError(f"{text}: its heads make a cycle; every word must lead to the root")
        if len(sentence.roots) != 1:
            raise EstimationError(f"{text} has {len(sentence.roots)} roots; it needs one word of head 0")
    if [len(row) for row in tags] != [len(sentence.forms) for sentence in sentences]:
        raise EstimationError("there must be one tag for each word of each sentence")
    start = np.cumsum([0, *(len(sentence.forms) for sentence in sentences)])
    head = np.array([h for sentence in sentences for h in sentence.heads or ()], dtype=np.int64)
    head = np.where(head > 0, head - 1 + np.repeat(start[:-1], np.diff(start)), -1)
    role, left, right, word = _nodes(head, start, attachment.first_side == "left")
    names = Vocabulary[str]()
    tag = np.array([names.add(name) for of_sentence in tags for name in of_sentence], dtype=np.int64)
    # Number the pairs of a tag and a role as symbols, in the order in which they occur.
    kind = role + len(_ROLES) * (tag[word] if attachment.symbols_have_tags else 0)
    kinds, begins, which = np.unique(kind, return_index=True, return_inverse=True)
    number_of = np.zeros(len(kinds), dtype=np.int64)
    for k in np.argsort(begins):
        name, at = divmod(int(kinds[k]), len(_ROLES))
        number_of[k] = symbols.add(HeadSymbol(names.names[name] if attachment.symbols_have_tags else "", _ROLES[at]))
    terminal = np.where(left < 0, word, -1)
    root = 2 * start[1:] - np.arange(1, len(start)) - 1
    return DependencyTrees(SkeletalTrees(number_of[which], left, right, terminal, root), word)


def require_heads(sentence: DependencySentence, number: int) -> None:
    """Raise EstimationError unless each word has a head that is 0 or the number of a word."""
    text = " ".join(sentence.forms[:12])
    n = len(sentence.forms)
    if sentence.heads is None:
        raise EstimationError(f"sentence {number} ({text}) has no heads; annotate them")
    if len(sentence.heads) != n:
        raise EstimationError(f"sentence {number} ({text}) has {len(sentence.heads)} heads for {n} words")
    for word, head in enumerate(sentence.heads, start=1):
        if not 0 <= head <= n:
            raise EstimationError(f"sentence {number} ({text}), word {word}: head {head} is neither 0 nor a word of it")


def list_possible_rules(symbols: Sequence[HeadSymbol], attachment: Attachment) -> tuple[IntArray, BoolArray]:
    """List all binary rules (R, 3) that trees may have, and whether their right child is the dependant (R,)."""
    number_of_symbol = {symbol: number for number, symbol in enumerate(symbols)}
    complete = [number for number, symbol in enumerate(symbols) if symbol.role == "complete"]
    rules = []
    for parent, (tag, above) in enumerate(symbols):
        sides: tuple[Side, ...] = ("left", "right") if above != attachment.first_side else (attachment.first_side,)
        for side in sides:
            head = number_of_symbol.get(HeadSymbol(tag, side))
            if head is not None:
                rules += [(parent, d, head) if side == "left" else (parent, head, d) for d in complete]
    table = np.array(rules, dtype=np.int64).reshape(-1, 3)
    return table, np.isin(table[:, 2], complete)


def mark_right_heads(symbols: Sequence[HeadSymbol], rules: IntArray) -> BoolArray:
    """Tell for every binary rule (R,) whether its head is in the right child: whether its left child is complete.

    rules: (R, 3) parent, left and right child."""
    complete = np.array([symbol.role == "complete" for symbol in symbols], dtype=bool)
    return complete[rules[:, 1]]


def _at(column: IntArray, places: IntArray) -> IntArray:
    """Look up column[places]; -1 for a negative place."""
    return np.where(places < 0, -1, column[places])


def compute_dependency_features(converted: DependencyTrees, tag: IntArray, word: IntArray) -> FeatureColumns:
    """Compute the templates of all nodes.

    tag: (n,) the number of the tag at each place.
    word: (n,) the number of the form at each place."""
    trees, head = converted
    is_right = converted.head_is_right.astype(np.int64)
    modifier = np.where(trees.is_binary, np.where(is_right, trees.left, trees.right), -1)
    dependant = _at(head, modifier)

    # The governor of a node is the head of the first node above it that has another head; -1 below the root.
    is_top = (trees.parent < 0) | (head[trees.parent] != head)
    top = trees.follow(np.where(is_top, -1, trees.parent))
    governor = _at(head, trees.parent[top])
    is_root = trees.parent[top] < 0
    governor = np.where(is_root, -1, governor)
    side = np.where(is_root, 0, np.where(governor < head, 1, 2))
    sibling = np.where(trees.is_right_child, trees.left[trees.parent], trees.right[trees.parent])
    sibling = np.where(trees.parent < 0, -1, sibling)

    # Find the leaves at both ends of each node, and the words beside them.
    order = trees.terminal[trees.is_leaf]  # places in the order of the leaves
    first_of_tree = np.concatenate([[0], np.cumsum(trees.n_leaves[trees.root])])[trees.tree]
    first = first_of_tree + trees.first_leaf
    last = first + trees.n_leaves - 1
    end = first_of_tree + trees.n_leaves[trees.root][trees.tree]
    before = np.where(trees.first_leaf > 0, order[first - 1], -1)
    after = np.where(last + 1 < end, order[np.minimum(last + 1, len(order) - 1)], -1)
    position = np.argsort(order)  # the position of each place among the leaves
    gap = np.where(side == 1, first - position[governor], position[governor] - last)  # from the governor to the span
    distance = np.where(is_root, 0, np.frexp(gap.astype(float))[1].astype(np.int64))

    inner = {
        "head": word[head],
        "dependant-tag": hash_columns(_at(tag, dependant), is_right),
        "dependant": _at(word, dependant),
        "first-tag": tag[order[first]],
        "last-tag": tag[order[last]],
        "first": word[order[first]],
        "last": word[order[last]],
    }
    outer = {
        "governor-tag": hash_columns(_at(tag, governor), side),
        "governor": _at(word, governor),
        "sibling-tag": hash_columns(_at(tag, _at(head, sibling)), side),
        "before-tag": _at(tag, before),
        "after-tag": _at(tag, after),
        "before": _at(word, before),
        "after": _at(word, after),
        "distance": hash_columns(distance, side),
    }
    worded = converted.over(word)
    return FeatureColumns.of(inside_templates(worded) | inner, outside_templates(worded) | outer)
