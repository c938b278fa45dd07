"""Find the function labels of a tree, such as SBJ of NP-SBJ, with a grammar whose symbols have them.

Function labels divide the symbols of a grammar, so that it has fewer examples of each and parses worse.  Therefore
other grammars parse without function labels, and this one only labels the constituents that they find: X over the words
i ... j-1 becomes that X-F, or X, whose posterior is the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from spectral_latent.constituency.cleaning import base_label
from spectral_latent.constituency.decoding import ChainLabels, Constituent, constituents_of
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.phrase import Phrase

__all__ = ["FunctionLabeller"]


@dataclass(frozen=True, eq=False)
class FunctionLabeller:
    """A labeller that adds function labels to trees without them.

    grammar: a grammar whose symbols have function labels.

    >>> from spectral_latent.constituency import ConstituencyOptions, prepare
    >>> def tree(label): return Phrase("S", (Phrase(label, (Phrase("NN", ("rain",)),)), Phrase("VB", ("falls",))))
    >>> (training,) = prepare([tree("NP-SBJ")], [ConstituencyOptions(function_labels=True)])
    >>> labeller = FunctionLabeller(training.estimate())
    >>> labeller.label([tree("NP")], ["rain", "falls"])[0].bracketed(), labeller.names
    ('(S (NP-SBJ (NN rain)) (VB falls))', ['NP-SBJ'])
    """

    grammar: PhraseGrammar

    @cached_property
    def _labels(self) -> ChainLabels:
        return ChainLabels(self.grammar.chains)

    @property
    def names(self) -> list[str]:
        """The labels with a function."""
        return [label for label in self._labels.names if label != base_label(label)]

    def label(self, trees: Sequence[Phrase], words: Sequence[str]) -> list[Phrase]:
        """Add function labels to trees of one sentence.

        A constituent that the grammar does not find in the sentence gets none.

        trees: the trees, without function labels.
        words: the words of the sentence.
        """
        best = self._best(words)
        return [_relabelled(tree, best, words) for tree in trees]

    def _best(self, words: Sequence[str]) -> dict[Constituent, str]:
        """Find the likeliest label with each constituent's category, for every constituent that the grammar finds."""
        constituents = self.grammar.constituents(self.grammar.grammar.chart(words))
        if constituents is None:
            return {}
        parts = self._labels.split(constituents)
        pairs = zip(parts.posterior.tolist(), parts.named(self._labels.names), strict=True)
        rising = sorted(pairs, key=lambda pair: pair[0])
        # Of several labels of one category, the last one stays.
        return {part._replace(label=base_label(part.label)): part.label for _, part in rising}


def _relabelled(tree: Phrase, labels: dict[Constituent, str], words: Sequence[str]) -> Phrase:
    """Replace the labels of those constituents of a tree that have another one."""
    finished: list[tuple[int, Phrase]] = []  # the first word of each phrase that has no parent yet, and the phrase
    for part in constituents_of(tree):
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
