"""The bracket reader against NLTK's on random trees, and its errors one by one."""

import re
import string
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tree import Tree

from spectral_latent.constituency import Changes, clean
from spectral_latent.constituency.cleaning import without_empty
from spectral_latent.constituency.tree import Phrase
from spectral_latent.corpora import CorpusError, parse_brackets, phrase_from_nltk, raw_trees
from tests.processes import is_linear

# NLTK separates tokens at any Unicode white space, and takes \( for a bracket within a word.
TOKEN = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), blacklist_characters="()\\"), min_size=1
)
TREES = st.recursive(
    st.builds(lambda tag, word: Phrase(tag, (word,)), TOKEN, TOKEN),
    lambda below: st.builds(lambda label, c: Phrase(label, tuple(c)), TOKEN, st.lists(below, min_size=1, max_size=4)),
    max_leaves=20,
)
SPACE = st.text(" \t\r\n", max_size=3)


def read_one(text: str) -> Phrase:
    (tree,) = parse_brackets(text)
    return tree


@given(TREES)
def test_reads_what_nltk_reads(tree: Phrase) -> None:
    text = tree.bracketed()
    assert read_one(text) == tree == phrase_from_nltk(Tree.fromstring(text))


@given(st.lists(TREES, min_size=1, max_size=4), st.data())
def test_white_space_and_outer_brackets_mean_nothing(trees: list[Phrase], data: st.DataObject) -> None:
    pieces = []
    for tree in trees:
        text = f"({tree.bracketed()})" if data.draw(st.booleans()) else tree.bracketed()
        spread = [data.draw(SPACE) + c + data.draw(SPACE) if c in "()" else c for c in text]
        pieces.append("".join(spread).replace(" ", data.draw(SPACE) + " "))
    assert list(parse_brackets(data.draw(SPACE).join(pieces))) == trees


@given(st.text(min_size=1), st.text(string.printable, min_size=1))
def test_any_label_and_word_can_be_written_and_read(label: str, word: str) -> None:
    read = read_one(Phrase(label, (Phrase("X", (word,)), Phrase("Y", ("z",)))).bracketed())
    assert [child.label for child in read.children if isinstance(child, Phrase)] == ["X", "Y"]


def test_outer_bracket() -> None:
    assert read_one("( (S (NN dog)) )") == read_one("(S (NN dog))")
    assert read_one("((NN dog))") == read_one("(NN dog)")
    assert read_one("( (S (NN dog)) (. .) )") == Phrase("", (read_one("(S (NN dog))"), read_one("(. .)")))
    assert read_one("(TOP (S (NN dog)))").label == "TOP"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("(S (NN a))\n(S\n (NP (NN a)\n", 2, "never closed"),
        ("(NN", 1, "never closed"),
        ("(S (NN a)))\n", 1, "never opened"),
        ("\n\n(S (NN a)) extra (S (NN a))", 3, "'extra'"),
        ("(S\n(NP\n() (NN a)))", 3, "label"),
        ("(S\n(NP))", 2, "NP"),
        ("(( ))", 1, "label"),
        ("(NP the\n(NN dog))", 1, "'the'"),
        ("(NP (DT the)\ndog)", 2, "'dog'"),
        ("(NP (DT the (NN dog)))", 1, "'the'"),
        ("(S (NP-SBJ (PRP (Dia))) (VP (VB (pergi))))", 1, "(PRP Dia)"),  # a word in brackets of its own
        ("(S (PRP (Dia) ) (VB x))", 1, "(PRP Dia)"),
        ("(S (PRP ( D)) (VB x))", 1, "(PRP D)"),
        ("(S (PRP (Dia )) (VB x))", 1, "Dia is empty; remove"),  # a bracket with a space is no word
    ],
)
def test_errors_name_source_and_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(CorpusError) as caught:
        list(parse_brackets(text, "wsj.mrg"))
    assert str(caught.value).startswith(f"wsj.mrg, line {line}: ")
    assert problem in str(caught.value)


def test_depth_is_limited_by_memory_alone() -> None:
    depth = 10_000
    tree = read_one("(S " * depth + "(NN a)" + ")" * depth)
    assert sum(isinstance(node, Phrase) for node in tree.nodes()) == depth + 1


def test_long_tokens_and_white_space_take_linear_time() -> None:
    def read(text: str) -> None:
        with pytest.raises(CorpusError):
            list(parse_brackets(text))

    texts: list[Callable[[int], str]] = [
        lambda size: "(" + " " * size,
        lambda size: "(A" + " " * size + "b",
        lambda size: "(A " + "b" * size,
        lambda size: "(" * size,
        lambda size: "(A b" + " " * size,
    ]
    assert is_linear(lambda size: [read(text(size)) for text in texts], 4_000)


def leaves(tree: Phrase) -> list[str]:
    return [f"{leaf.label}/{word}" for leaf in tree.preterminals() for word in leaf.words()]


