"""Small models of every kind, files of theirs with the right digest and wrong contents, and what must become of them.

A damaged file is refused when it is read, by a ModelFileError that names it; or it is a model, whose answers have no
NaN, are as many as there are questions, and come from within its arrays (run with NUMBA_BOUNDSCHECK=1 to see that).
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.automata import AutomatonOptions, WeightedAutomaton
from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions
from spectral_latent.corpora.embedded import embedded_treebank
from spectral_latent.dependency import DependencyModel, DependencyOptions, DependencySentence
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.files import ModelFileError, load_model, save_model
from spectral_latent.graphs import GraphModel
from spectral_latent.reranking import NBest, PerceptronOptions, Reranker
from spectral_latent.reranking.candidates import Candidate
from spectral_latent.sequence import HMMOptions, LatentHMM, LatentTagger, TaggerOptions

__all__ = ["KINDS", "check", "damaged"]

TREES = embedded_treebank(60)
WORDS = [list(tree.words()) for tree in TREES]
TAGGED = [[(word, word[-1]) for word in row] for row in WORDS]
QUESTIONS = [WORDS[0], ["Zorro", "likes", "3", "birds"], WORDS[1][:3]]
FAR = [-(2**62), -(10**9), -2, -1, 0, 1, 2, 3, 10**6, 10**9, 2**62]
FLOATS = [0.0, -0.0, -1.0, 1e-300, 1e-30, 0.5, 1.0, 2.0, 1e6, 1e30, 1e90, 1e308, -1e308, np.inf, np.nan]
SETTINGS = [None, True, False, 0, 1, -1, 3, 10**9, 10**400, 0.5, 1e308, "", "a", "False", [], [None], ["a", "a"], {}]


class Kind(NamedTuple):
    """A kind of model: how a small one is made, read, and asked all that it can be asked."""

    train: Callable[[], Any]
    load: Callable[[Path], Any]
    answers: Callable[[Any], Iterator[Any]]


def _expectations(model: Any, words: list[str]) -> Iterator[Any]:
    """Ask a model of probabilities for what it expects of each prefix of a sentence."""
    yield np.exp(-model.surprisal(words, "nats").total)
    entropy = model.entropy(words)
    assert (entropy >= -1e-9).all()
    yield np.exp(-entropy)


def _phrases(estimator: str) -> ConstituencyModel:
    options = ConstituencyOptions(estimator=EstimatorOptions(estimator, n_states=3, iterations=2))
    return ConstituencyModel.train(TREES, [options, options])


def _ask_phrases(model: ConstituencyModel) -> Iterator[Any]:
    for words in QUESTIONS:
        for parse in model.parse_nbest(words, 3):
            assert list(parse.tree.words()) == words
            yield parse.log
        yield np.array(list(model.posteriors(words).values()))
        if model.options.estimator.probabilities:
            yield from _expectations(model, words)
    yield model.score(TREES[:4]).log
    yield model.log_probabilities(QUESTIONS)


def _sentences() -> list[DependencySentence]:
    """Each word depends on the next one."""
    made = []
    for row in WORDS:
        sentence = DependencySentence.of(row, [word[-1] for word in row])
        heads = (*range(2, len(row) + 1), 0)
        made.append(sentence.with_heads(heads, tuple("root" if not head else "dep" for head in heads)))
    return made


def _ask_dependencies(model: DependencyModel) -> Iterator[Any]:
    for words in QUESTIONS:
        for parse in model.parse_nbest(DependencySentence.of(words), 2):
            assert parse.tree.forms == tuple(words) and parse.tree.is_tree()
            yield parse.log
        yield model.posteriors(DependencySentence.of(words))
    yield model.score(_sentences()[:4]).log
    yield model.log_probabilities(map(DependencySentence.of, QUESTIONS))


def _ask_sequences(model: LatentHMM | LatentTagger) -> Iterator[Any]:
    rows = [*QUESTIONS, []] * 3
    tags = list((model if isinstance(model, LatentTagger) else model.tagger).tag_all(rows))
    assert [len(row) for row in tags] == [len(row) for row in rows]
    yield from ((model if isinstance(model, LatentTagger) else model.tagger).posteriors(row) for row in QUESTIONS)
    log = model.weights(QUESTIONS).log
    yield log
    if np.isfinite(log).all():  # what follows the impossible is not known
        yield sum(model.following(QUESTIONS[0][:2]).values())
        yield np.exp(-model.entropy(QUESTIONS[0]))


def _ask_automata(model: WeightedAutomaton) -> Iterator[Any]:
    yield model.score(QUESTIONS).log
    yield from (np.exp(value) for value in model.log_probabilities(QUESTIONS))


def _ask_anchors(model: AnchorHMM) -> Iterator[Any]:
    tags = list(model.tag_all(QUESTIONS))
    assert [len(row) for row in tags] == [len(row) for row in QUESTIONS]
    yield from (model.posteriors(words) for words in QUESTIONS)


def _graphs() -> list[nx.DiGraph]:
    made = []
    for first, second in ["aa", "bb", "ab", "bb"] * 3:
        graph = nx.DiGraph([(0, 1), (0, 2)])
        nx.set_node_attributes(graph, {0: "A", 1: "B", 2: "B"}, "label")
        nx.set_node_attributes(graph, {1: first, 2: second}, "observation")
        made.append(graph)
    return made


def _ask_graphs(model: GraphModel) -> Iterator[Any]:
    yield model.score(_graphs()[:4]).log


def _lists() -> list[NBest]:
    """Make a list of two trees with random scores for each sentence."""
    rng = np.random.default_rng(0)
    pairs = ((tree, tree._replace(label="X")) for tree in TREES[:20])
    return [NBest.of([Candidate(tree, float(rng.normal())) for tree in pair]) for pair in pairs]


def _reranker() -> Reranker:
    gains = np.random.default_rng(1).normal(size=40)
    return Reranker.train(_lists(), gains, options=PerceptronOptions(epochs=3))


def _ask_reranker(model: Reranker) -> Iterator[Any]:
    yield model.rerank(_lists())


KINDS: dict[str, Kind] = {
    "phrases": Kind(lambda: _phrases("clusters-em"), ConstituencyModel.load, _ask_phrases),
    "spectral phrases": Kind(lambda: _phrases("spectral"), ConstituencyModel.load, _ask_phrases),
    "dependencies": Kind(
        lambda: DependencyModel.train(_sentences(), DependencyOptions(estimator=EstimatorOptions(n_states=3))),
        DependencyModel.load,
        _ask_dependencies,
    ),
    "tagger": Kind(
        lambda: LatentTagger.train(TAGGED, TaggerOptions(EstimatorOptions(n_states=3))),
        LatentTagger.load,
        _ask_sequences,
    ),
    "sequences": Kind(
        lambda: LatentHMM.train(WORDS, HMMOptions(EstimatorOptions("clustering", n_states=3))),
        LatentHMM.load,
        _ask_sequences,
    ),
    "automata": Kind(
        lambda: WeightedAutomaton.train(WORDS, AutomatonOptions(n_states=3)), WeightedAutomaton.load, _ask_automata
    ),
    "anchors": Kind(lambda: AnchorHMM.train(WORDS, AnchorOptions(n_states=3)), AnchorHMM.load, _ask_anchors),
    "graphs": Kind(
        lambda: GraphModel.train(_graphs(), EstimatorOptions("clustering", n_states=2)),
        GraphModel.load,
        _ask_graphs,
    ),
    "reranker": Kind(_reranker, Reranker.load, _ask_reranker),
}


@cache
def whole(kind: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Train a model of a kind, and give the arrays and settings of its file."""
    path = folder / kind
    KINDS[kind].train().save(path)
    return load_model(path)


