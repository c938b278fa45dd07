"""Features of the base parser's order and scores, and tables of features against plain dense arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.dependency import DependencyModel
from spectral_latent.reranking import Candidate, FeatureTable, NBest
from spectral_latent.reranking.features import base_names, base_values, latent_names, latent_values
from tests.conformance.treebank import DEPENDENCIES
from tests.reranking.nbest_lists import dependency_lists, phrase_lists

NAMES = ("base:rank", "base:score", "latent:m8:log-p", "latent:m8:sign", "plain")


@st.composite
def tables(draw: st.DrawFn) -> FeatureTable:
    """Up to four lists, some of them empty, and small values, many of them zero."""
    sizes = draw(st.lists(st.integers(0, 3), max_size=4))
    names = tuple(draw(st.permutations(NAMES))[: draw(st.integers(0, len(NAMES)))])
    row = st.lists(st.sampled_from([0.0, 0.0, 1.0, -1.0, 2.5]), min_size=len(names), max_size=len(names))
    rows = np.array([draw(row) for _ in range(sum(sizes))]).reshape(sum(sizes), len(names))
    start = np.cumsum([0, *sizes])
    return FeatureTable(names, rows, start, tuple(map(str, range(len(sizes)))))


def dense(table: FeatureTable) -> dict[str, list[float]]:
    return dict(zip(table.names, table.values.T.tolist(), strict=True))


@given(tables(), st.data())
def test_joined(table: FeatureTable, data: st.DataObject) -> None:
    """What is taken apart by names is the same when it is joined again."""
    chosen = [data.draw(st.booleans()) for _ in table.names]
    parts = [
        table.align([name for name, is_chosen in zip(table.names, chosen, strict=True) if is_chosen == wanted])
        for wanted in (True, False)
    ]
    again = parts[0].join(parts[1])
    assert dense(again) == dense(table)


@given(tables(), st.data())
def test_aligned(table: FeatureTable, data: st.DataObject) -> None:
    names = data.draw(st.permutations(table.names))
    found = table.align(names)
    assert list(found.names) == names
    assert dense(found) == {name: dense(table)[name] for name in names}
    for name in set(NAMES) - set(names):
        with pytest.raises(ValueError, match=f"no features {name}; compute"):
            table.align([*names, name])


@given(tables(), st.data())
def test_some_lists(table: FeatureTable, data: st.DataObject) -> None:
    lists = data.draw(st.lists(st.sampled_from(range(table.n_lists)))) if table.n_lists else []
    found = table.of_lists(lists)
    assert found.ids == tuple(table.ids[i] for i in lists)
    pieces = [table.values[table.start[i] : table.start[i + 1]] for i in lists]
    assert np.array_equal(found.values, np.concatenate([np.zeros((0, len(table.names))), *pieces]))
    assert np.diff(found.start).tolist() == [len(piece) for piece in pieces]


def naive(nbest: NBest, place: int) -> dict[str, float]:
    """The table in the class's docstring, for one candidate."""
    found = {"base:rank": float(place), "base:log-rank": float(np.log(1 + place))}
    scores = nbest.candidates[place].scores
    for k, score in enumerate(scores):
        finite = [candidate.scores[k] for candidate in nbest.candidates if candidate.scores[k] != -np.inf]
        value = score if score != -np.inf else min(finite, default=0.0)
        name = "base:score" if k == 0 else f"base:score-{k + 1}"
        found |= {name: value, f"{name}-per-word": value / len(nbest.words)}
    return found | ({"base:impossible": float(-np.inf in scores)} if scores else {})


NUMBERED_LISTS = st.integers(0, 2).flatmap(
    lambda n: st.tuples(st.just(n), st.lists(phrase_lists(n) | dependency_lists(n), max_size=3))
)


@given(NUMBERED_LISTS)
def test_base_features(drawn: tuple[int, list[NBest]]) -> None:
    n_scores, lists = drawn
    for nbest in filter(len, lists):
        for place, row in enumerate(base_values(nbest, n_scores).tolist()):
            assert dict(zip(base_names(n_scores), row, strict=True)) == pytest.approx(naive(nbest, place))


def test_a_parser_of_arcs_scores_trees_of_one_root() -> None:
    """A tree of several roots has no probability; the posteriors of its arcs are features as those of others."""
    model = DependencyModel.train(DEPENDENCIES)
    tree = next(each for each in DEPENDENCIES if len(each.forms) > 2)
    trees = [tree, tree._replace(heads=(0,) * len(tree.forms))]
    (found,) = latent_values(model, [NBest.of([Candidate(each, -1.0) for each in trees])])
    of = dict(zip(latent_names("m"), found.T, strict=True))
    score = model.score([tree])
    assert of["m:sign"].tolist() == [score.sign[0], 0]
    assert of["m:log"][0] == pytest.approx(score.log[0])
    assert of["m:sum"] == pytest.approx([part.sum() for part in model.part_posteriors(trees)])