HISTORICAL = """
( (VERSION (FORMAT dash)))

( (CODE <heading>))

( (IP-MAT (NP-SBJ (D-N the-the) (N-N dog-dog)) (CODE <P1>) (VBDI barked-bark) (. .-.)) (ID X,1.1))

( (IP-MAT (NP-SBJ *con*) (VBDI sat-sit) (CP (WNP-1 0) (C 0) (IP-SUB (NP-OB1 *T*-1) (VB *) (VBDI *T*-x) (NUM 0-0)))
  (. .-.)) (ID X,1.2))
"""


@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("has_lemmas", [True, False])
def test_a_historical_text_is_known_by_ids_empty_elements_or_lemmas(has_ids: bool, has_lemmas: bool) -> None:
    text = HISTORICAL
    if not has_ids:
        text = re.sub(r" \(ID [^)]*\)", "", text)
    if not has_lemmas:
        text = re.sub(r"([a-z.0]+)-[a-z.0]+\)", r"\1)", text)
    changes = Changes()
    trees = [clean(tree) for tree in parse_brackets(text, "a.psd", changes)]
    assert [tree and tree.bracketed() for tree in trees] == [
        "(IP (NP (D-N the) (N-N dog)) (VBDI barked) (. .))",
        "(IP (VBDI sat) (CP (IP (NUM 0))) (. .))",
    ]
    assert changes.left_out == {"trees without words left out": ["a.psd, line 2", "a.psd, line 4"]}
    assert changes.counts["nodes ID and CODE removed"] == (5 if has_ids else 3)
    assert changes.counts["lemmas cut from words"] == 7 * has_lemmas
    assert changes.counts["top brackets removed"] == 2


@pytest.mark.parametrize(
    "text",
    [
        "(NP (JJ well-known) (NN e-mail) (NN t-shirt) (NN x-ray))",
        "(S (INTJ (UH bye-bye)) (. .))",
        "(S (NP (CD 0)) (VP (VBZ is) (NP (SYM *))))",
        "(S (NP-SBJ (CD 0)) (VP (VBZ is) (NP (NN null))))",
        "(TOP (NP (CD 0) (SYM *) (UH *sigh*)) (CODE 7))",
    ],
)
def test_other_texts_are_not_historical(text: str) -> None:
    assert read_one(text).bracketed() == text


def test_lemmas_alone_show_a_historical_text_and_ids_no_lemmas() -> None:
    text = "( (IP-MAT (NP-SBJ (D-N the-the) (N-N dog-dog)) (VBDI barked-bark) (. .-.)))"
    assert leaves(read_one(text)) == ["D-N/the", "N-N/dog", "VBDI/barked", "./."]
    (tree,) = parse_brackets(text, historical=False)
    assert leaves(tree) == ["D-N/the-the", "N-N/dog-dog", "VBDI/barked-bark", "./.-."]
    text = "( (NP (N vice-president)) (ID A,.1))\n( (NP (D the) (N dog)) (ID A,.2))\n( (UH yes) (CODE x) (ID A,.3))"
    assert [leaves(tree) for tree in parse_brackets(text)] == [["N/vice-president"], ["D/the", "N/dog"], ["UH/yes"]]


@pytest.mark.parametrize("header", ["( (VERSION 1))", "(CODE x)", "( (METADATA (AUTHOR a)) (CODE y))"])
def test_trees_of_metadata_alone_are_no_trees_in_any_format(header: str) -> None:
    changes = Changes()
    trees = parse_brackets(f"{header}\n(S (NN dog))\n(ID x)", "a.mrg", changes)
    assert [leaves(tree) for tree in trees] == [["NN/dog"], ["ID/x"]]
    assert changes.counts["trees without words left out"] == 1
    assert changes.left_out == {"trees without words left out": ["a.mrg, line 1"]}


@pytest.mark.parametrize("text", ["(S (NP (X (-NONE- *))) (VB go))", "( (IP (NP (NP *con*) (X 0)) (VB go)) (ID A,.1))"])
def test_empty_elements_are_counted_as_cleaning_counts_them(text: str) -> None:
    read, cleaned = Changes(), Changes()
    bare = list(parse_brackets(text, "x", read, traces=False))
    assert bare == [without_empty(tree, cleaned) for tree in parse_brackets(text, "x", cleaned)]
    assert read.counts == cleaned.counts and read.counts["phrases without words removed"] > 1


