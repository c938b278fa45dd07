"""Rerankers as they are trained, saved and applied."""

import numpy as np
import pytest

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent.grammar import Limits
from spectral_latent.reranking import (
    Candidate,
    CandidateFeatures,
    NBest,
    Reranker,
    jackknifed_nbest,
    parser_nbest,
    parses_to_nbest,
)
from spectral_latent.trees import FloatArray

NOUNS = ("cats", "dogs", "mice", "men", "oxen", "sheep")


def tree(tag: str, noun: str, verb: str = "run") -> Phrase:
    return Phrase("S", (Phrase(tag, (noun,)), Phrase("VB", (verb,))))


GOLD = [tree("NN", noun) for noun in NOUNS]
LISTS = [
    NBest.of([Candidate(tree("VB", noun), -1.0), Candidate(gold, -2.0)]) for noun, gold in zip(NOUNS, GOLD, strict=True)
]


@pytest.fixture(scope="module")
def model() -> ConstituencyModel:
    return ConstituencyModel.train([*GOLD, tree("VB", "cats")])


@pytest.fixture(scope="module")
def reranker(model: ConstituencyModel) -> Reranker:
    return Reranker.train(LISTS, [0, 1] * len(NOUNS), {"latent": model})


def values(reranker: Reranker, lists: list[NBest]) -> FloatArray:
    return reranker.features.table(lists).values


def annotated(phrase: Phrase) -> Phrase:
    """The tree as treebanks and BLLIP write it: a top bracket, function labels, a trace before the words."""
    trace = Phrase("NP-SBJ-1", (Phrase("-NONE-", ("*T*-1",)),))
    return Phrase("S1", (Phrase("S-TPC", (trace, *phrase.children)),))


def test_top_brackets_function_labels_and_traces_change_no_feature(
    model: ConstituencyModel, reranker: Reranker
) -> None:
    lists = [
        NBest.of([candidate._replace(tree=annotated(candidate.tree)) for candidate in nbest.candidates])  # type: ignore[arg-type]
        for nbest in LISTS
    ]
    plain = values(reranker, LISTS)
    np.testing.assert_array_equal(values(reranker, lists), plain)
    assert plain[:, reranker.features.names.index("latent:least")].min() > 0
    features = CandidateFeatures.train([NBest.of([]), *lists], {"latent": model})
    assert features == reranker.features
    assert reranker.rescore(lists)[0].candidates[0].tree == annotated(
        tree("VB", "cats")
    )  # what is returned is as given


def test_latent_features_of_phrases_are_of_scores_and_posteriors(model: ConstituencyModel) -> None:
    """In more lists than a batch has, some of which are empty."""
    lists = [NBest.of([], "0", ["cats"]), *LISTS * 3]
    table = CandidateFeatures(False, 1, {"latent": model}).table(lists)
    trees = [candidate.tree for nbest in lists for candidate in nbest.candidates]
    phrases = [tree for tree in trees if isinstance(tree, Phrase)]
    weights = [model.score([phrase]) for phrase in phrases]
    parts = [model.part_posteriors([phrase])[0] for phrase in phrases]
    column = dict(zip(table.names, table.values.T, strict=True))
    np.testing.assert_allclose(column["latent:log"], [weight.log[0] for weight in weights], rtol=1e-12)
    assert column["latent:sign"].tolist() == [weight.sign[0] for weight in weights]
    assert column["latent:sum"].tolist() == [part.sum() for part in parts]
    assert column["latent:least"].tolist() == [part.min() for part in parts]


def test_latent_features_of_a_tree_beyond_the_limit_of_words_are_those_of_no_score(model: ConstituencyModel) -> None:
    limited = CandidateFeatures(False, 1, {"latent": model.with_limits(Limits(max_words=2))})
    long = NBest.of([Candidate(Phrase("S", (Phrase("NN", ("cats",)),) * 3), -1.0)])
    whole = limited.table(LISTS)
    with pytest.warns(RuntimeWarning) as told:
        both = limited.table([long, *LISTS])
    assert any("a tree of 3 words is longer than the 2 of its limit" in str(each.message) for each in told)
    np.testing.assert_array_equal(both.values[1:], whole.values)
    assert dict(zip(both.names, both.values[0], strict=True))["latent:sign"] == 0
    assert np.isfinite(both.values).all()


def test_parses_are_the_first_of_the_rerankers_order(model: ConstituencyModel) -> None:
    reranker = Reranker.train(LISTS, [1, 0] * len(NOUNS), {"latent": model})
    sentences = [["cats", "run"], ["dogs", "run"]]
    for n_best, n_candidates in ((1, 50), (2, 50), (2, 1), (1, 1)):
        found = list(reranker.parse_all(model, sentences, n_best, n_candidates=n_candidates))
        assert [len(parses) for parses in found] == [n_best, n_best]
        for words, parses in zip(sentences, found, strict=True):
            candidates = model.parse_nbest(words, max(n_best, n_candidates))
            order = reranker.rank(parses_to_nbest(candidates))
            assert parses == [candidates[place] for place in order[:n_best]]
    with pytest.raises(ValueError, match="input 2: an empty sentence"):
        list(reranker.parse_all(model, [["cats", "run"], []]))


# Lists of the library's own parsers; nothing is parsed by a parser that was trained on it


def test_candidates_are_the_parses_of_the_words(model: ConstituencyModel) -> None:
    for gold, nbest in zip(GOLD, parser_nbest(model, GOLD, 3), strict=True):
        parses = model.parse_nbest(list(gold.words()), 3)
        assert list(nbest.candidates) == [Candidate(parse.tree, parse.log) for parse in parses]


def test_jackknifed_lists_come_from_the_other_folds(model: ConstituencyModel) -> None:
    options = [member.options for member in model.members]
    lists = jackknifed_nbest(model, GOLD, 3, folds=2)
    for begin, others in ((0, GOLD[3:]), (3, GOLD[:3])):
        expected = parser_nbest(ConstituencyModel.train(others, options), GOLD[begin : begin + 3], 3)
        assert [nbest.candidates for nbest in lists[begin : begin + 3]] == [nbest.candidates for nbest in expected]
    assert [nbest.id for nbest in lists] == list("123456")
