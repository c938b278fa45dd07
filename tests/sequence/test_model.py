"""The latent hidden Markov model from end to end."""

import itertools
from collections import Counter
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_latent._names import EstimatorName
from spectral_latent.automata import WeightedAutomaton
from spectral_latent.estimation import EstimationError, EstimatorOptions
from spectral_latent.files import ModelFileError, load_model, save_model
from spectral_latent.inference import tree_weights
from spectral_latent.sequence import END, HMMOptions, LatentHMM, LatentTagger, TaggerOptions
from tests.sequence.hmms import all_strings, draw_strings, forward_backward, paths, random_hmm

Corpus = list[list[tuple[str, Hashable]]]
CORPUS: Corpus = [
    [("the", "D"), ("dog", "N"), ("barks", "V")],
    [("the", "D"), ("cat", "N"), ("sees", "V"), ("a", "D"), ("dog", "N")],
    [("dogs", "N"), ("bark", "V")],
    [("it", "P"), ("barks", "V")],
    [("yes", "I")],
]


def options(estimator: EstimatorName = "spectral") -> TaggerOptions:
    return TaggerOptions(EstimatorOptions(estimator, n_states=2))


def hmm_options(estimator: EstimatorName) -> HMMOptions:
    return HMMOptions(EstimatorOptions(estimator, n_states=2), choose_states=False)


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
    rng, n = np.random.default_rng(0), 300
    drawn = Counter(tuple(model.draw(sentence, rng, known)) for _ in range(n))
    assert set(drawn) <= set(ways)
    for way, p in zip(ways, share, strict=True):
        assert abs(drawn[way] / n - p) <= 4.5 * np.sqrt(p / n)


def test_estimates_of_tagged_sentences_lie_between_the_floor_and_their_words() -> None:
    """And some that are too low are the floor: its share of the probability in the model without states."""
    model = LatentTagger.train(CORPUS * 4, TaggerOptions(EstimatorOptions("spectral", n_states=4), floor=0.9))
    rows = [
        list(zip(words, tags, strict=True))
        for words in (["the", "dog", "barks"], ["it", "sees"], ["dogs"])
        for tags in itertools.product(model.tags, repeat=len(words))
    ]
    found = model.joint_log_probabilities(rows)
    floor = np.log(0.9) + tree_weights(model.grammar.proper[0], model.grammar.tagged(rows)[1]).log
    most = model.log_probabilities([[word for word, _ in row] for row in rows])
    assert (found <= most + 1e-9).all() and (found >= np.minimum(floor, most) - 1e-9).all()
    assert np.isclose(found, floor)[np.isfinite(floor)].sum() > 10


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
    first = np.array([*model.following("").values()])
    first = np.append(first, 1.0 - first.sum())
    assert model.entropy("", "nats")[0] == pytest.approx(-(first * np.log(first)).sum())
    words = np.log(model.following("")["a"]) + np.log(model.following("a")["b"])
    assert words + np.log(model.following("ab")[END]) == pytest.approx(log[1], rel=1e-9)
    assert model.surprisal("ab", "nats").total.sum() == pytest.approx(-words, rel=1e-9)
    share = np.mean([not row for row in model.sample(2000, np.random.default_rng(0))])
    assert share == pytest.approx(0.25, abs=0.04)
    assert WeightedAutomaton.of_hmm(model)("") == pytest.approx(0.25)
    # A weight counts as so many sequences.
    weighed = LatentHMM.train([*full, ""], hmm_options(estimator), weights=[1.0] * len(full) + [40.0])
    assert weighed.empty == pytest.approx(0.25)


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


@pytest.mark.parametrize(
    ("array", "change"),
    [
        ("binary_rules", lambda rules: np.concatenate([[[0, 1, 2]], rules[1:]])),
        ("unary_rules", lambda rules: rules[:, ::-1].copy()),
        ("leaf_rules", lambda rules: rules + np.array([5, 0])),  # of spines
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
