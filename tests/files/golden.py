"""Write a small model of each kind, and its answers: `python -m tests.files.golden`.

They show that later versions still read the files of the present version of the format, which are its golden files.
Those of older versions are never written again.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from spectral_latent import load
from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.automata import AutomatonOptions, WeightedAutomaton
from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, SpanOptions
from spectral_latent.dependency import DependencyModel, DependencyOptions, DependencySentence
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.files.storage import VERSION
from spectral_latent.graphs import GraphModel
from spectral_latent.reranking import NBest, Reranker, RerankerOptions
from spectral_latent.reranking.candidates import Candidate
from spectral_latent.sequence import HMMOptions, LatentHMM, LatentTagger, TaggerOptions
from tests.toy import toy_treebank

FOLDER = Path(__file__).parent / "golden"
TREES = [
    tree._replace(children=(tree.children[0]._replace(label="NP-SBJ"), *tree.children[1:])) for tree in toy_treebank(24)
]
WORDS = [list(tree.words()) for tree in TREES]
TAGGED = [[(word, word[-1]) for word in row] for row in WORDS]
QUESTIONS = [WORDS[0], ["Zorro", "likes", "3", "birds"], WORDS[1][:3]]
STATES = EstimatorOptions("clusters-em", n_states=2, iterations=1)


def _arcs(words: list[str]) -> DependencySentence:
    """Make a tree in which each word depends on the next one."""
    heads = (*range(2, len(words) + 1), 0)
    relations = tuple("dep" if head else "root" for head in heads)
    return DependencySentence.of(words, [word[-1] for word in words]).with_heads(heads, relations)


def _graph(first: str, second: str) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_edges_from([(0, 1), (0, 2)])
    nx.set_node_attributes(graph, {0: "A", 1: "B", 2: "B"}, "label")
    nx.set_node_attributes(graph, {1: first, 2: second}, "observation")
    return graph


GRAPHS = [_graph(first, second) for first, second in ("aa", "bb", "ab", "bb")]


def _lists() -> list[NBest]:
    """Make a list of two trees for each sentence; the score of the better one is lower in every third list."""
    return [
        NBest.of([Candidate(tree, -float(number % 3)), Candidate(tree._replace(label="X"), -1.5)])
        for number, tree in enumerate(TREES)
    ]


def _phrases() -> ConstituencyModel:
    """Few trees, because the weights of spans are many."""
    options = ConstituencyOptions(estimator=STATES, spans=SpanOptions(folds=2, iterations=2), function_labels=True)
    return ConstituencyModel.train(TREES[:3], [options] * 2)


MODELS: dict[str, Callable[[], Any]] = {
    "anchors": lambda: AnchorHMM.train(WORDS, AnchorOptions(n_states=3)),
    "automaton": lambda: WeightedAutomaton.train(WORDS, AutomatonOptions(n_states=3)),
    "constituency": _phrases,
    "dependency": lambda: DependencyModel.train(map(_arcs, WORDS[:10]), DependencyOptions(estimator=STATES)),
    "hmm": lambda: LatentHMM.train(WORDS, HMMOptions(EstimatorOptions(n_states=3))),
    "reranker": lambda: Reranker.train(_lists(), [1.0, 0.0] * len(TREES), options=RerankerOptions(iterations=3)),
    "tagger": lambda: LatentTagger.train(TAGGED, TaggerOptions(EstimatorOptions("spectral", n_states=2))),
    "tree": lambda: GraphModel.train(GRAPHS * 4, EstimatorOptions("clustering", n_states=2)),
}


def answers(model: Any) -> Any:
    """Ask a model of any kind a little of all that it stores; JSON can hold the answers.

    model: a model of one of the kinds of MODELS.
    """
    match model:
        case ConstituencyModel():
            found = [model.parse(words).tree.bracketed() for words in QUESTIONS]
            posteriors = [sorted(p for p in model.posteriors(words).values() if p > 1e-3) for words in QUESTIONS]
            return [found, model.log_probabilities(QUESTIONS).tolist(), posteriors]
        case DependencyModel():
            trees = [model.parse(DependencySentence.of(words)).tree for words in QUESTIONS]
            scores = model.log_probabilities(map(DependencySentence.of, QUESTIONS)).tolist()
            return [[list(tree.heads) for tree in trees], [list(tree.relations) for tree in trees], scores]
        case GraphModel():
            return model.score(GRAPHS).log.tolist()
        case Reranker():
            return [model.rerank(_lists()).tolist(), model.choice.weights[:5].tolist()]
        case LatentTagger() | AnchorHMM():
            posteriors = [np.asarray(model.posteriors(words)).tolist() for words in QUESTIONS]
            return [list(model.tag_all(QUESTIONS)), posteriors, model.log_probabilities(QUESTIONS).tolist()]
        case LatentHMM() | WeightedAutomaton():
            return [model.score(QUESTIONS).log.tolist(), model.log_probabilities(QUESTIONS).tolist()]
    raise AssertionError(model)


def main() -> None:
    folder = FOLDER / str(VERSION)
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for kind, train in MODELS.items():
        train().save(folder / kind)
        found[kind] = answers(load(folder / kind))
    lines = [f"{json.dumps(kind)}: {json.dumps(answer, ensure_ascii=False)}" for kind, answer in found.items()]
    (folder / "answers.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
