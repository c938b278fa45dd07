"""Silver trees are mended as the guidelines say, and subtrees of dependencies are those that a slow search finds."""

from collections import Counter
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import silver
from spectral_latent.constituency import Phrase
from spectral_latent.corpora import constituency_trees, parse_brackets
from spectral_latent.dependency import DependencySentence
from tests.toy import toy_treebank

DEV, TEST, WRITTEN = sorted(Path(silver.__file__).parent.glob("everyday*.mrg"))

# Before and after, by the examples of Bieri et al. (1995) for each label.
CASES = {
    "label_wh_phrases": [
        ("(SBAR (NP (WP who)) (S (VP (VBD came))))", "(SBAR (WHNP (WP who)) (S (VP (VBD came))))"),
        (
            "(SBAR (NP (NP (DT none)) (PP (IN of) (NP (WDT which)))) (S (VP (VBD came))))",
            "(SBAR (WHNP (NP (DT none)) (WHPP (IN of) (WHNP (WDT which)))) (S (VP (VBD came))))",
        ),
        (
            "(SBARQ (NP (WP$ whose) (NN daughter)) (SQ (VP (VBD came))) (. ?))",
            "(SBARQ (WHNP (WP$ whose) (NN daughter)) (SQ (VP (VBD came))) (. ?))",
        ),
        (
            "(SBARQ (CC And) (ADJP (WRB how) (JJ hot)) (SQ (VBZ is) (NP (PRP it))) (. ?))",
            "(SBARQ (CC And) (WHADJP (WRB how) (JJ hot)) (SQ (VBZ is) (NP (PRP it))) (. ?))",
        ),
        ("(SBAR (WRB when) (S (VP (VBN seen))))", "(SBAR (WHADVP (WRB when)) (S (VP (VBN seen))))"),
        # A WH-word within a clause, and one behind the subject, stay as they are.
        ("(SBAR (IN that) (S (NP (WP who)) (VP (VBD came))))", None),
        ("(SBAR (S (NP (PRP you)) (VP (VBP mean) (NP (WP who)))))", None),
        ("(S (NP (WDT that)) (VP (VBD came)))", None),
    ],
    "label_interjections": [
        ("(ADVP (UH please))", "(INTJ (UH please))"),
        ("(NP (UH Huh) (. ?))", "(INTJ (UH Huh) (. ?))"),
        (
            "(S (UH Oh) (, ,) (NP (PRP I)) (VP (VBP see)))",
            "(S (INTJ (UH Oh)) (, ,) (NP (PRP I)) (VP (VBP see)))",
        ),
        ("(INTJ (UH Wow) (. !))", None),
        ("(NP (UH uh) (NN car))", None),
    ],
    "label_particles": [
        ("(VP (VB stand) (ADVP (RP up)))", "(VP (VB stand) (PRT (RP up)))"),
        ("(VP (VB stand) (ADVP (RB there)))", None),
    ],
    "raise_copula": [
        ("(SQ (VP (VBZ is) (NP (PRP$ your) (NN name))))", "(SQ (VBZ is) (NP (PRP$ your) (NN name)))"),
        ("(SQ (VP (VBZ is) (ADJP (JJ next))))", None),
        ("(SQ (VP (VBD broke) (NP (PRP it))))", None),
    ],
    "add_clauses": [
        ("(SBAR (WHNP (WP who)) (VP (VBD came)))", "(SBAR (WHNP (WP who)) (S (VP (VBD came))))"),
        ("(SBARQ (WHNP (WP Who)) (VP (VBD came)) (. ?))", "(SBARQ (WHNP (WP Who)) (SQ (VP (VBD came))) (. ?))"),
        ("(S (NP (PRP We)) (VP (VBD came)))", None),
    ],
    "add_verb_phrases": [
        ("(SQ (VBZ wants) (NP (NN pie)) (. ?))", "(SQ (VP (VBZ wants) (NP (NN pie))) (. ?))"),
        ("(SQ (VBZ Has) (NP (PRP it)) (VP (VBN come)) (. ?))", None),
        ("(S (VBZ wants) (NP (NN pie)))", None),
    ],
}


def tree_of(text: str) -> Phrase:
    (tree,) = parse_brackets(text)
    return tree


@pytest.mark.parametrize(
    ("rule", "before", "after"), [(rule, *case) for rule, cases in CASES.items() for case in cases]
)
def test_a_rule_does_what_the_guidelines_say(rule: str, before: str, after: str | None) -> None:
    counts = Counter[str]()
    assert silver.mend(tree_of(before), counts).bracketed() == (after or before)
    assert counts[rule] == (after is not None) and sum(counts.values()) == counts[rule]


@pytest.mark.parametrize(
    "trees",
    [toy_treebank(60), *(list(constituency_trees(file)) for file in (DEV, TEST, WRITTEN))],
    ids=["toy", "dev", "test", "written"],
)
def test_mended_trees_have_the_same_words_and_tags_and_stay_as_they_are(trees: list[Phrase]) -> None:
    once = list(silver.mended(trees, Counter()))
    assert [list(tree.preterminals()) for tree in once] == [list(tree.preterminals()) for tree in trees]
    again = Counter[str]()
    assert list(silver.mended(once, again)) == once and not any(again.values())


