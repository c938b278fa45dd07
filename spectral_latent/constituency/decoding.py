"""From the constituents that a sentence may have to its best trees.

| here | meaning |
| --- | --- |
| μ(i, j, X) | posterior that X spans the words i ... j-1, summed over the chains of labels that hold X |
| gain of a chain at (i, j) | Σ_X (μ(i, j, X) - span penalty); the tag of a word has no penalty |

The tree of the most gain is that of Goodman's (1996) labelled recall, less a penalty that weighs precision against it.
Posteriors of several grammars may be averaged first, whatever their binarisations.

All trees that constituents make up are one forest, which does not depend on the grammars that found them:

| item | meaning |
| --- | --- |
| (i, j, chain) | a phrase with its chain of labels, over the words i ... j-1: a row and the phrase after it |
| any (i, j) | one of the phrases over these words |
| row (i, j) | one such phrase, or several side by side |

Rows grow to the right only, so that every tree is derived once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import ZERO, check_column, check_range, compiled, compiled_part, with_room
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.drawing import Html, heat_map
from spectral_latent.inference import Derivations
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, Rules, Vocabulary, ranges

__all__ = [
    "ChainLabels",
    "Constituent",
    "Constituents",
    "LabelledConstituents",
    "PhraseForest",
    "bracketings",
    "constituents_of",
    "spans_html",
]

Chain = tuple[str, ...]
_ANY = -1
_ROW = -2


class Constituent(NamedTuple):
    """A labelled part of a sentence.

    first, end: it is over the words first ... end - 1.
    label: its label.
    is_tag: whether it is the tag of a word.
    """

    first: int
    end: int
    label: str
    is_tag: bool


def spans_html(words: Sequence[str], posteriors: Mapping[Constituent, float]) -> Html:
    """Draw the posteriors of phrases as a table, each span with its likeliest label.

    words: the n words of a sentence.
    posteriors: the posterior of each constituent; those of tags are left out.

    >>> posteriors = {Constituent(0, 2, "NP", False): 0.75, Constituent(0, 2, "VP", False): 0.25}
    >>> spans_html(["big", "dogs"], posteriors).count(">NP .75<")
    1
    """
    values = [[0.0] * len(words) for _ in words]
    labels = [[""] * len(words) for _ in words]
    for part, posterior in posteriors.items():
        if not part.is_tag and posterior > values[part.first][part.end - 1]:
            values[part.first][part.end - 1] = posterior
            labels[part.first][part.end - 1] = part.label
    caption = "Posterior of the likeliest phrase from the word of the row to the word of the column"
    return heat_map(caption, words, words, values, labels)


def constituents_of(tree: Phrase) -> list[Constituent]:
    """List the constituents of a cleaned tree, tags included; the inner ones come first.

    tree: the tree.

    >>> [part.label for part in constituents_of(Phrase("S", (Phrase("NN", ("rain",)), Phrase("VB", ("falls",)))))]
    ['NN', 'VB', 'S']
    """
    parts: list[Constituent] = []
    opened: list[tuple[str, int]] = []
    stack: list[Phrase | None] = [tree]
    at = 0
    while stack:
        node = stack.pop()
        if node is None:
            label, first = opened.pop()
            parts.append(Constituent(first, at, label, False))
        elif isinstance(node.children[0], str):
            parts.append(Constituent(at, at + 1, node.label, True))
            at += 1
        else:
            opened.append((node.label, at))
            stack.append(None)
            stack += reversed([child for child in node.children if isinstance(child, Phrase)])
    return parts


class Constituents(NamedTuple):
    """K chains of labels over parts of sentences.

    first, end: (K,) a chain is over the words first ... end - 1.
    chain: (K,) its number.
    posterior: (K,).
    """

    first: IntArray
    end: IntArray
    chain: IntArray
    posterior: FloatArray

    @property
    def spans(self) -> IntArray:
        """Number the span of each, (K,)."""
        return self.end * (self.end + 1) // 2 + self.first

    def merged(self) -> Constituents:
        """Put each chain over the same words once, with the sum of its posteriors, in the order of first words.

        >>> Constituents(*np.array([[0, 0], [1, 1], [2, 2]]), np.array([0.25, 0.5])).merged().posterior
        array([0.75])
        """
        rows, which = Rules.distinct(np.stack([self.first, self.end, self.chain], axis=1))
        first, end, chain = np.ascontiguousarray(rows.T)
        return Constituents(first, end, chain, np.bincount(which, self.posterior, minlength=len(rows)).astype(float))

    @staticmethod
    def mean(parts: Sequence[Constituents], n_grammars: IntArray) -> Constituents:
        """Average the posteriors of several grammars; a constituent that one of them lacks has posterior zero there.

        The constituents come in the order of their first words.

        parts: what each grammar found in sentences; all number the chains alike.
        n_grammars: (n,) for each of the n words, how many grammars derive its sentence.

        >>> one, two = (Constituents(*np.array([[0, 0], [1, 2], [0, chain]]), np.ones(2)) for chain in (1, 2))
        >>> Constituents.mean([one, two], np.array([2, 2])).posterior
        array([1. , 0.5, 0.5])
        """
        every = Constituents(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return every._replace(posterior=every.posterior / n_grammars[every.first]).merged()

    def of_words(self, first: int, end: int) -> Constituents:
        """Take the constituents of one of several sentences, and number its words from 0.

        The constituents must come in the order of their first words.

        first: the first word of the sentence.
        end: the word after its last one.
        """
        rows = slice(*np.searchsorted(self.first, (first, end)))
        return Constituents(self.first[rows] - first, self.end[rows] - first, self.chain[rows], self.posterior[rows])


class LabelledConstituents(NamedTuple):
    """L labelled constituents of a sentence, which P labels in chains stand for; tags are constituents of their own.

    first, end: (L,) a constituent is over the words first ... end - 1.
    label: (L,) the number of its label.
    is_tag: (L,) whether it is the tag of a word.
    posterior: (L,) μ.
    row: (P,) the constituent with the chain that each label is in.
    part: (P,) the labelled constituent that it stands for.
    """

    first: IntArray
    end: IntArray
    label: IntArray
    is_tag: BoolArray
    posterior: FloatArray
    row: IntArray
    part: IntArray

    def gains(self, span_penalty: float) -> FloatArray:
        """Compute the gain of each constituent with a chain, (K,).

        span_penalty: what a label loses that is not the tag of a word.
        """
        worth = self.posterior - span_penalty * ~self.is_tag
        gain: FloatArray = np.bincount(self.row, worth[self.part]).astype(float)
        return gain

    def named(self, labels: Sequence[str]) -> list[Constituent]:
        """List the constituents with their names.

        labels: the labels, as they are numbered.
        """
        names = [labels[number] for number in self.label.tolist()]
        return list(map(Constituent, self.first.tolist(), self.end.tolist(), names, self.is_tag.tolist()))


class ChainLabels:
    """The labels in chains.

    chains: as constituents number them.

    >>> labels = ChainLabels([("S",), ("S", "VP")])
    >>> constituents = Constituents(np.array([0, 0]), np.array([2, 2]), np.array([0, 1]), np.array([0.5, 0.3]))
    >>> parts = labels.split(constituents)
    >>> parts.named(labels.names)[1], parts.posterior
    (Constituent(first=0, end=2, label='VP', is_tag=False), array([0.8, 0.3]))
    >>> parts.gains(span_penalty=0.4)
    array([0.4, 0.3])
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        self.names = sorted({label for chain in chains for label in chain})
        self.length = np.array([len(chain) for chain in chains], dtype=np.int64)
        self.end = np.cumsum(self.length)
        self.label = Vocabulary(self.names).numbers(label for chain in chains for label in chain)

    def split(self, constituents: Constituents) -> LabelledConstituents:
        """Sum up μ of every labelled constituent.

        constituents: K constituents, which number the chains as `chains` does.
        """
        end = self.end[constituents.chain]
        place, row = ranges(end - self.length[constituents.chain], end)
        label = self.label[place]
        is_tag = (place == end[row] - 1) & (constituents.end - constituents.first == 1)[row]
        key = constituents.spans[row] * (2 * len(self.names)) + label + len(self.names) * is_tag
        _, one, part = np.unique(key, return_index=True, return_inverse=True)
        posterior = np.bincount(part, constituents.posterior[row], minlength=len(one)).astype(float)
        first = constituents.first[row[one]]
        return LabelledConstituents(first, constituents.end[row[one]], label[one], is_tag[one], posterior, row, part)


