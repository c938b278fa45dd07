"""Offer latent tree models over networkx graphs as a classifier and as a transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d

from spectral_latent.graphs import GraphModel
from spectral_latent.trees import FloatArray
from spectral_latent_sklearn._base import LatentEstimator
from spectral_latent_sklearn._checks import list_of

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["LatentTreeClassifier", "LatentTreeTransformer"]


class LatentTreeClassifier(ClassifierMixin, LatentEstimator):
    """A generative classifier of trees: a latent tree model of each class, and Bayes' rule.

    A tree may be impossible under all models, for example because of an unseen label; it is then classified by the
    frequencies of the classes alone.  A negative estimate, which the estimator "spectral" may give, counts as zero.

    n_states: the largest number of latent states of a label.
    estimator: the way to find states, as `spectral_latent.estimation.EstimatorOptions` names it.
    random_state: the source of the starts of clusters and of random states.

    Fitted, it has `classes_`, `class_log_prior_` and `models_`, a model for each class.

    >>> import networkx as nx
    >>> def tree(left, right):
    ...     graph = nx.DiGraph([(0, 1), (0, 2)])
    ...     graph.add_node(0, label="pair")
    ...     graph.add_node(1, label="one", observation=left)
    ...     graph.add_node(2, label="one", observation=right)
    ...     return graph
    >>> X = [tree("a", "a"), tree("a", "b"), tree("b", "b"), tree("b", "c")] * 5
    >>> y = ["early", "early", "late", "late"] * 5
    >>> LatentTreeClassifier(n_states=1).fit(X, y).predict([tree("a", "b"), tree("b", "b")]).tolist()
    ['early', 'late']
    """

    def fit(self, X: Sequence[nx.DiGraph], y: ArrayLike) -> Self:
        """Learn a model of the trees of each class.

        X: T trees.
        y: (T,) the class of each tree.

        Raises ValueError if X and y do not fit together, or if a graph is not a tree.
        """
        trees = list_of(X, "tree")
        labels = column_or_1d(np.asarray(y))
        if len(labels) != len(trees):
            raise ValueError(f"X has {len(trees)} trees, but y has {len(labels)} classes")
        options = self._estimator_options()
        self.classes_, number, count = np.unique(labels, return_inverse=True, return_counts=True)
        self.class_log_prior_ = np.log(count / len(trees))
        self.models_ = [
            GraphModel.train([trees[t] for t in np.flatnonzero(number == k)], options)
            for k in range(len(self.classes_))
        ]
        return self

    def predict_log_proba(self, X: Sequence[nx.DiGraph]) -> FloatArray:
        """Compute the natural logarithm (T, K) of the probability of each class.

        X: T trees; columns are in the order of `classes_`.
        """
        check_is_fitted(self)
        trees = list_of(X, "tree")
        weights = [model.score(trees) for model in self.models_]
        log = np.stack([np.where(weight.sign > 0, weight.log, -np.inf) for weight in weights], axis=1)
        log[np.isneginf(log).all(axis=1)] = 0.0  # no model knows the tree
        return np.asarray(log_softmax(log + self.class_log_prior_, axis=1))

    def predict_proba(self, X: Sequence[nx.DiGraph]) -> FloatArray:
        """Compute the probability (T, K) of each class.

        X: T trees; columns are in the order of `classes_`.
        """
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Sequence[nx.DiGraph]) -> NDArray[Any]:
        """Find the likeliest class (T,) of each tree.

        X: T trees.
        """
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_log_proba(X).argmax(axis=1)])


class LatentTreeTransformer(TransformerMixin, LatentEstimator):
    """Latent states of trees as features: the expected number of nodes of each label in each state.

    A tree that is impossible under the model, for example because of an unseen label, has a row of zeros.

    n_states: the largest number of latent states of a label.
    estimator: the way to find states, as `spectral_latent.estimation.EstimatorOptions` names it, but not "spectral".
    random_state: the source of the starts of clusters and of random states.

    Fitted, it has `model_`, the library's model of all trees.

    >>> import networkx as nx
    >>> graph = nx.DiGraph([(0, 1)])
    >>> graph.add_node(0, label="top")
    >>> graph.add_node(1, label="low", observation="x")
    >>> transformer = LatentTreeTransformer(n_states=1).fit([graph])
    >>> transformer.get_feature_names_out().tolist(), transformer.transform([graph]).tolist()
    (['low:0', 'top:0'], [[1.0, 1.0]])
    """

    def fit(self, X: Sequence[nx.DiGraph], y: object = None) -> Self:
        """Learn a model of all trees.

        X: T trees.
        y: an argument of the interface that is not used.

        Raises ValueError for an estimator without states, or if a graph is not a tree.
        """
        options = self._estimator_options()
        if not options.probabilities:
            raise ValueError(f"the estimator {self.estimator!r} has no states; choose another, such as 'clusters-em'")
        self.model_ = GraphModel.train(list_of(X, "tree"), options)
        return self

    def _columns(self) -> dict[Any, tuple[int, int]]:
        """Find the first column of each label, and its number of states."""
        columns: dict[Any, tuple[int, int]] = {}
        first = 0
        (grammar,) = self.model_.members
        for symbol, m in zip(grammar.symbols, grammar.latent.states.tolist(), strict=True):
            if symbol.part == "node":
                columns[symbol.label] = (first, m)
                first += m
        return columns

    def transform(self, X: Sequence[nx.DiGraph]) -> FloatArray:
        """Compute the expected number (T, F) of nodes in each state of each label.

        X: T trees.

        Raises ValueError if a graph is not a tree.
        """
        check_is_fitted(self)
        trees = list_of(X, "tree")
        columns = self._columns()
        counts = np.zeros((len(trees), sum(m for _, m in columns.values())))
        for t in np.flatnonzero(self.model_.score(trees).sign):
            for node, p in self.model_.marginals(trees[t]).items():
                first, m = columns[trees[t].nodes[node]["label"]]
                counts[t, first : first + m] += p
        return counts

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """List the names (F,) of the columns: a label and the number of a state.

        input_features: an argument of the interface that is not used.
        """
        check_is_fitted(self)
        names = [f"{label}:{h}" for label, (_, m) in self._columns().items() for h in range(m)]
        return np.array(names, dtype=object)
