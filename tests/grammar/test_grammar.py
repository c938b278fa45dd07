"""Latent grammars over words: the grammar of a sentence, which rules its forest may use, and the weights of trees."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from spectral_latent.estimation import EstimatorOptions, Treebank
from spectral_latent.files import CompactOperators
from spectral_latent.grammar import (
    GrammarOptions,
    GrammarSums,
    LatentGrammar,
    Limits,
    SentenceGrammar,
    Training,
    prepare_grammar,
    spelling_of,
)
from spectral_latent.inference import SignedLog, check_forest, edge_marginals, inside, outside, tree_weights
from spectral_latent.lexicon import Lexicon, LexiconOptions, WordCounts
from spectral_latent.operators import Counts
from spectral_latent.trees import Forest, Rules, SkeletalTrees
from tests.oracles import Tree, columns, leaves, numbers_of, same_numbers, shard_of

S, A, B = 0, 1, 2  # a sentence, and two tags
TAG_OF_SYMBOL = np.array([-1, 0, 1])


class Named(NamedTuple):
    """A symbol that is nothing but its name."""

    name: str


SYMBOLS = list(map(Named, "SAB"))


class Grammar(LatentGrammar[Named, GrammarOptions, Any, Any, Any]):
    """A grammar of no formalism: its trees and constraints are not used."""

    options: GrammarOptions
    symbols: list[Named]

    @staticmethod
    def tag_of(symbol: Named) -> str:
        return symbol.name

    def name_of(self, symbol: Named) -> str:
        return symbol.name

    def chart(self, inputs: Any) -> Any:
        raise NotImplementedError

    def forest_of(self, trees: Any) -> Any:
        raise NotImplementedError

    def output(self, tree: Any, given: Any = None) -> Any:
        raise NotImplementedError


WORDS = ["ant", "ape", "bat", "bee", "both"]
SENTENCES: list[Tree] = [
    (S, (A, 0), (B, 2)),
    (S, (A, 1), (B, 3)),
    (S, (A, 4), (B, 4)),
    (S, (A, 0), (S, (A, 1), (B, 3))),
    (S, (A, 1), (S, (A, 4), (B, 2))),
    (S, (A, 0), (S, (A, 4), (S, (A, 1), (B, 4)))),
]
UNSEEN = np.array([[S, B, A], [S, S, S]])  # besides S → A B and S → A S
OPTIONS = GrammarOptions(
    EstimatorOptions(n_states=3), LexiconOptions(rare_count=100, signature_strength=0.0)
)  # known words keep their tags


def training(options: GrammarOptions = OPTIONS, *, unseen: bool = True) -> Training[Grammar]:
    trees = columns(SENTENCES * 10)
    leaf = trees.is_leaf
    seen = WordCounts.of(trees.symbol[leaf], trees.terminal[leaf], trees.first_leaf[leaf] == 0)
    lexicon = Lexicon(WORDS, spelling_of(WORDS, seen, TAG_OF_SYMBOL, n_tags=2))
    none = np.empty((0, 2), dtype=np.int64)
    rules = Counts.of_rules(
        Rules(none, none, UNSEEN), root=np.zeros(3), leaf=np.zeros(0), unary=np.zeros(0), binary=np.array([0.5, 0.5])
    )
    treebank = Treebank.of([shard_of(columns(SENTENCES * 10))])
    return prepare_grammar(Grammar, SYMBOLS, treebank, lexicon, ["A", "B"], options, rules if unseen else None)


@pytest.fixture(scope="module")
def grammar() -> Grammar:
    return training().estimate()


def used(grammar: Grammar, words: str, tags: list[int] | None = None) -> set[tuple[int, ...]] | None:
    """The binary rules of a sentence's forest; None if it has none."""
    (spans,) = grammar.charts([words.split()], None if tags is None else np.array(tags)).spans
    if spans is None:
        return None
    forest = spans.forest
    return {tuple(rule) for rule in grammar.coarse.rules.binary[forest.rule[forest.left >= 0]].tolist()}


def test_rules_of_the_treebank_are_told_apart() -> None:
    found = training().coarse
    rules = [tuple(rule) for rule in found.coarse.rules.binary.tolist()]
    assert dict(zip(rules, found.seen.tolist(), strict=True)) == {
        (S, A, B): True,
        (S, A, S): True,
        (S, B, A): False,
        (S, S, S): False,
    }
    assert training(unseen=False).coarse.seen.all()
    np.testing.assert_allclose(found.prior, np.bincount(columns(SENTENCES).symbol) / columns(SENTENCES).n_nodes)


def test_rules_never_seen_are_tried_only_where_the_others_fail(grammar: Grammar) -> None:
    assert used(grammar, "ant both") == {(S, A, B)}
    assert used(grammar, "both both") == {(S, A, B)}
    assert used(grammar, "both ant") == {(S, B, A)}
    assert used(grammar, "ant bat ape") == {(S, A, S), (S, B, A)}


def test_tags_decide_which_rules_are_used(grammar: Grammar) -> None:
    """Also those of words that never had them."""
    assert used(grammar, "both both", [0, 1]) == {(S, A, B)}
    assert used(grammar, "both both", [1, 0]) == {(S, B, A)}
    assert used(grammar, "both both", [-1, 0]) == {(S, B, A)}
    assert used(grammar, "ant bat", [1, 0]) == {(S, B, A)}
    assert used(grammar, "unheard new", [1, 0]) == {(S, B, A)}


