"""Run the checks of all models on rerankers."""

import zlib
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.reranking import Candidate, NBest, Reranker, RerankerOptions
from tests.conformance.abilities import AnswersByProcesses
from tests.conformance.model import ModelConformance, Refused, wrong_counts
from tests.conformance.treebank import NOT_EMPTY, PHRASES


def with_other_labels(phrase: Phrase, rng: np.random.Generator) -> Phrase:
    """Change some labels of phrases, but no tags."""
    if phrase.is_preterminal():
        return phrase
    label = str(rng.choice(["NP", "VP", "PP"])) if rng.random() < 0.2 else phrase.label
    return Phrase(label, tuple(with_other_labels(part, rng) for part in phrase.children if isinstance(part, Phrase)))


def labels(tree: Phrase) -> list[str]:
    return [node.label for node in tree.nodes() if isinstance(node, Phrase)]


def gain(tree: Phrase) -> int:
    """Count the right labels, and add noise, so that features cannot predict the gain exactly."""
    gold = next(gold for gold in PHRASES if list(gold.words()) == list(tree.words()))
    right = sum(one == other for one, other in zip(labels(tree), labels(gold), strict=True))
    return right + zlib.crc32(tree.bracketed().encode()) % 5


@cache
def parser() -> ConstituencyModel:
    """Train a parser, whose probabilities are features of a reranker."""
    return ConstituencyModel.train(PHRASES[70:], ConstituencyOptions(estimator=EstimatorOptions("clustering")))


RNG = np.random.default_rng(0)
CHOICES = [
    NBest.of([Candidate(with_other_labels(gold, RNG), RNG.normal(-20.0)) for _ in range(4)])
    for gold in sorted(PHRASES, key=lambda phrase: len(list(phrase.words())))[:20]
]


class TestReranker(AnswersByProcesses, ModelConformance):
    model_class = Reranker
    examples = CHOICES
    inputs = NOT_EMPTY
    facts = ("models",)
    defaults = RerankerOptions()
    settings = (RerankerOptions(penalty=4.0), RerankerOptions(iterations=2, folds=3))
    example = "(S x)"
    sense = MappingProxyType({"has_heads": [True]})

    @classmethod
    def learn(cls, examples: Any, options: Any = None, **others: Any) -> Reranker:
        """Train the model on lists; the gains grow with the number of right labels."""
        lists = list(examples)
        gains = [gain(tree) for nbest in lists if isinstance(nbest, NBest) for tree, *_ in nbest.candidates]
        return Reranker.train(lists, gains, {"latent": parser()}, options=options)

    @classmethod
    def load(cls, path: Path) -> Reranker:
        return Reranker.load(path, parser=parser())

    @staticmethod
    def options_of(model: Reranker) -> RerankerOptions:
        return model.choice.options

    @staticmethod
    def answers(model: Reranker) -> Any:
        return model.rerank(CHOICES).tolist(), model.rescore(CHOICES[:5])

    @staticmethod
    def many(model: Reranker, inputs: list[Any], **jobs: int | None) -> list[Any]:
        return list(model.parse_all(parser(), inputs, 2, n_candidates=4, **jobs))

    def refused(self, model: Reranker) -> Refused:
        yield from wrong_counts(partial(model.parse_all, parser(), []))
        yield partial(model.parse_all, parser(), [], n_candidates=0), ValueError, "n_candidates must be an integer"
        for ask in (model.rerank, model.rescore, lambda lists: model.rank(lists[0])):
            yield partial(ask, ["(S x)"]), TypeError, "expected NBest, got str"
