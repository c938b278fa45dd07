"""Convert dependency parses to NLTK's graphs."""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from nltk.parse import DependencyGraph

from spectral_latent.corpora import sentence_from_nltk, sentence_to_nltk
from spectral_latent.dependency import DependencySentence
from spectral_latent.model import Parse

__all__ = ["ParseGraph"]


class ParseGraph(DependencyGraph):
    """A parse: a `DependencyGraph` with its estimated probability.

    is_fallback: whether the model had no tree for the sentence; all words then depend on the first word.
    """

    is_fallback = False
    _logprob = 0.0

    @classmethod
    def of(cls, parse: Parse[DependencySentence]) -> ParseGraph:
        """Convert a parse to a graph of NLTK's.

        parse: a parse by a model of this library.
        """
        graph = cls()
        graph.__dict__.update(vars(sentence_to_nltk(parse.tree)))
        graph.is_fallback = parse.is_fallback
        graph._logprob = parse.log / math.log(2)
        return graph

    def _repr_svg_(self) -> str | None:
        """Draw the arcs, for notebooks; NLTK's graphs need Graphviz for that."""
        return sentence_from_nltk(self)._repr_svg_()

    def __getstate__(self) -> dict[str, Any]:
        """Return all attributes, for copies and pickles: nodes as plain dicts, and for the root its address."""
        nodes = {address: {**node, "deps": dict(node["deps"])} for address, node in self.nodes.items()}
        root = None if self.root is None else self.root["address"]
        return {**vars(self), "nodes": nodes, "root": root}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """Restore what `__getstate__` returned."""
        self.__dict__.update(vars(DependencyGraph()))
        nodes = self.nodes
        for address, node in state["nodes"].items():
            nodes[address].update({**node, "deps": defaultdict(list, copy.deepcopy(node["deps"]))})
        root = None if state["root"] is None else nodes[state["root"]]
        self.__dict__.update({**state, "nodes": nodes, "root": root})

    def __eq__(self, other: object) -> bool:
        """Tell whether two parses have the same words, annotation, arcs and probability."""
        return isinstance(other, ParseGraph) and self.__getstate__() == other.__getstate__()

    __hash__ = None  # type: ignore[assignment]  # as NLTK's trees, a graph may be changed

    def logprob(self) -> float:
        """Return log2 |p̂| of the estimated probability of the tree with its words; -inf for a fallback.

        >>> tree = DependencySentence.of(["Yes"]).with_heads((0,))
        >>> round(ParseGraph.of(Parse(tree, sign=1, log=math.log(0.25))).logprob(), 6)
        -2.0
        """
        return self._logprob
