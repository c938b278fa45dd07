"""Latent grammars over words: which rules a sentence's forest may use, and the weights of trees over its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spectral_latent.estimation import (
    EstimatorOptions,
    FeatureColumns,
    RuleCounts,
    inside_templates,
    outside_templates,
    relative_frequencies,
)
from spectral_latent.grammar import GrammarData, GrammarOptions, LatentGrammar
from spectral_latent.grammar.floors import floored_weights, whatever
from spectral_latent.inference import Weight, inside, k_best_derivations, total_weight, tree_weights
from spectral_latent.lexicon import Lexicon, LexiconOptions
from spectral_latent.trees import Forest, SkeletalTrees
from tests.oracles import Tree, columns, leaves, nested

S, A, B = 0, 1, 2  # a sentence, and two tags
FAMILY = np.array([-1, 0, 1])
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
    EstimatorOptions(states=3), LexiconOptions(rare_count=100, signature_strength=0.0)
)  # known words keep their tags


def data(options: GrammarOptions = OPTIONS, *, unseen: bool = True) -> GrammarData:
    trees = columns(SENTENCES * 10)
    features = FeatureColumns.of(inside_templates(trees), outside_templates(trees))
    opens = trees.first_leaf[trees.is_leaf] == 0
    rules = RuleCounts(binary=UNSEEN, binary_count=np.array([0.5, 0.5])) if unseen else None
    return GrammarData.of(trees, features, WORDS, opens, ["A", "B"], FAMILY, options, rules)


@pytest.fixture(scope="module")
def grammar() -> LatentGrammar:
    return data().estimate()


def used(grammar: LatentGrammar, words: str, family: list[int] | None = None) -> set[tuple[int, ...]] | None:
    """The binary rules of a sentence's forest; None if it has none."""
    spans = grammar.forest(grammar.read(words.split(), None if family is None else np.array(family)))
    if spans is None:
        return None
    forest = spans.forest
    return {tuple(rule) for rule in grammar.plain.rules.binary[forest.rule[forest.left >= 0]].tolist()}


# ---------------------------------------------------------------------------------------------------------------------
# Forests


def test_rules_of_the_treebank_are_told_apart() -> None:
    found = data()
    rules = [tuple(rule) for rule in found.plain.rules.binary.tolist()]
    assert dict(zip(rules, found.seen.tolist(), strict=True)) == {
        (S, A, B): True,
        (S, A, S): True,
        (S, B, A): False,
        (S, S, S): False,
    }
    assert data(unseen=False).seen.all()
    np.testing.assert_allclose(found.prior, np.bincount(columns(SENTENCES).symbol) / columns(SENTENCES).n_nodes)


def test_rules_never_seen_are_tried_only_where_the_others_fail(grammar: LatentGrammar) -> None:
    assert used(grammar, "ant both") == {(S, A, B)}
    assert used(grammar, "both both") == {(S, A, B)}
    assert used(grammar, "both ant") == {(S, B, A)}
    assert used(grammar, "ant bat ape") == {(S, A, S), (S, B, A)}


def test_families_decide_which_rules_are_used(grammar: LatentGrammar) -> None:
    """Also those of words that never had them."""
    assert used(grammar, "both both", [0, 1]) == {(S, A, B)}
    assert used(grammar, "both both", [1, 0]) == {(S, B, A)}
    assert used(grammar, "both both", [-1, 0]) == {(S, B, A)}
    assert used(grammar, "ant bat", [1, 0]) == {(S, B, A)}
    assert used(grammar, "unheard new", [1, 0]) == {(S, B, A)}


def test_families_and_words_are_given_up_where_nothing_derives_them() -> None:
    alone = data(unseen=False).estimate()
    assert used(alone, "both both", [1, 0]) == {(S, A, B)}
    assert used(alone, "bat ant") == {(S, A, B)}
    one_word = replace(alone, **without_binary_rules(alone))
    assert used(one_word, "both both") is None


def without_binary_rules(grammar: LatentGrammar) -> dict[str, Any]:
    """The parts of a grammar that derives one word at most."""
    rules = replace(grammar.plain.rules, binary=grammar.plain.rules.binary[:0])
    plain, operators = (replace(part, rules=rules, binary=[]) for part in (grammar.plain, grammar.operators))
    return {"plain": plain, "operators": operators, "seen": grammar.seen[:0]}


def test_leaves_of_a_forest_are_over_the_words_with_their_families(grammar: LatentGrammar) -> None:
    words, family = ["ant", "unheard", "both", "bat"], np.array([0, 0, -1, 1])
    read = grammar.read(words, family)
    spans = grammar.forest(read)
    assert spans is not None
    forest = spans.forest
    operators = read.leaves.added_to(grammar.operators)
    at = np.flatnonzero(forest.left < 0)
    symbol, terminal = operators.rules.leaf[forest.rule[at]].T
    place = spans.first[forest.item[at]]
    np.testing.assert_array_equal(symbol, forest.symbol[forest.item[at]])
    np.testing.assert_array_equal(terminal, read.terminals[place])
    assert ((family[place] < 0) | (FAMILY[symbol] == family[place])).all()
    np.testing.assert_array_equal(forest.rule[at], grammar.leaf_rules(read, symbol, place))


