"""Dependency parses as NLTK's graphs."""

from __future__ import annotations

import math

from nltk.parse import DependencyGraph

from spectral_latent.corpora import sentence_to_nltk
from spectral_latent.dependency import DependencyParse

__all__ = ["ParseGraph"]


class ParseGraph(DependencyGraph):
    """A parse: a `DependencyGraph` with its estimated probability.

    is_fallback: whether the model had no tree for the sentence, and all words hang from the first.
    """

    is_fallback = False
    _logprob = 0.0

    @classmethod
    def of(cls, parse: DependencyParse) -> ParseGraph:
        """Convert a parse to a graph of NLTK's.

        parse: a parse by a model of this library.
        """
        graph = cls()
        graph.__dict__.update(vars(sentence_to_nltk(parse.sentence)))
        graph.is_fallback = parse.is_fallback
        graph._logprob = parse.log / math.log(2)
        return graph

    def logprob(self) -> float:
        """Return log2 |p̂| of the estimated probability of the tree with its words; -inf for a fallback.

        >>> from spectral_latent.dependency import DependencySentence
        >>> tree = DependencySentence.of(["Yes"]).with_heads((0,))
        >>> round(ParseGraph.of(DependencyParse(tree, sign=1, log=math.log(0.25))).logprob(), 6)
        -2.0
        """
        return self._logprob
