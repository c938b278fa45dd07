"""Partial trees that are completed are the E-step of EM over the trees that obey."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spectral_latent.constituency import (
    Binarisation,
    ConstituencyModel,
    ConstituencyOptions,
    PhraseConstraints,
    PhraseSymbol,
    SpanOptions,
    self_train,
)
from spectral_latent.constituency.conversion import convert_trees
from spectral_latent.corpora import parse_brackets, parse_partial
from spectral_latent.estimation import EstimatorOptions, Progress
from spectral_latent.inference import expected_counts
from spectral_latent.model import Partial, complete
from spectral_latent.operators import Counts
from spectral_latent.trees import Rules, Vocabulary
from tests.constituency.test_constraints import TREES, WORDS

KNOWN = [PhraseConstraints(), PhraseConstraints([(0, 2)]), PhraseConstraints(forbidden=[(0, 2)], tags={1: "A"})]


@pytest.fixture(scope="module")
def model() -> ConstituencyModel:
    """A grammar that prunes nothing, and derives every tree in one way."""
    options = ConstituencyOptions(
        estimator=EstimatorOptions("em", n_states=2, iterations=3),
        binarisation=Binarisation("last"),
        threshold=0.0,
        beam=0.0,
        fragments=0.0,
        rows=0.0,
    )
    return ConstituencyModel.train(parse_brackets(TREES * 5), options)


@pytest.mark.parametrize("constraints", KNOWN, ids=range(len(KNOWN)))
def test_the_counts_of_completed_trees_are_those_of_the_restricted_forest(
    model: ConstituencyModel, constraints: PhraseConstraints
) -> None:
    """Binary rules, summed over latent states, as the E-step of the core counts them in the forest."""
    (chart,) = model.chart([model.checked(Partial(tuple(WORDS), constraints))])
    assert chart.is_derived.all()
    table = expected_counts(chart.grammar.latent, chart.joined().forest)
    expected = np.array([table.binary[r].to_dense().sum() for r in range(len(table.rules.binary))])
    pairs = list(complete(model.parse_all([Partial(tuple(WORDS), constraints)], 10_000)))
    trees, weights = zip(*pairs, strict=True)
    assert sum(weights) == pytest.approx(1.0)
    member = model.members[0]
    symbols = Vocabulary[PhraseSymbol](member.symbols)
    converted = convert_trees(trees, member.options.binarisation, symbols, Vocabulary[str]())
    counts = Counts.of_trees(converted.trees, np.array(weights))
    row = Rules.find(table.rules.binary, counts.rules.binary)
    assert (row >= 0).all()
    found = np.zeros_like(expected)
    found[row] = counts.binary.data
    np.testing.assert_allclose(found, expected, atol=1e-6)  # rarer constituents are in no tree


def test_one_tree_weighs_one_and_sentences_without_a_tree_are_left_out(model: ConstituencyModel) -> None:
    known = [*parse_partial("(NP a a) b c"), Partial(tuple(WORDS), PhraseConstraints([(2, 4, "X")]))]
    ((tree, weight),) = complete(model.parse_all(known))
    assert "(NP (" in tree.bracketed()
    assert weight == 1.0
    with pytest.raises(ValueError, match="n_best must be an integer of at least 1"):
        next(complete(model.parse_all(known, 0)))


def test_self_training_is_training_on_what_a_first_parser_finds(model: ConstituencyModel) -> None:
    trees = list(parse_brackets(TREES * 5))
    sentences = [WORDS, [], ["a", "b"]]
    told: list[Progress] = []
    found = self_train(trees, sentences, model.options, weight=0.5, listener=told.append)
    steps = [(each.done, each.total) for each in told if each.stage == "sentences without trees"]
    assert steps == [(0, 2), (1, 2), (2, 2)]
    silver = [parses[0].tree for parses in model.parse_all([words for words in sentences if words])]
    weights = [1.0] * len(trees) + [0.5] * len(silver)
    assert found.fingerprint == ConstituencyModel.train([*trees, *silver], model.options, weights=weights).fingerprint
    assert self_train(trees, sentences, model.options, weight=0.0).fingerprint == model.fingerprint


def test_the_second_parser_keeps_the_model_of_spans_of_the_first(model: ConstituencyModel) -> None:
    trees = list(parse_brackets(TREES * 5))
    options = replace(model.options, spans=SpanOptions(folds=2, iterations=3))
    first, second = ConstituencyModel.train(trees, options), self_train(trees, [WORDS], options)
    assert first.spans is not None and second.spans is not None and first.spans.weights.any()
    assert second.spans.slope == first.spans.slope
    np.testing.assert_array_equal(second.spans.weights, first.spans.weights)
    by_hand = ConstituencyModel.train(
        [*trees, first.parse(WORDS).tree], options, weights=[1.0] * len(trees) + [0.25], spans=first.spans
    )
    assert second.fingerprint == by_hand.fingerprint != first.fingerprint


def test_what_self_training_cannot_use_is_refused_before_anything_is_learnt(model: ConstituencyModel) -> None:
    trees = list(parse_brackets(TREES * 5))
    told: list[Progress] = []
    for weight in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=rf"weight must be .* not {weight}"):
            self_train(trees, [WORDS], model.options, weight=weight, listener=told.append)
    with pytest.raises(TypeError, match="not the string 'a b'"):
        self_train(trees, [WORDS, "a b"], model.options, listener=told.append)
    assert not told
