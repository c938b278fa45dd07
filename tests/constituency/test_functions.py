"""Function labels: against posteriors of labels, and against parsers without them."""

from dataclasses import replace

import pytest

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase, base_label, clean
from spectral_latent.constituency.tree import list_constituents
from spectral_latent.corpora import parse_brackets
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.evaluation import evaluate_parser

SENTENCES = """
(S (NP-SBJ-1 (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat)) (PP-LOC (IN in) (NP (NN town)))) (. .))
(S (NP-SBJ (DT a) (NN cat)) (VP (VBZ sees) (NP (DT the) (NN dog)) (PP-TMP (IN on) (NP (NNP Monday)))) (. .))
(S (NP-SBJ (NNP Mary)) (VP (VBZ sees) (NP=2 (NP (NNP John)) (PP (IN of) (NP (NN town))))) (. .))
(S (NP-SBJ (NNP John)) (VP (VBZ sleeps) (PP-TMP (IN in) (NP (NNP May)))) (. .))
"""
OPTIONS = ConstituencyOptions(EstimatorOptions("clusters-em", n_states=2, iterations=1), function_labels=True)
TEXTS = [
    ["the", "cat", "sees", "John", "in", "May", "."],
    ["Mary", "sleeps", "on", "Monday", "."],
    ["a", "dog", "of", "town", "sees", "the", "cat", "in", "town", "."],
    ["Anna", "sees"],
]


@pytest.fixture(scope="module")
def trees() -> list[Phrase]:
    return list(parse_brackets(SENTENCES * 3))


@pytest.fixture(scope="module")
def model(trees: list[Phrase]) -> ConstituencyModel:
    return ConstituencyModel.train(trees, OPTIONS)


def test_trees_are_those_of_a_parser_without_function_labels(model: ConstituencyModel, trees: list[Phrase]) -> None:
    """And so are probabilities, of parses and of given trees."""
    plain = ConstituencyModel.train(trees, replace(OPTIONS, function_labels=False))
    assert plain.functions is None
    for words in TEXTS:
        pairs = zip(model.parse_nbest(words, 5), plain.parse_nbest(words, 5), strict=True)
        for found, expected in pairs:
            assert clean(found.tree) == expected.tree
            assert found[1:] == expected[1:]
    assert model.score(trees).log.tolist() == plain.score(trees).log.tolist()


def test_each_constituent_has_the_likeliest_label_of_its_category(model: ConstituencyModel) -> None:
    """By the posteriors of a parser that has the grammar of the labeller alone."""
    assert model.functions is not None
    grammar = model.functions.grammar
    alone = ConstituencyModel((replace(grammar, options=replace(grammar.options, function_labels=False)),))
    labels = set()
    for words in TEXTS:
        posteriors = alone.posteriors(words)
        for parse in model.parse_nbest(words, 3):
            for part in list_constituents(parse.tree):
                rivals = {
                    other.label: posterior
                    for other, posterior in posteriors.items()
                    if other[:2] == part[:2] and other.is_tag == part.is_tag
                    if base_label(other.label) == base_label(part.label)
                }
                assert part.label == (max(rivals, key=rivals.__getitem__) if rivals else base_label(part.label))
                labels.add(part.label)
    assert {"NP", "NP-SBJ", "PP-TMP"} <= labels
    assert sorted(model.functions.names) == ["NP-SBJ", "PP-LOC", "PP-TMP"]


def test_scores_with_and_without(model: ConstituencyModel) -> None:
    """A wrong function label is an error in one of the scores; a model without function labels has only the other."""
    wrong = SENTENCES.replace("NP-SBJ (NNP Mary)", "NP-TMP (NNP Mary)")
    gold = list(parse_brackets(wrong))
    evaluation = evaluate_parser(model, gold)
    assert evaluation.function_score is not None
    n = evaluation.score.gold
    assert (evaluation.score.matched, evaluation.function_score.matched) == (n, n - 1)
    assert evaluate_parser(replace(model, functions=None), gold).function_score is None
