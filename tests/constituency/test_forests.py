"""Trees weighed over all their derivations, by enumeration, and by definition with children never seen together."""

from collections import defaultdict
from copy import deepcopy
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from spectral_latent.constituency import Binarisation, ConstituencyModel, ConstituencyOptions, Phrase, PhraseGrammar
from spectral_latent.constituency.conversion import PhraseSymbol, make_phrase
from spectral_latent.constituency.forests import PhraseColumns
from spectral_latent.constituency.tree import ChainLabels, Constituent
from spectral_latent.corpora import parse_brackets
from spectral_latent.estimation import ESTIMATORS
from spectral_latent.grammar import MarginalName
from spectral_latent.inference import n_best_derivations, tree_weights
from spectral_latent.model.parts import Parts
from spectral_latent.trees import FloatArray, Forest

TREES = """
(S (A a) (B b) (A a) (B b)) (S (A a) (S (B b) (A a)) (B b)) (S (B b) (A a) (A a)) (S (A a) (B b))
(S (X (A a)) (B b) (S (A a) (A a))) (S (X (A a)) (X (B b)) (X (A a))) (S (B b) (B b) (A a) (B b) (A a))
"""
OTHERS = """
(S (X (A a)) (X (A a))) (S (A a) (X (B b)) (S (S (B b) (B b)) (A a) (X (A a)))) (S (A a) (B b)) (X (A a))
(S (B b) (B b) (B b) (B b) (B b) (X (A a)))
"""
WORDS = ["a", "b", "a", "b"]
EPSILON = 0.125
BINARISATIONS = [Binarisation(), Binarisation("first"), Binarisation("last", siblings=1), Binarisation(parents=1)]


def trees() -> list[Phrase]:
    return list(parse_brackets(TREES)) * 4


def options(binarisation: Binarisation, estimator: str = "clusters-em") -> ConstituencyOptions:
    own = ESTIMATORS[estimator].with_settings(n_states=3, smoothing=5.0)
    return ConstituencyOptions(estimator=own, binarisation=binarisation, beam=0.0, threshold=0.0, rows=0.0)


def derived(member: PhraseGrammar, words: list[str]) -> dict[Phrase, float]:
    """Every tree of a sentence, with the summed weight of its derivations."""
    charts = member.charts([words])
    sentence, (spans,) = charts.grammar, charts.spans
    assert spans is not None
    operators, forest = sentence.latent, spans.forest
    total: dict[Phrase, float] = defaultdict(float)
    for derivation in n_best_derivations(forest, np.zeros(forest.n_edges), 100_000):
        s_tree = derivation.tree(forest, operators.rules)
        weight = tree_weights(operators, Forest.of_trees(s_tree, operators.rules))
        tree = make_phrase(s_tree, member.symbols, words)
        total[tree] += float(weight.sign[0] * np.exp(weight.log[0]))
    return total


def list_chains(tree: Phrase) -> list[tuple[int, int, tuple[str, ...]]]:
    """Every unary chain of a tree, with the words that it is over."""
    found = []

    def walk(node: Phrase, first: int) -> int:
        """List the chains below a node, and give the end of its words."""
        chain = [node.label]
        while len(node.children) == 1 and isinstance(node.children[0], Phrase):
            node = node.children[0]
            chain.append(node.label)
        end = first
        for child in node.children:
            end = walk(child, end) if isinstance(child, Phrase) else end + 1
        found.append((first, end, tuple(chain)))
        return end

    walk(tree, 0)
    return found


