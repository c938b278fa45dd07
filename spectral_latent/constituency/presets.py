"""Choose options that go well together: `fast` is a single grammar, `best` averages six, and the others three.

`accurate` and `best` have a model of spans (see `spans`), which is learnt on held-out folds; the grammars of each fold
of `best` are learnt from nothing.  The grammars of a preset differ in the binarisation, because the mean is best where
grammars differ most: a symbol that remembers its parent knows something else than one that remembers a sibling.

`spectral` uses moments and linear algebra alone, so that no part of its training has local optima.  The grammars of the
others are climbed to by EM from clusters.

docs/accuracy.md measures what each step is worth.  The options were chosen on the dev splits of NLTK's
treebank sample, alpino and cess_esp, and with several seeds, the binarisations on the first two with one seed.
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


_WAYS = (Binarisation("last"), Binarisation("first", siblings=1), Binarisation(parents=1))
_MORE_WAYS = (Binarisation("last", siblings=1), Binarisation("first"), Binarisation("first", parents=1))


def _n_states(most: int, binarisation: Binarisation) -> int:
    """Choose the most states of a symbol; with parents there are more symbols, and each has fewer states.

    most: the states without parents.
    """
    return 12 if binarisation.parents else most


def _with_spans(spans: SpanOptions, *binarisations: Binarisation) -> tuple[ConstituencyOptions, ...]:
    """Choose a model of spans, and a grammar for each binarisation."""
    grammars = [_grammar(clusters_then_em(_n_states(28, each), 3, 16), each) for each in binarisations]
    return tuple(replace(grammar, spans=spans) for grammar in grammars)


def _spectral(binarisation: Binarisation) -> ConstituencyOptions:
    """Choose the spectral estimator."""
    return _grammar(EstimatorOptions("spectral", n_states=_n_states(16, binarisation)), binarisation)


_PRESETS: dict[AnyPresetName, tuple[ConstituencyOptions, ...]] = {
    "fast": (_grammar(clusters_then_em(24, 2, 8), Binarisation()),),
    "accurate": _with_spans(SpanOptions(), *_WAYS),
    "best": _with_spans(SpanOptions(anew=True), *_WAYS, *_MORE_WAYS),
    "spectral": tuple(map(_spectral, _WAYS)),
}


def preset(name: AnyPresetName) -> tuple[ConstituencyOptions, ...]:
    """Return the options of each grammar of a parser, for `ConstituencyModel.train`.

    name: the preset.

    Raises ValueError for another name.

    >>> [options.estimator.n_states for options in preset("accurate")]
    [28, 28, 12]
    """
    return of_preset(_PRESETS, name)
