"""Hold a latent dependency grammar: the meaning of its symbols, and its operators over words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Annotated

import numpy as np

from spectral_latent.dependency.constraints import ANY_TREE, DependencyConstraints, PartialDependencies
from spectral_latent.dependency.conversion import HeadSymbol, heads_are_right, skeletal_trees
from spectral_latent.dependency.decoding import ArcMarginals, arc_marginals
from spectral_latent.dependency.floors import floored_weights
from spectral_latent.dependency.forests import headed
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.dependency.sentence import DependencySentence
from spectral_latent.files import Distinct
from spectral_latent.grammar import Charts, LatentGrammar, SentenceGrammar
from spectral_latent.inference import SignedLog, mean_inside_vectors, tree_weights
from spectral_latent.model.latent_tree import WeighedForest
from spectral_latent.trees import BoolArray, FloatArray, IntArray, SkeletalTrees, Vocabulary

__all__ = ["DependencyGrammar"]


@dataclass(frozen=True, eq=False, repr=False)
class DependencyGrammar(
    LatentGrammar[HeadSymbol, DependencyOptions, DependencySentence, DependencyConstraints, DependencySentence]
):
    """A latent grammar of dependency trees, whose symbols are heads with the side of the child above them."""

    options: DependencyOptions
    symbols: Annotated[list[HeadSymbol], Distinct()]

    @staticmethod
    def tag_of(symbol: HeadSymbol) -> str:
        """Return the tag of the head.

        symbol: the meaning of a symbol.
        """
        return symbol.tag

    @cached_property
    def _head_is_right(self) -> BoolArray:
        return heads_are_right(self.symbols, self.coarse.rules.binary)

    @cached_property
    def _stand_in(self) -> FloatArray:
        return mean_inside_vectors(self.operators, self.coarse)

    @cached_property
    def _unpruned(self) -> DependencyGrammar:
        """The grammar with unpruned charts, which also use rules that no tree of the treebank had."""
        unpruned = replace(self.options, threshold=0.0, beam=0.0)
        return replace(self, options=unpruned, seen=np.ones_like(self.seen))

    def tags_of_words(self, sentences: Sequence[DependencySentence]) -> IntArray:
        """Number the tag of each word (n,) of all sentences; -1 for a tag that is missing or was never seen.

        sentences: the sentences to look up.
        """
        if not self.options.attachment.symbols_have_tags:
            return np.zeros(sum(len(sentence.forms) for sentence in sentences), dtype=np.int64)
        return self.tag_numbers.numbers(chain.from_iterable(map(self.options.tags_of, sentences)))

    def charts_of(self, inputs: Sequence[PartialDependencies]) -> Charts:
        """Build the pruned charts of sentences.

        inputs: the sentences with their constraints.  Words without a tag, or with an unseen tag, may have any tag.
        Raises ValueError if a sentence is empty.
        """
        permits = []
        for sentence, constraints in inputs:
            tags = None if constraints == ANY_TREE else self.tags_of_words([sentence])
            permits.append(None if tags is None else constraints.permits(tags, self.tag_of_symbol))
        sentences = [given.sentence for given in inputs]
        return self.charts(list(map(self.options.words_of, sentences)), self.tags_of_words(sentences), permits)

    def arcs(self, trees: Sequence[PartialDependencies]) -> tuple[SentenceGrammar, list[ArcMarginals | None]]:
        """Compute the posteriors of the arcs of sentences, and the grammar over all their words.

        A sentence has no posteriors if the grammar does not derive it.

        trees: the sentences with their constraints.
        Raises ValueError if a sentence is empty.
        """
        charts = self.charts_of(trees)
        posteriors = self._marginals(charts, trees)
        # A chart is pruned without regard to heads, and may have lost all trees that obey the constraints.
        for at, tree in enumerate(trees):
            if posteriors[at] is None and tree.constraints != ANY_TREE:
                (posteriors[at],) = self._marginals(self._unpruned.charts_of([tree]), [tree])
        return charts.grammar, posteriors

    def _marginals(self, charts: Charts, trees: Sequence[PartialDependencies]) -> list[ArcMarginals | None]:
        """Compute the posteriors of arcs in the charts of sentences; None for a chart without an allowed tree."""
        posteriors: list[ArcMarginals | None] = []
        for spans, (sentence, constraints) in zip(charts.spans, trees, strict=True):
            n = len(sentence.forms)
            marginals = None
            if spans is not None:
                allowed = None if constraints == ANY_TREE else constraints.allowed(n)
                arcs = headed(spans.forest, self._head_is_right, spans.first, n, allowed)
                marginals = arc_marginals(charts.grammar.latent, arcs, n)
            posteriors.append(marginals if marginals is not None and marginals.sign.any() else None)
        return posteriors

    def forest(self, inputs: Sequence[PartialDependencies]) -> WeighedForest:
        """Join the pruned charts of sentences to one forest, in which only complete heads may be at the top.

        inputs: the sentences with their constraints, which fit them.
        Raises ValueError if a sentence is empty.
        """
        weighed = super().forest(inputs)
        is_complete = np.array([symbol.role == "complete" for symbol in self.symbols])
        operators = weighed.operators
        root = np.where(is_complete[:, None], operators.root, 0.0)
        return weighed._replace(operators=replace(operators, root=root))

    def weigh(self, trees: Sequence[DependencySentence], grammar: SentenceGrammar) -> SignedLog:
        """Estimate the probabilities of trees, given the grammar of their words.

        trees: the trees of the sentences.
        grammar: the grammar of their words, a sentence for each tree.
        """
        converted = self._converted(trees)
        forest = grammar.forest_of(converted)
        if self.options.floor is None or self.probabilities:
            return tree_weights(grammar.latent, forest)
        return floored_weights(grammar.latent, grammar.coarse, converted, forest, self._stand_in, self.options.floor)

    def _converted(self, trees: Sequence[DependencySentence]) -> SkeletalTrees:
        """Make the s-trees of trees, whose terminals are the places of words among the words of all trees."""
        tags = [self.options.tags_of(tree) for tree in trees]
        return skeletal_trees(trees, tags, self.options.attachment, Vocabulary(self.symbols)).trees

    def _words_of(self, trees: Sequence[DependencySentence]) -> SentenceGrammar:
        """Look up the words of trees, once for all trees of one sentence."""
        keys = [(self.options.words_of(tree), self.options.tags_of(tree)) for tree in trees]
        of_key = dict(zip(keys, trees, strict=True))
        words = [words for words, _ in of_key]
        grammar = self.for_sentences(words, self.tags_of_words(list(of_key.values())))
        return grammar.of_sentences(Vocabulary(of_key).numbers(keys))

    def forest_of(self, trees: Sequence[DependencySentence]) -> WeighedForest:
        """Build the forest of the derivations of trees, with a component for each tree.

        trees: the trees, each with one root.
        """
        grammar = self._words_of(trees)
        return WeighedForest(grammar.latent, grammar.forest_of(self._converted(trees)))

    def score(self, trees: Sequence[DependencySentence]) -> SignedLog:
        """Estimate p̂ of trees; estimates that fail are raised to the `floor` of the options.

        trees: the trees, each with one root.
        """
        return self.weigh(trees, self._words_of(trees))

    def output(self, tree: SkeletalTrees, given: PartialDependencies | None = None) -> DependencySentence:
        """Convert one s-tree back to a dependency tree without relations.

        tree: the s-tree.
        given: the sentence whose words and tags the tree has; None for the words and tags of the leaves.
        """
        leaves = np.flatnonzero(tree.is_leaf)
        rules = np.stack([tree.symbol, tree.symbol[tree.left], tree.symbol[tree.right]], axis=1)
        head_is_right = heads_are_right(self.symbols, rules)
        top = np.cumsum(tree.is_leaf)  # the number of the head word of each node
        heads = np.zeros(len(leaves), dtype=np.int64)
        for node in np.flatnonzero(tree.is_binary).tolist():
            head, dependant = top[[tree.left[node], tree.right[node]]][:: -1 if head_is_right[node] else 1].tolist()
            top[node] = head
            heads[dependant - 1] = head
        if given is not None:
            return given.sentence.with_heads(tuple(heads.tolist()))
        words = [self.lexicon.words[x] for x in tree.terminal[leaves].tolist()]
        sentence = DependencySentence.of(words).with_heads(tuple(heads.tolist()))
        if not self.options.attachment.symbols_have_tags:
            return sentence
        tags = tuple(self.symbols[symbol].tag for symbol in tree.symbol[leaves].tolist())
        return sentence.with_tags(self.options.tags, tags)

    def name_of(self, symbol: HeadSymbol) -> str:
        """Write a symbol: the tag of the head and the role.

        symbol: the meaning of a symbol.
        """
        return f"{symbol.tag}/{symbol.role}"
