"""Choose options that go well together: `fast` is a single grammar, `best` averages six, and the others three.

`accurate` and `best` have a model of spans (see `spans`), which is learnt on held-out folds.  `best` trains the
grammars of each fold from the beginning.  The grammars of a preset have different binarisations, because the mean of
posteriors is best if the errors of the grammars differ: a symbol that remembers its parent has other information than a
symbol that remembers a sibling.

`spectral` finds its grammars by moments and linear algebra.  Only its log-linear model of spelling is found by
iteration, and its loss is convex: no part of the training has local optima.  The grammars of all other presets are
trained by EM, which starts from clusters.

docs/accuracy.md has the gain of each step.  The options were chosen on the dev splits of NLTK's treebank sample, alpino
and cess_esp with several seeds, the binarisations on the first two treebanks with one seed.
"""

from __future__ import annotations

from dataclasses import replace

from spectral_latent._names import AnyPresetName
from spectral_latent._options import of_preset
from spectral_latent.constituency.conversion import Binarisation
from spectral_latent.constituency.options import ConstituencyOptions
from spectral_latent.constituency.spans import SpanOptions
from spectral_latent.estimation import Estimator, Spectral
from spectral_latent.grammar.options import BEAM, THRESHOLD, clusters_then_em

__all__ = ["preset"]


def _grammar(estimator: Estimator, binarisation: Binarisation) -> ConstituencyOptions:
    """Make the options of a grammar with tightly pruned charts."""
    return ConstituencyOptions(estimator=estimator, beam=BEAM, threshold=THRESHOLD, binarisation=binarisation)


_WAYS = (Binarisation("last"), Binarisation("first", siblings=1), Binarisation(parents=1))
_MORE_WAYS = (Binarisation("last", siblings=1), Binarisation("first"), Binarisation("first", parents=1))


def _n_states(most: int, binarisation: Binarisation) -> int:
    """Choose the largest number of states of a symbol; it is smaller if symbols remember parents, and are more."""
    return 12 if binarisation.parents else most


def _with_spans(spans: SpanOptions, *binarisations: Binarisation) -> tuple[ConstituencyOptions, ...]:
    """Make the options of a grammar for each binarisation, with a model of spans."""
    grammars = [_grammar(clusters_then_em(_n_states(28, each), 3, 16), each) for each in binarisations]
    return tuple(replace(grammar, spans=spans) for grammar in grammars)


def _spectral(binarisation: Binarisation) -> ConstituencyOptions:
    """Make the options of a grammar with the spectral estimator."""
    return _grammar(Spectral(_n_states(16, binarisation)), binarisation)


_PRESETS: dict[AnyPresetName, tuple[ConstituencyOptions, ...]] = {
    "fast": (_grammar(clusters_then_em(24, 2, 8), Binarisation()),),
    "accurate": _with_spans(SpanOptions(), *_WAYS),
    "best": _with_spans(SpanOptions(anew=True), *_WAYS, *_MORE_WAYS),
    "spectral": tuple(map(_spectral, _WAYS)),
}


def preset(name: AnyPresetName) -> tuple[ConstituencyOptions, ...]:
    """Return the options of each grammar of a parser, for `ConstituencyModel.train`.

    name: the name of the preset.

    Raises ValueError for another name.

    >>> [options.estimator.states.n_states for options in preset("accurate")]
    [28, 28, 12]
    """
    return of_preset(_PRESETS, name)
