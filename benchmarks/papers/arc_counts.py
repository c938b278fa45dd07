"""Count siblings and grandparents in dependency trees, the baseline features of Dhillon et al. (2012), section 4.3.

| event | parts |
| --- | --- |
| `siblings` | tag of the nearest left dependant, tag of the head, tag of the nearest right dependant |
| `grandparent` | side and tag of a word, tag of its head, tag of the head's head |

A `siblings` event is counted for every word and for the root.  A - stands for a missing word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking import NBest
from spectral_latent.trees import Vocabulary

__all__ = ["choose_events", "count_events", "events_of"]


def events_of(tree: DependencySentence) -> Iterator[str]:
    """List the names of the events in a tree.

    >>> sorted(events_of(DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"]).with_heads((2, 0))))[:2]
    ['grandparent left NNS VBP ROOT', 'grandparent right VBP ROOT -']
    """
    tags = ["ROOT", *(tree.upos if all(tag == "_" for tag in tree.xpos) else tree.xpos)]
    heads = [None, *(tree.heads or ())]
    for word, dependants in enumerate(tree.dependants()):
        left = max((other for other in dependants if other < word), default=None)
        right = min((other for other in dependants if other > word), default=None)
        near = ["-" if other is None else tags[other] for other in (left, right)]
        yield f"siblings {near[0]} {tags[word]} {near[1]}"
        above = heads[word]
        for other in dependants:
            side = "left" if other < word else "right"
            yield f"grandparent {side} {tags[other]} {tags[word]} {'-' if above is None else tags[above]}"


def choose_events(lists: Sequence[NBest], cutoff: int = 5) -> list[str]:
    """List the events whose counts differ among the candidates of at least `cutoff` lists."""
    often: Counter[str] = Counter()
    for nbest in lists:
        counts = [Counter(events_of(tree)) for tree, *_ in nbest.candidates if isinstance(tree, DependencySentence)]
        names = {name for count in counts for name in count}
        often.update(name for name in names if len({count[name] for count in counts}) > 1)
    return sorted(name for name, count in often.items() if count >= cutoff)


def count_events(lists: Sequence[NBest], events: Sequence[str]) -> sparse.csr_array:
    """Count events in the candidates of lists, (n, d), list after list."""
    column = Vocabulary(events)
    cells: list[tuple[int, int]] = []
    row = 0
    for nbest in lists:
        for tree, *_ in nbest.candidates:
            if isinstance(tree, DependencySentence):
                cells += [(row, at) for at in map(column.get, events_of(tree)) if at >= 0]
            row += 1
    rows, columns = np.array(cells, dtype=np.int64).reshape(-1, 2).T
    return sparse.csr_array(sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(row, len(events))))
