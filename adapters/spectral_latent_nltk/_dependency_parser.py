"""Offer the latent dependency grammar as a parser of NLTK's, and its parses as graphs."""

from __future__ import annotations

import copy
import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nltk.parse import DependencyGraph

from spectral_latent.dependency import DependencyModel, DependencyOptions, DependencySentence, PresetName
from spectral_latent.dependency import preset as options_of_preset
from spectral_latent.estimation import shown
from spectral_latent.model import Parse
from spectral_latent_nltk._adapters import ParserAdapter, choose_options, tokens_of
from spectral_latent_nltk._trees import sentence_from_nltk, sentence_to_nltk


class ParseGraph(DependencyGraph):
    """A parse: a `DependencyGraph` with its estimated probability.

    is_fallback: whether the model had no tree for the sentence; all words then depend on the first word."""

    is_fallback = False
    _logprob = 0.0

    @classmethod
    def of(cls, parse: Parse[DependencySentence]) -> ParseGraph:
        """Convert a parse to a graph of NLTK's."""
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


_NAMED = 5  # tags that a warning names

_Words = Iterable[str] | Iterable[tuple[str, str | None]]


class SpectralDependencyParser(ParserAdapter[_Words | DependencyGraph, DependencyGraph, ParseGraph]):
    """A latent dependency grammar behind NLTK's `ParserI`; may be shared between threads.

    A sentence is a list of tokens, a list of pairs of a token and its tag, or a `DependencyGraph`, whose heads and
    relations are not used.  Parses are projective graphs; `score` also takes graphs with crossing arcs.  A sentence
    that the grammar cannot derive gets a flat graph, whose `is_fallback` is true; an empty sentence gets no graph.

    A token without a tag may have any tag, and gets the likeliest one.  A token with an unknown tag is parsed as if it
    had none, but keeps its tag.  Log probabilities are those of words and tags: -inf for an unknown tag.

    >>> graphs = [DependencyGraph(f"big JJ 2\\n{noun} NNS 3\\n{verb} VBP 0")
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> parser = SpectralDependencyParser.train(graphs)
    >>> print(parser.parse_one(["big", "mice", "sleep"]).tree())
    (sleep (mice big))
    >>> print(parser.parse_one([("big", "JJ"), ("mice", "NNS"), ("squeak", "VBP")]).to_conll(4), end="")
    big	JJ	2
    mice	NNS	3
    squeak	VBP	0
    >>> parser.score(graphs[0]) == parser.parse_one(graphs[0]).logprob()
    True
    >>> from spectral_latent.dependency import DependencyConstraints
    >>> print(parser.parse_one(["big", "mice", "sleep"], constraints=DependencyConstraints({1: 3})).tree())
    (sleep big mice)
    """

    models = (DependencyModel,)
    _tree = staticmethod(sentence_from_nltk)
    _parse = staticmethod(ParseGraph.of)

    @classmethod
    def train(
        cls,
        graphs: Iterable[DependencyGraph],
        n_states: int | None = None,
        *,
        preset: PresetName | None = None,
        progress: bool | None = None,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
        options: DependencyOptions | Sequence[DependencyOptions] | None = None,
    ) -> SpectralDependencyParser:
        """Learn from dependency graphs, with the preset `fast` if none is given.  The same graphs give the same parser.

        The tag of a node is its `ctag`, or its `tag` if it has no `ctag`; `options` may choose another column.  A node
        without a tag in this column gets the tag in the other column, or X, and a warning counts these nodes.

        graphs: trees with one root, projective or not; any iterable, read once.

        Raises TypeError or ValueError for an object that is not a dependency graph, ValueError for a preset that does
        not exist or is given together with options, and EstimationError, a ValueError, if a graph is not a tree with
        one root, or if there is no graph."""
        if isinstance(graphs, DependencyGraph):
            raise TypeError("expected an iterable of graphs, got one graph; give [graph]")
        chosen = choose_options(options_of_preset, preset, options, n_states)
        sentences = _sentences_of(graphs)
        with shown(progress) as listener:
            return cls(DependencyModel.train(sentences, chosen, weights=weights, jobs=jobs, listener=listener))

    def _sentences(self, sents: Iterable[_Words | DependencyGraph]) -> Iterator[DependencySentence]:
        """Convert sentences to those of the model, with a warning for each tag that the parser does not know."""
        warned: set[str] = set()
        for sentence in map(_bare, sents):
            unknown = sorted({*self.model.unknown_tags(sentence)} - warned)
            if unknown:
                warned.update(unknown)
                warnings.warn(
                    f"the parser does not know the tags {unknown}, and does not use them; its own are "
                    f"{', '.join(self.model.tags[:_NAMED])} and the like",
                    stacklevel=2,
                )
            yield sentence


def _sentences_of(graphs: Iterable[DependencyGraph]) -> Iterator[DependencySentence]:
    """Convert graphs one by one; errors name the number of the graph."""
    for number, graph in enumerate(graphs, start=1):
        try:
            yield sentence_from_nltk(graph)
        except (TypeError, ValueError) as error:
            raise type(error)(f"graph {number}: {error}") from None


def _bare(sent: _Words | DependencyGraph) -> DependencySentence:
    """Convert words, tagged words or a graph to a sentence without heads."""
    if isinstance(sent, DependencyGraph):
        return sentence_from_nltk(sent).without_tree()
    tokens: Any = sent if isinstance(sent, str | bytes) else list(sent)
    if not tokens or isinstance(tokens, str) or isinstance(tokens[0], str):
        return DependencySentence.of(tokens_of(tokens))
    words: list[str] = []
    tags: list[str] = []
    for pair in tokens:
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[1], str | None)):
            raise TypeError(f"expected pairs of a word and its tag, a string or None, got {pair!r:.60}")
        words.append(pair[0])
        tags.append(pair[1] or "_")
    return DependencySentence.of(words, tags)
