"""Theorems 2 and 3 of Cohen, Stratos, Collins, Foster and Ungar (ACL 2012, and its long version), measured.

| here | paper | meaning |
| --- | --- | --- |
| `print_exactness` | Theorem 2 | from the moments of all trees of a grammar, p̂(τ) = p(τ) |
| `print_consistency` | Theorem 3 | from M sampled trees, the error Σ |p̂(τ) - p(τ)| falls as 1/√M |
| "marginals" | after Theorem 3 | the error |μ̂(a, i, j) / μ(a, i, j) - 1|, a mean over the nodes of trees |
| `examples_needed`, `bound_of` | Theorem 3 | M_a, the examples of a symbol that the theorem asks for |
| "counted once" | sections 7.1 and 8 | one node of each tree, as printed; docs/mathematics.md has the error in that |

The paper proves both theorems and measures nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import log
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from benchmarks.papers.errors import plot_errors, slope_of
from benchmarks.papers.known_grammars import all_trees, charts_of, features_of, finite_model, recursive_model
from benchmarks.papers.tables import MarkdownTable
from benchmarks.papers.weighted_nodes import (
    draw_one_node_per_tree,
    estimate_from_nodes,
    project_nodes,
)
from spectral_latent.estimation import (
    Moments,
    Shard,
    Spectral,
    Treebank,
    estimate,
    operators_from_moments,
)
from spectral_latent.inference import SignedLog, inside, marginals, outside, sample_trees, total_weight, tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.plotting import needs_matplotlib
from spectral_latent.trees import FloatArray, Forest, SkeletalTrees

__all__ = [
    "OPTIONS",
    "VARIANTS",
    "Bound",
    "bound_of",
    "draw_errors",
    "draw_picture",
    "examples_needed",
    "print_consistency",
    "print_exactness",
]

OPTIONS = Spectral(n_states=2, scaling=None, smoothing=None)
_HELD_OUT = 5_000  # trees that the error is a mean over
_CHARTS = 500  # sentences that the error of marginals is a mean over
_LONGEST = 20  # words of such a sentence
_EPSILON = 0.5  # the relative error that the bound is computed for
_ROUNDING = 1e-12  # elements below are zero except for rounding
_DELTA = 0.05  # the probability of a larger one


def _measure_errors(estimated: ObservableOperators, truth: ObservableOperators, trees: SkeletalTrees) -> FloatArray:
    """Compute |p̂(τ) / p(τ) - 1| (T,) of T trees."""
    theirs, ours = (tree_weights(model, Forest.of_trees(trees, model.rules)) for model in (truth, estimated))
    return np.asarray(np.abs(ours.sign * np.exp(ours.log - theirs.log) - 1.0))


class _Marginals(NamedTuple):
    """Marginals of the items of charts, divided by the weights of their sentences."""

    of_items: FloatArray  # (I,)
    sentence: SignedLog  # (C,)

    @staticmethod
    def compute(model: ObservableOperators, charts: Forest) -> _Marginals:
        """Compute them by the inside-outside algorithm."""
        inner = inside(model, charts)
        outer = outside(model, charts, inner)
        return _Marginals(marginals(model, charts, inner, outer), total_weight(model, charts, inner))


def _measure_marginals(estimated: ObservableOperators, truth: ObservableOperators, charts: Forest) -> float:
    """Compute the mean of |μ̂ / μ - 1| over the nodes that trees of the sentences have, by their true probabilities."""
    ours, theirs = (_Marginals.compute(model, charts) for model in (estimated, truth))
    of_sentences = ours.sentence.sign * np.exp(ours.sentence.log - theirs.sentence.log)
    sentence = np.searchsorted(charts.root, np.arange(charts.n_items))  # the root is the last item of its chart
    errors = np.abs(ours.of_items * of_sentences[sentence] - theirs.of_items)  # posterior · |μ̂ / μ - 1|
    return float(errors.sum() / theirs.of_items.sum())


class Bound(NamedTuple):
    """Quantities of Theorem 3, of a grammar and its features.

    n_states: the number of states, m.
    n_rules: the number of rules, R.
    smallest: Λ, taken over the elements that are not zero; see `bound_of`.
    sigma: σ, the least of the m'th singular values of all symbols.
    """

    n_states: int
    n_rules: int
    smallest: float
    sigma: float


def examples_needed(bound: Bound, n_nodes: int, epsilon: float, delta: float) -> float:
    """Compute M_a, the examples of every symbol from which |p̂ / p - 1| ≤ ε for a tree, with probability 1 - δ.

    M_a ≥ 128 m² log(2 m R / δ) / (((1 + ε)^(1 / (2N + 1)) - 1)² Λ² σ⁴)

    >>> round(examples_needed(Bound(n_states=1, n_rules=1, smallest=1.0, sigma=1.0), n_nodes=0, epsilon=1.0, delta=0.1))
    383
    """
    root = (1 + epsilon) ** (1 / (2 * n_nodes + 1)) - 1
    size = root * bound.smallest * bound.sigma**2
    return float(128 * bound.n_states**2 * log(2 * bound.n_states * bound.n_rules / delta) / size**2)


def bound_of(shard: Shard, weights: FloatArray, options: Spectral) -> Bound:
    """Compute the quantities of Theorem 3 from a population.

    Where U and V are singular vectors, Σᵃ = Uᵀ Ω V is diagonal, so that with two states its inverse has elements that
    are zero, and so is Λ: taken by the letter, the theorem asks for infinitely many examples.  Zeros are left out here.

    weights: (N,) the probability of the tree of each node.
    """
    trees = shard.trees
    states, y, z, sigma = project_nodes(trees, shard.features, weights, options)
    operators = operators_from_moments(Moments.of_trees(trees, trees.rules, states, y, z, weights))
    values = [sigma[a, : states[a]] for a in range(len(states))]
    # D and d∞ are C and c∞ before they are divided by σ.
    d_leaf = [values[a] * leaf[: states[a]] for (a, _), leaf in zip(trees.rules.leaf, operators.leaf, strict=True)]
    d_binary = [
        values[rule[0]][:, None, None] * tensor.to_dense()
        for rule, tensor in zip(trees.rules.binary, operators.binary, strict=True)
    ]
    elements = np.concatenate([np.ravel(x) for x in (operators.root, *d_leaf, *d_binary, *(1 / v for v in values))])
    sizes = np.abs(elements)
    return Bound(
        n_states=int(states.max()),
        n_rules=len(trees.rules.leaf) + len(trees.rules.binary),
        smallest=float(sizes[sizes > _ROUNDING].min()),
        sigma=min(float(value[-1]) for value in values),
    )


def _all_nodes(shard: Shard, _seed: int) -> ObservableOperators:
    """Estimate from all nodes, as the library does."""
    return estimate(Treebank.of([shard]), OPTIONS).operators


def _one_node_per_tree(shard: Shard, seed: int) -> ObservableOperators:
    """Estimate from one node of each tree, which counts once for every node of its tree."""
    return estimate_from_nodes(shard, draw_one_node_per_tree(shard.trees, np.random.default_rng(seed)), OPTIONS)


def _one_node_counted_once(shard: Shard, seed: int) -> ObservableOperators:
    """Estimate from one node of each tree, which counts once, as the long paper prints it."""
    drawn = draw_one_node_per_tree(shard.trees, np.random.default_rng(seed)) > 0
    return estimate_from_nodes(shard, drawn.astype(float), OPTIONS)


class Variant(NamedTuple):
    """A way to estimate, and what its error is of.

    estimate: a function that estimates operators from a shard, with a seed.
    of_marginals: whether the error is of marginals, and not of trees.
    """

    estimate: Callable[[Shard, int], ObservableOperators]
    of_marginals: bool = False


_COUNTED_ONCE = "one node, counted once"
VARIANTS = {
    "all nodes": Variant(_all_nodes),
    "one node per tree": Variant(_one_node_per_tree),
    _COUNTED_ONCE: Variant(_one_node_counted_once),
    "all nodes, marginals": Variant(_all_nodes, of_marginals=True),
}


def draw_errors(sizes: Sequence[int], seeds: int, variants: Iterable[str] = VARIANTS) -> dict[str, FloatArray]:
    """Measure the errors (sizes, seeds) of every variant on independent samples.

    >>> draw_errors([1000], seeds=2, variants=["all nodes"])["all nodes"].shape
    (1, 2)
    """
    truth = recursive_model()
    unseen = sample_trees(truth, _HELD_OUT, np.random.default_rng([0, 0])).trees
    charts = charts_of(sample_trees(truth, _CHARTS, np.random.default_rng([0, 1])).trees, truth.rules, _LONGEST)
    errors = {name: np.zeros((len(sizes), seeds)) for name in variants}
    estimators = dict.fromkeys(VARIANTS[name].estimate for name in errors)
    for (i, n_trees), seed in product(enumerate(sizes), range(seeds)):
        trees = sample_trees(truth, n_trees, np.random.default_rng([1 + seed, n_trees])).trees
        shard = Shard.of(trees, features_of(trees))
        estimated = {estimator: estimator(shard, seed) for estimator in estimators}
        for name, table in errors.items():
            operators = estimated[VARIANTS[name].estimate]
            if VARIANTS[name].of_marginals:
                table[i, seed] = _measure_marginals(operators, truth, charts)
            else:
                # Σ_τ |p̂(τ) - p(τ)| = E |p̂(τ) / p(τ) - 1|, the mean over trees sampled from p.
                table[i, seed] = _measure_errors(operators, truth, unseen).mean()
    return errors


def print_exactness(grammars: int) -> None:
    """Print, for random grammars, the errors of estimates from the moments of all trees."""
    click.echo(
        "Theorem 2: estimates from exact moments, on random grammars with finitely many trees.  The paper proves"
    )
    click.echo("that all nodes give p̂(τ) = p(τ).  One node of each tree, counted once, is its section 8 as printed.")
    click.echo("Errors: the largest |p̂(τ) / p(τ) - 1|, and the sum of |p̂(τ) - p(τ)|.\n")
    click.echo(
        f"Examples: M_a of Theorem 3, for the largest trees, ε = {_EPSILON} and δ = {_DELTA}; Λ without its zeros.\n"
    )
    columns = ("trees", "paper", "largest error", "sum of errors", f"{_COUNTED_ONCE}: sum", "Λ", "σ", "examples")
    table = MarkdownTable("grammar", *columns)
    options = Spectral(n_states=2, scaling=None, smoothing=None, cutoff=1e-9)
    for seed in range(grammars):
        truth = finite_model(seed)
        trees = all_trees(truth.rules)
        shard = Shard.of(trees, features_of(trees))
        p = np.exp(tree_weights(truth, Forest.of_trees(trees, truth.rules)).log)
        n_nodes = np.bincount(trees.tree)
        exact = _measure_errors(estimate_from_nodes(shard, p[trees.tree], options), truth, trees)
        # A node is drawn with probability 1 / N, and then counts once.
        as_printed = _measure_errors(estimate_from_nodes(shard, (p / n_nodes)[trees.tree], options), truth, trees)
        bound = bound_of(shard, p[trees.tree], options)
        needed = examples_needed(bound, int(n_nodes.max()), _EPSILON, _DELTA)
        errors = (f"{exact.max():.0e}", f"{p @ exact:.0e}", f"{p @ as_printed:.3f}")
        table.row(str(seed), str(len(p)), "0", *errors, f"{bound.smallest:.0e}", f"{bound.sigma:.3f}", f"{needed:.0e}")


def print_consistency(sizes: Sequence[int], found: dict[str, FloatArray]) -> None:
    """Print geometric means of errors for every sample size, and fitted slopes.

    found: the errors (sizes, seeds) of each variant, as `draw_errors` gives them.
    """
    click.echo(
        "\nTheorem 3: Σ |p̂(τ) - p(τ)| of estimates from sampled trees.  The paper proves a slope of -1/2 for one"
    )
    click.echo("node of each tree, and measures nothing; of marginals it says the same without a proof.\n")
    table = MarkdownTable("trees", "paper", *found)
    for i, n_trees in enumerate(sizes):
        table.row(f"{n_trees:,}", "-", *(f"{np.exp(np.log(errors[i]).mean()):.4f}" for errors in found.values()))
    table.row("slope", "-0.50", *(f"{slope_of(sizes, errors)[0]:.2f}" for errors in found.values()))


def draw_picture(sizes: Sequence[int], found: dict[str, FloatArray], path: Path) -> None:
    """Draw every error of trees as a point on logarithmic axes; see `errors.plot_errors`.

    Raises ImportError without matplotlib.

    found: the errors (sizes, seeds) of each variant.
    """
    with needs_matplotlib():
        from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    of_trees = {name: errors for name, errors in found.items() if not VARIANTS[name].of_marginals}
    axes = plot_errors(sizes, of_trees, figure.subplots())
    axes.set(xlabel="training trees $M$", ylabel=r"error  $\Sigma_{\tau}\;|\hat{p}(\tau) - p(\tau)|$")
    figure.savefig(path, dpi=120)
