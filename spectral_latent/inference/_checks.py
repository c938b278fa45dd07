"""Check the forests that are handed to compiled code, because compiled code never checks an index.

A forest that comes from outside is checked whenever it enters a pass; those that the library has built for itself enter
by functions named `trusted`.  First its columns are checked by type and length, and then every index,
in one call of compiled loops over the edges.  These loops check an index before they use it, so that they are safe for
any contents of the columns.  Functions of NumPy that only read items and roots check only these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spectral_latent._compiled import check_column, check_range, compiled, compiled_part, read_only
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest, IntArray

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
# Read-only, like the tables of operators, because functions would be compiled once more for other arrays.
_NO_PAIRS = read_only(np.empty((0, 2), dtype=np.int64))
_NO_TRIPLES = read_only(np.empty((0, 3), dtype=np.int64))
_Fault = tuple[int, int, int]  # number of the message or `_FINE`; item; edge, or -1 for the item itself


@compiled_part
def _next_roots(root: IntArray, component: IntArray, k: int, before: int, n_items: int) -> tuple[int, int, int]:
    """Find a fault of the roots (n,) of the component of root k.

    Returns the fault, the last root of the component, and the first root of the next component, or the faulty root."""
    if k == len(root):
        return _ROOTLESS, before, k
    number = component[k]
    last = before
    # Roots of one component are in any order, but all come after the roots of the component before.
    while k < len(root) and component[k] == number:
        if root[k] <= before or root[k] >= n_items:
            return _BAD_ROOT, last, k
        if root[k] > last:
            last = root[k]
        k += 1
    if number < 0 or number > n_items or (k < len(root) and component[k] < number):
        return _BAD_COMPONENT, last, k - 1
    return _FINE, last, k


@compiled
def _fault(
    forest: Forest, n_symbols: int, leaf_rules: IntArray, unary_rules: IntArray, binary_rules: IntArray, has_rules: bool
) -> _Fault:
    """Find a fault of roots, items or edges; if `has_rules`, also of symbols and rules: (R0, 2), (R1, 2), (R2, 3)."""
    symbol, start, rule, left, right, root, component = forest
    n_items = len(symbol)
    n_edges = len(rule)
    if start[0] != 0 or start[n_items] != n_edges:
        return _BAD_EDGES, n_items - 1 if n_items else 0, -1
    fault = _FINE
    first = 0  # the first item of the component
    last = -1  # the last root of the component
    k = 0  # the first root of the next component
    # A fault ends the search in one place only: each further place would add code that counts references to arrays.
    for item in range(n_items):
        edge = -1
        # After the last root of a component, this item is the first of the next component.
        if item > last and len(root) > 0:
            first = item
            fault, last, k = _next_roots(root, component, k, last, n_items)
        begin, end = start[item], start[item + 1]
        a = symbol[item]
        if fault == _FINE and (end < begin or end > n_edges):
            fault = _BAD_EDGES
        elif fault == _FINE and has_rules and (a < -1 or a >= n_symbols):
            fault = _BAD_SYMBOL
        while fault == _FINE and begin < end:
            edge = begin
            r = rule[edge]
            b = left[edge]
            c = right[edge]
            # Count the rules with the arity of the edge.
            n_rules = len(leaf_rules) if b < 0 else len(unary_rules) if c < 0 else len(binary_rules)
            if b == -1 and c >= 0:
                fault = _ONLY_RIGHT
            # A child must be absent, or an earlier item of this component.
            elif not ((b == -1 or first <= b < item) and (c == -1 or first <= c < item)):
                fault = _BAD_CHILD
            elif has_rules and (r < -1 or r >= n_rules):
                fault = _BAD_RULE
            # The items must have the symbols of the rule.
            elif not has_rules or r == -1:
                pass
            elif b < 0:
                if leaf_rules[r, 0] != a:
                    fault = _OTHER_SYMBOLS
            elif c < 0:
                if unary_rules[r, 0] != a or unary_rules[r, 1] != symbol[b]:
                    fault = _OTHER_SYMBOLS
            elif binary_rules[r, 0] != a or binary_rules[r, 1] != symbol[b] or binary_rules[r, 2] != symbol[c]:
                fault = _OTHER_SYMBOLS
            begin += 1
        if fault != _FINE:
            return fault, root[k] if _BAD_ROOT <= fault <= _BAD_COMPONENT else item, edge
    if k < len(root):  # a root after the last item
        return _BAD_ROOT, root[k], -1
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
    """Check that a forest is valid: children come before parents, indices are in range, components are separate.

    Raises ValueError that names item and edge.

    >>> check_forest(Forest(*map(np.array, ([0, 0], [0, 1, 2], [0, 0], [-1, 1], [-1, -1], [1], [0]))))
    Traceback (most recent call last):
    ValueError: edge 1 of item 1 (rule 0, children 1 and -1): a child must be -1 or an earlier item of its component
    """
    _check_columns(forest)
    _raise(_fault(forest, 0, _NO_PAIRS, _NO_PAIRS, _NO_TRIPLES, False), forest)


def check_rules(operators: ObservableOperators, forest: Forest) -> None:
    """Check that a forest is valid, and that its items and edges have symbols and rules of the operators."""
    _check_columns(forest)
    rules = operators.rules
    _raise(_fault(forest, operators.n_symbols, rules.leaf, rules.unary, rules.binary, True), forest)


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
