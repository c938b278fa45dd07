"""One table of readers: every format in every encoding, empty, damaged, and with an error in some line."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from spectral_latent.corpora import CorpusError, constituency_trees, dependency_trees, sentences, tagged_sentences

ROW = "1\t{}\t_\t_\tX\t_\t0\troot\t_\t_\n\n"


class Reader(NamedTuple):
    """A reader with the ending of its files, the text of a sentence of one word, and a line that it must refuse."""

    read: Callable[[Path], Iterable[Any]]
    ending: str
    text: str
    wrong: str
    words: Callable[[Any], list[str]]


READERS = {
    "brackets": Reader(constituency_trees, "mrg", "(S (NN {}))\n", "(S (NN a)\n", lambda tree: list(tree.words())),
    "conllu": Reader(dependency_trees, "conllu", ROW, "1\ta\n", lambda sentence: list(sentence.forms)),
    "tagged": Reader(tagged_sentences, "tagged", "{}/N\n", "a\n", lambda pairs: [word for word, _ in pairs]),
    "tokens": Reader(sentences, "txt", "{}\n", "\ufeffa\n", list),
}
WORDS = ["é\u0301", "東京", "a\0b", "\U0001f408", "x" * 100_000, "ß"]
every_reader = pytest.mark.parametrize("form", READERS)


@every_reader
def test_encodings_line_ends_and_compression_mean_nothing(form: str, tmp_path: Path) -> None:
    reader = READERS[form]
    text = "".join(map(reader.text.format, WORDS))
    path = tmp_path / f"a.{reader.ending}"
    for content in (
        text.encode(),
        text.rstrip("\n").encode(),
        f"\n \n{text}\n \t\n".encode(),
        text.replace("\n", "\r\n").encode(),
        text.encode("utf-8-sig"),
        codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + text.replace("\n", "\r\n").encode("utf-16-be"),
    ):
        for written in (content, gzip.compress(content)):
            path.write_bytes(written)
            assert [reader.words(each) for each in reader.read(path)] == [[word] for word in WORDS]
    path.rename(tmp_path / f"a.{reader.ending.upper()}.gz")
    assert [reader.words(each) for each in reader.read(tmp_path)] == [[word] for word in WORDS]


@every_reader
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
    good = "".join(reader.text.format(f"word{number}") for number in range(n))
    path = tmp_path / f"a.{reader.ending}"
    wrongs = [reader.wrong.encode(), b"\xe9\n"] if n or form != "tokens" else [b"\xe9\n"]  # a mark may be the first
    for wrong in wrongs:
        path.write_bytes(good.replace("\n", end).encode() + wrong)
        with pytest.raises(CorpusError, match=rf"^{path}, line {good.count(chr(10)) + 1}[:,].*;"):
            list(reader.read(path))


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
    with pytest.raises(CorpusError, match="No such file"):
        reader.read(tmp_path / f"none.{reader.ending}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError, match="files here; give"):
        reader.read(tmp_path / "empty")
