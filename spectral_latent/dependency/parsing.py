"""Find the dependency trees of sentences.

Sentences are parsed in batches.  To save time, these steps are done for all sentences of a batch at once: the lookup of
words, the choice of relations, and the probabilities of trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

import numpy as np

from spectral_latent.dependency.constraints import ANY_TREE, DependencyConstraints, PartialDependencies, unknown_tree
from spectral_latent.dependency.conversion import HeadSymbol, heads_are_right, skeletal_trees
from spectral_latent.dependency.decoding import ArcMarginals, arc_marginals, maximum_heads, n_best_heads
from spectral_latent.dependency.floors import floored_weights
from spectral_latent.dependency.forests import headed
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.dependency.relations import RelationModel
from spectral_latent.dependency.sentence import BLANK, DependencySentence, check_sentence
from spectral_latent.grammar import (
    Charts,
    LatentGrammar,
    Parse,
    Parses,
    Partial,
    SentenceGrammar,
    check_kind,
    mean_inside_vectors,
)
from spectral_latent.grammar.batches import batches_of
from spectral_latent.inference import Weight, tree_weights
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Vocabulary

__all__ = ["DependencyParser"]

_LEAST = 1e-8  # trees have no arcs with smaller marginals


@dataclass(frozen=True, eq=False)
class DependencyParser:
    """A parser of dependency trees.

    symbols: the meaning of each symbol of the grammar.
    grammar: the operators over words, and the options.
    relations: the model of the relations of arcs; None if arcs have no relations.
    """

    symbols: list[HeadSymbol]
    grammar: LatentGrammar[DependencyOptions]
    relations: RelationModel | None

    @property
    def options(self) -> DependencyOptions:
        """The settings of training and parsing."""
        return self.grammar.options

    @cached_property
    def _head_is_right(self) -> BoolArray:
        return heads_are_right(self.symbols, self.grammar.coarse.rules.binary)

    @cached_property
    def _stand_in(self) -> FloatArray:
        return mean_inside_vectors(self.grammar.operators, self.grammar.coarse)

    @cached_property
    def tags(self) -> Vocabulary[str]:
        """The tags of words, in the order of their numbers."""
        return Vocabulary(self.grammar.tags)

    def tags_of_words(self, sentences: Sequence[DependencySentence]) -> IntArray:
        """Number the tag of each word (n,) of all sentences; -1 for a tag that is missing or was never seen.

        sentences: the sentences to look up.
        """
        if not self.options.attachment.symbols_have_tags:
            return np.zeros(sum(len(sentence.forms) for sentence in sentences), dtype=np.int64)
        return self.tags.numbers(chain.from_iterable(map(self.options.tags_of, sentences)))

    @cached_property
    def _unpruned(self) -> LatentGrammar[DependencyOptions]:
        """The grammar with unpruned charts, which also use rules that no tree of the treebank had."""
        unpruned = replace(self.options, threshold=0.0, beam=0.0)
        return replace(self.grammar, options=unpruned, seen=np.ones_like(self.grammar.seen))

    def charts(self, trees: Sequence[PartialDependencies], *, pruned: bool = True) -> Charts:
        """Build the charts of sentences.

        trees: the sentences with their constraints.  Words without a tag, or with an unseen tag, may have any tag.
        pruned: whether unlikely items are left out.
        Raises ValueError if a sentence is empty.
        """
        permits = []
        for sentence, constraints in trees:
            check_sentence(sentence)
            tags = None if constraints == ANY_TREE else self.tags_of_words([sentence])
            permits.append(None if tags is None else constraints.permits(tags, self.grammar.tag_of_symbol))
        sentences = [tree.sentence for tree in trees]
        grammar = self.grammar if pruned else self._unpruned
        return grammar.charts(list(map(self.options.words_of, sentences)), self.tags_of_words(sentences), permits)

    def arcs(self, trees: Sequence[PartialDependencies]) -> tuple[SentenceGrammar, list[ArcMarginals | None]]:
        """Compute the posteriors of the arcs of sentences, and the grammar over all their words.

        A sentence has no posteriors if the grammar does not derive it.

        trees: the sentences with their constraints.
        Raises ValueError if a sentence is empty.
        """
        charts = self.charts(trees)
        posteriors = self._marginals(charts, trees)
        # A chart is pruned without regard to heads, and may have lost all trees that obey the constraints.
        for at, tree in enumerate(trees):
            if posteriors[at] is None and tree.constraints != ANY_TREE:
                (posteriors[at],) = self._marginals(self.charts([tree], pruned=False), [tree])
        return charts.grammar, posteriors

    def posteriors(self, sentences: Sequence[DependencySentence]) -> list[FloatArray]:
        """Compute the posteriors (n + 1, n) of the arcs of sentences; see `DependencyModel.posteriors`.

        sentences: the sentences, with n words each.
        Raises ValueError if a sentence is empty.
        """
        posteriors: list[FloatArray] = []
        for batch in batches_of(map(unknown_tree, sentences)):
            for tree, marginals in zip(batch, self.arcs(batch)[1], strict=True):
                n = len(tree.sentence.forms)
                if marginals is None:
                    posteriors.append(np.zeros((n + 1, n)))
                else:
                    posteriors.append(self.options.with_signs(marginals.arcs, marginals.sign))
        return posteriors

    def distinct(self, trees: Sequence[DependencySentence]) -> tuple[list[DependencySentence], IntArray]:
        """List the different sentences of trees, by words and tags, and the number of each tree's sentence (T,).

        trees: the T trees to compare.
        """
        keys = [(self.options.words_of(tree), self.options.tags_of(tree)) for tree in trees]
        of_key = dict(zip(keys, trees, strict=True))
        return list(of_key.values()), Vocabulary(of_key).numbers(keys)

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

    def check(self, tree: PartialDependencies, *, projective: bool = True) -> None:
        """Raise TypeError for constraints on phrases, and ValueError if they do not fit a sentence and the parser.

        tree: the sentence with its constraints.
        projective: whether known arcs must not cross.
        """
        sentence, constraints = tree
        check_sentence(sentence)
        if constraints == ANY_TREE:
            return
        check_kind(constraints, DependencyConstraints)
        if self.grammar.is_too_long(sentence.forms):
            raise ValueError(
                f"a sentence of {len(sentence.forms)} words has constraints, and is longer than the "
                f"{self.options.limits.max_words} of its limit; divide it, raise the limit, or leave out constraints"
            )
        constraints.check(len(sentence.forms), [] if self.relations is None else self.relations.names)
        if projective and (arcs := constraints.crossing()):
            (head, word), (other_head, other_word) = arcs
            raise ValueError(
                f"the arcs {head} → {word} and {other_head} → {other_word} cross; ask for trees that need not be "
                f"projective"
            )

    def parses(
        self, trees: Sequence[PartialDependencies], n_best: int, *, projective: bool = True, scored: bool = True
    ) -> list[Parses[DependencySentence]]:
        """Find up to `n_best` trees of each sentence; see `DependencyModel.parse_nbest` and `DependencyModel.parse`.

        trees: the sentences, none of them empty, with their constraints.
        n_best: the largest number of trees of a sentence; it must be 1 if trees need not be projective.
        projective: whether trees must be projective.
        scored: whether to compute the trees' probabilities.
        Raises TypeError and ValueError as `check` does.
        """
        if not trees:
            return []
        for tree in trees:
            self.check(tree, projective=projective)
        # Charts have only projective trees, so that constraints with crossing arcs are left out here.
        charted = [Partial(tree.sentence, ANY_TREE) if tree.constraints.crossing() else tree for tree in trees]
        grammar, marginals = self.arcs(charted)
        tagged = [self._tagged(tree.sentence, arcs) for tree, arcs in zip(trees, marginals, strict=True)]
        unlabelled: list[list[DependencySentence]] = []
        for sentence, tree, arcs in zip(tagged, trees, marginals, strict=True):
            heads = [] if arcs is None else self._heads(arcs, tree.constraints, n_best, projective)
            unlabelled.append([sentence.with_heads(each) for each in heads])
        labelled = iter(self.labelled(list(chain.from_iterable(unlabelled))))
        known = [
            [tree.constraints.with_known_relations(next(labelled)) for _ in of_sentence]
            for tree, of_sentence in zip(trees, unlabelled, strict=True)
        ]
        sentence_of = np.repeat(np.arange(len(known)), [len(of_sentence) for of_sentence in known])
        weight = Weight.unknown(len(sentence_of))
        if scored:
            # If tags were filled in, the words must be looked up again with these tags.
            is_same = all(sentence is tree.sentence for sentence, tree in zip(tagged, trees, strict=True))
            weight = self.score(
                list(chain.from_iterable(known)), grammar.of_sentences(sentence_of) if is_same else None
            )
        weights = zip(weight.sign.tolist(), weight.log.tolist(), strict=True)
        return [
            Parses([Parse(each, *next(weights)) for each in of_sentence] or [self._fallback(tree)])
            for tree, of_sentence in zip(trees, known, strict=True)
        ]

    def _heads(
        self, marginals: ArcMarginals, constraints: DependencyConstraints, n_best: int, projective: bool
    ) -> list[tuple[int, ...]]:
        """Find the heads of the trees with the largest sums of posteriors, without arcs whose posterior is near
        zero."""
        weights = self.options.with_signs(marginals.arcs, marginals.sign)
        weights = np.where(weights > _LEAST, weights, 0.0)
        if projective:
            return n_best_heads(weights, n_best)
        if constraints.crossing():  # the posteriors were computed without the constraints
            weights = np.where(constraints.allowed(weights.shape[1]), weights, 0.0)
            for word, head in constraints.heads.items():
                weights[head, word - 1] = 1.0
        heads = maximum_heads(weights)
        return [] if heads is None else [heads]

    def _tagged(self, sentence: DependencySentence, marginals: ArcMarginals | None) -> DependencySentence:
        """Give every word without a tag the likeliest one, if the sentence has posteriors."""
        column = self.options.tags
        tags: tuple[str, ...] = getattr(sentence, column)
        if marginals is None or BLANK not in tags or not self.options.attachment.symbols_have_tags:
            return sentence
        by_tag = np.zeros((len(tags), len(self.grammar.tags)))
        np.add.at(by_tag.T, self.grammar.tag_of_symbol, np.abs(marginals.symbols).T)
        likeliest = [self.grammar.tags[tag] for tag in by_tag.argmax(axis=1).tolist()]
        filled = tuple(new if tag == BLANK else tag for tag, new in zip(tags, likeliest, strict=True))
        return sentence.with_tags(column, filled)

    def _fallback(self, tree: PartialDependencies) -> Parse[DependencySentence]:
        """Make a tree that is flat below the first word, except for required and forbidden arcs."""
        sentence, constraints = tree
        heads: tuple[int, ...] | None = (0, *[1] * (len(sentence.forms) - 1))
        if constraints != ANY_TREE:
            weights = constraints.allowed(len(sentence.forms)).astype(float)
            weights[1] *= 2.0
            weights[0, 0] *= 2.0
            projective_heads = n_best_heads(weights, 1)
            heads = projective_heads[0] if projective_heads else maximum_heads(weights)
        if heads is None:
            raise ValueError("every tree has a forbidden arc; allow some of these arcs")
        (flat,) = self.labelled([sentence.with_heads(heads)])
        return Parse(constraints.with_known_relations(flat), 0, -np.inf, is_fallback=True)

    def labelled(self, trees: Sequence[DependencySentence]) -> list[DependencySentence]:
        """Give trees the likeliest relations; `_` if the model has no relations.

        trees: the trees of the sentences.
        """
        if self.relations is None:
            return [tree.with_heads(tree.heads, (BLANK,) * len(tree.forms)) for tree in trees]
        relations_of_each = self.relations.relations([self.options.tagged_tree(tree) for tree in trees])
        return [tree.with_heads(tree.heads, names) for tree, names in zip(trees, relations_of_each, strict=True)]

    def score(self, trees: Sequence[DependencySentence], grammar: SentenceGrammar | None = None) -> Weight:
        """Estimate the probabilities of trees; see `DependencyModel.score`.

        trees: the trees of the sentences.
        grammar: the grammar of their words, a sentence for each tree; None to look up the words.
        """
        tags = [self.options.tags_of(tree) for tree in trees]
        converted = skeletal_trees(trees, tags, self.options.attachment, Vocabulary(self.symbols))
        if grammar is None:
            sentences, sentence_of = self.distinct(trees)
            words = list(map(self.options.words_of, sentences))
            grammar = self.grammar.for_sentences(words, self.tags_of_words(sentences)).of_sentences(sentence_of)
        forest = grammar.forest_of(converted.trees)
        if self.options.floor is None or grammar.latent.probabilities:
            return tree_weights(grammar.latent, forest)
        return floored_weights(
            grammar.latent, grammar.coarse, converted.trees, forest, self._stand_in, self.options.floor
        )
