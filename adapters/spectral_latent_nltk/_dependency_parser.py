"""The latent dependency grammar as a parser of NLTK's."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from nltk.parse import DependencyGraph
from nltk.parse.api import ParserI

from spectral_latent.corpora import sentence_from_nltk
from spectral_latent.dependency import DependencyModel, DependencyOptions, DependencySentence
from spectral_latent.reranking import Reranker
from spectral_latent_nltk._graphs import ParseGraph
from spectral_latent_nltk._making import check_model, maker
from spectral_latent_nltk._tokens import pairs_of, text_of, texts_of, tokens_of, words_of

__all__ = ["SpectralDependencyParser"]

_NAMED = 5  # tags that a warning names

_Words = Iterable[str] | Iterable[tuple[str, str | None]]


class SpectralDependencyParser(ParserI):
    """A latent dependency grammar behind NLTK's `ParserI`; may be shared between threads.

    A sentence is a list of tokens, a list of pairs of a token and its tag, or a `DependencyGraph`, the heads and
    relations of which are not looked at.  One that has tokens gets at least one graph over exactly these: where the
    grammar has none, a flat one, of which `is_fallback` is true.  An empty sentence gets none: an empty iterator, or
    None from `parse_one`.

    >>> graphs = [DependencyGraph(f"big JJ 2\\n{noun} NNS 3\\n{verb} VBP 0")
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> parser = SpectralDependencyParser.train(graphs)
    >>> print(parser.parse_one(["big", "mice", "sleep"]).tree())
    (sleep (mice big))
    >>> print(parser.parse_one([("big", "JJ"), ("mice", "NNS"), ("squeak", "VBP")]).to_conll(4), end="")
    big	JJ	2
    mice	NNS	3
    squeak	VBP	0
    """

    def __init__(self, model: DependencyModel) -> None:
        check_model(self, model, DependencyModel)
        self.model = model

    @maker
    def train(
        cls,
        graphs: Iterable[DependencyGraph],
        n_states: int | None = None,
        *,
        jobs: int | None = 1,
        options: DependencyOptions | None = None,
    ) -> SpectralDependencyParser:
        """Learn from dependency graphs, projective or not.  The same graphs give the same parser.

        The tags are those of the nodes' `ctag`, or `tag` if they have none; `options` choose another column.  A node
        without a tag there gets that of the other column, or X, and a warning counts these nodes.

        graphs: trees with one root; any iterable, read once.
        n_states: the most latent states of a symbol; 16 if `options` do not say otherwise.
        jobs: threads; None for as many workers as the engine has that `joblib.parallel_config` names.  The result does
        not depend on it.
        options: the other settings.

        Raises TypeError or ValueError for what is not a dependency graph, and EstimationError, a ValueError, if a
        graph is not a tree with one root, or if there is no graph.
        """
        if isinstance(graphs, DependencyGraph):
            raise TypeError("expected an iterable of graphs, got one graph; give [graph]")
        options = options or DependencyOptions()
        if n_states is not None:
            options = replace(options, estimator=replace(options.estimator, n_states=n_states))
        return cls(DependencyModel.train(_sentences(graphs), options, jobs=jobs))

    def parse(
        self, sent: _Words | DependencyGraph, n_best: int = 1, rerank: Reranker | None = None
    ) -> Iterator[ParseGraph]:
        """Find up to `n_best` different projective graphs of a sentence, the best first.

        The best has the largest expected number of right heads, so that log probabilities need not fall from graph to
        graph.  Tokens without a tag, or with one that the parser does not know, may have any; the first get the
        likeliest one.  Log probabilities are those of words and tags, -inf where a tag is not known.  `parse_one`,
        `parse_all` and `parse_sents` take `n_best` and `rerank` too.

        sent: words, pairs of a word and its tag, or a graph.
        n_best: the most graphs to find.
        rerank: a reranker, by whose order the graphs are the best of 50; None for the parser's own order.

        Raises TypeError for a sentence that is neither of strings nor of pairs, and ValueError for n_best < 1.
        """
        return next(self.parse_sents([sent], n_best, rerank))

    def parse_sents(
        self,
        sents: Iterable[_Words | DependencyGraph],
        n_best: int = 1,
        rerank: Reranker | None = None,
        *,
        jobs: int | None = 1,
    ) -> Iterator[Iterator[ParseGraph]]:
        """Find the graphs of each sentence, in order, as `parse` does.

        sents: sentences; any iterable, read as results are asked for.
        n_best: the most graphs of a sentence.
        rerank: a reranker, as in `parse`.
        jobs: processes; see `spectral_latent.grammar.batches.map_sentences`.

        Warns of each tag that the parser does not know, once.
        """
        sentences = self._checked(map(_bare, sents))
        if rerank is None:
            parses_of_each = self.model.parse_all(sentences, n_best, jobs=jobs)
        else:
            parses_of_each = rerank.parse_all(self.model, sentences, n_best, jobs=jobs)
        return (map(ParseGraph.of, parses) for parses in parses_of_each)

    def _checked(self, sentences: Iterable[DependencySentence]) -> Iterator[DependencySentence]:
        """Give sentences on, with a warning for each tag that the parser does not know."""
        warned: set[str] = set()
        for sentence in sentences:
            unknown = sorted({*self.model.unknown_tags(sentence)} - warned)
            if unknown:
                warned.update(unknown)
                warnings.warn(
                    f"the parser does not know the tags {unknown}, and does not use them; its own are "
                    f"{', '.join(self.model.grammar.tags[:_NAMED])} and the like",
                    stacklevel=2,
                )
            yield sentence

    def tagged_parse(
        self, sentence: _Words | DependencyGraph, n_best: int = 1, rerank: Reranker | None = None
    ) -> Iterator[ParseGraph]:
        """Call `parse`, by the name that NLTK's Stanford parsers have for sentences with tags."""
        return self.parse(sentence, n_best, rerank)

    def tagged_parse_sents(
        self, sentences: Iterable[_Words | DependencyGraph], n_best: int = 1, rerank: Reranker | None = None
    ) -> Iterator[Iterator[ParseGraph]]:
        """Call `parse_sents`, by the name that NLTK's Stanford parsers have for sentences with tags."""
        return self.parse_sents(sentences, n_best, rerank)

    def parse_tagged_sents(
        self, sentences: Iterable[_Words | DependencyGraph], n_best: int = 1, rerank: Reranker | None = None
    ) -> Iterator[Iterator[ParseGraph]]:
        """Call `parse_sents`, by the name that NLTK's MaltParser has for sentences with tags."""
        return self.tagged_parse_sents(sentences, n_best, rerank)

    def raw_parse(self, sentence: str, n_best: int = 1, rerank: Reranker | None = None) -> Iterator[ParseGraph]:
        """Find up to `n_best` graphs of a sentence of raw text, as NLTK's CoreNLPParser does.

        sentence: the text of one sentence, which the model's `tokenisation` divides into words.
        n_best: the largest number of graphs.
        rerank: a reranker that orders them; see `parse`.
        """
        return next(self.raw_parse_sents([sentence], n_best, rerank))

    def raw_parse_sents(
        self, sentences: Iterable[str], n_best: int = 1, rerank: Reranker | None = None, *, jobs: int | None = 1
    ) -> Iterator[Iterator[ParseGraph]]:
        """Find the graphs of each sentence of raw text, in order, as `raw_parse` does.

        sentences: the text of each sentence.
        n_best: the largest number of graphs of each.
        rerank: a reranker that orders them; see `parse`.
        jobs: the number of processes; see `spectral_latent.grammar.batches.map_sentences`.
        """
        words = (words_of(self.model.tokenisation, sentence) for sentence in texts_of(sentences))
        return self.parse_sents(words, n_best, rerank, jobs=jobs)

    def parse_text(self, text: str, *, jobs: int | None = 1) -> Iterator[ParseGraph]:
        """Find the best graph of each sentence of a raw text, in order, as NLTK's CoreNLPParser does.

        text: the text, which the model's `tokenisation` divides into sentences and words.
        jobs: the number of processes; see `spectral_latent.grammar.batches.map_sentences`.
        """
        sentences = self.model.tokenisation.sentences(text_of(text))
        words = ([token.word for token in tokens] for tokens in sentences)
        return (next(parses) for parses in self.parse_sents(words, jobs=jobs))

    def score(self, graph: DependencyGraph) -> float:
        """Compute log2 |p̂| of the estimated probability of a graph, projective or not, with its words.

        A parse has it as `logprob`.  A graph with a tag never seen has probability 0: -inf.

        graph: a tree with one root.

        Raises TypeError or ValueError for what is not a dependency graph, and EstimationError, a ValueError, if it is
        not a tree with one root.

        >>> graph = DependencyGraph("Dogs NNS 2\\nbark VBP 0")
        >>> parser = SpectralDependencyParser.train([graph])
        >>> parser.score(graph) == parser.parse_one(graph).logprob()
        True
        """
        (log,) = self.model.score([sentence_from_nltk(graph)]).log
        return float(log) / math.log(2)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parser to one file, whole or not at all.

        path: the file.
        """
        self.model.save(path)

    @maker
    def load(cls, path: str | os.PathLike[str]) -> SpectralDependencyParser:
        """Read a parser.

        path: the file.

        Raises ModelFileError, a ValueError, for a file that is not a whole model of this kind.
        """
        return cls(DependencyModel.load(path))

    def __repr__(self) -> str:
        return f"<SpectralDependencyParser: {self.model.sizes}>"


def _sentences(graphs: Iterable[DependencyGraph]) -> Iterator[DependencySentence]:
    """Convert graphs to sentences; an error says which graph is wrong."""
    for number, graph in enumerate(graphs, start=1):
        try:
            yield sentence_from_nltk(graph)
        except (TypeError, ValueError) as error:
            raise type(error)(f"graph {number}: {error}") from None


def _bare(sent: Any) -> DependencySentence:
    """Convert words, tagged words or a graph to a sentence without heads.

    >>> _bare([("It", "PRP"), ("rains", None)]).xpos, _bare(["It", "rains"]).xpos
    (('PRP', '_'), ('_', '_'))
    """
    if isinstance(sent, DependencyGraph):
        return sentence_from_nltk(sent).without_tree()
    tokens: Any = sent if isinstance(sent, str | bytes) else list(sent)
    if not tokens or isinstance(tokens, str) or isinstance(tokens[0], str):
        return DependencySentence.of(tokens_of(tokens))
    words: list[str] = []
    tags: list[str] = []
    for word, tag in pairs_of(tokens):
        if not isinstance(tag, str | None):
            raise TypeError(f"expected a tag that is a string, or None, for {word!r:.60}, got {tag!r:.60}")
        words.append(word)
        tags.append(tag or "_")
    return DependencySentence.of(words, tags)
