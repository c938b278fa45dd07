"""The pruned chart against the full forest and the one engine."""

import time

import numpy as np
import pytest

from spectral_latent.grammar._coarse import CoarseGrammar, CoarseLeaves
from spectral_latent.grammar._inside_chart import InsideChart, LimitError, inside_chart
from spectral_latent.grammar.forests import SpanForest, prune_chart
from spectral_latent.inference import inside, marginals, outside, total_weight
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, IntArray
from tests.oracles import Lpcfg, Rule, all_rules

N_SYMBOLS, N_TERMINALS = 5, 4


def leaves_of(operators: ObservableOperators, terminals: IntArray, used: np.ndarray | None = None) -> CoarseLeaves:
    return CoarseLeaves.of(operators.rules.leaf, operators.leaf[:, 0], terminals, used)


def one_state(
    n_symbols: int, root: dict[int, float], leaf: dict[Rule, float], binary: dict[Rule, float]
) -> ObservableOperators:
    pi = [np.array([root.get(a, 0.0)]) for a in range(n_symbols)]
    q = {rule: np.array([weight]) for rule, weight in leaf.items()}
    t = {rule: np.full((1, 1, 1), weight) for rule, weight in binary.items()}
    return Lpcfg([1] * n_symbols, pi, q, {}, t).operators()


def random_grammar(rng: np.random.Generator) -> ObservableOperators:
    """A one-state grammar with a third of all binary rules."""
    rules = all_rules(N_SYMBOLS, N_TERMINALS)
    binary = {rule: rng.uniform(0.01, 0.2) for rule in rules["binary"] if rng.random() < 0.33}
    leaf = {(a, x): rng.uniform(0.01, 0.5) for a, x in rules["leaf"] if rng.random() < 0.7 or a == x}
    return one_state(N_SYMBOLS, {0: rng.uniform(0.1, 1.0), 1: rng.uniform(0.1, 1.0)}, leaf, binary)


def full_forest(operators: ObservableOperators, terminals: np.ndarray) -> tuple[Forest, list[tuple[int, int, int]]]:
    """Every item that can be built, and every way to build it, by definition."""
    rules, n = operators.rules, len(terminals)
    edges: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    number: dict[tuple[int, int, int], int] = {}
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            found: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
            if length == 1:
                for r, (a, x) in enumerate(rules.leaf.tolist()):
                    if x == terminals[i]:
                        found.setdefault((a, i, j), []).append((r, -1, -1))
            for r, (a, b, c) in enumerate(rules.binary.tolist()):
                for k in range(i + 1, j):
                    if (b, i, k) in number and (c, k, j) in number:
                        found.setdefault((a, i, j), []).append((r, number[b, i, k], number[c, k, j]))
            for item in sorted(found, reverse=True):  # symbols that may be roots come last
                number[item] = len(number)
            edges |= found
    names = list(number)
    tops = [number[a, 0, n] for a in range(N_SYMBOLS) if (a, 0, n) in number and operators.root[a, 0] > 0]
    flat = [edge for name in names for edge in edges[name]]
    rule, left, right = np.ascontiguousarray(np.array(flat).T)
    forest = Forest(
        symbol=np.array([a for a, _, _ in names]),
        start=np.concatenate([[0], np.cumsum([len(edges[name]) for name in names])]),
        rule=rule,
        left=left,
        right=right,
        root=np.array(sorted(tops)),
        component=np.zeros(len(tops), dtype=np.int64),
    )
    return forest, names


def posteriors(operators: ObservableOperators, forest: Forest) -> tuple[np.ndarray, float]:
    inner = inside(operators, forest)
    mu = marginals(operators, forest, inner, outside(operators, forest, inner))
    return mu, float(total_weight(operators, forest, inner).log[0])


def spans_of(operators: ObservableOperators, terminals: IntArray, beam: float, threshold: float) -> SpanForest | None:
    grammar = CoarseGrammar.of(operators, np.ones(N_SYMBOLS))
    chart = prune_chart(grammar, leaves_of(operators, terminals), beam, threshold)
    return None if chart is None else SpanForest.of([chart])


def built(operators: ObservableOperators, terminals: IntArray, beam: float, threshold: float) -> Forest | None:
    spans = spans_of(operators, terminals, beam, threshold)
    return None if spans is None else spans.forest


Item = tuple[int, int, int]  # symbol, begin and end
Edge = tuple[int, Item, Item]  # rule and children


