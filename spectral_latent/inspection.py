"""Tell what the latent states of a model stand for: their words, their rules and their places.

| here | meaning |
| --- | --- |
| n(h \\| a) | the expected number of nodes of symbol a in state h in a random tree |
| p(h \\| a) | `share`: n(h \\| a) / Σ n(h' \\| a) |
| p(x \\| h, a) | the probability of a word, a rule or a place, given the state |
| p(x \\| h, a) log (p(x \\| h, a) / p(x \\| a)) | the part of x in the divergence of the state from its symbol |

Words, rules and places are ranked by their part in the divergence: the first ones are frequent in the state and rarer
in the other states of the symbol.  Those that are rarer in the state than in its symbol are left out.

`inference.mean_node_counts` computes the expectations n.  States of an anchor model have anchors and words alone.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from spectral_latent._compiled import TINY
from spectral_latent._names import printable
from spectral_latent.inference import mean_node_counts
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray

__all__ = [
    "Described",
    "NamedOperators",
    "anchor_rows",
    "anchor_table",
    "describe_states",
]

_TOP = "at the top"
_LEAST = 1e-4  # words, rules and places that are less likely are not listed
_Listed = list[tuple[str, FloatArray]]  # names, each with its probability in each of m states


class NamedOperators(NamedTuple):
    """Operators with names for their symbols and terminals.

    operators: operators of S symbols over T terminals.
    symbols: (S,) the names of the symbols.
    terminals: (T,) the names of the terminals."""

    operators: ObservableOperators
    symbols: Sequence[str]
    terminals: Sequence[str]

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


class Described(NamedTuple):
    """A latent state in words.  Names come with their probabilities in the state, the most typical of the state first.

    state: the number of the state, from 0.
    frequency: the expected number of nodes of the symbol in a tree.
    share: the share of these nodes that are in the state.
    places: places of the state: rules with the symbol as a child, in brackets; and the top of the tree."""

    symbol: str
    state: int
    frequency: float
    share: float
    words: list[tuple[str, float]]
    rules: list[tuple[str, float]]
    places: list[tuple[str, float]]


def _list_names(named: NamedOperators, nodes: FloatArray) -> tuple[list[_Listed], list[_Listed], list[_Listed]]:
    """List the words and rules of each symbol, with their probabilities, and its places, with their expected nodes.

    nodes: (S, M) the expected number of nodes of each symbol in each state."""
    operators = named.operators
    m = operators.states.tolist()
    words: list[_Listed] = [[] for _ in m]
    rules: list[_Listed] = [[] for _ in m]
    places: list[_Listed] = [[] for _ in m]
    for (a, x), row in zip(operators.rules.leaf.tolist(), operators.leaf, strict=True):
        words[a].append((named.terminals[x], row[: m[a]]))
    for rule, tensor in zip(operators.rules.binary.tolist(), operators.binary, strict=True):
        a, b, c = rule
        parent, left, right = (named.symbols[symbol] for symbol in rule)
        rules[a].append((named.rule(rule), tensor.sums()))
        of_parent = nodes[a, : m[a]]
        places[b].append((f"{parent} → [{left}] {right}", of_parent @ tensor.apply_right(np.ones(m[c]))))
        places[c].append((f"{parent} → {left} [{right}]", of_parent @ tensor.apply_left(np.ones(m[b]))))
    for (a, b), matrix in zip(operators.rules.unary.tolist(), operators.unary, strict=True):
        rules[a].append((named.rule((a, b)), matrix[: m[a]].sum(axis=1)))
        places[b].append((f"{named.symbols[a]} → [{named.symbols[b]}]", nodes[a] @ matrix[:, : m[b]]))
    for a, at_root in enumerate(operators.root):
        places[a].append((_TOP, at_root[: m[a]]))
    return words, rules, places


def _ranked(listed: _Listed, share: FloatArray, most: int) -> list[list[tuple[str, float]]]:
    """Rank names for each of m states by their part in the divergence of the state from the mean.

    share: (m,) the share of each state."""
    p = np.array([of_state for _, of_state in listed]).reshape(-1, len(share))
    mean = p @ share
    ranked = []
    for column in p.T:
        likely = np.flatnonzero(column > _LEAST)
        # Names that are as frequent in the state as in its symbol gain a little, and are ranked by their probability.
        gain = column[likely] * (1e-3 + np.log(column[likely] / mean[likely])) if len(share) > 1 else column[likely]
        best = likely[np.argsort(-gain, kind="stable")[:most]]
        ranked.append([(listed[row][0], float(column[row])) for row in best.tolist() if gain[likely == row] > 0])
    return ranked


def _with_probabilities(named: NamedOperators) -> NamedOperators:
    """Divide probabilities by their sums.  Raises ValueError if the numbers of the operators are not probabilities."""
    if not named.operators.probabilities:
        raise ValueError(
            "the model has directions of a latent space and no states; the estimator `moments` finds the states of a "
            "spectral model"
        )
    return named._replace(operators=ObservableOperators.probabilities_of(named.operators))


def describe_states(named: NamedOperators, n: int = 8) -> Iterator[list[Described]]:
    """Describe the states of every symbol, the most frequent symbol first: one list for each symbol.

    n: the largest number of words, rules and places of a state.

    Raises ValueError if the numbers are not probabilities, or if trees are infinite on average.

    >>> from spectral_latent.trees import Rules
    >>> rules = Rules(np.array([[1, 0], [1, 1], [1, 2]]), np.empty((0, 2), int), np.array([[0, 1, 1]]))
    >>> leaf = np.array([[0.75, 0.0], [0.0, 0.75], [0.25, 0.25]])
    >>> from spectral_latent.operators import Tensor, Tensors
    >>> pair = Tensors.of([Tensor.of_dense(np.array([[[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]))])
    >>> operators = ObservableOperators(
    ...     rules, np.array([2, 2]), np.array([[1.0, 0.0], [0.0, 0.0]]), leaf, np.empty((0, 2, 2)), pair, True)
    >>> named = NamedOperators(operators, ["S", "N"], ["cat", "dog", "it"])
    >>> for state in next(describe_states(named, 1)):
    ...     print(state.symbol, state.state, state.share, state.words, state.places)
    N 0 0.5 [('cat', 0.75)] [('S → [N] N', 1.0)]
    N 1 0.5 [('dog', 0.75)] [('S → N [N]', 1.0)]
    """
    named = _with_probabilities(named)
    nodes = mean_node_counts(named.operators)
    frequency = nodes.sum(axis=1)
    listed = _list_names(named, nodes)
    for a in np.argsort(-frequency, kind="stable").tolist():
        if not frequency[a] > 0.0:
            continue
        of_state = nodes[a, : named.operators.states[a]]
        share = of_state / frequency[a]
        words, rules, places = (of_symbols[a] for of_symbols in listed)
        # p(x | h, a) of a place is the part of the expected nodes in state h that come from the place.
        places = [(name, n_nodes / np.maximum(of_state, TINY)) for name, n_nodes in places]
        ranked = zip(*(_ranked(each, share, n) for each in (words, rules, places)), strict=True)
        yield [
            Described(named.symbols[a], h, float(frequency[a]), float(share[h]), *lists)
            for h, lists in enumerate(ranked)
        ]


# States of anchor models


def anchor_rows(model: Any, top: int = 10) -> list[dict[str, Any]]:
    """List the states of an `AnchorHMM` in their order, as Stratos et al. (2016) do in Table 3.

    A row has the state's number, its anchor, its label or None, its share of all tokens, and its likeliest words with
    o(x | h)."""
    labels = model.labels or (None,) * model.n_states
    columns = zip(model.anchors, labels, model.state_prior.tolist(), map(dict, model.top_words(top)), strict=True)
    names = ("state", "anchor", "label", "share", "words")
    return [dict(zip(names, (state, *column), strict=True)) for state, column in enumerate(columns)]


def anchor_table(model: Any, top: int = 10) -> str:
    """Format the states as lines of text, with shares in percent, and with labels if there are any."""
    rows = [("state", "anchor", "" if model.labels is None else "label", "share", "top words")]
    for row in anchor_rows(model, top):
        words = ", ".join(f"{printable(word)} {p:.3f}" for word, p in row["words"].items() if p >= 0.0005)
        label = "" if model.labels is None else printable(str(row["label"]))
        rows.append((str(row["state"]), printable(row["anchor"]), label, f"{100 * row['share']:.1f}", words))
    anchors, labels = (max(len(row[i]) for row in rows) for i in (1, 2))
    labels += 2 if labels else 0
    return "\n".join(
        f"{state:>5}  {anchor:<{anchors}}  {label:<{labels}}{share:>5}  {words}".rstrip()
        for state, anchor, label, share, words in rows
    )
