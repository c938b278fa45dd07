"""Hold the settings of latent PCFGs of phrases, and presets of settings that go well together.

Of the presets, `fast` is a single grammar, `clusters` and `spectral` average two, `accurate` three and `best` six.

`accurate` and `best` have a model of spans (see `spans`), which is learnt on held-out folds.  `best` trains the
grammars of each fold from the beginning.  The grammars of a preset have different binarisations, because the mean of
posteriors is best if the errors of the grammars differ: a symbol that remembers its parent has other information than a
symbol that remembers a sibling.

`clusters` finds its states by singular vectors and cuts across principal directions (`estimation.clustering`), and
counts the rules of these states: nothing is drawn at random, and there is no EM over trees.  A few rounds of EM
within each of the larger tensors reduce it to `rank` terms (`operators.low_rank`); their loss is not convex, and they
end before they converge.

`spectral` has the estimator of Cohen et al. (2012, 2013): moments of projections, with the smoothing of slide 25 and
`cutoff` as the rule of ranks, so that it is consistent but for `rows`.  The grammars of all other presets are trained
by EM, which starts from the counts of `clusters`.

docs/accuracy.md has the gain of each step.  The options were chosen on the dev splits of NLTK's treebank sample, alpino
and cess_esp with several seeds, the binarisations on the first two treebanks with one seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated

import numpy as np

from spectral_latent._names import ConstituencyPresetName
from spectral_latent._options import Above, AtLeast, AtMost, Below, of_preset
from spectral_latent.constituency.conversion import Binarisation, FeatureSet
from spectral_latent.estimation import Clusters, Estimator, Spectral
from spectral_latent.grammar.options import BEAM, THRESHOLD, GrammarOptions, clusters_then_em
from spectral_latent.grammar.parser import check_alike
from spectral_latent.lexicon.choices import JudgeOptions
from spectral_latent.model.parts import Parts
from spectral_latent.trees import IntArray


@dataclass(frozen=True)
class SpanOptions(JudgeOptions):
    """Settings of a model of spans.

    folds, penalty, iterations, least: see `JudgeOptions`.
    anew: whether the grammars of a fold are trained from the beginning, which takes as long as training on all trees.
    Otherwise, they are one iteration of EM from the grammars of all trees, if these have probabilities.
    step: γ, the amount by which judgements change the posteriors of other constituents; see `agreement`.  With 0, each
    constituent is judged alone."""

    penalty: Annotated[float, Above(0.0), AtMost(1e9)] = 30.0
    iterations: Annotated[int, AtLeast(1)] = 60
    anew: bool = False
    step: Annotated[float, AtLeast(0.0), AtMost(100.0)] = 3.5

    def judged(self, parts: Parts) -> IntArray:
        """List the numbers (n,) of the constituents that the model judges; other constituents keep their posteriors."""
        return np.flatnonzero(parts.posterior > self.least)


@dataclass(frozen=True)
class ConstituencyOptions(GrammarOptions):
    """Settings of training and parsing, besides those of all grammars (`GrammarOptions`).

    features: the set of templates of the features of inside and outside trees.
    span_penalty: the gain of a constituent is its posterior less this number.  A larger number gives trees with fewer
    constituents, and a larger share of them is right.
    rows: the probability that the children of a phrase are drawn one by one, so that any children may occur together;
    see the module `grammar`.
    function_labels: whether symbols keep function labels, such as SBJ; a model learns them with one more grammar.
    spans: the settings of a model of spans, which judges constituents by the words around them; None for no such model.
    """

    binarisation: Binarisation = field(default_factory=Binarisation)
    features: FeatureSet = "all"
    span_penalty: Annotated[float, AtLeast(0.0), Below(1.0)] = 0.4
    rows: Annotated[float, AtLeast(0.0), Below(1.0)] = 0.01
    function_labels: bool = False
    spans: SpanOptions | None = None


def check_together(options: Sequence[ConstituencyOptions]) -> None:
    """Raise ValueError unless grammars with these options can belong to one parser.

    The parser as a whole has one `span_penalty`, one model of spans, and function labels or none.  Each grammar uses
    its own of all other options, such as those of pruning: they may differ."""
    check_alike(options, ConstituencyOptions, ("span_penalty", "spans", "function_labels"))


def _grammar(estimator: Estimator, binarisation: Binarisation) -> ConstituencyOptions:
    """Make the options of a grammar with tightly pruned charts."""
    return ConstituencyOptions(estimator=estimator, beam=BEAM, threshold=THRESHOLD, binarisation=binarisation)


_WAYS = (Binarisation("last"), Binarisation("first", siblings=1), Binarisation(parents=1))
_MORE_WAYS = (Binarisation("last", siblings=1), Binarisation("first"), Binarisation("first", parents=1))


def _with_spans(spans: SpanOptions, *binarisations: Binarisation) -> tuple[ConstituencyOptions, ...]:
    """Make the options of a grammar for each binarisation, with a model of spans; symbols with parents are more."""
    grammars = [_grammar(clusters_then_em(12 if each.parents else 28, 3, 16), each) for each in binarisations]
    return tuple(replace(grammar, spans=spans) for grammar in grammars)


@cache
def _presets() -> dict[ConstituencyPresetName, tuple[ConstituencyOptions, ...]]:
    """Make all presets when one is asked for, because parsing needs none."""
    return {
        "fast": (_grammar(clusters_then_em(24, 2, 8), Binarisation()),),
        "accurate": _with_spans(SpanOptions(), *_WAYS),
        "best": _with_spans(SpanOptions(anew=True), *_WAYS, *_MORE_WAYS),
        "clusters": tuple(
            _grammar(Clusters(24, smoothing=5.0, rank=8), each)
            for each in (Binarisation(), Binarisation("first", siblings=1))
        ),
        "spectral": tuple(_grammar(Spectral(m), each) for m, each in zip((14, 10), _WAYS[1:], strict=True)),
    }


def preset(name: ConstituencyPresetName) -> tuple[ConstituencyOptions, ...]:
    """Return the options of each grammar of a parser, for `ConstituencyModel.train`.

    Raises ValueError for another name.

    >>> [options.estimator.states.n_states for options in preset("accurate")]
    [28, 28, 12]
    """
    return of_preset(_presets(), name)
