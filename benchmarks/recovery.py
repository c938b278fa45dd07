"""Recover states from moments: measure how fast the error falls, and where EM from these states ends.

    python -m benchmarks.recovery                    # errors against the number of trees, on twenty problems
    python -m benchmarks.recovery --climb            # EM from recovered states against ten random starts
    python -m benchmarks.recovery --estimators       # errors of probabilities by estimator, on the first six problems
    python -m benchmarks.recovery --problems 0 1 2   # some of the problems

A problem is a model drawn at random.  Ten problems are latent PCFGs of two symbols, in which the states of the two
children of a node are independent given its rule and state; ten are hidden Markov models, as right-branching trees.
All have 3 to 8 states.  Estimated states are matched with the true ones.  The error is the total variation between the
estimated and the true distribution of the rules of a state, a mean over the nodes of trees, plus that of the roots.

With `--estimators`, the error is Σ |p̂ - p| / Σ p over 21 trees.  The estimators have their default settings and know m,
the number of states; "4 m clusters" have the smoothing and the rank of the preset `clusters`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.papers.known_grammars import change_basis
from spectral_latent.estimation import (
    EM,
    Clusters,
    CountsEstimator,
    Decomposition,
    Estimator,
    FeatureColumns,
    Random,
    Shard,
    Spectral,
    Treebank,
    estimate,
    inside_templates,
    outside_templates,
)
from spectral_latent.inference import mean_node_counts, sample_trees, tree_weights
from spectral_latent.operators import Counts, ObservableOperators, Tensor
from spectral_latent.sequence import HiddenMarkov, Sequences, baum_welch
from spectral_latent.trees import FloatArray, Forest, IntArray, Rules, SkeletalTrees

SIZES = (2_000, 8_000, 32_000)
OPTIONS = Decomposition(scaling=1.0, smoothing=None, cutoff=1e-6)
CLIMB_TREES = 4_000
CLIMBING = EM(iterations=200, tolerance=1e-4, state_smoothing=0.0)
STARTS = 10
N_ASKED = 21
ESTIMATORS: dict[str, Callable[[int], Estimator]] = {
    "spectral": Spectral,
    "4 m clusters": lambda m: Clusters(4 * m, smoothing=5.0, rank=8),
    "m clusters": Clusters,
    "m clusters, then EM": lambda m: EM(Clusters(m)),
    "plain PCFG": lambda m: Clusters(1),
}


class Problem(NamedTuple):
    """A model that was drawn at random, and its name."""

    name: str
    model: ObservableOperators

    @property
    def n_states(self) -> int:
        """The number of states of each symbol."""
        return int(self.model.states[0])

    def treebank(self, n_trees: int, seed: int) -> Treebank:
        """Sample trees, and make their features."""
        trees = sample_trees(self.model, n_trees, np.random.default_rng([seed, n_trees])).trees
        return Treebank.of([Shard.of(trees, features_of(trees))])


def features_of(trees: SkeletalTrees) -> FeatureColumns:
    """Make the features that trees of any formalism have, and the terminals inside and around each node."""
    n_leaves = trees.n_leaves
    before = np.concatenate([[0], np.cumsum(n_leaves[trees.root])])  # the number of leaves before each tree
    first = before[trees.tree] + trees.first_leaf
    yields = np.zeros(before[-1], dtype=np.int64)
    yields[first[trees.is_leaf]] = trees.terminal[trees.is_leaf]

    def at(position: IntArray) -> IntArray:
        """Find the terminal at a position in the leaves of all trees; -1 outside the node's own tree."""
        within = (position >= before[trees.tree]) & (position < before[trees.tree + 1])
        return np.where(within, yields[np.clip(position, 0, len(yields) - 1)], -1)

    last = first + n_leaves - 1
    inside = {"first": at(first), "last": at(last), "second": np.where(n_leaves > 1, at(first + 1), -1)}
    outside = {f"{offset}": at(first + offset) for offset in (-1, -2, -3)} | {f"+{k}": at(last + k) for k in (1, 2, 3)}
    return FeatureColumns.of(inside_templates(trees) | inside, outside_templates(trees) | outside)


def followers(m: int, rng: np.random.Generator) -> FloatArray:
    """Draw the distributions (m, m) of a child's state: each state has a follower of its own, and rarer others."""
    return np.asarray(0.7 * np.eye(m)[rng.permutation(m)] + 0.3 * rng.dirichlet(np.ones(m), m))


