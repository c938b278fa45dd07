"""Parse phrases with one latent PCFG, or with the averaged posteriors of several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from spectral_latent.constituency.cleaning import Changes, cleaned, without_functions
from spectral_latent.constituency.constituents import Constituent
from spectral_latent.constituency.constraints import unknown_phrase
from spectral_latent.constituency.functions import FunctionLabeller
from spectral_latent.constituency.grammar import PhraseGrammar
from spectral_latent.constituency.options import ConstituencyOptions, check_together
from spectral_latent.constituency.parsing import PhraseParser, by_words
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.constituency.presets import preset
from spectral_latent.constituency.spans import SpanExamples, SpanModel, SpanOptions
from spectral_latent.constituency.subtrees import SubtreeGrammar
from spectral_latent.constituency.training import train_parser
from spectral_latent.estimation import Listener, silent
from spectral_latent.grammar import Limits
from spectral_latent.inference import SignedLog
from spectral_latent.model import (
    check_kind,
    check_trees,
)
from spectral_latent.model.batches import batches_of, map_batches
from spectral_latent.trees import FloatArray

__all__ = ["ConstituencyModel"]


@dataclass(frozen=True, eq=False, repr=False)
class ConstituencyModel(PhraseParser):
    """A parser made of one or more latent PCFGs, whose posteriors of constituents are averaged.

    members: the grammars; all have the same `span_penalty`, `spans` and `function_labels`; others may differ.
    spans: the model that weighs the constituents that the grammars find, if their options ask for one; otherwise None,
    for their posteriors as they are.
    functions: the labeller that adds function labels to trees; None for trees without function labels.  Probabilities
    and posteriors are those of trees without function labels.

    `score` cleans trees as training does.  A phrase may have any children, but children that rules allow are likelier;
    see `rows`.  A tree has p̂ = 0 if a label or a chain of labels was never seen, or if a frequent word never had its
    tag.  `log_probabilities` is a lower bound: it sums over the derivations in pruned charts, which lack the rules of
    `rows`; it is -inf if some word must have a tag that it never had.  A word that was never seen is replaced by its
    signature, with the probabilities of tags that follow from its spelling.

    >>> def leaf(tag, word): return Phrase(tag, (word,))
    >>> trees = [Phrase("S", (leaf("NNS", noun), leaf("VBP", verb)))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = ConstituencyModel.train(trees)
    >>> print(model.parse(["mice", "sleep"]).tree.bracketed())
    (S (NNS mice) (VBP sleep))
    """

    kind: ClassVar[str] = "constituency"

    @property
    def sizes(self) -> str:
        """The number of grammars, and the sizes of the first one."""
        labeller = "" if self.functions is None else f"; of function labels: {self.functions.grammar.sizes}"
        return f"{super().sizes}{labeller}"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_together([member.options for member in self.members])
        if (self.spans is None) != (self.options.spans is None):
            raise ValueError("a parser has a model of spans if its options have `spans`, and only then")
        labelling = () if self.functions is None else (self.functions.grammar,)
        if self.options.function_labels or not all(grammar.options.function_labels for grammar in labelling):
            raise ValueError("one grammar labels functions, and no grammar that parses does")

    @staticmethod
    def train(
        phrases: Iterable[Phrase],
        options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
        *,
        weights: Iterable[float] | None = None,
        spans: SpanModel | None = None,
        jobs: int | None = 1,
        listener: Listener = silent,
        changes: Changes | None = None,
    ) -> ConstituencyModel:
        """Learn from treebank trees.

        A large treebank is kept in temporary files, which all workers must be able to read.

        phrases: the trees, which are read once and cleaned first; to learn a model of spans they are kept in memory.
        options: the options of one grammar, or of each of several with the same `span_penalty`, `spans` and
        `function_labels`; None for those of the preset `fast` (see `presets`).  Function labels are learnt by one more
        grammar, with the first options.
        weights: the weight of each tree, at least 0: it counts as so many trees; 1 if not given.
        spans: the model of spans of another parser, in place of the one that `options` ask for; None to learn that one.
        jobs: the number of threads, and of processes that parse where a model of spans is learnt; None for all workers
        of the engine that `joblib.parallel_config` names.  If it names a cluster, such as Dask, the cluster takes part
        for any number.  The result does not depend on it.
        listener: told how far the work is.
        changes: the counts to which the cleaning adds what it removes and cuts; None to count nothing.
        Raises EstimationError if a tree has no word, or there is no tree; ValueError if there are no options, or if the
        span penalties, the models of spans or the `function_labels` of several grammars differ.
        """
        options = preset("fast") if options is None else options
        several = list(options) if isinstance(options, Iterable) else [options]
        find = partial(_span_examples, jobs=jobs)
        return ConstituencyModel(
            *train_parser(
                phrases,
                several,
                find,
                weights=weights,
                spans=spans,
                jobs=jobs,
                listener=listener,
                changes=changes,
            )
        )

    def with_limits(self, limits: Limits) -> ConstituencyModel:
        """Replace the limits of the cost of a sentence under each grammar.

        limits: the new limits.
        """
        functions = self.functions and FunctionLabeller(self.functions.grammar.with_limits(limits))
        return replace(super().with_limits(limits), functions=functions)

    def posteriors(self, words: Sequence[str]) -> dict[Constituent, float]:
        """Compute the posterior of each labelled constituent that a sentence may have, tags included.

        Posteriors have the signs that the options ask for.  There are no constituents if no grammar derives the
        sentence.  A model of spans replaces the posteriors by its judgements, after they were made to agree
        (`agreement`); the judgements of the tags of a word need not sum to 1.

        Raises ValueError if there is no word.
        """
        charts = self.charts([unknown_phrase(words)])
        parts = self.found(charts, words).labelled
        return dict(zip(parts.named(self.labels.names), parts.posterior.tolist(), strict=True))

    def part_posteriors(self, trees: Iterable[Phrase]) -> list[FloatArray]:
        """Compute the posteriors of the labelled constituents of trees, tags included: one array for each tree.

        trees: several trees of one sentence, which are cleaned as in `score`.  If cleaning leaves different words, the
        posteriors of a tree are computed from its own words.
        Raises EstimationError if a tree has no word.
        """
        batches = batches_of(by_words(cleaned(check_trees(trees, Phrase))))
        return [row for batch in batches for row in self.score_with_parts(batch)[1]]

    @cached_property
    def _subtree_grammars(self) -> list[SubtreeGrammar]:
        return [SubtreeGrammar.of(member) for member in self.members]

    def subtree_log_probabilities(self, tree: Phrase) -> FloatArray:
        """Compute the natural logarithms (n,) of the probabilities of the n subtrees of a tree, each given its label.

        The probability is a mean over all contexts of a phrase with this label, and over the grammars; see `subtrees`.
        There is a subtree for each phrase of `tree.nodes()`, in the same order.

        tree: a tree without traces, such as the tree of a parse; function labels are left out.
        Raises ValueError for a model whose estimates are not probabilities.

        >>> trees = [Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", ("bark",)))) for noun in ("dogs", "cats")]
        >>> model = ConstituencyModel.train(trees * 500)
        >>> np.exp(model.subtree_log_probabilities(trees[0])).round(1)
        array([0.5, 0.5, 1. ])
        """
        check_kind(tree, Phrase)
        plain = without_functions(tree)
        return np.asarray(SignedLog.mean([grammar.weights(plain) for grammar in self._subtree_grammars]).log)

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model: its labels, its tags, and the options and the objective of each grammar."""
        tags = self.members[0].tags
        labels = {label for chain in self.members[0].chains for label in chain} - {*tags}
        facts: dict[str, Any] = {"labels": sorted(labels), "tags": sorted(tags)}
        if self.functions is not None:
            facts["function_labels"] = self.functions.names
        facts["options"] = [member.options.table() for member in self.members]
        objectives = [[round(value, 2) for value in member.objective] for member in self.members]
        if any(objectives):
            facts["objective"] = objectives
        return super().description | facts


def _span_examples(
    members: tuple[PhraseGrammar, ...], trees: Iterable[Phrase], options: SpanOptions, *, jobs: int | None
) -> Iterator[SpanExamples]:
    """List the constituents that grammars find in the sentence of each cleaned tree."""
    return map_batches(_examples_of, ConstituencyModel(members), trees, jobs, options)


def _examples_of(model: ConstituencyModel, trees: Sequence[Phrase], options: SpanOptions) -> list[SpanExamples]:
    """List the constituents that the grammars of a model find in the sentence of each cleaned tree."""
    return model.span_examples(trees, options)
