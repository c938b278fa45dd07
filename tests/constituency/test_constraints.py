"""Parses under constraints, against the enumeration of all trees of a grammar."""

from collections.abc import Callable
from itertools import islice, product
from typing import Any

import numpy as np
import pytest

from spectral_latent import dependency
from spectral_latent.constituency import (
    Bracket,
    ConstituencyModel,
    ConstituencyOptions,
    Phrase,
    PhraseConstraints,
    clean,
)
from spectral_latent.constituency.tree import list_constituents
from spectral_latent.corpora import constituency_trees, parse_brackets, parse_partial
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.model import Parse, Partial

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
    PhraseConstraints([(0, 2)]),
    PhraseConstraints([(1, 3)]),
    PhraseConstraints([(0, 3)]),
    PhraseConstraints([(1, 4)]),
    PhraseConstraints([(0, 2, "NP")]),
    PhraseConstraints([(0, 2), (2, 4, "S")]),
    PhraseConstraints([(3, 4, "NP")]),
    PhraseConstraints([(0, 4, "S"), (0, 3, "X")]),
    PhraseConstraints(forbidden=[(0, 2)]),
    PhraseConstraints(forbidden=[(0, 2, "NP"), (0, 3)]),
    PhraseConstraints(forbidden=[(3, 4), (2, 3, "NP")]),
    PhraseConstraints([(0, 2)], [(0, 2, "NP")]),
    PhraseConstraints(tags={1: "C"}),
    PhraseConstraints([(2, 4)], tags={1: "A", 3: "C"}),
]


def model_of(count: int = 1) -> ConstituencyModel:
    """Learn grammars that prune nothing."""
    exact = [
        ConstituencyOptions(
            estimator=EstimatorOptions("em", n_states=2, iterations=3, seed=seed),
            threshold=0.0,
            beam=0.0,
            fragments=0.0,
            rows=0.0,
        )
        for seed in range(count)
    ]
    return ConstituencyModel.train(parse_brackets(TREES * 5), exact)


@pytest.fixture(scope="module")
def model() -> ConstituencyModel:
    return model_of()


@pytest.fixture(scope="module")
def every(model: ConstituencyModel) -> list[Parse]:
    """All trees of the words."""
    return [parse for parse in model.parse_nbest(WORDS, 10_000) if parse.sign]


