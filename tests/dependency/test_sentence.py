"""Trees, cycles and crossing arcs against networkx and by enumeration of all heads."""

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.dependency import DependencySentence

HEADS = st.integers(1, 8).flatmap(lambda n: st.tuples(*[st.integers(0, n)] * n))


def sentence(heads: tuple[int, ...] | None, words: int = 0) -> DependencySentence:
    return DependencySentence.of(["w"] * (words if heads is None else len(heads))).with_heads(heads)


def graph_of(heads: tuple[int, ...]) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(heads) + 1))
    graph.add_edges_from((head, word) for word, head in enumerate(heads, start=1))
    return graph


@given(HEADS)
def test_is_tree_as_networkx_has_it(heads: tuple[int, ...]) -> None:
    assert sentence(heads).is_tree() == nx.is_arborescence(graph_of(heads))


@given(HEADS)
def test_a_cycle_is_one_of_networkx(heads: tuple[int, ...]) -> None:
    cycle = sentence(heads).cycle()
    cycles = [set(words) for words in nx.simple_cycles(graph_of(heads))]
    assert (set(cycle) in cycles) if cycles else cycle == ()
    assert [heads[word - 1] for word in cycle] == [*cycle[1:], *cycle[:1]]


@given(HEADS)
def test_roots_and_dependants_as_networkx_has_them(heads: tuple[int, ...]) -> None:
    graph = graph_of(heads)
    dependants = sentence(heads).dependants()
    assert dependants == [sorted(graph.successors(word)) for word in range(len(heads) + 1)]
    assert list(sentence(heads).roots) == dependants[0]


def test_no_heads_are_no_tree() -> None:
    missing = sentence(None, words=2)
    assert not missing.is_tree()
    assert (missing.roots, missing.cycle(), missing.dependants()) == ((), (), [[], [], []])
