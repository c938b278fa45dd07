"""The latent hidden Markov model from end to end."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent._names import EstimatorName
from spectral_latent.automata import WeightedAutomaton
from spectral_latent.estimation import EstimationError, EstimatorOptions
from spectral_latent.files import ModelFileError, load_model, save_model
from spectral_latent.sequence import END, HMMOptions, LatentHMM, LatentTagger, StateTagger, TaggerOptions
from tests.sequence.hmms import all_strings, draw_strings, forward_backward, paths, random_hmm

Corpus = list[list[tuple[str, Hashable]]]
CORPUS: Corpus = [
    [("the", "D"), ("dog", "N"), ("barks", "V")],
    [("the", "D"), ("cat", "N"), ("sees", "V"), ("a", "D"), ("dog", "N")],
    [("dogs", "N"), ("bark", "V")],
    [("it", "P"), ("barks", "V")],
    [("yes", "I")],
]


def options(estimator: EstimatorName = "spectral", n_states: int = 2) -> TaggerOptions:
    return TaggerOptions(EstimatorOptions(estimator, n_states=n_states))


def hmm_options(estimator: EstimatorName = "spectral", n_states: int | None = 2) -> HMMOptions:
    """Options with a number of states, or with one that is chosen."""
    most = EstimatorOptions(estimator, n_states=n_states or 32)
    return HMMOptions(most, choose_states=n_states is None)


@pytest.fixture(scope="module", params=["spectral", "clusters-em"])
def tagger(request: pytest.FixtureRequest) -> LatentTagger:
    """One with estimates that may be negative, and one with probabilities."""
    return LatentTagger.train(CORPUS * 4, options(request.param))


@pytest.fixture(scope="module")
def strings() -> list[list[int]]:
    rng = np.random.default_rng(0)
    return draw_strings(random_hmm(rng, 2, 3), 200, rng)


@pytest.fixture(scope="module")
def with_states(strings: list[list[int]]) -> LatentHMM:
    return LatentHMM.train(strings, hmm_options("em"))


# ---------------------------------------------------------------------------------------------------------------------
# Tagging


@pytest.mark.parametrize("known", [["X", None, None], [None, {"X", "Y"}, "X"], [{"Y"}, None, {"X"}]])
def test_posteriors_given_known_tags_are_those_of_the_ways_to_tag(known: list[Any]) -> None:
    """Brute force over all ways to tag a sentence that have the known tags; paths are the likeliest of them."""
    corpus = [[("a", "X"), ("b", "Y"), ("a", "X")], [("c", "Y"), ("b", "X"), ("c", "Z")], [("a", "Y")]] * 20
    estimator = EstimatorOptions("clusters-em", n_states=1, iterations=20, state_smoothing=0.0)
    model = LatentTagger.train(corpus, TaggerOptions(estimator=estimator, beam=0.0, threshold=0.0))
    sentence = ["a", "b", "c"]
    allowed = [model.tags if entry is None else [entry] if isinstance(entry, str) else sorted(entry) for entry in known]
    ways = list(itertools.product(*allowed))
    weight = np.exp(model.joint_log_probabilities([list(zip(sentence, tags, strict=True)) for tags in ways]))
    share = weight / weight.sum()
    expected = [[share[[tags[i] == tag for tags in ways]].sum() for tag in model.tags] for i in range(3)]
    np.testing.assert_allclose(
        model.posteriors(sentence, known), expected, rtol=1e-6, atol=1e-9
    )  # joint ones are scaled to sum to one
    (best, log), *_ = model.paths(sentence, 1, known)
    assert tuple(best) == ways[int(share.argmax())] and log == pytest.approx(np.log(share.max()), abs=1e-5)
    drawn = model.draw(sentence, np.random.default_rng(0), known)
    assert tuple(drawn) in ways


def test_known_tags_that_do_not_fit(tagger: LatentTagger) -> None:
    words = ["the", "dog"]
    for known in ([None], [None, "no tag"], [set(), None]):
        with pytest.raises(ValueError, match="known"):
            tagger.tag(words, known)
    assert tagger.tag(["the", "Zürich"], [None, "D"])[1] == "D"  # never seen, and not with this tag


def test_unknown_tags_are_those_that_a_first_tagger_finds() -> None:
    """Which learns from the sentences whose tags are known."""
    estimator = EstimatorOptions("clusters-em", n_states=1)
    hidden = [*CORPUS * 4, [("the", "D"), ("cat", None), ("barks", {"V", "N"})]]
    found, whole = (
        train(rows, TaggerOptions(estimator))
        for train, rows in (
            (LatentTagger.train_partly, hidden),
            (LatentTagger.train, [*CORPUS * 4, [("the", "D"), ("cat", "N"), ("barks", "V")]]),
        )
    )
    rows = [row for row in CORPUS if len(row) > 1]
    np.testing.assert_allclose(found.joint_log_probabilities(rows), whole.joint_log_probabilities(rows), rtol=1e-9)


def test_empty_sequences(tagger: LatentTagger, with_states: LatentHMM) -> None:
    assert list(tagger.tag_all([[], []])) == [[], []]
    assert tagger.paths([], 3) == [([], 0.0)]
    assert tagger.posteriors([]).shape == (0, 5)
    dog = [("dog", "N")]
    assert (
        tagger.parse([]) == tagger.parse_nbest([], 3)[0] == next(tagger.parse_all([[]]))[0] == ([], 0, -np.inf, False)
    )
    log = tagger.log_probabilities([["dog"], [], ["dog"]])
    assert np.isneginf(log[1]) and log[0] == log[2] == tagger.log_probabilities([["dog"]])[0]
    for ask in (lambda trees: tagger.score(trees).log, tagger.joint_log_probabilities):
        log = ask([dog, [], dog])
        assert np.isneginf(log[1]) and log[0] == log[2] == ask([dog])[0] and np.isneginf(ask([[]])[0])
    assert with_states.tagger.posteriors([]).shape == (0, 2)
    assert with_states.tagger.tag([]) == [] and with_states.tagger.paths([]) == [([], 0.0)]
    assert END not in with_states.following([])


def test_the_parses_of_words_have_the_tags_of_the_largest_sums_of_posteriors(tagger: LatentTagger) -> None:
    words = ["the", "dog", "barks", "Zürich"]
    for known in (None, [None, {"N", "V"}, None, {"D", "N", "P"}]):
        mu = tagger.posteriors(words, known)
        possible = [np.flatnonzero(row > 0.0) for row in mu]
        sums = {tags: sum(mu[at, tag] for at, tag in enumerate(tags)) for tags in itertools.product(*possible)}
        parses = tagger.parse_nbest(words, 4, constraints=known)
        found = [tuple(tagger.tags.index(tag) for _, tag in parse.tree) for parse in parses]
        assert len(set(found)) == len(found) == min(4, len(sums))
        assert all([word for word, _ in parse.tree] == words for parse in parses)
        np.testing.assert_allclose([sums[tags] for tags in found], sorted(sums.values(), reverse=True)[:4])
        assert [tag for _, tag in parses[0].tree] == tagger.tag(words, known)
        assert [parse.log for parse in parses] == tagger.score([parse.tree for parse in parses]).log.tolist()
        assert np.isnan(tagger.parse(words, constraints=known, scored=False).log)


@pytest.mark.parametrize("estimator", ["spectral", "em"])
def test_the_empty_sequence_is_a_sequence(estimator: EstimatorName) -> None:
    """A quarter of the sequences are empty; given that one is not, the model is that of the others alone."""
    full = ["ab", "abab", "b", "aab"] * 30
    model, others = (LatentHMM.train(data, hmm_options(estimator)) for data in ([*full, *[""] * 40], full))
    log, of_others = model.log_probabilities(["", "ab", "b"]), others.log_probabilities(["ab", "b"])
    np.testing.assert_allclose(np.exp(log), [0.25, *0.75 * np.exp(of_others)], rtol=1e-12)
    np.testing.assert_allclose(model.score(["", "ab"]).log[0], np.log(0.25), rtol=1e-12)
    assert np.isneginf(others.log_probabilities([""])[0])
    # The only tree of a sequence is the sequence.
    for each, (parse,) in zip(["", "ab"], model.parse_all(["", "ab"]), strict=True):
        assert parse == model.parse(each) and parse.tree == list(each)
        assert parse.log == model.score([each]).log[0]
    assert model.surprisal("", "nats").sentence == pytest.approx(-log[0], rel=1e-9)
    # What follows in turn, surprisal, samples and the automaton say the same.
    assert model.following("")[END] == pytest.approx(0.25)
    words = np.log(model.following("")["a"]) + np.log(model.following("a")["b"])
    assert words + np.log(model.following("ab")[END]) == pytest.approx(log[1], rel=1e-9)
    assert model.surprisal("ab", "nats").total.sum() == pytest.approx(-words, rel=1e-9)
    share = np.mean([not row for row in model.sample(2000, np.random.default_rng(0))])
    assert share == pytest.approx(0.25, abs=0.04)
    assert WeightedAutomaton.of_hmm(model)("") == pytest.approx(0.25)
    # A weight counts as so many sequences.
    weighed = LatentHMM.train([*full, ""], hmm_options(estimator), weights=[1.0] * len(full) + [40.0])
    assert weighed.empty == pytest.approx(0.25)


# ---------------------------------------------------------------------------------------------------------------------
# Little and odd data


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


def test_any_hashable_object_is_an_observation() -> None:
    row: list[Hashable] = [3, -1.5, None, "x", ("x", (1, 2)), frozenset({1}), b"x", Colour.RED, 10**30, 2j]
    model = LatentHMM.train([row, row[::-1]] * 20, hmm_options())
    assert model.observations.known == row
    assert np.isfinite(model.log_probabilities([row, [Colour.BLUE, frozenset()]])).all()
    assert set(map(id, model.following([]))) <= set(map(id, row))
    drawn = model.sample(3, np.random.default_rng(0), length=4)
    assert all(any(x is y or x == y for y in row) for sequence in drawn for x in sequence)
    assert LatentHMM.train(np.array([[1, 2], [2, 2]] * 9)).following(np.array([1]))[2] > 0


def test_little_data_are_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    LatentHMM.train(["ab"])
    LatentHMM.train(["ab"], hmm_options("em", 50))
    assert len(caplog.records) == 2


BAD: list[tuple[Any, Any, str]] = [
    (LatentHMM.train, [], "no sequences"),
    (LatentTagger.train, iter([]), "no sequences"),
    (LatentHMM.train, "abab", "one sequence"),
    (LatentHMM.train, ["", ""], "empty"),
    (LatentTagger.train, [[("a", "X")], []], "sequence 2"),
    *((LatentHMM.train, ["ab", ["a", "b", wrong]], "sequence 2, observation 3: ") for wrong in ([1], float("nan"))),
    *(
        (LatentTagger.train, [[("a", "X")], [token]], "sentence 2, token 1")
        for token in ("a", ("a",), ("a", "X", "Y"), (1, "X"), ("a", None), ("a", ["X"]), None)
    ),
    (LatentTagger.train_partly, [[("a", None)]], "known"),
    (LatentTagger.train_partly, [[("a", "X"), ("b", {"Y"})]], "sentence 1"),
    (LatentTagger.train_partly, [[("a", "X"), ("b", ["Y"])]], "token 2"),
]


@pytest.mark.parametrize(("train", "data", "place"), BAD)
def test_bad_data_are_named(train: Any, data: Any, place: str) -> None:
    with pytest.raises(EstimationError, match=place):
        train(data)


def test_bad_requests_are_refused(strings: list[list[int]], with_states: LatentHMM) -> None:
    spectral = LatentHMM.train(strings, hmm_options())
    with pytest.raises(ValueError, match="states"):
        _ = spectral.tagger
    with pytest.raises(ValueError, match="names"):
        StateTagger(with_states, ["a", "b", "c"])
    with pytest.raises(ValueError):
        spectral.sample(1, np.random.default_rng(0), length=0)
    for wrong in (EstimatorOptions("anchors"), EstimatorOptions("em", rank=2), EstimatorOptions(smoothing=99.0)):
        with pytest.raises(ValueError):
            HMMOptions(wrong)


# ---------------------------------------------------------------------------------------------------------------------
# States


def test_states_are_tagged_as_the_textbook_does(with_states: LatentHMM) -> None:
    model = with_states
    hidden, known = model.hidden, [*model.observations.known, "never seen"]
    for x in [*all_strings(4, 3), tuple(np.random.default_rng(0).integers(0, 4, 30).tolist())]:
        row, expected = [known[i] for i in x], forward_backward(hidden, x)
        np.testing.assert_allclose(model.tagger.posteriors(row), expected.gamma, atol=1e-10)
        assert model.log_probabilities([row])[0] == pytest.approx(expected.log, rel=1e-10)
        if len(x) <= 3:
            joint = paths(hidden, x)
            ((tags, log),) = model.tagger.paths(row)
            assert log == pytest.approx(np.log(max(joint.values())) - expected.log, abs=1e-9)
            assert joint[tuple(tags)] == pytest.approx(max(joint.values()))
            assert len(model.tagger.paths(row, 100)) == len(joint)
            rows = [list(zip(row, path, strict=True)) for path in joint]
            np.testing.assert_allclose(np.exp(model.tagger.joint_log_probabilities(rows)), list(joint.values()))
    wrong = [list(zip([known[0]] * 2, path, strict=True)) for path in ((0, 2), (-1, 0), ("0", 1))]
    assert np.isneginf(model.tagger.joint_log_probabilities(wrong)).all()


# ---------------------------------------------------------------------------------------------------------------------
# Determinism and files


def test_saving_and_loading_keeps_any_plain_name(tmp_path: Path) -> None:
    row = [1, None, ("x", (2, ())), 2.5, "é", "\x00", "", 10**30, float("inf")]
    model = LatentHMM.train([row, row[::-1]] * 20, hmm_options("em"))
    model.save(path := tmp_path / "model")
    loaded = LatentHMM.load(path)
    assert loaded.following(row) == model.following(row)
    assert loaded.observations.known == row
    assert [type(name) for name in loaded.observations.known] == [type(name) for name in row]
    assert loaded.tagger.tag(row) == model.tagger.tag(row)


def swap_columns(rules: np.ndarray) -> np.ndarray:
    return rules[:, ::-1].copy()


@pytest.mark.parametrize(
    ("array", "change"),
    [
        ("binary_rules", lambda rules: np.concatenate([[[0, 1, 2]], rules[1:]])),
        ("unary_rules", swap_columns),
        (
            "leaf_rules",
            lambda rules: rules + np.array([5, 0]),
        ),  # of spines
    ],
)
def test_rules_of_another_formalism_are_refused(array: str, change: Any, tmp_path: Path) -> None:
    """A trellis is built from rules K+t → t K+t', K+t → t and t → x; others would lead outside of its tables."""
    LatentTagger.train(CORPUS, options()).save(tmp_path / "model")
    arrays, table = load_model(tmp_path / "model", "tagger")
    names = [f"members.0.{part}.{array}" for part in ("coarse", "latent")]
    save_model(tmp_path / "wrong", arrays | {name: change(arrays[name]) for name in names}, table)
    with pytest.raises(ModelFileError):
        LatentTagger.load(tmp_path / "wrong")


