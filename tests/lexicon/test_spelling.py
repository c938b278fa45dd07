"""The spelling model: its optimum, its features, and words of any script."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.files import read, write
from spectral_latent.lexicon.spelling import SpellingModel, SpellingOptions
from spectral_latent.trees import Vocabulary

any_text = st.text(st.characters(exclude_categories=()), max_size=10)  # surrogates and unassigned code points too
words = st.one_of(any_text, st.text(alphabet="aAbB1-.", max_size=6), st.sampled_from(["walk", "walks", "Walk", "ß"]))

SCRIPTS = {
    "Latin": (["walking", "talking", "baking", "walked", "talked", "baked"], ["looking", "looked"]),
    "Arabic": (["مدرسة", "جامعة", "سيارة", "مدرسون", "جامعون", "سيارون"], ["طاولة", "طاولون"]),
    "Devanagari": (["करना", "चलना", "पढ़ना", "करता", "चलता", "पढ़ता"], ["देखना", "देखता"]),
    "Han": (["北京市", "上海市", "广州市", "北京人", "上海人", "广州人"], ["南京市", "南京人"]),
}


def random_training(seed: int, n_words: int = 40, n_symbols: int = 4) -> tuple[list[str], tuple[np.ndarray, ...]]:
    """Distinct words, and columns (word, symbol, count, opens) in no order, some pairs twice."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, n_words)
    vocabulary = sorted({"".join(rng.choice(list("aAb1-"), length)) for length in lengths})
    n = 3 * len(vocabulary)
    columns = (rng.integers(0, len(vocabulary), n), rng.integers(0, n_symbols, n))
    return vocabulary, (*columns, rng.integers(0, 5, n).astype(float), rng.random(n) < 0.3)


def train(seed: int, options: SpellingOptions | None = None) -> SpellingModel:
    vocabulary, columns = random_training(seed)
    return SpellingModel.train(vocabulary, *columns, n_symbols=4, options=options)


def test_at_the_optimum_the_model_expects_what_the_data_show_less_the_penalty() -> None:
    vocabulary, columns = random_training(0)
    options = SpellingOptions(penalty=0.5, iterations=500, frequent=0.0, least=0.0)
    model = SpellingModel.train(vocabulary, *columns, n_symbols=4, options=options)
    total = Counter[int]()
    for word, _, count, _ in zip(*columns, strict=True):
        total[word] += count
    observed, expected = np.zeros_like(model.weights), np.zeros_like(model.weights)
    for word, symbol, count, opens in zip(*columns, strict=True):
        if count:
            phi = model.features([vocabulary[word]], [opens]).toarray()[0]
            share = count / total[word]
            observed[:, symbol] += phi * share
            expected += np.outer(phi, model.posterior([vocabulary[word]], [opens])[0]) * share
    assert np.abs(model.weights).max() > 0.1
    np.testing.assert_allclose(expected, observed - 0.5 * model.weights, atol=5e-3)


