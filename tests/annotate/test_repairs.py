"""Doubtful labels of a treebank, and broken bracket strings that are mended."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import ConstituencyModel, Phrase, unknown_phrase
from spectral_latent.constituency.tree import Constituent, list_constituents
from spectral_latent_annotate import check_trees, repair
from spectral_latent_annotate._repairs import believe, read_brackets, with_given
from tests.toy import toy_treebank

TREES = toy_treebank(120)


@pytest.fixture(scope="module")
def model() -> ConstituencyModel:
    return ConstituencyModel.train(TREES)


@given(
    brackets=st.text("()NPV dogsa", max_size=40),
    words=st.lists(st.sampled_from(["dogs", "a", "N"]), min_size=1, max_size=5),
)
def test_any_string_gives_a_tree_over_the_words(model: ConstituencyModel, brackets: str, words: list[str]) -> None:
    mended = repair(model, words, brackets)
    assert list(mended.tree.words()) == words
    given, found = set(read_brackets(brackets, words, set(model.members[0].tags))), set(list_constituents(mended.tree))
    assert set(mended.dropped) == given - found and set(mended.added) == found - given


def test_brackets_without_partners_and_other_words_are_passed_over() -> None:
    words = ["the", "dog", "barks"]
    found = [
        Constituent(0, 1, "DT", True),
        Constituent(0, 2, "NP", False),
        Constituent(2, 3, "VP", False),
        Constituent(0, 3, "S", False),
    ]
    for text in (
        "(S (NP-SBJ (DT the) (old dog)) (VP barks)))",
        "(S (NP (DT the) dog) (VP loudly barks",
        "(S (NP (DT the) () dog) (VP barks))",
    ):
        assert [part for part in read_brackets(text, words, {"DT"}) if part.label != "old"] == found
    assert read_brackets("", words, {"DT"}) == read_brackets("cats sleep", words, {"DT"}) == []


def test_a_whole_tree_stays_and_a_string_that_tells_nothing_is_parsed(model: ConstituencyModel) -> None:
    for tree in TREES[:10]:
        words = list(tree.words())
        assert repair(model, words, tree.bracketed()).tree == tree
        assert repair(model, words, "").tree == model.parse(words).tree


def test_given_brackets_that_no_chart_has_are_candidates(model: ConstituencyModel) -> None:
    words = ["the", "dog", "barks", "."]
    odd = Constituent(1, 3, "PP", False)
    inputs = [unknown_phrase(words)]
    found_parts = model.find_parts(inputs, model.chart(inputs))
    for constituents, posterior in ([], 0.0), ([odd, Constituent(0, 2, "NP", False)], 5e-3):
        parts = with_given(model, found_parts, [constituents]).parts
        found = dict(zip(model.labels.named(parts), parts.posterior.tolist(), strict=True))
        assert found.get(odd, 0.0) == posterior
        assert found[Constituent(0, 2, "NP", False)] > 0.5


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), min_size=1, max_size=30))
def test_belief_is_bayes_rule_with_rates_that_fit_it(candidates: list[tuple[float, bool]]) -> None:
    p, is_given = map(np.array, zip(*candidates, strict=True))
    q = believe(p, is_given)
    assert ((q >= 0.0) & (q <= 1.0)).all()
    assert (q[p == 0.0] == 0.0).all()
    odds = np.full(len(p), np.nan)
    inside = (p > 1e-6) & (p < 1.0 - 1e-6) & (q > 1e-9) & (q < 1.0 - 1e-9)
    odds[inside] = q[inside] / (1.0 - q[inside]) * (1.0 - p[inside]) / p[inside]
    for kind in (is_given, ~is_given):  # one factor of the odds for all that are given, and one for all others
        known = odds[inside & kind]
        if len(known):
            np.testing.assert_allclose(known, known[0], rtol=1e-3)
    if (inside & is_given).any() and (inside & ~is_given).any():
        assert odds[inside & is_given][0] > odds[inside & ~is_given][0] * (1.0 - 1e-4)


def relabelled(tree: Phrase, which: int, label: str) -> Phrase:
    """Change the label of the n-th phrase of a tree, counted from the top."""
    numbers = iter(range(1000))

    def change(node: Phrase) -> Phrase:
        name = label if next(numbers) == which else node.label
        return Phrase(name, tuple(change(x) if isinstance(x, Phrase) else x for x in node.children))

    return change(tree)


def test_planted_labels_are_the_most_doubtful() -> None:
    planted = {5: (1, "VP"), 40: (2, "IN"), 80: (1, "PP")}
    trees = [relabelled(tree, *planted[at]) if at in planted else tree for at, tree in enumerate(TREES)]
    doubts = check_trees(trees)
    assert {doubt.tree for doubt in doubts[:3]} == set(planted)
    for doubt in doubts[:3]:
        assert doubt.constituent.label == planted[doubt.tree][1]
        assert doubt.instead[1] > doubt.posterior
        assert doubt.instead[0] in list_constituents(TREES[doubt.tree])
