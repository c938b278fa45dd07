"""The callers of compiled code above the passes refuse spoilt columns with a ValueError.

Columns that are not refused must be a forest by `check_forest`, which `tests/inference/test_boundary.py` compares with
plain Python.  With NUMBA_BOUNDSCHECK=1 (`make test-lowest`) an index outside an array is an IndexError here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.dependency.decoding import (
    ArcForest,
    build_projective,
    compute_arc_posteriors,
    find_best_heads,
    find_n_best_heads,
    split_by_heads,
)
from spectral_latent.grammar._coarse import CoarseGrammar
from spectral_latent.inference import check_forest
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.sequence import HiddenMarkov
from spectral_latent.sequence.forests import Candidates, TrellisBuilder
from spectral_latent.trees import Forest, Rules
from tests.oracles import spoilt


def unless_refused(make: Callable[[], Any]) -> Any:
    """Return the result of a call, or None if it raises ValueError; any other error lets the test fail."""
    try:
        return make()
    except ValueError:
        return None


HMM = HiddenMarkov(
    initial=np.array([0.5, 0.5]),
    transition=np.full((2, 2), 0.5),
    emission=np.full((2, 3), 1 / 3),
    stop=np.array([0.5, 0.5]),
)
TRELLIS = {
    "ends": np.array([0, 2, 3]),
    "start": np.array([0, 2, 4, 6]),
    "tag": np.array([0, 1, 0, 1, 0, 1]),
    "rule": np.array([0, 3, 1, 4, 2, -1]),
}


@given(spoilt(TRELLIS))
@settings(max_examples=40)
def test_trellises(columns: dict[str, Any]) -> None:
    ends, *candidates = columns.values()
    builder = TrellisBuilder(HMM.with_states_as_tags().rules, n_tags=2)
    built = unless_refused(lambda: builder.build(ends, Candidates(*candidates)))
    if built is not None:
        forest, _ = built
        assert forest.n_items == 2 * len(candidates[1]) and forest.n_edges == forest.start[-1]
        # If the last sequence cannot begin, its items have no root; otherwise the columns are a forest.
        if not forest.n_items or (len(forest.root) and forest.root[-1] == forest.n_items - 1):
            check_forest(forest)


ARCS = Forest(*map(np.array, ([1, 1, 0], [0, 1, 2, 4], [0, 0, 0, 1], [-1, -1, 0, 0], [-1, -1, 1, 1], [2], [0])))
ARC_RULES = Rules(np.array([[1, 0]]), np.empty((0, 2), dtype=np.int64), np.array([[0, 1, 1], [0, 1, 1]]))


def arc_operators() -> ObservableOperators:
    one = Tensor.of_dense(np.ones((1, 1, 1)))
    arrays = (np.ones((2, 1)), np.ones((1, 1)), np.empty((0, 1, 1)))
    return ObservableOperators(ARC_RULES, np.array([1, 1]), *arrays, [one, one])


@given(
    spoilt(ARCS._asdict() | {"head_is_right": np.array([True, False]), "position": np.array([0, 1, 0])}),
    st.integers(0, 3),
)
@settings(max_examples=60)
def test_forests_by_head_words(columns: dict[str, Any], n: int) -> None:
    *forest, head_is_right, position = columns.values()
    found = unless_refused(lambda: split_by_heads(Forest(*forest), head_is_right, position, n))
    if found is not None:
        check_forest(found.forest)
        assert found.governor.max(initial=0) <= n >= found.dependant.max(initial=0)


@given(
    spoilt(ARCS._asdict() | dict(zip(ArcForest._fields[1:], np.array([[-1, -1, 2, 1], [-1, -1, 1, 2]]), strict=False))),
    spoilt({"head": np.array([1, 2, 2])}),
    st.integers(0, 3),
)
@settings(max_examples=40)
def test_marginals_of_arcs(columns: dict[str, Any], head: dict[str, Any], n: int) -> None:
    *forest, governor, dependant = columns.values()
    arcs = ArcForest(Forest(*forest), governor, dependant, head["head"])
    found = unless_refused(lambda: compute_arc_posteriors(arc_operators(), arcs, np.array([n])))
    assert found is None or found.arcs.begin.max(initial=0) <= n >= found.arcs.end.max(initial=0)


@given(spoilt({"weights": np.array([[0.9, 0.1, 0.1], [0.0, 0.9, 0.2], [0.1, 0.0, 0.3], [0.2, 0.3, 0.0]])}))
def test_trees_of_arcs(columns: dict[str, Any]) -> None:
    weights = columns["weights"]
    fits = np.ndim(weights) == 2 and weights.shape[0] == weights.shape[1] + 1
    for find in (lambda: find_n_best_heads(weights, 2), lambda: build_projective(weights > 0)):
        assert (unless_refused(find) is not None) == fits
    if not fits:
        with pytest.raises(ValueError, match="weights of arcs"):
            find_best_heads(weights)


def coarse_operators() -> ObservableOperators:
    """Make the operators of S → A A, A → a and S → b, with one state."""
    rules = Rules(np.array([[0, 0], [1, 1]]), np.empty((0, 2), dtype=np.int64), np.array([[1, 0, 0]]))
    arrays = (np.ones((2, 1)), np.ones((2, 1)), np.empty((0, 1, 1)))
    return ObservableOperators(rules, np.array([1, 1]), *arrays, [Tensor.of_dense(np.ones((1, 1, 1)))])


@given(spoilt({"prior": np.ones(2), "used": np.array([True])}))
def test_coarse_grammars(columns: dict[str, Any]) -> None:
    prior, used = columns["prior"], columns["used"]
    found = unless_refused(lambda: CoarseGrammar.of(coarse_operators(), prior, used))
    fits = (prior.shape, prior.dtype, used.shape, used.dtype) == ((2,), np.float64, (1,), np.bool_)
    assert (found is not None) == fits
