"""Suggest trees, say how sure the parser is of each part and what would stand in its place; find doubtful labels."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from spectral_latent.constituency import (
    FALLBACK,
    ConstituencyModel,
    ConstituencyOptions,
    Constituent,
    Phrase,
    base_label,
    clean,
    list_constituents,
    unknown_phrase,
)
from spectral_latent.estimation import EstimationError, Listener, Progress, silent
from spectral_latent.model import check_kind, check_sentences

UNKNOWN_TAG = "X"
"""The tag of all words before there is a parser."""

_TOGETHER = 32  # sentences that are parsed together


class Suggestion(NamedTuple):
    """A tree that a parser suggests.

    parts: the posterior of each of its constituents, tags included, in the order of `list_constituents`; function
        labels are left out.
    alternatives: other constituents over the words of one, the likeliest first, with posteriors of at least 0.05.
    is_flat: whether no grammar derives the sentence, so that the tree is flat."""

    tree: Phrase
    parts: dict[Constituent, float]
    alternatives: dict[Constituent, list[tuple[Constituent, float]]]
    is_flat: bool

    @property
    def expected_errors(self) -> float:
        """The expected number of constituents and tags of the tree that are wrong."""
        return float(sum(1.0 - min(p, 1.0) for p in self.parts.values()))

    @property
    def marked(self) -> Phrase:
        """The tree, with ? after labels whose posterior is below 0.9, and ?? below 0.5."""
        at = 0

        def mark(phrase: Phrase) -> Phrase:
            nonlocal at
            first = at
            if phrase.is_preterminal():
                at += 1
            children = tuple([mark(child) if isinstance(child, Phrase) else child for child in phrase.children])
            part = _plain(Constituent(first, at, phrase.label, phrase.is_preterminal()))
            p = self.parts.get(part, 0.0)
            return Phrase(phrase.label + "?" * ((p < _SURE) + (p < _LIKELY)), children)

        return mark(self.tree)

    def rows(self, most: int | None = None) -> dict[str, list[list[Any]]]:
        """List the parts and their alternatives as JSON has them: first word, end, label, whether a tag, posterior.

        most: the largest number of alternatives of a part; None for all."""

        def row(part: Constituent, p: float) -> list[Any]:
            return [*part, round(p, 4)]

        return {
            "parts": [row(*pair) for pair in self.parts.items()],
            "alternatives": [
                [*part, [row(*pair) for pair in several[:most]]] for part, several in self.alternatives.items()
            ],
        }

    def row(self) -> dict[str, Any]:
        """List all that is suggested, as a row of JSON."""
        return {
            "words": list(self.tree.words()),
            "tree": self.tree.bracketed(),
            **self.rows(),
            "expected_errors": round(self.expected_errors, 3),
            "fallback": self.is_flat,
        }


_SURE, _LIKELY = 0.9, 0.5  # posteriors below which a label is marked
_LEAST = 0.05  # the smallest posterior of an alternative


def suggest_trees(model: ConstituencyModel | None, sentences: Iterable[Sequence[str]]) -> list[Suggestion]:
    """Suggest a tree for each sentence, with the posteriors of its parts and their alternatives.

    model: the parser; None for flat trees, in which nothing is sure.
    Raises ValueError for a sentence without words, and TypeError for a string in place of one.

    >>> from spectral_latent import load
    >>> model = ConstituencyModel.train(load("toy").sample(60, np.random.default_rng(0)))
    >>> (found,) = suggest_trees(model, ["the dog saw a cat".split()])
    >>> found.tree.label, len(found.parts) == len(set(list_constituents(found.tree)))
    ('S', True)
    """
    given = list(check_sentences(sentences))
    if not all(map(len, given)):
        raise ValueError(f"sentence {[len(words) for words in given].index(0) + 1} has no words")
    if model is None:
        flat = [Phrase(FALLBACK, tuple(Phrase(UNKNOWN_TAG, (word,)) for word in words)) for words in given]
        return [Suggestion(tree, dict.fromkeys(list_constituents(tree), 0.0), {}, True) for tree in flat]
    batches = (given[at : at + _TOGETHER] for at in range(0, len(given), _TOGETHER))
    check_kind(model, ConstituencyModel)
    return [found for batch in batches for found in _suggest(model, batch)]


def _suggest(model: ConstituencyModel, sentences: Sequence[Sequence[str]]) -> list[Suggestion]:
    """Suggest the trees of a batch, whose charts are made once."""
    inputs = [unknown_phrase(words) for words in sentences]
    analysis = model.analyse(inputs)
    suggestions = []
    for at, (parse,) in enumerate(model.parses(analysis, scored=False)):
        of_sentence = analysis.judged.of_sentence(at)
        posteriors = dict(zip(model.labels.named(of_sentence), of_sentence.posterior.tolist(), strict=True))
        found = list(dict.fromkeys(map(_plain, list_constituents(parse.tree))))
        alternatives = alternatives_of(posteriors, found, _LEAST)
        of_tree = {part: posteriors.get(part, 0.0) for part in found}
        suggestions.append(Suggestion(parse.tree, of_tree, alternatives, parse.is_fallback))
    return suggestions


def _plain(part: Constituent) -> Constituent:
    """Leave out the function labels of a constituent."""
    return part if part.is_tag else part._replace(label=base_label(part.label))


def alternatives_of(
    posteriors: Mapping[Constituent, float], found: Sequence[Constituent], least: float = -np.inf
) -> dict[Constituent, list[tuple[Constituent, float]]]:
    """List the other constituents over the words of each one of a tree, the likeliest first, if there are any."""
    in_tree = set(found)
    others = sorted(
        ((part, p) for part, p in posteriors.items() if p >= least and part not in in_tree),
        key=lambda pair: (-pair[1], pair[0]),
    )
    instead = {part: [(other, p) for other, p in others if other[:2] == part[:2]] for part in found}
    return {part: several for part, several in instead.items() if several}


# Doubtful labels of a treebank


class Doubt(NamedTuple):
    """A label of a treebank that the rest of the treebank makes unlikely.

    tree: the number of the tree, from 0.
    constituent: the labelled constituent, or the tag of a word.
    instead: the likeliest other constituent over the same words, with its posterior."""

    tree: int
    constituent: Constituent
    posterior: float
    instead: tuple[Constituent, float]


def check_trees(
    trees: Iterable[Phrase],
    options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
    n_folds: int = 4,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> list[Doubt]:
    """List the doubtful labels of a treebank, the most doubtful first, as models of other parts of it judge them.

    A label is doubtful if its posterior is below that of another one over the same words.  The order is that of the
    difference of both.

    trees: the treebank, in which function labels and traces are ignored.
    n_folds: the number of parts; each is judged by a parser of the other parts.
    Raises EstimationError as `ConstituencyModel.train` does.

    >>> def tree(noun, verb): return Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", (verb,))))
    >>> trees = [tree(noun, verb) for noun in ("dogs", "cats", "birds") for verb in ("bark", "sleep")] * 9
    >>> wrong = Phrase("S", (Phrase("VB", ("dogs",)), Phrase("VB", ("sleep",))))
    >>> doubt = check_trees([*trees, wrong])[0]
    >>> doubt.tree, doubt.constituent.label, doubt.instead[0].label
    (54, 'VB', 'NN')
    """
    if n_folds < 2:
        raise ValueError(f"n_folds is at least 2, not {n_folds!r:.60}: a parser of the other parts judges each")
    plain = []
    for number, tree in enumerate(trees, start=1):
        if (found := clean(tree)) is None:
            raise EstimationError(f"tree {number} has no words: {tree.bracketed():.80}")
        plain.append(found)
    n_folds = min(n_folds, len(plain))
    doubts: list[Doubt] = []
    for fold in range(n_folds if n_folds > 1 else 0):  # of a single tree, no other one is left to learn from
        listener(Progress("folds", fold, n_folds))
        others = [tree for number, tree in enumerate(plain) if number % n_folds != fold]
        model = ConstituencyModel.train(others, options, jobs=jobs)
        for number in range(fold, len(plain), n_folds):
            doubts += _doubts_of(model, number, plain[number])
    listener(Progress("folds", n_folds, n_folds))
    return sorted(doubts, key=lambda doubt: (doubt.posterior - doubt.instead[1], doubt.tree))


def _doubts_of(model: ConstituencyModel, number: int, tree: Phrase) -> list[Doubt]:
    """List the labels of a tree that are less likely than what would stand in their place."""
    posteriors = model.posteriors(list(tree.words()))
    if not posteriors:
        return []
    likeliest = alternatives_of(posteriors, list(dict.fromkeys(list_constituents(tree))))
    doubts = (Doubt(number, part, posteriors.get(part, 0.0), instead) for part, (instead, *_) in likeliest.items())
    return [doubt for doubt in doubts if doubt.instead[1] > doubt.posterior]
