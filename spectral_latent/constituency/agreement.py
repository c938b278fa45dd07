"""Make judgements of single constituents agree with each other, by the charts of the grammars.

| here | meaning |
| --- | --- |
| μ(c) | the posterior of a constituent c: the mean over the grammars |
| P(c) | the judgement: the probability of c by the model of spans (`spans`), computed for each constituent alone |
| p(t) exp(γ Σ_{c in t} (P(c) − μ(c))) | the new weight of a derivation t under each grammar; γ is `SpanOptions.step` |
| μ'(c) | the posterior under these weights: the mean over the grammars |
| (P(c) + μ'(c)) / 2 | the result |

If a phrase is likelier than its posterior under the grammars, then phrases that cross it are less likely, and phrases
that often occur with it are likelier.  If there is a distribution of trees with the posteriors P, then the one nearest
to the distribution of a grammar has this form, with a factor for each constituent (posterior regularisation: Ganchev,
Graça, Gillenwater and Taskar 2010).  The best factors maximise a concave objective.  P − μ is the gradient of its mean
over the grammars by the logarithms of the factors, at the point where all factors are 1.  One step of gradient ascent
gives the new weights.
"""

import numpy as np

from spectral_latent.constituency.grammar import PhraseEvidence
from spectral_latent.model.parts import Parts

_LARGEST = 100.0  # bounds the logarithm of a factor, because steps may be long, and a chain sums over its labels


def agreed(parts: Parts, evidence: PhraseEvidence) -> Parts:
    """Make the judgements of L labelled constituents agree.

    A constituent with a low posterior keeps its judgement.  If each derivation of a sentence needs an unlikely item,
    all judgements of the sentence stay as they are."""
    options = evidence.options
    mean = evidence.labelled.parts.posterior
    gradient = evidence.labelled.by_chain(parts.posterior - np.minimum(mean, 1.0))
    factors = np.exp(np.clip(options.step * gradient, -_LARGEST, _LARGEST))
    # Sum the posteriors under the new weights, and count the grammars that still derive each sentence.
    total = np.zeros(len(factors))
    n_grammars = np.zeros(len(evidence.start) - 1)
    for of_grammar in evidence.items:
        posterior, is_derived = of_grammar.likely(options.least).reweigh(evidence.chains, factors)
        total += posterior
        n_grammars += is_derived
    again = evidence.labelled.by_label(total / np.maximum(n_grammars[evidence.chains.sentence], 1.0))
    # Average P and μ' of the constituents that are judged, in sentences that some grammar still derives.
    judged = options.judged(evidence.labelled.parts)
    changed = judged[n_grammars[parts.sentence[judged]] > 0]
    agreement = parts.posterior.copy()
    agreement[changed] = (agreement[changed] + np.clip(again[changed], 0.0, 1.0)) / 2
    return parts._replace(posterior=agreement)
