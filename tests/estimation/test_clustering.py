"""Counting with known states, and clusters that find them."""

import itertools
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.estimation import EstimatorOptions, FeatureColumns, Projection, Shard, Treebank
from spectral_latent.estimation.clustering import NodeClusters, _bisect, cluster_counts, state_counts
from spectral_latent.trees import FloatArray, SkeletalTrees
from tests.oracles import Numbers, columns, moments_by_loops, numbers_of, same_numbers, tree_strategy

treebanks = st.lists(tree_strategy(n_symbols=3, max_leaves=8), min_size=1, max_size=5)
seeds = st.integers(0, 2**32 - 1)


def counted(trees: SkeletalTrees, states: np.ndarray, state: np.ndarray) -> Numbers:
    """How often roots and rules occur with each choice of states, node by node; padded as in a table."""
    is_state = np.eye(int(states.max()))[state]
    sums = numbers_of(moments_by_loops(trees, trees.rules, states.tolist(), is_state, is_state))
    return {key: array[(slice(1, None),) * array.ndim] for key, array in sums.items()}


@given(treebanks, seeds)
def test_known_states_are_counted_node_by_node(trees: list[tuple], seed: int) -> None:
    skeletal = columns(trees)
    states = np.array([2, 1, 3])
    state = np.random.default_rng(seed).integers(states[skeletal.symbol])
    found = state_counts(skeletal, skeletal.rules, states, state)
    same_numbers(numbers_of(found), counted(skeletal, states, state))


@cache
def separated(noise: tuple[float, ...] = (0.02,) * 4) -> Shard:
    """Nodes of two symbols whose three states show in their features, with little noise.

    noise: how often each template has a random value.
    """
    rng = np.random.default_rng(1)
    trees = columns([(0, (1, 0), (1, 1)), (0, (1, 1), (0, (1, 0), (1, 0)))] * 75)
    truth = rng.integers(0, 3, trees.n_nodes)
    sides = []
    for _ in range(2):
        random = rng.random((trees.n_nodes, len(noise))) < noise
        sides.append(np.where(random, rng.integers(0, 3, random.shape), truth[:, None]))
    return Shard.of(trees, FeatureColumns(*sides))


def parts(shard: Shard, *ends: int) -> list[Shard]:
    """Shards that end after so many trees."""
    trees, features = shard.trees, shard.features
    found = []
    for first, end in itertools.pairwise([0, *ends, len(trees.root)]):
        a = int(trees.root[first - 1]) + 1 if first else 0
        b = int(trees.root[end - 1]) + 1
        left, right = (np.where(side < 0, -1, side - a)[a:b] for side in (trees.left, trees.right))
        part = SkeletalTrees(trees.symbol[a:b], left, right, trees.terminal[a:b], trees.root[first:end] - a)
        found.append(Shard.of(part, FeatureColumns(features.inside[a:b], features.outside[a:b])))
    return found


def learnt(shards: list[Shard], states: int = 3, cutoff: float = 0.01) -> tuple[Treebank, NodeClusters]:
    treebank = Treebank.of(shards)
    projection = Projection.learn(shards, EstimatorOptions(n_states=states, cutoff=cutoff))
    return treebank, NodeClusters.learn(treebank, projection)


@pytest.mark.parametrize("noise", [(0.02,) * 4, (0.02, 0.6, 0.7, 0.8)])
def test_every_node_has_the_state_of_the_nearest_centre(noise: tuple[float, ...]) -> None:
    """Among points of two halves y and σ ∘ z, each of unit mean square; with noise, values of σ differ."""
    shard = separated(noise=noise)
    _, clusters = learnt([shard], states=5)
    projection = clusters.projection
    sigma = projection.maps[1].sigma
    assert (sigma[-1] < 0.5 * sigma[0]) == (noise[-1] > 0.5)
    projected = projection.project(shard)
    found = clusters.of_nodes(shard)
    for a in range(2):
        nodes = np.flatnonzero(shard.trees.symbol == a)
        m = int(projection.states[a])
        halves = [projected.y[nodes, :m], projected.z[nodes, :m] * projection.maps[a].sigma]
        points = np.concatenate([half / np.sqrt((half**2).mean()) for half in halves], axis=1)
        centres = clusters.centres[a].points
        squares = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
        np.testing.assert_array_equal(found[nodes], squares.argmin(axis=1))
        assert set(found[nodes].tolist()) == set(range(len(centres)))  # no state is empty


def test_counts_of_clusters_are_those_of_their_nodes() -> None:
    shard = separated()
    shards = parts(shard, 1, 2, 50, 120)
    treebank, clusters = learnt(shards)
    state = np.concatenate([clusters.of_nodes(part) for part in shards])
    wanted = counted(shard.trees, clusters.states, state)
    same_numbers(numbers_of(cluster_counts(treebank, clusters, jobs=2)), wanted)


def test_counts_of_a_rank_keep_the_counts_of_states_in_few_terms() -> None:
    shard = separated()
    treebank, clusters = learnt(parts(shard, 75), states=9, cutoff=1e-6)
    assert clusters.states.max() > 6
    full = cluster_counts(treebank, clusters)
    near = cluster_counts(treebank, clusters, rank=2)
    assert near.binary.terms.max() == 2
    np.testing.assert_allclose(near.sums(), full.sums(), rtol=1e-9)
    for name in ("root", "leaf", "unary"):
        np.testing.assert_array_equal(getattr(near, name), getattr(full, name))
    for ours, theirs in zip(near.binary, full.binary, strict=True):
        assert ours.to_dense().sum() == pytest.approx(theirs.to_dense().sum())
        if ours.dense is None:
            for factor in (ours.second, ours.third):
                assert factor.sum(axis=1) == pytest.approx(np.ones(len(factor)))


@given(seeds)
def test_two_clusters_on_a_line_are_the_best_of_all_cuts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = rng.normal(size=9).round(1)
    weight = rng.uniform(0.5, 3.0, 9)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0][0]
    centres = _bisect(places[:, None] * turn, weight, 2) @ turn

    def squares(parts: list[FloatArray]) -> float:
        means = [np.average(places[part], weights=weight[part]) for part in parts]
        return sum(float(weight[part] @ (places[part] - mean) ** 2) for part, mean in zip(parts, means, strict=True))

    cuts = [[places <= cut, places > cut] for cut in np.unique(places)[:-1]]
    best = min(cuts, key=squares)
    wanted = [np.average(places[part], weights=weight[part]) for part in best]
    assert sorted(centres.tolist()) == pytest.approx(wanted)
    assert len(_bisect(np.zeros((3, 2)), np.ones(3), 2)) == 1  # what is the same is not cut
