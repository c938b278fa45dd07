"""Hold the constraints on the tree of a sentence: known brackets, labels and tags, and forbidden spans.

In a binary tree over the words, a span i ... j-1 is a node if and only if no node crosses it.  Therefore all trees of
a chart have a constituent over a span if the cells that cross the span are empty, and if the cell of the span has no
bars.  (Bars are the symbols of parts of constituents.)
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from itertools import combinations, product
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from spectral_latent.constituency.cleaning import EMPTY_TAG, TOPS, base_label
from spectral_latent.constituency.conversion import PhraseSymbol
from spectral_latent.constituency.tree import Phrase
from spectral_latent.grammar import Permits, crossed_cells
from spectral_latent.model import Partial, check_words
from spectral_latent.trees import BoolArray

_FORBIDS = "!"  # before the label of a bracket that must not be in the tree


class Bracket(NamedTuple):
    """A span of words, with a label or without.

    first: the first word of the bracket, from 0.
    end: the word after its last one.
    label: a label of the constituent over these words; None for any label."""

    first: int
    end: int
    label: str | None = None

    def __str__(self) -> str:
        """Write the bracket as users write it."""
        return str((self.first, self.end) if self.label is None else tuple(self))

    def crosses(self, other: Bracket) -> bool:
        """Tell whether both spans share words, and neither is within the other.

        >>> Bracket(0, 2).crosses(Bracket(1, 3)), Bracket(0, 3).crosses(Bracket(1, 3))
        (True, False)
        """
        return self.first < other.first < self.end < other.end or other.first < self.first < other.end < self.end

    def is_tag(self, tags: Container[str]) -> bool:
        """Tell whether the bracket is over a single word, and its label is a tag."""
        return self.end - self.first == 1 and self.label in tags

    def without_function(self) -> Bracket:
        """Cut the label to its category.

        >>> Bracket(0, 2, "NP-SBJ").without_function()
        Bracket(first=0, end=2, label='NP')
        """
        return self._replace(label=base_label(self.label)) if self.label else self


@dataclass(frozen=True)
class PhraseConstraints:
    """Constraints on the tree of a sentence.

    brackets: spans that must be constituents; over a single word, the label may be a tag.  The order of labels over the
    same words is not prescribed.
    forbidden: spans that must not be constituents; a span with a label must not be a constituent with this label.
    tags: the tags of words, by their numbers from 0.

    >>> PhraseConstraints([(0, 2, "NP"), (1, 3)])
    Traceback (most recent call last):
    ValueError: the brackets (0, 2, 'NP') and (1, 3) cross, so that no tree has both
    """

    brackets: Sequence[tuple[int, int] | tuple[int, int, str | None]] = ()
    forbidden: Sequence[tuple[int, int] | tuple[int, int, str | None]] = ()
    tags: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Turn lists of brackets into tuples, so that constraints with the same brackets are equal.
        for name in ("brackets", "forbidden"):
            object.__setattr__(self, name, tuple(Bracket(*bracket) for bracket in getattr(self, name)))
        for one, other in combinations(self.required, 2):
            if one.crosses(other):
                raise ValueError(f"the brackets {one} and {other} cross, so that no tree has both")
        for one, other in product(self.required, self.excluded):
            if (one.first, one.end) == (other.first, other.end) and other.label in (None, one.label):
                raise ValueError(f"the bracket {one} is required and forbidden")

    @property
    def required(self) -> list[Bracket]:
        """The spans that must be constituents, each once."""
        return list(dict.fromkeys(cast(tuple[Bracket, ...], self.brackets)))

    @property
    def excluded(self) -> list[Bracket]:
        """The spans that must not be constituents."""
        return list(cast(tuple[Bracket, ...], self.forbidden))

    def with_tags_apart(self, tags: Container[str]) -> PhraseConstraints:
        """Turn each bracket over a single word whose label is a tag into the tag of the word.

        All other labels are cut to their categories, because constituents have no function labels.

        Raises ValueError if a word has two different tags.

        >>> PhraseConstraints([(0, 1, "DT"), (0, 2, "NP")]).with_tags_apart({"DT", "NN"})
        PhraseConstraints(brackets=(Bracket(first=0, end=2, label='NP'),), forbidden=(), tags={0: 'DT'})
        """
        tag_of = dict(self.tags)
        brackets: list[Bracket] = []
        forbidden = [bracket if bracket.is_tag(tags) else bracket.without_function() for bracket in self.excluded]
        for bracket in self.required:
            if not bracket.is_tag(tags):
                brackets.append(bracket.without_function())
            elif tag_of.setdefault(bracket.first, str(bracket.label)) != bracket.label:
                raise ValueError(
                    f"the word {bracket.first} has two tags, {tag_of[bracket.first]!r} and {bracket.label!r}"
                )
        return replace(self, brackets=brackets, forbidden=forbidden, tags=tag_of)

    def without_unknown(self, labels: frozenset[str], tags: frozenset[str]) -> tuple[PhraseConstraints, list[str]]:
        """Leave out the tags of words that no grammar has, and brackets over single words whose names no grammar has.

        Also returns these names.  A bracket over a single word with an unknown name may be a tag or a constituent.

        >>> known, names = PhraseConstraints([(0, 1, "GW"), (0, 2, "NP")]).without_unknown({"NP"}, {"NN"})
        >>> known.brackets, names
        ((Bracket(first=0, end=2, label='NP'),), ['GW'])
        """
        unknown = [tag for tag in self.tags.values() if tag not in tags]
        brackets = []
        for bracket in self.required:
            is_known = bracket.label is None or bracket.label in tags or base_label(bracket.label) in labels
            if is_known or bracket.end - bracket.first > 1:
                brackets.append(bracket)
            else:
                unknown.append(str(bracket.label))
        kept = {word: tag for word, tag in self.tags.items() if tag in tags}
        return replace(self, brackets=brackets, tags=kept), unknown

    def check(self, n_words: int, labels: frozenset[str], tags: frozenset[str]) -> None:
        """Raise ValueError if the constraints are beyond a sentence, or name a label or a tag that no grammar has."""
        for bracket in (*self.required, *self.excluded):
            if not 0 <= bracket.first < bracket.end <= n_words:
                raise ValueError(f"the bracket {bracket} is not within the {n_words} words of the sentence")
            if bracket.label is not None and bracket.label not in labels:
                raise ValueError(f"the parser has no label {bracket.label!r}; its labels are {_listed(labels)}")
        if n_words > 1 and Bracket(0, n_words) in self.excluded:
            raise ValueError("the whole sentence is always a constituent, and cannot be forbidden")
        for word, tag in self.tags.items():
            if not 0 <= word < n_words:
                raise ValueError(f"the tag {tag!r} is of word {word}, which is not among the {n_words} of the sentence")
            if tag not in tags:
                raise ValueError(f"the parser has no tag {tag!r}; its tags are {_listed(tags)}")

    def alone(self, leaves: Sequence[Phrase], label: str) -> Phrase:
        """Build the tree that has only the required brackets.

        label: the label above all words, and the label of brackets without a label.

        >>> words = [Phrase("DT", ("the",)), Phrase("NN", ("dog",)), Phrase("VBZ", ("barks",))]
        >>> PhraseConstraints([(0, 2, "NP")]).alone(words, "X").bracketed()
        '(X (NP (DT the) (NN dog)) (VBZ barks))'
        """
        row = [(first, leaf) for first, leaf in enumerate(leaves)]  # each phrase that has no parent yet
        # Short brackets first; of several brackets over the same words, the last one is the innermost.
        for bracket in sorted(reversed(self.required), key=lambda bracket: bracket.end - bracket.first):
            inside = [at for at, (first, _) in enumerate(row) if bracket.first <= first < bracket.end]
            # A bracket without a label adds nothing over one word or phrase, or over the whole tree.
            if bracket.label is None and len(inside) in (1, len(row)):
                continue
            children = tuple(phrase for _, phrase in row[inside[0] : inside[-1] + 1])
            row[inside[0] : inside[-1] + 1] = [(bracket.first, Phrase(bracket.label or label, children))]
        return Phrase(label, tuple(phrase for _, phrase in row))

    def permits(self, n_words: int, symbols: Sequence[PhraseSymbol]) -> Permits:
        """List the symbols of a grammar that may stand over each span; leaf rules obey `tags`.

        n_words: the number of words of the sentence.
        symbols: the S symbols of the grammar."""
        are_constituents = cache(partial(_are_constituents, symbols))
        every = np.ones(len(symbols), dtype=np.bool_)
        of_cell: dict[int, BoolArray] = {}
        is_required = [True] * len(self.required) + [False] * len(self.excluded)
        for bracket, wanted in zip([*self.required, *self.excluded], is_required, strict=True):
            width = bracket.end - bracket.first
            if wanted and width == 1 and bracket.label is None:
                continue  # a single word is always a constituent
            fits = are_constituents(bracket.label, is_whole=width == n_words, is_word=width == 1)
            cell = bracket.end * (bracket.end - 1) // 2 + bracket.first
            of_cell[cell] = of_cell.get(cell, every) & (fits == wanted)
        permits = Permits.all(n_words, len(symbols))
        permits.row[list(of_cell)] = np.arange(2, len(of_cell) + 2)
        permits.row[crossed_cells(n_words, [(bracket.first, bracket.end) for bracket in self.required])] = 1
        return permits._replace(symbols=np.stack([*permits.symbols, ~every, *of_cell.values()]))


def _are_constituents(
    symbols: Sequence[PhraseSymbol], label: str | None, *, is_whole: bool, is_word: bool
) -> BoolArray:
    """Tell which symbols (S,) make a span a constituent, with a label if it is given.

    Over the whole sentence, a bar @X counts as the phrase X.  Over a single word, the last label of a chain is a tag,
    not a phrase."""
    chains = (symbol.chain[:-1] if is_word else symbol.chain for symbol in symbols)
    fits = (bool(chain) if label is None else label in chain for chain in chains)
    return np.array([fit and (is_whole or not symbol.bar) for fit, symbol in zip(fits, symbols, strict=True)])


ANY_TREE = PhraseConstraints()
"""No constraints: every tree obeys them."""


PartialPhrase: TypeAlias = Partial[Sequence[str], PhraseConstraints]


def unknown_phrase(words: Sequence[str]) -> PartialPhrase:
    """Make a sentence of whose tree nothing is known.

    Raises TypeError for a string in place of a sentence.

    >>> unknown_phrase(["it", "rains"]).constraints
    PhraseConstraints(brackets=(), forbidden=(), tags={})
    """
    check_words(words)
    return Partial(tuple(words), ANY_TREE)


def partial_phrase(phrase: Phrase) -> PartialPhrase:
    """Require the brackets of a phrase; within flat phrases, the tree is unknown.

    Traces and the top bracket of treebanks are left out.

    phrase: a phrase, in which words may be beside phrases.  An empty label means any label.  The label !NP forbids
    a constituent NP over these words, and the label ! forbids any constituent.
    Raises ValueError if a bracket is both required and forbidden.

    >>> subject = Phrase("NP-SBJ", (Phrase("DT", ("the",)), "dog"))
    >>> partial = partial_phrase(Phrase("S", (subject, Phrase("", ("barks", Phrase("!ADVP", ("loudly",)))), ".")))
    >>> list(map(str, partial.constraints.brackets))
    ["(0, 5, 'S')", "(0, 2, 'NP-SBJ')", "(0, 1, 'DT')", '(2, 4)']
    >>> list(map(str, partial.constraints.forbidden))
    ["(3, 4, 'ADVP')"]
    """
    words: list[str] = []
    begun: list[tuple[str, int]] = []  # the label and the first word of each bracket that is open
    closed: list[Bracket] = []
    stack: list[Phrase | str | None] = [phrase]
    while stack:
        node = stack.pop()
        if isinstance(node, Phrase):
            begun.append((node.label, len(words)))
            stack.append(None)
            stack += reversed(node.children)
        elif node is None:
            label, first = begun.pop()
            closed.append(Bracket(first, len(words), label or None))
        elif begun[-1][0] != EMPTY_TAG:
            words.append(node)
    required: list[Bracket] = []
    forbidden: list[Bracket] = []
    for bracket in sorted(reversed(closed), key=lambda bracket: (bracket.first, -bracket.end)):
        label = bracket.label or ""
        is_top = bracket.end - bracket.first == len(words) and base_label(label) in TOPS
        if bracket.first == bracket.end or is_top:
            continue
        if label.startswith(_FORBIDS):
            forbidden.append(bracket._replace(label=label.removeprefix(_FORBIDS) or None))
        else:
            required.append(bracket)
    return Partial(tuple(words), PhraseConstraints(required, forbidden))


def _listed(names: frozenset[str]) -> str:
    """List names for a message."""
    return ", ".join(sorted(names))
