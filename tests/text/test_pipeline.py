"""One file for a language: the columns of bare words, and the parser that learns from predicted ones."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.corpora import DividedText
from spectral_latent.dependency import BLANK, DependencySentence
from spectral_latent.estimation import Progress
from spectral_latent.files import ModelFileError, read
from spectral_latent.files import write as write_parts
from spectral_latent.grammar import Limits
from spectral_latent.lexicon import LexiconOptions
from spectral_latent.sequence import TaggerOptions
from spectral_latent_text import Lemmatiser, Segmenter, TextPipeline, _columns
from spectral_latent_text._columns import _for_features, best_readings, learn_columns, learn_lemmas, with_columns
from spectral_latent_text._lemmas import _apply, _script_of
from tests.conformance.model import contents, write

texts = st.text("abAB", min_size=1, max_size=6)


@given(texts, texts)
def test_a_script_leads_from_the_word_to_its_lemma(word: str, lemma: str) -> None:
    assert _apply(_script_of(word, lemma), word) == lemma


@given(st.dictionaries(st.tuples(texts, st.sampled_from("NV"), st.sampled_from(["_", "F=1"])), texts, max_size=12))
def test_words_that_were_seen_have_their_lemma(lemma_of: dict[tuple[str, str, str], str]) -> None:
    lemmas = Lemmatiser.train([(*key, lemma) for key, lemma in lemma_of.items()])
    assert {key: lemmas.lemma(*key) for key in lemma_of} == lemma_of


def test_new_words_have_the_lemmas_of_their_endings() -> None:
    seen = [("walked", "V", "walk"), ("talked", "V", "talk"), ("dogs", "N", "dog"), ("cats", "N", "cat")]
    lemmas = Lemmatiser.train([(word, tag, "_", lemma) for word, tag, lemma in [*seen, ("red", "J", "red")]])
    assert lemmas.lemmas(["Parked", "balls", "red", "odd"], ["V", "N", "J", "X"], ["_", "F=1", "_", "_"]) == (
        "park",
        "ball",
        "red",
        "odd",
    )


@pytest.mark.parametrize("least", [LexiconOptions().min_expected, 0.5])
def test_a_tagger_of_features_lists_no_less_likely_pairs_than_others(least: float) -> None:
    """It has one state, and the pairs of words and features whose expected number is larger than by default."""
    found = _for_features(TaggerOptions(lexicon=LexiconOptions(min_expected=least)))
    assert found.estimator.with_settings(n_states=1) == found.estimator
    assert found.lexicon.min_expected >= least and found.lexicon.min_expected > LexiconOptions().min_expected


def sentences() -> list[DependencySentence]:
    """Of a noun and a verb; the features follow from the ending of the noun."""
    return [
        DependencySentence(
            (noun + ending, verb),
            (noun, verb),
            ("NOUN", "VERB"),
            ("_", "_"),
            (f"Number={number}", "_"),
            (2, 0),
            ("nsubj", "root"),
        )
        for noun in ("dog", "cat", "bird", "fish")
        for ending, number in (("", "Sing"), ("s", "Plur"))
        for verb in ("run", "sleep", "eat")
    ]


@pytest.fixture(scope="module")
def model() -> TextPipeline:
    with pytest.warns(UserWarning, match="no sentence has a comment"):
        return TextPipeline.train(sentences())


def test_bare_words_get_all_columns(model: TextPipeline, tmp_path: Path) -> None:
    assert [tagger.tagset for tagger in model.taggers] == ["upos", "feats"]  # there are no tags in xpos
    model.save(tmp_path / "model")
    bare = DependencySentence.of(["horses", "sleep"])
    for each in (model, TextPipeline.load(tmp_path / "model")):
        assert each.parse(bare).tree == DependencySentence(
            ("horses", "sleep"),
            ("horse", "sleep"),
            ("NOUN", "VERB"),
            ("_", "_"),
            ("Number=Plur", "_"),
            (2, 0),
            ("nsubj", "root"),
        )
    given = bare._replace(lemmas=("equus", "_"), feats=("_", "Tense=Past"))  # what is given stays
    assert model.parse(given).tree[1:5] == (("equus", "_"), ("NOUN", "VERB"), ("_", "_"), ("_", "Tense=Past"))


def test_a_sentence_beyond_its_limits_has_tags_and_lemmas(model: TextPipeline) -> None:
    with pytest.warns(RuntimeWarning, match="its limit"):
        flat = model.with_limits(Limits(max_words=1)).parse(DependencySentence.of(["horses", "sleep"])).tree
    assert (flat.heads, flat.lemmas, flat.upos) == ((0, 1), ("horse", "sleep"), ("NOUN", "VERB"))


def test_texts_are_divided_as_learnt_or_by_rules(model: TextPipeline) -> None:
    texts = [DividedText("a b.", [(0, 3, ("a b",)), (3, 4, (".",))], [1])] * 9
    found = replace(model, segmenter=Segmenter.train(texts)).tokenisation
    assert [token.word for token in found.words("a b.")] == ["a b", "."]
    assert [token.word for token in model.tokenisation.words("a b.")] == ["a", "b", "."]


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Rename strings wherever they stand in the settings of a model."""
    if isinstance(value, dict):
        return {key: _renamed(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part, names) for part in value]
    return names.get(value, value) if isinstance(value, str) else value


