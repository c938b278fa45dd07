"""Check the forests that are handed to compiled code, which itself never checks whether an index lies inside an array.

A forest is checked whenever it enters a pass: its columns by type and length, then every index, in one call of compiled
loops over the edges.  These loops check an index before they use it, so that they are safe for any contents of the
columns.  Functions that read its items and roots only, with NumPy, check only these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spectral_latent._compiled import check_column, check_range, compiled, compiled_part, read_only
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest, IntArray

__all__ = ["check_forest", "check_roots", "check_rules", "check_weights"]

_COLUMNS = tuple(f"a forest's values of `{name}`" for name in Forest._fields)
_FAULTS = (
    "`start` must begin with 0, never fall, and end with the number of edges",
    "no root of a component is at or after it",
    "a root lies outside the items, or before the last item of the component before",
    "its component as a root is negative, or less than that of the root before",
    "a child must be -1 or an earlier item of its component",
    "it has a right child but no left one",
    "its symbol is neither -1 nor one of the operators'",
    "its rule is neither -1 nor one of the operators' rules of this arity",
    "its rule is one over other symbols than those of its items",
)
_BAD_EDGES, _ROOTLESS, _BAD_ROOT, _BAD_COMPONENT, _BAD_CHILD, _ONLY_RIGHT = range(6)
_BAD_SYMBOL, _BAD_RULE, _OTHER_SYMBOLS = range(6, len(_FAULTS))
_FINE = -1
# Read-only as those of operators, so that nothing is compiled once more.
_NO_PAIRS = read_only(np.empty((0, 2), dtype=np.int64))
_NO_TRIPLES = read_only(np.empty((0, 3), dtype=np.int64))
_Fault = tuple[int, int, int]  # number of the message or `_FINE`; item; edge, or -1 for the item itself


@compiled_part
def _last_roots(root: IntArray, component: IntArray, n_items: int) -> tuple[_Fault, IntArray]:
    """Find a fault of the roots; if there is none, also the last root (C',) of each component that has roots."""
    last = np.empty(len(root), dtype=np.int64)
    n_found = 0
    for k in range(len(root)):
        if not 0 <= component[k] <= n_items or (k > 0 and component[k] < component[k - 1]):
            return (_BAD_COMPONENT, root[k], -1), last
        # Roots of one component come in any order, but all after the component before.
        before = -1
        if k == 0 or component[k] > component[k - 1]:
            n_found += 1
            last[n_found - 1] = -1
        if n_found > 1:
            before = last[n_found - 2]
        if root[k] <= before or root[k] >= n_items:
            return (_BAD_ROOT, root[k], -1), last
        if root[k] > last[n_found - 1]:
            last[n_found - 1] = root[k]
    return (_FINE, -1, -1), last[:n_found]


@compiled
def _fault(
    forest: Forest, n_symbols: int, leaf_rules: IntArray, unary_rules: IntArray, binary_rules: IntArray, has_rules: bool
) -> _Fault:
    """Find a fault of the roots, the items or the edges; of symbols and rules only if there are rules.

    leaf_rules: (R0, 2), unary_rules: (R1, 2), binary_rules: (R2, 3).
    """
    symbol, start, rule, left, right = forest.symbol, forest.start, forest.rule, forest.left, forest.right
    n_items = len(symbol)
    n_edges = len(rule)
    fault, last = _last_roots(forest.root, forest.component, n_items)
    if fault[0] != _FINE:
        return fault
    if start[0] != 0 or start[n_items] != n_edges:
        return _BAD_EDGES, max(n_items - 1, 0), -1
    component = 0
    first = 0
    for item in range(n_items):
        # Behind the last root of a component the next one begins, with its first item here.
        if component < len(last) and item > last[component]:
            first = item
            component += 1
            if component == len(last):
                return _ROOTLESS, item, -1
        begin, end = start[item], start[item + 1]
        if end < begin or end > n_edges:
            return _BAD_EDGES, item, -1
        a = symbol[item]
        if has_rules and (a < -1 or a >= n_symbols):
            return _BAD_SYMBOL, item, -1
        for edge in range(begin, end):
            r, b, c = rule[edge], left[edge], right[edge]
            if b == -1 and c >= 0:
                return _ONLY_RIGHT, item, edge
            # A child is absent, or an item of this component before this item.
            left_fits = b == -1 or first <= b < item
            right_fits = c == -1 or first <= c < item
            if not (left_fits and right_fits):
                return _BAD_CHILD, item, edge
            if r == -1 or not has_rules:
                continue
            # As many rules as there are of the edge's arity; then the symbols that the rule is over.
            n_rules = len(leaf_rules) if b < 0 else len(unary_rules) if c < 0 else len(binary_rules)
            if r < 0 or r >= n_rules:
                return _BAD_RULE, item, edge
            if b < 0:
                fits = leaf_rules[r, 0] == a
            elif c < 0:
                fits = unary_rules[r, 0] == a and unary_rules[r, 1] == symbol[b]
            else:
                fits = binary_rules[r, 0] == a and binary_rules[r, 1] == symbol[b] and binary_rules[r, 2] == symbol[c]
            if not fits:
                return _OTHER_SYMBOLS, item, edge
    return _FINE, -1, -1


def _length(column: Any) -> int:
    """Return the length of a column; 0 for anything without a length."""
    return len(column) if isinstance(column, np.ndarray) and column.ndim else 0


def _raise(fault: _Fault, forest: Forest) -> None:
    """Raise the ValueError of a fault, if there is one."""
    number, item, edge = fault
    if number == _FINE:
        return
    where = f"item {item} of the forest"
    if edge >= 0:
        children = f"rule {forest.rule[edge]}, children {forest.left[edge]} and {forest.right[edge]}"
        where = f"edge {edge} of item {item} ({children})"
    elif number == _BAD_SYMBOL:
        where = f"item {item} of the forest (symbol {forest.symbol[item]})"
    raise ValueError(f"{where}: {_FAULTS[number]}")


def _check_columns(forest: Forest) -> None:
    """Check the columns of a forest by type and length.  Raises ValueError that names the column."""
    n_items, n_edges, n_roots = (_length(column) for column in (forest.symbol, forest.rule, forest.root))
    sizes = (n_items, n_items + 1, n_edges, n_edges, n_edges, n_roots, n_roots)
    for name, column, size in zip(_COLUMNS, forest, sizes, strict=True):
        check_column(name, column, (size,), np.int64)


def check_forest(forest: Forest) -> None:
    """Check that a forest is valid: children come before parents, edges and roots lie inside it, components are apart.

    forest: the forest to check.

    Raises ValueError that names item and edge.

    >>> check_forest(Forest(*map(np.array, ([0, 0], [0, 1, 2], [0, 0], [-1, 1], [-1, -1], [1], [0]))))
    Traceback (most recent call last):
    ValueError: edge 1 of item 1 (rule 0, children 1 and -1): a child must be -1 or an earlier item of its component
    """
    _check_columns(forest)
    _raise(_fault(forest, 0, _NO_PAIRS, _NO_PAIRS, _NO_TRIPLES, False), forest)


def check_rules(operators: ObservableOperators, forest: Forest) -> None:
    """Check that a forest is valid, and that its items and edges have symbols and rules of the operators.

    operators: the operators that the forest is to be weighed by.
    forest: the forest to check.

    Raises ValueError that names item and edge.
    """
    _check_columns(forest)
    rules = operators.rules
    _raise(_fault(forest, operators.n_symbols, rules.leaf, rules.unary, rules.binary, True), forest)


def check_roots(operators: ObservableOperators, forest: Forest) -> None:
    """Check that the roots of a forest are items with symbols of the operators, and that their components are in order.

    operators: the operators that the roots are to be weighed by.
    forest: the forest whose roots are checked.

    Raises ValueError that names the column.
    """
    symbol, root, component = forest.symbol, forest.root, forest.component
    check_column("a forest's values of `symbol`", symbol, (_length(symbol),), np.int64)
    check_column("a forest's values of `root`", root, (_length(root),), np.int64)
    check_column("a forest's values of `component`", component, (len(root),), np.int64)
    check_range("roots of a forest", root, 0, len(symbol))
    check_range("symbols of a forest's roots", symbol[root], -1, operators.n_symbols)
    check_range("components of a forest's roots", component, 0, len(symbol) + 1)
    if (component[1:] < component[:-1]).any():
        raise ValueError("components of a forest's roots must never fall")


def check_weights(forest: Forest, weights: FloatArray) -> None:
    """Check that a forest is valid and has at most one component, and that there is a weight for each edge.

    forest: the forest to check, of E edges.
    weights: (E,) a number for each edge.

    Raises ValueError that names item and edge.
    """
    check_forest(forest)
    if forest.n_components > 1:
        raise ValueError(f"the forest has {forest.n_components} components; derivations are found in one component")
    check_column("the edges' weights", weights, (forest.n_edges,), np.float64)
