"""Evaluations of models against what is found step by step."""

from collections.abc import Iterable
from itertools import product

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent.evaluation import GoldTree, evaluate_parser, evaluate_tagger, score_brackets, score_tags
from spectral_latent.sequence import LatentHMM

NOUNS, VERBS = ("cats", "dogs", "mice"), ("bark", "sleep")
TREES = [
    Phrase("S", (Phrase("NP", (Phrase("NNS", (n,)),)), Phrase("VP", (Phrase("VBP", (v,)), Phrase("-NONE-", ("*",))))))
    for n, v in product(NOUNS, VERBS)
]


def test_trees_without_words() -> None:
    assert GoldTree.of(Phrase("S", (Phrase("-NONE-", ("*",)),))) is None


def test_a_parser() -> None:
    model = ConstituencyModel.train(TREES[:3])
    gold = [tree for tree in map(GoldTree.of, TREES) if tree]
    seen: list[GoldTree] = []

    def progress(trees: Iterable[GoldTree]) -> Iterable[GoldTree]:
        seen.extend(trees)
        return seen

    found = evaluate_parser(model, gold, progress=progress)
    assert seen == gold
    assert found.scores == score_brackets((tree, model.parse(list(words)).tree) for tree, words in gold)
    assert [list(parse.tree.words()) for parse in found.parses] == [words for _, words in gold]
    assert (found.fallbacks, found.sentences_per_second > 0) == (0, True)
    assert evaluate_parser(model, []).scores == score_brackets([])


def test_a_tagger() -> None:
    gold = [[(n, "N"), (v, "V")] for n, v in product(NOUNS, VERBS)] * 300  # more than one batch
    model = LatentHMM.fit_tagged(gold[:4])
    found = evaluate_tagger(model.tag, gold, model.observations.known)
    assert found.tags == model.tag([[word for word, _ in row] for row in gold])
    predicted = [
        [(word, tag) for (word, _), tag in zip(*pair, strict=True)] for pair in zip(gold, found.tags, strict=True)
    ]
    assert found.score == score_tags(gold, predicted, {"cats", "dogs", "bark", "sleep"})
    assert found.tokens_per_second > 0
    assert evaluate_tagger(model.tag, [], []).tags == []
