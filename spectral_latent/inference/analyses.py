"""Decode the analyses that an input may have, which a formalism gives as one forest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from spectral_latent.inference.decoding import Derivations, n_best_derivations
from spectral_latent.trees import FloatArray, Forest

__all__ = ["Analyses", "best_analyses"]

Analysis = TypeVar("Analysis")
AnalysisOut = TypeVar("AnalysisOut", covariant=True)


class Analyses(Protocol[AnalysisOut]):
    """The analyses of one input: a forest in which each has one derivation.

    A formalism answers two questions here: which forest a bare input has, and which objects derivations stand for.
    """

    @property
    def forest(self) -> Forest:
        """The forest, of E edges."""

    @property
    def weight(self) -> FloatArray:
        """The weight that each edge adds to the score of an analysis, (E,)."""

    def analyses(self, derivations: Derivations) -> Sequence[AnalysisOut]:
        """Make the analysis that each derivation stands for.

        derivations: derivations of `forest`.
        """


def best_analyses(analyses: Analyses[Analysis], n_best: int) -> list[Analysis]:
    """Find up to `n_best` different analyses of an input, by falling sum of their edges' weights.

    analyses: all that the input may have; if the forest derives nothing, none is found.
    n_best: how many, at least 1.

    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Choice:
    ...     forest: Forest
    ...     weight: FloatArray
    ...     def analyses(self, derivations): return ["ab"[derivation.edges[0]] for derivation in derivations]
    >>> none = np.array([-1, -1])
    >>> forest = Forest(np.array([0]), np.array([0, 2]), np.array([0, 1]), none, none, np.array([0]), np.array([0]))
    >>> best_analyses(Choice(forest, np.array([0.2, 0.8])), 2)
    ['b', 'a']
    """
    return list(analyses.analyses(n_best_derivations(analyses.forest, analyses.weight, n_best)))
