"""The latent tagger and latent tree models as estimators of scikit-learn's."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, cross_val_predict, cross_val_score

from spectral_latent import sequence
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence import TaggerOptions
from spectral_latent_sklearn import LatentTagClassifier, LatentTreeClassifier, LatentTreeTransformer
from tests.conformance.treebank import SENTENCES, TAGGED, TAGS

X = np.array([(number, word) for number, words in enumerate(SENTENCES) for word in words], dtype=object)
Y = np.array([tag for tags in TAGS for tag in tags])
SENTENCE = X[:, 0].astype(int)


@pytest.fixture(scope="module")
def fitted() -> LatentTagClassifier:
    return LatentTagClassifier(2, random_state=np.random.RandomState(0)).fit(X, Y)


def test_tags_are_those_of_the_library() -> None:
    seed = np.random.RandomState(7).randint(2**31 - 1)
    plain = sequence.LatentTagger.train(TAGGED, TaggerOptions(EstimatorOptions("em", n_states=2, seed=int(seed))))
    tagger = LatentTagClassifier(2, estimator="em", random_state=7).fit(X, Y)
    assert tagger.predict(X).tolist() == [tag for tags in plain.tag_all(SENTENCES) for tag in tags]
    assert tagger.classes_.tolist() == sorted(plain.tags)
    expected = np.concatenate([plain.posteriors(words) for words in SENTENCES])
    for column, tag in enumerate(tagger.classes_):
        np.testing.assert_array_equal(tagger.predict_proba(X)[:, column], expected[:, plain.tags.index(tag)])


def test_a_classifier_that_scikit_learn_can_cross_validate() -> None:
    """With accuracy by name, whole sentences, and predictions of all parts."""
    tagger = LatentTagClassifier(1, random_state=0)
    assert is_classifier(tagger)
    options: dict[str, Any] = {"cv": GroupKFold(3), "groups": SENTENCE}
    scores = cross_val_score(tagger, X, Y, scoring="accuracy", **options)
    found = cross_val_predict(tagger, X, Y, **options)
    sizes = [len(test) for _, test in GroupKFold(3).split(X, Y, SENTENCE)]
    assert np.average(scores, weights=sizes) == pytest.approx(np.mean(found == Y))
    assert np.mean(found == Y) > 0.9
    likely = cross_val_predict(tagger, X, Y, method="predict_proba", **options).argmax(axis=1)
    np.testing.assert_array_equal(np.unique(Y)[likely], found)


def test_tags_are_partly_known(fitted: LatentTagClassifier) -> None:
    """Known tags are kept, and every third tag that is hidden in training is found."""
    known = [tag if number % 3 else None for number, tag in enumerate(Y)]
    hidden = np.array([tag is None for tag in known])
    tagger = LatentTagClassifier(2, random_state=0).fit(X, np.array(known, dtype=object))
    assert np.mean((tagger.predict(X) == Y)[hidden]) > 0.9
    wrong = [TAGS[0][1], *[None] * (len(Y) - 1)]
    assert fitted.predict(X, wrong)[0] == TAGS[0][1] != fitted.predict(X)[0]
    with pytest.raises(ValueError, match="inconsistent"):
        fitted.predict(X, [None])


def test_requests_of_a_tagger_that_cannot_be_met(fitted: LatentTagClassifier) -> None:
    for rows, tags, message in (
        ([[1, "a"], [1, "b"]], ["A"], "inconsistent numbers of samples"),
        ([["a"]], ["A"], "X must have two columns, the sentence and the word, not 1"),
        ([[1, "a"], [1, 2.5]], ["A", "B"], "row 1 of X must have a word in its second column, not 2.5"),
        ([["dogs", "bark"], ["cats", "sleep"]], [["N", "V"], ["N", "V"]], "y should be a 1d array"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(fitted).fit(rows, tags)
    with pytest.raises(ValueError, match="Expected 2D array"):
        fitted.predict(["dog"])
    with pytest.raises(ValueError, match="n_states == 0, must be >= 1"):
        LatentTagClassifier(0).fit([[1, "a"]], ["A"])
    with pytest.raises(ValueError, match="estimator must be"):
        LatentTagClassifier(estimator="nonsense").fit([[1, "a"]], ["A"])
    with pytest.raises(NotFittedError):
        LatentTagClassifier().predict([[1, "a"]])


# Trees

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


def test_requests_of_trees_that_cannot_be_met(data: tuple[list[nx.DiGraph], list[str]]) -> None:
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
