"""Measure the passes of the engine, and the speed of parsing: alone, in batches and in several processes.

    python -m benchmarks.engine
    python -m benchmarks.engine --model MODEL --source nltk:treebank:test --sentences 300

MODEL is a parser of phrases, of the preset `fast` of NLTK's treebank sample if none is given.  The first table has CPU
milliseconds per sentence of the compiled inside pass on pruned charts, of the same pass written with NumPy, one edge at
a time (both must agree), and of the check of a forest; the second one the arithmetic of the pass beside NumPy's product
of two matrices (GEMM); the third one sentences per CPU second of `parse`, of `parse_all`, and of `parse_all` with 50
trees of each sentence, and sentences per second of `parse_all` with one process and with two, which need as many free
processors.  Each figure is the best of three.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks._measure import command_line, print_head, print_row, timed
from spectral_latent import load
from spectral_latent.constituency import ConstituencyModel, PhraseGrammar, clean, preset
from spectral_latent.corpora import constituency_trees
from spectral_latent.inference import check_forest, inside, total_weight
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest

_REPEATS = 3
_SIZE = 1000  # the rows and the columns of the matrices of GEMM


def fastest(answer: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """Return the seconds of the fastest of several calls."""
    seconds = []
    for _ in range(_REPEATS):
        start = clock()
        answer()
        seconds.append(clock() - start)
    return min(seconds)


def numpy_inside(operators: ObservableOperators, dense: list[np.ndarray], forest: Forest) -> float:
    """Compute log |Σ_roots c¹ α| with plain NumPy."""
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


def print_passes(grammar: PhraseGrammar, sentences: Sequence[list[str]]) -> None:
    """Print the milliseconds of the passes over the charts of sentences, and the speed of their arithmetic."""
    charts = (grammar.charts([words]) for words in sentences)
    forests = [(each.grammar.latent, each.joined().forest) for each in charts if each.is_derived.all()]
    dense = [tensor.to_dense() for tensor in grammar.operators.binary]
    compiled = fastest(lambda: [inside(*each) for each in forests])
    theirs, seconds = timed(lambda: [numpy_inside(operators, dense, forest) for operators, forest in forests])
    rows = {
        "numpy, edge by edge": seconds,
        "compiled, factored tensors": compiled,
        "of which the check of the forest": fastest(lambda: [check_forest(forest) for _, forest in forests]),
    }
    ours = [total_weight(*each, inside(*each)).log[0] for each in forests]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    print_head(["inside pass"], ["ms per sentence"])
    for name, seconds in rows.items():
        print_row([name], {"ms per sentence": f"{1000 * seconds / len(forests):.3g}"}, ["ms per sentence"], ())
    matrix = np.random.default_rng(0).random((_SIZE, _SIZE))
    gemm = 2 * _SIZE**3 / fastest(lambda: matrix @ matrix)
    speed = sum(itertools.starmap(operations, forests)) / compiled
    columns = ["GFLOP/s", "of GEMM"]
    print()
    print_head(["arithmetic"], columns)
    for name, each in (("inside pass, all of it", speed), (f"GEMM, {_SIZE} × {_SIZE}", gemm)):
        print_row([name], {"GFLOP/s": each / 1e9, "of GEMM": f"{each / gemm:.2f}"}, columns, ())


def print_speeds(model: ConstituencyModel, sentences: Sequence[list[str]]) -> None:
    """Print the sentences per second of each way to parse, and their ratio to that of the first way with its clock."""

    def together(n_best: int = 1, jobs: int = 1) -> None:
        """Parse all sentences in batches."""
        for _ in model.parse_all(sentences, n_best, jobs=jobs):
            pass

    ways: dict[str, tuple[Callable[[], Any], Callable[[], float]]] = {
        "`parse`": (lambda: [model.parse(each) for each in sentences], time.process_time),
        "`parse_all`": (together, time.process_time),
        "`parse_all`, 50 trees": (lambda: together(50), time.process_time),
        "`parse_all`, one process, wall time": (together, time.perf_counter),
        "`parse_all`, 2 processes, wall time": (lambda: together(jobs=2), time.perf_counter),
    }
    print()
    print_head(["sentences"], ["sentences/s", "ratio"])
    first: dict[Any, float] = {}
    for name, (answer, clock) in ways.items():
        speed = len(sentences) / fastest(answer, clock)
        ratio = speed / first.setdefault(clock, speed)
        print_row([name], {"sentences/s": speed, "ratio": ratio}, ["sentences/s", "ratio"], ())


def main() -> None:
    """Load a model, and measure it."""
    parser = command_line(__doc__)
    parser.add_argument("--model")
    parser.add_argument("--source", default="nltk:treebank:test")
    parser.add_argument("--sentences", type=int, default=423)
    given = parser.parse_args()
    if given.model:
        model: Any = load(given.model)
    else:
        model = ConstituencyModel.train(constituency_trees("nltk:treebank:train"), preset("fast"))
    trees = filter(None, map(clean, constituency_trees(given.source)))
    sentences = [list(tree.words()) for tree in itertools.islice(trees, given.sentences)]
    print_passes(model.members[0], sentences[:100])
    print_speeds(model, sentences)


if __name__ == "__main__":
    main()
