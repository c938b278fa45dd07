"""Compute in a plain, slow and independent way what the library computes, and draw random models and trees.

A tree is a nested tuple: (symbol, terminal) at a leaf, (symbol, child) or (symbol, left, right) above.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from spectral_latent.estimation import FeatureColumns, Moments, Shard, inside_templates, outside_templates
from spectral_latent.inference import Derivation, SignedLog, n_best_derivations
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.operators.operators import RuleTable
from spectral_latent.trees import Forest, Rules, SkeletalTrees

Tree = tuple[Any, ...]
Rule = tuple[int, ...]
Item = tuple[int, int, int]  # symbol, first word, word after the last

# Trees


def best_derivation(forest: Forest, weights: np.ndarray) -> Derivation | None:
    """Find the derivation of a forest of one component with the largest sum of edge weights; None if there is none."""
    return next(iter(n_best_derivations(forest, weights, 1)), None)


def children(tree: Tree) -> tuple[Tree, ...]:
    return () if isinstance(tree[1], int) else tree[1:]


def post_order(tree: Tree) -> Iterator[Tree]:
    for child in children(tree):
        yield from post_order(child)
    yield tree


def kind_and_rule(tree: Tree) -> tuple[str, Rule]:
    """Return `leaf`, `unary` or `binary`, and the rule at the top of the tree."""
    below = children(tree)
    if not below:
        return "leaf", tree
    return ("unary", "binary")[len(below) - 1], (tree[0], *(child[0] for child in below))


def leaves(tree: Tree) -> list[int]:
    below = children(tree)
    return [tree[1]] if not below else [leaf for child in below for leaf in leaves(child)]


def spans(tree: Tree) -> list[Item]:
    """List the item of every node, in post-order."""
    items: list[Item] = []

    def add(node: Tree, begin: int) -> int:
        """Append the items of a subtree, and return the place after its last word."""
        end = begin
        for child in children(node):
            end = add(child, end)
        end = max(end, begin + 1)  # a leaf has one word
        items.append((node[0], begin, end))
        return end

    add(tree, 0)
    return items


def columns(trees: Iterable[Tree]) -> SkeletalTrees:
    symbol: list[int] = []
    left: list[int] = []
    right: list[int] = []
    terminal: list[int] = []
    root: list[int] = []

    def add(tree: Tree) -> int:
        below = [add(child) for child in children(tree)]
        symbol.append(tree[0])
        left.append(below[0] if below else -1)
        right.append(below[1] if len(below) > 1 else -1)
        terminal.append(-1 if below else tree[1])
        return len(symbol) - 1

    for tree in trees:
        root.append(add(tree))
    return SkeletalTrees.of(symbol, left=left, right=right, terminal=terminal, root=root)


def nested(trees: SkeletalTrees) -> list[Tree]:
    """Convert columns to trees: the inverse of `columns`."""

    def build(node: int) -> Tree:
        below = [int(child) for child in (trees.left[node], trees.right[node]) if child >= 0]
        if not below:
            return int(trees.symbol[node]), int(trees.terminal[node])
        return int(trees.symbol[node]), *(build(child) for child in below)

    return [build(int(node)) for node in trees.root]


def rules_of(trees: Iterable[Tree]) -> dict[str, list[Rule]]:
    """List the distinct rules of trees, each kind sorted."""
    found: dict[str, set[Rule]] = {"leaf": set(), "unary": set(), "binary": set()}
    for tree in trees:
        for node in post_order(tree):
            kind, rule = kind_and_rule(node)
            found[kind].add(rule)
    return {kind: sorted(rules) for kind, rules in found.items()}


def shard_of(trees: SkeletalTrees, weight: Sequence[float] | None = None) -> Shard:
    """Make a shard of trees with the features of the core."""
    features = FeatureColumns.of(inside_templates(trees), outside_templates(trees))
    return Shard.of(trees, features, None if weight is None else np.array(weight))


def partition(values: Iterable[Hashable]) -> tuple[int, ...]:
    """Number values in the order of their coming: equal for columns that tell the same nodes apart."""
    first: dict[Hashable, int] = {}
    return tuple(first.setdefault(value, len(first)) for value in values)


def tree_strategy(n_symbols: int = 3, n_terminals: int = 3, max_leaves: int = 5) -> st.SearchStrategy[Tree]:
    symbols = st.integers(0, n_symbols - 1)
    return st.recursive(
        st.tuples(symbols, st.integers(0, n_terminals - 1)),
        lambda below: st.one_of(st.tuples(symbols, below), st.tuples(symbols, below, below)),
        max_leaves=max_leaves,
    )


# Models: an L-PCFG is π, t, q and, for unary rules, u; its numbers need not be probabilities


@dataclass(frozen=True)
class Lpcfg:
    """The numbers of an L-PCFG.

    states: the number of states m_a of each symbol a.
    pi: pi[a], (m_a,), the number of each state at the root.
    q: q[a, x], (m_a,), the numbers of leaf rules.
    u: u[a, b], (m_a, m_b), the numbers of unary rules.
    t: t[a, b, c], (m_a, m_b, m_c), the numbers of binary rules.
    factors: for some rules, three factors (n, m) of n rank-one terms whose sum is t.
    """

    states: list[int]
    pi: list[np.ndarray]
    q: dict[Rule, np.ndarray]
    u: dict[Rule, np.ndarray]
    t: dict[Rule, np.ndarray]
    factors: dict[Rule, tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=dict)

    def of(self, kind: str) -> dict[Rule, np.ndarray]:
        return {"leaf": self.q, "unary": self.u, "binary": self.t}[kind]

    def operators(self, *, probabilities: bool = False) -> ObservableOperators:
        """Convert the numbers to operators; rules that have factors become factors."""
        m = max(self.states)
        root, leaf = np.zeros((len(self.states), m)), np.zeros((len(self.q), m))
        unary = np.zeros((len(self.u), m, m))
        for a, vector in enumerate(self.pi):
            root[a, : len(vector)] = vector
        for r, rule in enumerate(sorted(self.q)):
            leaf[r, : len(self.q[rule])] = self.q[rule]
        for r, rule in enumerate(sorted(self.u)):
            rows, cols = self.u[rule].shape
            unary[r, :rows, :cols] = self.u[rule]
        binary = []
        for rule in sorted(self.t):
            if rule in self.factors:
                binary.append(Tensor(*self.factors[rule]))
            else:
                empty = (np.empty((0, size)) for size in self.t[rule].shape)
                binary.append(Tensor(*empty, dense=self.t[rule]))
        return ObservableOperators(self.rules(), np.array(self.states), root, leaf, unary, binary, probabilities)

    def rules(self) -> Rules:
        return Rules(*(np.array(sorted(self.of(kind)), dtype=np.int64).reshape(-1, width) for kind, width in KINDS))


KINDS = (("leaf", 2), ("unary", 2), ("binary", 3))
FACTORS = ("first", "second", "third")
Numbers = dict[tuple[str, Rule], np.ndarray]


def numbers_of(table: RuleTable) -> Numbers:
    """List the numbers of a table by root symbol or rule, padded as in the table; tensors are multiplied out."""
    kinds = {
        "leaf": table.leaf,
        "unary": table.unary,
        "binary": [tensor.to_dense() for tensor in table.binary],
    }
    found: Numbers = {("root", (a,)): row for a, row in enumerate(table.root)}
    for kind, arrays in kinds.items():
        rules = map(tuple, getattr(table.rules, kind).tolist())
        found |= {(kind, rule): array for rule, array in zip(rules, arrays, strict=True)}
    return found


def numbers_by_factor(table: RuleTable) -> Numbers:
    """List the numbers of a table without padding; tensors in factors have one entry for each factor."""
    found = {
        (kind, rule): array[tuple(slice(table.states[a]) for a in (rule[:1] if kind in ("root", "leaf") else rule))]
        for (kind, rule), array in numbers_of(table).items()
    }
    for rule, tensor in zip(map(tuple, table.rules.binary.tolist()), table.binary, strict=True):
        if tensor.dense is None:
            del found["binary", rule]
            factors = (tensor.first, tensor.second, tensor.third)
            found |= {(name, rule): part for name, part in zip(FACTORS, factors, strict=True)}
    return found


def same_numbers(found: Numbers, wanted: Numbers, **tolerance: float) -> None:
    """Assert that two tables hold the same rules with the same numbers."""
    assert found.keys() == wanted.keys()
    for key, array in wanted.items():
        np.testing.assert_allclose(found[key], array, err_msg=str(key), **tolerance)


def random_numbers(
    rng: np.random.Generator, states: Sequence[int], rules: dict[str, list[Rule]], *, factored: bool = True
) -> Lpcfg:
    """Draw numbers of either sign; with `factored`, every second tensor is a sum of one or two rank-one terms."""
    q = {rule: rng.normal(size=states[rule[0]]) for rule in rules["leaf"]}
    u = {rule: rng.normal(size=[states[a] for a in rule]) for rule in rules["unary"]}
    t, factors = {}, {}
    for number, rule in enumerate(rules["binary"]):
        if factored and number % 2:
            parts = tuple(rng.normal(size=(1 + number % 4 // 3, states[a])) for a in rule)
            factors[rule], t[rule] = parts, np.einsum("na,nb,nc->abc", *parts)
        else:
            t[rule] = rng.normal(size=[states[a] for a in rule])
    return Lpcfg(list(states), [rng.normal(size=m) for m in states], q, u, t, factors)


def random_lpcfg(rng: np.random.Generator, states: Sequence[int], rules: dict[str, list[Rule]]) -> Lpcfg:
    """Draw a proper L-PCFG: Σ_(rules and child states) = 1 for every symbol and state, Σ π = 1."""
    shapes = {kind: (lambda rule: [states[a] for a in rule]) for kind in ("unary", "binary")}
    shapes["leaf"] = lambda rule: [states[rule[0]]]
    drawn = {kind: {rule: rng.exponential(size=shapes[kind](rule)) for rule in table} for kind, table in rules.items()}
    pi = [rng.exponential(size=m) for m in states]
    return proper(Lpcfg(list(states), pi, drawn["leaf"], drawn["unary"], drawn["binary"]))


def proper(model: Lpcfg) -> Lpcfg:
    """Scale the numbers of a model in place, so that the roots and the rules of every state sum to one."""
    for a, m in enumerate(model.states):
        mine = [array for kind, _ in KINDS for rule, array in model.of(kind).items() if rule[0] == a]
        total = sum((array.reshape(m, -1).sum(axis=1) for array in mine), start=np.zeros(m))
        for array in mine:
            array /= total.reshape(-1, *([1] * (array.ndim - 1)))
    whole = sum(float(vector.sum()) for vector in model.pi)
    for vector in model.pi:
        vector /= whole
    return model


def all_rules(n_symbols: int, n_terminals: int, *, unary: Iterable[Rule] = ()) -> dict[str, list[Rule]]:
    """List every binary rule and leaf rule over the symbols, and the given unary rules."""
    symbols = range(n_symbols)
    return {
        "leaf": list(itertools.product(symbols, range(n_terminals))),
        "unary": sorted(unary),
        "binary": list(itertools.product(symbols, symbols, symbols)),
    }


# Moments


def random_projections(
    trees: SkeletalTrees, states: Sequence[int], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw y and z (N, M), which are zero beyond the states of each node's symbol."""
    has_state = np.arange(max(states)) < np.array(states)[trees.symbol][:, None]
    y, z = rng.normal(size=(2, *has_state.shape)) * has_state
    return y, z


