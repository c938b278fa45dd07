"""The format of a text, by the name of its file or by its first line; and readers that go by it."""

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.corpora import (
    CorpusError,
    dependency_trees,
    sentences,
    tagged_sentences,
    to_conllu,
)
from spectral_latent.corpora.formats import ENDINGS, Format, sniff_format
from spectral_latent.dependency import DependencySentence
from tests.corpora.annotated import sentences as annotated

CONLLU = "1\tDogs\tdog\tNOUN\tNNS\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_\n"
MALT_TAB = "Dogs\tNNS\t2\nbark\tVBP\t0\n"
TAGGED = "Dogs/NNS bark/VBP\n"
TEXT = "Dogs bark\n"
BRACKETS = "( (S (NP (NNS Dogs)) (VP (VBP bark))))\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("(S", "brackets"),
        ("(", "brackets"),
        ("( (S", "brackets"),
        ("((S", "brackets"),
        ("(S1(NN run))", "brackets"),
        (" (NN run)", "brackets"),
        ("( Reuters ) - The dog", "tokens"),
        ("(Reuters) - The dog", "tokens"),
        ("( The dog barks )", "tokens"),
        ("( The dog )", "tokens"),
        ("( ( The dog ) )", "tokens"),
        ("(/( The/DT dog/NN )/)", "tagged"),
        ("1-2\tVámonos" + 8 * "\t_", "conllu"),
        ("Dogs\tNNS\t2\tSUB", "malt-tab"),
        ("Dogs\tbark", "tokens"),
        ("and/or/CC so/RB", "tagged"),
        ("and/or so", "tokens"),
        ("/CC so/", "tokens"),
        ('{"words": ["Dogs", "bark"]}', "json"),
        (' { "a \\" b" :', "json"),
        ("{ Dogs bark }", "tokens"),
        ('{ " Dogs bark , " }', "tokens"),
        ("{/( Dogs/NNS }/)", "tagged"),
        ("1\u00a0000/CD", "tagged"),
        ("", "tokens"),
    ],
)
def test_first_line(line: str, expected: Format) -> None:
    for before in ("", "\n \t\r\n", "# sent_id = 1\n\n"):
        for after in ("", "\n", "\r\n", "\n(S\n", "\na/A\n"):
            assert sniff_format("-", before + line + after) == expected or not line
    assert sniff_format("-", f"\ufeff{line}") == sniff_format("a.txt", line) == sniff_format("notes", line) == expected


def test_a_line_that_looks_like_a_comment_counts_if_there_is_no_other() -> None:
    assert sniff_format("-", "#/# 5/CD\n") == "tagged"
    assert sniff_format("-", "# five dollars\n") == "tokens"
    assert sniff_format("-", "#\t#\t2\na\tA\t0\n") == "malt-tab"


@pytest.mark.parametrize("form", [form for form in ENDINGS if form != "tokens"])
def test_the_name_decides(form: Format) -> None:
    for ending in ENDINGS[form]:
        for name in (f"a{ending}", f"folder.txt/a{ending.upper()}", f"nltk:toy, file a{ending}"):
            for text in ("", TEXT, TAGGED, BRACKETS):
                assert sniff_format(name, text) == form


def test_columns_are_believed_more_than_a_name_of_conll() -> None:
    assert sniff_format("a.conll", MALT_TAB) == "malt-tab"
    assert sniff_format("a.dp", CONLLU) == "malt-tab"


@given(annotated())
def test_what_is_written_in_conllu_is_known(sentence: DependencySentence) -> None:
    assert sniff_format("-", to_conllu(sentence)) == "conllu"


@given(st.text(string.printable), st.sampled_from(["-", "a.conllu", "a.txt"]))
def test_any_text_has_a_format(text: str, name: str) -> None:
    assert sniff_format(name, text) in ENDINGS


# Readers


def test_words_of_every_format_in_files_of_any_name(tmp_path: Path) -> None:
    for number, text in enumerate((CONLLU, MALT_TAB, TAGGED, TEXT)):
        file = tmp_path / f"{number}.txt"
        file.write_text(text)
        assert list(sentences(file)) == [["Dogs", "bark"]]
        if text != TEXT:
            tags = ["NOUN", "VERB"] if text == CONLLU else ["NNS", "VBP"]
            assert list(tagged_sentences(file)) == [list(zip(["Dogs", "bark"], tags, strict=True))]
        if "\t" in text:
            assert [tree.heads for tree in dependency_trees(file)] == [(2, 0)]
    assert len(list(sentences(tmp_path))) == 4


def test_trees_in_brackets_are_not_taken_for_words(tmp_path: Path) -> None:
    for name in ("a.mrg", "a.txt"):
        (tmp_path / name).write_text(BRACKETS)
        for read in (sentences, tagged_sentences):
            with pytest.raises(
                CorpusError, match=rf"{name}: trees in brackets, where sentences are needed; give CoNLL"
            ):
                read(tmp_path / name)
