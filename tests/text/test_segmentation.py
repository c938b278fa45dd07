"""The division of raw text into sentences, tokens and words, as a treebank has them."""

import re
from itertools import pairwise, product

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent import load
from spectral_latent.corpora import DividedText
from spectral_latent.dependency import DependencySentence
from spectral_latent.lexicon import hash_to_ends
from spectral_latent.sequence import chain_sums
from spectral_latent.tokenisation import is_final
from spectral_latent_text import LearntTokenisation, Segmenter
from spectral_latent_text._columns import learn_segmenter
from spectral_latent_text._segmentation import _OPENS, _SIZE, _TRAITS, _attributes, _Characters, _columns


def test_sums_over_the_paths_of_chains_are_those_of_all_paths() -> None:
    rng = np.random.default_rng(3)
    factors, step = rng.random((5, 3)), rng.random((3, 3))
    step[0, 2] = 0.0
    initial, stop = np.array([True, True, False]), np.array([False, True, True])
    start = np.array([0, 1, 5])
    visits, pairs, logs = np.zeros((5, 3)), np.zeros((3, 3)), []
    for first, end in pairwise(start):
        paths = {}
        for path in product(range(3), repeat=end - first):
            joint = factors[np.arange(first, end), path].prod() * initial[path[0]] * stop[path[-1]]
            paths[path] = joint * np.prod([step[pair] for pair in pairwise(path)])
        total = sum(paths.values())
        logs.append(np.log(total))
        for path, joint in paths.items():
            visits[np.arange(first, end), path] += joint / total
            for pair in pairwise(path):
                pairs[pair] += joint / total
    for found, expected in zip(chain_sums(factors, start, initial, step, stop), (visits, pairs, logs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_columns_of_characters_are_those_of_a_definition() -> None:
    """Parts of a text stand between white space, runs are of one kind; what is on the left is read backwards."""
    text = "Ab12 c1a, (Ab)! b1\n\nAb12  ドãab1 c漢字1. Ab "
    shown = re.sub(r"\s+", lambda space: "\n" if "\n" in space[0] else " ", text)
    kinds = [next(at for at, kind in enumerate(KINDS) if regex.match(kind, letter)) for letter in shown]
    kinds = [letter if kind == len(KINDS) - 1 else str(kind) for kind, letter in zip(kinds, shown, strict=True)]
    values = np.array([_attributes(" " if letter == "\n" else letter) for letter in shown], dtype=np.uint64)
    found = _columns(np.array([10 if letter == "\n" else 32 if letter == " " else 0 for letter in shown]), *values.T)
    spaces = [str(letter.isspace()) for letter in shown]
    for name, of in (("part", spaces), ("run", kinds)):
        starts = [at for at in range(len(shown)) if at == 0 or of[at] != of[at - 1]]
        ends = dict(zip(starts, [*starts[1:], len(shown)], strict=True))
        solid = [at for at in starts if not shown[at].isspace()]
        for at in (at for at, letter in enumerate(shown) if not letter.isspace()):
            (number,) = (n for n, start in enumerate(solid) if start <= at < ends[start])
            own, opens = solid[number], at == solid[number]
            whole = ["", "", *(shown[start : ends[start]] for start in solid), "", ""]
            expected = {
                f"left {name}": shown[own:at][::-1],
                f"right {name}": shown[at : ends[own]],
                f"{name}+0": shown[at : ends[own]],
                f"{name}+1": whole[number + 3],
                f"{name}-1": whole[number + 1] if opens else shown[own:at][::-1],
                f"{name}-2": whole[number] if opens else whole[number + 1],
            }
            for column, part in expected.items():
                hashed = [_attributes(letter)[2] for letter in part]
                assert float(found[column][at]) == float(whole_hash(hashed)), (column, at, part)
    latest = 0  # run of a character that may end a sentence
    for at in range(len(shown)):
        for step in range(-3, 3):
            there = at + step
            row = values[there] if 0 <= there < len(shown) else [0, 0, 0]
            assert (found[f"class{step:+}"][at], found[f"letter{step:+}"][at]) == (row[0], row[2])
        n_runs = sum(start <= at for start in solid)
        assert found["since"][at] == min(n_runs - latest, 5)
        is_after_space = at == 0 or shown[at - 1].isspace()
        assert found["last"][at] == found["class-2" if is_after_space else "class-1"][at]
        latest = n_runs if is_final(shown[at]) or shown[at] == "\n" else latest


KINDS = [r"\p{Hiragana}", "[\\p{Katakana}ー]", r"\p{Han}", r"[\p{L}\p{M}]", r"\p{N}", r"\s", "."]


def whole_hash(letters: list[int]) -> int:
    """Hash a text as a whole; nothing is 0."""
    if not letters:
        return 0
    return int(hash_to_ends(np.array(letters, dtype=np.uint64), np.zeros(len(letters), int), 10)[0])


WORDS = ["la", "mare", "di", "Roma", "10 000", "lupo"]


def divided(sentences: list[list[tuple[str, ...]]], space: str = " ") -> DividedText:
    """Join tokens, of which the last one of a sentence follows without a space; several words are one token."""
    text, tokens, last = "", [], []
    for sentence in sentences:
        for at, words in enumerate(sentence):
            text += space if text and at < len(sentence) - 1 else ""
            form = "".join(words)
            tokens.append((len(text), len(text) + len(form), words))
            text += form
        last.append(len(tokens) - 1)
    return DividedText(text, tokens, last)


def random_texts(n: int, space: str = " ") -> list[DividedText]:
    """Draw texts of short sentences, in which `nel` of `in` and `il` is one token, and a stop ends a sentence."""
    rng = np.random.default_rng(5)
    return [
        divided(
            [
                [*((str(word),) for word in rng.choice(WORDS, size=rng.integers(2, 6))), ("ne", "l"), (".",)]
                for _ in range(3)
            ],
            space,
        )
        for _ in range(n)
    ]


def found_in(segmenter: Segmenter, text: DividedText) -> DividedText:
    sentences = [[token for token in tokens if token.part < 2] for tokens in segmenter.divide(text.text)]
    words = iter([token for tokens in segmenter.divide(text.text) for token in tokens])
    tokens = []
    for token in (token for tokens in sentences for token in tokens):
        first = next(words)
        assert first == token
        of_token = [first.word]
        while token.part and token.first + len(token.form) > 0 and len("".join(of_token)) < len(token.form):
            of_token.append(next(words).word)
        tokens.append((token.first, token.end, tuple(of_token)))
    return DividedText(text.text, tokens, (np.cumsum([len(each) for each in sentences]) - 1).tolist())


@pytest.mark.parametrize("space", [" ", ""], ids=["spaces", "none"])
def test_new_texts_are_divided_as_those_of_training(space: str) -> None:
    *train, test = random_texts(60, space)
    segmenter = Segmenter.train(train)
    assert segmenter.may_join
    assert found_in(segmenter, test) == test


def test_sentences_open_by_features_of_their_own() -> None:
    """The other traits of a character have other features: a weight for them opens no sentence."""
    found = _Characters.of("la mare. di Roma", np.zeros(0, dtype=np.int64), may_join=True)
    at = 9  # of the sentence after the stop
    weights = np.zeros((_TRAITS.shape[1], _SIZE))
    weights[-1][found.of_sentences[at]] = 3.0
    opens = found.posteriors(weights, np.zeros((12, 12)))[0] @ _OPENS
    plain = found.posteriors(0 * weights, np.zeros((12, 12)))[0] @ _OPENS
    assert opens[at] > plain[at] + 0.2
    weights = np.zeros_like(weights)
    weights[:-1, np.setdiff1d(found.of_sentences, found.buckets)] = 3.0
    np.testing.assert_allclose(found.posteriors(weights, np.zeros((12, 12)))[0] @ _OPENS, plain)


@pytest.fixture(scope="module")
def italian() -> LearntTokenisation:
    return LearntTokenisation(frozenset(), Segmenter.train(random_texts(30)))


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_nothing_is_lost_and_every_token_has_its_place(italian: LearntTokenisation, text: str) -> None:
    tokens = [token for sentence in italian.sentences(text) for token in sentence if token.part < 2]
    assert "".join("".join(token.form.split()) for token in tokens) == "".join(text.split())
    for token in tokens:
        assert text[token.first :].startswith(token.form.split()[0])
    assert [each.first for each in tokens] == sorted({each.first for each in tokens})
    assert all(italian.sentences(text))


BY_HAND = """\
"|I ca|n't wait|,|" she said|.
Mr. Smith paid $|1,250.50 (|about £|1,000|) on 5 Jan. 2004 in St. Louis|, Mo.|, did|n't he|?
Visit http://www.example.com/a?b=1 or e-mail me@x.org|...
U.S. officials said they|'d go - we|'re not sure|!
He|'s 45|% sure|; it|'s a well|-|known fact|: Jones|'s co-workers gon|na leave|.
Can|not you see|?"""


def test_the_ready_model_divides_as_its_treebank_is_divided() -> None:
    """Its weights are of features of just these classes, kinds and forms of characters."""
    lines = BY_HAND.splitlines()
    found = load("en-ud").tokenisation.sentences(" ".join(lines).replace("|", ""))
    assert [[token.word for token in sentence] for sentence in found] == [re.split(r"[| ]", line) for line in lines]


def test_an_empty_line_ends_a_sentence_and_capitals_stay(italian: LearntTokenisation) -> None:
    assert [[token.word for token in tokens] for tokens in italian.sentences("la mare\r\n \r\nlupo Nel.")] == [
        ["la", "mare"],
        ["lupo", "Ne", "l", "."],
    ]
    assert list(italian.sentences(" \n")) == []
    assert [token.word for token in italian.words("lupo nel. la mare.")] == ["lupo", "ne", "l", ".", "la", "mare", "."]
    with pytest.raises(TypeError, match="a raw text is a string"):
        italian.sentences(["la", "mare"])  # type: ignore[arg-type]


def test_words_at_the_beginning_of_a_token_are_found_there() -> None:
    """As in Semitic languages: `ha`, `be` and `w` begin a token of two words, whatever its end."""
    rng = np.random.default_rng(1)
    stems = ["".join(rng.choice(list("bcdfgklmnprst"), size=5)) for _ in range(200)]
    begins = [("ha", "be", "w")[at % 3] for at in range(200)]
    texts = [divided([[(begin, stem), (stem,), (".",)]]) for begin, stem in zip(begins, stems, strict=True)]
    segmenter = Segmenter.train(texts[:180])
    assert segmenter.by_beginning
    found = [[token.word for token in next(segmenter.divide(text.text))] for text in texts[180:]]
    assert found == [[begin, stem, stem, "."] for begin, stem in zip(begins[180:], stems[180:], strict=True)]


def test_sentences_without_their_text_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = DependencySentence.of(["la", "mare", "."])._replace(comments=("text = la mare.",))
    other = whole._replace(comments=("text = il mare.",))
    with pytest.warns(UserWarning, match="^2 of 5 sentences"):
        segmenter = learn_segmenter([whole, other, whole, whole._replace(comments=()), whole])
    assert isinstance(segmenter, Segmenter)
    with pytest.warns(UserWarning, match="no sentence has a comment"):
        assert learn_segmenter([other]) is None
    monkeypatch.setattr(Segmenter, "train", list)
    assert [len(text.last) for text in learn_segmenter([whole] * 45) or ()] == [20, 20, 5]  # type: ignore[union-attr]