def test_words_in_asterisks_are_words_where_their_label_is_a_tag() -> None:
    text = (
        "(S (PPER er) ($*LRB* *LRB*) (ADV leise) ($*LRB* *RRB*) (INTJ (UH *GRIN*)))\n"
        "(S (NN *PRO*) (NP *PRO*) (NN dog) (sn.e-SUJ *0*) (NP (NN *T*-1)))"
    )
    changes = Changes()
    one, other = parse_brackets(text, "a.mrg", changes)
    assert leaves(one) == ["PPER/er", "$*LRB*/-LRB-", "ADV/leise", "$*LRB*/-RRB-", "UH/*GRIN*"]
    assert leaves(other) == ["NN/*PRO*", "-NONE-/*PRO*", "NN/dog", "-NONE-/*0*", "NN/*T*-1"]
    assert changes.counts == {"brackets such as *LRB* written as -LRB-": 2}


def test_marks_of_a_historical_text_that_is_read_otherwise_are_warned_of() -> None:
    plain = "(S (NP-SBJ (PRP It)) (VP (VBZ works)))\n"
    with pytest.warns(UserWarning, match=r"a\.psd: 1 trees with a node ID, 2 leaves \(NP-SBJ \*nul\*\) are"):
        trees = list(
            parse_brackets(120 * plain + "( (S (NP-SBJ *nul*) (VB go)) (ID A,1))\n(S (NP-SBJ *nul*) (VB go))", "a.psd")
        )
    assert len(trees) == 122
    late = parse_brackets(120 * plain + "( (S (NP-SBJ *con*) (VB go)) (ID A,1))", historical=True)
    assert [leaves(tree) for tree in late][120] == ["-NONE-/*con*", "VB/go"]


WHOLE = "( (S (NP (DT the) (NN dog))\n     (VP (VBZ barks))))\n"


@pytest.mark.parametrize(
    ("whole", "cut", "line"),
    [
        (WHOLE, "( (S (NP (DT the) (NN dog))\n     (VP (VBZ barks)))\n", 0),
        (WHOLE, "( (S (NP (DT the) (NN dog)\n     (VP (VBZ barks))))\n", 0),
        (WHOLE, "( (S (NP (DT the) (NN dog))\n     (VP (VBZ barks)))))\n", 1),
        ("(S (NN dog))\n", "(S (NN dog)\n", 0),
        ("(S (NN dog))\n", "(S (NN dog)))\n", 0),
        ("(S (NN dog))\n", "(S (NN))\n", 0),
        ("(S (NP (NN dog))\n(VP (VB bark)))\n\n", "(S (NP (NN dog)\n(VP (VB bark)))\n\n", 0),
    ],
)
@pytest.mark.parametrize("where", [[1], [0, 2], [1, 3, 4], list(range(2, 32))])
def test_all_trees_that_are_wrong_are_named_and_no_other(whole: str, cut: str, line: int, where: list[int]) -> None:
    n = max(where) + 40
    pieces = [cut if number in where else whole for number in range(n)]
    height = whole.count("\n")
    wanted = [height * number + 1 + line for number in where]
    with pytest.raises(CorpusError) as caught:
        list(parse_brackets("".join(pieces), "a.mrg"))
    assert list(map(int, re.findall(r"a\.mrg, line (\d+): ", str(caught.value)))) == wanted[:20]
    if len(where) > 1:
        assert f"a.mrg: {len(where)} errors" in str(caught.value)
    changes = Changes()
    found = list(parse_brackets("".join(pieces), "a.mrg", changes, skip_bad=True))
    assert found == (n - len(where)) * [read_one(whole)]
    assert changes.counts["trees that cannot be read left out"] == len(where)
    assert changes.left_out["trees that cannot be read left out"][0] == f"a.mrg, line {wanted[0]}"
    begun = [line.number for _, line in raw_trees("".join(pieces), "a.mrg", Changes())]
    assert begun == [height * number + 1 for number in range(n) if number not in where]


def test_a_missing_bracket_is_not_made_good_by_a_later_one_that_is_too_many() -> None:
    lines = 60 * ["(S (NN dog))"]
    lines[4] = "(S (NN dog)"
    lines[50] = "(S (NN dog)))"
    with pytest.raises(CorpusError, match=r"(?s)line 5: .*never closed.*line 51: .*never opened"):
        list(parse_brackets("\n".join(lines), "a.mrg"))


def test_white_space_of_unicode_separates_labels_and_words() -> None:
    text = "(S\xa0\xa0 (NP\u3000(NNS\u2009dogs\xa0))\xa0(VP (CD 10\xa0000)\u3000))"
    assert read_one(text) == Phrase(
        "S", (Phrase("NP", (Phrase("NNS", ("dogs",)),)), Phrase("VP", (Phrase("CD", ("10\xa0000",)),)))
    )


def test_many_errors_take_linear_time() -> None:
    wrong = ("(S (NN dog)\n(S (NN dog))\n", "(S (NN dog)))\n(S (NN dog))\n", "(S (NN dog)\n\n", "( (S\n")

    def read(lines: str, size: int) -> None:
        with pytest.raises(CorpusError, match="errors"):
            list(parse_brackets(size * lines))

    for lines in wrong:
        assert is_linear(partial(read, lines), 30), lines