def test_operators_on_a_forest_are_those_with_all_leaf_rules(grammar: LatentGrammar) -> None:
    read = grammar.read(["ant", "unheard", "both", "new", "bat"])
    spans = grammar.forest(read)
    assert spans is not None
    operators, forest = grammar.on(read, spans.forest)
    whole = read.leaves.added_to(grammar.operators)
    one, other = (
        total_weight(model, chart, inside(model, chart))
        for model, chart in ((operators, forest), (whole, spans.forest))
    )
    assert one.log[0] == pytest.approx(other.log[0], rel=1e-12)
    assert len(operators.rules.leaf) == len(np.unique(forest.rule[forest.left < 0])) < len(whole.rules.leaf)


def test_the_likeliest_symbols_of_words(grammar: LatentGrammar) -> None:
    assert grammar.likeliest(grammar.read(["ant", "bat", "ape", "bee"])) == [A, B, A, B]


# ---------------------------------------------------------------------------------------------------------------------
# Weights


def placed(trees: list[Tree]) -> SkeletalTrees:
    """Terminals are places, one after another."""
    found = columns(trees)
    terminal = np.where(found.is_leaf, np.cumsum(found.is_leaf) - 1, -1)
    return SkeletalTrees(found.symbol, found.left, found.right, terminal, found.root)


def words_of(trees: list[Tree]) -> list[list[str]]:
    return [[WORDS[x] for x in leaves(tree)] for tree in trees]


def same(found: Weight, expected: Weight) -> None:
    np.testing.assert_array_equal(found.sign, expected.sign)
    np.testing.assert_allclose(found.log, expected.log, rtol=1e-12)


def test_weights_of_known_words_are_those_of_the_trees(grammar: LatentGrammar) -> None:
    expected = tree_weights(grammar.operators, Forest.of_trees(columns(SENTENCES), grammar.operators.rules))
    same(grammar.weights(placed(SENTENCES), grammar.read_all(words_of(SENTENCES))), expected)


def test_words_may_stand_in_another_order_than_leaves(grammar: LatentGrammar) -> None:
    """As in trees that are not projective."""
    trees = placed(SENTENCES)
    order = np.random.default_rng(0).permutation(int(trees.is_leaf.sum()))
    words = [word for row in words_of(SENTENCES) for word in row]
    moved = SkeletalTrees(
        trees.symbol, trees.left, trees.right, np.where(trees.is_leaf, order[trees.terminal], -1), trees.root
    )
    shuffled = [words[at] for at in np.argsort(order)]
    same(
        grammar.weights(moved, grammar.read_all([shuffled])),
        grammar.weights(trees, grammar.read_all(words_of(SENTENCES))),
    )


def test_the_weight_of_an_unseen_word_is_that_of_its_leaf_rule(grammar: LatentGrammar) -> None:
    read = grammar.read_all([["unheard", "bat"]])
    operators = read.leaves.added_to(grammar.operators)
    tree = columns([(S, (A, int(read.terminals[0])), (B, 2))])
    rule = read.leaves.find(np.array([A]), read.terminals[:1])
    forest = Forest.of_trees(tree, grammar.operators.rules)
    forest.rule[0] = len(grammar.operators.rules.leaf) + rule[0]
    same(grammar.weights(placed([(S, (A, 0), (B, 0))]), read), tree_weights(operators, forest))


def test_weights_of_all_trees_of_a_forest_add_up_to_its_own() -> None:
    """Unpruned: of all derivations, scored one by one."""
    grammar = data(replace(OPTIONS, threshold=0.0, beam=0.0)).estimate()
    grammar = replace(grammar, seen=np.ones_like(grammar.seen))
    words = ["both"] * 4
    read = grammar.read(words)
    spans = grammar.forest(read)
    assert spans is not None
    operators, forest = grammar.on(read, spans.forest)
    total = total_weight(operators, forest, inside(operators, forest))
    derivations = k_best_derivations(forest, np.zeros(forest.n_edges), 1000)
    trees = [nested(derivation.tree(forest, operators.rules))[0] for derivation in derivations]
    assert len(set(map(str, trees))) == len(trees) == 6
    weight = grammar.weights(placed(trees), grammar.read_all([words] * len(trees)))
    assert (weight.sign * np.exp(weight.log)).sum() == pytest.approx(total.sign[0] * np.exp(total.log[0]))


