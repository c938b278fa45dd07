"""Hold what models are asked for and return: sentences and trees, which are checked, and parses."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from types import UnionType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, get_args

import numpy as np

from spectral_latent.drawing import captioned_html


class Named(Protocol):
    """A tree whose words and labels can be checked."""

    def check_names(self) -> None:
        """Raise TypeError or ValueError for words and labels that no file can hold."""


Tree = TypeVar("Tree")
NamedTree = TypeVar("NamedTree", bound=Named)
Sentence = TypeVar("Sentence")
Constraints = TypeVar("Constraints")


# What no file can hold: tabs, line ends (a Unicode separator may stand in a word of CoNLL-U), and half a character.
_NOT_IN_WORDS = re.compile("[\t-\r\x1c-\x1e\x85\ud800-\udfff]")
_NOT_IN_LABELS = re.compile(r"[\s\ud800-\udfff]")
_BRACKETS = re.compile(r"[()]")


def check_words(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a sentence.

    Raises TypeError for a string instead of words, and for a word that is no string; ValueError for a word that no file
    can hold: an empty one, or one with a tab, a line end or half a character (a lone surrogate).

    >>> check_words(["dogs", "run"])
    ['dogs', 'run']
    >>> check_words("dogs run")
    Traceback (most recent call last):
    TypeError: a sentence is a sequence of words, not the string 'dogs run'; parse_text and tag_text take raw text
    >>> check_words([("dogs", "NNS")])
    Traceback (most recent call last):
    TypeError: a word is a string, not ('dogs', 'NNS'); give the words of one sentence alone, without tags
    >>> check_words(["New\\nYork", "is"])
    Traceback (most recent call last):
    ValueError: word 1 of ['New\\nYork', 'is'] has '\\n'; divide the word, or write it without
    """
    if isinstance(words, str):
        text = words if len(words) <= 60 else words[:57] + "..."
        raise TypeError(
            f"a sentence is a sequence of words, not the string {text!r}; parse_text and tag_text take raw text"
        )
    if isinstance(words, bytes) or not isinstance(words, Collection):
        raise TypeError(f"a sentence is a sequence of words, not {words!r:.60}; give a list of words")
    try:
        joined = "".join(words)  # fails unless all are strings, and takes a quarter of the time of a loop
    except TypeError:
        wrong = next(word for word in words if not isinstance(word, str))
        raise TypeError(
            f"a word is a string, not {wrong!r:.60}; give the words of one sentence alone, without tags"
        ) from None
    if _NOT_IN_WORDS.search(joined) or not all(words):
        place, word = next((n, x) for n, x in enumerate(words, start=1) if not x or _NOT_IN_WORDS.search(x))
        fault = _fault(word, _NOT_IN_WORDS, "remove it", "divide the word, or write it without")
        raise ValueError(f"word {place} of {list(words)!r:.60} {fault}")
    return words


def check_labels(labels: Iterable[str], *, in_brackets: bool = False) -> None:
    """Raise ValueError for a label that no file can hold: an empty one, or one with white space or half a character.

    in_brackets: whether the labels stand in a tree of brackets, so that they cannot have brackets either.

    >>> check_labels(["NP", "V(P"], in_brackets=True)
    Traceback (most recent call last):
    ValueError: the label 'V(P' has '('; write it without, as -LRB- and -RRB- for brackets
    """
    for label in labels:
        wrong = _NOT_IN_LABELS if _NOT_IN_LABELS.search(label) or not in_brackets else _BRACKETS
        if not label or wrong.search(label):
            fault = _fault(label, wrong, "name it", "write it without, as -LRB- and -RRB- for brackets")
            raise ValueError(f"the label {label!r:.60} {fault}")


def _fault(text: str, wrong: re.Pattern[str], remedy_if_empty: str, remedy: str) -> str:
    """Say what is wrong with a word or label, and what to do."""
    found = wrong.search(text)
    if found is None:
        return f"is empty; {remedy_if_empty}"
    if found[0] >= "\ud800":
        return f"has {found[0]!r}, half a character; give whole characters"
    return f"has {found[0]!r}; {remedy}"


