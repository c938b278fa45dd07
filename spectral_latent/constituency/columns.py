"""Number the nodes of trees for compiled code; a node that several trees share has one number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from spectral_latent._compiled import check_column, check_range, check_starts, compiled
from spectral_latent.constituency.constituents import Chain, LabelledConstituents
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.trees import FloatArray, IntArray, Rules, Vocabulary, ranges

__all__ = ["PhraseColumns"]

_PhraseKey: TypeAlias = tuple[int, int]  # the `id` of a phrase, and the place of its first word


class PhraseColumns(NamedTuple):
    """The N distinct nodes of T trees, children before parents.

    A node is a phrase with its chain of labels, or a word with the chain that ends in its tag.  Phrases with the same
    chain over the same children are one node, and so are words at one place with the same chain.

    chain: (N,) the number of the chain of labels.
    start: (N + 1,) node i has the children child[start[i]] ... child[start[i+1] - 1]; a node over a word has none.
    child: (C,) the children of all nodes; those of one node from left to right.
    place: (N,) the place, among the words of all sentences, of the word below the node; -1 for a phrase.
    root: (T,) the root of each tree.
    n_phrases: (T,) the number of phrases in each tree, where a chain of labels counts once.
    chains: the chains in the order of their numbers.
    """

    chain: IntArray
    start: IntArray
    child: IntArray
    place: IntArray
    root: IntArray
    n_phrases: IntArray
    chains: list[Chain]

    @staticmethod
    def of(lists: Iterable[Sequence[Phrase]], first: Iterable[int]) -> PhraseColumns:
        """Number the nodes of the trees of sentences.

        Raises ValueError for a tree with several words below one label, or words beside phrases.

        >>> def leaf(tag, word): return Phrase(tag, (word,))
        >>> trees = [Phrase("S", (leaf("NN", "rain"), leaf(tag, "falls"))) for tag in ("NNS", "VBZ")]
        >>> columns = PhraseColumns.of([trees], [0])
        >>> columns.place, columns.child, columns.root
        (array([ 0,  1, -1,  1, -1]), array([0, 1, 0, 3]), array([2, 4]))
        """
        numbering = _Numbering()
        roots: list[int] = []
        for trees, place in zip(lists, first, strict=False):
            numbering.begin_sentence()
            roots += [numbering.add(tree, place) for tree in trees]
        root = np.array(roots, dtype=np.int64)
        return PhraseColumns(
            chain=np.array(numbering.chain, dtype=np.int64),
            start=np.array(numbering.start, dtype=np.int64),
            child=np.array(numbering.child, dtype=np.int64),
            place=np.array(numbering.place, dtype=np.int64),
            root=root,
            n_phrases=np.array(numbering.n_phrases, dtype=np.int64)[root],
            chains=numbering.chains.names,
        )

    def trees(self, words: Sequence[str]) -> list[Phrase]:
        """Build the trees; a node that several trees share is one object.

        >>> tree = Phrase("S", (Phrase("NP", (Phrase("NN", ("rain",)),)), Phrase("VB", ("falls",))))
        >>> PhraseColumns.of([[tree]], [0]).trees(["rain", "falls"])
        [<Phrase: (S (NP (NN rain)) (VB falls))>]
        """
        inner_first = [chain[::-1] for chain in self.chains]
        child = self.child.tolist()
        made: list[Phrase | str] = []
        columns = zip(self.chain.tolist(), pairwise(self.start.tolist()), self.place.tolist(), strict=True)
        for number, (begin, end), place in columns:
            parts = tuple([made[node] for node in child[begin:end]]) if begin < end else (words[place],)
            for label in inner_first[number]:
                parts = (Phrase(label, parts),)
            made += parts
        return [tree for root in self.root.tolist() if isinstance(tree := made[root], Phrase)]

    def values(self, parts: LabelledConstituents, labels: Sequence[str]) -> list[FloatArray]:
        """List the posteriors of the labelled constituents of each tree, in the order of `constituents_of`.

        parts: different labelled constituents with their posteriors; all other constituents have posterior zero.  The
        words of all sentences are numbered together.

        >>> tree = Phrase("NP", (Phrase("NN", ("rain",)),))
        >>> spans = np.array([[0], [1], [0]])
        >>> parts = LabelledConstituents(*spans, np.array([False]), np.array([0.5]), *spans[:2])
        >>> PhraseColumns.of([[tree]], [0]).values(parts, ["NP"])
        [array([0. , 0.5])]
        """
        first, end, size = np.empty((3, len(self.chain)), dtype=np.int64)
        _measure(self.start, self.child, self.place, first, end, size)
        # The labels of each node, the lowest first, and their posteriors.
        length = np.array([len(chain) for chain in self.chains], dtype=np.int64)
        label = Vocabulary(labels).numbers(label for chain in self.chains for label in chain[::-1])
        end_of_chain = np.cumsum(length)
        place, node = ranges((end_of_chain - length)[self.chain], end_of_chain[self.chain])
        last = np.cumsum(length[self.chain])
        is_lowest = np.arange(len(node)) == (last - length[self.chain])[node]
        is_tag = is_lowest & (self.place[node] >= 0)
        known = np.stack([parts.first, parts.end, parts.label, parts.is_tag], axis=1)
        order = np.lexsort(known.T[::-1])
        row = Rules.find(known[order], np.stack([first[node], end[node], label[place], is_tag], axis=1))
        value = np.append(parts.posterior[order], 0.0)[row]
        # The nodes of each tree, children before parents, and all their labels.
        end_of_tree = np.cumsum(size[self.root])
        nodes = np.empty(size[self.root].sum(), dtype=np.int64)
        _list_nodes(self.start, self.child, self.root, end_of_tree, np.empty_like(self.chain), nodes)
        at, _ = ranges((last - length[self.chain])[nodes], last[nodes])
        bounds = np.append(0, np.cumsum(length[self.chain][nodes]))[np.append(0, end_of_tree)]
        return [value[at[begin:stop]] for begin, stop in pairwise(bounds.tolist())]

    def check(self) -> None:
        """Raise ValueError unless children come before parents, and the last node is a root."""
        chain, start, child, place, root, _, chains = self
        n = np.size(chain)
        for name, column, size in (
            ("chains of trees", chain, n),
            ("children of trees", child, np.size(child)),
            ("places of words of trees", place, n),
            ("roots of trees", root, np.size(root)),
        ):
            check_column(name, column, (size,), np.int64)
        check_starts("starts of children of trees", start, len(child))
        check_column("starts of children of trees", start, (n + 1,), np.int64)
        check_range("chains of trees", chain, 0, len(chains))
        check_range("children of trees", child, 0, n)
        check_range("roots of trees", root, 0, n)
        n_children = np.diff(start)
        if (n_children == 1).any():
            raise ValueError("a phrase of trees has one child, which belongs to the chain of its labels")
        if (child >= np.repeat(np.arange(n), n_children)).any():
            raise ValueError("children of trees must come before their parents")
        if n and (not len(root) or root.max() != n - 1):
            raise ValueError("the last node of trees must be a root")


@compiled
def _measure(start: IntArray, child: IntArray, place: IntArray, first: IntArray, end: IntArray, size: IntArray) -> None:
    """Find the span of each node, and the number of nodes in its subtree.

    start, child, place: (N + 1,), (C,) and (N,) the columns of nodes, as in `PhraseColumns`.
    first, end: (N,) get the first word of each node, and the word after its last word.
    size: (N,) gets the number of nodes in the subtree, the node itself included.
    """
    for node in range(len(place)):
        below, stop = start[node], start[node + 1]
        size[node] = 1
        for at in range(below, stop):
            size[node] += size[child[at]]
        first[node] = place[node] if below == stop else first[child[below]]
        end[node] = place[node] + 1 if below == stop else end[child[stop - 1]]


@compiled
def _list_nodes(
    start: IntArray, child: IntArray, root: IntArray, end_of_tree: IntArray, stack: IntArray, nodes: IntArray
) -> None:
    """List the nodes of each tree, children before parents and from left to right.

    start, child, root: (N + 1,), (C,) and (T,) the columns of trees, as in `PhraseColumns`.
    end_of_tree: (T,) the end of the nodes of each tree in `nodes`.
    stack: (N,) room for the nodes that are still to be visited.
    nodes: (n,) gets the nodes of all trees.
    """
    for tree in range(len(root)):
        at = end_of_tree[tree]
        stack[0] = root[tree]
        depth = 1
        # Visit each node before its children, and the last child first, while `nodes` is filled from its end.
        while depth > 0:
            depth -= 1
            node = stack[depth]
            at -= 1
            nodes[at] = node
            for below in range(start[node], start[node + 1]):
                stack[depth] = child[below]
                depth += 1


class _Numbering:
    """The columns of `PhraseColumns` as they grow."""

    def __init__(self) -> None:
        self.chains = Vocabulary[Chain]()
        self.chain: list[int] = []
        self.start = [0]
        self.child: list[int] = []
        self.place: list[int] = []
        self.n_phrases: list[int] = []
        self.begin_sentence()

    def begin_sentence(self) -> None:
        """Forget the nodes of the sentence before, because trees of different sentences share no nodes."""
        # The node for each chain, place of a word, and children.
        self._nodes: dict[tuple[int, int, tuple[int, ...]], int] = {}
        # The node of each phrase, and the place after its last word.
        self._known: dict[_PhraseKey, tuple[int, int]] = {}

    def add(self, tree: Phrase, place: int) -> int:
        """Number the new nodes of a tree, and return its root."""
        # The unfinished phrases above: key, chain, children to be numbered, and numbers of the children before them.
        opened: list[tuple[_PhraseKey, Chain, Iterator[Phrase], list[int]]] = []
        above: _PhraseKey = 0, place  # the phrase whose children are numbered now
        chain: Chain = ()
        rest = iter([tree])
        children: list[int] = []
        while True:
            for phrase in rest:
                key = id(phrase), place
                node_and_end = self._known.get(key)
                if node_and_end is None:
                    labels, below = _divided(phrase)
                    if below:
                        # Go down into this phrase first; the `for` loop goes on when it is finished.
                        opened.append((above, chain, rest, children))
                        above = key
                        chain = labels
                        rest = iter(below)
                        children = []
                        break
                    node_and_end = self._known[key] = self._number(labels, place, ()), place + 1
                node, place = node_and_end
                children.append(node)
            else:
                # All children have numbers: number the phrase, and go back to the phrase above it.
                if not opened:
                    return children[0]
                node = self._number(chain, -1, tuple(children))
                self._known[above] = node, place
                above, chain, rest, children = opened.pop()
                children.append(node)

    def _number(self, chain: Chain, place: int, children: tuple[int, ...]) -> int:
        """Return the number of a node; a new node gets the next number."""
        number = self.chains.add(chain)
        node = self._nodes.setdefault((number, place, children), len(self.chain))
        if node == len(self.chain):
            self.chain.append(number)
            self.child += children
            self.start.append(len(self.child))
            self.place.append(place)
            self.n_phrases.append(sum([self.n_phrases[child] for child in children], int(place < 0)))
        return node


def _divided(phrase: Phrase) -> tuple[Chain, list[Phrase]]:
    """Divide a phrase into its chain of labels, and the children below the chain; above a word there are none."""
    chain = [phrase.label]
    while len(phrase.children) == 1 and isinstance(phrase.children[0], Phrase):
        phrase = phrase.children[0]
        chain.append(phrase.label)
    children = [child for child in phrase.children if isinstance(child, Phrase)]
    if len(children) < len(phrase.children) > 1:
        raise ValueError(f"a phrase {phrase.label} holds several words, or words beside phrases; give each word a tag")
    return tuple(chain), children