@compiled_part
def _extended(row: IntArray, phrase: IntArray, i: int, j: int, edges: IntArray, n_edges: int) -> tuple[IntArray, int]:
    """Append the ways to make (i, j) of a row from i and any phrase after it.

    row: (n + 1, n + 1) the item of a row over i ... j - 1, or -1.
    phrase: (n + 1, n + 1) the item of any phrase over i ... j - 1, or -1.
    edges: (E, 2), of which the first n_edges are in use.
    """
    for k in range(i + 1, j):
        if row[i, k] >= 0 and phrase[k, j] >= 0:
            edges = with_room(edges, n_edges)
            edges[n_edges, 0] = row[i, k]
            edges[n_edges, 1] = phrase[k, j]
            n_edges += 1
    return edges, n_edges


@compiled
def _build(
    first: IntArray,
    end: IntArray,
    last: IntArray,
    phrase: IntArray,
    row: IntArray,
    items: IntArray,
    starts: IntArray,
    edges: IntArray,
) -> tuple[IntArray, IntArray, IntArray, int]:
    """Build the items and edges of all trees over n words.

    first: (K,) the first word of each constituent, which come in order of length, then of the first word.
    end: (K,) the word after its last one.
    last: (n,) the last end of the constituents of two words or more that begin at each word; -1 if none does.
    phrase: (n + 1, n + 1) of -1, for the item of any phrase over the words i ... j-1.
    row: (n + 1, n + 1) of -1, for the item of any row of phrases over these words.
    items: (I,) room for the numbers of constituents, _ANY or _ROW.
    starts: (I,) room for where the edges of each item begin.
    edges: (1024, 2) of -1, room for the left and right child of edges; it grows.
    Returns the used parts of items, starts and edges, and how many of the last items are over the whole sentence.
    """
    n = len(last)
    n_items = ZERO
    n_edges = ZERO
    n_tops = 0
    constituent = 0  # the next constituent
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            before = n_items
            # Every constituent over these words: a word, or a row and a phrase after it.
            while (
                constituent < len(first) and end[constituent] - first[constituent] == length and first[constituent] == i
            ):
                items[n_items] = constituent
                starts[n_items] = n_edges
                if length == 1:
                    edges = with_room(edges, n_edges)
                    n_edges += 1
                edges, n_edges = _extended(row, phrase, i, j, edges, n_edges)
                n_items += 1
                constituent += 1
            # Any of them, as the child of another.
            if length == n:
                n_tops = n_items - before
            elif n_items > before:
                phrase[i, j] = n_items
                items[n_items] = _ANY
                starts[n_items] = n_edges
                for item in range(before, n_items):
                    edges = with_room(edges, n_edges)
                    edges[n_edges, 0] = item
                    n_edges += 1
                n_items += 1
            # A row, if something longer begins here: one phrase, or a row and a phrase after it.
            if j < last[i]:
                items[n_items] = _ROW
                starts[n_items] = n_edges
                if phrase[i, j] >= 0:
                    edges = with_room(edges, n_edges)
                    edges[n_edges, 0] = phrase[i, j]
                    n_edges += 1
                edges, n_edges = _extended(row, phrase, i, j, edges, n_edges)
                if n_edges > starts[n_items]:
                    row[i, j] = n_items
                    n_items += 1
    return items[:n_items], starts[:n_items], edges[:n_edges], n_tops


