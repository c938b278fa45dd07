"""Tagging scores against NLTK, and unsupervised measures against hand calculations and brute force."""

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.evaluation import TaggingScore, many_to_one, one_to_one, score_tags, v_measure

Tagged = list[tuple[str, str]]

WORD, TAG = st.sampled_from("abc"), st.sampled_from("NVD")
TRIPLES = st.lists(st.lists(st.tuples(WORD, TAG, TAG), max_size=5), max_size=5)
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("wxyz")), min_size=1, max_size=12)


def split(triples: list[list[tuple[str, str, str]]]) -> tuple[list[Tagged], list[Tagged]]:
    gold = [[(word, tag) for word, tag, _ in sentence] for sentence in triples]
    return gold, [[(word, tag) for word, _, tag in sentence] for sentence in triples]


@given(TRIPLES, st.sets(WORD))
def test_score_is_a_count(triples: list[list[tuple[str, str, str]]], known: set[str]) -> None:
    gold, predicted = split(triples)
    tokens = [token for sentence in triples for token in sentence]
    unknown = [token for token in tokens if token[0] not in known]
    score = score_tags(gold, predicted, known)
    assert score.tokens == len(tokens)
    assert score.correct == sum(a == b for _, a, b in tokens)
    assert score.unknown == len(unknown)
    assert score.unknown_correct == sum(a == b for _, a, b in unknown)
    assert score == score_tags(iter(gold), iter(predicted), list(known))
    assert score == sum((score_tags([a], [b], known) for a, b in zip(gold, predicted, strict=True)), TaggingScore())
    mixed = score.unknown * score.unknown_accuracy + (score.tokens - score.unknown) * score.known_accuracy
    assert score.tokens * score.accuracy == pytest.approx(mixed)
    everything = score_tags(gold, predicted)
    assert (everything.unknown, everything.correct) == (0, score.correct)


@pytest.mark.parametrize(
    ("gold", "found", "place"), [("a b", "a c", "sentence 2"), ("ab", "a", "sentence 1"), ("a b", "a", "shorter")]
)
def test_sentences_must_agree(gold: str, found: str, place: str) -> None:
    with pytest.raises(ValueError, match=place):
        score_tags(*([[(word, "A") for word in row] for row in text.split()] for text in (gold, found)))


def entropy(counts: list[int]) -> float:
    return -sum(count / sum(counts) * math.log(count / sum(counts)) for count in counts if count)


def given_other(pairs: list[tuple[object, object]]) -> float:
    """H(X|Y) of pairs (x, y), as the mean over y of the entropy of x."""
    total = 0.0
    for y, count in Counter(y for _, y in pairs).items():
        total += count / len(pairs) * entropy(list(Counter(x for x, other in pairs if other == y).values()))
    return total


@pytest.mark.parametrize("measure", [many_to_one, one_to_one])
@given(pairs=PAIRS)
def test_the_best_mapping_is_found_by_brute_force(measure: Any, pairs: list[tuple[int, str]]) -> None:
    gold, predicted = zip(*pairs, strict=True)
    labels, tags = sorted(set(predicted)), sorted(set(gold))
    if measure is many_to_one:
        mappings = {*itertools.product(tags, repeat=len(labels))}
    else:
        mappings = {*itertools.permutations([*tags, *[None] * len(labels)], len(labels))}
    best = max(sum(mapping[labels.index(k)] == c for c, k in pairs) for mapping in mappings)
    assert measure(gold, predicted) == pytest.approx(100 * best / len(pairs))


@given(PAIRS, st.sampled_from([0.5, 1.0, 2.0]))
def test_v_measure_by_its_definition(pairs: list[tuple[int, str]], beta: float) -> None:
    gold, predicted = zip(*pairs, strict=True)
    of_gold, of_predicted = (entropy(list(Counter(labels).values())) for labels in (gold, predicted))
    h = 1 - given_other(list(pairs)) / of_gold if of_gold else 1.0
    c = 1 - given_other([(k, c) for c, k in pairs]) / of_predicted if of_predicted else 1.0
    expected = (1 + beta) * h * c / (beta * h + c) if h > 1e-12 and c > 1e-12 else 0.0
    assert v_measure(gold, predicted, beta) == pytest.approx(100 * expected, abs=1e-9)


@given(PAIRS, st.permutations(range(4)))
def test_identities(pairs: list[tuple[int, str]], names: list[int]) -> None:
    gold, predicted = zip(*pairs, strict=True)
    renamed = [names["wxyz".index(label)] for label in predicted]
    for measure in (many_to_one, one_to_one, v_measure):
        with pytest.raises(ValueError):
            measure(gold, [*predicted, "w"])
        value = measure(gold, predicted)
        assert 0.0 <= value <= 100.0
        assert measure(gold, renamed) == pytest.approx(value)
        assert measure(gold, gold) == 100.0
        assert measure(np.array(gold), np.array(renamed)) == pytest.approx(value)
    assert one_to_one(gold, predicted) == one_to_one(predicted, gold) <= many_to_one(gold, predicted)
    assert v_measure(gold, predicted) == pytest.approx(v_measure(predicted, gold), abs=1e-9)
    assert v_measure(gold, predicted, 2.0) == pytest.approx(v_measure(predicted, gold, 0.5), abs=1e-9)
    assert many_to_one(gold, range(len(gold))) == 100.0
