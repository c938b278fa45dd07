"""Operators with names, and the places where their symbols stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray

TOP = "at the top"
LEAST = 1e-4  # words, rules and places that are less likely are not listed


class NamedOperators(NamedTuple):
    """Operators with names for their symbols and terminals.

    operators: operators of S symbols over T terminals.
    symbols: (S,) the names of the symbols.
    terminals: (T,) the names of the terminals.
    coarse: operators with one state for each symbol, over the same rules; None if they are not known."""

    operators: ObservableOperators
    symbols: Sequence[str]
    terminals: Sequence[str]
    coarse: ObservableOperators | None = None

    def spectrum(self, symbol: str) -> list[float]:
        """List the singular values of a symbol that are not zero; empty if the model has kept none.

        >>> from spectral_latent.graphs import GraphModel
        >>> import networkx as nx
        >>> graph = nx.DiGraph()
        >>> graph.add_node(0, label="a", observation="x")
        >>> model = GraphModel.train([graph] * 100)
        >>> len(model.named_operators.spectrum("a"))
        1
        """
        values = self.operators.singular_values
        return [] if values is None else [sigma for sigma in values[self.symbols.index(symbol)].tolist() if sigma > 0]

    def rule(self, rule: Sequence[int]) -> str:
        """Write a rule of symbols.

        >>> from spectral_latent.operators import ObservableOperators
        >>> NamedOperators(ObservableOperators.__new__(ObservableOperators), ["S", "NP", "VP"], []).rule([0, 1, 2])
        'S → NP VP'
        """
        parent, *children = (self.symbols[symbol] for symbol in rule)
        return f"{parent} → {' '.join(children)}"


class Place(NamedTuple):
    """A place of a symbol in a rule.

    factors: (m_a, m_b) the factor from each dimension of the parent to each dimension of the symbol."""

    name: str
    parent: int
    factors: FloatArray


def _places_of(named: NamedOperators, below: FloatArray) -> dict[int, list[Place]]:
    """List the places of every symbol, given the sum (S, M) of the inside vectors of all trees below each."""
    operators = named.operators
    symbols = named.symbols
    states = operators.states
    places: dict[int, list[Place]] = defaultdict(list)
    for r, (a, b) in enumerate(operators.rules.unary.tolist()):
        name = f"{symbols[a]} → [{symbols[b]}]"
        places[b].append(Place(name, a, operators.unary[r, : states[a], : states[b]]))
    for tensor, (a, b, c) in zip(operators.binary, operators.rules.binary.tolist(), strict=True):
        to_left = tensor.apply_right(below[c, : states[c]])
        to_right = tensor.apply_left(below[b, : states[b]])
        places[b].append(Place(f"{symbols[a]} → [{symbols[b]}] {symbols[c]}", a, to_left))
        places[c].append(Place(f"{symbols[a]} → {symbols[b]} [{symbols[c]}]", a, to_right))
    return places


def _rows_by_symbol(rules: IntArray) -> dict[int, list[int]]:
    """List the rows of rules (R, k) by their parent, which is their first column."""
    rows: dict[int, list[int]] = defaultdict(list)
    for r, a in enumerate(rules[:, 0].tolist()):
        rows[a].append(r)
    return rows


def parts_of_symbols(
    named: NamedOperators, symbols: Sequence[int], below: FloatArray, above: FloatArray
) -> Iterator[tuple[int, list[tuple[list[str], FloatArray]]]]:
    """List the words, the rules and the places of symbols: n names, and numbers (n, m) for the m dimensions.

    below, above: (S, M) the sums of the vectors of all trees below and around each symbol: of latent states, 1 and the
    expected number of nodes, which give the probabilities of words and rules, and the numbers of nodes at places."""
    operators = named.operators
    places = _places_of(named, below)
    by_leaf = _rows_by_symbol(operators.rules.leaf)
    by_binary = _rows_by_symbol(operators.rules.binary)
    by_unary = _rows_by_symbol(operators.rules.unary)
    for a in symbols:
        m = int(operators.states[a])
        leaf = by_leaf[a]
        words = [named.terminals[x] for x in operators.rules.leaf[leaf, 1].tolist()]
        rules = []
        applied = []
        for r in by_binary[a]:
            rule = operators.rules.binary[r].tolist()
            left, right = (below[child, : operators.states[child]] for child in rule[1:])
            rules.append(named.rule(rule))
            applied.append(operators.binary[r].apply_right(right) @ left)
        for r in by_unary[a]:
            rule = operators.rules.unary[r].tolist()
            rules.append(named.rule(rule))
            applied.append(operators.unary[r, :m] @ below[rule[1]])
        from_parents = [above[place.parent, : len(place.factors)] @ place.factors for place in places[a]]
        yield (
            a,
            [
                (words, operators.leaf[leaf, :m]),
                (rules, np.reshape(applied, (-1, m))),
                ([*(place.name for place in places[a]), TOP], np.array([*from_parents, operators.root[a, :m]])),
            ],
        )
