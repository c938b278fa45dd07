"""The latent PCFG as a parser of NLTK's."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from nltk.grammar import PCFG
from nltk.parse.api import ParserI
from nltk.tree import Tree

from spectral_latent.constituency import FALLBACK, ConstituencyModel, ConstituencyOptions, Phrase, PresetName
from spectral_latent.constituency import preset as options_of_preset
from spectral_latent.corpora import phrase_from_nltk
from spectral_latent.reranking import Reranker
from spectral_latent_nltk._grammar import plain_pcfg
from spectral_latent_nltk._making import check_model, maker
from spectral_latent_nltk._tokens import text_of, texts_of, tokens_of, words_of
from spectral_latent_nltk._trees import ParseTree

__all__ = ["FALLBACK", "SpectralParser"]


class SpectralParser(ParserI):
    """A latent-variable PCFG behind NLTK's `ParserI`; may be shared between threads.

    A sentence is a list of tokens.  One that has tokens gets at least one tree over exactly these: where the grammar
    has none, a flat tree labelled `FALLBACK`.  An empty sentence gets none: an empty iterator, or None from
    `parse_one`.

    >>> trees = [Tree("S", [Tree("NNS", [noun]), Tree("VBP", [verb])])
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> parser = SpectralParser.train(trees)
    >>> print(parser.parse_one(["mice", "sleep"]).pformat())
    (S (NNS mice) (VBP sleep))
    """

    def __init__(self, model: ConstituencyModel) -> None:
        check_model(self, model, ConstituencyModel)
        self.model = model

    @maker
    def train(
        cls,
        trees: Iterable[Tree],
        n_states: int | None = None,
        *,
        preset: PresetName | None = None,
        jobs: int | None = 1,
        options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
    ) -> SpectralParser:
        """Learn from treebank trees: any iterable, read once.  The same trees give the same parser.

        n_states: the most latent states of a symbol; 16 if `preset` and `options` do not say otherwise.
        preset: the name of settings that go well together, "fast" or "accurate"; see `spectral_latent.preset`.
        jobs: threads; None for as many workers as the engine has that `joblib.parallel_config` names.  The result does
        not depend on it.
        options: the settings of one grammar, or of each of several, in the place of a preset.

        Raises TypeError or ValueError for what is not a treebank tree, ValueError for a preset that does not exist or
        is given together with options, and EstimationError, a ValueError, if a tree has no words or there is no tree.
        """
        if isinstance(trees, Tree):
            raise TypeError("expected an iterable of trees, got one tree; give [tree]")
        if preset is not None:
            if options is not None:
                raise ValueError(f"preset={preset!r} gives the options; leave one of both out")
            options = options_of_preset(preset)
        options = ConstituencyOptions() if options is None else options
        several = [options] if isinstance(options, ConstituencyOptions) else list(options)
        if n_states is not None:
            several = [replace(one, estimator=replace(one.estimator, n_states=n_states)) for one in several]
        return cls(ConstituencyModel.train(_phrases(trees), several, jobs=jobs))

    def parse(self, sent: Iterable[str], n_best: int = 1, rerank: Reranker | None = None) -> Iterator[ParseTree]:
        """Find up to `n_best` different trees of a tokenised sentence, the best first.

        The best has the largest expected number of right constituents, so that log probabilities need not fall from
        tree to tree.  `parse_one`, `parse_all` and `parse_sents` take `n_best` and `rerank` too.

        sent: tokens.
        n_best: the most trees to find.
        rerank: a reranker, by whose order the trees are the best of 50; None for the parser's own order.

        Raises TypeError for a sentence that is not made of strings, and ValueError for n_best < 1.
        """
        return next(self.parse_sents([sent], n_best, rerank))

    def parse_sents(
        self, sents: Iterable[Iterable[str]], n_best: int = 1, rerank: Reranker | None = None, *, jobs: int | None = 1
    ) -> Iterator[Iterator[ParseTree]]:
        """Find the trees of each sentence, in order, as `parse` does.

        sents: sentences; any iterable, read as results are asked for.
        n_best: the most trees of a sentence.
        rerank: a reranker, as in `parse`.
        jobs: processes; see `spectral_latent.grammar.batches.map_sentences`.
        """
        sentences = map(tokens_of, sents)
        if rerank is None:
            parses_of_each = self.model.parse_all(sentences, n_best, jobs=jobs)
        else:
            parses_of_each = rerank.parse_all(self.model, sentences, n_best, jobs=jobs)
        return (map(ParseTree.of, parses) for parses in parses_of_each)

    def raw_parse(self, sentence: str, n_best: int = 1, rerank: Reranker | None = None) -> Iterator[ParseTree]:
        """Find up to `n_best` trees of a sentence of raw text, as NLTK's CoreNLPParser does.

        sentence: the text of one sentence, which the model's `tokenisation` divides into words.
        n_best: the largest number of trees.
        rerank: a reranker that orders them; see `parse`.
        """
        return next(self.raw_parse_sents([sentence], n_best, rerank))

    def raw_parse_sents(
        self, sentences: Iterable[str], n_best: int = 1, rerank: Reranker | None = None, *, jobs: int | None = 1
    ) -> Iterator[Iterator[ParseTree]]:
        """Find the trees of each sentence of raw text, in order, as `raw_parse` does.

        sentences: the text of each sentence.
        n_best: the largest number of trees of each.
        rerank: a reranker that orders them; see `parse`.
        jobs: the number of processes; see `spectral_latent.grammar.batches.map_sentences`.
        """
        words = (words_of(self.model.tokenisation, sentence) for sentence in texts_of(sentences))
        return self.parse_sents(words, n_best, rerank, jobs=jobs)

    def parse_text(self, text: str, *, jobs: int | None = 1) -> Iterator[ParseTree]:
        """Find the best tree of each sentence of a raw text, in order, as NLTK's CoreNLPParser does.

        text: the text, which the model's `tokenisation` divides into sentences and words.
        jobs: the number of processes; see `spectral_latent.grammar.batches.map_sentences`.
        """
        sentences = self.model.tokenisation.sentences(text_of(text))
        words = ([token.word for token in tokens] for tokens in sentences)
        return (next(parses) for parses in self.parse_sents(words, jobs=jobs))

    def grammar(self) -> PCFG:
        """Make the rules with the probabilities that they have without latent states, at the first call.

        >>> parser = SpectralParser.train([Tree("S", [Tree("NN", ["rain"]), Tree("VBZ", ["falls"])])])
        >>> for production in parser.grammar().productions()[2:4]:
        ...     print(production)
        ROOT -> S [0.939394]
        S -> NN VBZ [1.0]
        """
        return self._grammar

    @cached_property
    def _grammar(self) -> PCFG:
        return plain_pcfg(self.model)

    def score(self, tree: Tree) -> float:
        """Compute log2 |p̂| of the estimated probability of a tree with its words, as `logprob` of a parse.

        A tree with a rule never seen has probability 0: -inf.

        tree: a treebank tree.

        Raises TypeError or ValueError for what is not a treebank tree, and EstimationError, a ValueError, if it has no
        words.

        >>> tree = Tree("S", [Tree("NN", ["rain"]), Tree("VBZ", ["falls"])])
        >>> parser = SpectralParser.train([tree])
        >>> parser.score(tree) == parser.parse_one(["rain", "falls"]).logprob()
        True
        """
        (log,) = self.model.score([phrase_from_nltk(tree)]).log
        return float(log) / math.log(2)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parser to one file, whole or not at all.

        path: the file.
        """
        self.model.save(path)

    @maker
    def load(cls, path: str | os.PathLike[str]) -> SpectralParser:
        """Read a parser.

        path: the file.

        Raises ModelFileError, a ValueError, for a file that is not a whole model of this kind.
        """
        return cls(ConstituencyModel.load(path))

    def __repr__(self) -> str:
        return f"<SpectralParser: {self.model.sizes}>"


def _phrases(trees: Iterable[Tree]) -> Iterator[Phrase]:
    """Convert trees to phrases; an error says which tree is wrong."""
    for number, tree in enumerate(trees, start=1):
        try:
            yield phrase_from_nltk(tree)
        except (TypeError, ValueError) as error:
            raise type(error)(f"tree {number}: {error}") from None