def emissions(m: int, rng: np.random.Generator) -> FloatArray:
    """Draw the distributions (m, 2 m) of terminals: each state has two of its own, and rarer others."""
    own = np.kron(np.eye(m), np.ones(2)) * rng.uniform(0.2, 0.8, (m, 2 * m))
    own /= own.sum(axis=1, keepdims=True)
    return np.asarray(0.7 * own + 0.3 * rng.dirichlet(np.ones(2 * m), m))


def latent_pcfg(m: int, seed: int) -> ObservableOperators:
    """Draw a grammar of two symbols; every symbol emits 2 m terminals, and branches in four ways."""
    rng = np.random.default_rng([0, m, seed])
    n_terminals = 2 * m
    rules = Rules(
        leaf=np.array([(a, x) for a in range(2) for x in range(n_terminals)]),
        unary=np.empty((0, 2), dtype=np.int64),
        binary=np.array([(a, b, c) for a in range(2) for b in range(2) for c in range(2)]),
    )
    branches = rng.uniform(0.4, 0.47, (2, m))
    emission = np.array([emissions(m, rng) for _ in range(2)]) * (1.0 - branches)[:, :, None]
    choice = rng.dirichlet(np.ones(4), (2, m)) * branches[:, :, None]
    binary = []
    for r, a in enumerate(rules.binary[:, 0].tolist()):
        left = followers(m, rng)
        right = followers(m, rng)
        binary.append(Tensor.of_dense(choice[a, :, r % 4, None, None] * left[:, :, None] * right[:, None, :]))
    return ObservableOperators(
        rules,
        states=np.array([m, m]),
        root=rng.dirichlet(np.ones(2 * m)).reshape(2, m),
        leaf=np.concatenate([emission[0].T, emission[1].T]),
        unary=np.empty((0, m, m)),
        binary=binary,
        probabilities=True,
    )


def hidden_markov(m: int, seed: int) -> ObservableOperators:
    """Draw a hidden Markov model with 2 m observations."""
    rng = np.random.default_rng([1, m, seed])
    return HiddenMarkov(
        initial=rng.dirichlet(np.ones(m)),
        transition=followers(m, rng),
        stop=rng.uniform(0.05, 0.2, m),
        emission=emissions(m, rng),
    ).operators()


def problems() -> list[Problem]:
    """Draw the twenty problems."""
    kinds: dict[str, Callable[[int, int], ObservableOperators]] = {"L-PCFG": latent_pcfg, "HMM": hidden_markov}
    return [
        Problem(f"{kind} {seed}, m = {m}", draw(m, seed))
        for kind, draw in kinds.items()
        for seed, m in enumerate((3, 4, 5, 6, 7, 8, 3, 4, 5, 6))
    ]


PROBLEMS = problems()


def _profiles(model: ObservableOperators) -> list[FloatArray]:
    """Describe every state (m_a, d) of each symbol by its rules, and by the terminals of itself and of its children."""
    rules = model.rules
    below = np.zeros((*model.root.shape, int(rules.leaf[:, 1].max()) + 1))
    for (a, x), row in zip(rules.leaf.tolist(), model.leaf, strict=True):
        below[a, :, x] = row
    columns = [[below[a, :m]] for a, m in enumerate(model.states)]
    for (a, b), matrix in zip(rules.unary.tolist(), model.unary, strict=True):
        columns[a].append((matrix @ below[b])[: model.states[a]])
    for (a, b, c), tensor in zip(rules.binary.tolist(), model.binary, strict=True):
        full = tensor.to_dense()
        columns[a].append(full.sum(axis=2) @ below[b, : full.shape[1]])
        columns[a].append(full.sum(axis=1) @ below[c, : full.shape[2]])
        columns[a].append(full.sum(axis=(1, 2))[:, None])
    return [np.concatenate(parts, axis=1) for parts in columns]


def matched(model: ObservableOperators, truth: ObservableOperators) -> ObservableOperators:
    """Reorder the states of a model so that they are like those of the truth, which has the same rules."""
    bases = []
    for ours, theirs in zip(_profiles(model), _profiles(truth), strict=True):
        distance = np.abs(theirs[:, None, :] - ours[None, :, :]).sum(axis=2)
        bases.append(np.eye(len(ours))[linear_sum_assignment(distance)[1]])
    return change_basis(model, bases)