def walked(operators: ObservableOperators, terminals: np.ndarray, threshold: float) -> dict[Item, dict[Edge, float]]:
    """The edges to keep of each item, with their posteriors: the walk from the widest span down, with dictionaries.

    Only items that are kept hand their outside scores on.
    """
    full, names = full_forest(operators, terminals)
    inner = inside(operators, full)
    score = dict(zip(names, np.ldexp(inner.vectors[:, 0], inner.exponents.astype(np.intc)).tolist(), strict=True))
    root, weights = operators.root[:, 0].tolist(), operators.packed.data.tolist()
    tops = [names[item] for item in full.root.tolist()]
    total = sum(score[top] * root[top[0]] for top in tops)
    above = dict.fromkeys(names, 0.0) | {top: root[top[0]] / total for top in tops}
    wanted = {max(tops, key=lambda top: above[top] * score[top])}
    kept: dict[Item, dict[Edge, float]] = {}
    for number, item in reversed(list(enumerate(names))):
        if item not in wanted and above[item] * score[item] <= threshold:
            continue
        edges: dict[Edge, float] = {}
        for edge in range(full.start[number], full.start[number + 1]):
            if full.left[edge] >= 0:
                rule, left, right = int(full.rule[edge]), names[full.left[edge]], names[full.right[edge]]
                above[left] += above[item] * weights[rule] * score[right]
                above[right] += above[item] * weights[rule] * score[left]
                edges[rule, left, right] = above[item] * weights[rule] * score[left] * score[right]
        likely = {edge: posterior for edge, posterior in edges.items() if posterior > threshold}
        kept[item] = likely or ({max(edges, key=edges.__getitem__): 0.0} if edges else {})
        wanted.update(child for _, *children in kept[item] for child in children)
    return kept


