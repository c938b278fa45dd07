"""Dependency treebanks by name, what is no tree, and raw texts; and the writer of CoNLL-U."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from nltk.corpus.reader import DependencyCorpusReader
from nltk.parse import DependencyGraph

from spectral_latent.constituency import Changes
from spectral_latent.corpora import (
    CorpusError,
    dependency_trees,
    divided_texts,
    parse_conllu,
    tagged_sentences,
    to_conllu,
)
from spectral_latent.corpora import sentences as sentences_of
from spectral_latent.corpora.conllu import has_text, parse_with_lines
from spectral_latent.corpora.sources import entries_of_text, in_conllu
from spectral_latent.dependency import DependencySentence
from spectral_latent.tokenisation import Token
from spectral_latent_nltk import sentence_from_nltk
from tests.corpora.annotated import rows, sentences, written

Install = Callable[..., Any]


def test_lines_that_are_no_words_are_counted(tmp_path: Path) -> None:
    rows = ["1-2\tdel", "1\tde", "2\tel", "2.1\tsol", "3\tx-1.2"]
    heads = ["_", "0", "1", "_", "1"]
    lines = [f"{row}\t_\tX\t_\t_\t{head}\tdep\t_\t_\n" for row, head in zip(rows, heads, strict=True)]
    (tmp_path / "a.conllu").write_text("# 1-2\ttext\n" + "".join(lines) + "\n")
    readers: list[Callable[[Path, Changes], Any]] = [
        dependency_trees,
        sentences_of,
        lambda path, changes: tagged_sentences(path, changes=changes),
    ]
    for read in readers:
        changes = Changes()
        (sentence,) = read(tmp_path, changes)
        assert len(getattr(sentence, "forms", sentence)) == 3
        assert list(changes.counts.values()) == [1]  # the empty node


def tab(*heads: str) -> str:
    return "".join([*(f"dog\tNN\t{head}\n" for head in heads), "\n"])


@given(st.lists(sentences(), min_size=1, max_size=3))
def test_what_is_written_is_read_again(sentences: list[DependencySentence]) -> None:
    text = "".join(map(to_conllu, sentences))
    assert text == written(sentences)
    assert list(parse_conllu(text)) == sentences


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"forms": ("a", "")}, "FORM ''"),
        ({"lemmas": ("a\tb", "_")}, r"LEMMA 'a\\tb'"),
        ({"relations": ("_", "a\nb")}, r"DEPREL 'a\\nb'"),
        ({"upos": ("a\r", "_")}, "UPOS"),
        ({"comments": ("a", "b\nc")}, "comment"),
        ({"heads": (3, 0)}, "HEAD"),
        ({"heads": (0, 2)}, "HEAD"),
        ({"heads": (0,)}, "shorter"),
        ({"xpos": ("A",) * 3}, "longer"),
    ],
)
def test_what_cannot_be_written(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_conllu(DependencySentence.of(["a", "b"])._replace(**change))
    with pytest.raises(ValueError, match="without words"):
        to_conllu(DependencySentence.of([]))


def test_trees_have_one_root_where_that_is_asked_for() -> None:
    text = f"{rows('0', '1')}\n{rows('0', '0')}"
    one, two = entries_of_text(text, "x", form="conllu")
    assert one.rooted() is one and two.tree() is two
    with pytest.raises(CorpusError, match=r"x, sentence 2, line 5: .*1 'a', 2 'b'"):
        two.rooted()


CELL = st.text(st.characters(blacklist_categories=("Cs", "Zs", "Zl", "Zp", "Cc")), min_size=1, max_size=5)


@given(sentences(), st.data())
def test_columns_of_nltk_become_those_of_conllu(sentence: DependencySentence, data: st.DataObject) -> None:
    size = len(sentence.forms)
    heads = sentence.heads or (0,) * size
    forms, tags, relations = (data.draw(st.tuples(*[CELL] * size)) for _ in range(3))
    relations = tuple("ROOT" if head == 0 else name for head, name in zip(heads, relations, strict=True))
    assume(0 in heads)  # or NLTK warns
    for columns in ((forms, tags, heads), (forms, tags, heads, relations)):
        text = "".join("\t".join(map(str, cells)) + "\n" for cells in zip(*columns, strict=True))
        (read,) = parse_conllu(in_conllu(text))
        theirs = sentence_from_nltk(DependencyGraph(text, cell_separator="\t"))
        assert read == theirs._replace(lemmas=("_",) * size)


def test_lines_of_nltk_stay_lines() -> None:
    text = f"{tab('0')} \n\n#\t#\t2\nb\tB\t0"
    for variant in (text, text.replace("\n", "\r\n")):
        found = [(sentence.forms, sentence.heads, lines) for sentence, lines in parse_with_lines(in_conllu(variant))]
        assert found == [(("dog",), (0,), [1]), (("#", "b"), (2, 0), [5, 6])]
    with pytest.raises(CorpusError, match="line 3: 2 columns where CoNLL-U has 10"):
        list(parse_conllu(in_conllu(f"{tab('0')}dog\tNN\n")))


@pytest.mark.parametrize(
    ("heads", "line", "problem"),
    [
        (("_", "_"), 1, "HEAD"),
        (("2", "1"), 1, "HEAD 0"),
        (("0", "3", "2"), 2, "from 2 'b' to 3 'c' to 2 'b'"),
        (("2", "4", "0", "5", "2"), 2, "from 2 'b' to 4 'd' to 5 'e' to 2 'b'"),
        (("2", "3"), 2, "the HEAD 3 in a sentence of 2 words"),
    ],
)
def test_what_is_no_tree(heads: tuple[str, ...], line: int, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "a.conllu"
    good = f"{rows('2', '0')}\n" * 2  # six lines
    file.write_text(good + rows(*heads))
    trees = dependency_trees(file)
    assert [next(trees).heads, next(trees).heads] == [(2, 0), (2, 0)]
    with pytest.raises(CorpusError) as caught:
        next(trees)
    where = f"{file}, line {line + 6}: " if "in a sentence" in problem else f"{file}, sentence 3, line {line + 6}: "
    assert str(caught.value).startswith(where)
    assert problem in str(caught.value)


def test_corpora_of_nltk(install: Install) -> None:
    install({"a.train": rows("0", "1"), "b.test": tab("2", "0") + tab("2", "1")}, DependencyCorpusReader)
    trees = dependency_trees("nltk:toy:train")
    assert [next(trees).heads, next(trees).heads] == [(0, 1), (2, 0)]
    with pytest.raises(CorpusError, match=r"nltk:toy, file b\.test, sentence 2, line 4: no word has the HEAD 0"):
        next(trees)


def test_paragraphs_of_a_treebank() -> None:
    def sentence(*comments: str) -> DependencySentence:
        words = [Token("ne", "nel", 0, 1), Token("l", "nel", 0, 2), Token("lupo", "lupo", 4), Token(".", ".", 8)]
        return DependencySentence.of_tokens(words)._replace(comments=("text = nel lupo.", *comments))

    trees = [sentence("newdoc id = 1"), sentence(), sentence("newpar"), sentence()]
    first, second = divided_texts(trees)
    assert first == second
    assert first.text == "nel lupo. nel lupo." and first.last == [2, 5]
    assert first.tokens[3:] == [(10, 13, ("ne", "l")), (14, 18, ("lupo",)), (18, 19, (".",))]
    assert [len(text.last) for text in divided_texts([sentence()] * 5, 2)] == [2, 2, 1]


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("la mare.", True),
        (" la  mare .", True),
        ("lamare.", True),
        ("la mare", False),
        ("la mare. x", False),
        ("", False),
    ],
)
def test_a_text_has_all_tokens_and_nothing_else(text: str, is_whole: bool) -> None:
    sentence = DependencySentence.of(["la", "mare", "."])._replace(comments=(f"text = {text}",))
    assert has_text(sentence) == is_whole
    (divided,) = divided_texts([sentence, sentence])
    assert [divided.text[first:end] for first, end, _ in divided.tokens] == ["la", "mare", "."] * 2
    assert [words for *_, words in divided.tokens] == [("la",), ("mare",), (".",)] * 2
    assert divided.last == [2, 5]
