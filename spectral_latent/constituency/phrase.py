"""Hold a phrase-structure tree over words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from spectral_latent.drawing import tree_svg

__all__ = ["FlatPhrases", "Phrase", "inner_first"]

_WRITTEN = str.maketrans({"(": "-LRB-", ")": "-RRB-"} | dict.fromkeys(" \t\n\r\f\v", "_"))  # what brackets cannot hold


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
        return (node for node in self.nodes() if isinstance(node, str))

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
                pieces.append(" " + node.translate(_WRITTEN))
            else:
                pieces.append((" (" if pieces else "(") + node.label.translate(_WRITTEN))
                stack.append(None)
                stack.extend(reversed(node.children))
        return "".join(pieces)

    def _repr_svg_(self) -> str:
        """Draw the phrase, for notebooks."""
        return tree_svg(*self._flat(), self.bracketed())


def inner_first(trees: Iterable[Phrase]) -> Iterator[Phrase]:
    """Walk over the phrases of trees, children before parents; an object that several trees share comes once.

    >>> subject = Phrase("NP", (Phrase("NNS", ("dogs",)),))
    >>> trees = [Phrase(label, (subject, Phrase("VBP", ("bark",)))) for label in ("S", "SINV")]
    >>> [phrase.label for phrase in inner_first(trees)]
    ['NNS', 'VBP', 'NP', 'S', 'VBP', 'SINV']
    """
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
    roots: (T,) the number of the uppermost phrase of each tree.

    >>> tree = Phrase("S", (Phrase("NP", (Phrase("NNS", ("dogs",)),)), Phrase("VBP", ("bark",))))
    >>> flat = FlatPhrases.of([tree, tree.children[0]])
    >>> flat
    FlatPhrases(labels=['NNS', 'VBP', 'NP', 'S'], children=[('dogs',), ('bark',), (0,), (2, 1)], roots=[3, 2])
    >>> flat.trees()
    [<Phrase: (S (NP (NNS dogs)) (VBP bark))>, <Phrase: (NP (NNS dogs))>]
    """

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
