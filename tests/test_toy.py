"""The ready model `toy`: the notation of its grammar, and what can be learnt from it."""

import numpy as np
import pytest

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, PhraseSymbol
from spectral_latent.corpora import parse_brackets
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.evaluation import score_brackets
from tests.toy import toy_grammar, toy_treebank


def test_the_truth_is_a_distribution() -> None:
    operators = toy_grammar().operators
    total = np.zeros_like(operators.root)
    np.add.at(total, operators.rules.leaf[:, 0], operators.leaf)
    for a, tensor in zip(operators.rules.binary[:, 0], operators.binary, strict=True):
        total[a, : operators.states[a]] += tensor.to_dense().sum(axis=(1, 2))
    exists = np.arange(total.shape[1]) < operators.states[:, None]
    assert total == pytest.approx(exists.astype(float))
    assert operators.root.sum() == 1.0


def test_probability_of_a_tree_by_hand() -> None:
    truth = toy_grammar()

    def first_word(chain: tuple[str, ...], state: int) -> float:
        rules = truth.operators.rules.leaf[:, 0] == truth.symbols.index(PhraseSymbol(chain))
        n_words = np.count_nonzero(truth.operators.leaf[rules, state])
        return float(5.0**-3 / sum((rank + 4.0) ** -3 for rank in range(1, n_words + 1)))

    weight = ConstituencyModel((truth,)).score(parse_brackets("(S (NP (NNP Mary)) (VP (VB sleeps)) (. .))"))
    sleep = 2  # after see[sg] and see[pl]
    p = 0.5 * (16 / 92) * (14 / 98) * first_word(("NP", "NNP"), 0) * first_word(("VP", "VB"), sleep)
    assert weight.sign[0] == 1 and weight.log[0] == pytest.approx(np.log(p))


@pytest.fixture(scope="module")
def learnt() -> ConstituencyModel:
    return ConstituencyModel.train(toy_treebank(1800), ConstituencyOptions(estimator=EstimatorOptions(n_states=8)))


def test_truth_above_spectral_above_plain(learnt: ConstituencyModel) -> None:
    held_out = toy_treebank(300, seed=1)

    def f1(model: ConstituencyModel) -> float:
        parses = model.parse_all(list(tree.words()) for tree in held_out)
        return score_brackets((tree, parse.tree) for tree, (parse,) in zip(held_out, parses, strict=True)).f1

    (grammar,) = learnt.members
    truth, plain = (ConstituencyModel((member,)) for member in (toy_grammar(), grammar.with_operators(grammar.coarse)))
    assert f1(plain) < 87 < 93 < f1(learnt) < (highest := f1(truth))
    assert highest > 95.5
    weights = [model.score(held_out) for model in (plain, learnt, truth)]
    positive = np.all([weight.sign > 0 for weight in weights], axis=0)  # estimates may be negative
    assert positive.mean() > 0.9
    logs = [weight.log[positive].mean() for weight in weights]
    assert logs[0] + 8 < logs[1] < logs[2]
