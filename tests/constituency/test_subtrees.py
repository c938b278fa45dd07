"""Probabilities of subtrees given their labels, by enumeration of all trees of a grammar."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
import pytest

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase
from spectral_latent.corpora import parse_brackets
from spectral_latent.corpora.embedded import embedded_treebank
from spectral_latent.estimation import EstimatorOptions

TREES = """
(S (NP (DT the) (NN dog)) (VP (VB sees) (NP (DT a) (NN cat))))
(S (NP (DT a) (NN cat)) (VP (VB sees) (NP (DT the) (NN dog))))
(S (NP (DT a) (NN dog)) (VP (VB sleeps)))
(S (NP (NN it)) (VP (VB sees) (NP (NN it))))
"""


def train(n_states: int, **options: Any) -> tuple[ConstituencyModel, list[Phrase]]:
    trees = list(parse_brackets(TREES))
    estimator = EstimatorOptions("clusters-em", n_states=n_states, **options)
    # Without rows all trees can be listed.
    return ConstituencyModel.train(trees * 40, ConstituencyOptions(estimator=estimator, rows=0.0)), trees


def test_a_subtree_is_as_likely_as_among_the_phrases_of_all_trees() -> None:
    """Σ p(tree) times the subtree's occurrences, divided by Σ p(tree) times those of its label."""
    model, trees = train(2)
    (member,) = model.members
    operators = member.operators
    names = member.lexicon.terminal_names
    symbols = member.symbols
    assert not any(symbol.bar for symbol in symbols)

    @cache
    def below(a: int) -> list[tuple[Phrase, Any]]:
        """All trees below a symbol, with their inside vectors."""
        found = []
        chain = symbols[a].chain
        for rule, vector in zip(operators.rules.leaf.tolist(), operators.leaf, strict=True):
            if rule[0] == a:
                found.append((phrase(chain, (names[rule[1]],)), vector))
        for rule, tensor in zip(operators.rules.binary.tolist(), operators.binary, strict=True):
            if rule[0] == a:
                for left, first in below(rule[1]):
                    for right, second in below(rule[2]):
                        m = operators.states[rule]
                        dense = tensor.to_dense()
                        vector = np.einsum("ijk,j,k->i", dense, first[: m[1]], second[: m[2]])
                        found.append((phrase(chain, (left, right)), np.pad(vector, (0, len(first) - len(vector)))))
        return found

    expected: dict[Any, float] = defaultdict(float)
    labels: dict[tuple[str, ...], float] = defaultdict(float)
    total = 0.0
    for a in range(len(symbols)):
        for tree, vector in below(a) if operators.root[a].any() else []:
            p = float(operators.root[a] @ vector)
            total += p
            for node, given in labelled(tree):
                expected[node, given] += p
                labels[given] += p
    assert total == pytest.approx(1.0, abs=1e-3)
    for tree in trees:
        logs = model.subtree_log_probabilities(tree)
        for (node, given), log in zip(labelled(tree), logs, strict=True):
            assert np.exp(log) == pytest.approx(expected[node, given] / labels[given], rel=2e-3)


def phrase(chain: tuple[str, ...], children: tuple[Any, ...]) -> Phrase:
    for label in reversed(chain):
        children = (Phrase(label, children),)
    (made,) = children
    assert isinstance(made, Phrase)
    return made


def labelled(tree: Phrase, above: tuple[str, ...] = ()) -> list[tuple[Phrase, tuple[str, ...]]]:
    """The phrases of a tree with their labels, and those of the parents whose only children they are."""
    given = (*above, tree.label)
    children = [child for child in tree.children if isinstance(child, Phrase)]
    found = [(tree, given)]
    for child in children:
        found += labelled(child, given if len(children) == 1 else ())
    return found


def test_operators_have_no_probabilities_of_subtrees() -> None:
    spectral = ConstituencyOptions(estimator=EstimatorOptions("spectral", n_states=2))
    model = ConstituencyModel.train(list(parse_brackets(TREES)) * 5, spectral)
    with pytest.raises(ValueError, match="only operators that are probabilities"):
        model.subtree_log_probabilities(next(parse_brackets(TREES)))


def test_a_row_is_as_likely_in_a_subtree_as_in_a_tree() -> None:
    """The children of a row are trees of their own, wherever the phrase stands that has the row."""
    options = ConstituencyOptions(estimator=EstimatorOptions("clusters-em", n_states=3))
    model = ConstituencyModel.train(embedded_treebank(60), options)
    (member,) = model.members
    (odd,) = parse_brackets("(S (NP (DT the) (NN dog)) (NP (DT a) (NN cat)) (VP (VB saw) (NP (DT the) (NN dog))))")
    top = [at for at, symbol in enumerate(member.symbols) if symbol.chain == ("S",) and not symbol.bar]
    operators = member.operators
    # All children of S come from binary rules, so that every state has the row with the same probability.
    binary = [
        tensor.to_dense()
        for tensor, rule in zip(operators.binary, operators.rules.binary, strict=True)
        if rule[0] in top
    ]
    np.testing.assert_allclose(sum(tensor.sum(axis=(1, 2)) for tensor in binary), 1.0, rtol=1e-4)
    given_s = model.score([odd]).log[0] - np.log(operators.root[top].sum())
    assert model.subtree_log_probabilities(odd)[0] == pytest.approx(given_s, abs=1e-4)
