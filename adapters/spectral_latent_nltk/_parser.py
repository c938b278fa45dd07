"""Offer the latent PCFG as a parser of NLTK's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial

from nltk.grammar import PCFG
from nltk.tree import Tree

from spectral_latent._names import AnyPresetName
from spectral_latent.constituency import FALLBACK, Changes, ConstituencyModel, ConstituencyOptions, self_train
from spectral_latent.constituency import preset as options_of_preset
from spectral_latent.corpora import phrase_from_nltk, phrases_from_nltk
from spectral_latent.estimation.progress import shown
from spectral_latent_nltk._adapters import ParserAdapter
from spectral_latent_nltk._grammar import plain_pcfg
from spectral_latent_nltk._making import maker
from spectral_latent_nltk._presets import chosen
from spectral_latent_nltk._tokens import each, tokens_of
from spectral_latent_nltk._trees import ParseTree

__all__ = ["FALLBACK", "SpectralParser"]


class SpectralParser(ParserAdapter[Iterable[str], Tree, ParseTree]):
    """A latent-variable PCFG behind NLTK's `ParserI`; may be shared between threads.

    A sentence is a list of tokens.  A sentence that the grammar cannot derive gets a flat tree labelled `FALLBACK`; an
    empty sentence gets no tree.

    >>> trees = [Tree("S", [Tree("NNS", [noun]), Tree("VBP", [verb])])
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> parser = SpectralParser.train(trees)
    >>> print(parser.parse_one(["mice", "sleep"]).pformat())
    (S (NNS mice) (VBP sleep))
    >>> parser.score(trees[0]) == parser.parse_one(["cats", "bark"]).logprob()
    True
    >>> from spectral_latent.constituency import PhraseConstraints
    >>> print(parser.parse_one(["bark", "bark"], constraints=PhraseConstraints(tags={0: "NNS"})).pformat())
    (S (NNS bark) (VBP bark))
    """

    models = (ConstituencyModel,)
    _tree = staticmethod(phrase_from_nltk)
    _parse = staticmethod(ParseTree.of)

    @maker
    def train(
        cls,
        trees: Iterable[Tree],
        n_states: int | None = None,
        *,
        preset: AnyPresetName | None = None,
        progress: bool | None = None,
        weights: Iterable[float] | None = None,
        text: Iterable[Iterable[str]] | None = None,
        jobs: int | None = 1,
        options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
        changes: Changes | None = None,
    ) -> SpectralParser:
        """Learn from treebank trees: any iterable, read once.  The same trees give the same parser.

        trees: treebank trees, which are cleaned first; `parsed_sents()` of a corpus of NLTK is read as by the command.
        n_states: the largest number of latent states of a symbol; None for those of `preset` or `options`.
        preset: the name of settings that go well together: "fast", the default, "accurate", "best" or
        "spectral"; see `spectral_latent.preset`.
        progress: whether to show the progress of training on standard error; None to show it on a terminal.
        weights: the weight of each tree, a number of at least 0: it counts as this many trees; 1 if not given.
        text: sentences without trees, to learn from as well: lists of tokens, spelt as in the trees.  Training then
        takes several times as long; see `spectral_latent.constituency.self_train`.
        jobs: the number of threads, and of processes that parse while a model of spans is learnt, or with `text`; None
        for all workers of the engine that `joblib.parallel_config` names.  The result does not depend on it.
        options: the settings of one grammar, or of each of several, in the place of a preset.
        changes: the counts to which reading and cleaning add what they change; None to count nothing.

        Raises TypeError or ValueError for an object that is not a treebank tree or a sentence, ValueError for a preset
        that does not exist or is given together with options, and EstimationError, a ValueError, if a tree has no words
        or there is no tree.
        """
        if isinstance(trees, Tree):
            raise TypeError("expected an iterable of trees, got one tree; give [tree]")
        several = [options] if isinstance(options, ConstituencyOptions) else options
        several = chosen(options_of_preset, preset, None if several is None else tuple(several))
        if n_states is not None:
            several = tuple(replace(one, estimator=one.estimator.with_settings(n_states=n_states)) for one in several)
        if isinstance(trees, str | bytes):
            raise TypeError(f"expected an iterable of trees, got {trees!r:.60}")
        phrases = phrases_from_nltk(trees, changes)
        learn = ConstituencyModel.train
        if text is not None:
            learn = partial(self_train, sentences=list(each(text, tokens_of, "sentence")))
        with shown(progress) as listener:
            model = learn(phrases, options=several, weights=weights, jobs=jobs, listener=listener, changes=changes)
        return cls(model)

    def with_subtree_probs(self, tree: Tree) -> ParseTree:
        """Copy a tree, and give each of its subtrees a probability, as parsers of NLTK's do with a plain PCFG.

        `logprob()` of a subtree is log2 of its probability given the label at its top: a mean over all places where a
        phrase with this label may stand.  For an only child, the labels of its chain of parents are given, too.
        `logprob()` of the whole tree is what `score` computes.

        tree: a parse, or another tree without traces.  The copy keeps function labels; probabilities ignore them.

        Raises TypeError or ValueError for an object that is not a tree, and ValueError for a parser whose estimates are
        not probabilities, such as one of the preset "spectral".

        >>> trees = [Tree("S", [Tree("NN", [noun]), Tree("VB", ["bark"])]) for noun in ("dogs", "cats")]
        >>> parser = SpectralParser.train(trees * 500)
        >>> tree = parser.with_subtree_probs(parser.parse_one(["dogs", "bark"]))
        >>> [(subtree.label(), round(subtree.prob(), 1)) for subtree in tree.subtrees()]
        [('S', 0.5), ('NN', 0.5), ('VB', 1.0)]
        """
        phrase = phrase_from_nltk(tree)
        logs = [float(log) / math.log(2) for log in self.model.subtree_log_probabilities(phrase)]
        logs[0] = self.score(tree)
        return ParseTree.with_logprobs(phrase, logs)

    def grammar(self) -> PCFG:
        """Make the plain PCFG at the first call: the rules with their probabilities without latent states.

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

    def _sentences(self, sents: Iterable[Iterable[str]]) -> Iterator[list[str]]:
        return map(tokens_of, sents)
