"""Whether tagged data are as anchor and Brown models assume, and how likely a model finds sentences.

| here | Stratos et al. 2016 | meaning |
| --- | --- | --- |
| `Assumptions.anchors` | Condition 4.1, Table 5 | of each tag, the most frequent type that occurs with no other tag |
| `unambiguous_types` | Definition 3.2, Table 5 | share of types with a single tag; all of them in a Brown model |
| `unambiguous_tokens` | | share of tokens whose type has a single tag |
| `log_likelihood_per_word` | Table 6 | Σ log p(sentence) / Σ words, in nats, ends of sentences included |
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from spectral_latent.inference import tree_weights
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.decoding import batches
from spectral_latent.sequence.hidden_markov import HiddenMarkov
from spectral_latent.trees import Forest

__all__ = ["AnchorWord", "Assumptions", "check_assumptions", "log_likelihood_per_word"]


@dataclass(frozen=True)
class AnchorWord:
    """A type that occurs with one tag alone; the most frequent type has rank 1, and equals share the lower rank."""

    word: str
    count: int
    rank: int


@dataclass(frozen=True)
class Assumptions:
    """What tagged data say of the two assumptions; shares are percentages (0 to 100).

    anchors: of each tag, in order of falling frequency, its most frequent anchor, or None.
    """

    anchors: dict[Hashable, AnchorWord | None]
    unambiguous_types: float
    unambiguous_tokens: float

    @property
    def anchored_tags(self) -> float:
        """Share of tags that have an anchor."""
        return _percentage(sum(anchor is not None for anchor in self.anchors.values()), len(self.anchors))

    def anchored_within(self, candidates: int) -> float:
        """Share of tags with an anchor as frequent as the type of that rank: those `choose_anchors` can find."""
        found = sum(anchor is not None and anchor.rank <= candidates for anchor in self.anchors.values())
        return _percentage(found, len(self.anchors))


def check_assumptions(sentences: Iterable[Sequence[tuple[str, Hashable]]]) -> Assumptions:
    """Of words in lower case, as in `Types`; of equally frequent anchors, the first to occur.

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
    types = tokens = 0
    for (word, tags), count in zip(tags_of.items(), counts.tolist(), strict=True):
        if len(tags) > 1:
            continue
        types, tokens = types + 1, tokens + count
        (tag,) = tags
        best = anchors[tag]
        if best is None or count > best.count:
            above = len(rising) - int(np.searchsorted(rising, count, side="right"))
            anchors[tag] = AnchorWord(word, count, above + 1)
    return Assumptions(anchors, _percentage(types, len(counts)), _percentage(tokens, int(counts.sum())))


def log_likelihood_per_word(model: HiddenMarkov, sequences: Sequences) -> float:
    """Mean log-probability of a word, in nats; -inf if a sequence is impossible.

    >>> coin = HiddenMarkov(np.array([1.0]), np.array([[1.0]]), np.array([0.5]), np.array([[0.5, 0.5]]))
    >>> round(log_likelihood_per_word(coin, Sequences.of([[0, 1], [1]])), 4)  # log 1/4
    -1.3863
    """
    operators, total = model.operators(), 0.0
    for batch in batches(sequences.rows):
        trees = Sequences.of(batch).trees(n_tags=1)
        weight = tree_weights(operators, Forest.of_trees(trees, operators.rules))
        if (weight.sign <= 0).any():
            return -np.inf
        total += float(weight.log.sum())
    return total / len(sequences.terminal)


def _percentage(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
