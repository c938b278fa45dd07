"""All latent tree models are one kind of model; see also `tests/identities`."""

from dataclasses import replace
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pytest

from spectral_latent import GraphModel, LatentHMM, LatentTagger
from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.model.parses import check_labels, check_words
from spectral_latent.model.parts import Parts
from spectral_latent.model.surprisal import NextWords
from spectral_latent.sequence import HMMOptions, TaggerOptions
from spectral_latent.trees import MISSING
from tests.toy import toy_treebank

ESTIMATOR = EstimatorOptions("clusters-em", n_states=2)
TAGGED = [
    [("the", "D"), ("dog", "N"), ("runs", "V")],
    [("dogs", "N"), ("run", "V")],
    [("it", "N"), ("run", "V")],
]


def pair(left: str, right: Any) -> nx.DiGraph:
    graph = nx.DiGraph([(0, 1), (0, 2)])
    graph.add_node(0, label="pair")
    graph.add_node(1, label="one", observation=left)
    graph.add_node(2, label="one", observation=right)
    return graph


@cache
def spectral_tags() -> LatentTagger:
    return LatentTagger.train(TAGGED * 300, TaggerOptions(EstimatorOptions("spectral", n_states=2)))


@cache
def chains() -> LatentHMM:
    return LatentHMM.train(["ab", "aab", "abb", "b"] * 100, HMMOptions(ESTIMATOR, choose_states=False))


@cache
def spectral_chains() -> LatentHMM:
    options = HMMOptions(EstimatorOptions("spectral", n_states=2), choose_states=False)
    return LatentHMM.train(["ab", "aab", "abb", "b"] * 100, options)


@cache
def graphs() -> GraphModel:
    return GraphModel.train([pair("x", "y"), pair("z", "z"), pair("z", "x")] * 50, ESTIMATOR)


@pytest.mark.parametrize("make", [spectral_tags, chains, spectral_chains, graphs])  # others: tests/identities
def test_one_input_has_one_answer_by_every_verb(make: Any) -> None:
    model = make()
    drawn = [pair("x", "y"), pair("z", MISSING)] if make is graphs else model.sample(12, np.random.default_rng(0))
    inputs = [[word for word, _ in row] for row in drawn] if make is spectral_tags else drawn

    def plain(parses: Any) -> list[Any]:
        """Make of parses what can be compared: of graphs, the names of the nodes and their observations."""
        trees = [list(each.tree.nodes(data="observation")) if make is graphs else each.tree for each in parses]
        return [(tree, each.sign, each.log) for tree, each in zip(trees, parses, strict=True)]

    together = [plain(parses) for parses in model.parse_all(inputs, 2)]
    assert together == [plain(parses) for parses in model.parse_all(iter(inputs), 2, jobs=2)]
    log = model.log_probabilities(inputs)
    for given, several, p in zip(inputs, together, log, strict=True):
        assert plain(model.parse_nbest(given, 2)) == several
        best = model.parse(given)
        assert plain([best]) == plain(model.parse_nbest(given, 1)) == plain(next(model.parse_all([given])))
        found = model.score([best.tree])
        assert (best.sign, best.log) == (found.sign[0], pytest.approx(found.log[0], rel=1e-9))
        assert p == pytest.approx(model.log_probabilities([given])[0], rel=1e-9)
    weight = model.score(drawn[:1] if make is graphs else drawn)
    assert np.isfinite(weight.log).all() and (weight.sign != 0).all()


def test_missing_observations_are_filled_in_by_falling_probability() -> None:
    model = graphs()
    found = model.parse_nbest(pair("z", MISSING), 5)
    posterior = model.predict(pair("z", MISSING))[2]
    names = [parse.tree.nodes[2]["observation"] for parse in found]
    assert names == list(posterior) and model.parse(pair("z", MISSING)).tree.nodes[2]["observation"] == names[0]
    total = np.exp(model.log_probabilities([pair("z", MISSING)]))[0]
    assert sum(np.exp(parse.log) for parse in found) == pytest.approx(total)
    assert list(model.parse_all([pair("z", MISSING)] * 2, 5))[1][0].log == found[0].log


@pytest.mark.parametrize(
    ("words", "error", "says"),
    [
        (b"dogs", TypeError, "give a list of words"),
        (iter(["dogs"]), TypeError, "give a list of words"),
        (["dogs", ""], ValueError, "word 2 .* is empty"),
        (["\ud800", "dogs"], ValueError, "word 1 .* half a character"),
        (["dogs", "a\tb"], ValueError, "word 2 .* divide the word"),
    ],
)
def test_what_is_no_sentence_is_refused(words: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        check_words(words)


def test_parts_of_one_sentence() -> None:
    sentence = np.array([0, 0, 1, 2, 2])
    column = np.arange(5)
    parts = Parts(sentence, column, column + 1, column, column / 5)
    for number, labels in ((0, [0, 1]), (1, [2]), (2, [3, 4]), (3, [])):
        found = parts.of_sentence(number)
        assert (found.label.tolist(), found.sentence.tolist()) == (labels, [0] * len(labels))


def test_members_without_a_tree_have_no_part_in_posteriors() -> None:
    """Of several inputs at once; their probability is zero, which halves the mean."""
    trees = toy_treebank(60)
    first, second = ConstituencyModel.train(trees, [ConstituencyOptions(ESTIMATOR)] * 2).members
    nothing = second.with_operators(replace(second.operators, leaf=np.zeros_like(second.operators.leaf)))
    alone, both = ConstituencyModel((first,)), ConstituencyModel((first, nothing))
    inputs = [list(tree.words()) for tree in trees[:3]]
    assert [parses[0].tree for parses in both.parse_all(inputs)] == [
        parses[0].tree for parses in alone.parse_all(inputs)
    ]
    assert both.posteriors(inputs[0]) == pytest.approx(alone.posteriors(inputs[0]))
    np.testing.assert_allclose(both.log_probabilities(inputs), alone.log_probabilities(inputs) - np.log(2.0))


@pytest.mark.parametrize(("label", "is_half"), [("S x", False), ("S\u3000", False), ("S\udfff", True), ("", False)])
def test_labels_that_no_file_can_hold_are_named(label: str, is_half: bool) -> None:
    with pytest.raises(ValueError, match="the label") as raised:
        check_labels([label])
    assert ("half" in str(raised.value)) == is_half


def test_a_member_that_gives_a_beginning_no_probability_has_no_say_in_what_follows() -> None:
    one = NextWords(np.array([0.0, -np.inf]), np.array([[0.5, 0.5], [np.nan, np.nan]]))
    other = NextWords(np.array([0.0, 0.0]), np.array([[1.0, 0.0], [0.25, 0.75]]))
    np.testing.assert_allclose(NextWords.mean([one, other]).following, [[0.75, 0.25], [0.25, 0.75]])