def total_variation(model: ObservableOperators, truth: ObservableOperators) -> float:
    """Compute the total variation of the rules of a state, a mean over the nodes of trees, plus that of the roots."""
    model = matched(model, truth)
    rules = truth.rules
    gap = np.zeros(truth.root.shape)
    np.add.at(gap, rules.leaf[:, 0], np.abs(model.leaf - truth.leaf))
    np.add.at(gap, rules.unary[:, 0], np.abs(model.unary - truth.unary).sum(axis=2))
    for a, ours, theirs in zip(rules.binary[:, 0].tolist(), model.binary, truth.binary, strict=True):
        of_state = np.abs(ours.to_dense() - theirs.to_dense()).sum(axis=(1, 2))
        gap[a, : len(of_state)] += of_state
    nodes = mean_node_counts(truth)
    return float((gap * nodes).sum() / nodes.sum() + np.abs(model.root - truth.root).sum()) / 2


def aligned(model: ObservableOperators, truth: ObservableOperators) -> ObservableOperators:
    """Write a model over the rules of the truth, some of which a sample may lack."""
    nothing, something = (
        Counts(each.rules, each.states, share * each.root, each.leaf, each.unary, each.binary).scale(
            np.full(each.root.shape, share)
        )
        for each, share in ((truth, 0.0), (model, 1.0))
    )
    total = nothing + something
    rows = (total.root, total.leaf, total.unary, total.binary)
    return ObservableOperators(total.rules, total.states, *rows, probabilities=True)


def asked(problem: Problem) -> SkeletalTrees:
    """Draw trees of at most five words, all different."""
    drawn = sample_trees(problem.model, 2000, np.random.default_rng(99)).trees
    found: dict[bytes, SkeletalTrees] = {}
    for tree in drawn.separate():
        if tree.is_leaf.sum() <= 5:
            found.setdefault(b"".join(column.tobytes() for column in (tree.symbol, tree.left, tree.terminal)), tree)
    return joined(list(found.values())[:N_ASKED])


def joined(trees: list[SkeletalTrees]) -> SkeletalTrees:
    """Join trees."""
    before = np.cumsum([0, *(tree.n_nodes for tree in trees)])
    columns = [
        np.concatenate(
            [
                np.where(getattr(tree, name) < 0, -1, getattr(tree, name) + (n if moves else 0))
                for tree, n in zip(trees, before, strict=False)
            ]
        )
        for name, moves in (("symbol", 0), ("left", 1), ("right", 1), ("terminal", 0), ("root", 1))
    ]
    return SkeletalTrees(*columns)


def probabilities(operators: ObservableOperators, trees: SkeletalTrees) -> FloatArray:
    """Compute p̂ of trees."""
    weights = tree_weights(operators, Forest.of_trees(trees, operators.rules))
    return np.asarray(weights.sign * np.exp(weights.log))


def compare(chosen: Sequence[Problem], sizes: Sequence[int], seeds: Sequence[int]) -> Iterator[tuple[str, FloatArray]]:
    """Yield the name of each estimator, and its errors (sizes, problems · seeds) of the probabilities of trees."""
    found: dict[str, list[list[float]]] = {name: [] for name in ESTIMATORS}
    for problem in chosen:
        trees = asked(problem)
        truth = probabilities(problem.model, trees)
        for seed in seeds:
            samples = [problem.treebank(n, seed) for n in sizes]
            for name, make in ESTIMATORS.items():
                models = (estimate(sample, make(problem.n_states)).operators for sample in samples)
                gaps = (np.abs(probabilities(model, trees) - truth).sum() for model in models)
                found[name].append([float(gap / truth.sum()) for gap in gaps])
    yield from ((name, np.array(rows).T) for name, rows in found.items())


def errors(problem: Problem, sizes: Sequence[int], seeds: Sequence[int]) -> FloatArray:
    """Compute the total variation of recovered models, (sizes, seeds)."""
    options = replace(OPTIONS, n_states=problem.n_states)
    return np.array(
        [
            [
                total_variation(
                    aligned(estimate(problem.treebank(n, seed), options).operators, problem.model), problem.model
                )
                for seed in seeds
            ]
            for n in sizes
        ]
    )


def slope(sizes: Sequence[int], error: FloatArray) -> float:
    """Fit log error (sizes, seeds) to log size by least squares, and return the slope."""
    return float(np.polyfit(np.log(sizes), np.log(error).mean(axis=1), 1)[0])


