"""Children that were never seen together: probabilities from their definition, and sums over all trees."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from spectral_latent.constituency import Binarisation, ConstituencyModel, ConstituencyOptions, Phrase, PhraseGrammar
from spectral_latent.constituency.conversion import PhraseSymbol
from spectral_latent.corpora import parse_brackets
from spectral_latent.estimation import ESTIMATORS, EstimatorOptions
from spectral_latent.trees import FloatArray

SEEN = """
(S (A a) (B b) (A a) (B b)) (S (A a) (S (B b) (A a)) (B b)) (S (B b) (A a) (A a)) (S (A a) (B b))
(S (X (A a)) (B b) (S (A a) (A a))) (S (X (A a)) (X (B b)) (X (A a))) (S (B b) (B b) (A a) (B b) (A a))
"""
OTHERS = """
(S (X (A a)) (X (A a))) (S (A a) (X (B b)) (S (S (B b) (B b)) (A a) (X (A a)))) (S (A a) (B b)) (X (A a))
(S (B b) (B b) (B b) (B b) (B b) (X (A a)))
"""
EPSILON = 0.125


def trained(binarisation: Binarisation, estimator: str) -> ConstituencyModel:
    own = ESTIMATORS[estimator].with_settings(n_states=3, smoothing=5.0)
    options = ConstituencyOptions(estimator=own, binarisation=binarisation, rows=EPSILON)
    return ConstituencyModel.train(list(parse_brackets(SEEN)) * 4, options)


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
    model = trained(binarisation, "clusters-em")
    trees = [*parse_brackets(SEEN), *parse_brackets(OTHERS)]
    definition = Definition(model.members[0], ["a", "b"])
    expected = [definition.probability(tree) for tree in trees]
    weight = model.score(trees)
    np.testing.assert_allclose(weight.sign * np.exp(weight.log), expected, rtol=1e-9)
    assert min(expected) > 0.0
    without = replace(model.members[0], options=replace(model.options, rows=0.0))
    by_rules = ConstituencyModel((without,)).score(trees)
    assert 0 < (by_rules.sign == 0).sum() < len(trees)


def every_tree(tags: list[str], label: str) -> Iterator[Phrase]:
    """Every tree over words with these tags whose phrases have one label, without chains."""
    if len(tags) == 1:
        yield Phrase(tags[0], (tags[0].lower(),))
    else:
        for first in range(1, len(tags)):
            for head in every_tree(tags[:first], label):
                for rest in rests(tags[first:], label):
                    yield Phrase(label, (head, *rest))


def rests(tags: list[str], label: str) -> Iterator[list[Phrase]]:
    """Every way to divide words with these tags into one or more constituents."""
    for first in range(1, len(tags) + 1):
        for head in every_tree(tags[:first], label):
            for rest in rests(tags[first:], label) if first < len(tags) else ([],):
                yield [head, *rest]


def test_the_probabilities_of_all_trees_sum_to_one() -> None:
    """A tree of more than five words has a probability of less than a quarter of ε = 0.02."""
    options = ConstituencyOptions(EstimatorOptions("clusters-em", n_states=1), rows=0.02)
    model = ConstituencyModel.train(list(parse_brackets("(S (A a) (B b))")) * 50, options)
    leaves = model.members[0].for_sentences([["a", "b"]]).latent
    of_word = dict(zip(map(tuple, leaves.rules.leaf.tolist()), leaves.leaf[:, 0].tolist(), strict=True))
    total = 0.0
    for n in range(1, 6):
        for tags in product("AB", repeat=n):
            # The rest of a tag's probability belongs to words that were never seen.
            seen = np.prod([of_word["AB".index(tag), "AB".index(tag)] for tag in tags])
            total += float(np.exp(model.score(every_tree(list(tags), "S")).log).sum() / seen)
    assert 0.995 < total < 1.0
