"""Number the nodes of trees, and build the forest of all derivations of given trees by a binarised grammar.

A phrase of three children or more may have several derivations, because the bars @X inside it do not show which child
is the head.  Its probability is the sum over the derivations.

| here | meaning |
| --- | --- |
| node | a phrase with the chain of labels above it, or a word with the chain that ends in its tag; trees share nodes |
| range | neighbouring children of a phrase; a range of two or more, but not all, children is a bar |
| row | the first children of a phrase, one or more, drawn one by one; see `grammar` |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from spectral_latent._compiled import ZERO, check_range, compiled, compiled_part, with_room
from spectral_latent.constituency.conversion import PhraseSymbol
from spectral_latent.constituency.tree import Chain, Phrase
from spectral_latent.trees import BoolArray, Forest, IntArray, Rules, Vocabulary, ranges

_PhraseKey: TypeAlias = tuple[int, int]  # the `id` of a phrase, and the place of its first word


class PhraseColumns(NamedTuple):
    """The N distinct nodes of T trees, children before parents.

    A node is a phrase with its chain of labels, or a word with the chain that ends in its tag.  Phrases with the same
    chain over the same children are one node, and so are words at one place with the same chain.

    chain: (N,) the number of the chain of labels.
    start: (N + 1,) node i has the children child[start[i]] ... child[start[i+1] - 1]; a node over a word has none.
    child: (C,) the children of all nodes; those of one node from left to right.
    place: (N,) the place, among the words of all sentences, of the word below the node; -1 for a phrase.
    root: (T,) the root of each tree.
    n_phrases: (T,) the number of phrases in each tree, where a chain of labels counts once.
    chains: the chains in the order of their numbers."""

    chain: IntArray
    start: IntArray
    child: IntArray
    place: IntArray
    root: IntArray
    n_phrases: IntArray
    chains: Sequence[Chain]

    @staticmethod
    def of(lists: Iterable[Sequence[Phrase]], start: IntArray, chains: Iterable[Chain] = ()) -> PhraseColumns:
        """Number the nodes of the trees of sentences.

        start: (S + 1,) the first word of each sentence, and the number of all words.
        chains: known chains, which keep their numbers; others get higher ones."""
        numbering = _Numbering(chains)
        roots: list[int] = []
        for trees, place in zip(lists, start.tolist(), strict=False):
            numbering.begin_sentence()
            roots += [numbering.add(tree, place) for tree in trees]
        root = np.array(roots, dtype=np.int64)
        return PhraseColumns(
            chain=np.array(numbering.chain, dtype=np.int64),
            start=np.array(numbering.start, dtype=np.int64),
            child=np.array(numbering.child, dtype=np.int64),
            place=np.array(numbering.place, dtype=np.int64),
            root=root,
            n_phrases=np.array(numbering.n_phrases, dtype=np.int64)[root],
            chains=numbering.chains.names,
        )

    def trees(self, words: Sequence[str]) -> list[Phrase]:
        """Build the trees; a node that several trees share is one object."""
        child = self.child.tolist()
        made: list[Any] = []
        columns = zip(self.chain.tolist(), pairwise(self.start.tolist()), self.place.tolist(), strict=True)
        for number, (begin, end), place in columns:
            parts = tuple(map(made.__getitem__, child[begin:end])) if begin < end else (words[place],)
            for label in reversed(self.chains[number]):
                parts = (Phrase(label, parts),)
            made += parts
        return list(map(made.__getitem__, self.root.tolist()))


class _Numbering:
    """The columns of `PhraseColumns` as they grow."""

    def __init__(self, chains: Iterable[Chain]) -> None:
        self.chains = Vocabulary(chains)
        self.chain: list[int] = []
        self.start = [0]
        self.child: list[int] = []
        self.place: list[int] = []
        self.n_phrases: list[int] = []
        self.begin_sentence()

    def begin_sentence(self) -> None:
        """Forget the nodes of the sentence before, because trees of different sentences share no nodes."""
        # The node for each chain, place of a word, and children.
        self._nodes: dict[tuple[int, int, tuple[int, ...]], int] = {}
        # The node of each phrase, and the place after its last word.
        self._known: dict[_PhraseKey, tuple[int, int]] = {}

    def add(self, tree: Phrase, place: int) -> int:
        """Number the new nodes of a tree, and return its root."""
        # The unfinished phrases above: key, chain, children to be numbered, and numbers of the children before them.
        opened: list[tuple[_PhraseKey, Chain, Iterator[Phrase], list[int]]] = []
        above: _PhraseKey = 0, place  # the phrase whose children are numbered now
        chain: Chain = ()
        rest = iter([tree])
        children: list[int] = []
        while True:
            for phrase in rest:
                key = id(phrase), place
                node_and_end = self._known.get(key)
                if node_and_end is None:
                    labels, below = _divided(phrase)
                    if below:
                        # Go down into this phrase first; the `for` loop goes on when it is finished.
                        opened.append((above, chain, rest, children))
                        above = key
                        chain = labels
                        rest = iter(below)
                        children = []
                        break
                    node_and_end = self._known[key] = self._number(labels, place, ()), place + 1
                node, place = node_and_end
                children.append(node)
            else:
                # All children have numbers: number the phrase, and go back to the phrase above it.
                if not opened:
                    return children[0]
                node = self._number(chain, -1, tuple(children))
                self._known[above] = node, place
                above, chain, rest, children = opened.pop()
                children.append(node)

    def _number(self, chain: Chain, place: int, children: tuple[int, ...]) -> int:
        """Return the number of a node; a new node gets the next number."""
        number = self.chains.add(chain)
        node = self._nodes.setdefault((number, place, children), len(self.chain))
        if node == len(self.chain):
            self.chain.append(number)
            self.child += children
            self.start.append(len(self.child))
            self.place.append(place)
            self.n_phrases.append(sum([self.n_phrases[child] for child in children], int(place < 0)))
        return node


def _divided(phrase: Phrase) -> tuple[Chain, list[Phrase]]:
    """Divide a phrase into its chain of labels, and the children below the chain; above a word there are none."""
    chain = [phrase.label]
    while len(phrase.children) == 1 and isinstance(phrase.children[0], Phrase):
        phrase = phrase.children[0]
        chain.append(phrase.label)
    children = [child for child in phrase.children if isinstance(child, Phrase)]
    if len(children) < len(phrase.children) > 1:
        raise ValueError(f"a phrase {phrase.label} holds several words, or words beside phrases; give each word a tag")
    return tuple(chain), children


class _Grammar(NamedTuple):
    """Symbols, and binary rules sorted by left and right child."""

    chain: IntArray  # (S,) the number of a phrase's chain of labels; -1 for a bar
    bar: IntArray  # (S,) the number of a bar's label; -1 for a phrase
    start: IntArray  # (S + 1,) left child b has the rows start[b] ... start[b+1] - 1 of the next three
    parent: IntArray  # (R,) the parent of each rule
    right: IntArray  # (R,) its right child, which rises within a left child
    rule: IntArray  # (R,) its number in the grammar


class _RowRules(NamedTuple):
    """The symbol of rows and the numbers of their rules; -1 for a rule that the grammar lacks."""

    symbol: int
    all: IntArray  # (S,) the unary rule from a phrase to the row of all its children
    first: IntArray  # (S,) the unary rule from a row to its first child
    further: IntArray  # (S,) the binary rule that puts a child behind a row
    start: IntArray  # (K + 1,) the symbols with chain k are symbols[start[k] ... start[k+1] - 1]
    symbols: IntArray  # (S,) the symbols, sorted by chain


@compiled_part
def _is_before(rows: IntArray, row: int, other: int) -> bool:
    """Tell whether a row has a smaller parent than another, or the same parent and a smaller rule."""
    same = rows[row, 0] == rows[other, 0]
    return bool(rows[row, 1] < rows[other, 1] if same else rows[row, 0] < rows[other, 0])


@compiled_part
def _sort_rows(rows: IntArray, size: int) -> None:
    """Sort the first `size` rows by parent and rule, in place, by insertion, because they are few."""
    for k in range(1, size):
        row = k
        while row > 0 and _is_before(rows, row, row - 1):
            for column in range(rows.shape[1]):
                rows[row - 1, column], rows[row, column] = rows[row, column], rows[row - 1, column]
            row -= 1


@compiled_part
def _first_rule(grammar: _Grammar, b: int, c: int) -> int:
    """Find the first rule of left child b whose right child is c or larger, by bisection."""
    first, end = grammar.start[b], grammar.start[b + 1]
    while first < end:
        middle = (first + end) // 2
        if grammar.right[middle] < c:
            first = middle + 1
        else:
            end = middle
    return int(first)


@compiled_part
def _joined(
    grammar: _Grammar,
    kind: IntArray,
    wanted: int,
    items: IntArray,
    span: IntArray,
    a: int,
    z: int,
    ways: IntArray,
) -> tuple[IntArray, int]:
    """List the binary derivations of a range a ... z-1 of children by symbols with a given chain, or a given label.

    kind: (S,) the number of each symbol's chain, or of its label.
    items: (n, k) symbols of items in the first column.
    span: (M, M + 1, 2) the items of range a ... z-1 are span[a, z, 0] ... span[a, z, 1] - 1.
    ways: (n, 4) gets parent, rule, left item and right item of each derivation.
    Returns `ways`, which may have grown, and the number of derivations."""
    size = ZERO
    if wanted < 0:
        return ways, size
    # For each split q, apply every rule to an item of a ... q-1 and an item of q ... z-1.
    for q in range(a + 1, z):
        for x in range(span[a, q, 0], span[a, q, 1]):
            b = items[x, 0]
            for y in range(span[q, z, 0], span[q, z, 1]):
                c = items[y, 0]
                for r in range(_first_rule(grammar, b, c), grammar.start[b + 1]):
                    if grammar.right[r] != c:
                        break
                    if kind[grammar.parent[r]] == wanted:
                        ways = with_room(ways, size)
                        ways[size, 0] = grammar.parent[r]
                        ways[size, 1] = grammar.rule[r]
                        ways[size, 2] = x
                        ways[size, 3] = y
                        size += 1
    return ways, size


@compiled_part
def _add_row(
    rows: _RowRules, span: IntArray, m: int, items: IntArray, n_items: int, edges: IntArray, n_edges: int
) -> tuple[int, IntArray, int, IntArray, int]:
    """Append the row of the first child of a phrase, of its first two children, and so on; return the last item.

    The item is -1 if there is no rule for one of the children.

    span: (M, M + 1, 2) the items of each range of the children."""
    row = -1
    for c in range(m):
        # The row up to child c is child c behind the row up to child c - 1; the first row is the first child.
        begin = n_edges
        for x in range(span[c, c + 1, 0], span[c, c + 1, 1]):
            rule = rows.first[items[x, 0]] if c == 0 else rows.further[items[x, 0]]
            if rule >= 0:
                edges = with_room(edges, n_edges)
                edges[n_edges, 0] = rule
                edges[n_edges, 1] = x if c == 0 else row
                edges[n_edges, 2] = -1 if c == 0 else x
                n_edges += 1
        if n_edges == begin:
            return -1, items, n_items, edges, n_edges
        items = with_room(items, n_items)
        items[n_items, 0] = rows.symbol
        items[n_items, 1] = n_edges
        row = n_items
        n_items += 1
    return row, items, n_items, edges, n_edges


@compiled_part
def _join_row(rows: _RowRules, chain: int, row: int, ways: IntArray, size: int) -> tuple[IntArray, int]:
    """Append to the derivations of a phrase those by the row of all its children, one for each symbol with its
    chain."""
    if chain >= 0 and row >= 0:
        for k in range(rows.start[chain], rows.start[chain + 1]):
            phrase = rows.symbols[k]
            if rows.all[phrase] >= 0:
                ways = with_room(ways, size)
                ways[size, 0] = phrase
                ways[size, 1] = rows.all[phrase]
                ways[size, 2] = row
                ways[size, 3] = -1
                size += 1
    return ways, size


@compiled_part
def _leaf_rule(rules: IntArray, symbol: int, word: int) -> int:
    """Find the row of a leaf rule in a table (R, 2), by bisection; -1 if it is absent."""
    first = 0
    end = len(rules)
    while first < end:
        middle = (first + end) // 2
        if rules[middle, 0] < symbol or (rules[middle, 0] == symbol and rules[middle, 1] < word):
            first = middle + 1
        else:
            end = middle
    return first if first < len(rules) and rules[first, 0] == symbol and rules[first, 1] == word else -1


@compiled_part
def _add_word(
    rows: _RowRules,
    chain: int,
    leaf_rules: IntArray,
    word: int,
    items: IntArray,
    n_items: int,
    edges: IntArray,
    n_edges: int,
) -> tuple[IntArray, int, IntArray, int]:
    """Append the items of a word: one with one edge for each symbol with its chain that has a leaf rule (R, 2)."""
    for k in range(rows.start[chain], rows.start[chain + 1]) if chain >= 0 else range(0):
        rule = _leaf_rule(leaf_rules, rows.symbols[k], word)
        if rule >= 0:  # the symbol emits the word
            items = with_room(items, n_items)
            edges = with_room(edges, n_edges)
            edges[n_edges, 0] = rule
            n_edges += 1
            items[n_items, 0] = rows.symbols[k]
            items[n_items, 1] = n_edges
            n_items += 1
    return items, n_items, edges, n_edges


@compiled_part
def _add_range(
    ways: IntArray, size: int, items: IntArray, n_items: int, edges: IntArray, n_edges: int
) -> tuple[IntArray, int, IntArray, int]:
    """Append an item for each symbol among the first `size` derivations, which are sorted by symbol.

    ways: (n, 4) the derivations that `_joined` lists; every row becomes an edge."""
    for k in range(size):
        edges = with_room(edges, n_edges)
        for column in range(3):
            edges[n_edges, column] = ways[k, column + 1]
        n_edges += 1
        # The last derivation of a symbol ends its item.
        if k + 1 == size or ways[k + 1, 0] != ways[k, 0]:
            items = with_room(items, n_items)
            items[n_items, 0] = ways[k, 0]
            items[n_items, 1] = n_edges
            n_items += 1
    return items, n_items, edges, n_edges


@compiled
def _all_derivations(
    columns: tuple[IntArray, IntArray, IntArray, IntArray, IntArray, BoolArray],
    grammar: _Grammar,
    rows: _RowRules,
    words: IntArray,
    leaf_rules: IntArray,
    items: IntArray,
    edges: IntArray,
    ways: IntArray,
    span_of: IntArray,
    span: IntArray,
) -> tuple[IntArray, IntArray]:
    """List all items and edges of trees of N nodes with up to M children.

    columns: (N,) the chain of each node, (N,) its label, (N + 1,) the start of its children, (C,) the children, which
    come before their parents, (N,) the place of the word below it, and (N,) whether a node is a root.
    words: (n,) the number of the word at each place.
    leaf_rules: (R, 2) symbol and word of each leaf rule, in lexicographic order.
    items, edges: (n, 2) and (n, 3) room for what is returned, which grows; the edges are all -1 at first.
    ways: (n, 4) room for the derivations of one range; grows.
    span_of: (N, 2) gets the first item of each node, and the item after its last.
    span: (M, M + 1, 2) room for the first item of each range of the children of a node, and the item after its last.
    Returns items (I, 2): symbol and end of its edges; and edges (E, 3): rule, left, right."""
    chain, label, start, child, place, is_root = columns
    n_items = ZERO
    n_edges = ZERO
    for node in range(len(chain)):
        m = start[node + 1] - start[node]
        first = n_items
        if m == 0:
            word = words[place[node]]
            items, n_items, edges, n_edges = _add_word(
                rows, chain[node], leaf_rules, word, items, n_items, edges, n_edges
            )
        else:
            # A phrase: fill the chart of the ranges of its children, the short ones first.
            for c in range(m):
                span[c, c + 1, 0] = span_of[child[start[node] + c], 0]
                span[c, c + 1, 1] = span_of[child[start[node] + c], 1]
            for width in range(2, m + 1):
                # All children together are the phrase itself; fewer children are a bar of it.
                kind, wanted = (grammar.chain, chain[node]) if width == m else (grammar.bar, label[node])
                for a in range(m - width + 1):
                    z = a + width
                    ways, size = _joined(grammar, kind, wanted, items, span, a, z, ways)
                    if width == m:
                        row, items, n_items, edges, n_edges = _add_row(rows, span, m, items, n_items, edges, n_edges)
                        ways, size = _join_row(rows, wanted, row, ways, size)
                    _sort_rows(ways, size)
                    span[a, z, 0] = n_items
                    items, n_items, edges, n_edges = _add_range(ways, size, items, n_items, edges, n_edges)
                    span[a, z, 1] = n_items
            first = span[0, m, 0]
        # A tree without a derivation gets a root without edges.
        if is_root[node] and first == n_items:
            items = with_room(items, n_items)
            items[n_items, 0] = 0
            items[n_items, 1] = n_edges
            n_items += 1
        span_of[node, 0] = first
        span_of[node, 1] = n_items
    return items[:n_items], edges[:n_edges]


class DerivationBuilder:
    """Build the forests of given trees under one grammar.

    symbols: (S,) the meaning of each symbol.
    rules: the rules of the grammar, and the rules of rows; the symbol of rows is S.
    chains: the chains of labels in the order of their numbers.
    Raises ValueError if a rule has a symbol above S."""

    def __init__(self, symbols: Sequence[PhraseSymbol], rules: Rules, chains: Sequence[tuple[str, ...]]) -> None:
        n = len(symbols)
        check_range("symbols of rules", np.concatenate([rules.binary.ravel(), rules.unary.ravel()]), 0, n + 1)
        check_range("symbols of leaf rules", rules.leaf[:, 0], 0, n)
        names = Vocabulary(sorted({symbol.last for symbol in symbols}))
        number = Vocabulary(chains)
        chain = np.array([-1 if symbol.bar else number[symbol.chain] for symbol in symbols], dtype=np.int64)
        bar = np.array([names[symbol.last] if symbol.bar else -1 for symbol in symbols], dtype=np.int64)
        self._label = np.append(names.numbers(chain[-1] for chain in chains), -1)  # of the bars below each chain
        # The symbols of chain k are symbols[start[k] ... start[k+1] - 1].
        by_chain = np.argsort(chain, kind="stable")
        start = np.searchsorted(chain[by_chain], np.arange(len(chains) + 1))
        # Binary rules without those of rows, sorted by left child and then by right child.
        own = np.flatnonzero((rules.binary < n).all(axis=1))
        order = own[np.lexsort(rules.binary[own, :0:-1].T)]
        parent, left, right = np.ascontiguousarray(rules.binary[order].T)
        self._grammar = _Grammar(chain, bar, np.searchsorted(left, np.arange(n + 1)), parent, right, order)
        every = np.arange(n)
        row = np.full(n, n)
        self._rows = _RowRules(
            symbol=n,
            all=Rules.find(rules.unary, np.stack([every, row], axis=1)),
            first=Rules.find(rules.unary, np.stack([row, every], axis=1)),
            further=Rules.find(rules.binary, np.stack([row, row, every], axis=1)),
            start=start,
            symbols=by_chain,
        )

    def forest(self, columns: PhraseColumns, chain: IntArray, word: IntArray, leaf_rules: IntArray) -> Forest:
        """Build the forest of the derivations of T trees, with a component for each; trees share items.

        A tree that the grammar does not derive has a root without edges.

        chain: (N,) the number of the chain of each node among those of the grammar; -1 for others.
        word: (n,) the number of the word at each place.
        leaf_rules: (R, 2) symbol and word of each leaf rule of the grammar, in lexicographic order."""
        is_root = np.zeros(len(chain), dtype=np.bool_)
        is_root[columns.root] = True
        nodes = (chain, self._label[chain], columns.start, columns.child, columns.place, is_root)
        n, most = len(chain), int(np.diff(columns.start).max(initial=1))
        items, edges, ways = (np.full(shape, -1) for shape in ((4 * n + 16, 2), (4 * n + 16, 3), (64, 4)))
        span_of, span = np.zeros((n, 2), dtype=np.int64), np.zeros((most, most + 1, 2), dtype=np.int64)
        items, edges = _all_derivations(
            nodes, self._grammar, self._rows, word, leaf_rules, items, edges, ways, span_of, span
        )
        root, tree = ranges(*span_of[columns.root].T)
        rules, left, right = np.ascontiguousarray(edges.T)
        item_start = np.append(0, items[:, 1])
        return Forest(np.ascontiguousarray(items[:, 0]), item_start, rules, left, right, root, tree)