def test_names_of_a_model_cannot_add_lines_or_columns(model: TextPipeline, tmp_path: Path) -> None:
    path = tmp_path / "model"
    model.save(path)
    arrays, settings = contents(path)

    def load(changed: dict[str, Any]) -> TextPipeline:
        write(path, arrays, changed)
        return TextPipeline.load(path)

    for spoilt in ("a\nb", "a\tb", "a\rb", "a\u2028b", "a\x85b", "\x0b"):
        for name in ("root", "NOUN", "Number=Plur"):
            with pytest.raises(ModelFileError, match="line breaks"):
                load(_renamed(settings, {name: spoilt}))
    with pytest.raises(ModelFileError, match="tagset"):
        load(settings | {"taggers": _renamed(settings["taggers"], {"upos": "xxx"})})
    n_scripts = len(settings["lemmas"]["scripts"])
    for spoilt in (
        "=\ta\n{}",
        "=\ta\t{}",
        "l\t-3\tz\t0\t{}",
        "\x1b]{}",
        "l\t1\t{}",
        "=\t" + "a" * 200 + "{}",
        "x\t1\ta\t1\t{}",
    ):
        with pytest.raises(ModelFileError, match="edit scripts"):
            load(
                json.loads(json.dumps(settings))
                | {"lemmas": settings["lemmas"] | {"scripts": [spoilt.format(n) for n in range(n_scripts)]}}
            )
    assert load(settings).parse(DependencySentence.of(["dogs", "sleep"])).tree.lemmas == ("dog", "sleep")


@given(st.text(max_size=5), st.text(max_size=5) | st.text("a", min_size=199, max_size=250))
def test_what_is_learnt_of_any_lemma_can_be_stored(word: str, lemma: str) -> None:
    learnt = Lemmatiser.train([(word, "N", "_", lemma)])
    stored = read(Lemmatiser, *write_parts(learnt))
    assert stored.lemma(word, "N", "_") in (lemma or word, word)


def test_long_scripts_are_not_learnt_and_endings_are_of_seven_letters() -> None:
    for n in range(195, 202):
        script = _script_of("b", "a" * n)
        assert (Lemmatiser.train([("b", "N", "_", "a" * n)]).lemma("b", "N", "_") == "a" * n) == (len(script) <= 200)
    seen = [("xxbcdefgh", "1"), ("xybcdefgh", "2"), ("xybcdefgh", "2"), ("xzbcdefgh", "1")]
    lemmas = Lemmatiser.train([(word, "N", "_", lemma) for word, lemma in seen])
    assert lemmas.lemma("qybcdefgh", "N", "_") == "1"  # that of most words of the ending


def test_a_part_is_tagged_by_taggers_of_the_others() -> None:
    """A tag that one sentence alone has is never predicted there."""
    odd = sentences()[0]._replace(upos=("X", "VERB"))
    _, tagged = learn_columns([odd, *sentences()])
    assert len(tagged) == 1 + len(sentences())
    assert tagged[0].upos[0] != "X" and tagged[0].forms == odd.forms and tagged[0].heads == odd.heads
    assert sum(one.upos == other.upos for one, other in zip(tagged[1:], sentences(), strict=True)) >= 20


