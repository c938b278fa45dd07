"""Hold a phrase-structure tree over words, and the constituents that trees consist of.

| here | meaning |
| --- | --- |
| μ(i, j, X) | posterior that X spans the words i ... j-1, summed over the chains of labels that hold X |
| gain of a chain at (i, j) | Σ_X (μ(i, j, X) - span penalty); the tag of a word has no penalty |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from spectral_latent.drawing import tree_svg
from spectral_latent.lexicon.buckets import hash_name
from spectral_latent.model import check_labels, check_words
from spectral_latent.model.parts import Parts
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Vocabulary, ranges

# What neither brackets nor words can hold; a label has no white space at all, and a word none at its ends.
_IN_WORD = str.maketrans({"(": "-LRB-", ")": "-RRB-"} | dict.fromkeys(" \t\n\r\f\v\x1c\x1d\x1e\x85", "_"))
_IN_LABEL = _IN_WORD | dict.fromkeys(map(ord, filter(str.isspace, map(chr, range(0x3001)))), "_")
_AT_ENDS = re.compile(r"\A\s+|\s+\Z")


class Phrase(NamedTuple):
    """A labelled constituent; its children are phrases, or words.

    A preterminal (part-of-speech tag) is a phrase whose only child is a word.  The methods, `==` and `hash` are not
    recursive, so that they work for trees of any depth.

    label: the category or the tag.
    children: the parts of the constituent, from left to right.

    >>> tree = Phrase("S", (Phrase("NP", (Phrase("NNS", ("dogs",)),)), Phrase("VP", (Phrase("VBP", ("bark",)),))))
    >>> print(tree.bracketed())
    (S (NP (NNS dogs)) (VP (VBP bark)))
    >>> list(tree.words())
    ['dogs', 'bark']
    >>> tree.children[0]
    <Phrase: (NP (NNS dogs))>
    """

    label: str
    children: tuple[Phrase | str, ...]

    def _flat(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """List the label or word of every node, in the order of `nodes`, and its number of children; -1 for a word."""
        nodes = list(self.nodes())
        names = tuple(node if isinstance(node, str) else node.label for node in nodes)
        sizes = tuple(-1 if isinstance(node, str) else len(node.children) for node in nodes)
        return names, sizes

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the tree as flat lists, since nested tuples cannot be pickled at any depth."""
        return _phrase_of, (FlatPhrases.of([self]),)

    def __eq__(self, other: object) -> bool:
        return self._flat() == other._flat() if isinstance(other, Phrase) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._flat())

    def __repr__(self) -> str:
        return f"<Phrase: {self.bracketed()}>"

    def is_preterminal(self) -> bool:
        """Tell whether the phrase has a word as its only child."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def nodes(self) -> Iterator[Phrase | str]:
        """Walk over all phrases and words, parents before children, left to right."""
        stack: list[Phrase | str] = [self]
        while stack:
            node = stack.pop()
            yield node
            if isinstance(node, Phrase):
                stack.extend(reversed(node.children))

    def preterminals(self) -> Iterator[Phrase]:
        """Walk over the phrases whose only child is a word, left to right."""
        return (node for node in self.nodes() if isinstance(node, Phrase) and node.is_preterminal())

    def words(self) -> Iterator[str]:
        """Walk over the words, left to right."""
        stack: list[Phrase | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                yield node
            else:
                stack += reversed(node.children)

    def check_names(self) -> None:
        """Raise ValueError for a word or a label that no file can hold; only the root over phrases may lack a label."""
        words: list[str] = []
        labels = {self.label} if self.label or self.is_preterminal() else set()
        stack = [*self.children]
        while stack:
            node = stack.pop()
            if isinstance(node, Phrase):
                labels.add(node.label)
                stack += node.children
            else:
                words.append(node)
        check_words(words[::-1])
        check_labels(labels, in_brackets=True)

    def bracketed(self) -> str:
        """Write the phrase in Penn Treebank brackets, on one line.

        Brackets within labels and words are written as in the treebank, -LRB- and -RRB-, and white space as _.

        >>> print(Phrase("NP", (Phrase("(", ("(",)), Phrase("CD", ("10 000",)))).bracketed())
        (NP (-LRB- -LRB-) (CD 10_000))
        """
        pieces: list[str] = []
        stack: list[Phrase | str | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                pieces.append(")")
            elif isinstance(node, str):
                pieces.append(" " + written(node))
            else:
                pieces.append((" (" if pieces else "(") + written(node.label, is_label=True))
                stack.append(None)
                stack.extend(reversed(node.children))
        return "".join(pieces)

    def _repr_svg_(self) -> str:
        """Draw the phrase, for notebooks."""
        return tree_svg(*self._flat(), self.bracketed())


def written(name: str, *, is_label: bool = False) -> str:
    """Write a label or a word as brackets can hold it."""
    if is_label:
        return name.translate(_IN_LABEL)
    word = name.translate(_IN_WORD)
    return word if word.isascii() else _AT_ENDS.sub("_", word)


def inner_first(trees: Iterable[Phrase]) -> Iterator[Phrase]:
    """Walk over the phrases of trees, children before parents; an object that several trees share comes once."""
    known: set[int] = set()
    for tree in trees:
        new = [tree]
        for phrase in new:
            new += [child for child in phrase.children if isinstance(child, Phrase) and id(child) not in known]
        known.update(map(id, new))
        yield from reversed(new)


class FlatPhrases(NamedTuple):
    """The N distinct phrases of trees as flat lists, children before parents; trees may share phrases.

    labels: (N,) the label of each phrase.
    children: (N,) the children of each phrase: words, or numbers of phrases.
    roots: (T,) the number of the uppermost phrase of each tree."""

    labels: list[str]
    children: list[tuple[str | int, ...]]
    roots: list[int]

    @staticmethod
    def of(trees: Sequence[Phrase]) -> FlatPhrases:
        """List the phrases of trees; equal phrases become one."""
        numbers: dict[tuple[str, tuple[str | int, ...]], int] = {}  # the number for each label and children
        number_of: dict[int, int] = {}  # the number of each phrase, by its `id`
        for phrase in inner_first(trees):
            children = tuple([child if isinstance(child, str) else number_of[id(child)] for child in phrase.children])
            number_of[id(phrase)] = numbers.setdefault((phrase.label, children), len(numbers))
        labels = [label for label, _ in numbers]
        return FlatPhrases(labels, [children for _, children in numbers], [number_of[id(tree)] for tree in trees])

    def trees(self) -> list[Phrase]:
        """Build the trees."""
        made: list[Phrase] = []
        for label, children in zip(self.labels, self.children, strict=True):
            made.append(Phrase(label, tuple([child if isinstance(child, str) else made[child] for child in children])))
        return [made[root] for root in self.roots]


def _phrase_of(flat: FlatPhrases) -> Phrase:
    """Build the only tree of flat lists."""
    (tree,) = flat.trees()
    return tree


Chain: TypeAlias = tuple[str, ...]


class Constituent(NamedTuple):
    """A labelled part of a sentence.

    first, end: the constituent is over the words first ... end - 1.
    is_tag: whether it is the tag of a word."""

    first: int
    end: int
    label: str
    is_tag: bool


def list_constituents(tree: Phrase) -> list[Constituent]:
    """List the constituents of a cleaned tree, tags included; a constituent comes after those inside it."""
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


class LabelledParts(NamedTuple):
    """The L labelled constituents of K constituents with chains of labels.

    A constituent has a pair with a labelled constituent for each label of its chain.  Chains that share a label over
    the same words share its labelled constituent.

    parts: the labelled constituents, whose labels are numbered as by `ChainLabels`.
    row: (P,) the constituent of each pair, 0 ... K - 1.
    part: (P,) the labelled constituent of each pair, 0 ... L - 1."""

    parts: Parts
    row: IntArray
    part: IntArray

    def by_chain(self, values: FloatArray) -> FloatArray:
        """Sum values (L,) of labelled constituents over the labels of each constituent with a chain, (K,)."""
        total: FloatArray = np.bincount(self.row, values[self.part]).astype(float)
        return total

    def by_label(self, values: FloatArray) -> FloatArray:
        """Sum values (K,) over the constituents whose chain has the label of each labelled constituent, (L,)."""
        return np.bincount(self.part, values[self.row], minlength=len(self.parts.label)).astype(float)


class ChainLabels:
    """The labels of chains, from which `split` makes labelled constituents.

    A label has the number of its name among the N names; as the tag of a word, it has this number plus N.

    chains: the chains in the order of their numbers."""

    def __init__(self, chains: Sequence[Chain]) -> None:
        self.names = sorted({label for chain in chains for label in chain})
        self.hashes = np.array([*map(hash_name, self.names), 0], dtype=np.uint64)  # the last one is of no label
        self.start = np.cumsum([0, *map(len, chains)])  # of the labels of each chain
        self.label = Vocabulary(self.names).numbers(label for chain in chains for label in chain)

    def split(self, chains: Parts) -> LabelledParts:
        """Split constituents with chains into labelled constituents, and sum the posterior of each."""
        sentence, begin, end, chain, _ = chains
        # A pair is a constituent and a label of its chain, of which the last one is a tag over a word.
        first, after = self.start[chain], self.start[chain + 1]
        place, row = ranges(first, after)
        is_tag = (end - begin == 1)[row] & (place == after[row] - 1)
        label = self.label[place] + len(self.names) * is_tag
        size = int(end.max(initial=0)) + 1
        key = ((sentence * size + begin) * size + end)[row] * 2 * len(self.names) + label
        _, one, part = np.unique(key, return_index=True, return_inverse=True)
        posterior = np.bincount(part, chains.posterior[row], minlength=len(one)).astype(float)
        return LabelledParts(chains.take(row[one])._replace(label=label[one], posterior=posterior), row, part)

    def are_tags(self, parts: Parts) -> BoolArray:
        """Tell which labelled constituents (L,) are the tags of words."""
        are_tags: BoolArray = parts.label >= len(self.names)
        return are_tags

    def gains(self, parts: Parts, labelled: LabelledParts, span_penalty: float) -> FloatArray:
        """Compute the gain of each constituent with a chain, (K,), from the judged labelled constituents."""
        return labelled.by_chain(parts.posterior - span_penalty * (parts.label < len(self.names)))

    def named(self, parts: Parts) -> list[Constituent]:
        """List labelled constituents with their names."""
        names = [self.names[number % len(self.names)] for number in parts.label.tolist()]
        return list(map(Constituent, parts.begin.tolist(), parts.end.tolist(), names, self.are_tags(parts).tolist()))
