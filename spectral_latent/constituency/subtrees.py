"""Compute the probabilities of the subtrees of a tree, each given the label at its top.

| here | meaning |
| --- | --- |
| n(a, h) | the expected number of nodes of symbol a in state h in a tree; see `mean_node_counts` |
| X | the label of a phrase; if the phrase is an only child, X includes the labels of the parents above it |
| n(X) = Σ_a Σ_h n(a, h) | the expected number of phrases X; the sum is over the symbols a whose chain begins with X |
| p(t \\| X) = Σ_a Σ_h n(a, h) α_h(t) / n(X) | the probability that a phrase X is t |

In a grammar without latent states, p(t \\| X) is the product of the probabilities of the rules of t: the inside
probability of the subtree.  With states, p(t \\| X) is a mean over all contexts of a phrase X.  Each phrase of t
multiplies the product by 1 - ε, because it may have a row of children instead (see `rows`).  n(a, h) is computed from
trees without rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from spectral_latent.constituency.columns import PhraseColumns
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.inference import SignedLog, mean_node_counts
from spectral_latent.trees import FloatArray

__all__ = ["SubtreeGrammar", "chains_of"]


def chains_of(tree: Phrase) -> list[tuple[Phrase, tuple[str, ...]]]:
    """List for each phrase the uppermost phrase of its chain of only children, and the labels from there down to it.

    >>> tree = Phrase("S", (Phrase("VP", (Phrase("VB", ("go",)),)),))
    >>> [(top.label, labels) for top, labels in chains_of(tree)]
    [('S', ('S',)), ('S', ('S', 'VP')), ('S', ('S', 'VP', 'VB'))]
    """
    chains: list[tuple[Phrase, tuple[str, ...]]] = []
    above: tuple[Phrase, tuple[str, ...]] | None = None  # the chain of the parent whose only child comes next
    for node in tree.nodes():
        if isinstance(node, Phrase):
            top, labels = (node, ()) if above is None else above
            chains.append((top, (*labels, node.label)))
            above = chains[-1] if len(node.children) == 1 else None
        else:
            above = None
    return chains


class SubtreeGrammar(NamedTuple):
    """A grammar that computes the probabilities of subtrees.

    grammar: a grammar of probabilities.
    nodes: (S, M) n(a, h), which replaces the root weights; zero for a bar @X, which is a part of a phrase.
    n_phrases: the number n(X) of phrases with each label X.
    """

    grammar: PhraseGrammar
    nodes: FloatArray
    n_phrases: Mapping[tuple[str, ...], float]

    @staticmethod
    def of(grammar: PhraseGrammar) -> SubtreeGrammar:
        """Compute the expected numbers of phrases; a bar @X is not a phrase.

        Raises ValueError for a grammar whose numbers are not probabilities, and if trees are infinite on average.
        """
        nodes = mean_node_counts(grammar.operators)
        nodes[grammar.is_bar] = 0.0
        n_phrases: dict[tuple[str, ...], float] = defaultdict(float)
        for symbol, count in zip(grammar.symbols, nodes.sum(axis=1).tolist(), strict=True):
            for end in range(1, len(symbol.chain) + 1):
                n_phrases[symbol.chain[:end]] += count
        return SubtreeGrammar(grammar, nodes, dict(n_phrases))

    def weights(self, tree: Phrase) -> SignedLog:
        """Compute p(t | X) of each of n phrases t of a tree, in the order of `nodes`."""
        chains = chains_of(tree)
        tops = [top for top, _ in chains]
        words = self.grammar.for_sentences([list(top.words()) for top in tops])
        columns = PhraseColumns.of([[top] for top in tops], words.start.tolist())
        of_tops = self.grammar.weighed(columns, words, root=self.nodes).weight()
        n_phrases = np.array([self.n_phrases.get(labels, 0.0) for _, labels in chains])
        known = n_phrases > 0.0
        log = np.where(known, of_tops.log - np.log(np.where(known, n_phrases, 1.0)), -np.inf)
        return SignedLog(np.where(known, of_tops.sign, 0), log)
