"""Hold a latent PCFG of phrases: the meaning of its symbols, its operators over words, and what its charts find.

**Rows** let every phrase have any children, so that no tree of known labels and words is impossible.  The rules of a
grammar allow only children that were seen together.  Therefore a phrase may also have a row of children that are drawn
one by one.  The row is a further symbol, with one state:

| rule | weight | |
| --- | --- | --- |
| X → row | 2 ε / (1 - ε), in every state of X | ε is `ConstituencyOptions.rows` |
| row → c | q(c) / 2 | the first child |
| row → row c | q(c) / 2 | the next child |

q(c) is the share of c among the constituents of the treebank.  The states of c have the weights of a root, because c is
a tree of its own (`GrammarOptions.fragments`).  The weight of a tree is multiplied by 1 - ε for each of its phrases.
So a phrase has the row of the children c_1 ... c_n, n ≥ 2, with probability ε 2^(1-n) Π q(c_i).  All rows together have
probability ε, and all other rules 1 - ε, so that the probabilities of all trees still sum to one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, repeat
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

import numpy as np

from spectral_latent._options import counted
from spectral_latent.constituency.constraints import ANY_TREE, PartialPhrase, PhraseConstraints
from spectral_latent.constituency.conversion import PhraseSymbol, make_phrase
from spectral_latent.constituency.forests import DerivationBuilder, PhraseColumns
from spectral_latent.constituency.options import ConstituencyOptions, SpanOptions
from spectral_latent.constituency.tree import ChainLabels, LabelledParts, Phrase
from spectral_latent.files import CompactOperators, are_distinct, are_one_line
from spectral_latent.grammar import Charts, GrammarOptions, LatentGrammar, Permits, SentenceGrammar, SpanForest
from spectral_latent.inference import mean_inside_vectors
from spectral_latent.inference.inside_outside import trusted_posteriors
from spectral_latent.inference.sums import sums_of_rules
from spectral_latent.model.parts import Found, Parts, WeighedForest
from spectral_latent.operators import ObservableOperators, Tensors
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, Rules, SkeletalTrees, Vocabulary

_LEAST = 1e-6  # constituents with smaller posteriors are left out


class PhraseItems(NamedTuple):
    """The items of the charts of sentences under one grammar.

    options: the settings of the grammar, which choose the signs of posteriors.
    forest: the I items, with a component for each of the T sentences.
    factors: (I,) the factor of each item, for every derivation that has the item: 1 - ε for a phrase.
    parts: the span of each item with the number of its chain of labels; the label is -1 for a bar, which is a part of a
    phrase.  All items of a sentence that the grammar does not derive have the posterior 0.
    is_derived: (T,) whether the grammar derives each sentence: whether the weights of its derivations do not sum to 0.
    """

    options: GrammarOptions
    operators: ObservableOperators
    forest: Forest
    factors: FloatArray
    parts: Parts
    is_derived: BoolArray

    def renumbered(self, numbers: IntArray) -> PhraseItems:
        """Replace the numbers of chains by others (L,)."""
        return self._replace(parts=self.parts._replace(label=np.append(numbers, -1)[self.parts.label]))

    def likely(self, least: float) -> PhraseItems:
        """Keep the roots and the items whose posterior is above a limit, and the derivations from kept items alone."""
        keep = np.abs(self.parts.posterior) > least
        keep[self.forest.root] = True
        forest, factors = self.forest.restrict(keep), self.factors[keep]
        return self._replace(forest=forest, factors=factors, parts=self.parts.take(keep))

    def constituents(self) -> Parts:
        """List the constituents with their posteriors; a chain may occur several times over the same words."""
        return self.parts.take((self.parts.label >= 0) & (self.parts.posterior > _LEAST))

    def reweigh(self, chains: Parts, factors: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Compute the posteriors of constituents after each derivation is multiplied by the factors of its
        constituents: p(t) Π_{c in t} f(c).

        A factor of one constituent changes the posteriors of all.  If it is above 1, the posteriors of constituents
        that often occur with this one rise, and the posteriors of constituents that cross it fall.

        factors: (K,) the factor of each constituent; other items have the factor 1.
        Returns the posteriors (K,), and whether the items derive each sentence, (T,).
        """
        row = chains.find(self.parts)
        of_item, is_derived = _posteriors(
            self.options, self.operators, self.forest, self.parts.sentence, self.factors * np.append(factors, 1.0)[row]
        )
        known = np.flatnonzero(row >= 0)
        posterior = np.bincount(row[known], of_item[known], minlength=len(factors))
        return posterior.astype(float), is_derived


class PhraseEvidence(NamedTuple):
    """What the grammars of a parser find in T sentences, from which judges re-weigh the labelled constituents.

    start: (T + 1,) the first word of each sentence, and the number of all words.
    items: the items of the charts under each grammar; all grammars number the chains alike.
    chains: the constituents with chains of labels; their posteriors are means over the grammars.
    labelled: the labelled constituents, with the sums of these posteriors."""

    words: Sequence[str]
    start: IntArray
    items: list[PhraseItems]
    chains: Parts
    labels: ChainLabels
    labelled: LabelledParts
    options: SpanOptions


