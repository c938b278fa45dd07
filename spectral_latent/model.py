"""Latent tree models of any trees: networkx graphs in, operators from their moments, probabilities and samples out.

| here | long paper | meaning |
| --- | --- | --- |
| `score` | p(r_1 ... r_N) | p̂ of a tree with its observations; unknown ones are summed over |
| `marginals` | - | p(h | tree) of every node |
| `predict` | μ / p(tree) of a leaf's edges | p(x | tree) of every unknown observation |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from spectral_latent.estimation import (
    EstimatorOptions,
    FeatureColumns,
    Listener,
    Shard,
    Treebank,
    estimate,
    hash_columns,
    inside_templates,
    outside_templates,
    silent,
)
from spectral_latent.inference import ScaledVectors, Weight, inside, outside, sample_trees, total_weight, tree_weights
from spectral_latent.operators import (
    ObservableOperators,
    arrays_of,
    name_of,
    opened_model,
    operators_from,
    options_from,
    plain_name,
    save_model,
)
from spectral_latent.trees import (
    MISSING,
    BoolArray,
    FloatArray,
    Forest,
    GraphError,
    GraphTrees,
    IntArray,
    SkeletalTrees,
    Symbol,
    Vocabulary,
    from_networkx,
    to_networkx,
)
from spectral_latent.trees.graphs import Part, checked_name

if TYPE_CHECKING:  # importing it takes a quarter of a second
    import networkx as nx

__all__ = ["Feature", "LatentTreeModel", "neighbourhoods"]

Feature = Callable[["nx.DiGraph", Hashable], Hashable]
_KIND = "tree"


def neighbourhoods(trees: SkeletalTrees) -> tuple[dict[str, IntArray], dict[str, IntArray]]:
    """Inside and outside templates where labels say little: those of `estimation`, and what is observed nearby.

    Inside, the first and last leaf below; outside, the sibling's rule, and the leaves before and after.

    >>> tree = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> inner, outer = neighbourhoods(tree)
    >>> inner["last"], outer["before"], outer["after"]
    (array([5, 6, 6]), array([-1,  5, -1]), array([ 6, -1, -1]))
    """
    last = trees.follow(np.where(trees.right >= 0, trees.right, trees.left))
    sibling = np.where(trees.is_right_child, trees.left[trees.parent], trees.right[trees.parent])
    rule = hash_columns(trees.rule, trees.is_leaf + 2 * trees.is_unary)
    leaves = trees.terminal[trees.is_leaf]
    n_before = np.cumsum(trees.is_leaf)[last]  # leaves of all trees up to the last below the node
    opens, ends = trees.first_leaf == 0, last == last[trees.root][trees.tree]
    inner = {"first": trees.terminal[trees.follow(trees.left)], "last": trees.terminal[last]}
    outer = {
        "sibling": np.where((trees.parent < 0) | (sibling < 0), -1, hash_columns(rule[sibling], trees.is_right_child)),
        "before": np.where(opens, -1, leaves[n_before - trees.n_leaves - 1]),
        "after": np.where(ends, -1, leaves[np.minimum(n_before, len(leaves) - 1)]),
    }
    return inside_templates(trees) | inner, outside_templates(trees) | outer


@dataclass(frozen=True, eq=False)
class LatentTreeModel:
    """A latent tree model over trees given as graphs; see `trees.graphs` for what a graph must have.

    A label or an observation never seen, or a label with children that it never had, gives a tree the weight zero.
    symbols, terminals: what the numbers in the operators' rules stand for.

    >>> import networkx as nx
    >>> graphs = []
    >>> for left, right in ["aa", "bb", "bb"]:
    ...     graph = nx.DiGraph([(0, 1), (0, 2)])
    ...     graph.add_node(0, label="pair")
    ...     graph.add_node(1, label="one", observation=left)
    ...     graph.add_node(2, label="one", observation=right)
    ...     graphs.append(graph)
    >>> model = LatentTreeModel.fit(graphs, EstimatorOptions("em", states=1))
    >>> np.exp(model.score(graphs[:2]).log).round(3)
    array([0.111, 0.444])
    >>> graph.nodes[2]["observation"] = MISSING
    >>> {x: round(p, 3) for x, p in model.predict(graph)[2].items()}
    {'b': 0.667, 'a': 0.333}
    """

    options: EstimatorOptions
    symbols: list[Symbol]
    terminals: list[Hashable]
    operators: ObservableOperators

    def __post_init__(self) -> None:
        if len(self.symbols) != self.operators.n_symbols:
            raise ValueError(f"{len(self.symbols)} symbols for operators of {self.operators.n_symbols}")
        if self.operators.rules.leaf[:, 1].max(initial=-1) >= len(self.terminals):
            raise ValueError("a rule has a terminal without a name")

    @staticmethod
    def fit(
        graphs: Iterable[nx.DiGraph],
        options: EstimatorOptions | None = None,
        *,
        inside_features: Mapping[str, Feature] | None = None,
        outside_features: Mapping[str, Feature] | None = None,
        jobs: int = 1,
        listener: Listener = silent,
    ) -> LatentTreeModel:
        """Learn from trees, with features of `neighbourhoods` and functions (graph, node) → hashable besides.

        An inside feature may look at the node and all below it, an outside feature at all else and the node's label:
        that the two share no more than the latent state is what the method rests on, and is not checked.  Symbols
        that are a part of a node have the node's outside features; the rest of its children has the inside features
        of the first among them.

        Raises GraphError if a graph is no tree, an observation is missing, or a feature is NaN or unhashable.
        """
        options, graphs = options or EstimatorOptions(), _listed(graphs)
        read = from_networkx(graphs)
        trees = read.trees
        if MISSING in read.terminals:
            at = int(np.flatnonzero(trees.terminal == read.terminals.index(MISSING))[0])
            raise GraphError(f"{_where(read, at)}: its observation is missing, and training needs them all")
        is_node = np.array([symbol.part == "node" for symbol in read.symbols], dtype=bool)[trees.symbol]
        owner = trees.follow(np.where(is_node, -1, trees.parent))
        inner, outer = neighbourhoods(trees)
        for name, feature in (inside_features or {}).items():
            column = _column(name, feature, graphs, read, is_node)
            inner[f"given: {name}"] = np.where(is_node | (trees.left < 0), column, column[trees.left])
        for name, feature in (outside_features or {}).items():
            outer[f"given: {name}"] = _column(name, feature, graphs, read, is_node)[owner]
        treebank = Treebank.of([Shard.of(trees, FeatureColumns.of(inner, outer))], jobs=jobs)
        operators = estimate(treebank, options, jobs=jobs, listener=listener).operators
        return LatentTreeModel(options, read.symbols, read.terminals, operators)

    def forest(self, graphs: Iterable[nx.DiGraph]) -> tuple[GraphTrees, Forest]:
        """Trees, one component each; an unknown observation has an edge for every one that its symbol may have."""
        read = from_networkx(graphs, self.symbols, self.terminals)
        trees = read.trees
        symbol = np.where(trees.symbol < len(self.symbols), trees.symbol, -1)
        known = SkeletalTrees(symbol, trees.left, trees.right, trees.terminal, trees.root)
        forest = Forest.of_trees(known, self.operators.rules)
        unknown = read.terminals.index(MISSING) if MISSING in read.terminals else len(read.terminals)
        return read, self._opened(forest, np.flatnonzero(trees.terminal == unknown))

    def _opened(self, forest: Forest, items: IntArray) -> Forest:
        """The forest with all leaf rules of their symbols that observe something for the edges of the given items."""
        leaf = self.operators.rules.leaf
        nothing = self.terminals.index(None) if None in self.terminals else -1
        rules = np.flatnonzero(leaf[:, 1] != nothing)
        first, end = (np.searchsorted(leaf[rules, 0], forest.symbol[items], side) for side in ("left", "right"))
        count = np.ones(forest.n_items, dtype=np.int64)
        count[items] = end - first
        start = np.concatenate([[0], np.cumsum(count)])
        rule, left, right = (np.repeat(column, count) for column in (forest.rule, forest.left, forest.right))
        for item, i, j in zip(items, first, end, strict=True):
            rule[start[item] : start[item + 1]] = rules[i:j]
        return forest._replace(start=start, rule=rule, left=left, right=right)

    def score(self, graphs: Iterable[nx.DiGraph]) -> Weight:
        """Estimated probabilities p̂ of trees with their observations, as sign and log; unknown ones are summed over.

        Raises GraphError if a graph is no tree.
        """
        return tree_weights(self.operators, self.forest(graphs)[1])

    def _posterior(self, graph: nx.DiGraph) -> tuple[GraphTrees, Forest, ScaledVectors, ScaledVectors]:
        """One tree with its inside and outside vectors; ValueError if it has weight zero."""
        read, forest = self.forest([graph])
        inner = inside(self.operators, forest)
        if not total_weight(self.operators, forest, inner).sign[0]:
            dead = np.append(np.flatnonzero(~inner.vectors.any(axis=1)), read.trees.root)[0]
            raise ValueError(f"the tree has weight zero: what stands at {_where(read, int(dead))} was never seen")
        return read, forest, inner, outside(self.operators, forest, inner)

    def marginals(self, graph: nx.DiGraph) -> dict[Hashable, FloatArray]:
        """p(h | tree) of the latent states (m,) of every node.

        Raises ValueError if the operators are not probabilities, or if the tree has weight zero.
        """
        if not self.operators.probabilities:
            raise ValueError("only a model of probabilities has states, not operators in another basis")
        read, _, inner, outer = self._posterior(graph)
        weights = inner.vectors * outer.vectors
        weights /= weights.sum(axis=1, keepdims=True)
        return {
            node: row[: self.operators.states[a]]
            for node, a, row in zip(read.nodes, read.trees.symbol, weights, strict=True)
            if self.symbols[a].part == "node"
        }

    def predict(self, graph: nx.DiGraph) -> dict[Hashable, dict[Hashable, float]]:
        """p̂(x | tree) of every observation that is `MISSING`, by node, likeliest first.

        They sum to one; those of a model that is not of probabilities may be negative.
        Raises ValueError if the tree has weight zero.
        """
        read, forest, _, outer = self._posterior(graph)
        rules, predicted = self.operators.rules, {}
        for item in np.flatnonzero(read.trees.is_leaf):
            if read.terminals[read.trees.terminal[item]] is MISSING:
                rule = forest.rule[forest.start[item] : forest.start[item + 1]]
                weights = self.operators.leaf[rule] @ outer.vectors[item]
                weights /= weights.sum()
                order = np.argsort(-weights, kind="stable")
                names = (self.terminals[x] for x in rules.leaf[rule[order], 1])
                predicted[read.nodes[item]] = dict(zip(names, weights[order].tolist(), strict=True))
        return predicted

    def sample(self, n: int, rng: np.random.Generator, max_nodes: int = 10_000) -> list[nx.DiGraph]:
        """Independent trees, nodes 0, 1, ... with their latent `state` besides label and observation.

        Raises ValueError if the operators are not probabilities, or if an s-tree grows beyond `max_nodes` nodes.
        """
        trees, states = sample_trees(self.operators, n, rng, max_nodes)
        return to_networkx(trees, self.symbols, self.terminals, attributes={"state": states.tolist()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all.

        Raises ValueError if a label or an observation is not made of strings, numbers, None and tuples.
        """
        settings = {
            "kind": _KIND,
            "options": asdict(self.options),
            "symbols": [[plain_name(label), part] for label, part in self.symbols],
            "terminals": [plain_name(terminal) for terminal in self.terminals],
            "probabilities": self.operators.probabilities,
        }
        save_model(path, arrays_of("latent", self.operators), settings)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> LatentTreeModel:
        """Read a model.  Raises ModelFileError if the file is not a whole model of this kind and version."""
        with opened_model(path, _KIND) as (arrays, settings):
            symbols = [_symbol(*symbol) for symbol in settings["symbols"]]
            terminals = [name_of(terminal) for terminal in settings["terminals"]]
            if len(set(symbols)) < len(symbols) or len(set(terminals)) < len(terminals):
                raise ValueError("a name stands twice")
            options = options_from(EstimatorOptions, settings["options"])
            operators = operators_from("latent", arrays, probabilities=settings["probabilities"] is True)
            return LatentTreeModel(options, symbols, terminals, operators)