def test_equal_columns_share_a_tagger() -> None:
    twice = [each._replace(xpos=each.upos) for each in sentences()]
    reports: list[Progress] = []
    taggers, tagged = learn_columns(twice, listener=reports.append)
    told = [report for report in reports if report.stage.startswith("tagger of")]
    assert [(report.stage, report.done, report.total) for report in told] == [
        (f"tagger of UPOS, {len({tag for each in twice for tag in each.upos})} values,", 1, 3),
        (f"tagger of FEATS, {len({value for each in twice for value in each.feats})} values,", 3, 3),
    ]
    assert [tagger.tagset for tagger in taggers] == ["upos xpos", "feats"]
    assert all(tagger.named_operators.operators.states.max() == 1 for tagger in taggers)  # small and fast
    assert all(each.upos == each.xpos for each in tagged)
    filled = with_columns([twice[0]._replace(xpos=(BLANK, BLANK)), twice[1]._replace(upos=("X", BLANK))], taggers, None)
    assert [each.xpos for each in filled] == [twice[0].upos, twice[1].upos]
    assert filled[1].upos == ("X", twice[1].upos[1])


def test_the_rarest_of_too_many_values_are_learnt_as_similar_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_columns, "_MOST_VALUES", 2)
    trees = [each._replace(feats=("Case=Nom|Number=Sing", "_")) for each in sentences()]
    trees += [trees[0]._replace(feats=("Case=Nom|Gender=Fem|Number=Sing", "_"))]
    with pytest.warns(UserWarning, match=r"column feats has 3 values; .* of 2.0 % of the words"):
        taggers, _ = learn_columns(trees)
    assert taggers[1].tags == ["Case=Nom|Number=Sing", "_"]


def test_sentences_that_lack_a_tag_are_counted() -> None:
    """Features are lacking where no word has any."""
    lacking = sentences()[0]._replace(upos=("_", "VERB"))
    with pytest.warns(UserWarning, match=r"^1 of 25 sentences"):
        taggers, tagged = learn_columns([lacking, *sentences()])
    assert BLANK not in tagged[0].upos
    assert [tagger.tagset for tagger in taggers] == ["upos", "feats"]
    partly = sentences()[0]._replace(feats=("_", "Tense=Past"))
    bare = sentences()[0]._replace(upos=("_", "VERB"), feats=("_", "_"))
    assert with_columns([bare, partly], taggers, None) == [sentences()[0], partly]
    assert learn_lemmas([each._replace(lemmas=("_", "_")) for each in sentences()]) is None


@given(st.integers(0, 10_000))
def test_the_best_reading_has_the_largest_product(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, size=rng.integers(1, 4)).tolist()
    tag = np.unique(np.stack([rng.integers(size, size=5) for size in sizes], axis=1), axis=0)
    times = rng.integers(1, 9, size=len(tag))
    posteriors = [rng.dirichlet(np.ones(size), size=3) for size in sizes]
    rows = list(zip(tag.tolist(), times.tolist(), strict=True))
    for word, found in enumerate(best_readings(np.column_stack([tag, times]), posteriors).T.tolist()):
        products = {}
        for reading, n in rows:
            of_tags = [sum(m for other, m in rows if other[at] == own) for at, own in enumerate(reading)]
            shares = [posterior[word, own] + 1e-3 for posterior, own in zip(posteriors, reading, strict=True)]
            products[tuple(reading)] = np.prod(shares) * (n / np.prod(of_tags)) ** 0.5
        assert products[tuple(found)] == pytest.approx(max(products.values()))


def test_words_have_tags_that_words_have_together(model: TextPipeline) -> None:
    """What a sentence has decides on what it lacks, unless no word of training had it."""
    assert model.readings is not None
    upos, feats = (tagger.tags for tagger in model.taggers)
    seen = {(upos[one], feats[other]) for one, other, _ in model.readings.tolist()}
    assert seen == {("NOUN", "Number=Sing"), ("NOUN", "Number=Plur"), ("VERB", "_")}
    assert model.readings[:, -1].sum() == 2 * len(sentences())
    noun, verb = model.parse(DependencySentence.of(["dogs", "dogs"], ["NOUN", "VERB"])).tree.feats
    assert (noun, verb) == ("Number=Plur", "_")
    strange = DependencySentence.of(["dogs", "sleep"], ["SYM", "_"])
    assert model.parse(strange).tree.upos == ("SYM", "VERB")


@pytest.mark.parametrize("spoilt", [[[0, 1]], [[0, 9, 1]], [[0, -1, 1]], [[0, 0, 0]], np.zeros((0, 3))])
def test_readings_that_do_not_fit_are_refused(model: TextPipeline, spoilt: Any) -> None:
    with pytest.raises(ValueError, match="readings must"):
        replace(model, readings=np.array(spoilt, dtype=np.int64))
