"""One table of readers: every format in every encoding, empty, damaged, and with an error in some line."""

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spectral_latent.corpora import (
    CorpusError,
    constituency_trees,
    dependency_trees,
    parse_partial,
    parse_table,
    sentences,
    tagged_sentences,
)
from spectral_latent.corpora.rows import parse_rows
from spectral_latent.corpora.text import read_text
from spectral_latent.reranking import read_nbest

ROW = "1\t{}\t_\t_\tX\t_\t0\troot\t_\t_\n\n"


class Reader(NamedTuple):
    """A reader with the ending of its files, the text of a sentence of one word, and a line that it must refuse.

    head: what stands before all sentences.
    has_folders: whether the reader takes a folder of files.
    """

    read: Callable[[Path], Iterable[Any]]
    ending: str
    text: str
    wrong: str
    words: Callable[[Any], list[str]]
    head: str = ""
    has_folders: bool = True


def rows(path: Path) -> Iterable[Any]:
    return parse_rows(enumerate(read_text(path).split("\n"), start=1), str(path))


def table(path: Path) -> Iterable[Any]:
    return parse_table(read_text(path), str(path))[1]


def partial(path: Path) -> Iterable[Any]:
    return parse_partial(read_text(path), str(path))


READERS = {
    "brackets": Reader(constituency_trees, "mrg", "(S (NN {}))\n", "(S (NN a)\n", lambda tree: list(tree.words())),
    "conllu": Reader(dependency_trees, "conllu", ROW, "1\ta\n", lambda sentence: list(sentence.forms)),
    "tagged": Reader(tagged_sentences, "tagged", "{}/N\n", "a\n", lambda pairs: [word for word, _ in pairs]),
    "tokens": Reader(sentences, "txt", "{}\n", "\ufeffa\n", list),
    "rows": Reader(rows, "jsonl", '{{"words": ["{}"]}}\n', "{}\n", lambda row: list(row[1].words), has_folders=False),
    "tags in rows": Reader(
        rows,
        "jsonl",
        '{{"words": ["{}"], "tags": ["N"]}}\n',
        '{"words": ["a"], "tags": 3}\n',
        lambda row: list(row[1].words),
    )._replace(has_folders=False),
    "csv": Reader(table, "csv", "{},b\n", "a\n", lambda row: [row["a"]], "a,b\n", False),
    "tsv": Reader(table, "tsv", "{}\tb\n", "a\tb\tc\n", lambda row: [row["a"]], "a\tb\n", False),
    "partial": Reader(partial, "part", "(S {})\n", "(S a\n", lambda tree: list(tree.sentence), has_folders=False),
    **{
        f"lists of {form}": Reader(read_nbest, "nbest", text, wrong, lambda nbest: list(nbest.words), has_folders=False)
        for form, text, wrong in (
            ("trees", "-1\t(S (NN {}))\n\n", "-1\t(S (NN a)\n"),
            ("bllip", "1 x\n-1\n(S (NN {}))\n", "2\n-1\n"),
            ("json", '{{"candidates": [{{"tree": "(S (NN {}))"}}]}}\n', "{}\n"),
        )
    },
}
WORDS = ["é\u0301", "東京", "a\0b", "\U0001f408", "x" * 100_000, "ß"]
every_reader = pytest.mark.parametrize("form", READERS)
every_reader_of_folders = pytest.mark.parametrize("form", [form for form in READERS if READERS[form].has_folders])


@every_reader
def test_encodings_line_ends_and_compression_mean_nothing(form: str, tmp_path: Path) -> None:
    reader = READERS[form]
    is_json = reader.text.startswith("{{")
    known = [
        word.replace("\0", "") if is_json or reader.head else word for word in WORDS
    ]  # which have no such character
    text = reader.head + "".join(map(reader.text.format, known))
    path = tmp_path / f"a.{reader.ending}"
    for content in (
        text.encode(),
        text.rstrip("\n").encode(),
        (text if reader.head else f"\n \n{text}\n \t\n").encode(),
        text.replace("\n", "\r\n").encode(),
        text.encode("utf-8-sig"),
    ):
        for written in (content, gzip.compress(content)):
            path.write_bytes(written)
            assert [reader.words(each) for each in reader.read(path)] == [[word] for word in known]


