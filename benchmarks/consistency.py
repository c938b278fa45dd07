"""Theorem 3 of the long paper, measured: how the error of estimated tree probabilities falls with the number of trees.

    python benchmarks/consistency.py                       # table, slopes, and docs/consistency.png
    python benchmarks/consistency.py --trees 1000 10000 --seeds 3 --plot error.png

Trees are sampled from a known L-PCFG that satisfies conditions 1 and 2; the model is estimated from all nodes, and from
one node of each tree, as the theorem assumes; the error is Σ |p̂(τ) - p(τ)| over all trees τ.

The library counts every node once.  For nodes that count otherwise, such as those drawn, Figure 7 of the paper is
written out here.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from spectral_latent.estimation import (
    EstimatorOptions,
    FeatureColumns,
    Moments,
    Shard,
    Treebank,
    estimate,
    inside_templates,
    operators_from_moments,
    outside_templates,
)
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import FloatArray, Forest, IntArray, Rules, SkeletalTrees

PLOT = Path(__file__).resolve().parents[1] / "docs" / "consistency.png"
HELD_OUT = 5_000  # trees that the error is a mean over
OPTIONS = EstimatorOptions(n_states=2, scaling=None, smoothing=None)
INSIDE, OUTSIDE = ("rule", "left-opened", "right-opened"), ("above", "above-2")
STYLE = (("#0b5fa5", "o"), ("#c2571a", "s"), ("#777777", "^"))


def true_model() -> ObservableOperators:
    """Phrases (symbol 0) of phrases and words (symbol 1), each in two states that children mostly inherit."""
    rules = Rules(
        leaf=np.array([[1, x] for x in range(6)]),
        unary=np.empty((0, 2), dtype=np.int64),
        binary=np.array([[0, 0, 1], [0, 1, 0], [0, 1, 1]]),
    )
    choice = np.array([[0.35, 0.05, 0.60], [0.05, 0.35, 0.60]])  # of a rule, given the state
    inherit = np.array([[0.9, 0.1], [0.2, 0.8]])  # of a child's state, given the parent's
    emit = np.array([[0.45, 0.30, 0.15, 0.05, 0.03, 0.02], [0.01, 0.02, 0.07, 0.15, 0.25, 0.50]])
    both = inherit[:, :, None] * inherit[:, None, :]
    return ObservableOperators(
        rules,
        states=np.array([2, 2]),
        root=np.array([[0.6, 0.4], [0.0, 0.0]]),
        leaf=emit.T,
        unary=np.empty((0, 2, 2)),
        binary=[Tensor.of_dense(choice[:, r, None, None] * both) for r in range(3)],
        probabilities=True,
    )


def features_of(trees: SkeletalTrees) -> FeatureColumns:
    """The rule at a node and below it, and one and two rules up."""
    inside, outside = inside_templates(trees), outside_templates(trees)
    return FeatureColumns.of({name: inside[name] for name in INSIDE}, {name: outside[name] for name in OUTSIDE})


def error(estimated: ObservableOperators, truth: ObservableOperators, trees: SkeletalTrees) -> float:
    """Σ_τ |p̂(τ) - p(τ)| = E |p̂(τ) / p(τ) - 1|, the mean over trees sampled from p."""
    theirs, ours = (tree_weights(model, Forest.of_trees(trees, model.rules)) for model in (truth, estimated))
    return float(np.abs(ours.sign * np.exp(ours.log - theirs.log) - 1.0).mean())


def draw_one_node_per_tree(trees: SkeletalTrees, rng: np.random.Generator) -> FloatArray:
    """Weights (N,) that leave one node of each tree, drawn uniformly, and count it once for every node of its tree.

    So weighted, sums over draws have the expectation of sums over all nodes.  The long paper (sections 7.1 and 8) draws
    the same way but counts every draw once; with N the nodes of a tree, that learns p(tree) / N instead of p(tree).
    """
    first = np.concatenate([[0], trees.root[:-1] + 1])[: len(trees.root)]
    size = trees.root + 1 - first
    weights = np.zeros(trees.n_nodes)
    weights[rng.integers(first, trees.root + 1)] = size
    return weights


def indicators(columns: IntArray) -> sparse.csr_array:
    """Indicator vectors (n, d) of templates (n, k): one 1 for each template's value."""
    starts = np.zeros(columns.shape[1] + 1, dtype=np.int64)
    places = np.zeros_like(columns)
    for template, column in enumerate(columns.T):
        values, places[:, template] = np.unique(column, return_inverse=True)
        starts[template + 1] = starts[template] + len(values)
    n, k = columns.shape
    ends = np.arange(n + 1) * k
    return sparse.csr_array((np.ones(n * k), (places + starts[:-1]).ravel(), ends), shape=(n, int(starts[-1])))


