"""Parses under constraints and completed trees, against the enumeration of all trees of a grammar."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from spectral_latent.constituency import (
    Binarisation,
    Bracket,
    ConstituencyModel,
    ConstituencyOptions,
    Constituent,
    Phrase,
    PhraseConstraints,
    PhraseSymbol,
    self_train,
)
from spectral_latent.constituency.conversion import convert_trees
from spectral_latent.constituency.tree import list_constituents
from spectral_latent.corpora import parse_brackets, parse_partial
from spectral_latent.estimation import EstimatorOptions, Progress
from spectral_latent.inference import expected_counts
from spectral_latent.model import Parse, Partial, complete
from spectral_latent.operators import Counts
from spectral_latent.trees import Rules, Vocabulary

TREES = """
(S (A a) (S (A a) (B b)) (C c))
(S (NP (A a) (A a)) (S (B b) (C c)))
(S (NP (NP (A a)) (A a)) (B b) (C c))
(S (A a) (NP (A a) (B b)) (NP (C c)))
(S (X (A a) (A a) (B b)) (C c))
(S (S (A a) (NP (C a))) (S (NP (B b)) (A c)))
(S (A a) (S (A a) (B b) (C c)))
"""
WORDS = ["a", "a", "b", "c"]
CONSTRAINTS = [
    PhraseConstraints([(1, 3)]),
    PhraseConstraints([(0, 2, "NP")]),
    PhraseConstraints([(0, 2), (2, 4, "S")]),
    PhraseConstraints([(3, 4, "NP")]),
    PhraseConstraints([(0, 4, "S"), (0, 3, "X")]),
    PhraseConstraints([(0, 2)], [(0, 2, "NP")]),
    PhraseConstraints([(1, 4)], [(3, 4), (2, 3, "NP")]),
    PhraseConstraints(forbidden=[(0, 2, "NP"), (0, 3)], tags={1: "A"}),
    PhraseConstraints([(2, 4)], tags={1: "A", 3: "C"}),
]


OPTIONS = ConstituencyOptions(
    estimator=EstimatorOptions("em", n_states=2, iterations=3), threshold=0.0, beam=0.0, fragments=0.0, rows=0.0
)  # which prune nothing


@pytest.fixture(scope="module")
def model() -> ConstituencyModel:
    return ConstituencyModel.train(parse_brackets(TREES * 5), OPTIONS)


@pytest.fixture(scope="module")
def every(model: ConstituencyModel) -> list[Parse]:
    """All trees of the words."""
    return [parse for parse in model.parse_nbest(WORDS, 10_000) if parse.sign]


def obeys(tree: Phrase, constraints: PhraseConstraints) -> bool:
    """Tell whether a tree obeys constraints, by a list of its constituents."""
    found = list_constituents(tree)

    def has(bracket: Bracket) -> bool:
        own = [part.label for part in found if part[:2] == bracket[:2] and not part.is_tag]
        return bracket.label in own or (bracket.label is None and bool(own))

    return (
        all(map(has, constraints.required))
        and not any(map(has, constraints.excluded))
        and all(Constituent(at, at + 1, tag, True) in found for at, tag in constraints.tags.items())
    )


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=range(len(CONSTRAINTS)))
def test_charts_are_sums_over_the_trees_that_obey(
    model: ConstituencyModel, every: list[Parse], constraints: PhraseConstraints
) -> None:
    """And parses are the trees that obey, with the probabilities that they have without constraints.

    The chart has only children that rules allow.
    """
    wanted = {parse.tree: parse.log for parse in every if obeys(parse.tree, constraints)}
    assert 0 < len(wanted) < len(every)
    (chart,) = model.chart([model.checked(Partial(tuple(WORDS), constraints))])
    assert model.grammar.forest(chart).weight().log[0] == pytest.approx(
        np.logaddexp.reduce(list(wanted.values())), rel=1e-9
    )
    found = model.parse_nbest(WORDS, 10_000, constraints=constraints)
    assert {parse.tree: parse.log for parse in found if parse.sign} == pytest.approx(wanted)
    assert model.parse(WORDS, constraints=constraints) == found[0]


def test_surprisal_obeys_given_tags_and_refuses_brackets(model: ConstituencyModel) -> None:
    tags = Partial(WORDS, PhraseConstraints(tags={3: "A"}))
    found = model.surprisal(tags, "nats").sentence
    assert found == pytest.approx(-model.log_probabilities([tags])[0], abs=0.02)
    assert found > model.surprisal(WORDS, "nats").sentence + 0.1 and len(model.entropy(tags)) == 5
    for ask in (model.surprisal, model.entropy):
        with pytest.raises(ValueError, match="nothing of brackets"):
            ask(Partial(WORDS, PhraseConstraints([(0, 2)])))


def test_given_tags_that_no_rules_allow_have_a_tree(model: ConstituencyModel) -> None:
    """A tree has the tags that are given, and required brackets."""
    for tags in [*product("ABC", repeat=4)][::4]:
        for brackets in ([], [(1, 3)]):
            constraints = PhraseConstraints(brackets, tags=dict(enumerate(tags)))
            parses = model.parse_nbest(WORDS, 3, constraints=constraints)
            assert not any(parse.is_fallback for parse in parses)
            assert len({parse.tree for parse in parses}) == len(parses)
            for parse in parses:
                found = list_constituents(parse.tree)
                assert [part.label for part in sorted(found) if part.is_tag] == list(tags)
                assert not brackets or any((part.first, part.end) == (1, 3) for part in found)
            assert [parse.log for parse in parses] == pytest.approx(model.score([each.tree for each in parses]).log)
            assert list(model.parse_all([Partial(WORDS, constraints)], 3)) == [parses]


def test_a_bracket_over_a_word_may_name_its_tag(model: ConstituencyModel) -> None:
    constraints = PhraseConstraints([(1, 2, "C"), (0, 2)])
    assert model.parse(WORDS, constraints=constraints) == model.parse(
        WORDS, constraints=PhraseConstraints([(0, 2)], (), {1: "C"})
    )


@pytest.mark.parametrize(
    ("required", "forbidden", "tags"),
    [
        ([(0, 2, "NP"), (1, 3)], [], {}),  # brackets that cross
        ([(0, 2, "NP")], [(0, 2)], {}),  # required and forbidden
        ([(0, 2, "NP")], [(0, 2, "NP")], {}),
        ([(2, 5)], [], {}),  # beyond the sentence
        ([], [(2, 2, "NP")], {}),
        ([], [], {4: "A"}),
        ([(0, 2, "VP")], [], {}),  # beyond the grammar
        ([], [], {0: "NP"}),
        ([], [(0, 4)], {}),  # the whole sentence
        ([(1, 2, "C"), (1, 2, "A")], [], {}),  # two tags of a word
    ],
)
def test_constraints_that_nothing_can_obey_are_refused(
    model: ConstituencyModel, required: Any, forbidden: Any, tags: Any
) -> None:
    with pytest.raises(ValueError):
        model.parse(WORDS, constraints=PhraseConstraints(required, forbidden, tags))


def test_partial_trees_leave_out_what_cleaning_removes(model: ConstituencyModel) -> None:
    """Traces and top brackets, and function labels when tags are known; whole trees are found again."""
    annotated = "( (S-1 (NP-SBJ (A a) (A a)) (NP (-NONE- *T*-1)) (S (B b) (C c))) )"
    (tree,) = parse_partial(annotated)
    assert tree.sentence == tuple(WORDS)
    assert set(tree.constraints.with_tags_apart(()).required) == {
        *[Bracket(0, 4, "S"), Bracket(0, 2, "NP"), Bracket(2, 4, "S")],
        *[Bracket(0, 1, "A"), Bracket(1, 2, "A"), Bracket(2, 3, "B"), Bracket(3, 4, "C")],
    }
    ((parse,),) = model.parse_all([tree])
    assert obeys(parse.tree, PhraseConstraints([(0, 2, "NP"), (2, 4, "S")], (), dict(enumerate("AABC"))))


KNOWN = [PhraseConstraints(), PhraseConstraints([(0, 2)]), PhraseConstraints(forbidden=[(0, 2)], tags={1: "A"})]


@pytest.mark.parametrize("constraints", KNOWN, ids=range(len(KNOWN)))
def test_the_counts_of_completed_trees_are_those_of_the_restricted_forest(constraints: PhraseConstraints) -> None:
    """Binary rules, summed over latent states, as the E-step of the core counts them in the forest."""
    options = replace(OPTIONS, binarisation=Binarisation("last"))  # which derives every tree in one way
    model = ConstituencyModel.train(parse_brackets(TREES * 5), options)
    (chart,) = model.chart([model.checked(Partial(tuple(WORDS), constraints))])
    assert chart.is_derived.all()
    table = expected_counts(chart.grammar.latent, chart.joined().forest)
    expected = np.array([table.binary[r].to_dense().sum() for r in range(len(table.rules.binary))])
    pairs = list(complete(model.parse_all([Partial(tuple(WORDS), constraints)], 10_000)))
    trees, weights = zip(*pairs, strict=True)
    assert sum(weights) == pytest.approx(1.0)
    member = model.members[0]
    symbols = Vocabulary[PhraseSymbol](member.symbols)
    converted = convert_trees(trees, member.options.binarisation, symbols, Vocabulary[str]())
    counts = Counts.of_trees(converted.trees, np.array(weights))
    row = Rules.find(table.rules.binary, counts.rules.binary)
    assert (row >= 0).all()
    found = np.zeros_like(expected)
    found[row] = counts.binary.data
    np.testing.assert_allclose(found, expected, atol=1e-6)  # rarer constituents are in no tree


def test_one_tree_weighs_one_and_sentences_without_a_tree_are_left_out(model: ConstituencyModel) -> None:
    known = [*parse_partial("(NP a a) b c"), Partial(tuple(WORDS), PhraseConstraints([(2, 4, "X")]))]
    ((tree, weight),) = complete(model.parse_all(known))
    assert "(NP (" in tree.bracketed()
    assert weight == 1.0


def test_self_training_is_training_on_what_a_first_parser_finds(model: ConstituencyModel) -> None:
    trees = list(parse_brackets(TREES * 5))
    sentences = [WORDS, [], ["a", "b"]]
    told: list[Progress] = []
    found = self_train(trees, sentences, model.options, weight=0.5, listener=told.append)
    steps = [(each.done, each.total) for each in told if each.stage == "sentences without trees"]
    assert steps == [(0, 2), (1, 2), (2, 2)]
    silver = [parses[0].tree for parses in model.parse_all([words for words in sentences if words])]
    weights = [1.0] * len(trees) + [0.5] * len(silver)
    assert found.fingerprint == ConstituencyModel.train([*trees, *silver], model.options, weights=weights).fingerprint
    assert self_train(trees, sentences, model.options, weight=0.0).fingerprint == model.fingerprint
