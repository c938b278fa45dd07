"""Choose options that go well together: `fast` is a single grammar, `best` averages six, and the others three.

`accurate` and `best` have a model of spans (see `spans`), which is learnt on held-out folds.  The six grammars of
`best` are those of `accurate` from two seeds, and those of each fold are learnt from nothing.

`spectral` uses moments and linear algebra alone, so that no part of its training has local optima.  The grammars of the
others are climbed to by EM from clusters.

docs/accuracy.md measures what each step is worth.  The options were chosen on the dev splits of NLTK's
treebank sample, alpino and cess_esp, and with several seeds.
"""

from __future__ import annotations

from dataclasses import replace

from spectral_latent._names import AnyPresetName
from spectral_latent._options import of_preset
from spectral_latent.constituency.conversion import Binarisation
from spectral_latent.constituency.options import ConstituencyOptions
from spectral_latent.constituency.spans import SpanOptions
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.grammar.presets import BEAM, THRESHOLD, clusters_then_em

__all__ = ["preset"]


def _grammar(estimator: EstimatorOptions, binarisation: Binarisation) -> ConstituencyOptions:
    """Choose an estimator and a binarisation, and prune charts tightly."""
    return ConstituencyOptions(estimator=estimator, beam=BEAM, threshold=THRESHOLD, binarisation=binarisation)


_WAYS = (Binarisation(), Binarisation("last", siblings=1), Binarisation(siblings=1))


def _with_spans(spans: SpanOptions, n_seeds: int) -> tuple[ConstituencyOptions, ...]:
    """Choose a model of spans, and a grammar for each seed and each binarisation."""
    estimators = [replace(clusters_then_em(28, 3, 16), seed=seed) for seed in range(n_seeds)]
    grammars = [_grammar(estimator, binarisation) for estimator in estimators for binarisation in _WAYS]
    return tuple(replace(grammar, spans=spans) for grammar in grammars)


_PRESETS: dict[AnyPresetName, tuple[ConstituencyOptions, ...]] = {
    "fast": (_grammar(clusters_then_em(24, 2, 8), Binarisation()),),
    "accurate": _with_spans(SpanOptions(), n_seeds=1),
    "best": _with_spans(SpanOptions(anew=True), n_seeds=2),
    "spectral": tuple(_grammar(EstimatorOptions("spectral", n_states=16), binarisation) for binarisation in _WAYS),
}


def preset(name: AnyPresetName) -> tuple[ConstituencyOptions, ...]:
    """Return the options of each grammar of a parser, for `ConstituencyModel.train`.

    name: the preset.

    Raises ValueError for another name.

    >>> [options.estimator.n_states for options in preset("accurate")]
    [28, 28, 28]
    """
    return of_preset(_PRESETS, name)
