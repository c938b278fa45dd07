"""Sequences under hidden Markov models and automata: plain loops, sums over strings, and one model in two forms."""

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.automata import AutomatonOptions, WeightedAutomaton
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence import HMMOptions, LatentHMM, LatentTagger, TaggerOptions

STRINGS = [list(text) for text in ("ab", "abab", "aab", "b", "abb", "ba", "bab") for _ in range(10)]
EM = EstimatorOptions("clusters-em", n_states=2, iterations=6)
SHORT = [list(string) for n in range(1, 6) for string in product("ab", repeat=n)]


@cache
def hmm() -> LatentHMM:
    return LatentHMM.train(STRINGS, HMMOptions(EM, choose_states=False))


@cache
def automaton() -> WeightedAutomaton:
    return WeightedAutomaton.train(STRINGS, AutomatonOptions(2, estimator="em"))


def test_an_automaton_is_the_hidden_markov_model_that_it_is_made_of() -> None:
    """But for unseen symbols, which it leaves out: as a distribution, it gives their share to all other strings."""
    model, made = hmm(), WeightedAutomaton.of_hmm(hmm())
    np.testing.assert_allclose([made(string) for string in SHORT], np.exp(model.log_probabilities(SHORT)), rtol=1e-9)
    gained = made.log_probabilities(SHORT) - model.log_probabilities(SHORT)
    np.testing.assert_allclose(gained, gained[0], atol=1e-9)
    assert 0.0 <= gained[0] < 0.02


@pytest.mark.parametrize("make", [hmm, automaton], ids=["hidden Markov model", "automaton"])
def test_all_strings_have_at_most_probability_one(make: Any) -> None:
    model = make()
    strings = [list(string) for n in range(1, 13) for string in product("ab", repeat=n)]
    total = np.exp(model.log_probabilities(strings)).sum()
    assert 0.95 < total < 1.0 + 1e-9


@pytest.mark.parametrize("make", [hmm, automaton], ids=["hidden Markov model", "automaton"])
def test_score_surprisal_and_parse_give_one_probability(make: Any) -> None:
    model = make()
    logs = model.log_probabilities(SHORT)
    np.testing.assert_allclose(model.score(SHORT).log, logs, rtol=1e-9)
    np.testing.assert_allclose([model.parse(string).log for string in SHORT], logs, rtol=1e-6)
    found = [model.surprisal(string, "nats") for string in SHORT]
    np.testing.assert_allclose([each.sentence for each in found], -logs, rtol=1e-6)


def test_paths_of_a_tagger_are_all_tag_sequences() -> None:
    """Σ over paths = p(words), and the posteriors of tags are shares of the paths."""
    pairs = [[(symbol, symbol.upper() if at % 2 else "X") for at, symbol in enumerate(string)] for string in STRINGS]
    model = LatentTagger.train(pairs, TaggerOptions(EM))
    for string in SHORT[:14]:
        sequences = [list(zip(string, tags, strict=True)) for tags in product(model.tags, repeat=len(string))]
        p = np.exp(model.joint_log_probabilities(sequences))
        (log,) = model.log_probabilities([string])
        assert p.sum() == pytest.approx(np.exp(log), rel=1e-3)
        posteriors = model.posteriors(string)
        for at, k in product(range(len(string)), range(len(model.tags))):
            share = sum(each for row, each in zip(sequences, p, strict=True) if row[at][1] == model.tags[k]) / p.sum()
            assert posteriors[at, k] == pytest.approx(share, abs=2e-3)


def test_tags_of_anchors_are_the_likeliest_states() -> None:
    words = [list("abcab"), list("cab"), list("bca"), list("aabb")] * 20
    model = AnchorHMM.train(words, AnchorOptions(n_states=2))
    for sentence in (["a"], ["a", "b"], ["c", "a", "b"]):
        posteriors = model.posteriors(sentence)
        np.testing.assert_allclose(posteriors.sum(axis=1), 1.0, atol=1e-9)
        assert next(iter(model.tag_all([sentence]))) == [model.tags[k] for k in posteriors.argmax(axis=1)]
