"""Learn latent tree models from networkx graphs of any kind; compute probabilities of trees, and draw samples.

| here | long paper | meaning |
| --- | --- | --- |
| `score` | p(r_1 ... r_N) | p̂ of a tree with its observations; unknown observations are summed over |
| `marginals` | - | p(h \\| tree) of every node |
| `predict` | μ / p(tree) of a leaf's edges | p(x \\| tree) of every unknown observation |
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import counted
from spectral_latent.estimation import (
    EstimatorOptions,
    Listener,
    estimate,
    read_treebanks,
    silent,
)
from spectral_latent.files import (
    CompactOperators,
    Distinct,
    StoredModel,
    arrays_of,
    operators_from,
    plain_name,
    setting_from,
)
from spectral_latent.inference import ScaledVectors, Weight, inside, outside, sample_trees, total_weight, tree_weights
from spectral_latent.inspection import NamedOperators
from spectral_latent.model.features import Feature, place_of
from spectral_latent.model.training import GraphFormalism
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
from spectral_latent.trees.graphs import checked_graphs

if TYPE_CHECKING:  # importing networkx takes a quarter of a second
    import networkx as nx

__all__ = ["LatentTreeModel"]


@dataclass(frozen=True, eq=False, repr=False)
class LatentTreeModel(StoredModel):
    """A latent tree model over trees given as graphs; `trees.graphs` describes the graphs.

    A tree has weight zero if training had no such label or observation, or not such children of such a label.

    options: the settings that the model was learnt with.
    symbols: (S,) the label and the part that each symbol of the operators stands for.
    terminals: the observation that each terminal of the operators' leaf rules stands for.
    operators: the operators of S symbols.
    objective: the objective of EM at the start and after each iteration; empty for an estimator without EM.

    >>> import networkx as nx
    >>> graphs = []
    >>> for left, right in ["aa", "bb", "bb"]:
    ...     graph = nx.DiGraph([(0, 1), (0, 2)])
    ...     graph.add_node(0, label="pair")
    ...     graph.add_node(1, label="one", observation=left)
    ...     graph.add_node(2, label="one", observation=right)
    ...     graphs.append(graph)
    >>> model = LatentTreeModel.train(graphs, EstimatorOptions("em", n_states=1))
    >>> np.exp(model.score(graphs[:2]).log).round(3)
    array([0.111, 0.444])
    >>> graph.nodes[2]["observation"] = MISSING
    >>> {x: round(p, 3) for x, p in model.predict(graph)[2].items()}
    {'b': 0.667, 'a': 0.333}
    """

    kind: ClassVar[str] = "tree"

    options: EstimatorOptions
    symbols: list[Symbol]
    terminals: list[Hashable]
    operators: ObservableOperators
    objective: tuple[float, ...] = ()

    @property
    def sizes(self) -> str:
        """The sizes of the model."""
        states = counted(int(self.operators.states.max()), "state")
        terminals = counted(len(self.terminals), "terminal")
        return f"{counted(len(self.symbols), 'symbol')} of up to {states}, {terminals}"

    def __post_init__(self) -> None:
        if len(self.symbols) != self.operators.n_symbols:
            raise ValueError(f"{len(self.symbols)} symbols for operators of {self.operators.n_symbols}")
        if self.operators.rules.leaf[:, 1].max(initial=-1) >= len(self.terminals):
            raise ValueError("a rule has a terminal without a name")

    @staticmethod
    def train(
        graphs: Iterable[nx.DiGraph],
        options: EstimatorOptions | None = None,
        *,
        inside_features: Mapping[str, Feature] | None = None,
        outside_features: Mapping[str, Feature] | None = None,
        weights: Iterable[float] | None = None,
        jobs: int | None = 1,
        listener: Listener = silent,
    ) -> LatentTreeModel:
        """Learn a model from trees, with the features of `neighbourhoods` and the features that are given.

        Given the latent state of a node, its inside and outside features must be independent.  This is not checked.

        graphs: the trees, which are read once.
        options: the settings of the estimator; None for `EstimatorOptions()`.
        inside_features: functions (graph, node) → hashable, by name; they may use the node and all nodes below it.
        outside_features: functions (graph, node) → hashable, by name; they may use the node's label, and all nodes
            except the node and the nodes below it.
        weights: the number of trees that each tree counts as, at least 0; 1 if not given.
        jobs: the number of threads, on which the result does not depend.
        listener: a function that is told the progress of training.

        A symbol for a part of a node has the outside features of the node.  The rest of a node's children has the
        inside features of the first child in the rest.

        Raises GraphError if a graph is not a tree, an observation is missing, or a feature is NaN or unhashable.
        """
        formalism = GraphFormalism(inside_features or {}, outside_features or {})
        (treebank,) = read_treebanks(checked_graphs(graphs), [formalism], weights=weights, jobs=jobs)
        options = options or EstimatorOptions()
        estimated = estimate(treebank, options, jobs=jobs, listener=listener)
        return LatentTreeModel(
            options, formalism.symbols, formalism.terminals, estimated.operators, estimated.objective
        )

    def forest(self, graphs: Iterable[nx.DiGraph]) -> tuple[GraphTrees, Forest]:
        """Convert graphs to a forest with one component for each graph.

        An unknown observation has an edge for every observation that its symbol may have.

        graphs: the trees; observations may be `MISSING`.
        """
        encoded = from_networkx(graphs, self.symbols, self.terminals)
        trees = encoded.trees
        symbol = np.where(trees.symbol < len(self.symbols), trees.symbol, -1)
        known = SkeletalTrees(symbol, trees.left, trees.right, trees.terminal, trees.root)
        forest = Forest.of_trees(known, self.operators.rules)
        # Without unknown observations, `missing` is a number that no terminal has.
        missing = encoded.terminals.index(MISSING) if MISSING in encoded.terminals else len(encoded.terminals)
        return encoded, self._with_all_observations(forest, np.flatnonzero(trees.terminal == missing))

    def _with_all_observations(self, forest: Forest, items: IntArray) -> Forest:
        """Give items (n,) an edge for every leaf rule of their symbols that observes something."""
        leaf = self.operators.rules.leaf
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

    def score(self, graphs: Iterable[nx.DiGraph]) -> Weight:
        """Estimate the probabilities p̂ of T trees with their observations; unknown observations are summed over.

        graphs: the trees.

        Raises GraphError if a graph is not a tree.
        """
        return tree_weights(self.operators, self.forest(graphs)[1])

    def _posterior(self, graph: nx.DiGraph) -> tuple[GraphTrees, Forest, ScaledVectors, ScaledVectors]:
        """Compute inside and outside vectors of one tree.  Raises ValueError if it has weight zero."""
        encoded, forest = self.forest([graph])
        inside_vectors = inside(self.operators, forest)
        if not total_weight(self.operators, forest, inside_vectors).sign[0]:
            # The first node that no rule derives, or the root
            dead = np.append(np.flatnonzero(~inside_vectors.vectors.any(axis=1)), encoded.trees.root)[0]
            raise ValueError(f"the tree has weight zero: training had no node like {place_of(encoded, int(dead))}")
        return encoded, forest, inside_vectors, outside(self.operators, forest, inside_vectors)

    def marginals(self, graph: nx.DiGraph) -> dict[Hashable, FloatArray]:
        """Compute p(h | tree) of the latent states (m,) of every node.

        graph: the tree.

        Raises ValueError if the operators are not probabilities, or if the tree has weight zero.
        """
        if not self.operators.probabilities:
            raise ValueError("the model has no states, because its operators are not probabilities")
        encoded, _, inside_vectors, outside_vectors = self._posterior(graph)
        weights = inside_vectors.vectors * outside_vectors.vectors
        weights /= weights.sum(axis=1, keepdims=True)
        return {
            node: row[: self.operators.states[a]]
            for node, a, row in zip(encoded.nodes, encoded.trees.symbol, weights, strict=True)
            if self.symbols[a].part == "node"
        }

    def predict(self, graph: nx.DiGraph) -> dict[Hashable, dict[Hashable, float]]:
        """Estimate p̂(x | tree) of every observation that is `MISSING`, by node, likeliest first.

        The estimates for a node sum to one; if the operators are not probabilities, some may be negative.

        graph: the tree.

        Raises ValueError if the tree has weight zero.
        """
        encoded, forest, _, outside_vectors = self._posterior(graph)
        rules = self.operators.rules
        predicted: dict[Hashable, dict[Hashable, float]] = {}
        for item in np.flatnonzero(encoded.trees.is_leaf):
            if encoded.terminals[encoded.trees.terminal[item]] is MISSING:
                # Each edge observes one terminal; its weight is c∞ · β, up to a factor that all edges share.
                rule = forest.rule[forest.start[item] : forest.start[item + 1]]
                weights = self.operators.leaf[rule] @ outside_vectors.vectors[item]
                weights /= weights.sum()
                order = np.argsort(-weights, kind="stable")
                names = (self.terminals[x] for x in rules.leaf[rule[order], 1])
                predicted[encoded.nodes[item]] = dict(zip(names, weights[order].tolist(), strict=True))
        return predicted

    def sample(self, n: int, rng: np.random.Generator, max_nodes: int = 10_000) -> list[nx.DiGraph]:
        """Draw n independent trees, whose nodes 0, 1, ... have a latent `state` beside label and observation.

        n: the number of trees.
        rng: the source of random numbers.
        max_nodes: the largest number of nodes of an s-tree.

        Raises ValueError if the operators are not probabilities, or if an s-tree grows beyond `max_nodes` nodes.
        """
        trees, states = sample_trees(self.operators, n, rng, max_nodes)
        return to_networkx(trees, self.symbols, self.terminals, attributes={"state": states.tolist()})

    @property
    def named_operators(self) -> NamedOperators:
        """The operators, with the labels of nodes and their observations as names; see `inspection`."""
        names = [f"{label}" if part == "node" else f"{label}/{part}" for label, part in self.symbols]
        return NamedOperators(self.operators, names, [str(terminal) for terminal in self.terminals])

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model, its labels among them."""
        labels = dict.fromkeys(label for label, _ in self.symbols)
        return super().description | {"labels": [plain_name(label) for label in labels]}

    def contents(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Collect the arrays and the settings of the model's file."""
        settings = {
            "options": asdict(self.options),
            "symbols": [[plain_name(label), part] for label, part in self.symbols],
            "terminals": [plain_name(terminal) for terminal in self.terminals],
            "probabilities": self.operators.probabilities,
            "objective": list(self.objective),
        }
        return arrays_of("latent", CompactOperators.of(self.operators)), settings

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> LatentTreeModel:
        """Make a model of the contents of its file.

        arrays: the arrays of the file by their names.
        settings: the settings of the file.
        """
        symbols = setting_from("symbols", settings, Annotated[list[Symbol], Distinct()])
        terminals = setting_from("terminals", settings, Annotated[list[Hashable], Distinct()])
        options = setting_from("options", settings, EstimatorOptions)
        probabilities = setting_from("probabilities", settings, bool)
        objective = setting_from("objective", settings, tuple[float, ...])
        operators = operators_from("latent", arrays, len(terminals), probabilities=probabilities).operators
        return LatentTreeModel(options, symbols, terminals, operators, objective)