@every_reader_of_folders
def test_files_of_a_folder_are_read_by_their_endings_in_order(form: str, tmp_path: Path) -> None:
    """Beneath it, but hidden ones; an error names its file."""
    reader = READERS[form]
    names = [name.format(reader.ending) for name in ("a.{}", "b/x.{}.gz", "c.{}", ".git/y.{}", ".z.{}", "notes.md")]
    names[2] = names[2].upper().replace("C", "c", 1)
    for name in reversed(names):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        content = reader.text.format(name).encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    for folder in (tmp_path, str(tmp_path)):
        assert [reader.words(each) for each in reader.read(folder)] == [[name] for name in names[:3]]  # type: ignore[arg-type]
    (tmp_path / names[1]).write_text("")
    with pytest.raises(CorpusError, match=f"x.{reader.ending}.gz"):
        list(reader.read(tmp_path))
    (tmp_path / "empty").mkdir()
    for source, message in (
        (tmp_path / f"none.{reader.ending}", "No such file"),
        (tmp_path / "empty", "files here; give"),
        ("nltk:nosuch", "NLTK has no such"),
        ("nltk:", "NLTK has no such"),
        ("nltk:treebank:tset", "no part 'tset'"),
    ):
        with pytest.raises(CorpusError, match=message):
            list(reader.read(source))  # type: ignore[arg-type]


@every_reader_of_folders
@pytest.mark.parametrize("content", [b"", b" \n\t\r\n", b"\xef\xbb\xbf", gzip.compress(b"\n", mtime=0)])
def test_a_file_without_sentences_is_named_with_a_remedy(form: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"a.{READERS[form].ending}"
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=rf"^{path}: no \w+; give "):
        list(READERS[form].read(path))


@every_reader
@pytest.mark.parametrize("n", [0, 1, 30])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_line_of_an_error_is_named_with_a_remedy(form: str, n: int, end: str, tmp_path: Path) -> None:
    """What stands before it is read, unless the reader looks at the whole text first."""
    reader = READERS[form]
    good = reader.head + "".join(reader.text.format(f"word{number}") for number in range(n))
    path = tmp_path / f"a.{reader.ending}"
    wrongs = [reader.wrong.encode(), b"\xe9\n"]
    if not n and form in ("tokens", "lists of trees", "lists of bllip", "lists of json"):
        wrongs = wrongs[1:]  # a mark may be the first, and a line alone does not show the format
    for wrong in wrongs:
        path.write_bytes(good.replace("\n", end).encode() + wrong)
        with pytest.raises(CorpusError, match=rf"^{path}, line {good.count(chr(10)) + 1}[:,].*;"):
            list(reader.read(path))


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("[]", "not an object"),
        ('{"words": "a"}', "not a list"),
        ('{"words": [3]}', "3, which is not a string"),
        ('{"words": ["a b"]}', "with white space"),
        ('{"words": ["a"], "tags": [""]}', "without characters"),
        ('{"words": ["a"], "tags": ["A", "B"]}', "2 tags of 1 words"),
        ('{"words": ["a"], "text": "a"}', "words and text"),
        ('{"text": "a", "id": "b\\n"}', "one line"),
    ],
)
def test_the_fault_of_a_row_is_named(row: str, told: str) -> None:
    with pytest.raises(CorpusError, match=f"x, line 4: (?=.*; ).*{told}"):
        list(parse_rows([(3, ""), (4, row)], "x"))


@every_reader
def test_what_is_no_text_is_refused_by_name(form: str, tmp_path: Path) -> None:
    reader = READERS[form]
    text = reader.text.format("word")
    path = tmp_path / f"a.{reader.ending}"
    compressed = gzip.compress(text.encode() * 100)
    lone = (3 * text).replace("\n", "\r").encode()
    for content in (text.encode("utf-32"), compressed[:-9], compressed[:15], lone, b"\x89PNG\r\n\x1a\n" + bytes(100)):
        path.write_bytes(content)
        with pytest.raises(CorpusError, match=rf"^{path}[:,]"):
            list(reader.read(path))
