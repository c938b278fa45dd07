"""Rerankers as they are saved and applied, and the library's own parsers under them."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent.dependency import DependencySentence
from spectral_latent.operators import ModelFileError
from spectral_latent.reranking import Candidate, NBest
from spectral_latent.reranking.latent import LatentFeatures
from spectral_latent.reranking.own import best_parses, jackknifed_lists, load_reranker, nbest_of_parses, own_lists
from spectral_latent.reranking.reranker import Reranker, feature_table, models_needed
from tests.reranking.nbest_lists import phrase_lists

NOUNS = ("cats", "dogs", "mice", "men", "oxen", "sheep")


def tree(tag: str, noun: str, verb: str = "run") -> Phrase:
    return Phrase("S", (Phrase(tag, (noun,)), Phrase("VB", (verb,))))


GOLD = [tree("NN", noun) for noun in NOUNS]
LISTS = [
    NBest.of([Candidate(tree("VB", noun), -1.0), Candidate(gold, -2.0)]) for noun, gold in zip(NOUNS, GOLD, strict=True)
]
GAINS = [0, 1] * len(NOUNS)


MODEL = ConstituencyModel.train([*GOLD, tree("VB", "cats")])
RERANKER = Reranker.train(LISTS, GAINS, {"latent": MODEL})


@pytest.fixture(scope="module")
def model() -> ConstituencyModel:
    return MODEL


@pytest.mark.parametrize("templates", [False, True])
def test_saved_and_loaded_it_gives_the_same(model: ConstituencyModel, templates: bool, tmp_path: Path) -> None:
    trained = Reranker.train(LISTS, GAINS, {"a": model, "b": model}, templates=templates)
    trained.save(tmp_path / "file")
    loaded = Reranker.load(tmp_path / "file", {"b": model, "a": model})  # in any order
    assert loaded.perceptron.names == trained.perceptron.names
    assert any(name.startswith("rule:") for name in trained.perceptron.names) == templates
    np.testing.assert_array_equal(loaded.table(LISTS).values.toarray(), trained.table(LISTS).values.toarray())
    np.testing.assert_array_equal(loaded.rerank(LISTS), [1] * len(LISTS))


def test_the_table_of_training_is_that_of_application(model: ConstituencyModel) -> None:
    reranker = Reranker.train(LISTS, GAINS, {"latent": model})
    there, here = feature_table(LISTS, {"latent": model}), reranker.table(LISTS)
    assert here.names == there.names
    np.testing.assert_array_equal(here.values.toarray(), there.values.toarray())


def test_scores_are_weighted_sums_and_give_the_order(model: ConstituencyModel) -> None:
    reranker = Reranker.train(LISTS, GAINS, {"latent": model})
    expected = reranker.table(LISTS).values.toarray() @ reranker.perceptron.weights
    found = [candidate.score for nbest in reranker.rescored(LISTS) for candidate in nbest.candidates]
    np.testing.assert_allclose(found, expected)
    for each, scores in zip(LISTS, np.reshape(expected, (-1, 2)), strict=True):
        np.testing.assert_array_equal(reranker.ranking(each), np.argsort(-scores))


def test_empty_lists_and_no_lists(model: ConstituencyModel) -> None:
    reranker = Reranker.train(LISTS, GAINS, {"latent": model})
    nothing = NBest.of([], words=["dogs"])
    np.testing.assert_array_equal(reranker.rerank([LISTS[0], nothing]), [1, -1])
    assert reranker.rescored([nothing]) == [nothing]
    assert reranker.rescored([]) == []
    assert len(reranker.ranking(nothing)) == 0


@given(st.lists(phrase_lists(), max_size=4))
def test_any_lists_of_phrases(lists: list[NBest]) -> None:
    """Symbols and words never seen, impossible trees, lists of one tree or none."""
    table = RERANKER.table(lists)
    expected = table.values.toarray() @ RERANKER.perceptron.weights
    for number, (each, place, other) in enumerate(
        zip(lists, RERANKER.rerank(lists), RERANKER.rescored(lists), strict=True)
    ):
        scores = expected[table.start[number] : table.start[number + 1]]
        assert place == -1 if not len(each) else scores[place] == pytest.approx(scores.max(), rel=1e-9)
        assert [tree for tree, *_ in other.candidates] == [tree for tree, *_ in each.candidates]
        np.testing.assert_allclose([score for _, score, _ in other.candidates], scores, rtol=1e-9)


def test_models_must_be_those_of_training(model: ConstituencyModel, tmp_path: Path) -> None:
    reranker = Reranker.train(LISTS, GAINS, {"a": model})
    assert models_needed(reranker.perceptron) == {"a"}
    reranker.save(tmp_path / "file")
    for models, message in (({}, "needs latent models named a"), ({"a": model, "b": model}, "no features .* named b")):
        with pytest.raises(ModelFileError, match=f"file: .*{message}"):
            Reranker.load(tmp_path / "file", models)


def test_lists_of_another_formalism() -> None:
    words = DependencySentence.of(["cats", "run"], ["NN", "VB"])
    heads = [NBest.of([Candidate(words._replace(heads=(0, 1)), -1.0), Candidate(words._replace(heads=(2, 0)), -2.0)])]
    of_heads, of_phrases = (Reranker.train(lists * 6, [0, 1] * 6 * len(lists), {}) for lists in (heads, LISTS))
    with pytest.raises(ValueError, match="phrases for a reranker of dependencies"):
        of_heads.rerank(LISTS)
    with pytest.raises(ValueError, match="dependencies for a reranker of phrases"):
        of_phrases.rerank(heads)
    with pytest.raises(ValueError, match="dependency trees for a model of phrases"):
        feature_table(heads, {"latent": MODEL}, templates=False)


def test_latent_features_do_not_depend_on_annotation_that_is_cleaned_away(model: ConstituencyModel) -> None:
    """A top bracket, function labels and empty elements, which parsers write, say nothing of the words."""
    plain = tree("NN", "cats")
    subject, verb = plain.children
    assert isinstance(subject, Phrase) and isinstance(verb, Phrase)
    empty = Phrase("NP", (Phrase("-NONE-", ("*T*-1",)),))
    annotated = Phrase("S1", (Phrase("S-TPC", (empty, subject._replace(label=f"{subject.label}-SBJ"), verb)),))
    first, second = LatentFeatures(model).table([NBest.of([Candidate(plain), Candidate(annotated)])]).values.toarray()
    np.testing.assert_array_equal(first, second)
    assert first[LatentFeatures(model).feature_names().index("latent:least")] > 0.0


@pytest.mark.parametrize("name", ["base", "rule", "siblings", "a:b", ""])
def test_names_that_a_model_cannot_have(model: ConstituencyModel, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be named"):
        feature_table(LISTS, {name: model})


def test_own_lists_are_the_parsers(model: ConstituencyModel) -> None:
    for gold, nbest in zip(GOLD, own_lists(model, GOLD, 3), strict=True):
        parses = model.parse_nbest(list(gold.words()), 3)
        assert list(nbest.candidates) == [Candidate(parse.tree, parse.log) for parse in parses]


def test_own_lists_of_a_sentence_that_cannot_be_derived(model: ConstituencyModel) -> None:
    (nbest,) = own_lists(model, [Phrase("S", (Phrase("NN", ("dogs",)),) * 5)], 3)
    assert [(tree.label, score) for tree, score, _ in nbest.candidates if isinstance(tree, Phrase)] == [
        ("FALLBACK", -np.inf)
    ]
    reranker = Reranker.train(LISTS, GAINS, {"latent": model})
    np.testing.assert_array_equal(reranker.rerank([nbest]), [0])


def test_jackknifed_lists_come_from_the_other_folds(model: ConstituencyModel) -> None:
    options = [member.options for member in model.members]
    found = jackknifed_lists(model, GOLD, 3, folds=2)
    for begin, own in ((0, GOLD[3:]), (3, GOLD[:3])):
        expected = own_lists(ConstituencyModel.train(own, options), GOLD[begin : begin + 3], 3)
        assert [each.candidates for each in found[begin : begin + 3]] == [each.candidates for each in expected]
    assert [each.id for each in found] == list("123456")


def test_best_parses_are_the_first_of_the_rerankers_order(model: ConstituencyModel) -> None:
    search = partial(model.parse_nbest, ["cats", "run"])
    reranker = Reranker.train(LISTS, [1, 0] * len(NOUNS), {"latent": model})
    parses = search(5)
    order = reranker.ranking(nbest_of_parses(parses))
    assert len(parses) > 1
    for n in (1, 2):
        assert list(best_parses(search, n, reranker)) == [parses[i] for i in order[:n]]
        assert best_parses(search, n) == search(n)
    assert best_parses(search, 1, reranker, candidates=1) == search(1)
    with pytest.raises(ValueError, match="n_best must be at least 1"):
        best_parses(search, 0, reranker)


def test_a_parser_is_the_latent_model_of_its_reranker(model: ConstituencyModel, tmp_path: Path) -> None:
    for name, models in (("own", {"latent": model}), ("other", {"other": model}), ("none", {})):
        Reranker.train(LISTS, GAINS, models).save(tmp_path / name)
    assert load_reranker(tmp_path / "own", model).models == {"latent": model}
    assert load_reranker(tmp_path / "none", model).models == {}
    assert load_reranker(tmp_path / "other", model, {"other": model}).models == {"other": model}
    with pytest.raises(ModelFileError, match="named other"):
        load_reranker(tmp_path / "other", model)
