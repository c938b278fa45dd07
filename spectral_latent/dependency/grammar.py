"""Hold a latent dependency grammar: the meaning of its symbols, and its operators over words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Annotated

import numpy as np

from spectral_latent.dependency.constraints import ANY_TREE, DependencyConstraints, PartialDependencies
from spectral_latent.dependency.conversion import HeadSymbol, convert_trees, mark_right_heads
from spectral_latent.dependency.decoding import ArcForest, ArcPosteriors, compute_arc_posteriors, split_by_heads
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.dependency.tree import BLANK, DependencySentence
from spectral_latent.files import are_distinct, are_one_line
from spectral_latent.grammar import Charts, LatentGrammar, SentenceGrammar
from spectral_latent.model.parts import Found, Parts, WeighedForest
from spectral_latent.trees import BoolArray, IntArray, SkeletalTrees, Vocabulary

_NONE = np.empty(0, dtype=np.int64)
_NO_PARTS = Parts(_NONE, _NONE, _NONE, _NONE, np.empty(0))
_ITEMS = 1 << 15  # items of charts whose posteriors are computed at once


def _concatenated(parts: Sequence[Parts]) -> Parts:
    """Put parts one after the other."""
    return Parts(*map(np.concatenate, zip(*parts, strict=True)))


def _with_sentence(found: ArcPosteriors, at: int, again: ArcPosteriors) -> ArcPosteriors:
    """Add the parts of a sentence that had none."""
    sign = found.sign.copy()
    sign[at] = again.sign[0]

    def add(parts: Parts, others: Parts) -> Parts:
        """Add the parts of the sentence."""
        every = _concatenated([parts, others._replace(sentence=np.full_like(others.sentence, at))])
        return every.take(np.argsort(every.sentence, kind="stable"))

    return ArcPosteriors(add(found.arcs, again.arcs), add(found.leaves, again.leaves), sign)


@dataclass(frozen=True, eq=False, repr=False)
class DependencyGrammar(
    LatentGrammar[HeadSymbol, DependencyOptions, DependencySentence, DependencyConstraints, DependencySentence]
):
    """A latent grammar of dependency trees, whose symbols are heads with the side of the child above them."""

    options: DependencyOptions
    symbols: Annotated[list[HeadSymbol], are_distinct, are_one_line]

    @staticmethod
    def tag_of(symbol: HeadSymbol) -> str:
        """Return the tag of the head."""
        return symbol.tag

    @cached_property
    def _head_is_right(self) -> BoolArray:
        return mark_right_heads(self.symbols, self.coarse.rules.binary)

    @cached_property
    def _unpruned(self) -> DependencyGrammar:
        """The grammar with unpruned charts, which also use rules that no tree of the treebank had."""
        unpruned = replace(self.options, threshold=0.0, beam=0.0)
        return replace(self, options=unpruned, seen=np.ones_like(self.seen))

    def tags_of_words(self, sentences: Sequence[DependencySentence]) -> IntArray:
        """Number the tag of each word (n,) of all sentences; -1 for a tag that is missing or was never seen."""
        if not self.options.attachment.symbols_have_tags:
            return np.zeros(sum(len(sentence.forms) for sentence in sentences), dtype=np.int64)
        return self.tag_numbers.numbers(chain.from_iterable(map(self.options.tags_of, sentences)))

    def chart(self, inputs: Sequence[PartialDependencies]) -> Charts:
        """Build the pruned charts of sentences."""
        permits = []
        for sentence, constraints in inputs:
            tags = None if constraints == ANY_TREE else self.tags_of_words([sentence])
            permits.append(None if tags is None else constraints.permits(tags, self.tag_of_symbol))
        sentences = [given.sentence for given in inputs]
        return self.charts(list(map(self.options.words_of, sentences)), self.tags_of_words(sentences), permits)

    @property
    def part_names(self) -> list[str]:
        """The names of the labels of parts: an arc has no relation before trees have it."""
        return [BLANK]

    def parts(self, inputs: Sequence[PartialDependencies], charts: Charts) -> Found:
        """Find the arcs of sentences, with the signs that the options ask for, and the symbols over their words."""
        found = self._posteriors(charts, inputs)
        # A chart is pruned without regard to heads, and may have lost all trees that obey the constraints.
        for at in np.flatnonzero(found.sign == 0).tolist():
            if inputs[at].constraints != ANY_TREE:
                again = self._posteriors(self._unpruned.chart([inputs[at]]), [inputs[at]])
                found = _with_sentence(found, at, again)
        arcs = found.arcs._replace(
            posterior=self.options.with_signs(found.arcs.posterior, found.sign[found.arcs.sentence])
        )
        return Found(arcs, found.sign != 0, more=found.leaves)

    def tags_over(self, leaves: Parts) -> Parts:
        """Sum the absolute posteriors of the symbols over each word that have the same tag."""
        symbols = leaves.merge()
        tag = self.tag_of_symbol[symbols.label]
        return symbols._replace(label=tag, posterior=np.abs(symbols.posterior)).merge()

    def _posteriors(self, charts: Charts, trees: Sequence[PartialDependencies]) -> ArcPosteriors:
        """Compute the posteriors of arcs in the charts of sentences; none for a chart without an allowed tree."""
        sign = np.zeros(len(trees), dtype=np.int64)
        arcs, leaves = [_NO_PARTS], [_NO_PARTS]
        group: list[tuple[int, ArcForest]] = []

        def compute() -> None:
            """Compute the posteriors of the sentences of a group at once."""
            number = np.array([at for at, _ in group])
            sizes = np.array([len(trees[at].sentence.forms) for at, _ in group])
            found = compute_arc_posteriors(charts.grammar.latent, ArcForest.join([each for _, each in group]), sizes)
            sign[number] = found.sign
            for parts, of_group in ((arcs, found.arcs), (leaves, found.leaves)):
                of_group = of_group.take(found.sign[of_group.sentence] != 0)
                parts.append(of_group._replace(sentence=number[of_group.sentence]))
            group.clear()

        for at, (spans, (sentence, constraints)) in enumerate(zip(charts.spans, trees, strict=True)):
            n = len(sentence.forms)
            if spans is None:
                continue
            allowed = None if constraints == ANY_TREE else constraints.allowed(n)
            split = split_by_heads(spans.forest, self._head_is_right, spans.first, n, allowed)
            if len(split.forest.root):
                group.append((at, split))
            if sum(each.forest.n_items for _, each in group) >= _ITEMS:
                compute()
        if group:
            compute()
        return ArcPosteriors(_concatenated(arcs), _concatenated(leaves), sign)

    def forest(self, charts: Charts) -> WeighedForest:
        """Join the pruned charts of sentences to one forest, in which only complete heads may be at the top."""
        weighed = super().forest(charts)
        is_complete = np.array([symbol.role == "complete" for symbol in self.symbols])
        operators = weighed.operators
        root = np.where(is_complete[:, None], operators.root, 0.0)
        return weighed._replace(operators=replace(operators, root=root))

    def weighed(self, trees: Sequence[DependencySentence], grammar: SentenceGrammar) -> WeighedForest:
        """Build the forest of the derivations of trees, whose words a grammar of their sentences has."""
        tags = [self.options.tags_of(tree) for tree in trees]
        converted = convert_trees(trees, tags, self.options.attachment, Vocabulary(self.symbols))
        # The terminals are the places of words among the words of all trees.
        return WeighedForest(grammar.latent, grammar.forest_of(converted.trees))

    def forest_of(self, trees: Sequence[DependencySentence]) -> WeighedForest:
        """Build the forest of the derivations of trees, with a component for each tree."""
        # Look up the words once for all trees of one sentence.
        keys = [(self.options.words_of(tree), self.options.tags_of(tree)) for tree in trees]
        of_key = dict(zip(keys, trees, strict=True))
        grammar = self.for_sentences([words for words, _ in of_key], self.tags_of_words(list(of_key.values())))
        return self.weighed(trees, grammar.of_sentences(Vocabulary(of_key).numbers(keys)))

    def output(self, tree: SkeletalTrees, given: PartialDependencies | None = None) -> DependencySentence:
        """Convert one s-tree back to a dependency tree without relations."""
        leaves = np.flatnonzero(tree.is_leaf)
        rules = np.stack([tree.symbol, tree.symbol[tree.left], tree.symbol[tree.right]], axis=1)
        head_is_right = mark_right_heads(self.symbols, rules)
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
        """Write a symbol: the tag of the head and the role."""
        return f"{symbol.tag}/{symbol.role}"
