"""Find the function labels of a tree, such as SBJ of NP-SBJ, with a grammar whose symbols have them.

Function labels divide the symbols of a grammar, which then has fewer examples of each symbol and parses worse.
Therefore other grammars parse without function labels, and the grammar of this module only labels the constituents that
they find.  X over the words i ... j-1 becomes X or X-F, with any function F: the label with the largest posterior.  The
charts of this grammar are small, because the other grammars know which spans may be constituents, and which spans
certainly are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spectral_latent.constituency.cleaning import base_label
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.tree import ChainLabels, Constituent, Phrase, list_constituents
from spectral_latent.grammar import Permits, cells, crossed_cells
from spectral_latent.model.parts import Parts

_POSSIBLE = 1e-3  # a span with a smaller posterior may not be a constituent
_CERTAIN = 0.99  # a span with a larger posterior may not be crossed by other constituents


@dataclass(frozen=True, eq=False)
class FunctionLabeller:
    """A labeller that adds function labels to trees without them.

    grammar: a grammar whose symbols have function labels."""

    grammar: PhraseGrammar

    @cached_property
    def _labels(self) -> ChainLabels:
        return ChainLabels(self.grammar.part_names)

    @property
    def names(self) -> list[str]:
        """The labels of phrases that have a function."""
        tags = frozenset(self.grammar.tags)
        return [label for label in self._labels.names if label != base_label(label) and label not in tags]

    def label(self, trees: Sequence[Phrase], words: Sequence[str], constituents: Parts) -> list[Phrase]:
        """Add function labels to trees of one sentence.

        A constituent that the grammar does not find in the sentence gets no function label."""
        charts = self.grammar.charts([words], permits=[self._permits(constituents, len(words))])
        parts = self._labels.split(self.grammar.items(charts).constituents().merge()).parts
        pairs = zip(parts.posterior.tolist(), self._labels.named(parts), strict=True)
        rising = sorted(pairs, key=lambda pair: pair[0])
        # Of several labels of one category, the dictionary keeps the last one, which is the likeliest.
        phrases = (part for _, part in rising if not part.is_tag)
        best = {part._replace(label=base_label(part.label)): part.label for part in phrases}
        return [relabelled(tree, best, words) for tree in trees]

    def _permits(self, constituents: Parts, n: int) -> Permits:
        """Permit the symbols over each span of n words: all where constituents may be, and parts of them elsewhere."""
        first, end = cells(n)
        cell = constituents.end * (constituents.end - 1) // 2 + constituents.begin
        posterior = np.bincount(cell, constituents.posterior, minlength=len(end))
        is_certain = posterior > _CERTAIN
        crossed = crossed_cells(n, zip(first[is_certain].tolist(), end[is_certain].tolist(), strict=True))
        # The rows of the table: all symbols, bars, or none.
        row = np.where(crossed, 2, np.where(posterior > _POSSIBLE, 0, 1))
        everything = np.ones_like(self.grammar.is_bar)
        return Permits(row, np.stack([everything, self.grammar.is_bar, ~everything]))


def relabelled(tree: Phrase, labels: dict[Constituent, str], words: Sequence[str]) -> Phrase:
    """Replace the labels of a tree's constituents by those in a dictionary, if they are in it."""
    finished: list[tuple[int, Phrase]] = []  # the first word of each phrase that has no parent yet, and the phrase
    for part in list_constituents(tree):
        label = labels.get(part, part.label)
        if part.is_tag:
            finished.append((part.first, Phrase(label, (words[part.first],))))
            continue
        at = len(finished)
        while at and finished[at - 1][0] >= part.first:
            at -= 1
        children = tuple(phrase for _, phrase in finished[at:])
        finished[at:] = [(part.first, Phrase(label, children))]
    ((_, top),) = finished
    return top
