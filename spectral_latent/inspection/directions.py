"""Tell what the singular directions of a model without states stand for: words, rules and places that load on them.

| here | meaning |
| --- | --- |
| y, z | the projected inside and outside tree of a node, with E[y zᵀ \\| a] = I; see `estimation` |
| v(a) = E[z \\| a] | `below`: the sum of the inside vectors of all trees below a |
| w(a) = n(a) E[y \\| a] | `above`: the sum of the outside vectors of all trees around a |
| n(a) = v(a) · w(a) | the expected number of nodes of symbol a in a tree |
| p(x \\| a) | the probability of a word, a rule or a place, given the symbol |
| E[1(x) z_h \\| a] / √p(x \\| a) | the loading of a word or rule x on direction h |
| E[1(x) y_h \\| a] / (σ_h √p(x \\| a)) | the loading of a place x on direction h |

E[1(x) z \\| a] is the leaf operator of a word, and the operator of a rule applied to v of its children.  If words were
the only inside features, scaled by 1 / √p(x \\| a), the loadings of words would be the columns of U in Ω = U σ Vᵀ.

Where σ_h is zero, no place loads on direction h.  Where σ is not known, loadings of places are not divided by it.

Directions have no sign of their own: words with loadings of opposite signs stand at opposite ends.  The first direction
is common to nearly all nodes of a symbol.

v and w obey recursions over the rules.  Noise in the operators makes these diverge, so that v and w are scaled in every
round: n(a) becomes the number of the coarse grammar, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from spectral_latent.inference import mean_node_counts
from spectral_latent.inference.sums import sums_of_rules, until_still
from spectral_latent.inspection.named import LEAST, NamedOperators, parts_of_symbols
from spectral_latent.operators import ObservableOperators, row_sums
from spectral_latent.trees import FloatArray


class Direction(NamedTuple):
    """A direction of a latent space in words.  Names come with their loadings, the largest first, the least last.

    direction: the number of the direction, from 0, by falling singular value.
    frequency: the expected number of nodes of the symbol in a tree.
    singular_value: the singular value of the direction; None if the model has kept none.
    places: places that load on the direction: rules with the symbol as a child, in brackets; and the top of the tree.
    """

    symbol: str
    direction: int
    frequency: float
    singular_value: float | None
    words: list[tuple[str, float]]
    rules: list[tuple[str, float]]
    places: list[tuple[str, float]]


def _above(operators: ObservableOperators, below: FloatArray, above: FloatArray) -> FloatArray:
    """Compute w (S, M) of the next round from v and w."""
    m = operators.states
    following = operators.root.copy()
    for tensor, (a, b, c) in zip(operators.binary, operators.rules.binary.tolist(), strict=True):
        # The matrices lead from the parent to one child, with all trees below the other child.
        following[b, : m[b]] += above[a, : m[a]] @ tensor.apply_right(below[c, : m[c]])
        following[c, : m[c]] += above[a, : m[a]] @ tensor.apply_left(below[b, : m[b]])
    for matrix, (a, b) in zip(operators.unary, operators.rules.unary.tolist(), strict=True):
        following[b] += above[a] @ matrix
    return following


def _sums(named: NamedOperators) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve the recursions for v and w, (S, M) each, and compute n, (S,).  Raises ValueError if they diverge."""
    operators = named.operators
    nodes = None if named.coarse is None else mean_node_counts(named.coarse)[:, 0]
    leaves = row_sums(operators.rules.leaf[:, 0], operators.leaf, operators.n_symbols)

    def following(sums: FloatArray) -> FloatArray:
        """Compute v and w of the next round, (2, S, M)."""
        sums = np.stack([leaves + sums_of_rules(operators, sums[0]), _above(operators, *sums)])
        if nodes is None:
            return sums
        # The same factor for v and w makes v · w the numbers of nodes of the coarse grammar.
        found = sums.prod(axis=0).sum(axis=1)
        return np.asarray(sums * np.sqrt(np.divide(nodes, found, np.zeros_like(nodes), where=found > 0))[:, None])

    # Symbols without leaves or roots begin with the first direction, which is common to their nodes.
    first = np.eye(1, operators.root.shape[1])
    start = np.stack([leaves, operators.root])
    below, above = until_still(following, np.where(start.any(axis=2, keepdims=True), start, first))
    found: FloatArray = (below * above).sum(axis=1)
    if not np.isfinite(found).all():
        raise ValueError("the operators have no expected numbers of nodes; train the model on more trees")
    return below, above, found


def _loadings(names: Sequence[str], joint: FloatArray, p: FloatArray, most: int) -> list[list[tuple[str, float]]]:
    """List the names with the largest loadings of either sign for each of m directions.

    joint: (n, m) the mean of each direction's coordinate where the name occurs, times the name's probability.
    p: (n,) the probability of each name."""
    likely = np.flatnonzero(p > LEAST)
    loadings = joint[likely] / np.sqrt(p[likely])[:, None]
    listed = []
    for column in loadings.T:
        largest = np.argsort(-np.abs(column), kind="stable")[:most]
        largest = largest[np.argsort(-column[largest], kind="stable")]
        listed.append([(names[likely[row]], float(column[row])) for row in largest.tolist()])
    return listed


def describe_directions(named: NamedOperators, n: int = 8) -> Iterator[list[Direction]]:
    """Describe the directions of every symbol, the most frequent symbol first: one list for each symbol.

    n: the largest number of words, rules and places of a direction.

    Raises ValueError if the numbers are probabilities of states, or if the operators have no expected numbers of nodes.

    >>> from spectral_latent.graphs import GraphModel
    >>> import networkx as nx
    >>> def pair(observation):
    ...     graph = nx.DiGraph([("top", "left"), ("top", "right")])
    ...     nx.set_node_attributes(graph, {"top": "pair", "left": "N", "right": "N"}, "label")
    ...     nx.set_node_attributes(graph, {"left": observation, "right": observation}, "observation")
    ...     return graph
    >>> model = GraphModel.train([pair("cat")] * 60 + [pair("dog")] * 40)
    >>> first = next(describe_directions(model.named_operators))[0]
    >>> first.symbol, round(first.frequency, 2), [word for word, _ in first.words]
    ('N', 2.0, ['cat', 'dog'])
    """
    operators = named.operators
    if operators.probabilities:
        raise ValueError("the model has states and no directions; `describe_states` describes them")
    below, above, nodes = _sums(named)
    sigma = operators.singular_values
    order = [a for a in np.argsort(-nodes, kind="stable").tolist() if nodes[a] > 0.0]
    for a, ((words, of_words), (rules, of_rules), (places, at_places)) in parts_of_symbols(named, order, below, above):
        m = int(operators.states[a])
        n_nodes = float(nodes[a])
        mean_y = above[a, :m] / n_nodes
        mean_z = below[a, :m]
        # E[1(x) y | a] of each place, and of the top of the tree; of words and rules, it is E[1(x) z | a].
        of_places = at_places / n_nodes
        scale = np.ones(m) if sigma is None else sigma[a, :m]
        scaled = np.divide(of_places, scale, out=np.zeros_like(of_places), where=scale > 0.0)
        lists = zip(
            _loadings(words, of_words, of_words @ mean_y, n),
            _loadings(rules, of_rules, of_rules @ mean_y, n),
            _loadings(places, scaled, of_places @ mean_z, n),
            strict=True,
        )
        yield [
            Direction(named.symbols[a], h, n_nodes, None if sigma is None else float(sigma[a, h]), *of_direction)
            for h, of_direction in enumerate(lists)
        ]