# ---------------------------------------------------------------------------------------------------------------------
# Random corpora

words = st.sampled_from(["a", "b", "Cd", "-", "12", "東"])
tagged = st.lists(st.lists(st.tuples(words, st.sampled_from("XYZ")), min_size=1, max_size=5), min_size=1, max_size=6)


@settings(max_examples=10)
@given(
    tagged,
    st.lists(st.lists(words, max_size=5), max_size=4),
    st.sampled_from(["spectral", "em", "anchors", "moments-em"]),
    st.integers(1, 4),
)
def test_taggers_of_random_corpora(corpus: Corpus, rows: list[list[str]], estimator: EstimatorName, m: int) -> None:
    model = LatentTagger.train(corpus, options(estimator, m))
    tags = {tag for row in corpus for _, tag in row}
    assert set(model.tags) == tags
    for row, found in zip(rows, model.tag_all(rows), strict=True):
        assert len(found) == len(row) and set(found) <= tags
    full = [row for row in rows if row]
    log = model.log_probabilities(full)
    assert not np.isnan(log).any() and (log <= 1e-9).all()
    for row in full:
        posterior = model.posteriors(row)
        assert (posterior >= 0).all() and posterior.sum(axis=1) == pytest.approx(1.0)
        best = model.paths(row, 3)
        assert 1 <= len(best) <= 3 and all(len(path) == len(row) and log <= 1e-9 for path, log in best)
    assert np.isfinite(model.joint_log_probabilities(corpus)).all()
