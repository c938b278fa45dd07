"""Hold the items of a grammar's charts, and weigh derivations by factors of their constituents.

| here | meaning |
| --- | --- |
| μ(c) | the posterior of a constituent c under the grammar |
| f(c) | a factor, above 1 for constituents that are more likely than the grammar says |
| p(t) Π_{c in t} f(c) | the weight of a derivation t, under which `PhraseItems.reweighed` finds posteriors |

A factor above 1 changes the posteriors of all constituents: those that often stand with this one rise, and those that
cross it fall.
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

_LEAST = 1e-6  # constituents of smaller posteriors are in no tree


class PhraseItems(NamedTuple):
    """The items of the charts of sentences under one grammar.

    options: the settings of the grammar, which tell the signs of posteriors.
    operators: the operators that weigh the rules.
    forest: the I items, with a component for each of the T sentences.
    sentence: (I,) the sentence of each item.
    first, end: (I,) the words of an item are first ... end - 1, numbered through all sentences.
    chain: (I,) the number of its chain of labels; -1 for a bar, which is a part of a phrase.
    posterior: (I,) its posterior; 0 for all items of a sentence that the grammar does not derive.
    is_derived: (T,) whether the weights of the derivations of each sentence have a sum that is not 0.
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
    def of(
        options: GrammarOptions,
        operators: ObservableOperators,
        forest: Forest,
        sentence: IntArray,
        first: IntArray,
        end: IntArray,
        chain: IntArray,
    ) -> PhraseItems:
        """Compute the posteriors of items.

        options: the settings of the grammar.
        operators: the operators that weigh the rules.
        forest: the I items, with a component for each of the T sentences.
        sentence: (I,) the sentence of each item.
        first: (I,) the first word of each item, numbered through all sentences.
        end: (I,) the word after its last one.
        chain: (I,) the number of its chain of labels; -1 for a bar.
        """
        posterior, is_derived = _posteriors(options, operators, forest, sentence)
        return PhraseItems(options, operators, forest, sentence, first, end, chain, posterior, is_derived)

    def likely(self, least: float) -> PhraseItems:
        """Leave out the items whose posterior is not above a limit, and all derivations with them.

        least: the limit.
        """
        keep = np.abs(self.posterior) > least
        keep[self.forest.root] = True
        return self._replace(
            forest=self.forest.restricted(keep),
            sentence=self.sentence[keep],
            first=self.first[keep],
            end=self.end[keep],
            chain=self.chain[keep],
            posterior=self.posterior[keep],
        )

    def constituents(self) -> Constituents:
        """List the constituents with their posteriors; a chain may occur twice over the same words."""
        kept = np.flatnonzero((self.chain >= 0) & (self.posterior > _LEAST))
        return Constituents(self.first[kept], self.end[kept], self.chain[kept], self.posterior[kept])

    def reweighed(self, constituents: Constituents, factors: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Compute the posteriors of constituents where a derivation weighs more or less by those that it has.

        constituents: K constituents as `Constituents.merged` lists them.
        factors: (K,) the factor of each; other items have the factor 1.
        Returns the posteriors (K,), and whether the items derive each sentence, (T,).
        """
        row = constituents.find(self.first, self.end, self.chain)
        of_item, is_derived = _posteriors(
            self.options, self.operators, self.forest, self.sentence, np.append(factors, 1.0)[row]
        )
        found = np.flatnonzero(row >= 0)
        posterior = np.bincount(row[found], of_item[found], minlength=len(factors))
        return posterior.astype(float), is_derived


def _posteriors(
    options: GrammarOptions,
    operators: ObservableOperators,
    forest: Forest,
    sentence: IntArray,
    factors: FloatArray | None = None,
) -> tuple[FloatArray, BoolArray]:
    """Compute the posteriors of the items of T sentences, (I,), and whether each sentence has a derivation, (T,).

    factors: (I,) the factor of each item, as in `inference.inside`; None for ones.
    """
    inside_vectors = inside(operators, forest, factors)
    outside_vectors = outside(operators, forest, inside_vectors, factors)
    mu = marginals(operators, forest, inside_vectors, outside_vectors, factors)
    sign = total_weight(operators, forest, inside_vectors).sign
    return options.with_signs(mu, sign[sentence]), sign != 0
