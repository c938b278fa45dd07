"""Build the columns of s-trees node by node."""

from __future__ import annotations

from array import array
from collections.abc import Hashable
from typing import Generic, TypeVar

from spectral_latent.trees.skeletal import SkeletalTrees
from spectral_latent.trees.symbols import Vocabulary

__all__ = ["TreeBuilder"]

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
