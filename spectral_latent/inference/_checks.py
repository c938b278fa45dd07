"""Check the forests that are handed to compiled code, because compiled code never checks an index.

A forest that comes from outside is checked whenever it enters a pass; those that the library has built for itself enter
by functions named `trusted`.  First its columns are checked by type and length, then roots, items and edges, each
before it is used as an index.  Functions of NumPy that only read items and roots check only these.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from spectral_latent._compiled import check_column, check_range
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray

_COLUMNS = tuple(f"a forest's values of `{name}`" for name in Forest._fields)


def _length(column: Any) -> int:
    """Return the length of a column; 0 for anything without a length."""
    return len(column) if isinstance(column, np.ndarray) and column.ndim else 0


def _check(are_sound: BoolArray, where: Callable[[int], str], fault: str) -> None:
    """Raise ValueError, with the place of the first of n numbers (n,) that is not sound, if there is one."""
    if not are_sound.all():
        raise ValueError(f"{where(int(np.argmin(are_sound)))}: {fault}")


def _first_items(forest: Forest) -> IntArray:
    """Check the roots of a forest, and find the first item of the component of each item, (I,)."""
    root, component = forest.root, forest.component
    n_items = len(forest.symbol)
    if not len(root):
        return np.zeros(n_items, dtype=np.int64)

    def where(k: int) -> str:
        """Name a root."""
        return f"item {root[k]} of the forest"

    never_falls = np.append(True, component[1:] >= component[:-1])
    fault = "its component as a root is negative, or less than that of the root before"
    _check(never_falls & (component >= 0) & (component <= n_items), where, fault)
    # Roots of one component are in any order, but all come after the roots of the component before.
    opens = np.append(True, component[1:] > component[:-1])
    last = np.maximum.reduceat(root, np.flatnonzero(opens))
    before = np.append(-1, last[:-1])
    fault = "a root lies outside the items, or before the last item of the component before"
    _check((root > before[np.cumsum(opens) - 1]) & (root < n_items), where, fault)
    items = np.arange(n_items)
    _check(items <= last[-1], "item {} of the forest".format, "no root of a component is at or after it")
    return np.asarray(before[np.searchsorted(last, items)] + 1)


def _edge(forest: Forest, edge: int) -> str:
    """Name an edge."""
    children = f"rule {forest.rule[edge]}, children {forest.left[edge]} and {forest.right[edge]}"
    return f"edge {edge} of item {forest.item[edge]} ({children})"


def check_forest(forest: Forest) -> None:
    """Check that a forest is valid: children come before parents, indices are in range, components are separate.

    Raises ValueError that names item and edge.

    >>> check_forest(Forest(*map(np.array, ([0, 0], [0, 1, 2], [0, 0], [-1, 1], [-1, -1], [1], [0]))))
    Traceback (most recent call last):
    ValueError: edge 1 of item 1 (rule 0, children 1 and -1): a child must be -1 or an earlier item of its component
    """
    n_items, n_edges, n_roots = (_length(column) for column in (forest.symbol, forest.rule, forest.root))
    sizes = (n_items, n_items + 1, n_edges, n_edges, n_edges, n_roots, n_roots)
    for name, column, size in zip(_COLUMNS, forest, sizes, strict=True):
        check_column(name, column, (size,), np.int64)
    start, left, right = forest.start, forest.left, forest.right
    is_whole = start[0] == 0 and start[-1] == len(left)
    never_falls = (start[:-1] <= start[1:]) & (start[1:] <= len(left))
    fault = "`start` must begin with 0, never fall, and end with the number of edges"
    _check(np.append(never_falls, is_whole), "item {} of the forest".format, fault)
    item = forest.item
    first = _first_items(forest)[item]
    are_items = ((child == -1) | ((first <= child) & (child < item)) for child in (left, right))
    fault = "a child must be -1 or an earlier item of its component"
    _check(np.logical_and(*are_items), lambda edge: _edge(forest, edge), fault)
    _check((left >= 0) | (right < 0), lambda edge: _edge(forest, edge), "it has a right child but no left one")


def check_rules(operators: ObservableOperators, forest: Forest) -> None:
    """Check that a forest is valid, and that its items and edges have symbols and rules of the operators."""
    check_forest(forest)
    symbol, _, rule, left, right, _, _ = forest
    fault = "its symbol is neither -1 nor one of the operators'"
    are_symbols = (symbol >= -1) & (symbol < operators.n_symbols)
    _check(are_symbols, lambda item: f"item {item} of the forest (symbol {symbol[item]})", fault)
    tables = (operators.rules.leaf[:, :1], operators.rules.unary, operators.rules.binary)
    n_children = (left >= 0).astype(np.int64) + (right >= 0)
    for arity, rows in enumerate(tables):
        edges = np.flatnonzero(n_children == arity)
        fault = "its rule is neither -1 nor one of the operators' rules of this arity"
        of_edges = rule[edges]
        _check((of_edges >= -1) & (of_edges < len(rows)), lambda k: _edge(forest, edges[k]), fault)  # noqa: B023
        edges = edges[of_edges >= 0]
        # The items must have the symbols of the rule.
        items = (forest.item, left, right)[: arity + 1]
        are_equal = [rows[rule[edges], at] == symbol[each[edges]] for at, each in enumerate(items)]
        fault = "its rule is one over other symbols than those of its items"
        _check(np.logical_and.reduce(are_equal), lambda k: _edge(forest, edges[k]), fault)  # noqa: B023


def check_roots(operators: ObservableOperators, forest: Forest) -> None:
    """Check that the roots of a forest are items with symbols of the operators, and their components in order."""
    symbol = forest.symbol
    root = forest.root
    component = forest.component
    check_column("a forest's values of `symbol`", symbol, (_length(symbol),), np.int64)
    check_column("a forest's values of `root`", root, (_length(root),), np.int64)
    check_column("a forest's values of `component`", component, (len(root),), np.int64)
    check_range("roots of a forest", root, 0, len(symbol))
    check_range("symbols of a forest's roots", symbol[root], -1, operators.n_symbols)
    # An item may be the root of several components, because equal trees share items.
    check_range("components of a forest's roots", component, 0, max(len(symbol), len(root)) + 1)
    if (component[1:] < component[:-1]).any():
        raise ValueError("components of a forest's roots must never fall")


def check_weights(forest: Forest, weights: FloatArray) -> None:
    """Check that a forest is valid, and that there is a weight for each edge.

    weights: (E,) the weight of each edge."""
    check_forest(forest)
    check_column("the edges' weights", weights, (forest.n_edges,), np.float64)
