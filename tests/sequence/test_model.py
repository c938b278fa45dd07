"""The latent hidden Markov model from end to end."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent._names import EstimatorName
from spectral_latent.automata import WeightedAutomaton
from spectral_latent.estimation import EstimationError, EstimatorOptions
from spectral_latent.files import ModelFileError, load_model, save_model
from spectral_latent.inference import inside, total_weight
from spectral_latent.sequence import END, HMMOptions, LatentHMM, LatentTagger, Sequences, StateTagger, TaggerOptions
from spectral_latent.sequence.forests import TrellisBuilder
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


def test_training_sentences_get_their_tags(tagger: LatentTagger) -> None:
    found = tagger.tag_all([word for word, _ in row] for row in CORPUS)
    assert list(found) == [[tag for _, tag in row] for row in CORPUS]
    assert set(tagger.tags) == set("DNVPI")


def test_what_is_not_a_sequence_is_refused_by_all_methods(tagger: LatentTagger, with_states: LatentHMM) -> None:
    states = with_states.tagger
    wrong: list[tuple[Any, Any, str]] = [
        (tagger, "", "not the string ''"),
        (tagger, iter(["the"]), "give a list of words"),
        (tagger, [["the"]], "a word is a string, not "),
        (states, iter("ab"), "give a list"),
        (states, None, "give a list"),
        (states, [["a"]], "give the observations of one sequence alone"),
    ]
    for model, sequence, message in wrong:
        for find in (model.tag, model.posteriors, model.paths):
            with pytest.raises(TypeError, match=message):
                find(sequence)
        with pytest.raises(TypeError, match=message):
            model.draw(sequence, np.random.default_rng(0))
        with pytest.raises(TypeError, match=message):
            list(model.tag_all([sequence]))


def test_raw_text_is_divided_and_tagged(tagger: LatentTagger) -> None:
    text = "the dog barks the cats\n\nthe dogs sees"
    sentences = [[token.word for token in tokens] for tokens in tagger.tokenisation.sentences(text)]
    assert len(sentences) == 2
    tags = list(tagger.tag_all(sentences))
    found = [list(zip(words, row, strict=True)) for words, row in zip(sentences, tags, strict=True)]
    assert list(tagger.tag_text(text)) == found


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


def test_states_given_known_states(with_states: LatentHMM) -> None:
    """Brute force over all states of a sequence whose second state is known."""
    tagger = with_states.tagger
    sequence = list(with_states.observations.known[:3])
    ways = [states for states in itertools.product([0, 1], repeat=3) if states[1] == 1]
    weight = np.exp(tagger.joint_log_probabilities([list(zip(sequence, states, strict=True)) for states in ways]))
    share = weight / weight.sum()
    expected = [[share[[states[i] == state for states in ways]].sum() for state in (0, 1)] for i in range(3)]
    np.testing.assert_allclose(tagger.posteriors(sequence, [None, 1, {0, 1}]), expected, rtol=1e-9, atol=1e-12)


def test_known_tags_that_do_not_fit(tagger: LatentTagger) -> None:
    words = ["the", "dog"]
    for known in ([None], [None, "no tag"], [set(), None]):
        with pytest.raises(ValueError, match="known"):
            tagger.tag(words, known)
    assert tagger.tag(["the", "Zürich"], [None, "D"])[1] == "D"  # never seen, and not with this tag
    assert tagger.tag([], []) == []
    for sentences, message in (
        ([[("a", None)]], "no word has a known tag"),
        ([[("a", "X"), ("b", {"Y"})]], "sentence 1: none of"),
        ([[("a", "X"), ("b", ["Y"])]], "token 2"),
    ):
        with pytest.raises(EstimationError, match=message):
            LatentTagger.train_partly(sentences)


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


def test_joint_probabilities_of_what_is_unknown(tagger: LatentTagger) -> None:
    found = tagger.joint_log_probabilities([[("dog", "N")], [("dog", "none")], [("Zürich", "N")]])
    assert np.isfinite(found[[0, 2]]).all() and np.isneginf(found[1])


@pytest.mark.parametrize("estimator", ["spectral", "em"])
def test_probabilities_of_words_are_what_follows_in_turn(estimator: EstimatorName) -> None:
    """p(x_1 ... x_n) = Π p(x_i | before) p(end), also where most words have few tags."""
    model = LatentTagger.train(CORPUS * 50, options(estimator))
    for sentence in (["the", "dog", "barks"], ["it"], ["dogs", "bark", "dogs"], ["dog", "dog", "the", "yes"]):
        log = sum(np.log(model.following(sentence[:i])[word]) for i, word in enumerate(sentence))
        log += np.log(model.following(sentence)[END])
        assert model.log_probabilities([sentence])[0] == pytest.approx(log, rel=1e-9)


@pytest.mark.parametrize("estimator", ["spectral", "clusters-em"])
def test_probabilities_of_all_sentences_add_up_to_one(estimator: EstimatorName) -> None:
    """What `log_probabilities` gives to all short sentences, and `following` leaves to longer ones.

    The words are those seen, and each kind of word never seen; every word of a kind stands for the kind.
    """
    model = LatentTagger.train(
        [[("a", "X"), ("b", "Y")], [("a", "X")], [("b", "Y"), ("c", "X")]] * 50, options(estimator, 3)
    )
    predictor, n = model._predictor, model.observations.n_terminals
    rows = list(all_strings(n, 2))
    emitted = set(model.grammar.latent.rules.leaf[:, 1].tolist())
    rows = [row for row in rows if set(row) <= emitted]
    log = total_log(model, rows)
    assert (log < 0).all()
    ((_, first),) = predictor.events(np.zeros(0, dtype=np.int64))
    longer = 0.0
    for x in emitted:
        _, (_, second) = predictor.events(np.array([x]))
        longer += first[x] * second[:n].sum()
    assert np.exp(log).sum() + longer == pytest.approx(1.0, abs=1e-9)


def total_log(model: LatentTagger, rows: list[tuple[int, ...]]) -> np.ndarray:
    """`log_probabilities` of terminals."""
    sequences = [np.array(row) for row in rows]
    if not model.grammar.latent.probabilities:
        return model._predictor.log_probabilities(sequences)
    _, latent = model.grammar.proper
    columns = Sequences.of(rows)
    builder = TrellisBuilder(latent.rules, model.grammar.n_tags)
    forest = builder.build(columns.start, builder.candidates(columns.terminal))[0]
    return total_weight(latent, forest, inside(latent, forest)).log


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
    first, second = (record.getMessage() for record in caplog.records)
    assert "too few sequences (1)" in first and "50 states" in second


def test_bad_data_are_named() -> None:
    with pytest.raises(EstimationError, match="no sequences"):
        LatentHMM.train([])
    with pytest.raises(EstimationError, match="no sequences"):
        LatentTagger.train(iter([]))
    for train in (LatentHMM.train, WeightedAutomaton.train):
        with pytest.raises(EstimationError, match="one sequence"):
            train("abab")
    with pytest.raises(EstimationError, match="all sequences are empty"):
        LatentHMM.train(["", ""])
    with pytest.raises(EstimationError, match="sequence 2 is empty"):
        LatentTagger.train([[("a", "X")], []])
    for wrong in ([1], float("nan")):
        with pytest.raises(EstimationError, match="sequence 2, observation 3: "):
            LatentHMM.train(["ab", ["a", "b", wrong]])
    for token in ("a", ("a",), ("a", "X", "Y"), (1, "X"), ("a", None), ("a", ["X"]), None):
        with pytest.raises(EstimationError, match="sentence 2, token 1"):
            LatentTagger.train([[("a", "X")], [token]])  # type: ignore[list-item]


def test_bad_requests_are_refused(strings: list[list[int]], with_states: LatentHMM) -> None:
    spectral = LatentHMM.train(strings, hmm_options())
    with pytest.raises(ValueError, match="no states"):
        _ = spectral.tagger
    with pytest.raises(ValueError, match="2 states need as many names, not 3"):
        StateTagger(with_states, ["a", "b", "c"])
    with pytest.raises(ValueError):
        spectral.sample(1, np.random.default_rng(0), length=0)
    with pytest.raises(ValueError, match=r"must not find states by anchors"):
        HMMOptions(EstimatorOptions("anchors"))
    with pytest.raises(ValueError, match="the rank None"):
        HMMOptions(EstimatorOptions("em", rank=2))
    with pytest.raises(ValueError, match="the smoothing None"):
        HMMOptions(EstimatorOptions(smoothing=99.0))


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


def test_joint_probabilities_of_states_are_those_of_paths(with_states: LatentHMM) -> None:
    model = with_states
    known = [*model.observations.known, "never seen"]
    for x in all_strings(4, 3):
        expected = paths(model.hidden, x)
        rows = [[(known[i], state) for i, state in zip(x, path, strict=True)] for path in expected]
        found = np.exp(model.tagger.joint_log_probabilities(rows))
        np.testing.assert_allclose(found, list(expected.values()), rtol=1e-10)
    found = model.tagger.joint_log_probabilities(
        [(0, state) for state in row] for row in ((0, 1), (0, 2), (-1, 0), ("0", 1))
    )
    assert np.isfinite(found).tolist() == [True, False, False, False] and np.isneginf(found[1:]).all()


def test_states_may_have_names(strings: list[list[int]], with_states: LatentHMM) -> None:
    states = with_states.tagger
    named = replace(states, tags=["zero", "one"])
    found = list(states.tag_all(strings))
    names = list(named.tag_all(strings))
    with joblib.parallel_config(backend="threading"):
        assert list(named.tag_all(strings, jobs=2)) == names
    assert names == [[named.tags[state] for state in row] for row in found]
    pairs = [list(zip(row, tags, strict=True)) for row, tags in zip(strings, names, strict=True)]
    numbers = [list(zip(row, tags, strict=True)) for row, tags in zip(strings, found, strict=True)]
    np.testing.assert_array_equal(named.joint_log_probabilities(pairs), states.joint_log_probabilities(numbers))


# ---------------------------------------------------------------------------------------------------------------------
# Determinism and files


def test_other_seeds_are_other_models(strings: list[list[int]]) -> None:
    one, two = (LatentHMM.train(strings, HMMOptions(EstimatorOptions("em", n_states=2, seed=seed))) for seed in (0, 1))
    assert not np.array_equal(one.hidden.emission, two.hidden.emission)


def test_saving_and_loading_keeps_any_plain_name(tmp_path: Path) -> None:
    row = [1, None, ("x", (2, ())), 2.5, "é", "\x00", "", 10**30, float("inf")]
    model = LatentHMM.train([row, row[::-1]] * 20, hmm_options("em"))
    model.save(path := tmp_path / "model")
    loaded = LatentHMM.load(path)
    assert loaded.following(row) == model.following(row)
    assert loaded.observations.known == row
    assert [type(name) for name in loaded.observations.known] == [type(name) for name in row]
    assert loaded.tagger.tag(row) == model.tagger.tag(row)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "model"
    LatentTagger.train(CORPUS, options()).save(path)
    return path


def test_the_name_of_the_tagset_is_kept(file: Path, tmp_path: Path) -> None:
    replace(LatentTagger.load(file), tagset="of my own").save(tmp_path / "model")
    assert LatentTagger.load(tmp_path / "model").tagset == "of my own"


def rewritten(file: Path, path: Path, settings_too: dict, arrays_too: dict) -> None:
    """Write the same file with other settings and arrays, and the right digest."""
    arrays, settings = load_model(file)
    here = {name: value for name, value in settings_too.items() if name in settings}
    of_grammar = {name: value for name, value in settings_too.items() if name not in settings}
    members = [settings["members"][0] | of_grammar]
    save_model(path, arrays | arrays_too, settings | here | {"members": members})


def test_settings_that_make_no_sense_are_refused(file: Path, strings: list[list[int]], tmp_path: Path) -> None:
    for wrong in ({"tags": ["D", "N"]}, {"tags": ["D", "D", "V", "P", "I"]}, {"observations": ["the"] * 11}):
        rewritten(file, tmp_path / "wrong", wrong, {})
        with pytest.raises(ModelFileError):
            LatentTagger.load(tmp_path / "wrong")
    model = LatentHMM.train(strings, replace(hmm_options(), floor=0.05))
    model.save(tmp_path / "model")
    assert LatentHMM.load(tmp_path / "model").floor == model.floor == 0.05
    rewritten(tmp_path / "model", tmp_path / "wrong", {"floor": 0.02}, {})  # not that of the options
    with pytest.raises(ModelFileError):
        LatentHMM.load(tmp_path / "wrong")


def test_rules_of_another_formalism_are_refused(file: Path, tmp_path: Path) -> None:
    """A trellis is built from rules K+t → t K+t' and K+t → t; others would lead outside of its tables."""
    arrays, _ = load_model(file)
    binary, unary = arrays["members.0.latent.binary_rules"], arrays["members.0.latent.unary_rules"]
    binary[0] = [0, 1, 2]
    for wrong in ({"binary_rules": binary}, {"unary_rules": unary[:, ::-1].copy()}):
        both = {f"members.0.{part}.{name}": array for part in ("coarse", "latent") for name, array in wrong.items()}
        rewritten(file, tmp_path / "wrong", {}, both)
        with pytest.raises(ModelFileError):
            LatentTagger.load(tmp_path / "wrong")