def moments_by_loops(
    trees: SkeletalTrees, rules: Rules, states: Sequence[int], y: np.ndarray, z: np.ndarray
) -> Moments:
    """Compute the moments of trees node by node; those with other rules are left out of the sums of rules."""
    size = y.shape[1] + 1
    root, inside, outside = np.zeros((3, len(states), size))
    leaf = np.zeros((len(rules.leaf), size))
    unary = np.zeros((len(rules.unary), size, size))
    binary = [np.zeros([states[a] + 1 for a in rule]) for rule in rules.binary.tolist()]
    places = {kind: {tuple(rule): r for r, rule in enumerate(getattr(rules, kind).tolist())} for kind, _ in KINDS}
    roots = set(trees.root.tolist())
    for node in range(trees.n_nodes):
        a, left, right = (int(column[node]) for column in (trees.symbol, trees.left, trees.right))
        own = np.append(1.0, z[node])
        outside[a] += own
        inside[a] += np.append(1.0, y[node])
        if node in roots:
            root[a] += np.append(1.0, y[node])
        if left < 0:
            if (rule := (a, int(trees.terminal[node]))) in places["leaf"]:
                leaf[places["leaf"][rule]] += own
        elif right < 0:
            if (rule := (a, int(trees.symbol[left]))) in places["unary"]:
                unary[places["unary"][rule]] += np.outer(own, np.append(1.0, y[left]))
        else:
            b, c = int(trees.symbol[left]), int(trees.symbol[right])
            if (a, b, c) in places["binary"]:
                vectors = [np.append(1.0, row[: states[s]]) for row, s in ((z[node], a), (y[left], b), (y[right], c))]
                binary[places["binary"][a, b, c]] += np.einsum("a,b,c->abc", *vectors)
    tensors = [Tensor.of_dense(full) for full in binary]
    return Moments(rules, np.array(states), root, leaf, unary, tensors, outside=outside, inside=inside)


