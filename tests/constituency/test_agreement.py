"""Judgements that agree, against sums over all trees of a sentence."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase, SpanOptions
from spectral_latent.constituency.agreement import agreed
from spectral_latent.constituency.grammar import PhraseEvidence, PhraseItems
from spectral_latent.constituency.spans import SpanModel
from spectral_latent.constituency.tree import ChainLabels, Constituent, list_constituents
from spectral_latent.model.parts import Parts
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, Rules
from tests.constituency.test_forests import BINARISATIONS, derived, options, trees
from tests.constituency.test_spans import with_spans

EVERYTHING = SpanOptions(least=1e-300)
SENTENCES = st.lists(st.sampled_from("ab"), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def parser() -> ConstituencyModel:
    return ConstituencyModel.train(trees(), [replace(options(each), fragments=0.0) for each in BINARISATIONS[:3]])


def judging(parser: ConstituencyModel, seed: int, **settings: float) -> ConstituencyModel:
    """Let a model of spans with random weights judge all constituents."""
    weights = np.random.default_rng(seed).normal(0.0, 0.3, len(SpanModel.plain().weights))
    return with_spans(parser, SpanModel(0.8, weights), replace(EVERYTHING, **settings))


def posteriors(weights: dict[Phrase, float]) -> dict[Constituent, float]:
    """Sum up the shares of the trees that have each constituent."""
    total = sum(weights.values())
    found: dict[Constituent, float] = {}
    for tree, weight in weights.items():
        for part in set(list_constituents(tree)):
            found[part] = found.get(part, 0.0) + weight / total
    return found


def mean(parts: list[dict[Constituent, float]]) -> dict[Constituent, float]:
    return {part: sum(each.get(part, 0.0) for each in parts) / len(parts) for each in parts for part in each}


@given(SENTENCES, st.integers(0, 1000), st.floats(0.1, 6.0))
@settings(max_examples=12)
def test_every_tree_weighs_more_by_what_its_constituents_gain(
    parser: ConstituencyModel, words: list[str], seed: int, step: float
) -> None:
    assume(all(member.charts([words]).is_derived.all() for member in parser.members))
    weights = [derived(member, words) for member in parser.members]
    before = mean([posteriors(of_grammar) for of_grammar in weights])
    alone = judging(parser, seed, step=0.0).posteriors(words)
    gain = {part: step * (alone[part] - before[part]) for part in alone}
    again = [
        {
            tree: weight * float(np.exp(sum(gain[part] for part in list_constituents(tree))))
            for tree, weight in of_grammar.items()
        }
        for of_grammar in weights
    ]
    after = mean([posteriors(of_grammar) for of_grammar in again])
    found = judging(parser, seed, step=step).posteriors(words)
    assert found == pytest.approx({part: (alone[part] + after[part]) / 2 for part in alone}, rel=1e-6, abs=1e-9)


def test_a_judgement_stays_where_likely_items_make_no_tree(parser: ConstituencyModel) -> None:
    words = list("abab")
    certain = judging(parser, 1, least=0.999)
    assert certain.posteriors(words) == judging(parser, 1, least=0.999, step=0.0).posteriors(words)
    assert judging(parser, 1).posteriors(words) != judging(parser, 1, step=0.0).posteriors(words)


def items_of_weights(*weights: float) -> PhraseItems:
    """Make the items of a sentence of one word with a derivation of each weight, each by a symbol of its own."""
    n = len(weights)
    leaf = np.stack([np.arange(n), np.zeros(n, dtype=int)], axis=1)
    rules = Rules(leaf, np.empty((0, 2), int), np.empty((0, 3), int))
    operators = ObservableOperators(
        rules, np.ones(n, dtype=int), np.ones((n, 1)), np.array(weights)[:, None], np.empty((0, 1, 1)), []
    )
    none, zeros = np.full(n, -1), np.zeros(n, dtype=int)
    forest = Forest(np.arange(n), np.arange(n + 1), np.arange(n), none, none, np.arange(n), zeros)
    shares = np.abs(np.array(weights) / sum(weights))
    parts = Parts(zeros, zeros, zeros + 1, np.arange(n), shares)
    return PhraseItems(ConstituencyOptions(), operators, forest, np.ones(n), parts, np.array([True]))


def test_posteriors_above_one_are_judged_as_one() -> None:
    """Derivations of the weights 1.5 and -0.5: a judgement near 1 does not speak against a posterior of 1.5."""
    items = items_of_weights(1.5, -0.5)
    chains = items.constituents()
    labels = ChainLabels([("A",), ("B",)])
    labelled = labels.split(chains)
    np.testing.assert_allclose(labelled.parts.posterior, [1.5, 0.5])
    judgement = np.array([0.99, 0.2])
    evidence = PhraseEvidence(["a"], np.array([0, 1]), [items], chains, labels, labelled, EVERYTHING)
    found = agreed(labelled.parts._replace(posterior=judgement), evidence).posterior
    weights = np.exp(3.5 * np.array([-0.01, -0.3])) * [1.5, -0.5]
    np.testing.assert_allclose(found, (judgement + np.minimum(np.abs(weights / weights.sum()), 1.0)) / 2)