def test_everyday_sentences_are_in_one_set() -> None:
    sets = [[" ".join(tree.words()).lower() for tree in constituency_trees(file)] for file in (DEV, TEST, WRITTEN)]
    assert min(map(len, sets)) > 150 and sum(map(len, sets)) == len(set(chain(*sets)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(NP (DT a) (ADJP (NN rain) (HYPH -) (VBN stained)) (NN hat))", "(NP (DT a) (JJ rain-stained) (NN hat))"),
        ("(NP (NN case) (HYPH -) (NNS studies))", "(NP (NNS case-studies))"),
        ("(NP (NNP COVID) (HYPH -) (CD 19))", "(NP (NNP COVID-19))"),
        ("(NP (NNP A) (HYPH -) (IN to) (HYPH -) (NNP B))", "(NP (NNP A-to-B))"),
        ("(NP (QP (CD two) (HYPH -) (CD four)) (NNS hats))", "(NP (CD two-four) (NNS hats))"),
        ("(VP (VBZ is) (ADJP (RB so) (HYPH -) (VBN called)))", "(VP (VBZ is) (ADJP (JJ so-called)))"),
        ("(NP (HYPH -) (NN case))", "(NP (HYPH -) (NN case))"),
        ("(NP (NP (NN case)) (HYPH -) (NP (NN study)))", "(NP (NP (NN case)) (HYPH -) (NP (NN study)))"),
    ],
)
def test_words_with_hyphens_are_joined(before: str, after: str) -> None:
    assert silver.join_hyphens(tree_of(before)).bracketed() == after


@st.composite
def sentences(draw: st.DrawFn) -> DependencySentence:
    size = draw(st.integers(1, 8))
    order = draw(st.permutations(range(1, size + 1)))
    heads = [0] * size
    for at, word in enumerate(order[1:], start=1):
        heads[word - 1] = draw(st.sampled_from(order[:at]))
    tags = draw(st.lists(st.sampled_from(["NN", ",", "CC"]), min_size=size, max_size=size))
    forms = [{"NN": "x", ",": ",", "CC": "and"}[tag] for tag in tags]
    names = st.sampled_from(["obj", "conj", "cc"])
    relations = draw(st.lists(names, min_size=size, max_size=size))
    blank = ("_",) * size
    return DependencySentence(tuple(forms), blank, blank, tuple(tags), blank, tuple(heads), tuple(relations))


@given(sentences())
def test_subtrees_are_those_of_a_slow_search(sentence: DependencySentence) -> None:
    def is_below(word: int, head: int) -> bool:
        return word == head or (sentence.heads[word - 1] > 0 and is_below(sentence.heads[word - 1], head))

    numbers = range(1, len(sentence.forms) + 1)
    expected = []
    for head, relation in zip(numbers, sentence.relations, strict=True):
        below = [word for word in numbers if is_below(word, head)]
        if below != list(range(below[0], below[-1] + 1)):
            continue
        skipped = {n for n in below if sentence.xpos[n - 1] == ","}
        before = skipped | {n for n in below if relation == "conj" and sentence.relations[n - 1] == "cc"}
        while below and below[0] in before:
            below = below[1:]
        while below and below[-1] in skipped:
            below = below[:-1]
        inside = any(sentence.forms[n - 1] == "," for n in below)
        follows = bool(below) and below[-1] < len(numbers) and sentence.forms[below[-1]] == ","
        if len(below) > 1 and not (inside and follows):
            expected.append((relation, below[0] - 1, below[-1]))
    assert list(silver.subtrees(sentence)) == expected


def test_relations_are_those_whose_subtrees_are_constituents() -> None:
    sentence = DependencySentence(
        forms=("the", "dog", "saw", "a", "cat"),
        lemmas=("_",) * 5, upos=("_",) * 5, xpos=("DT", "NN", "VBD", "DT", "NN"), feats=("_",) * 5,
        heads=(2, 3, 0, 5, 3), relations=("det", "nsubj", "root", "det", "obj"),
    )  # fmt: skip
    flat = tree_of("(S (NP (DT the) (NN dog)) (VBD saw) (DT a) (NN cat))")
    crossing = tree_of("(S (NP (DT the) (NN dog)) (VP (VBD saw) (DT a)) (NN cat))")
    good = tree_of("(S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))))")

    def together(*found: Phrase) -> set[str]:
        return set(silver.learn_relations((sentence, tree) for tree in found).together)

    assert together(*[good] * 20) == {"root", "nsubj", "obj"}
    assert together(*[good] * 20, *[flat] * 5) == {"root", "nsubj"}
    assert together(*[good] * 20, *[crossing] * 5) == {"root", "nsubj", "obj"}
    assert together(*[good] * 19) == set()


def test_neighbours_are_runs_of_subtrees_after_their_head_that_are_apart_unless_most_trees_join_them() -> None:
    sentence = DependencySentence(
        forms=("Put", "the", "milk", ",", "please", ",", "in", "it"),
        lemmas=("_",) * 8, upos=("_",) * 8, xpos=("VB", "DT", "NN", ",", "UH", ",", "IN", "PRP"), feats=("_",) * 8,
        heads=(0, 3, 1, 1, 1, 1, 8, 1), relations=("root", "det", "obj", "punct", "discourse", "punct", "case", "obl"),
    )  # fmt: skip
    assert list(silver.neighbours(sentence)) == [
        ("obj discourse", 1, 5),
        ("obj obl", 1, 8),
        ("discourse obl", 4, 8),
    ]
    right = tree_of("(VP (VB Put) (NP (DT the) (NN milk)) (, ,) (INTJ (UH please)) (, ,) (PP (IN in) (NP (PRP it))))")
    wrong = tree_of("(VP (VB Put) (NP (DT the) (NN milk) (, ,) (UH please) (, ,) (PP (IN in) (NP (PRP it)))))")
    mostly = silver.learn_relations([(sentence, right)] * 11 + [(sentence, wrong)] * 9)
    assert mostly.apart == {"obj discourse", "obj obl", "discourse obl"}
    assert silver.learn_relations([(sentence, right)] * 9 + [(sentence, wrong)] * 11).apart == {
        "obj discourse", "discourse obl"
    }  # fmt: skip