def test_what_is_unknown_has_weight_zero(grammar: LatentGrammar) -> None:
    trees: list[Tree] = [(S, (B, 2), (B, 2)), (S, (A, 0), (7, 2)), (7, (A, 0), (B, 2)), (S, (A, 0), (B, 2)), (S, 0)]
    weight = grammar.weights(placed(trees), grammar.read_all(words_of(trees)))
    assert weight.sign.tolist() == [0, 0, 0, 1, 0]
    assert np.isneginf(weight.log[[0, 1, 2, 4]]).all()


def test_no_trees_have_no_weights(grammar: LatentGrammar) -> None:
    for floor in (None, 0.01):
        scored = replace(grammar, options=replace(grammar.options, floor=floor))
        assert scored.weights(placed([]), scored.read_all([])).log.shape == (0,)


def test_floors_are_those_of_the_plain_grammar(grammar: LatentGrammar) -> None:
    """A floor so high that it cuts; the weights of probabilities stay as they are."""
    floor = 0.9
    scored = replace(grammar, options=replace(grammar.options, floor=floor))
    trees = columns(SENTENCES)
    forest = Forest.of_trees(trees, grammar.operators.rules)
    stand_in = whatever(grammar.operators, grammar.plain)
    expected = floored_weights(grammar.operators, grammar.plain, trees, forest, stand_in, floor)
    found = scored.weights(placed(SENTENCES), scored.read_all(words_of(SENTENCES)))
    same(found, expected)
    bare = tree_weights(grammar.operators, forest)
    assert (found.log != bare.log).any()
    proper = data(replace(scored.options, estimator=EstimatorOptions("hybrid", states=2))).estimate()
    assert proper.operators.probabilities
    same(
        proper.weights(placed(SENTENCES), proper.read_all(words_of(SENTENCES))), tree_weights(proper.operators, forest)
    )


def test_fewer_leaf_rules_are_read_to_parse_than_to_score(grammar: LatentGrammar) -> None:
    """Unlikely tags of unseen words are left out of charts, never of scores."""
    lexicon = grammar.lexicon
    options = replace(lexicon.options, min_expected=1.0)
    picky = replace(grammar, lexicon=Lexicon(lexicon.words, options, lexicon.spelling))
    assert len(picky.read(["unheard"]).leaves.symbol) == 1
    assert picky.read_all([["unheard"]]).leaves.symbol.tolist() == [A, B]


# ---------------------------------------------------------------------------------------------------------------------
# Files


def test_arrays_and_settings_hold_everything(grammar: LatentGrammar) -> None:
    again = LatentGrammar.from_arrays(grammar.arrays(), grammar.settings(), FAMILY, grammar.options)
    arrays = grammar.arrays()
    assert again.settings() == grammar.settings() and again.arrays().keys() == arrays.keys()
    for name, array in again.arrays().items():
        np.testing.assert_array_equal(array, arrays[name])
    read = [model.read_all(words_of(SENTENCES)) for model in (grammar, again)]
    trees = placed(SENTENCES)
    np.testing.assert_array_equal(again.weights(trees, read[1]).log, grammar.weights(trees, read[0]).log)


Change = Callable[[dict[str, Any], dict[str, Any]], None]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda arrays, _: arrays.update(seen=arrays["seen"][:-1]), "seen does not fit the rules"),
        (lambda arrays, _: arrays.update(seen=arrays["seen"].astype(float)), "seen does not fit the rules"),
        (lambda arrays, _: arrays.update(prior=arrays["prior"][:, None]), "prior is not a column of finite numbers"),
        (lambda arrays, _: arrays.update(prior=arrays["prior"] + np.nan), "prior is not a column of finite numbers"),
        (lambda arrays, _: arrays.update(prior=arrays["prior"][:-1]), "do not fit together"),
        (lambda _, settings: settings.update(tags=["A"]), "do not fit together"),
        (lambda _, settings: settings.update(tags=["A", 7]), "words or tags are missing"),
        (lambda _, settings: settings.update(words="words"), "words or tags are missing"),
    ],
)
def test_arrays_and_settings_that_are_no_grammar(grammar: LatentGrammar, change: Change, message: str) -> None:
    arrays, settings = grammar.arrays(), grammar.settings()
    change(arrays, settings)
    with pytest.raises(ValueError, match=message):
        LatentGrammar.from_arrays(arrays, settings, FAMILY, grammar.options)


def test_parts_that_number_rules_otherwise_are_refused(grammar: LatentGrammar) -> None:
    with pytest.raises(ValueError, match="must number the same rules"):
        replace(grammar, plain=relative_frequencies(columns(SENTENCES)))
    with pytest.raises(ValueError, match="do not fit together"):
        LatentGrammar.from_arrays(grammar.arrays(), grammar.settings(), FAMILY[:-1], grammar.options)
