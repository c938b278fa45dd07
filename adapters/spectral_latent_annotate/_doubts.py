"""Find the labels and tags of a treebank that parsers of the rest of the treebank find unlikely."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from spectral_latent.constituency import (
    ConstituencyModel,
    ConstituencyOptions,
    Constituent,
    Phrase,
    clean,
    list_constituents,
)
from spectral_latent.estimation import EstimationError, Listener, Progress, silent
from spectral_latent_annotate._suggestions import alternatives_of


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
    options: the settings of the parsers, as `ConstituencyModel.train` takes them.
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
