"""The latent PCFG as NLTK's parser."""

import math
import pickle
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nltk.grammar import Nonterminal, ProbabilisticProduction
from nltk.parse import ViterbiParser
from nltk.tree import Tree

from spectral_latent.constituency import ConstituencyOptions, PhraseConstraints
from spectral_latent.corpora import phrase_from_nltk
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.inference import inside, total_weight
from spectral_latent_nltk import FALLBACK, SpectralParser, phrase_to_nltk
from tests.conformance.parsers import ParserConformance
from tests.conformance.treebank import PHRASES
from tests.reranking.nbest_lists import last_first

TREEBANK = [Tree("", [phrase_to_nltk(phrase)]) for phrase in PHRASES[:36]]
SENTENCES = [tree.leaves() for tree in TREEBANK[::7]]


class TestSpectralParser(ParserConformance):
    examples = TREEBANK
    sentences = SENTENCES

    @staticmethod
    def train(examples: Iterable[Any]) -> SpectralParser:
        return SpectralParser.train(examples, n_states=4)


@pytest.fixture(scope="module")
def parser() -> SpectralParser:
    return SpectralParser.train(TREEBANK, n_states=4)


@pytest.mark.parametrize(
    ("trees", "error", "message"),
    [
        (Tree.fromstring("(S (NN rain) (VBZ falls))"), TypeError, r"give \[tree\]"),
        ([Tree("S", [Tree("NN", ["rain"])]), Tree("S", [])], ValueError, "tree 2: the constituent S is empty"),
        ([Tree("S", [Tree("NN", [("rain", "NN")])])], TypeError, "tree 1: expected an nltk.Tree whose leaves"),
        ([Tree("S", [Tree("-NONE-", ["*"])])], ValueError, "tree 1: the tree has no words"),
        ([[("It", "PRP"), ("rains", "VBZ")]], TypeError, "tree 1: .* words with their tags.* LatentHMMTagger"),
        ([Tree("S x", [Tree("N", ["rain"])])], ValueError, "tree 1: the label 'S x' has white space"),
        ([Tree("S", [Tree("NN", ["rain"]), Tree("V(P", ["falls"])])], ValueError, r"tree 1: the label 'V\(P' has"),
    ],
)
def test_what_cannot_be_learnt_from(trees: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        SpectralParser.train(trees)


def test_printed_parses_are_read_again_with_all_their_words() -> None:
    """By NLTK's own reader, whatever is printed: the parse, a copy, a plain tree of it, or a subtree."""
    words = ["They", "(", "see", ")", "10 000", "a\u00a0b", ")("]
    parser = SpectralParser.train(TREEBANK)
    (parse,) = parser.parse(words)
    written = ["They", "-LRB-", "see", "-RRB-", "10_000", "a_b", "-RRB--LRB-"]
    for tree in (parse, parse.copy(deep=True), Tree.convert(parse), pickle.loads(pickle.dumps(parse))):
        assert tree.leaves() == words
        assert Tree.fromstring(str(tree)).leaves() == written
        assert Tree.fromstring(tree.pformat(margin=10)).leaves() == written
    leaves = [leaf for subtree in parse.subtrees(lambda t: t.height() == 2) for leaf in Tree.fromstring(str(subtree))]
    assert leaves == written
    assert list(phrase_from_nltk(parse).words()) == words
    assert all(type(word) is str for word in phrase_from_nltk(parse).words())


def test_states_are_those_that_a_tree_most_probably_has() -> None:
    """The labels without their states are those of the tree."""
    options = ConstituencyOptions(estimator=EstimatorOptions("clusters-em", n_states=3), rows=0.0)
    parser = SpectralParser.train(TREEBANK, options=options)
    (a,) = (n for n, symbol in enumerate(parser.model.members[0].symbols) if symbol.chain == ("DT",))
    for tree in TREEBANK[::9]:
        named = parser.states(tree)
        bare = Tree.convert(named)
        for each in bare.subtrees():
            label, _, state = each.label().rpartition("-")
            each.set_label(label)
            assert 0 <= int(state) < 3
        assert bare == tree[0]
    weighed = parser.model.members[0].forest_of([phrase_from_nltk(tree)])
    names = [each.label() for each in named.subtrees(lambda each: each.label().startswith("DT-"))]
    items = np.flatnonzero(weighed.forest.symbol == a)
    assert len(names) == len(items) > 0
    for name, item in zip(names, items, strict=True):
        # Keep one state of the word's tag, and compare what is left of the tree's probability.
        rules = weighed.forest.rule[weighed.forest.start[item]]
        left = []
        for state in range(3):
            leaf = weighed.operators.leaf.copy()
            leaf[rules, np.arange(leaf.shape[1]) != state] = 0.0
            left.append(replace(weighed.operators, leaf=leaf))
        logs = [total_weight(each, weighed.forest, inside(each, weighed.forest)).log[0] for each in left]
        assert name == f"DT-{int(np.argmax(logs))}"
    with pytest.raises(ValueError, match="does not derive"):
        parser.states(Tree("NEW", [Tree("NNS", ["dogs"])]))
    spectral = SpectralParser.train(TREEBANK, options=ConstituencyOptions(estimator=EstimatorOptions("spectral")))
    with pytest.raises(ValueError, match="has no states"):
        spectral.states(tree)


def test_scores_are_binary_logarithms_of_probabilities(parser: SpectralParser) -> None:
    for tree in TREEBANK[::5]:
        expected = parser.model.score([phrase_from_nltk(tree)]).log[0] / math.log(2)
        assert parser.score(tree) == pytest.approx(expected)
        parse = parser.parse_one(tree.leaves())
        assert parse.logprob() == pytest.approx(parser.score(parse))
        in_nats = parser.surprisal(tree.leaves(), "nats").total
        np.testing.assert_allclose(parser.surprisal(tree.leaves()).total, in_nats / math.log(2))


def test_underivable_sentences_have_a_flat_tree_of_probability_zero() -> None:
    parser = SpectralParser.train([Tree.fromstring("(S (NN rain) (VBZ falls))")])  # trees of two words only
    tree = parser.parse_one(["rain"] * 3)
    assert (tree.label(), tree.leaves(), tree.prob(), tree.logprob()) == (FALLBACK, ["rain"] * 3, 0.0, -math.inf)
    assert parser.score(Tree("NEW", [Tree("NNS", ["dogs"])])) == -math.inf


def test_grammar_is_that_of_the_plain_model(parser: SpectralParser) -> None:
    grammar = parser.grammar()
    assert str(grammar.start()) == "ROOT"
    root = max(grammar.productions(lhs=Nonterminal("ROOT")), key=ProbabilisticProduction.prob)
    assert str(root.rhs()[0]) == "S"
    assert root.prob() > 0.95
    sentences = {str(production.lhs()) for production in grammar.productions()}
    assert {"S", "VP|<>", "NP+PRP", "DT"} <= sentences
    sentence = TREEBANK[3].leaves()
    grammar.check_coverage(sentence)
    (tree,) = ViterbiParser(grammar).parse(sentence)
    tree = Tree.convert(tree)[0]
    tree.un_chomsky_normal_form()
    assert tree == TREEBANK[3][0]


def test_constraints() -> None:
    """Trees are those of the model under the same constraints, which rerankers cannot keep."""
    parser = SpectralParser.train(TREEBANK)
    sentence = TREEBANK[4].leaves()
    known = PhraseConstraints([(2, 7)])
    expected = [parse.tree.bracketed() for parse in parser.model.parse_nbest(sentence, 3, constraints=known)]
    found = [phrase_from_nltk(tree).bracketed() for tree in parser.parse_all(sentence, n_best=3, constraints=known)]
    assert found == expected
    assert phrase_from_nltk(parser.parse_one(sentence, constraints=known)).bracketed() == expected[0]
    with pytest.raises(ValueError, match="is not within the"):
        parser.parse(sentence, constraints=PhraseConstraints([(0, 99)]))
    with pytest.raises(ValueError, match="leave out rerank or constraints"):
        parser.parse(sentence, rerank=last_first(), constraints=known)
    with pytest.raises(ValueError, match="empty sentence"):
        parser.parse([], constraints=PhraseConstraints(tags={0: "NN"}))
