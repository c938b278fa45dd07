"""Test an installation: learn, save, load and ask every kind of model, phrases with every estimator.

python tests/smoke.py
"""

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from spectral_latent import load
from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, SpanOptions
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.estimation import ESTIMATORS, EstimatorOptions
from spectral_latent.evaluation.reranking import score_phrase_lists
from spectral_latent.graphs import GraphModel
from spectral_latent.reranking import Reranker
from spectral_latent.sequence import HMMOptions, LatentHMM, LatentTagger
from spectral_latent_nltk import to_nbest


def main() -> None:
    """Learn, save, load and ask, with warnings as errors."""
    warnings.simplefilter("error")
    trees = load("toy").sample(60, np.random.default_rng(0))
    sentences = [list(tree.words()) for tree in trees]

    estimators = [EstimatorOptions(name, n_states=2) for name in ESTIMATORS]
    phrases = [ConstituencyModel.train(trees, ConstituencyOptions(estimator=each)) for each in estimators]
    em = EstimatorOptions("em", n_states=2)
    judging = ConstituencyModel.train(trees, ConstituencyOptions(estimator=em, spans=SpanOptions(folds=2)))
    assert judging.surprisal(sentences[0]).total.shape == (len(sentences[0]),)

    parses = judging.parse_all(sentences[:20], n_best=3)
    lists = [to_nbest([(parse.log, parse.tree) for parse in of_sentence]) for of_sentence in parses]
    reranker = Reranker.train(lists, score_phrase_lists(lists, trees[:20]).gains)

    strings = LatentHMM.train(sentences, HMMOptions(em, choose_states=False))
    tagger = LatentTagger.train([[(word, "T") for word in words] for words in sentences])
    plain = [DependencySentence.of(forms, ["T"] * len(forms)) for forms in sentences]
    arcs = DependencyModel.train(each.with_heads(range(len(each.forms)), ["next"] * len(each.forms)) for each in plain)

    graphs = [nx.path_graph(3, create_using=nx.DiGraph) for _ in range(4)]
    for graph in graphs:
        nx.set_node_attributes(graph, "A", "label")
    nodes = GraphModel.train(graphs, EstimatorOptions(n_states=1))

    questions: list[tuple[Any, Callable[[Any], Any]]] = [
        *((each, lambda model: model.parse(sentences[0])) for each in phrases),
        (reranker, lambda model: model.rerank(lists).tolist()),
        (strings, lambda model: model.score(sentences).log.tolist()),
        (tagger, lambda model: model.tag(sentences[0])),
        (arcs, lambda model: model.parse(plain[0])),
        (nodes, lambda model: model.score(graphs).log.tolist()),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for model, ask in questions:
            model.save(Path(folder, "model"))
            assert ask(load(Path(folder, "model"))) == ask(model)
    print("every estimator and model learns, saves and loads")


if __name__ == "__main__":
    main()