class PhraseForest(NamedTuple):
    """Trees of a sentence as the derivations of a forest (`inference.Analyses`).

    forest: of I items and E edges.
    weight: (E,) the gain of the constituent that an edge derives, else zero.
    chain: (I,) the number of the chain of labels that an item puts above its children; negative where it only joins
    them.
    first: (I,) the first word below an item with a chain of labels.
    chains: the chains, as they are numbered.
    words: the words of the sentence.
    """

    forest: Forest
    weight: FloatArray
    chain: IntArray
    first: IntArray
    chains: Sequence[Chain]
    words: Sequence[str]

    def analyses(self, derivations: Derivations) -> list[Phrase]:
        """Build the trees that derivations stand for; they share the phrases of the parts that derivations share.

        derivations: derivations of `forest`.
        """
        item = np.searchsorted(self.forest.start, derivations.edge, side="right") - 1
        columns = (self.chain[item], self.first[item], derivations.left, derivations.right)
        parts: list[tuple[Phrase | str, ...]] = []  # the phrases, or the word, that each part puts side by side
        for chain, first, left, right in zip(*(column.tolist() for column in columns), strict=True):
            row: tuple[Phrase | str, ...] = (self.words[first],) if left < 0 else parts[left]
            if right >= 0:
                row += parts[right]
            if chain >= 0:
                for label in reversed(self.chains[chain]):
                    row = (Phrase(label, row),)
            parts.append(row)
        return [tree for root in derivations.root.tolist() for tree in parts[root] if isinstance(tree, Phrase)]