@pytest.mark.parametrize("name", ["absolute", "divided", "undivided"])
def test_marginals_have_the_signs_that_options_ask_for(name: MarginalName) -> None:
    """By enumeration; only those above zero are constituents, and a negative p̂ turns undivided ones round."""
    plain = replace(options(Binarisation(), "spectral"), marginals=name, fragments=0.0)
    (trained,) = ConstituencyModel.train(trees(), plain).members
    operators = trained.operators
    signs = np.where(operators.rules.leaf[:, 1] == operators.rules.leaf[0, 1], -1.0, 1.0)  # of one word
    member = trained.with_operators(replace(operators, leaf=signs[:, None] * operators.leaf))
    n_negative = 0
    for words in product("ab", repeat=4):
        chart = member.charts([words])
        if not chart.is_derived.all():
            continue
        weights = derived(member, list(words))
        total = sum(weights.values())
        n_negative += total < 0
        mu: dict[tuple[int, int, tuple[str, ...]], float] = defaultdict(float)
        for tree, weight in weights.items():
            for chain in list_chains(tree):
                mu[chain] += {"absolute": 1, "divided": np.sign(total), "undivided": 1}[name] * weight / abs(total)
        wanted = {chain: abs(m) if name == "absolute" else m for chain, m in mu.items()}
        constituents = member.items(chart).constituents()
        keys = zip(
            constituents.begin, constituents.end, (member.part_names[i] for i in constituents.label), strict=True
        )
        found = dict(zip(keys, constituents.posterior, strict=True))
        assert found == pytest.approx({chain: m for chain, m in wanted.items() if m > 1e-6}, rel=1e-6, abs=1e-6)
    assert n_negative > 0


def test_trees_that_share_phrases_weigh_as_much_as_alone() -> None:
    model = ConstituencyModel.train(trees(), [replace(options(each), rows=0.02) for each in BINARISATIONS[:2]])
    leaf = Phrase("A", ("a",))
    twice = Phrase("S", (leaf, leaf))  # one object at several places
    given = [Phrase("S", (leaf, twice)), Phrase("S", (twice, leaf)), Phrase("S", (leaf,) * 3), twice]
    for some in (given, [parse.tree for parse in model.parse_nbest(WORDS, 20)]):
        assert len(PhraseColumns.of([some], np.zeros(1, dtype=np.int64)).chain) < sum(
            len(list_chains(tree)) for tree in some
        )
        alone = [model.score([deepcopy(tree)]).log[0] for tree in some]
        assert np.isfinite(alone).all()
        np.testing.assert_allclose(model.score(some).log, alone, rtol=1e-12)


def test_the_best_tree_has_the_most_gain() -> None:
    model = ConstituencyModel.train(trees(), options(Binarisation()))
    (member,) = model.members
    every = [tree for tree in derived(member, WORDS) if tree.label == "S"]
    posteriors = {tree: float(row.sum()) for tree, row in zip(every, model.part_posteriors(every), strict=True)}

    def gain(tree: Phrase) -> float:
        labelled = sum(1 for node in tree.nodes() if isinstance(node, Phrase) and not node.is_preterminal())
        return posteriors[tree] - model.options.span_penalty * labelled

    best = model.parse(WORDS).tree
    assert gain(best) == pytest.approx(max(map(gain, posteriors)), abs=1e-9)


def test_posteriors_of_a_chain_count_for_each_of_its_labels() -> None:
    labels = ChainLabels([("S",), ("S", "VP"), ("X", "A")])
    found = Parts(*np.array([[0, 0, 0], [0, 0, 0], [2, 2, 1], [0, 1, 2]]), np.array([0.5, 0.3, 0.9]))
    labelled = labels.split(found)
    parts = labelled.parts
    wanted = [0.8 - 0.25, 0.8 + 0.3 - 0.5, 0.9 - 0.25 + 0.9]
    assert labels.gains(parts, labelled, span_penalty=0.25) == pytest.approx(wanted)
    posteriors = dict(zip(labels.named(parts), parts.posterior, strict=True))
    assert posteriors[Constituent(0, 2, "S", False)] == pytest.approx(0.8)


