"""Compare the compiled inside pass with the same pass written with numpy, one edge at a time.

    python -m benchmarks.engine

Prints CPU milliseconds per sentence on pruned charts of the dev split of NLTK's treebank sample, and checks that both
passes agree.  Also prints which share of the compiled pass is spent on checking the forest, and the speed of its
arithmetic beside NumPy's product of two matrices (GEMM), and of a matrix and a vector (GEMV).
"""

from __future__ import annotations

import itertools
import time

import numpy as np

from spectral_latent.constituency import ConstituencyModel, clean
from spectral_latent.corpora import constituency_trees
from spectral_latent.inference import inside, total_weight
from spectral_latent.inference._checks import check_rules
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest

_REPEATS = 20  # how often the check and the products are computed, because one takes too little time
_SIZE = 1000  # the rows and the columns of the matrices of GEMM and GEMV


def numpy_inside(operators: ObservableOperators, dense: list[np.ndarray], forest: Forest) -> float:
    """Compute log |Σ_roots c¹ α| with plain numpy."""
    alpha: list[np.ndarray] = []
    for item in range(forest.n_items):
        m = operators.states[forest.symbol[item]]
        total = np.zeros(m)
        for edge in range(forest.start[item], forest.start[item + 1]):
            left, right, rule = forest.left[edge], forest.right[edge], forest.rule[edge]
            if left < 0:
                total += operators.leaf[rule, :m]
            else:
                total += dense[rule].reshape(m, -1) @ np.multiply.outer(alpha[left], alpha[right]).ravel()
        alpha.append(total)
    weight = sum(operators.root[forest.symbol[root], : len(alpha[root])] @ alpha[root] for root in forest.root)
    return float(np.log(abs(weight)))


def operations(operators: ObservableOperators, forest: Forest) -> int:
    """Count the multiplications and additions of the inside pass in the tensors of binary rules."""
    is_binary = (forest.rule >= 0) & (forest.right >= 0)
    item = np.repeat(np.arange(forest.n_items), np.diff(forest.start))[is_binary]
    rule, left, right = (column[is_binary] for column in (forest.rule, forest.left, forest.right))
    states, terms = operators.states[forest.symbol], operators.packed.terms[rule]
    is_factored = terms > 0
    children = np.where(is_factored, 2 * terms * (states[left] + states[right]), states[left] * states[right])
    # Every edge adds to a sum in pair space; the edges of an item with one rule share the product with its matrix.
    width = np.where(is_factored, terms, states[left] * states[right])
    is_first = np.append(True, (np.diff(item) != 0) | (np.diff(rule) != 0))
    return int((children + 3 * width).sum() + (2 * states[item] * width)[is_first].sum())


def products_per_second() -> tuple[float, float]:
    """Measure the operations per CPU second of the product of two matrices, and of a matrix and a vector."""
    matrix = np.random.default_rng(0).random((_SIZE, _SIZE))
    speeds = []
    for other in (matrix, matrix[0]):
        matrix @ other
        start = time.process_time()
        for _ in range(_REPEATS):
            matrix @ other
        speeds.append(2 * _REPEATS * matrix.size * (other.size // _SIZE) / (time.process_time() - start))
    return speeds[0], speeds[1]


def main() -> None:
    """Train a model, and measure both passes on the same forests."""
    (grammar,) = ConstituencyModel.train(constituency_trees("nltk:treebank:train")).members
    gold = itertools.islice((tree for tree in map(clean, constituency_trees("nltk:treebank:dev")) if tree), 100)
    sentences = [list(tree.words()) for tree in gold]
    charts = (grammar.charts([words]) for words in sentences)
    forests = [(each.grammar.latent, each.joined().forest) for each in charts if each.is_derived.all()]
    dense = [tensor.to_dense() for tensor in grammar.operators.binary]
    total_weight(*forests[0], inside(*forests[0]))
    start = time.process_time()
    ours = [total_weight(operators, forest, inside(operators, forest)).log[0] for operators, forest in forests]
    compiled = time.process_time() - start
    start = time.process_time()
    for operators, forest in forests:  # repeated, so that the forest is in the cache, as when it was just built
        for _ in range(_REPEATS):
            check_rules(operators, forest)
    checked = (time.process_time() - start) / _REPEATS
    start = time.process_time()
    theirs = [numpy_inside(operators, dense, forest) for operators, forest in forests]
    plain = time.process_time() - start
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    edges = np.mean([forest.n_edges for _, forest in forests])
    print("| inside pass | ms per sentence |\n| --- | ---: |")
    print(f"| numpy, edge by edge | {1000 * plain / len(forests):.1f} |")
    print(f"| compiled, factored tensors | {1000 * compiled / len(forests):.2f} |")
    print(f"| of which the check of the forest | {1000 * checked / len(forests):.3f} |")
    print(f"\nThe check is {checked / compiled:.2%} of the pass.")
    print(f"\n{len(forests)} sentences, {edges:.0f} edges each on average; {plain / compiled:.0f} times faster.")
    rows = ("inside pass, all of it", sum(itertools.starmap(operations, forests)) / compiled)
    gemm, gemv = products_per_second()
    print("\n| arithmetic | GFLOP/s | of GEMM |\n| --- | ---: | ---: |")
    for name, speed in (rows, (f"GEMM, {_SIZE} × {_SIZE}", gemm), (f"GEMV, {_SIZE} × {_SIZE}", gemv)):
        print(f"| {name} | {speed / 1e9:.1f} | {speed / gemm:.2f} |")


if __name__ == "__main__":
    main()
