"""Operators with names, and the places where their symbols stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

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


def places_of(named: NamedOperators, below: FloatArray) -> dict[int, list[Place]]:
    """List the places of every symbol.

    below: (S, M) the sum of the inside vectors of all trees below each symbol, which is 1 for each latent state."""
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


def rows_by_symbol(rules: IntArray) -> dict[int, list[int]]:
    """List the rows of rules by their parent.

    rules: (R, k) rules, whose first column is the parent."""
    rows: dict[int, list[int]] = defaultdict(list)
    for r, a in enumerate(rules[:, 0].tolist()):
        rows[a].append(r)
    return rows