def bracketings(
    constituents: Constituents, gain: FloatArray, chains: Sequence[Chain], words: Sequence[str]
) -> PhraseForest:
    """Build the forest of all trees that constituents make up; it has no root if there is no tree.

    constituents: K constituents.
    gain: (K,) the gain of each.
    chains: the chains of labels, as the constituents number them.
    words: the n words of the sentence.
    Raises ValueError if the columns differ in length, or if a constituent is not within the words.

    >>> from spectral_latent.inference import best_analyses
    >>> spans = np.array([[0, 1], [1, 2], [2, 3], [0, 2], [0, 3]]).T
    >>> constituents = Constituents(*spans, np.array([0, 0, 0, 1, 2]), np.ones(5))
    >>> for gain in (0.5, -0.5):
    ...     gains = np.array([0.0, 0.0, 0.0, gain, 0.9])
    ...     trees = bracketings(constituents, gains, [("N",), ("NP",), ("S",)], ["a", "b", "c"])
    ...     print(best_analyses(trees, 1)[0].bracketed())
    (S (NP (N a) (N b)) (N c))
    (S (N a) (N b) (N c))
    """
    n = len(words)
    for name, column in (("first", constituents.first), ("end", constituents.end), ("chain", constituents.chain)):
        check_column(f"values of `{name}` of constituents", column, (np.size(constituents.first),), np.int64)
    check_column("gains of constituents", gain, (len(constituents.first),), np.float64)
    check_range("ends of constituents", constituents.end, 1, n + 1)
    check_range("chains of constituents", constituents.chain, 0, len(chains))
    for k in np.flatnonzero((constituents.first < 0) | (constituents.first >= constituents.end))[:1]:
        raise ValueError(f"constituent {k} is over the words {constituents.first[k]} ... {constituents.end[k] - 1}")
    order = np.lexsort((constituents.first, constituents.end - constituents.first))
    is_long = constituents.end - constituents.first > 1
    last = np.full(n, -1, dtype=np.int64)
    np.maximum.at(last, constituents.first[is_long], constituents.end[is_long])
    phrase, row = np.full((2, n + 1, n + 1), -1, dtype=np.int64)
    items, starts = np.empty((2, len(order) + n * (n + 1)), dtype=np.int64)
    edges = np.full((1024, 2), -1, dtype=np.int64)
    begins, ends = constituents.first[order], constituents.end[order]
    items, starts, edges, n_tops = _build(begins, ends, last, phrase, row, items, starts, edges)
    starts = np.append(starts, len(edges))
    which = order[np.maximum(items, 0)]
    is_part = items < 0
    chain = np.where(is_part, items, constituents.chain[which])
    first = np.where(is_part, -1, constituents.first[which])
    left, right = np.ascontiguousarray(edges.T)
    forest = Forest(
        symbol=chain,
        start=starts,
        rule=np.zeros(len(edges), dtype=np.int64),
        left=left,
        right=right,
        root=np.arange(len(items) - n_tops, len(items)),
        component=np.zeros(n_tops, dtype=np.int64),
    )
    weight = np.repeat(np.where(is_part, 0.0, gain[which]), np.diff(starts))
    return PhraseForest(forest, weight, chain, first, chains, words)