def obeys(tree: Phrase, constraints: PhraseConstraints) -> bool:
    """Tell whether a tree obeys constraints, by a list of its constituents."""
    found: list[tuple[int, int, str]] = []
    tags: list[str] = []

    def walk(node: Phrase, first: int) -> int:
        if node.is_preterminal():
            tags.append(node.label)
            return first + 1
        end = first
        for child in node.children:
            assert isinstance(child, Phrase)
            end = walk(child, end)
        found.append((first, end, node.label))
        return end

    walk(tree, 0)

    def has(bracket: Bracket) -> bool:
        return any(part[:2] == bracket[:2] and bracket.label in (None, part[2]) for part in found)

    return (
        all(map(has, constraints.required))
        and not any(map(has, constraints.excluded))
        and all(tags[word] == tag for word, tag in constraints.tags.items())
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


def test_the_mean_of_grammars_obeys() -> None:
    both = model_of(2)
    for constraints in CONSTRAINTS:
        for parse in both.parse_nbest(WORDS, 5, constraints=constraints):
            assert obeys(parse.tree, constraints)


def brackets(tree: Phrase, first: int = 0) -> tuple[list[tuple[int, int, str]], int]:
    """List the constituents of a tree but for tags, and the end of its last word."""
    if tree.is_preterminal():
        return [], first + 1
    below: list[tuple[int, int, str]] = []
    end = first
    for child in tree.children:
        assert isinstance(child, Phrase)
        parts, end = brackets(child, end)
        below += parts
    return [(first, end, tree.label), *below], end


def test_a_fallback_has_every_bracket_once(model: ConstituencyModel) -> None:
    brackets = [(0, 4), (2, 4), (2, 4, "X"), (2, 4, "X"), (2, 4, "S"), (3, 4)]
    parse = model.parse(WORDS, constraints=PhraseConstraints(brackets))
    assert parse.is_fallback
    assert parse.tree.bracketed() == "(FALLBACK (A a) (A a) (X (S (B b) (C c))))"


def test_surprisal_obeys_given_tags_and_refuses_brackets(model: ConstituencyModel) -> None:
    tags = Partial(WORDS, PhraseConstraints(tags={3: "A"}))
    found = model.surprisal(tags, "nats").sentence
    assert found == pytest.approx(-model.log_probabilities([tags])[0], abs=0.02)
    assert found > model.surprisal(WORDS, "nats").sentence + 0.1 and len(model.entropy(tags)) == 5
    for ask in (model.surprisal, model.entropy):
        with pytest.raises(ValueError, match="nothing of brackets"):
            ask(Partial(WORDS, PhraseConstraints([(0, 2)])))


def test_given_tags_that_no_rules_allow_have_a_tree(model: ConstituencyModel) -> None:
    """All words and tags of the grammar: a tree has the tags that are given, and required brackets."""
    for tags in product("ABC", repeat=4):
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


def test_gold_tags_of_a_treebank_leave_no_sentence_without_a_tree(require_corpus: Callable[[str], Any]) -> None:
    require_corpus("treebank")
    trees = [tree for tree in map(clean, islice(constituency_trees("nltk:treebank"), 400)) if tree is not None]
    model = ConstituencyModel.train(trees[:200])
    gold = [[part for part in list_constituents(tree) if part.is_tag] for tree in trees[200:]]
    known = [{tag.first: tag.label for tag in tags if tag.label in model.members[0].tags} for tags in gold]
    pairs = zip(trees[200:], known, strict=True)
    partial = [Partial(list(tree.words()), PhraseConstraints(tags=tags)) for tree, tags in pairs]
    for (parse,), tags in zip(model.parse_all(partial), known, strict=True):
        assert not parse.is_fallback
        found = {part.first: part.label for part in list_constituents(parse.tree) if part.is_tag}
        assert {word: found[word] for word in tags} == tags


def test_unlikely_trees_survive_pruning() -> None:
    """The chart is pruned by posteriors given the constraints."""
    common, rare = "(S (A a) (S (B b) (C c)))", "(S (S (A a) (B b)) (C c))"
    options = ConstituencyOptions(estimator=EstimatorOptions("clusters-em", n_states=1), threshold=0.1)
    model = ConstituencyModel.train(parse_brackets(common * 200 + rare), options)
    assert model.parse(["a", "b", "c"]).tree.bracketed() == common
    assert model.parse(["a", "b", "c"], constraints=PhraseConstraints([(0, 2)])).tree.bracketed() == rare


def test_constraints_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match=r"the brackets \(0, 2, 'NP'\) and \(1, 3\) cross"):
        PhraseConstraints([(0, 2, "NP"), (1, 3)])
    for forbidden in ((0, 2), (0, 2, "NP")):
        with pytest.raises(ValueError, match=r"the bracket \(0, 2, 'NP'\) is required and forbidden"):
            PhraseConstraints([(0, 2, "NP")], [forbidden])


def test_constraints_beyond_the_sentence_or_the_grammar_are_refused(model: ConstituencyModel) -> None:
    wrong = {
        r"the bracket \(2, 5\) is not within the 4 words": PhraseConstraints([(2, 5)]),
        r"the bracket \(2, 2, 'NP'\) is not within": PhraseConstraints(forbidden=[(2, 2, "NP")]),
        r"no label 'VP'; its labels are NP, S, X": PhraseConstraints([(0, 2, "VP")]),
        r"no tag 'NP'; its tags are A, B, C": PhraseConstraints(tags={0: "NP"}),
        r"the tag 'A' is of word 4": PhraseConstraints(tags={4: "A"}),
        r"the whole sentence is always a constituent": PhraseConstraints(forbidden=[(0, 4)]),
    }
    for message, constraints in wrong.items():
        with pytest.raises(ValueError, match=message):
            model.parse(WORDS, constraints=constraints)
    with pytest.raises(TypeError, match="not the string"):
        model.parse("a b", constraints=PhraseConstraints([(0, 1)]))
    with pytest.raises(TypeError, match="expected PhraseConstraints, got DependencyConstraints"):
        model.parse(WORDS, constraints=dependency.DependencyConstraints({1: 2}))  # type: ignore[arg-type]


def test_a_bracket_over_a_word_may_name_its_tag(model: ConstituencyModel) -> None:
    constraints = PhraseConstraints([(1, 2, "C"), (0, 2)])
    assert model.parse(WORDS, constraints=constraints) == model.parse(
        WORDS, constraints=PhraseConstraints([(0, 2)], (), {1: "C"})
    )
    with pytest.raises(ValueError, match="the word 1 has two tags, 'C' and 'A'"):
        model.parse(WORDS, constraints=PhraseConstraints([(1, 2, "C"), (1, 2, "A")]))


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
