"""Counts of rules against counting nodes, and shards in memory and in files."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Binarisation
from spectral_latent.constituency.training import _PhraseFormalism
from spectral_latent.dependency import DependencyOptions
from spectral_latent.dependency.training import _DependencyFormalism
from spectral_latent.estimation import EstimationError, Shard, Treebank
from spectral_latent.estimation._treebank import ColumnStore, StoredColumns
from spectral_latent.graphs.training import GraphFormalism
from spectral_latent.operators import Counts
from spectral_latent.sequence.training import SequenceFormalism
from spectral_latent.trees import Vocabulary
from tests.conformance.test_models import GRAPHS
from tests.conformance.treebank import DEPENDENCIES, PHRASES, SENTENCES, TAGGED
from tests.oracles import columns, kind_and_rule, numbers_of, post_order, shard_of, tree_strategy

treebanks = st.lists(tree_strategy(n_symbols=3, n_terminals=3, max_leaves=6), min_size=1, max_size=8)


@given(treebanks)
def test_counts_are_those_of_nodes(trees: list[tuple]) -> None:
    counts = Counts.of_trees(columns(trees))
    nodes = [node for tree in trees for node in post_order(tree)]
    found = {key: int(n.item()) for key, n in numbers_of(counts).items() if n.item()}
    roots = Counter(("root", (tree[0],)) for tree in trees)
    assert found == Counter(kind_and_rule(node) for node in nodes) | roots
    assert counts.symbol.tolist() == [sum(node[0] == a for node in nodes) for a in range(counts.n_symbols)]
    assert counts.n_trees == len(trees)
    assert (counts.states == 1).all()


@pytest.mark.parametrize("shards", [[], [shard_of(columns([]))]], ids=["no shards", "an empty shard"])
def test_treebanks_without_trees_are_refused(shards: list[Shard]) -> None:
    with pytest.raises(EstimationError, match="no trees to learn from"):
        Treebank.of(shards)


@pytest.mark.parametrize(
    ("make", "items", "is_exact"),
    [
        (lambda: _PhraseFormalism(Binarisation(), "all", False, Vocabulary()), PHRASES, True),
        (lambda: _DependencyFormalism(DependencyOptions(), Vocabulary()), DEPENDENCIES, False),
        (lambda: SequenceFormalism(has_tags=True), TAGGED, True),
        (lambda: SequenceFormalism(has_tags=False), SENTENCES, True),
        (lambda: GraphFormalism({}, {}), GRAPHS, False),
    ],
    ids=["phrases", "dependencies", "tags", "sequences", "graphs"],
)
def test_the_nodes_of_a_tree_are_counted_before_it_is_made(
    make: Callable[[], Any], items: Sequence[Any], is_exact: bool
) -> None:
    formalism = make()
    for item in items[:20]:
        n = formalism.shard(formalism.columns([item], np.ones(1))).trees.n_nodes
        assert n <= formalism.n_nodes(item) <= (n if is_exact else 2 * n)


def table(seed: int, size: int = 20) -> dict[str, np.ndarray]:
    """Arrays of the kinds that shards hold: small and large integers, booleans, numbers, and nothing."""
    rng = np.random.default_rng(seed)
    return {
        "small": rng.integers(-3, 1000, size=size),
        "large": rng.integers(-(2**62), 2**62, size=(size, 2)),
        "limits": np.array([-(2**31), 2**31 - 1]),
        "beyond": np.array([2**31]),
        "bools": rng.random(size) < 0.5,
        "floats": rng.normal(size=size),
        "nothing": np.zeros((0, 3), dtype=np.int64),
    }


@pytest.mark.parametrize("memory", [0, 1500, 1 << 28])
def test_what_is_stored_is_what_was_given(memory: int) -> None:
    store = ColumnStore(memory=memory)
    for seed in range(5):
        store.append(table(seed))
    assert len(store) == 5
    for seed, found in enumerate(store):
        wanted = table(seed)
        assert sorted(found) == sorted(wanted) and len(found) == len(wanted)
        for name, column in wanted.items():
            assert found[name].dtype == column.dtype, name
            np.testing.assert_array_equal(found[name], column)


def test_files_are_gone_when_nothing_refers_to_them() -> None:
    store = ColumnStore(memory=0)
    for number in range(2):
        store.append(table(number))
    found = [each._path for each in store if isinstance(each, StoredColumns)]
    assert len(found) == 2
    assert all(path.exists() for path in found)
    shard = Shard(list(store)[1])
    del store
    assert all(path.exists() for path in found)  # a shard is still used
    del shard
    assert not any(path.parent.exists() for path in found)
