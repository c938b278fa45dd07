"""Offer the tagger as a classifier of words, and tree models of networkx graphs as a classifier and a transformer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from spectral_latent import sequence
from spectral_latent.estimation import Estimator, EstimatorName, EstimatorOptions
from spectral_latent.graphs import GraphModel
from spectral_latent.sequence import TaggerOptions
from spectral_latent.trees import FloatArray, IntArray
from spectral_latent_sklearn._checks import check_count, list_of, seed_of

if TYPE_CHECKING:
    import networkx as nx


class LatentEstimator(BaseEstimator):
    """Base of estimators over lists of examples."""

    def __init__(
        self, n_states: int = 8, *, estimator: EstimatorName = "clusters-em", random_state: Any = None
    ) -> None:
        self.n_states = n_states
        self.estimator = estimator
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags

    def _estimator_options(self) -> Estimator:
        """Make the options of training.  Raises ValueError for a parameter out of range."""
        check_count("n_states", self.n_states)
        return EstimatorOptions(self.estimator, int(self.n_states)).with_settings(seed=seed_of(self.random_state))


class LatentTagClassifier(ClassifierMixin, LatentEstimator):
    """A tagger, whose tags have latent states, as a classifier of words in their sentences.

    X has two columns: the sentence of each row, any value that its neighbours in other sentences do not have, and the
    word.  Cross-validation leaves sentences whole with `GroupKFold` and the first column as `groups`.

    n_states: the largest number of latent states of a tag.
    estimator: the way to find states, as `spectral_latent.estimation.EstimatorOptions` names it.
    random_state: the source of the starts of clusters and of random states.

    Fitted, it has `classes_` (K,), the tags, and `model_`, the library's tagger.

    >>> X = [[1, "dogs"], [1, "bark"], [2, "cats"], [2, "sleep"], [2, "well"]] * 5
    >>> y = ["N", "V", "N", "V", "R"] * 5
    >>> tagger = LatentTagClassifier(n_states=1).fit(X, y)
    >>> tagger.predict([["a", "cats"], ["a", "bark"], ["b", "dogs"]]).tolist()
    ['N', 'V', 'N']
    >>> round(tagger.score(X, y), 1)
    1.0
    """

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from tagged sentences.

        X: (N, 2) the sentence and the word of each row.
        y: (N,) the tag of each word; None if it is not known.

        Raises ValueError if X and y do not fit together."""
        options = TaggerOptions(self._estimator_options())
        words, start = self._sentences(X, reset=True)
        tags = column_or_1d(y)
        check_consistent_length(X, tags)
        rows = zip(words, np.split(tags, start), strict=True)
        pairs = [list(zip(sentence, of_words.tolist(), strict=True)) for sentence, of_words in rows]
        is_known = np.array([tag is not None for tag in tags], dtype=bool)
        train = sequence.LatentTagger.train if is_known.all() else sequence.LatentTagger.train_partly
        self.model_ = train(pairs, options)
        self.classes_ = np.unique(tags[is_known])
        return self

    def _sentences(self, X: ArrayLike, reset: bool = False) -> tuple[list[list[str]], IntArray]:
        """Divide rows into the words of sentences; return the first row of each sentence but the first, too."""
        rows = validate_data(self, X, dtype=object, reset=reset)
        if rows.shape[1] != 2:
            raise ValueError(f"X must have two columns, the sentence and the word, not {rows.shape[1]}")
        for number, word in enumerate(rows[:, 1]):
            if not isinstance(word, str):
                raise ValueError(f"row {number} of X must have a word in its second column, not {word!r:.60}")
        start = np.flatnonzero(rows[1:, 0] != rows[:-1, 0]) + 1
        return [row.tolist() for row in np.split(rows[:, 1], start)], start

    def predict(self, X: ArrayLike, known: Sequence[Any] | None = None) -> NDArray[Any]:
        """Find the likeliest tag (N,) of each word, given its sentence.

        known: the tags that are known: for each of the N words its tag, a set of tags that it may have, or None."""
        check_is_fitted(self)
        words, start = self._sentences(X)
        found = self.model_.tag_all(words)
        if known is not None:
            check_consistent_length(X, known)
            bounds = pairwise([0, *start.tolist(), len(known)])
            found = map(self.model_.tag, words, (known[first:end] for first, end in bounds))
        return np.array([tag for tags in found for tag in tags], dtype=self.classes_.dtype)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Compute the probability (N, K) of each tag for each word, given its sentence, in the order of `classes_`."""
        check_is_fitted(self)
        words, _ = self._sentences(X)
        column = [self.model_.tags.index(tag) for tag in self.classes_.tolist()]
        return np.concatenate([self.model_.posteriors(sentence)[:, column] for sentence in words])


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

        y: (T,) the class of each tree.

        Raises ValueError if X and y do not fit together, or if a graph is not a tree."""
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
        """Compute the natural logarithm (T, K) of the probability of each class, in the order of `classes_`."""
        check_is_fitted(self)
        trees = list_of(X, "tree")
        weights = [model.score(trees) for model in self.models_]
        log = np.stack([np.where(weight.sign > 0, weight.log, -np.inf) for weight in weights], axis=1)
        log[np.isneginf(log).all(axis=1)] = 0.0  # no model knows the tree
        return np.asarray(log_softmax(log + self.class_log_prior_, axis=1))

    def predict_proba(self, X: Sequence[nx.DiGraph]) -> FloatArray:
        """Compute the probability (T, K) of each class; columns are in the order of `classes_`."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: Sequence[nx.DiGraph]) -> NDArray[Any]:
        """Find the likeliest class (T,) of each tree."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_log_proba(X).argmax(axis=1)])


class LatentTreeTransformer(TransformerMixin, LatentEstimator):
    """Latent states of trees as features: the expected number of nodes of each label in each state.

    A tree that is impossible under the model, for example because of an unseen label, has a row of zeros.

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

        Raises ValueError for an estimator without states, or if a graph is not a tree."""
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

        Raises ValueError if a graph is not a tree."""
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
        """List the names (F,) of the columns: a label and the number of a state."""
        check_is_fitted(self)
        names = [f"{label}:{h}" for label, (_, m) in self._columns().items() for h in range(m)]
        return np.array(names, dtype=object)
