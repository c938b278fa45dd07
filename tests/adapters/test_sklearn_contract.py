"""What scikit-learn expects of all estimators, and skops, which writes and reads them and runs no code of the file."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from spectral_latent_sklearn import (
    LatentTagClassifier,
    LatentTreeClassifier,
    LatentTreeTransformer,
    SpectralGaussianHMM,
    SpectralHMM,
)


def pair(left: str, right: str) -> nx.DiGraph:
    graph = nx.DiGraph([(0, 1), (0, 2)])
    for node, attributes in enumerate([{}, {"observation": left}, {"observation": right}]):
        graph.add_node(node, label="leaf" if node else "pair", **attributes)
    return graph


WEATHER = [["rain"], ["rain"], ["sun"], ["sun"], ["sun"]] * 30
WORDS = [[1, "dogs"], [1, "bark"], [2, "cats"], [2, "sleep"], [2, "well"]] * 5
PAIRS = [pair("a", "a"), pair("a", "b"), pair("b", "b"), pair("b", "c")] * 5
NUMBERS = np.arange(200.0)[:, None] % 2


@pytest.mark.parametrize(
    ("estimator", "X", "y", "method"),
    [
        (SpectralHMM(2, "anchors", random_state=0), WEATHER, None, "predict_proba"),
        (SpectralHMM(2, "spectral"), WEATHER, None, "score"),
        (SpectralGaussianHMM(2, random_state=0), NUMBERS, None, "predict_proba"),
        (LatentTagClassifier(1), WORDS, ["N", "V", "N", "V", "R"] * 5, "predict_proba"),
        (LatentTreeClassifier(1), PAIRS, ["early", "early", "late", "late"] * 5, "predict_proba"),
        (LatentTreeTransformer(1), PAIRS, None, "transform"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_files(estimator: Any, X: Any, y: Any, method: str) -> None:
    """Before and after the first use, which may fill tables of what is known."""
    import skops.io  # not at the head of the module, because every process that collects tests would take a second

    estimator.fit(X, y)
    for _ in range(2):
        written = skops.io.dumps(estimator)
        read = skops.io.loads(written, trusted=skops.io.get_untrusted_types(data=written))
        np.testing.assert_array_equal(getattr(read, method)(X), getattr(estimator, method)(X))
    if isinstance(estimator, LatentTagClassifier):
        estimator.predict([[1, "birds"]])
        skops.io.dumps(estimator)


class FirstColumn(SpectralHMM):
    """The estimator of the first of several columns."""

    def _one_column(self, given: np.ndarray) -> np.ndarray:
        return given[:, 0]


WITHOUT_ORDER = {
    "check_methods_sample_order_invariance": "the states of a sequence depend on the order of its rows",
    "check_methods_subset_invariance": "the state of a row depends on the other rows of its sequence",
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # checks of numbers, for words and graphs
@pytest.mark.parametrize(
    "estimator",
    [
        FirstColumn(n_init=1),
        SpectralGaussianHMM(n_init=1, n_iter=5),
        LatentTagClassifier(),
        LatentTreeClassifier(),
        LatentTreeTransformer(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_checks_of_scikit_learn(estimator: BaseEstimator) -> None:
    """All pass but those that know no order of rows."""
    expected = WITHOUT_ORDER if hasattr(estimator, "n_init") else {}
    checks = check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None)
    assert {check["status"] for check in checks} & {"passed", "skipped"}
    assert [check["check_name"] for check in checks if check["status"] == "failed"] == []
    assert clone(estimator).get_params() == estimator.get_params()
    assert get_tags(estimator).input_tags.two_d_array == hasattr(estimator, "n_init")