def _posteriors(
    options: GrammarOptions,
    operators: ObservableOperators,
    forest: Forest,
    sentence: IntArray,
    factors: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """Compute the posteriors of the items of T sentences, (I,), and whether each sentence has a derivation, (T,).

    factors: (I,) the factor of each item, as in `inference.inside`."""
    mu, sign = trusted_posteriors(operators, forest, factors)
    return options.with_signs(mu, sign[sentence]), sign != 0


def add_rows(grammar: LatentGrammar[Any, Any, Any, Any, Any], is_bar: BoolArray, rows: float) -> ObservableOperators:
    """Add the symbol of rows and its rules to the latent operators of a grammar, without leaf rules.

    The symbol of rows comes after all others.

    is_bar: (S,) whether each symbol is a bar."""
    operators = grammar.latent.rest
    rules = operators.rules
    n, width = operators.root.shape
    # The weights of a constituent that is drawn for a row, and of a phrase whose rules a row replaces.
    if operators.probabilities:
        weight, of_rules = operators.root.sum(axis=1, keepdims=True), grammar.latent.sums
    else:
        whole = mean_inside_vectors(grammar.operators, grammar.coarse)
        weight, of_rules = (operators.root * whole).sum(axis=1, keepdims=True), sums_of_rules(operators, whole)
    alone = np.divide(operators.root, weight, out=np.zeros_like(operators.root), where=weight > 0.0)
    share = np.where(is_bar, 0.0, grammar.prior)
    drawn = alone * (share / share.sum() / 2.0)[:, None]
    replaced = of_rules * (2.0 * rows / (1.0 - rows))
    children = np.flatnonzero(drawn.any(axis=1))
    phrases = np.flatnonzero(~is_bar & replaced.any(axis=1))
    # These rules come after all others in lexicographic order, because the symbol of rows has the largest number.
    row = np.full(n, n)
    unary = np.concatenate([np.stack([phrases, row[phrases]], axis=1), np.stack([row[children], children], axis=1)])
    matrices = np.zeros((len(unary), width, width))
    matrices[: len(phrases), :, 0] = replaced[phrases]
    matrices[len(phrases) :, 0, :] = drawn[children]
    binary = np.stack([row[children], row[children], children], axis=1)
    states = np.append(operators.states, 1)
    shapes = np.concatenate([operators.binary.shapes, states[binary]])
    terms = np.append(operators.binary.terms, np.zeros_like(children))
    is_state = np.arange(width) < states[children, None]
    data = np.append(operators.binary.data, drawn[children][is_state])
    return replace(
        operators,
        rules=Rules(rules.leaf, unary, np.concatenate([rules.binary, binary])),
        states=states,
        root=np.append(operators.root, np.zeros((1, width)), axis=0),
        unary=matrices,
        binary=Tensors(shapes, terms, data),
        singular_values=None,
    )


@dataclass(frozen=True, eq=False, repr=False)
class PhraseGrammar(LatentGrammar[PhraseSymbol, ConstituencyOptions, Sequence[str], PhraseConstraints, Phrase]):
    """A latent PCFG of phrases."""

    options: ConstituencyOptions
    symbols: Annotated[list[PhraseSymbol], are_distinct, are_one_line]

    @property
    def sizes(self) -> str:
        """The numbers of symbols, states and words."""
        states = counted(int(self.latent.rest.states.max()), "state")
        words = counted(len(self.lexicon.words), "word")
        return f"{counted(len(self.symbols), 'symbol')} of up to {states}, {words}"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not all(symbol.chain for symbol in self.symbols):
            raise ValueError("a symbol has no labels")

    @staticmethod
    def tag_of(symbol: PhraseSymbol) -> str:
        """Return the last label of a symbol, which is the tag of a symbol over words."""
        return symbol.last

    @cached_property
    def part_names(self) -> list[tuple[str, ...]]:
        """The chains of labels that a constituent may have, in the order of their numbers."""
        return list(dict.fromkeys(symbol.chain for symbol in self.symbols))

    def parts(self, inputs: Sequence[PartialPhrase], charts: Charts) -> Found:
        """Find the constituents of sentences, with chains of labels; a chain may occur several times over a span."""
        items = self.items(charts)
        return Found(items.constituents(), items.is_derived, more=items)

    @cached_property
    def _chain_of(self) -> IntArray:
        """Number the chain of each symbol, (S,); a bar has the chain of its phrase."""
        return Vocabulary(self.part_names).numbers(symbol.chain for symbol in self.symbols)

    @cached_property
    def is_bar(self) -> BoolArray:
        """Whether each symbol is a bar, (S,)."""
        return np.array([symbol.bar for symbol in self.symbols])

    def items(self, charts: Charts) -> PhraseItems:
        """Compute the posteriors of the items of charts, with the signs that the options ask for.

        A bar @X over all words of a sentence stands for its phrase X."""
        spans = charts.joined()
        forest, first, end, sentence = spans
        are_parts, factors = self._factors_of(charts, spans)
        chain = np.where(are_parts, -1, self._chain_of[forest.symbol])
        posterior, is_derived = _posteriors(self.options, charts.grammar.latent, forest, sentence, factors)
        parts = Parts(sentence, first, end, chain, posterior)
        return PhraseItems(self.options, charts.grammar.latent, forest, factors, parts, is_derived)

    def most_frequent_tags(self, grammar: SentenceGrammar) -> list[str]:
        """Find the tag of each word that has the largest share of the word's nodes in the treebank.

        A word without a rule has the most frequent of all tags."""
        leaves = grammar.leaves(grammar.words.word, grammar.words.likely)
        joint = leaves.weight * self.prior[leaves.symbol]
        over_words = self.coarse.rules.leaf[:, 0]
        any_word = over_words[np.argmax(self.prior[over_words])]
        bounds = pairwise(leaves.start.tolist())
        symbols = [leaves.symbol[i + np.argmax(joint[i:j])] if i < j else any_word for i, j in bounds]
        return [self.symbols[symbol].last for symbol in symbols]

    @cached_property
    def _without_leaves(self) -> CompactOperators:
        return replace(self.latent, rest=add_rows(self, self.is_bar, self.options.rows))

    @cached_property
    def _derivation_builder(self) -> DerivationBuilder:
        return DerivationBuilder(self.symbols, self._without_leaves.rest.rules, self.part_names)

    def weighed(self, trees: PhraseColumns, chain: IntArray, grammar: SentenceGrammar) -> WeighedForest:
        """Build the forest of the derivations of T trees, which share items.

        chain: (N,) the number of the chain of each node among `part_names`; -1 for others."""
        words = grammar.words
        forest = self._derivation_builder.forest(trees, chain, words.word, words.rules)
        return WeighedForest(grammar.latent, forest, trees.n_phrases * np.log1p(-self.options.rows), trusted=True)

    def forest_of(self, trees: Sequence[Phrase]) -> WeighedForest:
        """Build the forest of the derivations of cleaned trees."""
        grammar = self.for_sentences([list(tree.words()) for tree in trees])
        columns = PhraseColumns.of([[tree] for tree in trees], grammar.start, self.part_names)
        return self.weighed(columns, np.where(columns.chain < len(self.part_names), columns.chain, -1), grammar)

    def chart(self, inputs: Sequence[PartialPhrase]) -> Charts:
        """Build the pruned charts of sentences.

        If no tree of the grammar has all given tags, the chart has trees in which words may have other tags, too.

        Raises ValueError if a sentence is empty."""
        permits: list[Permits | None] = []
        wider: list[Permits | None] = []
        names: list[str] = []
        for words, known in inputs:
            is_free = known is ANY_TREE or known == ANY_TREE or self.is_too_long(words)
            has_wider = known.tags and not is_free
            permits.append(None if is_free else known.permits(len(words), self.symbols))
            wider.append(replace(known, tags={}).permits(len(words), self.symbols) if has_wider else None)
            names += map(known.tags.get, range(len(words)), repeat(""))
        tags = self.tag_numbers.numbers(names) if any(names) else None
        return self.charts(list(map(itemgetter(0), inputs)), tags, permits, wider)

    def forest(self, charts: Charts) -> WeighedForest:
        """Join the pruned charts of sentences, which lack the rules of `rows`, but have their factors."""
        spans = charts.joined()
        _, factors = self._factors_of(charts, spans)
        return WeighedForest(charts.grammar.latent, charts.possible(spans.forest), factors=factors)

    @property
    def factors(self) -> tuple[FloatArray, FloatArray]:
        """The factors (S,) of derivations for each node with children, and for each root.

        A phrase has rules, and not a row of children, with probability 1 - ε; a bar at the root stands for its phrase.
        """
        of_phrase = 1.0 - self.options.rows
        return np.where(self.is_bar, 1.0, of_phrase), np.where(self.is_bar, of_phrase, 1.0)

    def _factors_of(self, charts: Charts, spans: SpanForest) -> tuple[BoolArray, FloatArray]:
        """Tell which items (I,) are parts of phrases, and compute their factors: 1 - ε for a phrase, 1 for a word.

        A bar @X over all words of a sentence stands for its phrase X."""
        width = spans.end - spans.first
        are_parts: BoolArray = self.is_bar[spans.forest.symbol] & (
            width < np.diff(charts.grammar.start)[spans.sentence]
        )
        return are_parts, np.where((width > 1) & ~are_parts, 1.0 - self.options.rows, 1.0)

    def output(self, tree: SkeletalTrees, given: PartialPhrase | None = None) -> Phrase:
        """Convert one s-tree back to a phrase.

        given: the sentence whose words the phrase has; None for the words of the terminals."""
        words = [self.lexicon.words[x] for x in tree.terminal[tree.is_leaf]] if given is None else given.sentence
        return make_phrase(tree, self.symbols, words)

    def name_of(self, symbol: PhraseSymbol) -> str:
        """Write a symbol as people read it."""
        return symbol.name
