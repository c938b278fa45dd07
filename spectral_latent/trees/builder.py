"""Build the columns of s-trees node by node, and those of forests item by item."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

import numpy as np

from spectral_latent.trees.forest import Forest
from spectral_latent.trees.skeletal import SkeletalTrees
from spectral_latent.trees.symbols import Rules, Vocabulary

__all__ = ["ForestBuilder", "TreeBuilder"]

SymbolName = TypeVar("SymbolName", bound=Hashable)
TerminalName = TypeVar("TerminalName", bound=Hashable)
Note = TypeVar("Note")


class TreeBuilder(Generic[SymbolName, TerminalName, Note]):
    """Append nodes of s-trees in post-order, by the names of their symbols and terminals, with a note on each node.

    symbols: the numbers of the symbols' names; new names are entered.
    terminals: the numbers of the terminals' names; new names are entered.
    root: the root of every finished tree; append to it when a tree is finished.

    >>> builder = TreeBuilder[str, str, bool]()
    >>> left, right = (builder.add("A", -1, -1, name, note=False) for name in ("x", "y"))
    >>> builder.root.append(builder.add("S", left, right, note=True))
    >>> trees, notes = builder.trees()
    >>> trees.symbol, trees.terminal, notes, builder.symbols.names
    (array([0, 0, 1]), array([ 0,  1, -1]), [False, False, True], ['A', 'S'])
    """

    def __init__(
        self, symbols: Vocabulary[SymbolName] | None = None, terminals: Vocabulary[TerminalName] | None = None
    ) -> None:
        self.symbols: Vocabulary[SymbolName] = Vocabulary() if symbols is None else symbols
        self.terminals: Vocabulary[TerminalName] = Vocabulary() if terminals is None else terminals
        self.notes: list[Note] = []
        self.symbol, self.left, self.right, self.terminal, self.root = (array("q") for _ in range(5))

    def __len__(self) -> int:
        """Count the nodes so far."""
        return len(self.symbol)

    def add(
        self, symbol: SymbolName, left: int, right: int, terminal: TerminalName | None = None, *, note: Note
    ) -> int:
        """Append a node and return its number.

        symbol: the symbol of the node.
        left: the number of the left child, or of the only child; -1 at a leaf.
        right: the number of the right child; -1 at a leaf and at a unary node.
        terminal: the observation of a leaf; not used at other nodes.
        note: a remark on the node, which `trees` returns.
        """
        self.symbol.append(self.symbols.add(symbol))
        self.left.append(left)
        self.right.append(right)
        self.terminal.append(self.terminals.add(terminal) if left < 0 else -1)  # type: ignore[arg-type]
        self.notes.append(note)
        return len(self.symbol) - 1

    def trees(self) -> tuple[SkeletalTrees, list[Note]]:
        """Return the finished trees and the notes on their nodes (N,)."""
        trees = SkeletalTrees.of(self.symbol, left=self.left, right=self.right, terminal=self.terminal, root=self.root)
        return trees, list(self.notes)


class ForestBuilder:
    """Append the items of a forest, children before parents, with the rules of a table; see `Forest`.

    It is meant for formalisms that are tried out; large charts are built by compiled code.

    rules: the table of rules; an edge by a rule that it lacks has weight zero.

    >>> none = np.empty((0, 2), dtype=np.int64)
    >>> builder = ForestBuilder(Rules(np.array([[0, 5], [1, 6]]), none, np.array([[2, 0, 1]])))
    >>> builder.end(builder.add(2, [(builder.leaf(0, 5), builder.leaf(1, 6))]))
    >>> builder.forest().rule, builder.forest().left
    (array([0, 1, 0]), array([-1, -1,  0]))
    """

    def __init__(self, rules: Rules) -> None:
        tables = (rules.leaf, rules.unary, rules.binary)
        self._leaf, self._unary, self._binary = ({tuple(row): r for r, row in enumerate(t.tolist())} for t in tables)
        self.symbol: list[int] = []
        self._start = [0]
        self._edges: list[tuple[int, int, int]] = []
        self._roots: list[tuple[int, int]] = []
        self._n_components = 0

    def _append(self, symbol: int, edges: Iterable[tuple[int, int, int]]) -> int:
        """Append an item with edges, each a rule and two children, and return its number."""
        self.symbol.append(symbol)
        self._edges += edges
        self._start.append(len(self._edges))
        return len(self.symbol) - 1

    def leaf(self, symbol: int, terminal: int) -> int:
        """Append an item that is a leaf, and return its number.

        symbol: the symbol of the item.
        terminal: the terminal that it observes.
        """
        return self._append(symbol, [(self._leaf.get((symbol, terminal), -1), -1, -1)])

    def add(self, symbol: int, children: Iterable[tuple[int, ...]]) -> int:
        """Append an item that has one or more derivations, and return its number.

        symbol: the symbol of the item.
        children: for each derivation, the items of its one or two children.
        """
        edges = []
        for below in children:
            rule = (symbol, *(self.symbol[child] for child in below))
            number = (self._binary if len(below) == 2 else self._unary).get(rule, -1)
            edges.append((number, below[0], below[1] if len(below) == 2 else -1))
        return self._append(symbol, edges)

    def end(self, *roots: int) -> None:
        """End a component, such as that of an input.

        roots: the items at the top of the component.
        """
        self._roots += ((root, self._n_components) for root in roots)
        self._n_components += 1

    def forest(self) -> Forest:
        """Return the forest of all components."""
        rule, left, right = np.array(self._edges, dtype=np.int64).reshape(-1, 3).T.copy()
        root, component = np.array(self._roots, dtype=np.int64).reshape(-1, 2).T.copy()
        return Forest(np.array(self.symbol), np.array(self._start), rule, left, right, root, component)
