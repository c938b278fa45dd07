"""Parse dependency trees with latent dependency grammars and a model of relations.

Sentences are parsed in batches.  To save time, these steps are done for all sentences of a batch at once: the lookup of
words, the choice of relations, and the probabilities of trees.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, ClassVar

import numpy as np

from spectral_latent._options import checked
from spectral_latent.dependency.arcs import ArcEvidence, ArcModel, arc_choices, arcs_of
from spectral_latent.dependency.constraints import ANY_TREE, DependencyConstraints, PartialDependencies, unknown_tree
from spectral_latent.dependency.conversion import require_heads
from spectral_latent.dependency.decoding import find_best_heads, find_n_best_heads, make_arc_matrix
from spectral_latent.dependency.grammar import DependencyGrammar
from spectral_latent.dependency.options import DependencyOptions, check_together, preset
from spectral_latent.dependency.relations import RelationModel
from spectral_latent.dependency.training import prepare
from spectral_latent.dependency.tree import BLANK, DependencySentence, check_sentence
from spectral_latent.estimation import Listener, silent
from spectral_latent.grammar.parser import Parser, estimate_all, held_out_choices
from spectral_latent.inference import SignedLog
from spectral_latent.lexicon.choices import Choices, JudgeOptions
from spectral_latent.model import check_kind, check_trees
from spectral_latent.model.parts import Analysis, Judge, Parts, average
from spectral_latent.tokenisation import Token
from spectral_latent.trees import FloatArray, IntArray

_LEAST = 1e-8  # trees have no arcs with smaller marginals


@dataclass(frozen=True, eq=False, repr=False)
class DependencyModel(Parser[DependencyGrammar, DependencySentence, DependencyConstraints, DependencySentence]):
    """A latent dependency grammar, which scores trees, and parses words with or without tags.

    members: the grammars, whose posteriors of arcs are averaged; all have the same tags and columns of words and tags.
    relations: the model of the relations of arcs; None if arcs have no relations.
    arcs: the model that judges arcs, if the options ask for one; otherwise None.

    `score` estimates p̂ of trees with one root, projective or not; a tree with a tag that was never seen has p̂ = 0.
    `log_probabilities` is a lower bound: it sums over the trees in pruned charts, whose arcs all occurred in training
    if they suffice for a tree; it is -inf if some word must have a tag that it never had.  A word that
    was never seen is replaced by its signature.

    Words without a tag get the likeliest tag of a parse.  Known relations, as constraints, change no head.  `parse` and
    `parse_all` have one more setting, `projective`: whether trees must be projective, True by default; if not, n_best
    must be 1.

    >>> def tree(words, tags, heads): return DependencySentence.of(words, tags).with_heads(heads)
    >>> trees = [tree(["big", noun, verb], ["JJ", "NNS", "VBP"], (2, 3, 0))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> model = DependencyModel.train(trees)
    >>> mice = DependencySentence.of(["big", "mice", "sleep"])
    >>> model.parse(mice).tree.heads
    (2, 3, 0)
    >>> model.parse(mice, constraints=DependencyConstraints({2: 0}), projective=False).tree.heads
    (2, 0, 2)
    """

    kind: ClassVar[str] = "dependency"
    later: ClassVar[frozenset[str]] = frozenset({"arcs"})
    earlier: ClassVar[frozenset[str]] = frozenset({"taggers", "lemmas", "segmenter"})  # which pipelines have
    any_tree = ANY_TREE

    members: tuple[DependencyGrammar, ...]
    relations: RelationModel | None = None
    arcs: ArcModel | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_together([member.options for member in self.members])
        if any(member.tags != self.tags for member in self.members):
            raise ValueError("the grammars of one parser must have the same tags")
        if (self.arcs is None) != (self.options.arcs is None):
            raise ValueError("a parser has a model of arcs if its options have `arcs`, and only then")

    @property
    def tags(self) -> list[str]:
        """The tags of words."""
        return self.members[0].tags

    @staticmethod
    def train(
        sentences: Iterable[DependencySentence],
        options: DependencyOptions | Sequence[DependencyOptions] | None = None,
        *,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
        listener: Listener = silent,
    ) -> DependencyModel:
        """Learn from dependency trees, projective or not.

        Words without a tag in the column of tags get a tag, and a warning counts these words; see `with_all_tags`.

        sentences: the trees, which are read once.
        options: the options of one grammar, or of each of several, whose posteriors are averaged; None for those of the
        preset `fast`, see `options`.
        weights: the weight of each tree: it counts as this many trees, a number of at least 0; 1 if not given.
        jobs: the number of threads; None for all workers of the engine that `joblib.parallel_config` names.  The result
        does not depend on it.
        Raises EstimationError if there are no sentences, or if a sentence is not a tree with one root."""
        options = preset("fast") if options is None else options
        several = list(options) if isinstance(options, Iterable) else [options]
        check_together(several)
        to_learn = several[0].arcs
        if to_learn is not None:  # the trees are read again, fold by fold
            sentences = list(sentences)
            weights = None if weights is None else list(weights)
        labelled: list[tuple[DependencySentence, float]] = []  # what the model of relations learns from
        trainings = prepare(sentences, several, weights=weights, jobs=jobs, labelled=labelled)
        members = estimate_all(trainings, jobs, listener)
        del trainings  # free the memory while the folds are read
        arcs = None
        if to_learn is not None:
            plain = [replace(member.options, arcs=None) for member in members]
            examples = held_out_choices(
                DependencyModel, sentences, weights, to_learn, members, plain, prepare, jobs, listener
            )
            arcs = ArcModel.train(examples, to_learn)
        trees, times = zip(*labelled, strict=True)
        relations = RelationModel.learn_from(trees, members[0].options, weights=times)
        return DependencyModel(members, relations, arcs=arcs)

    def unknown_tags(self, sentence: DependencySentence) -> list[str]:
        """List the tags of a sentence that the model does not know; words with these tags may have any tag.

        sentence: the words, with tags or without.

        >>> model = DependencyModel.train([DependencySentence.of(["Yes"], ["UH"]).with_heads((0,))])
        >>> model.unknown_tags(DependencySentence.of(["Oh", "yes"], ["INTJ", "UH"]))
        ['INTJ']
        """
        check_sentence(sentence)
        if not self.options.attachment.symbols_have_tags:
            return []
        return [
            tag for tag in self.options.tags_of(sentence) if tag != BLANK and tag not in self.members[0].tag_numbers
        ]

    def posteriors(self, sentence: DependencySentence) -> FloatArray:
        """Compute the posteriors of the arcs that a sentence of n words may have.

        Returns μ (n + 1, n): μ[g, m] is the posterior of the arc from word g, where 0 is the root, to word m + 1.
        Posteriors have the signs that the options ask for.  All posteriors are zero if the grammar does not derive the
        sentence.

        sentence: the sentence; words without a tag, or with an unseen tag, may have any tag.  Heads are ignored.
        Raises ValueError if the sentence is empty."""
        analysis = self.analyse([self.checked(sentence)])
        return make_arc_matrix(analysis.judged, len(analysis.inputs[0].sentence.forms))

    def _input_of(self, tree: DependencySentence, number: int) -> tuple[Hashable, PartialDependencies]:
        require_heads(tree, number)
        return (self.options.words_of(tree), self.options.tags_of(tree)), unknown_tree(tree)

    def _posteriors_of(
        self, analysis: Analysis[PartialDependencies], trees: Sequence[Sequence[DependencySentence]]
    ) -> list[FloatArray]:
        rows = []
        for at, of_sentence in enumerate(trees):
            n = len(analysis.inputs[at].sentence.forms)
            matrix = make_arc_matrix(analysis.judged.of_sentence(at), n)
            rows += [matrix[list(tree.heads or ()), np.arange(n)] for tree in of_sentence]
        return rows

    def _check_settings(self, n_best: int, *, scored: bool = True, projective: bool = True) -> None:
        super()._check_settings(n_best, scored=scored)
        if not checked("projective", projective, bool) and n_best > 1:
            raise ValueError(f"n_best must be 1 for trees that need not be projective, not {n_best}")

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model, its tags and relations among them."""
        relations = None if self.relations is None else self.relations.names
        tags = {"tags": self.tags, "column": self.options.tags}
        return super().description | tags | {"relations": relations}

    def checked(
        self, given: DependencySentence | PartialDependencies, *, projective: bool = True, **settings: Any
    ) -> PartialDependencies:
        """Check a sentence with its constraints.

        given: the words, or a `Partial`.
        projective: whether known arcs must not cross."""
        tree = super().checked(given)
        sentence, constraints = tree
        if constraints == ANY_TREE:
            return tree
        check_kind(constraints, DependencyConstraints)
        if self.members[0].is_too_long(sentence.forms):
            raise ValueError(
                f"a sentence of {len(sentence.forms)} words has constraints, and is longer than the "
                f"{self.options.limits.max_words} of its limit; divide it, raise the limit, or leave out "
                f"constraints"
            )
        constraints.check(len(sentence.forms), [] if self.relations is None else self.relations.names)
        if projective and (arcs := constraints.crossing()):
            (head, word), (other_head, other_word) = arcs
            raise ValueError(
                f"the arcs {head} → {word} and {other_head} → {other_word} cross; ask for trees that need not be "
                f"projective"
            )
        return tree

    def _checked_words(self, sentence: DependencySentence) -> Sequence[str]:
        check_sentence(sentence)
        return sentence.forms

    def _sentence(self, words: Sequence[str]) -> DependencySentence:
        return DependencySentence.of(words)

    def _of_tokens(self, tokens: Sequence[Token]) -> DependencySentence:
        return DependencySentence.of_tokens(tokens)

    def _words(self, sentence: DependencySentence) -> Sequence[str]:
        words: Sequence[str] = self.options.words_of(sentence)
        return words

    def _tags(self, given: PartialDependencies, grammar: DependencyGrammar) -> IntArray:
        if given.constraints != ANY_TREE:
            raise ValueError("prefixes know nothing of heads or relations; give the sentence without constraints")
        return grammar.tags_of_words([given.sentence])

    @staticmethod
    def _length(tree: DependencySentence) -> int:
        return len(tree.forms)

    def _trees(self, trees: Iterable[DependencySentence]) -> list[DependencySentence]:
        return list(check_trees(trees, DependencySentence))

    def analyse(self, inputs: Sequence[PartialDependencies]) -> Analysis[PartialDependencies]:
        """Take the first three steps."""
        # Charts have only projective trees, so that constraints with crossing arcs are left to assembly.
        charted = [unknown_tree(given.sentence) if given.constraints.crossing() else given for given in inputs]
        return super().analyse(charted)._replace(inputs=inputs)

    @property
    def judges(self) -> list[Judge[ArcEvidence]]:
        """The model of arcs, if there is one."""
        return [] if self.arcs is None else [self.arcs]

    def evidence(self, analysis: Analysis[PartialDependencies]) -> ArcEvidence:
        """Collect the words of sentences."""
        return ArcEvidence.of([given.sentence for given in analysis.inputs], self.options)

    def name_parts(self, analysis: Analysis[PartialDependencies]) -> list[str]:
        """Write the arcs of a sentence with the words at their ends."""
        words = ["ROOT", *analysis.inputs[0].sentence.forms]
        arcs = zip(analysis.parts.begin.tolist(), analysis.parts.end.tolist(), strict=True)
        return [f"{words[head]} {head} → {words[word]} {word}" for head, word in arcs]

    def write(self, tree: DependencySentence) -> str:
        """Write a line for each word: its number, form, tag, head and relation."""
        tags, heads = self.options.tags_of(tree), tree.heads or ()
        rows = zip(tree.forms, tags, heads, tree.relations, strict=True)
        return "\n".join(f"{at}\t{word}\t{tag}\t{head}\t{name}" for at, (word, tag, head, name) in enumerate(rows, 1))

    def assemble(
        self, analysis: Analysis[PartialDependencies], n_best: int = 1, *, projective: bool = True
    ) -> Analysis[PartialDependencies]:
        """Find up to `n_best` trees of each sentence, with tags and relations.

        projective: whether trees must be projective; n_best must be 1 if not."""
        arcs = analysis.judged
        sentences = self._with_tags(analysis)
        unlabelled: list[list[DependencySentence]] = []
        n_candidates = n_best if self.relations is None or not projective else max(n_best, self.options.candidates)
        for at, (sentence, given) in enumerate(zip(sentences, analysis.inputs, strict=True)):
            is_derived = analysis.n_members[at] > 0
            heads = self._heads(arcs.of_sentence(at), given, n_candidates, projective) if is_derived else []
            unlabelled.append([sentence.with_heads(each) for each in heads])
        if n_candidates > n_best:
            unlabelled = self._with_relations_in_view(unlabelled, arcs, n_best)
        labelled = iter(self.labelled(list(chain.from_iterable(unlabelled))))
        trees = [
            [given.constraints.with_known_relations(next(labelled)) for _ in of_sentence]
            for given, of_sentence in zip(analysis.inputs, unlabelled, strict=True)
        ]
        return analysis._replace(trees=trees)

    def score_trees(self, analysis: Analysis[PartialDependencies]) -> SignedLog:
        """Estimate p̂ of trees of sentences whose words are looked up, unless trees have tags that sentences lack."""
        every = list(chain.from_iterable(analysis.trees))
        tags_of = self.options.tags_of
        pairs = zip(analysis.inputs, analysis.trees, strict=True)
        if any(tags_of(tree) != tags_of(given.sentence) for given, several in pairs for tree in several):
            return self._weigh(every)
        sentence_of = np.repeat(np.arange(len(analysis.trees)), list(map(len, analysis.trees)))
        grammars = [charts.grammar.of_sentences(sentence_of) for charts in analysis.charts]
        return SignedLog.mean(
            [member.weighed(every, of).weight() for member, of in zip(self.members, grammars, strict=True)]
        )

    def _with_relations_in_view(
        self, trees: Sequence[Sequence[DependencySentence]], arcs: Parts, n_best: int
    ) -> list[list[DependencySentence]]:
        """Order the trees of each sentence by the expected number of words with the right arc and relation.

        It is the sum of μ(arc) P(relation | arc) over the arcs, with the likeliest relations."""
        every = list(chain.from_iterable(trees))
        if self.relations is None or not every:
            return [list(of_sentence) for of_sentence in trees]
        best = self.relations.judge(arcs_of(every), ArcEvidence.of(every, self.options)).posterior
        shares = iter(np.split(best, np.cumsum([len(tree.forms) for tree in every])[:-1]))
        ordered = []
        for at, of_sentence in enumerate(trees):
            gains = []
            for tree in of_sentence:
                n = len(tree.forms)
                weights = make_arc_matrix(arcs.of_sentence(at), n)[list(tree.heads or ()), np.arange(n)]
                gains.append(float(weights @ next(shares)))
            order = np.argsort(-np.array(gains), kind="stable")[:n_best]
            ordered.append([of_sentence[number] for number in order.tolist()])
        return ordered

    def _heads(self, arcs: Parts, tree: PartialDependencies, n_best: int, projective: bool) -> list[tuple[int, ...]]:
        """Find the heads of the trees with the largest sums of posteriors, without arcs whose posterior is near
        zero."""
        n = len(tree.sentence.forms)
        weights = make_arc_matrix(arcs.take(arcs.posterior > _LEAST), n)
        if projective:
            return find_n_best_heads(weights, n_best)
        if tree.constraints.crossing():  # the posteriors were computed without the constraints
            weights = np.where(tree.constraints.allowed(n), weights, 0.0)
            for word, head in tree.constraints.heads.items():
                weights[head, word - 1] = 1.0
        heads = find_best_heads(weights)
        return [] if heads is None else [heads]

    def _with_tags(self, analysis: Analysis[PartialDependencies]) -> list[DependencySentence]:
        """Give every word without a tag the likeliest one, in sentences that some grammar derives."""
        column = self.options.tags
        sentences = [given.sentence for given in analysis.inputs]
        lacking = [at for at, each in enumerate(sentences) if analysis.n_members[at] and BLANK in getattr(each, column)]
        tagged = list(sentences)
        if not lacking or not self.options.attachment.symbols_have_tags:
            return tagged
        of_members = [member.tags_over(each.more) for member, each in zip(self.members, analysis.found, strict=True)]
        tags = average(of_members, analysis.n_members)
        for at in lacking:
            _, word, _, tag, posterior = tags.of_sentence(at)
            by_tag = np.zeros((len(sentences[at].forms), len(self.tags)))
            by_tag[word - 1, tag] = posterior
            likeliest = [self.tags[number] for number in by_tag.argmax(axis=1).tolist()]
            old: tuple[str, ...] = getattr(sentences[at], column)
            filled = tuple(new if tag == BLANK else tag for tag, new in zip(old, likeliest, strict=True))
            tagged[at] = sentences[at].with_tags(column, filled)
        return tagged

    def fallback(self, analysis: Analysis[PartialDependencies], at: int) -> DependencySentence:
        """Make a tree that is flat below the first word, except for required and forbidden arcs."""
        sentence, constraints = analysis.inputs[at]
        heads: tuple[int, ...] | None = (0, *[1] * (len(sentence.forms) - 1))
        if constraints != ANY_TREE:
            weights = constraints.allowed(len(sentence.forms)).astype(float)
            weights[1] *= 2.0
            weights[0, 0] *= 2.0
            projective_heads = find_n_best_heads(weights, 1)
            heads = projective_heads[0] if projective_heads else find_best_heads(weights)
        if heads is None:
            raise ValueError("every tree has a forbidden arc; allow some of these arcs")
        (flat,) = self.labelled([sentence.with_heads(heads)])
        return constraints.with_known_relations(flat)

    def labelled(self, trees: Sequence[DependencySentence]) -> list[DependencySentence]:
        """Give trees the likeliest relations; `_` if the model has no relations."""
        trees = list(check_trees(trees, DependencySentence))
        if self.relations is None or not trees:
            return [tree.with_heads(tree.heads, (BLANK,) * len(tree.forms)) for tree in trees]
        names = self.relations.names
        labels = self.relations.judge(arcs_of(trees), ArcEvidence.of(trees, self.options)).label
        found = iter([names[label] for label in labels.tolist()])
        return [tree.with_heads(tree.heads, tuple(islice(found, len(tree.forms)))) for tree in trees]

    def choices(self, trees: Sequence[DependencySentence], options: JudgeOptions) -> list[Choices]:
        """List the arcs that the grammars find in the sentence of each tree, with the right ones marked."""
        inputs = [unknown_tree(tree) for tree in trees]
        arcs = self.find_parts(inputs, self.chart(inputs)).parts
        arcs = arcs.take(arcs.posterior > options.least)
        examples = []
        for at, tree in enumerate(trees):
            of_tree = arcs.of_sentence(at)
            of_tree = of_tree.take(np.argsort(of_tree.end, kind="stable"))
            examples.append(arc_choices(of_tree, ArcEvidence.of([tree], self.options), tree.heads))
        return examples
