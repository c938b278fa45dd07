"""Empty elements and labels of treebanks that are not the Penn Treebank's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Changes, Phrase, clean
from spectral_latent.constituency.cleaning import clean_together, is_empty, without_functions
from spectral_latent.constituency.tree import FlatPhrases
from spectral_latent.corpora import parse_brackets


@pytest.mark.parametrize("word", ["*0*", "*T*-1", "*pro*", "*?*", "*ICH*-12", "*PRO*", "*con*", "*EXP*-3", "*T1*"])
def test_a_name_in_asterisks_is_empty_under_any_label(word: str) -> None:
    assert is_empty("-NONE-", word)
    assert is_empty("sn.e-SUJ", word)


@pytest.mark.parametrize(
    "word", ["*", "**", "***", "*0", "0*", "0", "a*b*c", "*a*b*", "*T*-", "*T*-x", "*a*1", "*sigh*", "*GRIN*", "*LRB*"]
)
def test_other_words_are_empty_only_by_their_tag(word: str) -> None:
    assert is_empty("-NONE-", word)
    assert not is_empty("NN", word)


@pytest.mark.parametrize(
    ("annotated", "plain", "with_functions"),
    [
        (
            "( (S (NP-SBJ-1 (NNP A)) (VP (VBZ b) (S (NP-SBJ (-NONE- *-1)) (VP (VB c))))))",
            "(S (NP (NNP A)) (VP (VBZ b) (S (VP (VB c)))))",
            "(S (NP-SBJ (NNP A)) (VP (VBZ b) (S (VP (VB c)))))",
        ),
        (
            "(S (NP-SBJ-1 (PRP it)) (VP (VBZ is) (NP-LOC-PRD=2 (NN x))))",
            "(S (NP (PRP it)) (VP (VBZ is) (NP (NN x))))",
            "(S (NP-SBJ (PRP it)) (VP (VBZ is) (NP-LOC-PRD (NN x))))",
        ),
        (
            "(S (NP-SBJ (NP (NN a) (-NONE- *ICH*-1))) (VB b))",
            "(S (NP (NN a)) (VB b))",
            "(S (NP-SBJ (NN a)) (VB b))",
        ),
        ("(S (NP (NP-TMP (NN a))) (VB b))", "(S (NP (NN a)) (VB b))", "(S (NP-TMP (NN a)) (VB b))"),
        ("(TOP (S-IMP (-LRB- -LRB-) (. .)))", "(S (-LRB- -LRB-) (. .))", "(S-IMP (-LRB- -LRB-) (. .))"),
        ("( (S (NN a)) (. .))", "(TOP (S (NN a)) (. .))", "(TOP (S (NN a)) (. .))"),
        ("(NP (NP-LOC (NP (NN a))))", "(NP (NN a))", "(NP-LOC (NN a))"),
        # the cases of Icelandic, the verb forms of Portuguese and the clitics of French, which are no functions
        ("(NP-SBJ (NS-N menn) (v-fin veio))", "(NP (NS-N menn) (v-fin veio))", "(NP-SBJ (NS-N menn) (v-fin veio))"),
        ("(IP-MAT (CL-1 (CL i)) (N a))", "(IP (CL (CL i)) (N a))", "(IP-MAT (CL (CL i)) (N a))"),
    ],
)
def test_cleaning_with_function_labels_and_without(annotated: str, plain: str, with_functions: str) -> None:
    (tree,) = parse_brackets(annotated)
    for keep, expected in ((False, plain), (True, with_functions)):
        result = clean(tree, function_labels=keep)
        assert result is not None and result.bracketed() == expected


ANNOTATED = st.recursive(
    st.builds(
        lambda tag, word: Phrase(tag, (word,)), st.sampled_from(["NN", "NP-SBJ", "-NONE-", "-LRB-"]), st.just("a")
    ),
    lambda children: st.builds(
        lambda label, parts: Phrase(label, tuple(parts)),
        st.sampled_from(["", "NP", "NP-SBJ", "NP-LOC-1", "NP=3", "S", "S-1-IMP", "TOP", "-LRB-"]),
        st.lists(children, min_size=1, max_size=3),
    ),
    max_leaves=12,
)


@given(ANNOTATED)
def test_trees_with_function_labels_are_those_without_but_for_the_labels(tree: Phrase) -> None:
    kept = clean(tree, function_labels=True)
    plain = clean(tree)
    if kept is None or plain is None:
        assert kept is plain
        return
    assert clean(kept) == clean(plain) == plain
    assert clean(kept, function_labels=True) == kept
    assert without_functions(kept) == plain
    assert not any(character.isdigit() for node in kept.nodes() if isinstance(node, Phrase) for character in node.label)


def test_changes_are_counted_each_once() -> None:
    (tree,) = parse_brackets("(TOP (S-1 (NP-SBJ (NP (NP=2 (N-N a)))) (VP (V b) (NP (-NONE- *T*-1) (-NONE- *)))))")
    changes = Changes()
    result = clean(tree, changes=changes)
    assert result is not None and result.bracketed() == "(S (NP (N-N a)) (VP (V b)))"
    assert changes.counts == {
        "empty elements removed": 2,
        "phrases without words removed": 1,
        "function labels and indices cut from phrases": 3,
        "phrases over a phrase of their own label removed": 2,
        "top brackets removed": 1,
    }
    assert changes.spellings == {"*T*": 1, "*": 1}
    clean(result, changes=changes)
    assert changes.counts.total() == 9
    other = Changes()
    for line in range(4):
        other.leave_out("trees left out", f"line {line}")
    changes.add(other)
    assert changes.contents()["first left out"] == {"trees left out": ["line 0", "line 1", "line 2"]}
    with pytest.warns(UserWarning, match="trees left out: 4; the first: line 0; line 1; line 2") as caught:
        changes.warn()
    assert caught[0].filename == __file__


@given(st.lists(ANNOTATED, max_size=4), st.booleans())
def test_trees_cleaned_together_are_those_cleaned_alone(trees: list[Phrase], function_labels: bool) -> None:
    shared = FlatPhrases.of(trees + trees).trees()
    found = clean_together(shared, function_labels=function_labels)
    assert found == [clean(tree, function_labels=function_labels) for tree in trees + trees]
    assert all(one is other for one, other in zip(found, found[len(trees) :], strict=False))
