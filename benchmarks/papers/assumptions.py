"""Checks of the assumptions of anchor and Brown models on tagged data (Stratos et al. 2016, Table 5).

| here | paper | meaning |
| --- | --- | --- |
| `Assumptions.anchors` | Condition 4.1, Table 5 | of each tag, the most frequent type that occurs with no other tag |
| `unambiguous_types` | Definition 3.2, Table 5 | share of types with a single tag; all of them in a Brown model |
| `unambiguous_tokens` | | share of tokens whose type has a single tag |
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from spectral_latent.evaluation.scores import percentage

__all__ = ["AnchorWord", "Assumptions", "check_assumptions"]


@dataclass(frozen=True)
class AnchorWord:
    """A type that occurs with one tag alone.

    word: the type, in lower case.
    count: the number of tokens of the type.
    rank: 1 for the most frequent type of the corpus; types equally frequent share the lower rank.
    """

    word: str
    count: int
    rank: int


@dataclass(frozen=True)
class Assumptions:
    """Measures of the two assumptions on tagged data; shares are percentages (0 to 100).

    anchors: the most frequent anchor of each tag, or None, in order of falling frequency of tags.
    unambiguous_types: share of the types that have a single tag.
    unambiguous_tokens: share of the tokens whose type has a single tag.
    """

    anchors: dict[Hashable, AnchorWord | None]
    unambiguous_types: float
    unambiguous_tokens: float

    @property
    def anchored_tags(self) -> float:
        """Share of tags that have an anchor."""
        return percentage(sum(anchor is not None for anchor in self.anchors.values()), len(self.anchors))

    def anchored_within(self, candidates: int) -> float:
        """Compute the share of tags that have an anchor among the candidates of `choose_anchors`."""
        n_anchored = sum(anchor is not None and anchor.rank <= candidates for anchor in self.anchors.values())
        return percentage(n_anchored, len(self.anchors))


def check_assumptions(sentences: Iterable[Sequence[tuple[str, Hashable]]]) -> Assumptions:
    """Find the anchors of all tags, and count the types and tokens that are unambiguous.

    Words are compared in lower case, as in `WordTypes`.  Of equally frequent anchors, the first to occur is taken.

    >>> found = check_assumptions([[("The", "D"), ("cat", "N"), ("runs", "V")], [("Runs", "N"), ("sleep", "N")]])
    >>> found.anchors
    {'N': AnchorWord(word='cat', count=1, rank=2), 'D': AnchorWord(word='the', count=1, rank=2), 'V': None}
    >>> found.unambiguous_types, found.unambiguous_tokens, found.anchored_tags
    (75.0, 60.0, 66.67)
    """
    tags_of: defaultdict[str, Counter[Hashable]] = defaultdict(Counter)
    tag_count: Counter[Hashable] = Counter()
    for sentence in sentences:
        for word, tag in sentence:
            tags_of[word.lower()][tag] += 1
            tag_count[tag] += 1
    counts = np.array([tags.total() for tags in tags_of.values()], dtype=np.int64)
    rising = np.sort(counts)
    anchors: dict[Hashable, AnchorWord | None] = {tag: None for tag, _ in tag_count.most_common()}
    n_types = 0
    n_tokens = 0
    for (word, tags), count in zip(tags_of.items(), counts.tolist(), strict=True):
        if len(tags) > 1:
            continue
        n_types += 1
        n_tokens += count
        (tag,) = tags
        best = anchors[tag]
        if best is None or count > best.count:
            more_frequent = len(rising) - int(np.searchsorted(rising, count, side="right"))
            anchors[tag] = AnchorWord(word, count, more_frequent + 1)
    return Assumptions(anchors, percentage(n_types, len(counts)), percentage(n_tokens, int(counts.sum())))