def feature_names(model: SpellingModel, word: str, opens: bool = False) -> dict[tuple[str, int], float]:
    """The non-zero features of a word by name and symbol, read from the stored form."""
    names = model.names.names
    row = model.features([word], [opens])
    size = model.n_symbols + 1
    keys = model.keys[row.indices]
    return {(names[key // size], key % size - 1): v for key, v in zip(keys.tolist(), row.data.tolist(), strict=True)}


def test_pieces_and_relations_of_a_word() -> None:
    vocabulary = ["walk", "walks", "Walk", "walked", "walker", "Anna"]
    word, symbol = np.array([0, 0, 1, 2, 3, 4, 5]), np.array([0, 1, 0, 2, 1, 2, 2])
    count = np.array([3.0, 1, 5, 2, 7, 1, 1])
    model = SpellingModel.train(vocabulary, word, symbol, count, options=SpellingOptions(min_count=1, least=0.0))
    found = feature_names(model, "walky")
    pieces = {name for name, at in found if at < 0}
    assert pieces == {"b", "l5", "sx", "fx", "cx", "^w", "^wa", "^wal", "^walk"}
    # relatives of walky, by its stem walk: walk, walks, Walk, walked and walker; the share of 1 is ¼ + 0 + 0 + 1 + 0
    general = {at: value for (name, at), value in found.items() if name == "~"}
    assert general == pytest.approx({0: 1.75 / 5, 1: 1.25 / 5, 2: 2 / 5})
    own = {at: value for (name, at), value in feature_names(model, "walk").items() if name == "~"}
    assert own == pytest.approx({0: 1 / 4, 1: 1 / 4, 2: 2 / 4})  # not of walk itself
    assert {at: v for (name, at), v in feature_names(model, "walk").items() if name == "<"} == {2: 1.0}
    assert {at: v for (name, at), v in feature_names(model, "WALK").items() if name == ">"} == {0: 0.75, 1: 0.25}
    assert not {name for name, _ in feature_names(model, "Anna")} & {"~", "<", ">"}  # no one but itself


def test_pieces_of_a_long_word() -> None:
    """Lengths up to 12, the first 6 of its classes without runs, up to 5 last and 4 first characters."""
    word = "aB1-c.D2ef12345"
    columns = np.array([0, 1]), np.array([0, 1]), np.array([2.0, 1.0])
    model = SpellingModel.train([word, "b"], *columns, options=SpellingOptions(min_count=1, least=0.0))
    pieces = {name for name, at in feature_names(model, word) if at < 0}
    ends = {"-5", "-45", "-345", "-2345", "-12345", "^a", "^ab", "^ab1", "^ab1-"}
    assert pieces == {"b", "l12", "sxXd-x.", "fx", *("c" + kind for kind in "xXd-."), *ends}


def test_opening_a_sentence_is_a_feature() -> None:
    vocabulary = ["Green", "Brown", "Paris", "Rome"]
    columns = np.array([0, 1, 2, 3, 2, 3]), np.array([0, 0, 1, 1, 1, 1])
    opens = np.array([True, True, False, False, False, False])
    model = SpellingModel.train(vocabulary, *columns, opens=opens)
    first, later = model.posterior(["White", "White"], [True, False])
    assert first[0] > 0.5 > later[0]


@pytest.mark.parametrize("script", SCRIPTS)
def test_affixes_are_learned_in_any_script(script: str) -> None:
    known, unseen = SCRIPTS[script]
    model = SpellingModel.train(known, np.arange(6), np.array([0, 0, 0, 1, 1, 1]), options=SpellingOptions(penalty=0.1))
    assert model.posterior(unseen).argmax(axis=1).tolist() == [0, 1]


@settings(max_examples=30)
@given(st.lists(words, max_size=8, unique=True), st.lists(st.tuples(words, st.booleans()), max_size=5), st.data())
def test_any_words_have_a_distribution(
    vocabulary: list[str], probes: list[tuple[str, bool]], data: st.DataObject
) -> None:
    n = len(vocabulary)
    pairs = data.draw(st.lists(st.tuples(st.integers(0, max(n - 1, 0)), st.integers(0, 2)), max_size=12 if n else 0))
    word, symbol = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    options = SpellingOptions(min_count=1, iterations=5)
    model = SpellingModel.train(vocabulary, word, symbol, n_symbols=3, options=options)
    asked, opens = [*vocabulary, *(w for w, _ in probes)], [*[False] * n, *(o for _, o in probes)]
    p = model.posterior(asked, opens)
    assert p.shape == (len(asked), 3)
    assert np.all(p > 0)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    for row, (one, first) in enumerate(zip(asked, opens, strict=True)):
        np.testing.assert_allclose(model.posterior([one], [first])[0], p[row], rtol=1e-5)
    again = read(SpellingModel, *write(model), words=vocabulary)
    np.testing.assert_array_equal(again.posterior(asked, opens), p)


def test_arrays_of_no_model_are_refused() -> None:
    model, (vocabulary, _) = train(0), random_training(0)
    stored, settings = write(model)
    damaged = {
        "keys": stored["keys"][::-1].copy(),
        "names.lengths": stored["names.lengths"] * 2,
        "weights": stored["weights"][1:],
        "shares.word": stored["shares.word"] + len(vocabulary),
        "shares.symbol": stored["shares.symbol"] - 1,
        "shares.share": stored["shares.share"] * np.nan,
    }
    for name, array in damaged.items():
        with pytest.raises(ValueError, match=r"^the array |do not fill|must lie in"):
            read(SpellingModel, stored | {name: array}, settings, words=vocabulary)
    for change, message in (
        ({"words": vocabulary[:-1]}, "words of shares"),
        ({"shares": model.shares._replace(symbol=model.shares.symbol + model.n_symbols)}, "symbols of shares"),
        ({"names": Vocabulary(model.names.names[:-1])}, "keys of features"),
    ):
        with pytest.raises(ValueError, match=message):
            replace(model, **change)


def test_shares_that_round_to_more_than_one_are_read_again() -> None:
    counts = np.array([0.1, 0.2, 0.3, 0.7, 0.1, 0.4])
    opens = np.array([True, False] * 3)
    zeros = np.zeros(6, dtype=np.int64)
    model = SpellingModel.train(["walk"], zeros, zeros, counts, opens, n_symbols=2)
    again = read(SpellingModel, *write(model), words=["walk"])
    np.testing.assert_array_equal(again.posterior(["walks"]), model.posterior(["walks"]))


def test_words_without_observations_are_not_known() -> None:
    observed = SpellingModel.train(["walk", "talk"], np.array([0, 1]), np.array([0, 1]))
    more = SpellingModel.train(
        ["walk", "talk", "walks"], np.array([0, 1, 2]), np.array([0, 1, 1]), np.array([1.0, 1.0, 0.0])
    )
    np.testing.assert_array_equal(observed.posterior(["walks", "Walk"]), more.posterior(["walks", "Walk"]))