class Definition:
    """The probability of a tree by recursion over its nodes, from dense tensors in plain Python."""

    def __init__(self, member: PhraseGrammar, words: list[str]) -> None:
        grammar = member
        sentence = grammar.for_sentences([words])
        self.symbols = member.symbols
        self.operators = operators = sentence.latent
        self.states = operators.states.tolist()
        self.leaf = {tuple(rule): row for rule, row in zip(operators.rules.leaf.tolist(), operators.leaf, strict=True)}
        tensors = (tensor.to_dense() for tensor in operators.binary)
        rules = zip(map(tuple, operators.rules.binary.tolist()), tensors, strict=True)
        self.binary = {rule: tensor for rule, tensor in rules if max(rule) < len(self.symbols)}  # without those of rows
        self.number = dict(zip(words, sentence.words.word.tolist(), strict=True))
        constituents = [at for at, symbol in enumerate(self.symbols) if not symbol.bar]
        total = sum(grammar.prior[at] for at in constituents)
        self.share = {at: grammar.prior[at] / total for at in constituents}
        self.whole = [np.ones(m) for m in self.states]

    def alone(self, symbol: int, vector: FloatArray) -> float:
        """The probability of what a vector stands for, as a tree of its own."""
        root = self.operators.root[symbol, : self.states[symbol]]
        return float(root @ vector / (root @ self.whole[symbol]))

    def _bars(self, label: str, parts: list[dict[int, FloatArray]]) -> dict[int, FloatArray]:
        """The vectors of the bars of a label over several children; of one child its own."""
        return parts[0] if len(parts) == 1 else self._joined(PhraseSymbol((label,), True), label, parts)

    def _joined(self, wanted: PhraseSymbol, label: str, parts: list[dict[int, FloatArray]]) -> dict[int, FloatArray]:
        """The vectors of the symbols of the wanted chain that rules make of several children."""
        found: dict[int, FloatArray] = {}
        for split in range(1, len(parts)):
            left, right = self._bars(label, parts[:split]), self._bars(label, parts[split:])
            for (b, y), (c, z) in product(left.items(), right.items()):
                for (a, *below), tensor in self.binary.items():
                    symbol = self.symbols[a]
                    if below == [b, c] and (symbol.chain, symbol.bar) == (wanted.chain, wanted.bar):
                        found[a] = found.get(a, 0.0) + np.einsum("abc,b,c->a", tensor, y, z)
        return found

    def vectors(self, tree: Phrase) -> dict[int, FloatArray]:
        """The inside vectors of the symbols that the top of a tree may have."""
        chain = [tree.label]
        while len(tree.children) == 1 and isinstance(tree.children[0], Phrase):
            tree = tree.children[0]
            chain.append(tree.label)
        own = [at for at, symbol in enumerate(self.symbols) if symbol == symbol._replace(chain=tuple(chain), bar=False)]
        if isinstance(tree.children[0], str):
            rows = {at: self.leaf.get((at, self.number[tree.children[0]])) for at in own}
            return {at: row[: self.states[at]] for at, row in rows.items() if row is not None}
        parts = [self.vectors(child) for child in tree.children if isinstance(child, Phrase)]
        by_rules = self._joined(PhraseSymbol(tuple(chain)), tree.label, parts)
        one_by_one = EPSILON * 2.0 ** (1 - len(parts))
        for part in parts:
            one_by_one *= sum(self.share[at] * self.alone(at, vector) for at, vector in part.items())
        found = {}
        for a in own:
            replaced = sum(
                np.einsum("abc,b,c->a", tensor, self.whole[b], self.whole[c])
                for (parent, b, c), tensor in self.binary.items()
                if parent == a
            )
            found[a] = (1.0 - EPSILON) * by_rules.get(a, 0.0) + one_by_one * replaced
        return found

    def probability(self, tree: Phrase) -> float:
        return float(
            sum(self.operators.root[at, : self.states[at]] @ vector for at, vector in self.vectors(tree).items())
        )


@pytest.mark.parametrize(
    "binarisation", [Binarisation(), Binarisation("last", siblings=1), Binarisation("first", parents=1)]
)
def test_probabilities_are_those_of_the_definition(binarisation: Binarisation) -> None:
    model = ConstituencyModel.train(trees(), replace(options(binarisation), rows=EPSILON))
    given = [*parse_brackets(TREES), *parse_brackets(OTHERS)]
    definition = Definition(model.members[0], ["a", "b"])
    expected = [definition.probability(tree) for tree in given]
    weight = model.score(given)
    np.testing.assert_allclose(weight.sign * np.exp(weight.log), expected, rtol=1e-9)
    assert min(expected) > 0.0
    without = replace(model.members[0], options=replace(model.options, rows=0.0))
    by_rules = ConstituencyModel((without,)).score(given)
    assert 0 < (by_rules.sign == 0).sum() < len(given)