def same_moments(found: Moments, wanted: Moments, **tolerance: float) -> None:
    same_numbers(numbers_of(found), numbers_of(wanted), **tolerance)
    np.testing.assert_allclose(found.outside, wanted.outside, **tolerance)
    np.testing.assert_allclose(found.inside, wanted.inside, **tolerance)
    assert found.states.tolist() == wanted.states.tolist()


# Probabilities


class Joint(NamedTuple):
    """p(tree, h) for every choice h of states.

    p: the probabilities, with an axis for the state of each node.
    uses: the table, the rule and the axes of each number in the product.

    The number of the term of a tensor in factors is one more state, and the factors are three tables.
    """

    p: np.ndarray
    uses: list[tuple[str, Rule, list[int]]]


def joint(model: Lpcfg, tree: Tree) -> Joint:
    """Multiply all numbers that a tree uses, for all choices of states."""
    (tree,) = nested(columns([tree]))  # nodes that are equal are now different objects
    nodes = list(post_order(tree))
    number = {id(node): i for i, node in enumerate(nodes)}
    axes = len(nodes)
    uses: list[tuple[str, Rule, list[int]]] = [("root", (tree[0],), [axes - 1])]
    arrays = [model.pi[tree[0]]]
    for node in nodes:
        kind, rule = kind_and_rule(node)
        at = [number[id(node)], *(number[id(child)] for child in children(node))]
        if kind == "binary" and rule in model.factors:
            arrays += model.factors[rule]
            uses += [(table, rule, [axes, i]) for table, i in zip(FACTORS, at, strict=True)]
            axes += 1
        else:
            arrays.append(model.of(kind)[rule])
            uses.append((kind, rule, at))
    operands = [part for array, (_, _, at) in zip(arrays, uses, strict=True) for part in (array, at)]
    return Joint(np.einsum(*operands, list(range(axes))), uses)


