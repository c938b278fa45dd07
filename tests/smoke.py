"""Test an installation: learn, save, load and ask every kind of model, phrases with every estimator.

python tests/smoke.py
"""

import tempfile
import warnings
from pathlib import Path

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

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")

        for name in ESTIMATORS:
            estimator = EstimatorOptions(name, n_states=2)
            phrases = ConstituencyModel.train(trees, ConstituencyOptions(estimator=estimator))
            phrases.save(file)
            assert ConstituencyModel.load(file).parse(sentences[0]) == phrases.parse(sentences[0])

        options = ConstituencyOptions(estimator=EstimatorOptions("em", n_states=2), spans=SpanOptions(folds=2))
        judging = ConstituencyModel.train(trees, options)
        assert judging.surprisal(sentences[0]).total.shape == (len(sentences[0]),)

        parses = judging.parse_all(sentences[:20], n_best=3)
        lists = [to_nbest([(parse.log, parse.tree) for parse in of_sentence]) for of_sentence in parses]
        reranker = Reranker.train(lists, score_phrase_lists(lists, trees[:20]).gains)
        reranker.save(file)
        np.testing.assert_array_equal(Reranker.load(file).rerank(lists), reranker.rerank(lists))

        strings = LatentHMM.train(sentences, HMMOptions(EstimatorOptions("em", n_states=2), choose_states=False))
        strings.save(file)
        np.testing.assert_array_equal(LatentHMM.load(file).score(sentences).log, strings.score(sentences).log)

        tagger = LatentTagger.train([[(word, "T") for word in words] for words in sentences])
        tagger.save(file)
        assert LatentTagger.load(file).tag(sentences[0]) == tagger.tag(sentences[0])

        plain = [DependencySentence.of(forms, ["T"] * len(forms)) for forms in sentences]
        chains = [each.with_heads(tuple(range(len(each.forms))), ("next",) * len(each.forms)) for each in plain]
        arcs = DependencyModel.train(chains)
        arcs.save(file)
        assert DependencyModel.load(file).parse(chains[0]) == arcs.parse(chains[0])

        graphs = [nx.path_graph(3, create_using=nx.DiGraph) for _ in range(4)]
        for graph in graphs:
            nx.set_node_attributes(graph, "A", "label")
        nodes = GraphModel.train(graphs, EstimatorOptions(n_states=1))
        nodes.save(file)
        np.testing.assert_array_equal(GraphModel.load(file).score(graphs).log, nodes.score(graphs).log)

    print("every estimator and model learns, saves and loads")


if __name__ == "__main__":
    main()
