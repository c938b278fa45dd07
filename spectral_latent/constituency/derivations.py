"""All derivations of given trees by a binarised grammar, as one forest.

A phrase of three children or more may be derived in several ways: its parts are bars, and those of @X need not tell
where the head is.  Its probability is the sum over them.

| here | meaning |
| --- | --- |
| node | a phrase with the chain of labels above it, or a word with the chain that ends in its tag; in post-order |
| range | some of a phrase's children in a row; two or more, but not all, make a bar |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range, compiled
from spectral_latent.constituency.conversion import Label
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.trees import BoolArray, Forest, IntArray, Rules, ranges

__all__ = ["DerivationBuilder", "PhraseColumns"]

LeafRules = Callable[[IntArray, IntArray], IntArray]


class PhraseColumns(NamedTuple):
    """T trees of N nodes.

    chain, label: (N,) numbers of the chain of labels, and of its last; -1 where the grammar has none.
    children: (N,) how many a node has, none over a word.  root: (T,) the root of each tree.  words: of all trees.
    """

    chain: IntArray
    label: IntArray
    children: IntArray
    root: IntArray
    words: list[str]


class _Symbols(NamedTuple):
    """Which symbols a chain, and the bars of a label, may be: those of number k are symbol[start[k] ... start[k+1]]."""

    start: IntArray
    symbol: IntArray

    @staticmethod
    def of(number: IntArray, size: int) -> _Symbols:
        """From the number of each symbol, -1 for those to leave out."""
        order = np.argsort(number, kind="stable")
        return _Symbols(np.searchsorted(number[order], np.arange(size + 1)), order)


class _Grammar(NamedTuple):
    """Symbols and binary rules: those with left child b are rows start[b] ... start[b+1] of parent, right and rule."""

    is_bar: IntArray
    start: IntArray
    parent: IntArray
    right: IntArray
    rule: IntArray


@compiled
def _room(rows: IntArray, size: int) -> IntArray:
    """The rows, moved to twice the room if they are full."""
    if size < len(rows):
        return rows
    larger = np.empty((2 * len(rows), rows.shape[1]), dtype=np.int64)
    larger[:size] = rows
    return larger


@compiled
def _sorted_rows(found: IntArray, size: int) -> None:
    """Sort the first rows by parent and rule, in place; they are few."""
    for k in range(1, size):
        row = found[k].copy()
        at = k
        while at > 0 and (found[at - 1, 0], found[at - 1, 1]) > (row[0], row[1]):
            found[at] = found[at - 1]
            at -= 1
        found[at] = row


@compiled
def _all_derivations(
    columns: tuple[IntArray, IntArray, IntArray, BoolArray],
    of_chain: _Symbols,
    bars: _Symbols,
    grammar: _Grammar,
    leaf_start: IntArray,
    leaves: IntArray,
) -> tuple[IntArray, IntArray, IntArray]:
    """List all items and edges of trees of N nodes.

    columns: chain, label, children of each node, and whether it is a root, (N,) each.
    leaves: (L, 2) symbol and rule of each leaf rule of the words, those of leaf k in rows leaf_start[k] ...
    Returns items (I, 2): symbol and end of its edges; edges (E, 3): rule, left, right; and the first item of each
    node and the one after its last (N, 2).
    """
    chain, label, children, is_root = columns
    n = len(chain)
    items, edges = np.empty((4 * n + 16, 2), dtype=np.int64), np.empty((4 * n + 16, 3), dtype=np.int64)
    found = np.empty((64, 4), dtype=np.int64)
    span = np.zeros((n, 2), dtype=np.int64)  # of items
    stack = np.empty(n, dtype=np.int64)
    n_items, n_edges, depth, leaf = 0, 0, 0, 0
    for node in range(n):
        m = children[node]
        first = n_items
        # A word: an item for each of its leaf rules.
        if m == 0:
            for k in range(leaf_start[leaf], leaf_start[leaf + 1]):
                items, edges = _room(items, n_items), _room(edges, n_edges)
                edges[n_edges] = (leaves[k, 1], -1, -1)
                n_edges += 1
                items[n_items] = (leaves[k, 0], n_edges)
                n_items += 1
            leaf += 1
        else:
            # A phrase: table[a, z] has the first item over the children a ... z - 1, and the one after the last.
            depth -= m
            table = np.zeros((m, m + 1, 2), dtype=np.int64)
            for c in range(m):
                table[c, c + 1] = span[stack[depth + c]]
            for width in range(2, m + 1):
                for a in range(m - width + 1):
                    z = a + width
                    # Rules whose children are items on both sides of a split, and whose parent is allowed there:
                    # a symbol of the node's chain over all children, a bar of its label over some.
                    size = 0
                    for q in range(a + 1, z):
                        for x in range(table[a, q, 0], table[a, q, 1]):
                            b = items[x, 0]
                            for y in range(table[q, z, 0], table[q, z, 1]):
                                c = items[y, 0]
                                for r in range(grammar.start[b], grammar.start[b + 1]):
                                    if grammar.right[r] != c:
                                        continue
                                    p = grammar.parent[r]
                                    symbols, number = (of_chain, chain[node]) if width == m else (bars, label[node])
                                    if number < 0 or (width == m) == grammar.is_bar[p]:
                                        continue
                                    allowed = False
                                    for s in range(symbols.start[number], symbols.start[number + 1]):
                                        allowed |= symbols.symbol[s] == p
                                    if allowed:
                                        found = _room(found, size)
                                        found[size] = (p, grammar.rule[r], x, y)
                                        size += 1
                    # Edges of one parent make one item.
                    _sorted_rows(found, size)
                    table[a, z] = (n_items, n_items)
                    for k in range(size):
                        edges = _room(edges, n_edges)
                        edges[n_edges] = found[k, 1:]
                        n_edges += 1
                        if k + 1 == size or found[k + 1, 0] != found[k, 0]:
                            items = _room(items, n_items)
                            items[n_items] = (found[k, 0], n_edges)
                            n_items += 1
                    table[a, z, 1] = n_items
            first = table[0, m, 0]
        if is_root[node] and first == n_items:
            items = _room(items, n_items)
            items[n_items] = (0, n_edges)
            n_items += 1
        span[node] = (first, n_items)
        stack[depth] = node
        depth += 1
    return items[:n_items], edges[:n_edges], span


class DerivationBuilder:
    """Build the forests of given trees under one grammar.

    Raises ValueError if a rule has a symbol without a label.

    labels: what each symbol stands for.  rules: of the grammar.  chains: how chains of labels are numbered.
    """

    def __init__(self, labels: Sequence[Label], rules: Rules, chains: Sequence[tuple[str, ...]]) -> None:
        check_range("symbols of rules", np.append(rules.binary, rules.leaf[:, 0]), 0, len(labels))
        self.chains = {chain: number for number, chain in enumerate(chains)}
        of_chain = [-1 if label.bar else self.chains[label.chain] for label in labels]
        names = sorted({label.chain[-1] for label in labels})
        self.names = {name: number for number, name in enumerate(names)}
        bar_of = [self.names[label.chain[-1]] if label.bar else -1 for label in labels]
        self.of_chain = _Symbols.of(np.array(of_chain, dtype=np.int64), len(chains))
        self.bars = _Symbols.of(np.array(bar_of, dtype=np.int64), len(names))
        order = np.argsort(rules.binary[:, 1], kind="stable")
        parent, left, right = np.ascontiguousarray(rules.binary[order].T)
        is_bar = np.array([label.bar for label in labels], dtype=np.int64)
        self.grammar = _Grammar(is_bar, np.searchsorted(left, np.arange(len(labels) + 1)), parent, right, order)

    def columns(self, phrases: Iterable[Phrase]) -> PhraseColumns:
        """Cleaned phrases as columns."""
        nodes: list[tuple[int, int, int]] = []
        words: list[str] = []
        root: list[int] = []
        for phrase in phrases:
            n_nodes, n_words = len(nodes), len(words)
            stack: list[Phrase] = [phrase]
            while stack:  # parents before children, right to left: post-order backwards
                node = stack.pop()
                names = [node.label]
                while len(node.children) == 1 and isinstance(node.children[0], Phrase):
                    node = node.children[0]
                    names.append(node.label)
                below = [child for child in node.children if isinstance(child, Phrase)]
                words += [child for child in node.children if isinstance(child, str)]
                nodes.append((self.chains.get(tuple(names), -1), self.names.get(node.label, -1), len(below)))
                stack += below
            nodes[n_nodes:], words[n_words:] = nodes[n_nodes:][::-1], words[n_words:][::-1]
            root.append(len(nodes) - 1)
        chain, label, children = np.array(nodes, dtype=np.int64).reshape(-1, 3).T
        return PhraseColumns(chain, label, children, np.array(root, dtype=np.int64), words)

    def _check(self, columns: PhraseColumns) -> None:
        """Raise ValueError unless the columns are trees in post-order, with chains and labels of this grammar."""
        chain, label, children, root, _ = columns
        n = np.size(chain)
        for name, column, size in (
            ("chains", chain, n),
            ("labels", label, n),
            ("numbers of children", children, n),
            ("roots", root, np.size(root)),
        ):
            check_column(f"{name} of trees", column, (size,), np.int64)
        check_range("chains of trees", chain, -1, len(self.chains))
        check_range("labels of trees", label, -1, len(self.names))
        check_range("numbers of children of trees", children, 0, n + 1)
        # Subtrees that wait for their parents: every node needs its children, and each tree leaves its root alone.
        waiting = np.cumsum(1 - children)
        finished = np.searchsorted(root, np.arange(n))  # trees before each node
        if (np.diff(root, prepend=-1) <= 0).any() or (len(root) and root[-1] != n - 1) or (n and not len(root)):
            raise ValueError("roots of trees must rise, and the last node must be one")
        if (waiting <= finished).any() or (waiting[root] != np.arange(1, len(root) + 1)).any():
            raise ValueError("nodes of trees must come in post-order, each after as many subtrees as it has children")

    def forest(self, columns: PhraseColumns, leaf_rules: LeafRules) -> Forest:
        """Build a component for each tree; of a tree that the grammar does not derive, an item without edges.

        leaf_rules: the row of the leaf rule, or -1, of symbols (n,) over words (n,), numbered as in `columns`.
        Raises ValueError if the columns are not those of trees.
        """
        self._check(columns)
        chain = columns.chain[columns.children == 0]
        start, symbol = self.of_chain
        at, word = ranges(start[chain], np.where(chain < 0, start[chain], start[chain + 1]))
        of_word = symbol[at]
        rule = leaf_rules(of_word, word)
        known = rule >= 0
        leaf_start = np.searchsorted(word[known], np.arange(len(chain) + 1))
        leaves = np.stack([of_word[known], rule[known]], axis=1)
        is_root = np.zeros(len(columns.chain), dtype=np.bool_)
        is_root[columns.root] = True
        nodes = (columns.chain, columns.label, columns.children, is_root)
        items, edges, span = _all_derivations(nodes, self.of_chain, self.bars, self.grammar, leaf_start, leaves)
        root, tree = ranges(*span[columns.root].T)
        rules, left, right = np.ascontiguousarray(edges.T)
        item_start = np.concatenate([[0], items[:, 1]])
        return Forest(np.ascontiguousarray(items[:, 0]), item_start, rules, left, right, root, tree)
