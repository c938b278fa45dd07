"""Latent tree models as a classifier and a transformer of scikit-learn's."""

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from spectral_latent_sklearn import LatentTreeClassifier, LatentTreeTransformer

KEEP = {"alike": 0.95, "mixed": 0.5}  # how often a node has the hidden colour of its parent


def drawn(kind: str, rng: np.random.Generator) -> nx.DiGraph:
    """Draw a tree of seven nodes with hidden colours, which leaves show but for noise."""
    keep = KEEP[kind]
    graph = nx.DiGraph()
    colour = [int(rng.integers(2))]
    graph.add_node(0, label="inner")
    for node in range(1, 7):
        parent = (node - 1) // 2
        same = rng.random() < keep
        colour.append(colour[parent] if same else 1 - colour[parent])
        graph.add_edge(parent, node)
        graph.add_node(node, label="inner" if node < 3 else "leaf")
        if node >= 3:
            graph.nodes[node]["observation"] = "ab"[colour[node]] if rng.random() < 0.95 else "c"
    return graph


@pytest.fixture(scope="module")
def data() -> tuple[list[nx.DiGraph], list[str]]:
    """Trees of two classes, which have the same observations equally often."""
    rng = np.random.default_rng(0)
    y = ["mixed", "alike"] * 150
    return [drawn(kind, rng) for kind in y], y


@pytest.fixture(scope="module")
def classifier(data: tuple[list[nx.DiGraph], list[str]]) -> LatentTreeClassifier:
    return LatentTreeClassifier(2, estimator="em", random_state=0).fit(*data)


@pytest.fixture(scope="module")
def transformer(data: tuple[list[nx.DiGraph], list[str]]) -> LatentTreeTransformer:
    return LatentTreeTransformer(2, estimator="em", random_state=0).fit(data[0])


def unknown() -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_node(0, label="never seen", observation="a")
    return graph


def test_classes_are_told_apart(data: tuple[list[nx.DiGraph], list[str]], classifier: LatentTreeClassifier) -> None:
    """Single observations do not tell them apart: latent states do."""
    plain = clone(classifier).set_params(n_states=1).fit(*data)
    assert plain.score(*data) < 0.65
    assert classifier.score(*data) > 0.7


def test_probabilities_obey_the_rule_of_bayes(
    data: tuple[list[nx.DiGraph], list[str]], classifier: LatentTreeClassifier
) -> None:
    X = data[0][:20]
    joint = np.stack([np.exp(model.score(X).log) / 2 for model in classifier.models_], axis=1)
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(classifier.predict_proba(X), expected, rtol=1e-9)
    assert classifier.classes_.tolist() == ["alike", "mixed"]
    np.testing.assert_array_equal(classifier.predict(X), classifier.classes_[expected.argmax(axis=1)])


def test_a_tree_that_no_model_knows_has_the_frequencies_of_classes(
    data: tuple[list[nx.DiGraph], list[str]],
) -> None:
    X, y = data
    classifier = LatentTreeClassifier(1, random_state=0).fit([*X[:4], X[0]], [*y[:4], y[0]])
    np.testing.assert_allclose(classifier.predict_proba([unknown()]), [[0.4, 0.6]])


def test_features_are_expected_counts(
    data: tuple[list[nx.DiGraph], list[str]], transformer: LatentTreeTransformer
) -> None:
    X = data[0][:10]
    counts = transformer.transform(X)
    names = transformer.get_feature_names_out().tolist()
    assert sorted(names) == ["inner:0", "inner:1", "leaf:0", "leaf:1"]
    for tree, row in zip(X, counts, strict=True):
        marginals = transformer.model_.marginals(tree)
        for label in ("inner", "leaf"):
            total = sum(p for node, p in marginals.items() if tree.nodes[node]["label"] == label)
            np.testing.assert_allclose(row[[names.index(f"{label}:{h}") for h in range(2)]], total, rtol=1e-9)
    np.testing.assert_array_equal(transformer.transform([unknown()]), np.zeros((1, 4)))


def test_requests_that_cannot_be_met(data: tuple[list[nx.DiGraph], list[str]]) -> None:
    X, y = data
    with pytest.raises(ValueError, match="X has 2 trees, but y has 1 classes"):
        LatentTreeClassifier().fit(X[:2], y[:1])
    with pytest.raises(ValueError, match="not an empty one"):
        LatentTreeClassifier().fit([], [])
    with pytest.raises(ValueError, match="has no states"):
        LatentTreeTransformer(estimator="spectral").fit(X)
    with pytest.raises(ValueError, match="n_states == -1, must be >= 1"):
        LatentTreeTransformer(-1).fit(X)
    with pytest.raises(ValueError, match="graph 2"):
        LatentTreeTransformer(1).fit([X[0], nx.DiGraph()])
    with pytest.raises(NotFittedError):
        LatentTreeClassifier().predict(X)
