"""Learn from samples of known models: errors by estimator, numbers of states that are found, and intervals.

    python -m benchmarks.known_models errors --trees 1000 4000 16000
    python -m benchmarks.known_models ranks --trees 2500 --seeds 2
    python -m benchmarks.known_models coverage --samples 100 --trees 10000 --settings "no smoothing"

A problem is a model drawn at random.  Ten problems are latent PCFGs of two symbols, in which the states of the two
children of a node are independent given its rule and state; ten are hidden Markov models, as right-branching trees.
All have 3 to 8 states.  Two more are such PCFGs of dependency trees with two tags, and so six symbols.

*errors*: Σ |p̂ - p| / Σ p over 21 trees, on the first six problems.  The estimators have their default settings and know
m, the number of states; "4 m clusters" have the smoothing and the rank of the preset `clusters`.

*ranks*: a model counts as *right* if `find_ranks` finds the number of states of all its symbols; *too few* and *too
many* are shares of symbols.

*coverage*: the spectral estimator with the right numbers of states has standard errors by twenty groups (`Jackknife`),
on two problems of each kind.  It estimates p of these trees; log p of their words, summed over all trees; and of hidden
Markov models (`LatentHMM`, ε = 0.01) also log p of the last word after the words before it, its surprisal but for the
sign.  The settings "no smoothing" also fix the cutoff and the scaling.  *Coverage* is the share of all intervals of a
nominal 95 % that contain the true number, *rarer half* that of the numbers below the median, and *worst* the lowest
share of one number.  *Sound* is the share of intervals that `Estimates.is_sound` trusts, followed by their coverage,
and the worst of the numbers of which half are trusted.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any, NamedTuple, get_args

import numpy as np

from benchmarks._measure import command_line, print_head, print_row
from spectral_latent import LatentHMM
from spectral_latent.dependency import Attachment, HeadSymbol
from spectral_latent.dependency.conversion import Role, list_possible_rules
from spectral_latent.estimation import (
    EM,
    Clusters,
    Estimator,
    FeatureColumns,
    ProjectionOptions,
    Shard,
    Spectral,
    Treebank,
    estimate,
    find_ranks,
    inside_templates,
    outside_templates,
)
from spectral_latent.inference import sample_trees, tree_weights
from spectral_latent.model import Estimates, Jackknife
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.sequence import HiddenMarkov, HMMOptions
from spectral_latent.trees import FloatArray, Forest, ForestBuilder, IntArray, Rules, SkeletalTrees

N_ASKED = 21


class Problem(NamedTuple):
    """A model that was drawn at random, and its name."""

    name: str
    model: ObservableOperators

    @property
    def n_states(self) -> int:
        """The number of states of each symbol."""
        return int(self.model.states[0])

    @property
    def is_chain(self) -> bool:
        """Whether trees are right-branching."""
        return len(self.model.rules.unary) > 0

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


def latent_grammar(binary: IntArray, roots: IntArray, m: int, rng: np.random.Generator) -> ObservableOperators:
    """Draw a grammar with some binary rules (R, 3), which are sorted; every symbol emits 2 m terminals.

    roots: the symbols that may be at the root."""
    n_symbols, n_terminals = int(binary.max()) + 1, 2 * m
    leaf = np.array([(a, x) for a in range(n_symbols) for x in range(n_terminals)])
    branches = rng.uniform(0.4, 0.47, (n_symbols, m))
    emission = np.array([emissions(m, rng) for _ in range(n_symbols)]) * (1.0 - branches)[:, :, None]
    several = np.bincount(binary[:, 0])
    choice = [rng.dirichlet(np.ones(n), m) * branches[a, :, None] for a, n in enumerate(several)]
    tensors = []
    for weight in np.concatenate(choice, axis=1).T:
        left = followers(m, rng)
        right = followers(m, rng)
        tensors.append(Tensor.of_dense(weight[:, None, None] * left[:, :, None] * right[:, None, :]))
    root = np.zeros((n_symbols, m))
    root[roots] = rng.dirichlet(np.ones(len(roots) * m)).reshape(-1, m)
    return ObservableOperators(
        Rules(leaf, np.empty((0, 2), dtype=np.int64), binary),
        states=np.full(n_symbols, m),
        root=root,
        leaf=emission.transpose(0, 2, 1).reshape(-1, m),
        unary=np.empty((0, m, m)),
        binary=tensors,
        probabilities=True,
    )


def latent_pcfg(m: int, seed: int) -> ObservableOperators:
    """Draw a grammar of two symbols, which branch in four ways."""
    binary = np.array(list(product(range(2), repeat=3)))
    return latent_grammar(binary, np.arange(2), m, np.random.default_rng([0, m, seed]))


def dependency_grammar(m: int, seed: int) -> ObservableOperators:
    """Draw a grammar of dependency trees with two tags; their roots have all their children."""
    symbols = [HeadSymbol(tag, role) for tag in "AB" for role in get_args(Role)]
    roots = np.array([number for number, symbol in enumerate(symbols) if symbol.role == "complete"])
    rules, _ = list_possible_rules(symbols, Attachment())
    return latent_grammar(np.unique(rules, axis=0), roots, m, np.random.default_rng([2, m, seed]))


def hidden_markov(m: int, seed: int) -> ObservableOperators:
    """Draw a hidden Markov model with 2 m observations."""
    rng = np.random.default_rng([1, m, seed])
    return HiddenMarkov(
        initial=rng.dirichlet(np.ones(m)),
        transition=followers(m, rng),
        stop=rng.uniform(0.05, 0.2, m),
        emission=emissions(m, rng),
    ).operators()


PROBLEMS = [
    Problem(f"{kind} {seed}, m = {m}", draw(m, seed))
    for kind, draw, n in (
        ("L-PCFG", latent_pcfg, 10),
        ("HMM", hidden_markov, 10),
        ("dependencies", dependency_grammar, 2),
    )
    for seed, m in enumerate((3, 4, 5, 6, 7, 8, 3, 4, 5, 6)[:n])
]


def asked(problem: Problem) -> SkeletalTrees:
    """Draw trees of at most five words, all different."""
    drawn = sample_trees(problem.model, 2000, np.random.default_rng(99)).trees
    found: dict[bytes, SkeletalTrees] = {}
    for tree in drawn.separate():
        if tree.is_leaf.sum() <= 5:
            found.setdefault(b"".join(column.tobytes() for column in (tree.symbol, tree.left, tree.terminal)), tree)
    trees = list(found.values())[:N_ASKED]
    columns = [(tree.symbol, (tree.left >= 0).astype(int) + tree.is_binary, tree.terminal) for tree in trees]
    symbol, n_children, terminal = map(np.concatenate, zip(*columns, strict=True))
    return SkeletalTrees.post_order(symbol, n_children, terminal, np.cumsum([tree.n_nodes for tree in trees]) - 1)


def probabilities(operators: ObservableOperators, trees: SkeletalTrees) -> FloatArray:
    """Compute p̂ of trees."""
    weights = tree_weights(operators, Forest.of_trees(trees, operators.rules))
    return np.asarray(weights.sign * np.exp(weights.log))


ESTIMATORS: dict[str, Callable[[int], Estimator]] = {
    "spectral": Spectral,
    "4 m clusters": lambda m: Clusters(4 * m, smoothing=5.0, rank=8),
    "m clusters": Clusters,
    "m clusters, then EM": lambda m: EM(Clusters(m)),
    "plain PCFG": lambda m: Clusters(1),
}


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


def slope(sizes: Sequence[int], error: FloatArray) -> float:
    """Fit log error (sizes, seeds) to log size by least squares, and return the slope."""
    return float(np.polyfit(np.log(sizes), np.log(error).mean(axis=1), 1)[0])


def print_errors(sizes: Sequence[int], seeds: Sequence[int]) -> None:
    """Print the geometric mean of the errors of each estimator."""
    columns = [*(f"{n:,}" for n in sizes), "slope"]
    print_head(["estimator"], columns)
    for name, error in compare(PROBLEMS[:6], sizes, seeds):
        cells = [*(f"{np.exp(np.log(row).mean()):.4f}" for row in error), f"{slope(sizes, error):.2f}"]
        print_row([name], dict(zip(columns, cells, strict=True)), columns, ())


RANKS_COLUMNS = ("models", "right %", "too few %", "too many %")


def measure_ranks(n_trees: int, seeds: Sequence[int]) -> dict[str, float]:
    """Test the ranks of all models on samples of a size."""
    differences = [
        find_ranks(problem.treebank(n_trees, seed), ProjectionOptions(n_states=problem.n_states + 2)) - problem.n_states
        for problem in PROBLEMS
        for seed in seeds
    ]
    of_symbols = np.concatenate(differences)
    return {
        "models": len(differences),
        "right %": 100.0 * float(np.mean([not each.any() for each in differences])),
        "too few %": 100.0 * float(np.mean(of_symbols < 0)),
        "too many %": 100.0 * float(np.mean(of_symbols > 0)),
    }


COVERAGE_COLUMNS = ("coverage %", "rarer half", "worst", "sound", "of sound %", "worst sound", "CPU s a sample")
SETTINGS: dict[str, dict[str, float | None]] = {
    "default": {},
    "no smoothing": {"scaling": 1.0, "smoothing": None, "cutoff": 1e-6},
}
CHOSEN = (0, 1, 10, 11, 20, 21)
_FLOOR = 0.01  # ε of hidden Markov models, which would otherwise be chosen anew without each group


def words_of(trees: SkeletalTrees) -> list[list[int]]:
    """List the terminals of each tree."""
    return [tree.terminal[tree.is_leaf].tolist() for tree in trees.separate()]


def all_trees(sentences: Sequence[Sequence[int]], rules: Rules) -> Forest:
    """Build the forest of all binary trees over sentences."""
    builder = ForestBuilder(rules)
    n_symbols = int(rules.leaf[:, 0].max()) + 1
    for words in sentences:
        n = len(words)
        item = {(i, i + 1, a): builder.leaf(a, x) for i, x in enumerate(words) for a in range(n_symbols)}
        for first, end in sorted(combinations(range(n + 1), 2), key=lambda span: span[1] - span[0]):
            for parent in range(n_symbols if end - first > 1 else 0):
                pairs = [
                    (item[first, k, b], item[k, end, c])
                    for a, b, c in rules.binary.tolist()
                    for k in range(first + 1, end)
                    if a == parent and (first, k, b) in item and (k, end, c) in item
                ]
                if pairs:
                    item[first, end, parent] = builder.add(parent, pairs)
        builder.end(*(item[0, n, a] for a in range(n_symbols) if (0, n, a) in item))
    return builder.forest()


def sums(operators: ObservableOperators, sentences: Sequence[Sequence[int]]) -> FloatArray:
    """Compute log p of sentences, summed over all their trees."""
    return np.asarray(tree_weights(operators, all_trees(sentences, operators.rules)).log_if_positive)


def log_last_words(model: HiddenMarkov, rows: Sequence[Sequence[int]]) -> FloatArray:
    """Compute log p of the last word of each row after the words before it."""
    found = []
    for row in rows:
        forward = model.initial
        prefixes = [1.0]  # their probabilities
        for word in row:
            emitted = forward * model.emission[:, word]
            prefixes.append(emitted.sum())
            forward = (emitted * (1.0 - model.stop)) @ model.transition
        found.append(np.log(prefixes[-1] / prefixes[-2]))
    return np.array(found)


def questions(problem: Problem) -> dict[str, tuple[FloatArray, Callable[[Any], FloatArray]]]:
    """List the numbers that models are asked for: their names, true values and functions."""
    trees = asked(problem)
    truth = probabilities(problem.model, trees)
    rows = words_of(trees)
    if problem.is_chain:
        return {
            "log p of sentences": (np.log(truth), lambda model: model.log_probabilities(rows)),
            "log p of last words": (
                log_last_words(HiddenMarkov.of_operators(problem.model), rows),
                lambda model: np.array([-model.surprisal(row, "nats").total[-1] for row in rows]),
            ),
        }
    sentences = [list(row) for row in dict.fromkeys(map(tuple, rows))]
    return {
        "p of trees": (truth, partial(probabilities, trees=trees)),
        "log p of sentences": (sums(problem.model, sentences), partial(sums, sentences=sentences)),
    }


def jackknife_of(problem: Problem, options: Spectral, n_trees: int, seed: int) -> Jackknife[Any]:
    """Draw a sample, and train a model on all of it, and without each of twenty groups."""
    trees = sample_trees(problem.model, n_trees, np.random.default_rng([7, seed])).trees
    if problem.is_chain:
        learn_rows = partial(LatentHMM.train, options=HMMOptions(options, choose_states=False, floor=_FLOOR))
        return Jackknife(learn_rows, words_of(trees), seed=seed)
    return Jackknife(partial(_estimate_part, trees, features_of(trees), options), range(n_trees), seed=seed)


def measure_coverage(
    problem: Problem, settings: str, n_trees: int, n_samples: int
) -> dict[str, dict[str, float | str]]:
    """Draw samples, and compare intervals with the truth: a row for each kind of numbers."""
    begun = time.process_time()
    options = Spectral(n_states=problem.n_states).with_settings(**SETTINGS[settings])
    asks = questions(problem)
    found: dict[str, list[Estimates]] = {name: [] for name in asks}
    for seed in range(n_samples):
        jackknife = jackknife_of(problem, options, n_trees, seed)
        with warnings.catch_warnings(action="ignore"):  # numbers that some groups lack are not sound
            for name, (_, ask) in asks.items():
                found[name].append(jackknife.estimate(ask))
    seconds = (time.process_time() - begun) / n_samples
    return {name: _coverage(truth, found[name]) | {"CPU s a sample": seconds} for name, (truth, _) in asks.items()}


def _coverage(truth: FloatArray, found: list[Estimates]) -> dict[str, float | str]:
    """Compute the shares of the intervals of several samples that contain the truth (K,)."""
    covered = np.array([(low <= truth) & (truth <= high) for low, high in (each.interval() for each in found)])
    sound = np.array([each.is_sound() for each in found])
    of_each = 100.0 * covered.mean(axis=0)
    often = sound.mean(axis=0) >= 0.5
    of_sound = 100.0 * (covered & sound).sum(axis=0)[often] / sound.sum(axis=0)[often]
    return {
        "coverage %": float(of_each.mean()),
        "rarer half": float(of_each[truth < np.median(truth)].mean()),
        "worst": float(of_each.min()),
        "sound": 100.0 * float(sound.mean()),
        "of sound %": 100.0 * float(covered[sound].mean()),
        "worst sound": float(of_sound.min(initial=100.0)),
    }


def _estimate_part(
    trees: SkeletalTrees, features: FeatureColumns, options: Spectral, numbers: list[int]
) -> ObservableOperators:
    """Estimate the operators of the trees with some numbers; the others have weight 0."""
    weight = np.bincount(numbers, minlength=len(trees.root)).astype(float)
    return estimate(Treebank.of([Shard.of(trees, features, weight)]), options).operators


def main() -> None:
    """Print a table."""
    parser = command_line(__doc__)
    parser.add_argument("table", choices=("errors", "ranks", "coverage"))
    parser.add_argument("--trees", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--seeds", type=int, default=1, help="the samples of each problem, of `errors` and `ranks`")
    parser.add_argument("--samples", type=int, default=20, help="the samples of each problem, of `coverage`")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    given = parser.parse_args()
    if given.table == "errors":
        print_errors(given.trees, range(given.seeds))
    elif given.table == "ranks":
        print_head(["trees"], RANKS_COLUMNS)
        for n_trees in given.trees:
            row = measure_ranks(n_trees, range(10, 10 + given.seeds))
            print_row([f"{n_trees:,}"], row, RANKS_COLUMNS, RANKS_COLUMNS[:1])
    else:
        print_head(["model", "settings", "trees", "numbers"], COVERAGE_COLUMNS)
        for n_trees, settings, number in product(given.trees, given.settings, CHOSEN):
            rows = measure_coverage(PROBLEMS[number], settings, n_trees, given.samples)
            for name, row in rows.items():
                names = [PROBLEMS[number].name, settings, f"{n_trees:,}", name]
                print_row(names, row, COVERAGE_COLUMNS, ("worst", "worst sound", "sound"))


if __name__ == "__main__":
    main()