class Projected(NamedTuple):
    """Projected inside and outside trees of N nodes, zero beyond the states of a node's symbol."""

    states: IntArray  # (S,)
    y: FloatArray  # (N, M)
    z: FloatArray  # (N, M)


def weighted_projections(
    trees: SkeletalTrees, features: FeatureColumns, weights: FloatArray, options: EstimatorOptions
) -> Projected:
    """Figure 7, step 1: projections by Ω̂ of indicators, a mean in which nodes have weights (N,)."""
    groups = trees.nodes_by_symbol()
    states = np.ones(len(groups), dtype=np.int64)
    y, z = np.zeros((2, trees.n_nodes, options.n_states))
    for a, nodes in enumerate(groups):
        inside, outside = indicators(features.inside[nodes]), indicators(features.outside[nodes])
        of_node = weights[nodes] / weights[nodes].sum()
        u, sigma, vt = np.linalg.svd((inside.T @ (sparse.diags_array(of_node) @ outside)).toarray())
        states[a] = m = np.count_nonzero(sigma[: options.n_states] > options.cutoff * sigma[0])
        y[nodes, :m] = inside @ u[:, :m]
        z[nodes, :m] = outside @ (vt[:m].T / sigma[:m])
    largest = int(states.max())
    return Projected(states, y[:, :largest], z[:, :largest])


def weighted_moments(
    trees: SkeletalTrees, rules: Rules, states: IntArray, y: FloatArray, z: FloatArray, weights: FloatArray
) -> Moments:
    """Figure 7, step 2: the sums of `Moments` over nodes that have weights (N,)."""
    rule = trees.rule_in(rules)
    inside = np.concatenate([y, np.ones((len(y), 1))], axis=1)
    outside = np.concatenate([z, np.ones((len(z), 1))], axis=1)
    own = outside * weights[:, None]

    def of_rules(kind: str) -> list[IntArray]:
        """The nodes with each rule of a kind."""
        is_kind = getattr(trees, f"is_{kind}")
        return [np.flatnonzero(is_kind & (rule == r)) for r in range(len(getattr(rules, kind)))]

    def by_symbol(rows: FloatArray, nodes: IntArray) -> FloatArray:
        """The sums of the rows of nodes that share a symbol."""
        return np.array([rows[nodes[trees.symbol[nodes] == a]].sum(axis=0) for a in range(len(states))])

    binary = []
    for (a, b, c), nodes in zip(rules.binary.tolist(), of_rules("binary"), strict=True):
        legs = [own[nodes], inside[trees.left[nodes]], inside[trees.right[nodes]]]
        x1, y2, y3 = (np.delete(leg, np.s_[states[s] : -1], axis=1) for leg, s in zip(legs, (a, b, c), strict=True))
        pairs = (y2[:, :, None] * y3[:, None, :]).reshape(len(nodes), -1)
        binary.append(Tensor.of_dense((x1.T @ pairs).reshape(states[[a, b, c]] + 1)))
    size = inside.shape[1]
    every = np.arange(trees.n_nodes)
    leaf = [own[nodes].sum(axis=0) for nodes in of_rules("leaf")]
    unary = [own[nodes].T @ inside[trees.left[nodes]] for nodes in of_rules("unary")]
    return Moments(
        rules,
        states,
        root=by_symbol(inside * weights[:, None], trees.root),
        leaf=np.array(leaf).reshape(-1, size),
        unary=np.array(unary).reshape(-1, size, size),
        binary=binary,
        outside=by_symbol(own, every),
        inside=by_symbol(inside * weights[:, None], every),
    )


def weighted_estimate(shard: Shard, weights: FloatArray, options: EstimatorOptions) -> ObservableOperators:
    """Figure 7 on nodes that have weights (N,); features are not scaled."""
    trees = shard.trees
    projected = weighted_projections(trees, shard.features, weights, options)
    return operators_from_moments(weighted_moments(trees, trees.rules, *projected, weights), options.smoothing)


def all_nodes(shard: Shard, seed: int) -> ObservableOperators:
    """The estimator as it is used."""
    return estimate(Treebank.of([shard]), OPTIONS).operators