def _listed(graphs: Iterable[nx.DiGraph]) -> Iterable[nx.DiGraph]:
    """The graphs as something that can be read twice; one graph alone as it is, for `from_networkx` to refuse."""
    return graphs if hasattr(graphs, "nodes") else list(graphs)


def _where(read: GraphTrees, at: int) -> str:
    """Graph and node that a node of the s-trees is part of, for messages."""
    return f"graph {read.trees.tree[at] + 1}, node {read.nodes[at]!r}"


def _column(
    name: str, feature: Feature, graphs: Iterable[nx.DiGraph], read: GraphTrees, is_node: BoolArray
) -> IntArray:
    """The values of a feature as integers (N,); -1 at parts of nodes."""
    column = np.full(read.trees.n_nodes, -1, dtype=np.int64)
    values: Vocabulary[Hashable] = Vocabulary()
    for number, graph in enumerate(graphs):
        first, end = (0, *(read.trees.root + 1))[number : number + 2]
        for at in range(first, end):
            if is_node[at]:
                try:
                    value = feature(graph, read.nodes[at])
                except Exception as error:
                    error.add_note(f"in the feature {name!r} of {_where(read, at)}")
                    raise
                column[at] = values.add(checked_name(value, _where(read, at), f"feature {name!r}"))
    return column


def _symbol(label: Any, part: Any) -> Symbol:
    """A symbol as `save` wrote it."""
    if part not in get_args(Part):
        raise ValueError(f"{part!r} is no part of a node")
    return Symbol(name_of(label), part)
