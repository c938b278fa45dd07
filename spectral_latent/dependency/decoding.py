"""Build forests of dependency trees, in which edges stand for arcs, and find the best trees in them.

| here | meaning |
| --- | --- |
| `split_by_heads` | the pruned chart of a grammar, with its items split by head word |
| `build_projective` | all projective trees over given arcs: Eisner's (1996) chart, O(n³) |
| `weights[g, m]` | the weight of the arc from word g, where 0 is the root, to word m + 1 |
| weight of a tree | the sum of the weights of its arcs |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import check_column, check_range, compiled, compiled_part
from spectral_latent.inference import (
    check_forest,
    edge_marginals,
    inside,
    marginals,
    n_best_derivations,
    outside,
    total_weight,
)
from spectral_latent.inference.inside_outside import item_component
from spectral_latent.model.parts import Parts
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, range_of


class ArcForest(NamedTuple):
    """A forest of one sentence of n words, with the arc of each edge.

    governor: (E,) the governor of each edge's arc, 1 ... n, or 0 for the root; -1 for an edge without an arc.
    dependant: (E,) the dependant of each edge's arc, 1 ... n; -1 for an edge without an arc.
    head: (I,) the head word of each item, 1 ... n; 0 for an item without a head."""

    forest: Forest
    governor: IntArray
    dependant: IntArray
    head: IntArray

    @staticmethod
    def join(of_sentences: Sequence[ArcForest]) -> ArcForest:
        """Join the forests of sentences, which have one component each; words keep their numbers."""
        columns = [[each.governor, each.dependant, each.head] for each in of_sentences]
        joined = Forest.join([each.forest for each in of_sentences])
        return ArcForest(joined, *map(np.concatenate, zip(*columns, strict=True)))


@compiled_part
def _find_heads(forest: Forest, head_is_right: BoolArray, position: IntArray, pair: IntArray) -> None:
    """Number the pairs (I, n) of an item and a word that may be its head, in the order of items; other pairs are -1."""
    n = pair.shape[1]
    count = 0
    for item in range(len(forest.symbol)):
        for e in range(forest.start[item], forest.start[item + 1]):
            # The head of a word is the word itself; a longer item may have any head of the child that has its head.
            if forest.left[e] < 0:
                pair[item, position[item]] = 0
            else:
                child = forest.right[e] if head_is_right[forest.rule[e]] else forest.left[e]
                for h in range(n):
                    if pair[child, h] >= 0:
                        pair[item, h] = 0
        # Number the pairs of this item that are possible.
        for h in range(n):
            if pair[item, h] >= 0:
                pair[item, h] = count
                count += 1


@compiled
def _split_edges(
    forest: Forest,
    head_is_right: BoolArray,
    allowed: BoolArray,
    is_root: BoolArray,
    position: IntArray,
    pair: IntArray,
    start: IntArray,
    edges: IntArray,
) -> None:
    """Fill the columns of the forest whose items are pairs of an item and its head word.

    If `edges` has no rows, only `pair` and `start` are filled.

    head_is_right: (R2,) whether the head of each binary rule is in the right child.
    allowed: (n + 1, n) the allowed arcs; a root of the forest has no edges if the arc to its head is not allowed.
    is_root: (I,) whether an item is a root of the forest.
    position: (I,) the word of every item over one word.
    pair: (I, n), all -1; gets the numbers of the I' pairs of an item and a word that may be its head.
    start: (I n + 1,) gets the first edge of each pair, and E'.
    edges: (E', 5), all -1; gets rule, left, right, governor, dependant."""
    if not len(edges):
        _find_heads(forest, head_is_right, position, pair)
    n_edges = 0
    item_number = 0
    for item in range(len(forest.symbol)):
        for h in range(pair.shape[1]):
            if pair[item, h] < 0:
                continue
            # Split every edge of the item by the words that may be the head of the other child.
            n_of_item = 0 if is_root[item] and not allowed[0, h] else forest.start[item + 1] - forest.start[item]
            for e in range(forest.start[item], forest.start[item] + n_of_item):
                r = forest.rule[e]
                left = forest.left[e]
                right = forest.right[e]
                # The edge of a single word has no arc.
                if left < 0:
                    if len(edges):
                        edges[n_edges, 0] = r
                    n_edges += 1
                    continue
                if pair[right if head_is_right[r] else left, h] < 0:
                    continue
                # Make an edge with an arc h → d for each word d that may be the head of the dependant's child.
                for d in range(pair.shape[1]):
                    if allowed[h + 1, d] and pair[left if head_is_right[r] else right, d] >= 0:
                        if len(edges):
                            on_left, on_right = (d, h) if head_is_right[r] else (h, d)
                            edges[n_edges, 0] = r
                            edges[n_edges, 1], edges[n_edges, 2] = pair[left, on_left], pair[right, on_right]
                            edges[n_edges, 3], edges[n_edges, 4] = h + 1, d + 1
                        n_edges += 1
            item_number += 1
            start[item_number] = n_edges


def split_by_heads(
    forest: Forest, head_is_right: BoolArray, position: IntArray, n: int, allowed: BoolArray | None = None
) -> ArcForest:
    """Split the items of a forest over n words by the head words that they may have.

    head_is_right: (R2,) whether the head of each binary rule is in the right child.
    position: (I,) the word, from 0, of every item over one word.
    allowed: (n + 1, n) whether trees may have the arc from each word, where 0 is the root, to word m + 1; None to allow
    all arcs.
    Raises ValueError if the forest is not valid or has unary rules, or if the columns do not fit it."""
    check_forest(forest)
    for edge in np.flatnonzero((forest.left >= 0) & (forest.right < 0))[:1]:
        raise ValueError(f"edge {edge} of the forest applies a unary rule, and dependency trees have none")
    is_binary = forest.left >= 0
    check_column("sides of heads", head_is_right, (np.size(head_is_right),), np.bool_)
    check_range("binary rules of the forest", forest.rule[is_binary], 0, len(head_is_right))
    check_column("positions of the forest's items", position, (forest.n_items,), np.int64)
    check_range("words of the forest's leaves", position[forest.item[~is_binary]], 0, n)
    if allowed is None:
        allowed = np.ones((n + 1, n), dtype=np.bool_)
    check_column("allowed arcs", allowed, (n + 1, n), np.bool_)
    is_root = np.zeros(forest.n_items, dtype=np.bool_)
    is_root[forest.root] = True
    # Number the pairs of an item and a head, count their edges, and then fill the edges.
    pair = np.full((forest.n_items, n), -1)
    start = np.zeros(pair.size + 1, dtype=np.int64)
    columns = (forest, head_is_right, allowed, is_root, position, pair, start)
    _split_edges(*columns, np.empty((0, 5), dtype=np.int64))
    item, head = np.nonzero(pair >= 0)
    start = start[: len(item) + 1]
    edges = np.full((start[-1], 5), -1)
    _split_edges(*columns, edges)
    rule, left, right, governor, dependant = np.ascontiguousarray(edges.T)
    root = np.flatnonzero(is_root[item])
    split = Forest(forest.symbol[item], start, rule, left, right, root, np.zeros(len(root), dtype=np.int64))
    return ArcForest(split, governor, dependant, head + 1)


@compiled
def _eisner(allowed: BoolArray, item_of: IntArray, edges: IntArray, start: IntArray) -> tuple[int, int]:
    """Count the items and edges of Eisner's chart, and fill its columns if `edges` has rows.

    Items over the words i ... j have four kinds.  Kind 0: the words after i are below i.  Kind 1: the words before j
    are below j.  Kind 2: as kind 0, and i governs j, which may get further children on its right.  Kind 3: as kind 1,
    and j governs i, which may get further children on its left.

    allowed: (n + 1, n) the allowed arcs.
    item_of: (4, n, n) gets the number of the item of each kind over the words i ... j; -1 if it cannot be derived.
    edges: (E, 4), all -1; gets left and right child, governor, dependant.  If it has no rows, edges are only counted.
    start: (I + 1,) gets the first edge of each item, if `edges` has rows."""
    n = allowed.shape[1]
    n_items = 0
    n_edges = 0
    for width in range(n):
        for i in range(n - width):
            j = i + width
            # Kinds 2 and 3 come first, because kinds 0 and 1 over the same words are made of them.
            for kind in (2, 3, 0, 1):
                before = n_edges
                # A single word is an item of the kinds 0 and 1, by an edge without children.
                if width == 0 and kind < 2:
                    n_edges += 1
                # Kinds 2 and 3 join items of the kinds 0 and 1 side by side, by the arc g → d.  Kinds 0 and 1 join the
                # item of an arc with the other children of its dependant.
                for q in range(i, j):
                    left = -1
                    right = -1
                    g = -1
                    d = -1
                    if kind >= 2:
                        g, d = (i, j) if kind == 2 else (j, i)
                        if allowed[g + 1, d]:
                            left, right = item_of[0, i, q], item_of[1, q + 1, j]
                    elif kind == 0:
                        left, right = item_of[2, i, q + 1], item_of[0, q + 1, j]
                    else:
                        left, right = item_of[1, i, q], item_of[3, q, j]
                    if left >= 0 and right >= 0:
                        if len(edges):
                            edges[n_edges, 0], edges[n_edges, 1] = left, right
                            if kind >= 2:
                                edges[n_edges, 2], edges[n_edges, 3] = g + 1, d + 1
                        n_edges += 1
                # Number the item, if it has an edge.
                item_of[kind, i, j] = -1
                if n_edges > before:
                    item_of[kind, i, j] = n_items
                    n_items += 1
                    if len(edges):
                        start[n_items] = n_edges
    # The last item is the whole sentence: word r, with its children on both sides, is below the root.
    for r in range(n):
        left, right = item_of[1, 0, r], item_of[0, r, n - 1]
        if allowed[0, r] and left >= 0 and right >= 0:
            if len(edges):
                edges[n_edges, 0], edges[n_edges, 1] = left, right
                edges[n_edges, 2], edges[n_edges, 3] = 0, r + 1
            n_edges += 1
    return n_items, n_edges


def build_projective(allowed: BoolArray) -> ArcForest:
    """Build the forest of all projective trees with one root; each tree has one derivation.

    allowed: (n + 1, n) whether trees may have the arc from each word, where 0 is the root, to word m + 1.
    Raises ValueError if the array has another shape."""
    n = np.shape(allowed)[-1] if np.ndim(allowed) else 0
    check_column("allowed arcs", allowed, (n + 1, n), np.bool_)
    item_of = np.full((4, n, n), -1, dtype=np.int64)
    n_items, n_edges = _eisner(allowed, item_of, np.empty((0, 4), dtype=np.int64), np.empty(0, dtype=np.int64))
    edges = np.full((n_edges, 4), -1, dtype=np.int64)
    start = np.zeros(n_items + 2, dtype=np.int64)
    item_of.fill(-1)
    _eisner(allowed, item_of, edges, start)
    start[-1] = n_edges
    left, right, governor, dependant = np.ascontiguousarray(edges.T)
    nothing = np.zeros(n_items + 1, dtype=np.int64)
    rule = np.zeros(n_edges, dtype=np.int64)
    forest = Forest(nothing, start, rule, left, right, np.array([n_items]), np.zeros(1, dtype=np.int64))
    return ArcForest(forest, governor, dependant, nothing)


class ArcPosteriors(NamedTuple):
    """The parts of the trees of T sentences, with posteriors that may be negative.

    arcs: the arcs, sorted by sentence, head and dependent.
    leaves: the symbols over words, which may occur several times, sorted by sentence.
    sign: (T,) the sign of the estimate of each sentence."""

    arcs: Parts
    leaves: Parts
    sign: IntArray


def compute_arc_posteriors(operators: ObservableOperators, arcs: ArcForest, sizes: IntArray) -> ArcPosteriors:
    """Compute the posteriors of the arcs of sentences, and of the symbols over their words.

    sizes: (T,) the number of words of each sentence.
    Raises ValueError if the arcs do not fit the forest and the sizes, and the errors of `inference.inside`."""
    forest = arcs.forest
    check_forest(forest)
    check_column("sizes of sentences", sizes, (forest.n_components,), np.int64)
    sentence = item_component(forest)
    edge_sentence = sentence[forest.item]
    of_none = np.append(sizes, 0)  # items of a forest without roots belong to no sentence
    for name, column, of_sentence in (
        ("governors", arcs.governor, edge_sentence),
        ("dependants", arcs.dependant, edge_sentence),
        ("heads", arcs.head, sentence),
    ):
        check_column(f"{name} of the forest", column, (len(of_sentence),), np.int64)
        check_range(f"{name} of the forest", column, -1, int(sizes.max(initial=0)) + 1)
        if (column > of_none[of_sentence]).any():
            raise ValueError(f"{name} of the forest are beyond the words of their sentence")
    inner = inside(operators, forest)
    outer = outside(operators, forest, inner)
    by_edge = edge_marginals(operators, forest, inner, outer)
    # The posterior of an arc is the sum over its edges; for arcs from the root it is the sum over the roots.
    start = np.append(0, np.cumsum((sizes + 1) * sizes))  # the matrices of all sentences, one after the other
    is_arc = (arcs.governor > 0) & (arcs.dependant > 0)
    at = edge_sentence[is_arc]
    place = start[at] + arcs.governor[is_arc] * sizes[at] + arcs.dependant[is_arc] - 1
    mu = np.bincount(place, by_edge[is_arc], minlength=start[-1]).astype(float)
    of_roots = marginals(operators, forest, inner, outer)[forest.root]
    mu += np.bincount(start[forest.component] + arcs.head[forest.root] - 1, of_roots, minlength=start[-1])
    found = np.flatnonzero(mu)
    which = range_of(start, found)
    row, column = np.divmod(found - start[which], sizes[which])
    leaf = np.flatnonzero(forest.left < 0)
    item = forest.item[leaf]
    word = arcs.head[item]
    return ArcPosteriors(
        Parts(which, row, column + 1, np.zeros_like(found), mu[found]),
        Parts(sentence[item], word, word, forest.symbol[item], by_edge[leaf]),
        total_weight(operators, forest, inner).sign,
    )


def make_arc_matrix(arcs: Parts, n: int) -> FloatArray:
    """Make the matrix (n + 1, n) of the posteriors of arcs from each word, where 0 is the root, to word m + 1."""
    matrix = np.zeros((n + 1, n))
    matrix[arcs.begin, arcs.end - 1] = arcs.posterior
    return matrix


def find_n_best_heads(weights: FloatArray, n_best: int) -> list[tuple[int, ...]]:
    """List the heads of up to `n_best` projective trees, by falling sum of their arcs' weights.

    weights: (n + 1, n) the weight of the arc from each word, where 0 is the root, to word m + 1; trees have only arcs
    with positive weights.
    Raises ValueError if the weights have another shape."""
    arcs = build_projective(np.asarray(weights) > 0)
    weight = np.zeros(arcs.forest.n_edges)  # those without an arc have no weight
    has_arc = arcs.governor >= 0
    weight[has_arc] = weights[arcs.governor[has_arc], arcs.dependant[has_arc] - 1]
    derivations = n_best_derivations(arcs.forest, weight, n_best)
    edges, start = derivations.edges
    tree = np.repeat(np.arange(len(derivations)), np.diff(start))[has_arc[edges]]
    edge = edges[has_arc[edges]]
    heads = np.zeros((len(derivations), weights.shape[1]), dtype=np.int64)
    heads[tree, arcs.dependant[edge] - 1] = arcs.governor[edge]
    return list(map(tuple, heads.tolist()))


def find_best_heads(weights: FloatArray) -> tuple[int, ...] | None:
    """Find the heads of the tree with one root, projective or not, whose arcs have the largest sum of weights.

    weights: (n + 1, n) the weight of the arc from each word, where 0 is the root, to word m + 1; the tree has only arcs
    with positive weights.
    Returns None if there is no tree.
    Raises ValueError if the weights have another shape."""
    import networkx as nx

    n = np.shape(weights)[-1] if np.ndim(weights) else 0
    check_column("weights of arcs", weights, (n + 1, n), np.float64)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(n + 1))
    one_root = weights.copy()
    one_root[0] -= n + weights.sum()  # a second arc from the root costs more than all other arcs gain
    for governor, dependant in zip(*np.nonzero(weights > 0), strict=True):
        graph.add_edge(int(governor), int(dependant) + 1, weight=float(one_root[governor, dependant]))
    try:
        tree = nx.maximum_spanning_arborescence(graph)
    except nx.NetworkXException:
        return None
    heads = [0] * n
    for governor, dependant in tree.edges:
        heads[dependant - 1] = governor
    return tuple(heads) if heads.count(0) == 1 else None
