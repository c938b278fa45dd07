"""Evaluations of models against what is found step by step."""

import time
from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.evaluation import (
    evaluate_dependency_parser,
    evaluate_parser,
    evaluate_tagger,
    measure_perplexity,
    score_attachments,
    score_brackets,
    score_tags,
)
from spectral_latent.sequence import LatentTagger

NOUNS, VERBS = ("cats", "dogs", "mice"), ("bark", "sleep")
TREES = [
    Phrase("S", (Phrase("NP", (Phrase("NNS", (n,)),)), Phrase("VP", (Phrase("VBP", (v,)), Phrase("-NONE-", ("*",))))))
    for n, v in product(NOUNS, VERBS)
]


def test_a_parser() -> None:
    model = ConstituencyModel.train(TREES[:3])
    begun = time.process_time()
    found = evaluate_parser(model, TREES)
    assert 0.0 < found.seconds <= time.process_time() - begun
    words = list(product(NOUNS, VERBS))
    assert found.score == score_brackets(zip(TREES, (model.parse(pair).tree for pair in words), strict=True))
    assert [tuple(parse.tree.words()) for parse in found.parses] == words
    assert found.fallbacks == 0
    assert found.sentences_per_second == pytest.approx(len(TREES) / found.seconds)
    assert evaluate_parser(model, []).score == score_brackets([])
    assert score_brackets([]).f1 == score_brackets([]).exact == 0.0


def test_a_parser_of_function_labels() -> None:
    def with_function(tree: Phrase, name: str) -> Phrase:
        subject, *rest = tree.children
        assert isinstance(subject, Phrase)
        return tree._replace(children=(subject._replace(label=f"NP-{name}"), *rest))

    options = ConstituencyOptions(function_labels=True)
    model = ConstituencyModel.train([with_function(tree, "SBJ") for tree in TREES], options)
    flat = Phrase("S", tuple(TREES[0].preterminals()))
    trees = [with_function(tree, "SBJ" if at % 3 else "LOC") for at, tree in enumerate(TREES)] + [flat]
    found = evaluate_parser(model, trees)
    pairs = [(tree, model.parse([word for word in tree.words() if word != "*"]).tree) for tree in trees]
    assert found.score == score_brackets(pairs)
    assert found.function_score == score_brackets(pairs, function_labels=True) != found.score
    assert (found.score.precision, found.score.recall) != (found.score.recall, found.score.precision)


def test_perplexity_is_per_word_of_the_sentences_that_are_possible() -> None:
    assert measure_perplexity([-1.0, -np.inf, -5.0], [1, 4, 2]) == (np.exp(2.0), 1)
    assert measure_perplexity([-np.inf], [3]) == (np.inf, 1) and measure_perplexity([], []) == (np.inf, 0)


def test_a_dependency_parser() -> None:
    words = [DependencySentence.of([n, v, "."], ["N", "V", "."]) for n, v in product(NOUNS, VERBS)]
    gold = [sentence.with_heads((2, 0, 2), ("nsubj", "root", "punct")) for sentence in words]
    model = DependencyModel.train(gold[:3])
    odd = [words[0].with_heads((0, 0, 2)), DependencySentence.of(["x"], ["X"]).with_heads((0,))]
    seen: list[DependencySentence] = []

    def progress(sentences: Iterable[DependencySentence]) -> Iterable[DependencySentence]:
        seen.extend(sentences)
        return seen

    found = evaluate_dependency_parser(model, [*gold, *odd], progress=progress)
    assert seen == [*words, words[0], odd[1].without_tree()]  # no parser is shown heads or relations
    assert [parse.tree for parse in found.parses] == [model.parse(sentence).tree for sentence in seen]
    assert found.score == score_attachments([*gold, *odd], [parse.tree for parse in found.parses])
    assert (found.fallbacks, found.sentences_per_second > 0) == (sum(p.is_fallback for p in found.parses), True)
    assert not evaluate_dependency_parser(model, [tree._replace(relations=("_",) * 3) for tree in gold]).has_relations
    crossing = evaluate_dependency_parser(model, gold, projective=False)
    sentences = [parse.tree for parse in crossing.parses]
    assert sentences == [model.parse(sentence, projective=False).tree for sentence in words]
    assert evaluate_dependency_parser(model, []).score == score_attachments([], [])


def test_a_tagger() -> None:
    gold = [[(n, "N"), (v, "V")] for n, v in product(NOUNS, VERBS)] * 300  # more than one batch
    model = LatentTagger.train(gold[:4])
    begun = time.process_time()
    found = evaluate_tagger(model.tag_all, gold, model.observations.known)
    assert 0.0 < found.seconds <= time.process_time() - begun
    assert found.tags == list(model.tag_all([word for word, _ in row] for row in gold))
    predicted = [
        [(word, tag) for (word, _), tag in zip(*pair, strict=True)] for pair in zip(gold, found.tags, strict=True)
    ]
    assert found.score == score_tags(gold, predicted, {"cats", "dogs", "bark", "sleep"})
    assert found.tokens_per_second == pytest.approx(found.score.tokens / found.seconds)
    assert evaluate_tagger(model.tag_all, [], []).tags == []
