"""All latent tree models are one kind of model: what they draw has the probabilities that they give."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest

from spectral_latent import ConstituencyModel, DependencyModel, GraphModel, LatentHMM, LatentTagger, LatentTreeModel
from spectral_latent.constituency import ConstituencyOptions, Phrase
from spectral_latent.dependency import DependencyOptions, DependencySentence
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.model import Parse, Parses, check_words
from spectral_latent.model.parts import Parts
from spectral_latent.sequence import HMMOptions, TaggerOptions
from spectral_latent.trees import MISSING
from tests.toy import toy_treebank

ESTIMATOR = EstimatorOptions("clusters-em", n_states=2)
N = 5_000
TREES = [
    DependencySentence.of(["big", "dogs", "bark"], ["J", "N", "V"]).with_heads((2, 3, 0)),
    DependencySentence.of(["dogs", "bark", "now"], ["N", "V", "R"]).with_heads((2, 0, 2)),
    DependencySentence.of(["bark", "now"], ["V", "R"]).with_heads((0, 1)),
]
TAGGED = [
    [("the", "D"), ("dog", "N"), ("runs", "V")],
    [("dogs", "N"), ("run", "V")],
    [("it", "N"), ("run", "V")],
]


def phrase(*words: str) -> Phrase:
    return Phrase("S", tuple(Phrase(word[0].upper(), (word,)) for word in words))


def pair(left: str, right: Any) -> nx.DiGraph:
    graph = nx.DiGraph([(0, 1), (0, 2)])
    graph.add_node(0, label="pair")
    graph.add_node(1, label="one", observation=left)
    graph.add_node(2, label="one", observation=right)
    return graph


def phrases() -> ConstituencyModel:
    trees = [phrase("a", "b"), phrase("a", "c"), phrase("d", "c"), phrase("d", "c", "b")]
    options = ConstituencyOptions(estimator=ESTIMATOR, rows=0.0)
    return ConstituencyModel.train(trees * 300, [options, options])


def arcs() -> DependencyModel:
    return DependencyModel.train(TREES * 300, DependencyOptions(estimator=ESTIMATOR))


def tags() -> LatentTagger:
    return LatentTagger.train(TAGGED * 300, TaggerOptions(ESTIMATOR, beam=0.0, threshold=0.0))


def spectral_tags() -> LatentTagger:
    return LatentTagger.train(TAGGED * 300, TaggerOptions(EstimatorOptions("spectral", n_states=2)))


def chains() -> LatentHMM:
    return LatentHMM.train(["ab", "aab", "abb", "b"] * 100, HMMOptions(ESTIMATOR, choose_states=False))


def spectral_chains() -> LatentHMM:
    options = HMMOptions(EstimatorOptions("spectral", n_states=2), choose_states=False)
    return LatentHMM.train(["ab", "aab", "abb", "b"] * 100, options)


def graphs() -> GraphModel:
    return GraphModel.train([pair("x", "y"), pair("z", "z"), pair("z", "x")] * 50, ESTIMATOR)


def key(tree: Any) -> Any:
    """Name a tree by its parts; graphs by their observations."""
    if isinstance(tree, nx.DiGraph):
        return tuple(data.get("observation") for _, data in tree.nodes(data=True))
    return tree if isinstance(tree, Phrase) else (tree.forms, tree.heads)


@pytest.mark.parametrize("make", [phrases, arcs, graphs])
def test_trees_are_drawn_as_often_as_their_probability_says(make: Any) -> None:
    """Unseen words have a small share of the probability, which is never drawn: at most 2 % of each of four words."""
    model = make()
    assert isinstance(model, LatentTreeModel)
    drawn = model.sample(N, np.random.default_rng(0))
    times = Counter(map(key, drawn))
    of_key = {key(tree): tree for tree in drawn}
    common = [name for name, n in times.most_common(8) if n > N / 100]
    assert len(common) >= 3
    expected = np.exp(model.score([of_key[name] for name in common]).log)
    found = np.array([times[name] / N for name in common])
    assert found == pytest.approx(expected, rel=0.1, abs=4 * np.sqrt(0.25 / N))
    again = model.sample(50, np.random.default_rng(7))
    assert list(map(key, again)) == list(map(key, model.sample(50, np.random.default_rng(7))))


@pytest.mark.parametrize("make", [phrases, arcs, tags, spectral_tags, chains, spectral_chains, graphs])
def test_what_is_drawn_can_be_scored_and_is_possible(make: Any) -> None:
    model = make()
    drawn = model.sample(200, np.random.default_rng(0))
    found = model.score(drawn)
    assert len(drawn) == len(found.log) == 200 and np.isfinite(found.log).all() and (found.sign != 0).all()
    assert (found.sign == 1).all() or not model.members[0].probabilities


def test_the_only_tree_of_a_sequence_without_tags() -> None:
    hmm = chains()
    assert hmm.parse("ab").tree == ["a", "b"] and hmm.parse("ab").log == pytest.approx(hmm.score(["ab"]).log[0])
    for model in (tags(), hmm):
        assert isinstance(model, LatentTreeModel) and model.parse([]) == next(model.parse_all([[]]))[0]


def test_a_long_text_in_the_place_of_words_is_shown_in_part() -> None:
    with pytest.raises(TypeError, match=r"not the string 'x{57}\.\.\.';"):
        check_words("x" * 1000)


def bare(tree: Any) -> Any:
    """The input that a tree derives."""
    if isinstance(tree, Phrase):
        return list(tree.words())
    if isinstance(tree, DependencySentence):
        return tree.without_tree()
    return tree if isinstance(tree, nx.DiGraph) else [each[0] if isinstance(each, tuple) else each for each in tree]


@pytest.mark.parametrize("make", [spectral_tags, chains, spectral_chains, graphs])  # others: tests/identities
def test_one_input_has_one_answer_by_every_verb(make: Any) -> None:
    model = make()
    drawn = [pair("x", "y"), pair("z", MISSING)] if make is graphs else model.sample(12, np.random.default_rng(0))
    inputs = [bare(tree) for tree in drawn]

    def plain(parses: Any) -> list[Any]:
        """Make of parses what can be compared."""
        return [(key(each.tree) if make is graphs else each.tree, each.sign, each.log) for each in parses]

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
    with pytest.raises(ValueError, match="n_best"):
        model.parse_all(inputs, 0)
    with pytest.raises(TypeError, match="colour"):
        model.parse_all(inputs, colour=1)


def test_missing_observations_are_filled_in_by_falling_probability() -> None:
    model = graphs()
    found = model.parse_nbest(pair("z", MISSING), 5)
    posterior = model.predict(pair("z", MISSING))[2]
    names = [parse.tree.nodes[2]["observation"] for parse in found]
    assert names == list(posterior) and model.parse(pair("z", MISSING)).tree.nodes[2]["observation"] == names[0]
    total = np.exp(model.log_probabilities([pair("z", MISSING)]))[0]
    assert sum(np.exp(parse.log) for parse in found) == pytest.approx(total)
    assert list(model.parse_all([pair("z", MISSING)] * 2, 5))[1][0].log == found[0].log


def every_phrase() -> tuple[ConstituencyModel, list[list[str]]]:
    """A parser that prunes nothing, with rows, for which charts have factors but no rules."""
    both = Phrase("S", (phrase("a", "b"), phrase("d", "c")))
    trees = [phrase("a", "b"), phrase("a", "c"), phrase("d", "c", "b"), both]
    options = ConstituencyOptions(estimator=ESTIMATOR, threshold=0.0, beam=0.0)
    sentences = [["a", "b"], ["a", "b", "d", "c"], ["d", "c", "b"]]
    return ConstituencyModel.train(trees * 300, [options, options]), sentences


def every_arc() -> tuple[DependencyModel, list[DependencySentence]]:
    model = DependencyModel.train(TREES * 300, DependencyOptions(estimator=ESTIMATOR, threshold=0.0, beam=0.0))
    grammar = replace(model.grammar, seen=np.ones_like(model.grammar.seen))
    sentences = [tree.without_tree() for tree in TREES] + [DependencySentence.of(["big", "bark"], ["J", "V"])]
    return replace(model, members=(grammar,)), sentences


@pytest.mark.parametrize("make", [every_phrase, every_arc])
def test_the_probability_of_a_sentence_is_the_sum_over_its_trees(make: Any) -> None:
    """For phrases, the sum is also over trees that only rows derive, so that charts give a lower bound."""
    model, sentences = make()
    for sentence in sentences:
        trees = [parse.tree for parse in model.parse_nbest(sentence, 10_000)]
        (found,) = np.exp(model.log_probabilities([sentence]))
        total = np.exp(model.score(trees).log).sum()
        assert 0.0 < found <= total * (1 + 1e-6)
        by_rules = model
        if isinstance(model, ConstituencyModel):
            # Without rows, all numbers are the same but for the factor 1 - ε of each phrase.
            by_rules = model.with_members(lambda each: replace(each, options=replace(each.options, rows=0.0)))
            (found,) = np.exp(by_rules.log_probabilities([sentence]))
        assert found == pytest.approx(np.exp(by_rules.score(trees).log).sum(), rel=1e-6)


def test_a_sentence_has_the_factors_of_its_phrases() -> None:
    model, (two, *_) = every_phrase()
    by_rules = model.with_members(lambda each: replace(each, options=replace(each.options, rows=0.0)))
    found, wanted = (each.log_probabilities([two])[0] for each in (model, by_rules))
    assert found == pytest.approx(wanted + np.log1p(-model.options.rows))


def test_what_is_named_of_several_members_is_that_of_the_first() -> None:
    trees = list(toy_treebank(60))
    single = EstimatorOptions("clusters-em", n_states=1)
    options = [ConstituencyOptions(estimator=each) for each in (single, ESTIMATOR)]
    stages: list[str] = []
    model = ConstituencyModel.train(trees, options, listener=lambda progress: stages.append(progress.stage))
    states = [member.named_operators.operators.states.max() for member in model.members]
    assert states == [1, 2] and model.named_operators.operators.states.max() == 1
    assert model.objective == model.members[0].objective != model.members[1].objective
    assert "up to 2 states" in model.members[1].sizes and "up to 1 state," in model.members[0].sizes
    assert {stage.partition(",")[0] for stage in stages if "grammar" in stage} == {"grammar 1 of 2", "grammar 2 of 2"}
    assert any(stage.endswith("EM") for stage in stages)


def test_a_parse_whose_estimate_is_zero_has_no_share() -> None:
    tree = phrase("a", "b")
    parses = Parses([Parse(tree, 1, -1.0), Parse(tree, 0, 0.0), Parse(tree, -1, 0.0)])
    assert parses.shares == [1.0, 0.0, 0.0]


def test_parts_of_one_sentence() -> None:
    sentence = np.array([0, 0, 1, 2, 2])
    column = np.arange(5)
    parts = Parts(sentence, column, column + 1, column, column / 5)
    for number, labels in ((0, [0, 1]), (1, [2]), (2, [3, 4]), (3, [])):
        found = parts.of_sentence(number)
        assert (found.label.tolist(), found.sentence.tolist()) == (labels, [0] * len(labels))