@pytest.mark.parametrize("threshold", [0.0, 1e-3, 0.05, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_pruning_keeps_the_edges_of_sufficient_posterior(seed: int, threshold: float) -> None:
    """Edge by edge, and no others; of an item without one the best edge stays, and at least the likeliest root."""
    rng = np.random.default_rng(700 + seed)  # no two edges are equally likely
    operators = random_grammar(rng)
    terminals = rng.integers(0, N_TERMINALS, 8)
    spans = spans_of(operators, terminals, beam=0.0, threshold=threshold)
    assert spans is not None
    forest, first, end, _ = spans
    names = list(zip(forest.symbol.tolist(), first.tolist(), end.tolist(), strict=True))
    found = {
        item: {
            (int(forest.rule[edge]), names[forest.left[edge]], names[forest.right[edge]])
            for edge in range(forest.start[number], forest.start[number + 1])
            if forest.left[edge] >= 0
        }
        for number, item in enumerate(names)
    }
    expected = walked(operators, terminals, threshold)
    assert found == {item: set(edges) for item, edges in expected.items()}


def beamed_items(
    operators: ObservableOperators, terminals: np.ndarray, prior: np.ndarray, beam: float
) -> dict[tuple[int, int, int], float]:
    """Inside scores of the items (symbol, begin, end) that a beam leaves, by CKY with dictionaries."""
    rules, n = operators.rules, len(terminals)
    kept: dict[tuple[int, int, int], float] = {}
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            scores = dict.fromkeys(range(N_SYMBOLS), 0.0)
            if length == 1:
                for (a, x), weight in zip(rules.leaf.tolist(), operators.leaf[:, 0].tolist(), strict=True):
                    scores[a] += weight * (x == terminals[i])
            for (a, b, c), weight in zip(rules.binary.tolist(), operators.packed.data.tolist(), strict=True):
                for k in range(i + 1, j):
                    scores[a] += weight * kept.get((b, i, k), 0.0) * kept.get((c, k, j), 0.0)
            merit = {a: score * prior[a] for a, score in scores.items()}
            best = max(merit.values())
            kept |= {(a, i, j): scores[a] for a in scores if merit[a] > beam * best}
    return kept


def scores_of(chart: InsideChart, n: int) -> dict[tuple[int, int, int], float]:
    """By symbol, first word and word after the last one, the inside scores of the items of n words."""
    return {
        (int(chart.symbol[row]), i, j): float(np.ldexp(chart.inside[place], chart.exponent[j * (j - 1) // 2 + i]))
        for j in range(1, n + 1)
        for row in range(int(chart.end_ptr[j]), int(chart.end_ptr[j + 1]))
        for place, i in enumerate(range(int(chart.first[row]), int(chart.end[row])), start=int(chart.start[row]))
        if chart.inside[place] > 0.0
    }


@pytest.mark.parametrize("beam", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_the_beam_weighs_scores_by_the_frequency_of_symbols(seed: int, beam: float) -> None:
    """Items of each cell, with their scores."""
    rng = np.random.default_rng(200 + seed)
    operators = random_grammar(rng)
    terminals = rng.integers(0, N_TERMINALS, 6)
    prior = rng.dirichlet(np.full(N_SYMBOLS, 0.5))
    chart = inside_chart(CoarseGrammar.of(operators, prior), leaves_of(operators, terminals), beam, 1 << 20)
    found = scores_of(chart, 6)
    assert found == pytest.approx(beamed_items(operators, terminals, prior, beam), rel=1e-12)
    assert (len(found) < len(beamed_items(operators, terminals, prior, 0.0))) == (beam > 0.0)


def test_sentences_may_have_more_words_than_a_number_has_bits() -> None:
    """All edges are listed: their derivations have the probability of the whole chart."""
    operators = random_grammar(np.random.default_rng(5))
    terminals = np.random.default_rng(6).integers(0, N_TERMINALS, 70)
    grammar, leaves = CoarseGrammar.of(operators, np.ones(N_SYMBOLS)), leaves_of(operators, terminals)
    scores = scores_of(inside_chart(grammar, leaves, 0.0, 1 << 20), 70)
    wanted = sum(scores.get((a, 0, 70), 0.0) * operators.root[a, 0] for a in range(N_SYMBOLS))
    forest = built(operators, terminals, beam=0.0, threshold=0.0)
    assert forest is not None
    assert np.exp(posteriors(operators, forest)[1]) == pytest.approx(wanted, rel=1e-9)


def test_a_far_larger_split_after_a_small_one_does_not_overflow() -> None:
    """Of four words, the tree that branches to the left is 2^1200 times less likely than the other."""
    top, word, left_2, left_3, right_2, right_3 = range(6)
    binary = {
        (top, word, right_3): 1.0,
        (top, left_3, word): 1.0,
        (left_2, word, word): 2.0**-600,
        (left_3, left_2, word): 2.0**-600,
        (right_2, word, word): 1.0,
        (right_3, word, right_2): 1.0,
    }
    operators = one_state(6, {top: 1.0}, {(word, 0): 1.0}, binary)
    leaves = leaves_of(operators, np.zeros(4, dtype=np.int64))
    scores = scores_of(inside_chart(CoarseGrammar.of(operators, np.ones(6)), leaves, 0.0, 1 << 20), 4)
    assert scores[top, 0, 4] == 1.0
    assert scores[right_3, 1, 4] == 1.0


def test_a_chart_that_would_be_too_large_or_take_too_long_is_given_up() -> None:
    operators = random_grammar(np.random.default_rng(7))
    terminals = np.random.default_rng(8).integers(0, N_TERMINALS, 40)
    grammar, leaves = CoarseGrammar.of(operators, np.ones(N_SYMBOLS)), leaves_of(operators, terminals)
    size = len(inside_chart(grammar, leaves, 0.0, 1 << 20).inside)
    now = time.thread_time()
    for limits in ({"most": size // 2}, {"deadline": now}):
        with pytest.raises(LimitError):
            prune_chart(grammar, leaves, 0.0, 1e-3, **limits)
    assert prune_chart(grammar, leaves, 0.0, 1e-3, most=size, deadline=now + 60.0) is not None


def test_edges_are_the_same_however_little_room_there_is_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    operators = random_grammar(np.random.default_rng(7))
    terminals = np.random.default_rng(8).integers(0, N_TERMINALS, 12)
    grammar, leaves = CoarseGrammar.of(operators, np.ones(N_SYMBOLS)), leaves_of(operators, terminals)
    expected = prune_chart(grammar, leaves, 0.0, 1e-6)
    monkeypatch.setattr("spectral_latent.grammar._likely_edges._ROOM", 1)
    found = prune_chart(grammar, leaves, 0.0, 1e-6)
    assert expected is not None and found is not None
    assert found.forest.n_edges > 1000
    columns, wanted = ((*each.forest, each.first, each.end) for each in (found, expected))
    for column, one in zip(columns, wanted, strict=True):
        np.testing.assert_array_equal(column, one)