def test_tags_and_words_are_given_up_where_nothing_derives_them() -> None:
    alone = training(unseen=False).estimate()
    assert used(alone, "both both", [1, 0]) == {(S, A, B)}
    assert used(alone, "bat ant") == {(S, A, B)}
    rules = replace(alone.coarse.rules, binary=alone.coarse.rules.binary[:0])
    coarse, operators = (replace(part, rules=rules, binary=[]) for part in (alone.coarse, alone.operators))
    one_word = replace(alone, coarse=coarse, latent=CompactOperators.of(operators), seen=alone.seen[:0])
    assert used(one_word, "both both") is None


def test_words_that_fit_are_kept_where_another_is_given_up() -> None:
    """No sentence begins with a B, and the other words are an A and a B."""
    charts = training(unseen=False).estimate().charts([["bat", "ant", "bee"]])
    sentence, (spans,) = charts.grammar, charts.spans
    assert spans is not None
    forest = spans.forest
    assert np.bincount(forest.item[forest.left < 0]).max() == 1  # no tree is derived twice
    vectors = inside(sentence.latent, forest)
    mu = edge_marginals(sentence.latent, forest, vectors, outside(sentence.latent, forest, vectors))
    at = np.flatnonzero((forest.left < 0) & (mu > 0.5))
    symbol, terminal = sentence.latent.rules.leaf[forest.rule[at]].T
    order = np.argsort(spans.first[forest.item[at]])
    _, ant, bee = sentence.words.word.tolist()
    assert symbol[order].tolist() == [A, A, B]
    assert terminal[order].tolist() == [sentence.words.any_word, ant, bee]


def test_charts_of_a_batch_are_those_of_each_sentence(grammar: Grammar) -> None:
    """The second sentence is too long, and no tree of the third has these tags."""
    limited = grammar.with_limits(Limits(max_words=4))
    sentences = [["both", "ant", "bat"], ["ant"] * 5, ["ant", "bat"], ["unheard", "ant", "both", "bat"], ["ape"]]
    tags = np.split(np.array([-1, 0, 1, *[-1] * 5, 1, 1, *[-1] * 4, 0]), np.cumsum([3, 5, 2, 4]))
    with pytest.warns(RuntimeWarning, match="its limit"):
        batch = limited.charts(sentences, np.concatenate(tags))
        alone = [limited.charts([words], own) for words, own in zip(sentences, tags, strict=True)]
    derived = [bool(charts.is_derived) for charts in alone]
    assert batch.is_derived.tolist() == derived and not derived[1] and sum(derived) >= 3
    weight, each = limited.forest(batch).weight(), [limited.forest(charts).weight() for charts in alone]
    np.testing.assert_array_equal(weight.log, [one.log[0] for one in each])
    forest, first, end, of_items = batch.joined()  # which has the items of all
    check_forest(forest)
    for number, charts in enumerate(alone):
        own = charts.joined()
        for column, wanted in ((forest.symbol, own.forest.symbol), (first, own.first), (end, own.end)):
            np.testing.assert_array_equal(column[of_items == number], wanted)
    assert limited.forest(limited.charts([])).weight().log.shape == (0,)


def placed(trees: list[Tree]) -> SkeletalTrees:
    """Terminals are places, one after another."""
    found = columns(trees)
    terminal = np.where(found.is_leaf, np.cumsum(found.is_leaf) - 1, -1)
    return SkeletalTrees(found.symbol, found.left, found.right, terminal, found.root)


def same(found: SignedLog, expected: SignedLog) -> None:
    np.testing.assert_array_equal(found.sign, expected.sign)
    np.testing.assert_allclose(found.log, expected.log, rtol=1e-12)


def weights_of(sentence: SentenceGrammar, trees: SkeletalTrees) -> SignedLog:
    return tree_weights(sentence.latent, sentence.forest_of(trees))


def test_weights_of_words_are_those_of_their_leaf_rules(grammar: Grammar) -> None:
    """Of known words, those of the trees themselves."""
    expected = tree_weights(grammar.operators, Forest.of_trees(columns(SENTENCES), grammar.operators.rules))
    words = [[WORDS[x] for x in leaves(tree)] for tree in SENTENCES]
    same(weights_of(grammar.for_sentences(words), placed(SENTENCES)), expected)
    sentence = grammar.for_sentences([["unheard", "bat"]])
    tree = columns([(S, (A, int(sentence.words.word[0])), (B, int(sentence.words.word[1])))])
    expected = tree_weights(sentence.latent, Forest.of_trees(tree, sentence.latent.rules))
    assert expected.sign[0] == 1
    same(weights_of(sentence, placed([(S, (A, 0), (B, 0))])), expected)


def test_sums_of_trees_make_the_grammar_that_all_trees_make() -> None:
    """Whatever the order in which trees come, and with trees that are taken away again, which had a symbol more."""
    options = replace(OPTIONS, estimator=EstimatorOptions("clusters-em", n_states=2))
    start = training(options, unseen=False).estimate()
    found = []
    for parts in ([SENTENCES * 10], [SENTENCES * 4, [(3, (A, 1), (B, 5))], SENTENCES * 6]):
        sums = GrammarSums(start)
        for name in ("C", "cow")[: len(parts) - 1]:
            (sums.symbols if name == "C" else sums.words).add(Named(name) if name == "C" else name)
        for part in parts:
            sums.add(columns(part))
        if len(parts) > 1:
            sums.add(columns(parts[1]), -1.0)
        found.append(sums.estimate())
    for name in ("coarse", "operators"):
        one, other = (numbers_of(getattr(grammar, name)) for grammar in found)
        same_numbers(other, one, rtol=1e-9, atol=1e-12)
    same_numbers(numbers_of(found[0].coarse), numbers_of(start.coarse), rtol=1e-9)
    trees = Forest.of_trees(columns(SENTENCES), start.operators.rules)
    before, after = (tree_weights(grammar.operators, trees).log.sum() for grammar in (start, found[0]))
    assert after == pytest.approx(before, abs=0.2)  # one iteration of EM after many
