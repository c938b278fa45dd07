"""Find the dependency trees of sentences.

Sentences are parsed in batches.  To save time, these steps are done for all sentences of a batch at once: the lookup of
words, the choice of relations, and the probabilities of trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated

import numpy as np

from spectral_latent.dependency.constraints import ANY_TREE, DependencyConstraints, PartialDependencies, unknown_tree
from spectral_latent.dependency.decoding import ArcMarginals, maximum_heads, n_best_heads
from spectral_latent.dependency.grammar import DependencyGrammar
from spectral_latent.dependency.relations import RelationModel
from spectral_latent.dependency.sentence import BLANK, DependencySentence, check_sentence
from spectral_latent.files import Axes
from spectral_latent.grammar.parser import Parser
from spectral_latent.inference import SignedLog
from spectral_latent.model import Parse, Parses, Partial, check_kind, check_trees
from spectral_latent.trees import IntArray

__all__ = ["DependencyParser"]

_LEAST = 1e-8  # trees have no arcs with smaller marginals


@dataclass(frozen=True, eq=False, repr=False)
class DependencyParser(Parser[DependencyGrammar, DependencySentence, DependencyConstraints, DependencySentence]):
    """A parser of dependency trees.

    members: the grammar, with the options.
    relations: the model of the relations of arcs; None if arcs have no relations.
    """

    any_tree = ANY_TREE

    members: Annotated[tuple[DependencyGrammar, ...], Axes(1)]
    relations: RelationModel | None = None

    def _input(self, given: DependencySentence | PartialDependencies) -> PartialDependencies:
        tree = given if isinstance(given, Partial) else unknown_tree(given)
        check_sentence(tree.sentence)
        return tree

    def _is_empty(self, given: PartialDependencies) -> bool:
        return not given.sentence.forms

    def _sentence(self, words: Sequence[str]) -> DependencySentence:
        return DependencySentence.of(words)

    def _words(self, sentence: DependencySentence) -> Sequence[str]:
        return self.grammar.options.words_of(sentence)

    def _tags(self, sentence: DependencySentence) -> IntArray:
        return self.grammar.tags_of_words([sentence])

    def _trees(self, trees: Iterable[DependencySentence]) -> list[DependencySentence]:
        return list(check_trees(trees, DependencySentence))

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
                f"{self.grammar.options.limits.max_words} of its limit; divide it, raise the limit, or leave out "
                f"constraints"
            )
        constraints.check(len(sentence.forms), [] if self.relations is None else self.relations.names)
        if projective and (arcs := constraints.crossing()):
            (head, word), (other_head, other_word) = arcs
            raise ValueError(
                f"the arcs {head} → {word} and {other_head} → {other_word} cross; ask for trees that need not be "
                f"projective"
            )

    def _find(
        self, trees: Sequence[PartialDependencies], n_best: int, *, projective: bool = True, scored: bool = True
    ) -> list[Parses[DependencySentence]]:
        """Find up to `n_best` trees of each sentence; n_best must be 1 if trees need not be projective."""
        for tree in trees:
            self.check(tree, projective=projective)
        # Charts have only projective trees, so that constraints with crossing arcs are left out here.
        charted = [Partial(tree.sentence, ANY_TREE) if tree.constraints.crossing() else tree for tree in trees]
        grammar, marginals = self.grammar.arcs(charted)
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
        weight = SignedLog.unknown(len(sentence_of))
        if scored:
            # If tags were filled in, the words must be looked up again with these tags.
            is_same = all(sentence is tree.sentence for sentence, tree in zip(tagged, trees, strict=True))
            every = list(chain.from_iterable(known))
            if is_same:
                weight = self.grammar.weigh(every, grammar.of_sentences(sentence_of))
            else:
                weight = self._weigh(every) if every else SignedLog.unknown(0)
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
        weights = self.grammar.options.with_signs(marginals.arcs, marginals.sign)
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
        column = self.grammar.options.tags
        tags: tuple[str, ...] = getattr(sentence, column)
        if marginals is None or BLANK not in tags or not self.grammar.options.attachment.symbols_have_tags:
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
        trees = list(check_trees(trees, DependencySentence))
        if self.relations is None:
            return [tree.with_heads(tree.heads, (BLANK,) * len(tree.forms)) for tree in trees]
        relations_of_each = self.relations.relations([self.grammar.options.tagged_tree(tree) for tree in trees])
        return [tree.with_heads(tree.heads, names) for tree, names in zip(trees, relations_of_each, strict=True)]