# ---------------------------------------------------------------------------------------------------------------------
# Random corpora

words = st.sampled_from(["a", "b", "Cd", "-", "12", "東"])
tagged = st.lists(st.lists(st.tuples(words, st.sampled_from("XYZ")), min_size=1, max_size=5), min_size=1, max_size=6)
untagged = st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=25)


@settings(max_examples=20)
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


@settings(max_examples=20)
@given(untagged, untagged, st.sampled_from(["spectral", "em", "moments-em"]), st.integers(1, 4) | st.none())
def test_predictors_of_random_corpora(
    corpus: list[list[int]], rows: list[list[int]], estimator: EstimatorName, m: int | None
) -> None:
    model = LatentHMM.train(corpus, hmm_options(estimator, m))
    log = model.log_probabilities(rows)
    assert not np.isnan(log).any() and (log <= 1e-9).all()
    assert np.isfinite(model.log_probabilities(corpus)).all()
    for prefix in rows[:3]:
        p = list(model.following(prefix).values())
        assert min(p) >= 0 and sum(p) <= 1.0 + 1e-9
    if estimator != "spectral":
        assert [len(row) for row in model.tagger.tag_all(rows)] == [len(row) for row in rows]
        assert model.tagger.posteriors(rows[0]).sum(axis=1) == pytest.approx(1.0)


def test_leaf_rules_of_symbols_that_are_not_tags_are_refused(file: Path, tmp_path: Path) -> None:
    """Compiled code looks the symbol of a leaf rule up among the tags."""
    arrays, settings = load_model(file, "tagger")
    for name in ("members.0.coarse", "members.0.latent"):
        rules = arrays[f"{name}.leaf_rules"].copy()
        rules[:, 0] += len(settings["members"][0]["tags"])  # the symbols of the spine, which are as many
        arrays[f"{name}.leaf_rules"] = rules
    save_model(tmp_path / "evil", arrays, settings)
    with pytest.raises(ModelFileError, match="damaged"):
        LatentTagger.load(tmp_path / "evil")