def one_node_per_tree(shard: Shard, seed: int) -> ObservableOperators:
    """I.i.d. examples, each counted once for every node of its tree."""
    return weighted_estimate(shard, draw_one_node_per_tree(shard.trees, np.random.default_rng(seed)), OPTIONS)


def one_node_counted_once(shard: Shard, seed: int) -> ObservableOperators:
    """The examples as the long paper (section 8) prints them."""
    drawn = draw_one_node_per_tree(shard.trees, np.random.default_rng(seed)) > 0
    return weighted_estimate(shard, drawn.astype(float), OPTIONS)


VARIANTS: dict[str, Callable[[Shard, int], ObservableOperators]] = {
    "all nodes": all_nodes,
    "one node per tree": one_node_per_tree,
    "one node, counted once": one_node_counted_once,
}


def errors(sizes: Sequence[int], seeds: int, variants: Iterable[str] = VARIANTS) -> dict[str, FloatArray]:
    """Of each variant the errors (sizes, seeds) of estimates from independent samples."""
    truth = true_model()
    unseen = sample_trees(truth, HELD_OUT, np.random.default_rng([0, 0])).trees
    found = {name: np.zeros((len(sizes), seeds)) for name in variants}
    for (i, n_trees), seed in product(enumerate(sizes), range(seeds)):
        trees = sample_trees(truth, n_trees, np.random.default_rng([1 + seed, n_trees])).trees
        shard = Shard.of(trees, features_of(trees))
        for name, table in found.items():
            table[i, seed] = error(VARIANTS[name](shard, seed), truth, unseen)
    return found


def fitted(sizes: Sequence[int], table: FloatArray) -> tuple[float, float]:
    """Slope and intercept of log error (sizes, seeds) on log size, by least squares."""
    slope, intercept = np.polyfit(np.log(sizes), np.log(table).mean(axis=1), 1)
    return float(slope), float(intercept)


def report(sizes: Sequence[int], found: dict[str, FloatArray]) -> None:
    """Print geometric means over the seeds, and the slopes."""
    print(f"| trees | {' | '.join(found)} |\n| ---: |{' ---: |' * len(found)}")
    for i, n_trees in enumerate(sizes):
        cells = (f"{np.exp(np.log(table[i]).mean()):.4f}" for table in found.values())
        print(f"| {n_trees:,} | {' | '.join(cells)} |")
    print(f"| slope | {' | '.join(f'{fitted(sizes, table)[0]:.2f}' for table in found.values())} |")


def plot(sizes: Sequence[int], found: dict[str, FloatArray], path: Path) -> None:
    """Every estimate as a point, on logarithmic axes; lines are fitted, or join the means where nothing converges."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    ends = np.array([min(sizes), max(sizes)])
    for (name, table), (colour, marker) in zip(found.items(), STYLE, strict=False):
        slope, intercept = fitted(sizes, table)
        at = np.repeat(sizes, table.shape[1])
        axes.plot(at, table.ravel(), marker, color=colour, markersize=4.5, alpha=0.5, markeredgewidth=0)
        if VARIANTS[name] is one_node_counted_once:
            axes.plot(sizes, np.exp(np.log(table).mean(axis=1)), "--", color=colour, label=f"{name}: no convergence")
        else:
            label = f"{name}: slope {slope:.2f}".replace("-", "\N{MINUS SIGN}")
            axes.plot(ends, np.exp(intercept) * ends**slope, color=colour, label=label)
    axes.set(xscale="log", yscale="log", xlabel="training trees $M$")
    axes.set_ylabel(r"error  $\Sigma_{\tau}\;|\hat{p}(\tau) - p(\tau)|$")
    axes.grid(which="major", color="#e4e4e4", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower left")
    figure.savefig(path, dpi=120)
    print(f"\n{path}")


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, nargs="+", default=np.logspace(3, 6, 7).round().astype(int).tolist())
    parser.add_argument("--seeds", type=int, default=4, help="independent samples of each size")
    parser.add_argument("--plot", type=Path, default=PLOT, help="the figure to write")
    arguments = parser.parse_args()
    start = time.process_time()
    found = errors(arguments.trees, arguments.seeds)
    report(arguments.trees, found)
    print(f"\n{time.process_time() - start:.0f} CPU seconds")
    plot(arguments.trees, found, arguments.plot)


if __name__ == "__main__":
    main()