def damaged(
    rng: random.Random, arrays: dict[str, Any], settings: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Change one to three things in the contents of a model file."""
    arrays, settings = dict(arrays), dict(settings)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.3:
            key = rng.choice(sorted(settings.keys() - {"format", "kind", "version"}))
            settings[key] = _other(rng, settings[key])
        else:
            name = rng.choice(sorted(arrays))
            arrays[name] = _damaged_array(rng, arrays[name], arrays)
    return {name: array for name, array in arrays.items() if array is not None}, settings


def _damaged_array(rng: random.Random, array: Any, arrays: dict[str, Any]) -> Any:
    """Change a number, a row, the order, the type or the shape of an array, or leave it out."""
    if array is None or not array.size or rng.random() < 0.02:
        return None
    changed = array.copy()
    at = rng.randrange(array.size)
    how = rng.choice(["number"] * 6 + ["row", "swap", "short", "long", "type", "shape", "all", "other"])
    if how == "number":
        near = changed.ravel()[rng.randrange(array.size)]
        value = rng.choice([near, *(FLOATS if array.dtype.kind == "f" else FAR)])
        with np.errstate(all="ignore"):
            changed.flat[at] = value if array.dtype.kind == "f" else np.int64(value).astype(array.dtype)
    elif how in ("row", "swap"):
        other = rng.randrange(len(array))
        changed[other] = array[at % len(array)]
        if how == "swap":
            changed[at % len(array)] = array[other]
    elif how == "all":
        changed[...] = changed.flat[at]
    elif how == "other":
        return arrays[rng.choice(sorted(arrays))]
    else:
        types = [np.float16, np.float32, np.float64, np.int64, np.uint8, np.bool_]
        with warnings.catch_warnings(action="ignore"):
            return {
                "short": lambda: array[:-1],
                "long": lambda: np.concatenate([array, array[:1]]),
                "type": lambda: array.astype(rng.choice(types)),
                "shape": lambda: array[None],
            }[how]()
    return changed


def _other(rng: random.Random, value: Any) -> Any:
    """Change, leave out or repeat one part of a JSON value."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        name = rng.choice(sorted(value))
        if rng.random() < 0.03:
            return {key: part for key, part in value.items() if key != name}
        return value | {name: _other(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        how = rng.choice(["change", "change", "short", "twice", "swap"])
        if how == "change":
            return [*value[:at], _other(rng, value[at]), *value[at + 1 :]]
        return {"short": value[:-1], "twice": [*value, value[at]], "swap": value[at:] + value[:at]}[how]
    return rng.choice(SETTINGS)


def check(kind: str, case: int, seed: int, folder: Path) -> str:
    """Damage a model file, read it and use it: "refused", "an error" with a message of its own, or "used".

    Raises AssertionError or any other error where the library does what it must not do.
    """
    rng = random.Random(f"{seed}:{kind}:{case}")
    path = folder / "damaged"
    save_model(path, *damaged(rng, *whole(kind, folder)))
    try:
        model = KINDS[kind].load(path)
    except ModelFileError as error:
        assert str(path) in str(error)
        return "refused"
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        try:
            for answer in KINDS[kind].answers(model):
                assert not np.isnan(answer).any(), "an answer is NaN"
        except ValueError as error:
            assert type(error) is ValueError
            return "an error"
    return "used"