def plain(weight: SignedLog) -> np.ndarray:
    """Convert signs and logarithms to plain numbers."""
    return np.asarray(weight.sign * np.exp(weight.log))


def mixed(state: int, value: int) -> int:
    """Mix a value into a hash of 64 bits."""
    product = (state ^ value) * 0x9E3779B97F4A7C15 % 2**64
    return product ^ product >> 29


def by_enumeration(model: Lpcfg, tree: Tree) -> float:
    """Compute p(r_1 ... r_N) = Σ_h p(r_1 ... r_N, h_1 ... h_N), equation 2."""
    return float(joint(model, tree).p.sum())


def counts_by_enumeration(model: Lpcfg, components: Iterable[Sequence[Tree]]) -> tuple[Numbers, float]:
    """Compute expected counts of roots and rules with their states, and Σ log Z, from all derivations and states.

    components: the derivations of each component, whose probabilities sum to Z.
    """
    counts: Numbers = {("root", (a,)): np.zeros(m) for a, m in enumerate(model.states)}
    for kind, _ in KINDS:
        counts |= {(kind, rule): np.zeros(array.shape) for rule, array in model.of(kind).items()}
    for rule, factors in model.factors.items():
        del counts["binary", rule]
        counts |= {(table, rule): np.zeros(factor.shape) for table, factor in zip(FACTORS, factors, strict=True)}
    log_likelihood = 0.0
    for derived in components:
        several = [joint(model, tree) for tree in derived]
        total = sum(float(each.p.sum()) for each in several)
        log_likelihood += math.log(total)
        for p, uses in several:
            for table, rule, at in uses:
                marginal = np.einsum(p, list(range(p.ndim)), at)
                counts[table, rule] += marginal / total
    return counts, log_likelihood


