"""Hold what a grammar learns from trees as sums over trees, so that single trees are added and taken away.

| here | meaning |
| --- | --- |
| θ | the probabilities of the start, by which states are expected; they do not change |
| n_t(r) | the number of times that tree t has rule r |
| n_t(r, h) | the expected number with the states h, under θ |
| `observed` Σ_t n_t(r), `expected` Σ_t n_t(r, h) | all that the grammar is estimated from, as by one iteration of EM |

A rule that the start lacks has the same probability in all states, so that the rest of a tree decides about its states.
A symbol that the start lacks has one state.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import numpy as np

from spectral_latent.estimation import Treebank, mix_with_mean, start_again
from spectral_latent.files import CompactOperators
from spectral_latent.grammar.latent_grammar import LatentGrammar, prepare_grammar, spelling_of
from spectral_latent.inference import expected_counts
from spectral_latent.lexicon import Lexicon, WordCounts
from spectral_latent.operators import Counts, ExpectedCounts, ObservableOperators, Tensor, Tensors
from spectral_latent.trees import Forest, IntArray, Rules, SkeletalTrees, Vocabulary

_SHARE = 0.2  # of the mean over the states of a symbol in the probabilities of each

Grammar = TypeVar("Grammar", bound=LatentGrammar[Any, Any, Any, Any, Any])


class GrammarSums(Generic[Grammar]):
    """The sums from which a grammar is estimated.

    start: the grammar whose states and spelling model are used.
    symbols: the symbols in the order of their numbers: those of the start, and later ones.
    words: the words in the order of their numbers: those of the start, and later ones.

    Raises ValueError for a grammar whose estimates are not probabilities."""

    def __init__(self, start: Grammar) -> None:
        if not start.probabilities:
            raise ValueError(
                f"the states of {start.options.estimator!r} are not expected under probabilities; choose the preset "
                f"'fast' or 'accurate'"
            )
        self.start = start
        self.symbols: Vocabulary[Any] = Vocabulary(start.symbols)
        self.words: Vocabulary[str] = Vocabulary(start.lexicon.words)
        operators = start.operators
        of_words = operators.rules.leaf[:, 1] < start.n_known  # signatures are made anew
        operators = operators.with_leaf_rules(operators.rules.leaf[of_words], operators.leaf[of_words])
        theta = replace(_with_roots(start_again(operators)), singular_values=None)
        root, leaf, unary, data = map(np.zeros_like, (theta.root, theta.leaf, theta.unary, theta.binary.data))
        self._theta = theta
        self._expected = ExpectedCounts(theta.rules, theta.states, root, leaf, unary, theta.binary.with_data(data))
        none = SkeletalTrees.of([], left=[], right=[], terminal=[], root=[])
        self._observed = Counts.of_trees(none)
        self._seen = WordCounts.of(none.symbol, none.terminal, np.zeros(0, dtype=np.bool_))

    def add(self, trees: SkeletalTrees, weight: float = 1.0) -> None:
        """Add trees, or take them away.

        trees: s-trees with the numbers of `symbols` and `words`.
        weight: the number of times that each tree is added; -1 to take trees away that were added."""
        times = np.full(len(trees.root), weight)
        observed = Counts.of_trees(trees, times)
        self._extend(observed)
        found = expected_counts(self._theta, Forest.of_trees(trees, self._theta.rules), times)
        self._expected = self._expected + found
        self._observed = self._observed + observed
        leaf = trees.is_leaf
        opens = trees.first_leaf[leaf] == 0
        words = WordCounts.of(trees.symbol[leaf], trees.terminal[leaf], opens, times[trees.tree[leaf]])
        symbol, word, opens, times = WordCounts.total([self._seen, words])
        is_left = times > 0.0
        self._seen = WordCounts(symbol[is_left], word[is_left], opens[is_left], times[is_left])

    def _extend(self, observed: Counts) -> None:
        """Let the start have all rules and symbols of some counts."""
        rules, theirs = self._theta.rules, observed.rules
        missing = [
            rows[Rules.find(known, rows) < 0]
            for known, rows in ((rules.leaf, theirs.leaf), (rules.unary, theirs.unary), (rules.binary, theirs.binary))
        ]
        if any(map(len, missing)) or len(self.symbols) > self._theta.n_symbols:
            self._theta = _with_roots(_with_rules(self._theta, missing, len(self.symbols), 1.0))
            self._expected = _with_rules(self._expected, missing, len(self.symbols), 0.0)

    def estimate(self) -> Grammar:
        """Estimate the grammar of all trees.

        Raises EstimationError if there are none."""
        start = self.start
        kind = type(start)
        rules, symbol, terminal = _numbered_anew(self._observed)
        counts = self._observed.restrict(rules, symbol, terminal)
        expected = self._expected.restrict(rules, symbol, terminal)
        symbols = [self.symbols.names[a] for a in symbol.tolist()]
        words = [self.words.names[x] for x in terminal.tolist()]
        tags = sorted({*start.tags, *(kind.tag_of(symbols[a]) for a in np.unique(rules.leaf[:, 0]).tolist())})
        spelling = start.lexicon.spelling
        if spelling is not None and tags != start.tags:
            tag_of_symbol = Vocabulary(tags).numbers(map(kind.tag_of, self.symbols))
            spelling = spelling_of(self.words.names, self._seen, tag_of_symbol, len(tags))
        lexicon = Lexicon(words, spelling)
        training = prepare_grammar(kind, symbols, Treebank([], counts), lexicon, tags, start.options)
        latent = mix_with_mean(expected.counts(), counts, _SHARE, training.treebank.priors)
        compact = CompactOperators.apart(ObservableOperators.probabilities_of(latent))
        return replace(training.coarse, latent=compact)


def _with_roots(operators: ObservableOperators) -> ObservableOperators:
    """Let each symbol be a root: one that never is has the same weight in all states."""
    has_state = np.arange(operators.root.shape[1]) < operators.states[:, None]
    is_root = operators.root.any(axis=1, keepdims=True)
    return replace(operators, root=np.where(is_root, operators.root, has_state / operators.states[:, None]))


Table = TypeVar("Table", ObservableOperators, ExpectedCounts)


def _with_rules(table: Table, missing: Sequence[IntArray], n_symbols: int, value: float) -> Table:
    """Add rules whose numbers are all the same, and symbols of one state, to a table."""
    width = table.root.shape[1]
    states = np.append(table.states, np.ones(n_symbols - len(table.states), dtype=np.int64))
    has_state = (np.arange(width) < states[:, None]).astype(np.float64)
    leaf, unary, binary = missing
    tensors = []
    for rule in binary:
        first, second, third = (np.full((1, m), value) for m in states[rule].tolist())
        tensors.append(Tensor(first, second, third))
    further = replace(
        table,
        rules=Rules(leaf, unary, binary),
        states=states,
        root=np.zeros((n_symbols, width)),
        leaf=has_state[leaf[:, 0]] * value,
        unary=value * has_state[unary[:, 0], :, None] * has_state[unary[:, 1], None, :],
        binary=Tensors.of(tensors),
    )
    return table.merge(further)


def _numbered_anew(counts: Counts) -> tuple[Rules, IntArray, IntArray]:
    """Number the symbols and the terminals of all rules that occur without gaps.

    Returns these rules, and the symbols (S,) and the terminals (X,) by their new numbers."""
    leaf = counts.rules.leaf[counts.leaf[:, 0] > 0.0]
    unary = counts.rules.unary[counts.unary[:, 0, 0] > 0.0]
    binary = counts.rules.binary[counts.binary.data > 0.0]  # one number for each rule, because there is one state
    symbol = np.flatnonzero(counts.symbol > 0.0)
    terminal, number = np.unique(leaf[:, 1], return_inverse=True)
    anew = np.cumsum(counts.symbol > 0.0) - 1
    return Rules(np.stack([anew[leaf[:, 0]], number], axis=1), anew[unary], anew[binary]), symbol, terminal
