"""Parse dependency trees with a latent dependency grammar and a model of relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from spectral_latent._options import Count, checked, given_or
from spectral_latent.dependency.constraints import ANY_TREE, DependencyConstraints, PartialDependencies
from spectral_latent.dependency.conversion import require_heads
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.dependency.parsing import DependencyParser
from spectral_latent.dependency.presets import preset
from spectral_latent.dependency.sentence import BLANK, DependencySentence, check_sentence
from spectral_latent.dependency.training import prepare_parts
from spectral_latent.estimation import Listener, silent
from spectral_latent.grammar import Training
from spectral_latent.model import Parse, Parses, Partial, check_trees
from spectral_latent.model.batches import batches_of
from spectral_latent.trees import FloatArray

__all__ = ["DependencyModel", "prepare"]


@dataclass(frozen=True, eq=False, repr=False)
class DependencyModel(DependencyParser):
    """A latent dependency grammar, which scores trees, and parses words with or without tags.

    members: the grammar, with the options.
    relations: the model of the relations of arcs; None if arcs have no relations.

    `score` estimates p̂ of trees with one root, projective or not; a tree with a tag that was never seen has p̂ = 0.
    `log_probabilities` is a lower bound: it sums over the trees in pruned charts, whose arcs all occurred in training
    if they suffice for a tree; it is -inf if some word must have a tag that it never had.  A word that
    was never seen is replaced by its signature.

    >>> def tree(words, tags, heads): return DependencySentence.of(words, tags).with_heads(heads)
    >>> trees = [tree(["big", noun, verb], ["JJ", "NNS", "VBP"], (2, 3, 0))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = DependencyModel.train(trees)
    >>> model.parse(DependencySentence.of(["big", "mice", "sleep"])).tree.heads
    (2, 3, 0)
    """

    kind: ClassVar[str] = "dependency"

    @staticmethod
    def train(
        sentences: Iterable[DependencySentence],
        options: DependencyOptions | None = None,
        *,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
        listener: Listener = silent,
    ) -> DependencyModel:
        """Learn from dependency trees, projective or not.

        Words without a tag in the column of tags get a tag, and a warning counts these words; see `with_all_tags`.

        sentences: the trees, which are read once.
        options: the settings; None for the preset `fast`, see `presets`.
        weights: the weight of each tree: it counts as this many trees, a number of at least 0; 1 if not given.
        jobs: the number of threads; None for all workers of the engine that `joblib.parallel_config` names.  The result
        does not depend on it.
        Raises EstimationError if there are no sentences, or if a sentence is not a tree with one root.
        """
        training = prepare(sentences, options, weights=weights, jobs=jobs)
        return training.estimate(jobs=jobs, listener=listener)

    def unknown_tags(self, sentence: DependencySentence) -> list[str]:
        """List the tags of a sentence that the model does not know; words with these tags may have any tag.

        sentence: the words, with tags or without.

        >>> model = DependencyModel.train([DependencySentence.of(["Yes"], ["UH"]).with_heads((0,))])
        >>> model.unknown_tags(DependencySentence.of(["Oh", "yes"], ["INTJ", "UH"]))
        ['INTJ']
        """
        check_sentence(sentence)
        if not self.grammar.options.attachment.symbols_have_tags:
            return []
        return [
            tag
            for tag in self.grammar.options.tags_of(sentence)
            if tag != BLANK and tag not in self.grammar.tag_numbers
        ]

    def posteriors(self, sentence: DependencySentence) -> FloatArray:
        """Compute the posteriors of the arcs that a sentence of n words may have.

        Returns μ (n + 1, n): μ[g, m] is the posterior of the arc from word g, where 0 is the root, to word m + 1.
        Posteriors have the signs that the options ask for.  All posteriors are zero if the grammar does not derive the
        sentence.

        sentence: the sentence; words without a tag, or with an unseen tag, may have any tag.  Heads are ignored.
        Raises ValueError if the sentence is empty.
        """
        (posteriors,) = self._posteriors([sentence])
        return posteriors

    def part_posteriors(self, trees: Iterable[DependencySentence]) -> list[FloatArray]:
        """Compute the posterior of the arc to each word, (n,) for each tree; see `posteriors`.

        trees: the trees, with n words and one or more roots.  The posteriors depend on the words and tags of a tree;
        they are computed once for all trees with the same words and tags.
        Raises EstimationError if a tree has not one head for each word.
        """
        trees = list(check_trees(trees, DependencySentence))
        for number, tree in enumerate(trees, start=1):
            require_heads(tree, number)
        options = self.grammar.options
        keys = [(options.words_of(tree), options.tags_of(tree)) for tree in trees]
        sentences = dict(zip(keys, trees, strict=True))
        posteriors = dict(zip(sentences, self._posteriors(list(sentences.values())), strict=True))
        return [
            posteriors[key][list(tree.heads or ()), np.arange(len(tree.forms))]
            for key, tree in zip(keys, trees, strict=True)
        ]

    def _posteriors(self, sentences: Sequence[DependencySentence]) -> list[FloatArray]:
        """Compute the posteriors (n + 1, n) of the arcs of each sentence of n words."""
        posteriors: list[FloatArray] = []
        for batch in batches_of(map(self._input, sentences)):
            for tree, marginals in zip(batch, self.grammar.arcs(batch)[1], strict=True):
                n = len(tree.sentence.forms)
                if marginals is None:
                    posteriors.append(np.zeros((n + 1, n)))
                else:
                    posteriors.append(self.grammar.options.with_signs(marginals.arcs, marginals.sign))
        return posteriors

    def parse(
        self,
        sentence: DependencySentence,
        *,
        constraints: DependencyConstraints | None = None,
        projective: bool = True,
    ) -> Parse[DependencySentence]:
        """Find the tree whose arcs have the largest sum of posteriors: the tree of minimum Bayes risk.

        sentence: the sentence; words without a tag get the likeliest tag.
        constraints: the constraints on the tree; None for any tree.  Known relations change no head.
        projective: whether trees must be projective.
        Raises ValueError if the sentence is empty, if the constraints do not fit the sentence and the parser, and if
        the arcs of known heads cross although trees must be projective.

        >>> def tree(words, heads): return DependencySentence.of(words).with_heads(heads)
        >>> trees = [tree(["eat", "or", "sleep"], (0, 3, 1)), tree(["eat", "or", "sleep"], (0, 1, 1))]
        >>> model = DependencyModel.train(trees)
        >>> known = DependencyConstraints({2: 3})
        >>> model.parse(DependencySentence.of(["sleep", "or", "eat"]), constraints=known).tree.heads
        (0, 3, 1)
        """
        checked("projective", projective, bool)
        known = ANY_TREE if constraints is None else constraints
        return self.best(Partial(sentence, known), projective=projective)

    def parse_all(
        self,
        sentences: Iterable[DependencySentence | PartialDependencies],
        n_best: int = 1,
        *,
        scored: bool = True,
        jobs: int | None = 1,
        projective: bool = True,
    ) -> Iterator[Parses[DependencySentence]]:
        """Find up to `n_best` trees of each sentence, in order, as `parse_nbest` or `parse` does.

        sentences: the sentences, or sentences with constraints; an empty sentence has no trees.
        n_best: the largest number of trees of a sentence; it must be 1 if trees need not be projective.
        scored: whether to compute the trees' probabilities.
        projective: whether trees must be projective.
        Raises ValueError, before a sentence is read, if n_best < 1, or if n_best > 1 although trees need not be
        projective.
        """
        checked("n_best", n_best, Count)
        checked("projective", projective, bool)
        checked("scored", scored, bool)
        if n_best > 1 and not projective:
            raise ValueError(f"n_best must be 1 for trees that need not be projective, not {n_best}")
        return self.all(sentences, n_best, jobs=jobs, scored=scored, projective=projective)

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model, its tags and relations among them."""
        relations = None if self.relations is None else self.relations.names
        tags = {"tags": self.grammar.tags, "column": self.options.tags}
        return super().description | tags | {"relations": relations}


def prepare(
    sentences: Iterable[DependencySentence],
    options: DependencyOptions | None = None,
    *,
    weights: Iterable[float] | None = None,
    jobs: int | None = 1,
) -> Training[DependencyModel]:
    """Make a treebank and a model without latent states of dependency trees; their `estimate` gives the latent model.

    sentences: the trees, which are read once.
    options: the settings; None for the preset `fast`.
    weights: the weight of each tree; see `DependencyModel.train`.
    Raises the errors of `DependencyModel.train`.
    """
    training, relations = prepare_parts(sentences, given_or(preset("fast"), options), weights=weights, jobs=jobs)
    return Training(DependencyModel((training.coarse,), relations), training.treebank)
