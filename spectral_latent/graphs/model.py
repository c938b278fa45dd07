"""Learn latent tree models from networkx graphs of any kind; compute probabilities of trees, and draw samples.

| here | long paper | meaning |
| --- | --- | --- |
| `score` | p(r_1 ... r_N) | p̂ of a tree with its observations; unknown observations are summed over |
| `marginals` | - | p(h \\| tree) of every node |
| `predict` | μ / p(tree) of a leaf's edges | p(x \\| tree) of every unknown observation |
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from spectral_latent._options import checked, counted
from spectral_latent.estimation import Estimator, Listener, Spectral, estimate, read_treebanks, silent
from spectral_latent.files import Axes, are_distinct, plain
from spectral_latent.graphs.training import Feature, GraphFormalism, place_of
from spectral_latent.inference import ScaledVectors, edge_marginals, inside, outside, state_posteriors, total_weight
from spectral_latent.inspection import NamedOperators
from spectral_latent.model import LatentTreeModel, Member
from spectral_latent.model.parts import WeighedForest
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import (
    MISSING,
    FloatArray,
    Forest,
    GraphTrees,
    IntArray,
    SkeletalTrees,
    Symbol,
    from_networkx,
    to_networkx,
)
from spectral_latent.trees.graphs import check_graphs

if TYPE_CHECKING:  # importing networkx takes a quarter of a second
    import networkx as nx


@dataclass(frozen=True, eq=False, repr=False)
class GraphGrammar(Member["nx.DiGraph", "nx.DiGraph"]):
    """The operators of trees given as graphs, and the meaning of their symbols and terminals.

    symbols: (S,) the label and the part that each symbol of the operators stands for.
    terminals: the observation that each terminal of the operators' leaf rules stands for.
    objective: the objective of EM at the start and after each iteration; empty for an estimator without EM."""

    options: Estimator
    symbols: Annotated[list[Symbol], are_distinct]
    terminals: Annotated[list[Hashable], are_distinct]
    latent: ObservableOperators
    objective: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.symbols) != self.latent.n_symbols:
            raise ValueError(f"{len(self.symbols)} symbols for operators of {self.latent.n_symbols}")
        if self.latent.rules.leaf[:, 1].max(initial=-1) >= len(self.terminals):
            raise ValueError("a rule has a terminal without a name")

    @property
    def sizes(self) -> str:
        """The numbers of symbols, states and terminals."""
        states = counted(int(self.latent.states.max()), "state")
        terminals = counted(len(self.terminals), "terminal")
        return f"{counted(len(self.symbols), 'symbol')} of up to {states}, {terminals}"

    def encode(self, graphs: Iterable[nx.DiGraph]) -> tuple[GraphTrees, Forest]:
        """Convert graphs to s-trees, and to a forest with one component for each graph.

        A `MISSING` observation has an edge for every observation that its symbol may have."""
        encoded = from_networkx(graphs, self.symbols, self.terminals)
        trees = encoded.trees
        symbol = np.where(trees.symbol < len(self.symbols), trees.symbol, -1)
        known = SkeletalTrees(symbol, trees.left, trees.right, trees.terminal, trees.root)
        forest = Forest.of_trees(known, self.latent.rules)
        # Without unknown observations, `missing` is a number that no terminal has.
        missing = encoded.terminals.index(MISSING) if MISSING in encoded.terminals else len(encoded.terminals)
        return encoded, self._with_all_observations(forest, np.flatnonzero(trees.terminal == missing))

    def _with_all_observations(self, forest: Forest, items: IntArray) -> Forest:
        """Give items (n,) an edge for every leaf rule of their symbols that observes something."""
        leaf = self.latent.rules.leaf
        nothing = self.terminals.index(None) if None in self.terminals else -1
        rules = np.flatnonzero(leaf[:, 1] != nothing)
        # Rules are in the order of their symbols: the rules of items[i] are rules[first[i]] ... rules[end[i] - 1].
        first, end = (np.searchsorted(leaf[rules, 0], forest.symbol[items], side) for side in ("left", "right"))
        # Repeat the only edge of an item as often as the item has rules, and give each copy one of the rules.
        count = np.ones(forest.n_items, dtype=np.int64)
        count[items] = end - first
        start = np.concatenate([[0], np.cumsum(count)])
        rule, left, right = (np.repeat(column, count) for column in (forest.rule, forest.left, forest.right))
        for item, i, j in zip(items, first, end, strict=True):
            rule[start[item] : start[item + 1]] = rules[i:j]
        return forest._replace(start=start, rule=rule, left=left, right=right)

    def chart(self, inputs: Sequence[nx.DiGraph]) -> WeighedForest:
        """Build the forest of graphs, with a component for each; a `MISSING` observation has an edge for each value."""
        return WeighedForest(self.latent, self.encode(inputs)[1])

    def forest_of(self, trees: Sequence[nx.DiGraph]) -> WeighedForest:
        """Build the forest of graphs, as `chart` does."""
        return self.chart(trees)

    def gains(self, weighed: WeighedForest) -> FloatArray:
        """Compute the gain (E,) of each edge: its posterior, so that the likeliest observations are found.

        weighed: the forest of one or more trees, with E edges."""
        operators, forest = weighed.operators, weighed.forest
        inner = inside(operators, forest)
        return np.abs(edge_marginals(operators, forest, inner, outside(operators, forest, inner)))

    def output(self, tree: SkeletalTrees, given: nx.DiGraph | None = None) -> nx.DiGraph:
        """Make a graph of an s-tree, or fill in the observations that a graph lacks.

        given: the graph whose observations may be `MISSING`; None for an s-tree that was drawn."""
        if given is None:
            (graph,) = to_networkx(tree, self.symbols, self.terminals)
            return graph
        graph = given.copy()
        for node, terminal in zip(from_networkx([given]).nodes, tree.terminal.tolist(), strict=True):
            if terminal >= 0 and graph.nodes[node].get("observation") is MISSING:
                graph.nodes[node]["observation"] = self.terminals[terminal]
        return graph

    def drawn(self, tree: SkeletalTrees, states: IntArray) -> nx.DiGraph:
        """Make a graph of an s-tree that was drawn; its nodes have a latent `state` beside label and observation.

        states: (N,) the latent state of each node."""
        (graph,) = to_networkx(tree, self.symbols, self.terminals, attributes={"state": states.tolist()})
        return graph

    @property
    def named_operators(self) -> NamedOperators:
        """The operators, with the labels of nodes and their observations as names; see `inspection`."""
        names = [f"{label}" if part == "node" else f"{label}/{part}" for label, part in self.symbols]
        return NamedOperators(self.latent, names, [str(terminal) for terminal in self.terminals])


@dataclass(frozen=True, eq=False, repr=False)
class GraphModel(LatentTreeModel[GraphGrammar, "nx.DiGraph", "nx.DiGraph"]):
    """A latent tree model over trees given as graphs; `trees.graphs` describes the graphs.

    A tree has weight zero if training had no such label or observation, or not such children of such a label.  Unknown
    observations (`MISSING`) are summed over by `score` and `log_probabilities`, and filled in by `parse`.

    members: the operators, with the meaning of their symbols and terminals.

    >>> import networkx as nx
    >>> from spectral_latent.estimation import EM, Random
    >>> graphs = []
    >>> for left, right in ["aa", "bb", "bb"]:
    ...     graph = nx.DiGraph([(0, 1), (0, 2)])
    ...     graph.add_node(0, label="pair")
    ...     graph.add_node(1, label="one", observation=left)
    ...     graph.add_node(2, label="one", observation=right)
    ...     graphs.append(graph)
    >>> model = GraphModel.train(graphs, EM(Random(n_states=1)))
    >>> np.exp(model.score(graphs[:2]).log).round(3)
    array([0.111, 0.444])
    >>> graph.nodes[2]["observation"] = MISSING
    >>> {x: round(p, 3) for x, p in model.predict(graph)[2].items()}
    {'b': 0.667, 'a': 0.333}
    >>> model.parse(graph).tree.nodes[2]["observation"]
    'b'
    """

    kind: ClassVar[str] = "tree"

    members: Annotated[tuple[GraphGrammar, ...], Axes(1)]

    @staticmethod
    def train(
        graphs: Iterable[nx.DiGraph],
        options: Estimator | None = None,
        *,
        inside_features: Mapping[str, Feature] | None = None,
        outside_features: Mapping[str, Feature] | None = None,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
        listener: Listener = silent,
    ) -> GraphModel:
        """Learn a model from trees, with the features of `neighbourhoods` and the features that are given.

        Given the latent state of a node, its inside and outside features must be independent.  This is not checked.

        graphs: the trees, which are read once.
        options: the estimator; None for `Spectral()`.
        inside_features: functions (graph, node) → hashable, by name; they may use the node and all nodes below it.
        outside_features: functions (graph, node) → hashable, by name; they may use the node's label, and all nodes
            except the node and the nodes below it.

        A symbol for a part of a node has the outside features of the node.  The rest of a node's children has the
        inside features of the first child in the rest.

        Raises GraphError if a graph is not a tree, an observation is missing, or a feature is NaN or unhashable."""
        options = checked("options", options, Estimator | None) or Spectral()
        checked("inside_features", inside_features, Mapping | None)
        checked("outside_features", outside_features, Mapping | None)
        formalism = GraphFormalism(inside_features or {}, outside_features or {})
        (treebank,) = read_treebanks(check_graphs(graphs), [formalism], weights=weights, jobs=jobs)
        estimated = estimate(treebank, options, jobs=jobs, listener=listener)
        names = formalism.symbols, formalism.terminals
        return GraphModel((GraphGrammar(options, *names, estimated.operators, estimated.objective),))

    def _posterior(self, graph: nx.DiGraph) -> tuple[GraphTrees, Forest, ScaledVectors, ScaledVectors]:
        """Compute inside and outside vectors of one tree.  Raises ValueError if it has weight zero."""
        grammar = self.grammar
        encoded, forest = grammar.encode([graph])
        inside_vectors = inside(grammar.latent, forest)
        if not total_weight(grammar.latent, forest, inside_vectors).sign[0]:
            # The first node that no rule derives, or the root
            dead = np.append(np.flatnonzero(~inside_vectors.vectors.any(axis=1)), encoded.trees.root)[0]
            raise ValueError(f"the tree has weight zero: training had no node like {place_of(encoded, int(dead))}")
        return encoded, forest, inside_vectors, outside(grammar.latent, forest, inside_vectors)

    def marginals(self, graph: nx.DiGraph) -> dict[Hashable, FloatArray]:
        """Compute p(h | tree) of the latent states (m,) of every node.

        Raises ValueError if the operators are not probabilities, or if the tree has weight zero."""
        grammar = self.grammar
        if not grammar.latent.probabilities:
            raise ValueError("the model has no states, because its operators are not probabilities")
        encoded, _, inside_vectors, outside_vectors = self._posterior(graph)
        posteriors = state_posteriors(inside_vectors, outside_vectors)
        return {
            node: row[: grammar.latent.states[a]]
            for node, a, row in zip(encoded.nodes, encoded.trees.symbol, posteriors, strict=True)
            if grammar.symbols[a].part == "node"
        }

    def predict(self, graph: nx.DiGraph) -> dict[Hashable, dict[Hashable, float]]:
        """Estimate p̂(x | tree) of every observation that is `MISSING`, by node, likeliest first.

        The estimates for a node sum to one; if the operators are not probabilities, some may be negative.

        Raises ValueError if the tree has weight zero."""
        encoded, forest, _, outside_vectors = self._posterior(graph)
        grammar = self.grammar
        rules = grammar.latent.rules
        predicted: dict[Hashable, dict[Hashable, float]] = {}
        for item in np.flatnonzero(encoded.trees.is_leaf):
            if encoded.terminals[encoded.trees.terminal[item]] is MISSING:
                # Each edge observes one terminal; its weight is c∞ · β, up to a factor that all edges share.
                rule = forest.rule[forest.start[item] : forest.start[item + 1]]
                weights = grammar.latent.leaf[rule] @ outside_vectors.vectors[item]
                weights /= weights.sum()
                order = np.argsort(-weights, kind="stable")
                names = (grammar.terminals[x] for x in rules.leaf[rule[order], 1])
                predicted[encoded.nodes[item]] = dict(zip(names, weights[order].tolist(), strict=True))
        return predicted

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model, its labels among them."""
        labels = dict.fromkeys(label for label, _ in self.grammar.symbols)
        return super().description | {"labels": plain(list(labels))}