def figure_2(model: Lpcfg, tree: Tree) -> float:
    """Compute the conventional inside algorithm on an s-tree; a unary rule is a binary rule without a right child."""

    def b(node: Tree) -> list[float]:
        kind, rule = kind_and_rule(node)
        if kind == "leaf":
            return [float(value) for value in model.q[rule]]
        below = [b(child) for child in children(node)]
        array = model.of(kind)[rule]
        return [
            sum(
                float(array[(h, *states)]) * math.prod(vector[s] for vector, s in zip(below, states, strict=True))
                for states in itertools.product(*(range(len(vector)) for vector in below))
            )
            for h in range(model.states[node[0]])
        ]

    return sum(value * float(p) for value, p in zip(b(tree), model.pi[tree[0]], strict=True))


def figure_4(model: Lpcfg, tree: Tree) -> float:
    """Compute the tensor form of the inside algorithm on dense tensors."""

    def f(node: Tree) -> np.ndarray:
        kind, rule = kind_and_rule(node)
        if kind == "leaf":
            return model.q[rule]
        below = [f(child) for child in children(node)]
        return np.einsum("ijk,j,k->i" if kind == "binary" else "ij,j->i", model.of(kind)[rule], *below)

    return float(f(tree) @ model.pi[tree[0]])


def derivations(model: Lpcfg, sentence: Sequence[int]) -> list[Tree]:
    """List all trees over a sentence of terminals; unary rules must not form a cycle."""

    def over(a: int, i: int, j: int) -> Iterator[Tree]:
        if j == i + 1 and (a, sentence[i]) in model.q:
            yield a, sentence[i]
        for parent, child in model.u:
            if parent == a:
                yield from ((a, below) for below in over(child, i, j))
        for parent, b, c in model.t:
            if parent == a:
                for k in range(i + 1, j):
                    yield from ((a, *pair) for pair in itertools.product(over(b, i, k), over(c, k, j)))

    return [tree for a in range(len(model.states)) for tree in over(a, 0, len(sentence))]


# Forests


@dataclass(frozen=True)
class Parsed:
    """The full CKY forest of some sentences, and the sentence and the span of each item."""

    forest: Forest
    items: list[tuple[int, Item]]  # the number of the sentence, and the symbol and span


def cky_forest(model: Lpcfg, sentences: Sequence[Sequence[int]], *, rng: np.random.Generator | None = None) -> Parsed:
    """Build a forest of all items and edges, with a component for each sentence, which must have a tree.

    With `rng`, edges with the rule -1 are added at random, for every arity.
    """
    symbol: list[int] = []
    start = [0]
    edges: list[tuple[int, int, int]] = []
    root: list[int] = []
    component: list[int] = []
    items: list[tuple[int, Item]] = []
    tables = {kind: sorted(model.of(kind)) for kind, _ in KINDS}
    order = _unary_order(tables["unary"])
    for number, sentence in enumerate(sentences):
        n = len(sentence)
        known: dict[Item, int] = {}
        for i, j in sorted(itertools.combinations(range(n + 1), 2), key=lambda span: (span[1] - span[0], span)):
            for a in sorted(range(len(model.states)), key=lambda a: order.get(a, 0)):
                mine: list[tuple[int, int, int]] = []
                if j == i + 1:
                    mine += [(r, -1, -1) for r, rule in enumerate(tables["leaf"]) if rule == (a, sentence[i])]
                for r, (parent, b) in enumerate(tables["unary"]):
                    if parent == a and (b, i, j) in known:
                        mine.append((r, known[b, i, j], -1))
                for r, (parent, b, c) in enumerate(tables["binary"]):
                    if parent == a:
                        pairs = [((b, i, k), (c, k, j)) for k in range(i + 1, j)]
                        mine += [(r, known[y], known[z]) for y, z in pairs if y in known and z in known]
                if not mine:
                    continue
                if rng is not None:
                    false = [(-1, *rest) for _, *rest in mine]
                    for edge in false:
                        mine.insert(int(rng.integers(len(mine) + 1)), edge)
                known[a, i, j] = len(symbol)
                items.append((number, (a, i, j)))
                symbol.append(a)
                edges += mine
                start.append(len(edges))
                if (i, j) == (0, n):
                    root.append(known[a, i, j])
                    component.append(number)
    rule, left, right = (np.array(column, dtype=np.int64) for column in zip(*edges, strict=True))
    first = (np.array(column, dtype=np.int64) for column in (symbol, start))
    return Parsed(Forest(*first, rule, left, right, np.array(root), np.array(component)), items)


