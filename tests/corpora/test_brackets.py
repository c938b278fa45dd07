"""The bracket reader against NLTK's on random trees, and its errors one by one."""

import string
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tree import Tree

from spectral_latent.constituency.tree import Phrase
from spectral_latent.corpora import CorpusError, parse_brackets, phrase_from_nltk, read_brackets

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
        ("\n\n(S (NN a)) extra (S (NN a))", 3, "'extra' stands outside brackets"),
        ("(S\n(NP\n() (NN a)))", 3, "has no label"),
        ("(S\n(NP))", 2, "constituent NP is empty"),
        ("(( ))", 1, "has no label"),
        ("(NP the\n(NN dog))", 1, "'the' makes a constituent NP"),
        ("(NP (DT the)\ndog)", 2, "'dog' makes a constituent NP"),
        ("(NP (DT the (NN dog)))", 1, "'the' makes a constituent DT"),
    ],
)
def test_errors_name_source_and_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(CorpusError) as caught:
        list(parse_brackets(text, "wsj.mrg"))
    assert str(caught.value).startswith(f"wsj.mrg, line {line}: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_no_trees(text: str) -> None:
    with pytest.raises(CorpusError, match=r"empty\.mrg: no trees"):
        list(parse_brackets(text, "empty.mrg"))


@given(st.text("()ab \n", max_size=40))
def test_any_text_gives_trees_or_the_error(text: str) -> None:
    try:
        trees = list(parse_brackets(text))
    except CorpusError:
        return
    assert [read_one(tree.bracketed()) for tree in trees] == trees


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "a.mrg"
    file.write_bytes("\ufeff(NN perché)\r\n(NN caffè)\r\n".encode())
    assert [word for tree in read_brackets(file) for word in tree.words()] == ["perché", "caffè"]
    file.write_bytes(b"(NN a)\n(NN caf\xe8)\n")
    with pytest.raises(CorpusError, match=r"a\.mrg, line 2, byte 8: 0xe8 is not UTF-8; convert"):
        read_brackets(file)
    with pytest.raises(CorpusError, match=r"none\.mrg: No such file"):
        read_brackets(str(tmp_path / "none.mrg"))
    with pytest.raises(CorpusError, match=r"directory|denied"):
        read_brackets(tmp_path)


def test_depth_is_limited_by_memory_alone() -> None:
    depth = 100_000
    tree = read_one("(S " * depth + "(NN a)" + ")" * depth)
    assert sum(isinstance(node, Phrase) for node in tree.nodes()) == depth + 1


def test_long_tokens_and_white_space_take_linear_time() -> None:
    size = 200_000
    begin = time.process_time()
    for text in ("(" + " " * size, "(A" + " " * size + "b", "(A " + "b" * size, "(" * size, "(A b" + " " * size):
        with pytest.raises(CorpusError):
            list(parse_brackets(text))
    assert time.process_time() - begin < 5
