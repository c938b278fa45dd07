"""Empty elements and labels of treebanks that are not the Penn Treebank's."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.constituency import Changes, Phrase, clean
from spectral_latent.constituency.cleaning import clean_together, is_empty, without_functions
from spectral_latent.constituency.tree import FlatPhrases
from spectral_latent.corpora import parse_brackets
from spectral_latent.corpora.nltk_trees import plain_phrase_from_nltk


def cleaned(text: str) -> str | None:
    (tree,) = parse_brackets(text)
    result = clean(tree)
    return None if result is None else result.bracketed()


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
    ("annotated", "expected"),
    [
        (
            "(S (NP-SBJ-1 (PRP it)) (VP (VBZ is) (NP-LOC-PRD=2 (NN x))))",
            "(S (NP-SBJ (PRP it)) (VP (VBZ is) (NP-LOC-PRD (NN x))))",
        ),
        ("(S (NP-SBJ (NP (NN a) (-NONE- *ICH*-1))) (VB b))", "(S (NP-SBJ (NN a)) (VB b))"),
        ("(S (NP (NP-TMP (NN a))) (VB b))", "(S (NP-TMP (NN a)) (VB b))"),
        ("(S (NN-SBJ (NN a)) (VB-HD b) (-RRB- -RRB-))", "(S (NN-SBJ (NN a)) (VB-HD b) (-RRB- -RRB-))"),
        ("(TOP (S-IMP (VB go) (. .)))", "(S-IMP (VB go) (. .))"),
    ],
)
def test_function_labels_of_phrases_are_kept_on_demand(annotated: str, expected: str) -> None:
    (tree,) = parse_brackets(annotated)
    result = clean(tree, function_labels=True)
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
    assert clean(kept) == plain
    assert clean(kept, function_labels=True) == kept
    assert without_functions(kept) == plain
    assert not any(character.isdigit() for node in kept.nodes() if isinstance(node, Phrase) for character in node.label)


def test_tags_keep_their_hyphens_and_a_phrase_stays_over_a_tag_of_its_own_label() -> None:
    """The cases of Icelandic, the verb forms of Portuguese and the clitics of French, which are no functions."""
    assert cleaned("(NP-SBJ (NS-N menn) (v-fin veio) (-LRB- -LRB-))") == "(NP (NS-N menn) (v-fin veio) (-LRB- -LRB-))"
    assert cleaned("(IP-MAT (CL-1 (CL i)) (NP (NP-2 (N a))))") == "(IP (CL (CL i)) (NP (N a)))"
    assert without_functions(Phrase("NP-SBJ", (Phrase("N-D", ("a",)),))).bracketed() == "(NP (N-D a))"


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


@given(st.lists(ANNOTATED, max_size=4), st.booleans())
def test_trees_cleaned_together_are_those_cleaned_alone(trees: list[Phrase], function_labels: bool) -> None:
    shared = FlatPhrases.of(trees + trees).trees()
    found = clean_together(shared, function_labels=function_labels)
    assert found == [clean(tree, function_labels=function_labels) for tree in trees + trees]
    assert all(one is other for one, other in zip(found, found[len(trees) :], strict=False))


def words_and_tags(tree: Phrase) -> list[tuple[str, str]]:
    leaves = [node for node in tree.nodes() if isinstance(node, Phrase) and node.is_preterminal()]
    return [(word, leaf.label) for leaf in leaves for word in leaf.children if isinstance(word, str)]


def test_the_penn_treebank_tags_all_names_in_asterisks(require_corpus: Callable[[str], Any]) -> None:
    starred = 0
    for tree in map(plain_phrase_from_nltk, require_corpus("treebank").parsed_sents()[3000:]):
        for word, tag in words_and_tags(tree):
            assert is_empty(tag, word) == (tag == "-NONE-")
            starred += tag == "-NONE-" and is_empty("NN", word)
    assert starred > 200
