"""Whether heads are a tree, against networkx."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.dependency import DependencySentence


def sentence(heads: tuple[int, ...] | None, words: int = 0) -> DependencySentence:
    column = ("_",) * (words if heads is None else len(heads))
    return DependencySentence(column, column, column, column, column, heads, column)


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(*[st.integers(0, n)] * n)))
def test_is_tree_as_networkx_has_it(heads: tuple[int, ...]) -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(heads) + 1))
    graph.add_edges_from((head, word) for word, head in enumerate(heads, start=1))
    assert sentence(heads).is_tree() == nx.is_arborescence(graph)


def test_no_heads_are_no_tree() -> None:
    assert not sentence(None, words=2).is_tree()


def test_long_chains_take_linear_time() -> None:
    size = 200_000
    assert sentence(tuple(range(size))).is_tree()
    assert sentence((*range(2, size + 1), 0)).is_tree()
    assert not sentence((*range(2, size + 1), 1)).is_tree()
