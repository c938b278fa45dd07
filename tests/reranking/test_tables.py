"""Tables of features against plain dense arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from spectral_latent.reranking import FeatureTable
from spectral_latent.reranking.features import group_of

NAMES = ("base:rank", "base:score", "latent:m8:log-p", "latent:m8:sign", "rule:S NP : VP", "plain")


@st.composite
def tables(draw: st.DrawFn) -> FeatureTable:
    """Up to four lists, some of them empty, and small values, many of them zero."""
    sizes = draw(st.lists(st.integers(0, 3), max_size=4))
    names = tuple(draw(st.permutations(NAMES))[: draw(st.integers(0, len(NAMES)))])
    row = st.lists(st.sampled_from([0.0, 0.0, 1.0, -1.0, 2.5]), min_size=len(names), max_size=len(names))
    rows = np.array([draw(row) for _ in range(sum(sizes))]).reshape(sum(sizes), len(names))
    measured = np.array([draw(st.booleans()) for _ in names], dtype=bool)
    start = np.cumsum([0, *sizes])
    return FeatureTable(names, sparse.csr_array(rows), start, tuple(map(str, range(len(sizes)))), measured)


def dense(table: FeatureTable) -> dict[str, list[float]]:
    return dict(zip(table.names, table.values.toarray().T.tolist(), strict=True))


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
    kinds = (dict(zip(each.names, each.measured.tolist(), strict=True)) for each in (again, table))
    assert next(kinds) == next(kinds)


@given(tables(), st.data())
def test_aligned(table: FeatureTable, data: st.DataObject) -> None:
    known = {group_of(name) for name in table.names}
    names = [name for name in data.draw(st.permutations(NAMES)) if group_of(name) in known]
    found = table.align(names)
    assert list(found.names) == names
    zeros = [0.0] * len(table.list_of)
    assert dense(found) == {name: dense(table).get(name, zeros) for name in names}
    for name in set(NAMES) - set(names):
        with pytest.raises(ValueError, match=f"no features of the groups {group_of(name)}; compute"):
            table.align([*names, name])


@given(tables(), st.data())
def test_some_lists(table: FeatureTable, data: st.DataObject) -> None:
    lists = data.draw(st.lists(st.sampled_from(range(table.n_lists)))) if table.n_lists else []
    found = table.of_lists(lists)
    assert found.ids == tuple(table.ids[i] for i in lists)
    pieces = [table.values.toarray()[table.start[i] : table.start[i + 1]] for i in lists]
    assert np.array_equal(found.values.toarray(), np.concatenate([np.zeros((0, len(table.names))), *pieces]))
    assert np.diff(found.start).tolist() == [len(piece) for piece in pieces]
    assert found.list_of.tolist() == [i for i, piece in enumerate(pieces) for _ in piece]


@given(tables())
def test_varying(table: FeatureTable) -> None:
    expected = [
        sum(len(set(column[a:b])) > 1 for a, b in zip(table.start[:-1], table.start[1:], strict=True))
        for column in dense(table).values()
    ]
    assert table.varying().tolist() == expected


def test_refused() -> None:
    table = FeatureTable.measures({"a": [1.0, 2.0]}, [2], ["s"])
    with pytest.raises(ValueError, match="of different lists"):
        table.join(FeatureTable.measures({"b": [1.0, 2.0]}, [2], ["t"]))
    with pytest.raises(ValueError, match="of different lists"):
        table.join(FeatureTable.measures({"b": [1.0]}, [1], ["s"]))
    with pytest.raises(ValueError, match="two features have one name"):
        table.join(table)
    with pytest.raises(ValueError, match="not a finite number"):
        FeatureTable.measures({"a": [1.0, np.nan]}, [2], ["s"])
    with pytest.raises(ValueError, match="have 3 candidates, its matrix 2 rows"):
        FeatureTable(("a",), table.values, np.array([0, 3]), ("s",), table.measured)
    with pytest.raises(ValueError, match="do not fit together"):
        FeatureTable(("a", "b"), table.values, table.start, ("s",), table.measured)
