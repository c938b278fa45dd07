"""N-best lists of the sentences that a parser was trained on, as it would give them for others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from spectral_latent.reranking.candidates import NBest

__all__ = ["jackknifed"]

_T = TypeVar("_T")


def jackknifed(
    items: Sequence[_T], lists_of: Callable[[list[_T], list[_T]], Iterable[NBest]], folds: int = 10
) -> list[NBest]:
    """The list of every item, by a parser trained on the items of the other folds.

    On its own training trees a parser is better, and surer, than on any others; a reranker trained on such lists
    would trust it too much.  Folds are runs of neighbours, so that an article is not in two of them.
    items: what parsers are trained on, such as gold trees.  lists_of: given items to train on and items to parse, the
    lists of the latter in their order.

    Raises ValueError for fewer than two folds or fewer items than folds, and if lists are missing.

    >>> def lists_of(train, held_out):
    ...     return [NBest(f"{item} by {train}", (), ()) for item in held_out]
    >>> [nbest.id for nbest in jackknifed([1, 2, 3], lists_of, folds=2)]
    ['1 by [3]', '2 by [3]', '3 by [1, 2]']
    """
    if not 2 <= folds <= len(items):
        raise ValueError(f"{folds} folds of {len(items)} trees; give at least two folds, and as many trees as folds")
    lists: list[NBest] = []
    bounds = [-(-len(items) * fold // folds) for fold in range(folds + 1)]
    for begin, end in pairwise(bounds):
        found = list(lists_of([*items[:begin], *items[end:]], list(items[begin:end])))
        if len(found) != end - begin:
            raise ValueError(f"{len(found)} lists for the {end - begin} trees of a fold; give one for each, even empty")
        lists += found
    return lists
