"""Settings of latent PCFGs of phrases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from spectral_latent._options import AtLeast, Below, checked
from spectral_latent.constituency.conversion import Binarisation
from spectral_latent.constituency.features import FeatureSet
from spectral_latent.constituency.spans import SpanOptions
from spectral_latent.grammar import GrammarOptions

__all__ = ["ConstituencyOptions", "check_together"]


@dataclass(frozen=True)
class ConstituencyOptions(GrammarOptions):
    """Settings of training and parsing, besides those of all grammars (`GrammarOptions`).

    binarisation: the settings of the conversion of phrases to binary trees.
    features: the set of templates of the features of inside and outside trees.
    span_penalty: the gain of a constituent is its posterior less this number.  A larger number gives trees with fewer
    constituents, and a larger share of them is right.
    rows: the probability that the children of a phrase are drawn one by one, so that any children may occur together;
    see the module `rows`.
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
    its own of all other options, such as those of pruning: they may differ.

    >>> check_together([ConstituencyOptions(), ConstituencyOptions(span_penalty=0.5)])
    Traceback (most recent call last):
    ValueError: the grammars of one parser must have the same span_penalty, not 0.4 and 0.5
    """
    for settings in options:
        checked("options", settings, ConstituencyOptions)
    if not options:
        raise ValueError("the options are empty; a parser needs those of at least one grammar")
    penalties = sorted({settings.span_penalty for settings in options})
    if len(penalties) > 1:
        low, *_, high = penalties
        raise ValueError(f"the grammars of one parser must have the same span_penalty, not {low} and {high}")
    first, *others = list(dict.fromkeys(settings.spans for settings in options))
    if others:
        raise ValueError(f"the grammars of one parser must have the same spans, not {first} and {others[0]}")
    if len({settings.function_labels for settings in options}) > 1:
        raise ValueError("the grammars of one parser must have the same function_labels, not True and False")