def check_sentences(sentences: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """Yield sentences one by one; raise the errors of `check_words`, with the number of the sentence.

    >>> list(check_sentences([["dogs", "run"], "no"]))
    Traceback (most recent call last):
    TypeError: sentence 2: a sentence is a sequence of words, not the string 'no'; parse_text and tag_text take raw text
    """
    for number, words in enumerate(sentences, start=1):
        try:
            check_words(words)
        except (TypeError, ValueError) as error:
            raise type(error)(f"sentence {number}: {error}") from None
        yield words


def check_trees(trees: Iterable[NamedTree], kind: type[NamedTree]) -> Iterator[NamedTree]:
    """Yield trees one by one, as all trainings and all questions about trees read them.

    Raises TypeError for an object of another class, and ValueError for words and labels that no file can hold, with the
    number of the tree.

    >>> from spectral_latent.constituency import Phrase
    >>> list(check_trees("NP", Phrase))
    Traceback (most recent call last):
    TypeError: tree 1 is 'N', a str; give a sequence of Phrase, such as spectral_latent.corpora reads
    """
    for number, tree in enumerate(trees, start=1):
        if not isinstance(tree, kind):
            raise TypeError(
                f"tree {number} is {tree!r:.60}, a {type(tree).__name__}; give a sequence of {kind.__name__}, such as "
                f"spectral_latent.corpora reads"
            )
        try:
            tree.check_names()
        except (TypeError, ValueError) as error:
            raise type(error)(f"tree {number}: {error}") from None
        yield tree


def check_kind(given: object, expected: type | UnionType) -> None:
    """Raise TypeError unless an object is of a class.

    expected: the class that it must have, or several of which it must have one.

    >>> check_kind(1.0, int)
    Traceback (most recent call last):
    TypeError: expected int, got float
    """
    if not isinstance(given, expected):
        kinds: tuple[Any, ...] = get_args(expected) or (expected,)
        raise TypeError(f"expected {' or '.join(kind.__name__ for kind in kinds)}, got {type(given).__name__}")


class Partial(NamedTuple, Generic[Sentence, Constraints]):
    """A sentence whose tree is partly known.

    constraints: the conditions that its tree must meet."""

    sentence: Sentence
    constraints: Constraints


class Parse(NamedTuple, Generic[Tree]):
    """A tree for a sentence, and its estimated probability p̂.

    sign: the sign of p̂, which may be negative; 0 for a fallback, and if p̂ is not computed.
    log: log |p̂|; -inf for p̂ = 0, and NaN if it is not computed.
    is_fallback: whether no grammar derives the sentence, so that the tree is flat."""

    tree: Tree
    sign: int
    log: float
    is_fallback: bool = False

    @property
    def is_impossible(self) -> bool:
        """Whether the tree was found although its p̂ is 0, because a word has a tag, or a tag has labels above it alone,
        that it never had in training."""
        return self.sign == 0 and bool(np.isneginf(self.log)) and not self.is_fallback

    def _repr_svg_(self) -> str:
        """Draw the tree, for notebooks."""
        drawing: Any = self.tree
        return drawing._repr_svg_() or ""

    def caption(self, rank: int) -> str:
        """Name the tree by its rank, with its score if that was computed.

        rank: the rank, from 1."""
        score = "" if np.isnan(self.log) else f": log |p̂| = {self.log:.2f}"
        return f"Tree {rank}{', FALLBACK' * self.is_fallback}{', impossible' * self.is_impossible}{score}"


class Parses(list[Parse[Tree]]):
    """The parses of a sentence, the best first: a list that notebooks draw, each parse under its score.

    >>> from spectral_latent.constituency import Phrase
    >>> parses = Parses([Parse(Phrase("UH", ("Yes",)), 1, -1.5)])
    >>> parses == list(parses), parses.drawings[0][0], "<svg" in parses._repr_html_()
    (True, 'Tree 1: log |p̂| = -1.50', True)
    """

    @property
    def drawings(self) -> list[tuple[str, str]]:
        """The caption of each parse, and its drawing as SVG."""
        return [(parse.caption(rank), parse._repr_svg_()) for rank, parse in enumerate(self, start=1)]

    @property
    def shares(self) -> list[float]:
        """The share of each parse in the estimated probability of them all.

        A fallback has the share 0.  A single parse has the share 1.  If no estimate is positive, which is possible for
        spectral models, the first parse has the share 1.

        Raises ValueError if there are several parses whose probabilities were not computed.

        >>> from spectral_latent.constituency import Phrase
        >>> tree = Phrase("UH", ("Yes",))
        >>> [round(share, 2) for share in Parses([Parse(tree, 1, -1.0), Parse(tree, 1, -2.0)]).shares]
        [0.73, 0.27]
        """
        if len(self) == 1:
            return [float(not self[0].is_fallback)]
        if any(np.isnan(parse.log) for parse in self):
            raise ValueError("parses without probabilities have no shares; parse with scored=True")
        log = np.array([parse.log if parse.sign > 0 else -np.inf for parse in self])
        if np.isneginf(log).all():
            return [float(rank == 0 and not parse.is_fallback) for rank, parse in enumerate(self)]
        shares: list[float] = np.exp(log - np.logaddexp.reduce(log)).tolist()
        return shares

    def _repr_html_(self) -> str:
        """Draw the parses, for notebooks."""
        return captioned_html(self.drawings)


def complete(parses_of_each: Iterable[Parses[Tree]]) -> Iterator[tuple[Tree, float]]:
    """Yield the trees of sentences that are partly known, or not known at all, with weights, so that a parser can train
    on them.

    This is the E-step of EM over whole trees: a tree has the weight p̂(tree) / Σ p̂(tree'), where the sum is over the
    parses of its sentence.  Training on these trees with their weights, beside a treebank, is the M-step.  The weights
    of a sentence's trees sum to 1; a sentence that no grammar derives has no trees.

    parses_of_each: the parses of each sentence, as `parse_all` finds them for sentences with constraints.

    Raises ValueError if a sentence has several parses whose probabilities were not computed.

    >>> from spectral_latent import ConstituencyModel, load
    >>> from spectral_latent.corpora import parse_partial
    >>> model = ConstituencyModel.train(load("toy").sample(60, np.random.default_rng(0)))
    >>> known = parse_partial("the dog saw (NP a cat (PP in the garden))")
    >>> [(tree.bracketed().count("(NP"), round(weight, 1)) for tree, weight in complete(model.parse_all(known))]
    [(4, 1.0)]
    """
    for parses in parses_of_each:
        for parse, share in zip(parses, parses.shares, strict=True):
            if share > 0.0:
                yield parse.tree, share