class Climb(NamedTuple):
    """Where EM ends, from recovered states and from random starts.

    recovered: the log-likelihood at the end, from recovered states.
    recovered_seconds: the CPU seconds of this estimation.
    random: the log-likelihood at the end, from each random start.
    random_seconds: the CPU seconds of all these estimations.
    """

    recovered: float
    recovered_seconds: float
    random: list[float]
    random_seconds: float


def climb(problem: Problem, n_trees: int, starts: int) -> Climb:
    """Run EM from recovered states and from random starts; for chains as Baum-Welch, whose loops are faster."""
    treebank = problem.treebank(n_trees, seed=0)
    ours_from = OPTIONS.with_settings(n_states=problem.n_states)
    theirs_from = Random(problem.n_states, smoothing=None)
    is_chain = problem.name.startswith("HMM")
    ends = chain_ends if is_chain else tree_ends
    begun = time.process_time()
    (ours,) = ends(treebank, ours_from, [0])
    middle = time.process_time()
    theirs = ends(treebank, theirs_from, range(starts))
    return Climb(ours, middle - begun, theirs, time.process_time() - middle)


def tree_ends(treebank: Treebank, start: CountsEstimator, seeds: Iterable[int]) -> list[float]:
    """Run the EM of the core, and list the log-likelihoods where it ends."""
    climbs = (replace(CLIMBING, start=replace(start, seed=seed)) for seed in seeds)
    return [climb.fit(treebank).objective[-1] for climb in climbs]


def chain_ends(treebank: Treebank, start: CountsEstimator, seeds: Iterable[int]) -> list[float]:
    """Run Baum-Welch from recovered states or from random starts, and list the log-likelihoods where it ends."""
    (shard,) = treebank.shards
    sequences = Sequences.of_trees(shard.trees)
    if isinstance(start, Decomposition):
        recovered = start.fit(treebank).operators
        starts = [HiddenMarkov.of_tree_model(recovered, 2 * start.n_states, pseudo=0.0)]
    else:
        observed = np.bincount(sequences.terminal).astype(float)
        n = sequences.n_sequences
        starts = [HiddenMarkov.random(observed, n, start.n_states, seed) for seed in seeds]
    return [baum_welch([sequences], each, CLIMBING)[1][-1] for each in starts]


def main() -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, nargs="+", default=list(range(len(PROBLEMS))))
    parser.add_argument("--trees", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seeds", type=int, default=1, help="the number of samples of each size")
    parser.add_argument("--climb", action="store_true", help="compare EM from recovered states with random starts")
    parser.add_argument("--estimators", action="store_true", help="compare the probabilities that estimators give")
    arguments = parser.parse_args()
    if arguments.estimators:
        print_errors("estimator", arguments.trees, compare(PROBLEMS[:6], arguments.trees, range(arguments.seeds)))
        return
    chosen = [PROBLEMS[number] for number in arguments.problems]
    if arguments.climb:
        for problem in PROBLEMS[:: len(PROBLEMS) // 2]:
            climb(problem, 100, 1)  # compiles what is measured
        print("| problem | recovered, nats per tree above the best random start | CPU s | ten random starts, CPU s |")
        print("| --- | ---: | ---: | ---: |")
        for problem in chosen:
            ends = climb(problem, CLIMB_TREES, STARTS)
            gain = (ends.recovered - max(ends.random)) / CLIMB_TREES
            print(
                f"| {problem.name} | {gain:+.4f} | {ends.recovered_seconds:.1f} | {ends.random_seconds:.1f} |",
                flush=True,
            )
        return
    rows = ((problem.name, errors(problem, arguments.trees, range(arguments.seeds))) for problem in chosen)
    slopes = print_errors("problem", arguments.trees, rows)
    print(f"| median |{' |' * len(arguments.trees)} {np.median(slopes):.2f} |")


def print_errors(key: str, sizes: Sequence[int], rows: Iterable[tuple[str, FloatArray]]) -> list[float]:
    """Print the geometric mean of the errors (sizes, n) of each row, and return the slopes."""
    print(f"| {key} | {' | '.join(f'{n:,}' for n in sizes)} | slope |")
    print(f"| --- |{' ---: |' * (len(sizes) + 1)}")
    slopes = []
    for name, error in rows:
        slopes.append(slope(sizes, error))
        cells = " | ".join(f"{np.exp(np.log(row).mean()):.4f}" for row in error)
        print(f"| {name} | {cells} | {slopes[-1]:.2f} |", flush=True)
    return slopes


if __name__ == "__main__":
    main()