def _unary_order(rules: Iterable[Rule]) -> dict[int, int]:
    """Number the symbols so that the child of every unary rule has a lower number than the parent."""
    rules = list(rules)
    height: dict[int, int] = {}
    for _ in range(len(rules) + 1):
        height = {a: 1 + max((height.get(c, 0) for b, c in rules if b == a), default=-1) for a, _ in rules}
    return height


def dense_of(operators: ObservableOperators) -> ObservableOperators:
    """Multiply out all factored tensors."""
    return replace(operators, binary=Tensors.of(Tensor.of_dense(tensor.to_dense()) for tensor in operators.binary))


def unscaled(vectors: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Convert scaled vectors to plain numbers."""
    return np.ldexp(vectors, np.maximum(exponents, -5000).astype(np.intc)[:, None])


# Damage

FAR = [-(2**62), -(10**9), -7, -2, -1, 0, 1, 2, 3, 4, 5, 7, 11, 19, 10**6, 10**9, 2**62]


@st.composite
def spoilt(draw: st.DrawFn, columns: dict[str, np.ndarray], near: dict[str, list[int]] | None = None) -> dict[str, Any]:
    """Spoil up to two columns: change a number, cut the column, change its type, or add an axis.

    near: the only numbers to which columns of some names change.
    """
    found: dict[str, Any] = dict(columns)
    for name in draw(st.lists(st.sampled_from(list(columns)), max_size=2)):
        column = np.array(found[name])
        kind = draw(st.sampled_from(["number"] * 8 + ["shorter", "longer", "int32", "float", "matrix", "empty"]))
        if kind == "number" and column.size:
            own = column.ravel().tolist()
            far = (near or {}).get(name, FAR + own) if column.dtype == np.int64 else own
            column.flat[draw(st.integers(0, column.size - 1))] = draw(st.sampled_from(far))
        change: dict[str, Callable[[np.ndarray], np.ndarray]] = {
            "shorter": lambda column: column[:-1],
            "longer": lambda column: np.append(column, 0),
            "int32": lambda column: column.astype(np.int32),
            "float": lambda column: column.astype(float),
            "matrix": lambda column: column[None],
            "empty": lambda column: column[:0],
        }
        found[name] = change[kind](column) if kind in change else column
    return found


def change_basis(operators: ObservableOperators, bases: Sequence[np.ndarray]) -> ObservableOperators:
    """Express a model in the basis G^a, an invertible (m_a, m_a) matrix per symbol (long paper, Theorem 1).

    c¹ → G c¹, c∞ → c∞ G⁻¹, C^{a→b c}(y, z) → C(y G^b, z G^c) (G^a)⁻¹.

    Raises numpy.linalg.LinAlgError if a matrix is singular.
    """
    inverses = [np.linalg.inv(basis) for basis in bases]
    root, leaf, unary = operators.root.copy(), operators.leaf.copy(), operators.unary.copy()
    for a, m in enumerate(operators.states):
        root[a, :m] = bases[a] @ root[a, :m]
    for r, (a, _) in enumerate(operators.rules.leaf):
        m = operators.states[a]
        leaf[r, :m] = leaf[r, :m] @ inverses[a]
    for r, (a, b) in enumerate(operators.rules.unary):
        m, k = operators.states[[a, b]]
        unary[r, :m, :k] = inverses[a].T @ unary[r, :m, :k] @ bases[b].T
    binary = Tensors.of(
        tensor.transform((inverses[a].T, bases[b], bases[c]))
        for tensor, (a, b, c) in zip(operators.binary, operators.rules.binary, strict=True)
    )
    return ObservableOperators(operators.rules, operators.states, root, leaf, unary, binary)
