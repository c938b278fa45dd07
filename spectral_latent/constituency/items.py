"""Hold the items of a grammar's charts, and multiply the weights of derivations by factors of their constituents.

| here | meaning |
| --- | --- |
| μ(c) | the posterior of a constituent c under the grammar |
| f(c) | a factor; above 1 if c is likelier than its posterior |
| p(t) Π_{c in t} f(c) | the new weight of a derivation t, for the posteriors that `PhraseItems.reweighed` computes |

A factor of one constituent changes the posteriors of all constituents.  If it is above 1, the posteriors of
constituents that often occur with this one rise, and the posteriors of constituents that cross it fall.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from spectral_latent.constituency.constituents import Constituents
from spectral_latent.grammar import GrammarOptions
from spectral_latent.inference import inside, marginals, outside, total_weight
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray

__all__ = ["PhraseItems"]

_LEAST = 1e-6  # constituents with smaller posteriors are left out


class PhraseItems(NamedTuple):
    """The items of the charts of sentences under one grammar.

    options: the settings of the grammar, which choose the signs of posteriors.
    forest: the I items, with a component for each of the T sentences.
    sentence: (I,) the sentence of each item.
    first, end: (I,) an item spans the words first ... end - 1; the words of all sentences are numbered together.
    chain: (I,) the number of its chain of labels; -1 for a bar, which is a part of a phrase.
    posterior: (I,) the posterior of each item; 0 for all items of a sentence that the grammar does not derive.
    is_derived: (T,) whether the grammar derives each sentence: whether the weights of its derivations do not sum to 0.
    """

    options: GrammarOptions
    operators: ObservableOperators
    forest: Forest
    sentence: IntArray
    first: IntArray
    end: IntArray
    chain: IntArray
    posterior: FloatArray
    is_derived: BoolArray

    @staticmethod
    def compute(
        options: GrammarOptions,
        operators: ObservableOperators,
        forest: Forest,
        sentence: IntArray,
        first: IntArray,
        end: IntArray,
        chain: IntArray,
    ) -> PhraseItems:
        """Compute the posteriors of items.

        sentence: (I,) the sentence of each item.
        first: (I,) the first word of each item; the words of all sentences are numbered together.
        end: (I,) the word after its last word.
        chain: (I,) the number of its chain of labels; -1 for a bar.
        """
        posterior, is_derived = _posteriors(options, operators, forest, sentence)
        return PhraseItems(options, operators, forest, sentence, first, end, chain, posterior, is_derived)

    def likely(self, least: float) -> PhraseItems:
        """Keep the roots and the items whose posterior is above a limit, and the derivations from kept items alone."""
        keep = np.abs(self.posterior) > least
        keep[self.forest.root] = True
        return self._replace(
            forest=self.forest.restrict(keep),
            sentence=self.sentence[keep],
            first=self.first[keep],
            end=self.end[keep],
            chain=self.chain[keep],
            posterior=self.posterior[keep],
        )

    def constituents(self) -> Constituents:
        """List the constituents with their posteriors; a chain may occur several times over the same words."""
        kept = np.flatnonzero((self.chain >= 0) & (self.posterior > _LEAST))
        return Constituents(self.first[kept], self.end[kept], self.chain[kept], self.posterior[kept])

    def reweighed(self, constituents: Constituents, factors: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Compute the posteriors of constituents after each derivation is multiplied by the factors of its
        constituents.

        factors: (K,) the factor of each constituent; other items have the factor 1.
        Returns the posteriors (K,), and whether the items derive each sentence, (T,).
        """
        row = constituents.find(self.first, self.end, self.chain)
        of_item, is_derived = _posteriors(
            self.options, self.operators, self.forest, self.sentence, np.append(factors, 1.0)[row]
        )
        known = np.flatnonzero(row >= 0)
        posterior = np.bincount(row[known], of_item[known], minlength=len(factors))
        return posterior.astype(float), is_derived


def _posteriors(
    options: GrammarOptions,
    operators: ObservableOperators,
    forest: Forest,
    sentence: IntArray,
    factors: FloatArray | None = None,
) -> tuple[FloatArray, BoolArray]:
    """Compute the posteriors of the items of T sentences, (I,), and whether each sentence has a derivation, (T,).

    factors: (I,) the factor of each item, as in `inference.inside`; None if all factors are 1.
    """
    inside_vectors = inside(operators, forest, factors)
    outside_vectors = outside(operators, forest, inside_vectors, factors)
    mu = marginals(operators, forest, inside_vectors, outside_vectors, factors)
    sign = total_weight(operators, forest, inside_vectors).sign
    return options.with_signs(mu, sign[sentence]), sign != 0
