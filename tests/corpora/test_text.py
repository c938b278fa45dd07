"""Texts as bytes, and tables as the `csv` module writes them."""

import csv
import gzip
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.corpora import CorpusError, parse_table
from spectral_latent.corpora import text as limits
from spectral_latent.corpora.text import decode, decode_all, read_text
from spectral_latent.reranking import parse_nbest
from tests.documents import limit_of
from tests.processes import is_linear


def test_a_byte_order_mark_is_dropped_at_the_beginning_and_refused_elsewhere() -> None:
    mark = "\ufeff"
    assert decode(f"{mark}a".encode(), "x") == "a"
    for text, line, wrong in (
        (f"{mark}a", 2, 2),
        (f"{mark}a\n{mark}b", 1, 2),
        (f"{mark}{mark}a", 1, 1),
        (f"a{mark}", 7, 7),
    ):
        with pytest.raises(CorpusError, match=f"x, line {wrong}: a byte order mark"):
            decode(text.encode(), "x", line)


def test_carriage_returns_end_no_line_and_stand_in_none() -> None:
    with pytest.raises(CorpusError, match=r"x: .*carriage returns"):
        decode(b"a/N b/V\rc/N d/V\r", "x")
    for text in (b"a/N b/V\r\nc/N", b"a/N b/V\r", b"a\r\r\nb\r\n\r"):
        assert decode(text, "x").encode() == text
    for text, line in ((b"a\r\nb\rc\n", 2), (b"\rb\n", 1), (b"a\nb\r\r c\r\n", 2), (b"a\rb\n", 1)):
        with pytest.raises(CorpusError, match=f"x, line {line}: a carriage return"):
            decode(text, "x")
    assert is_linear(lambda size: decode(b"\r" * size + b"\na\r\r\n", "x"), 10**5)


def test_half_of_a_pair_of_surrogates_is_no_text() -> None:
    line = '{"candidates": [{"tree": "(S (A %s) (B c))"}]}'
    with pytest.raises(CorpusError, match=r"some\.json, line 2: \\ud800 is half a character"):
        list(parse_nbest("\n" + line % "\\ud800", "some.json", form="json"))
    assert list(parse_nbest(line % "\\ud83d\\ude00", "some.json", form="json"))


def test_other_encodings_are_refused_and_gzip_is_read() -> None:
    """As a whole, or from a pipe that comes in small parts."""
    for size in (1, 2, 3, 100):
        for encoding in ("utf-16", "utf-16-be", "utf-32"):
            content = "\ufeffdogs".encode(encoding)
            with pytest.raises(CorpusError, match="text: binary data, where text is needed"):
                decode_all((content[i : i + size] for i in range(0, len(content), size)), "text")
        content = gzip.compress(b"dogs")
        assert decode_all((content[i : i + size] for i in range(0, len(content), size)), "text") == "dogs"


@pytest.mark.parametrize(
    ("limit", "content", "place"),
    [("LINE", b"short\n" + b"x" * (2 << 20), ", line 2: .* 1 MB"), ("TEXT", b"short\n" * 400_000, ": .* 1 MB")],
)
def test_lines_and_texts_have_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, content: bytes, place: str
) -> None:
    monkeypatch.setattr(f"spectral_latent.corpora.text._LONGEST_{limit}", 1 << 20)
    (tmp_path / "text.gz").write_bytes(gzip.compress(content, 1))
    with pytest.raises(CorpusError, match=rf"text.gz{place}.*; divide"):
        read_text(tmp_path / "text.gz")


def test_a_small_compressed_file_is_not_expanded_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spectral_latent.corpora.text._EXPANDED", 1 << 20)
    tree = b"(S (NN dogs) (VB bark))\n"
    for text in (tree * 400_000, b"".join(b"%d\n" % number for number in range(400_000))):
        compressed = gzip.compress(text)
        if is_bomb := len(text) > 100 * len(compressed):
            with pytest.raises(CorpusError, match=r"a.mrg.gz: .* 100 times .* decompress it"):
                decode_all([compressed], "a.mrg.gz")
        else:
            assert decode_all([compressed], "a.mrg.gz").encode() == text
        assert is_bomb == (text[:1] == b"(")
    short = gzip.compress(tree * 40_000)  # below the smallest bound, whatever the ratio
    assert decode_all([short], "a.mrg.gz").count("dogs") == 40_000


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(
    st.lists(st.sampled_from("abcdef"), min_size=2, max_size=4, unique=True).flatmap(
        lambda names: st.tuples(
            st.just(names), st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), max_size=4)
        )
    ),
    st.sampled_from(",;\t"),
)
def test_what_csv_writes_is_read(table: tuple[list[str], list[list[str]]], separator: str) -> None:
    names, rows = table
    written = StringIO()
    csv.writer(written, delimiter=separator).writerows([names, *rows])
    found, read = parse_table(written.getvalue())
    assert found == separator
    assert list(read) == [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: the first line must name each column"),
        ("a,b,a\n1,2,3\n", "line 1: the first line must name"),
        ("a,,b\n", "line 1: the first line must name"),
        ("a,b\n1,2\n\n1,2,3\n", "line 4: 3 cells, but 2 columns"),
        ('a,b\n1,"2\n', "line 2: unexpected end of data"),
        ('a,b\n1,"2"x\n', "line 2: .* expected"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(CorpusError, match=f"items.csv, {message}"):
        list(parse_table(text, "items.csv")[1])


def test_limits_are_those_of_the_page() -> None:
    assert limit_of("line of a text, decompressed") == f"{limits._LONGEST_LINE / 2**20:g} MB"
    assert limit_of("text that is read as a whole, decompressed") == f"{limits._LONGEST_TEXT / 2**30:g} GB"
    times = f"{limits._MOST_EXPANDED} times the compressed size"
    assert limit_of("gzip") == f"{limits._EXPANDED / 2**20:g} MB, or {times}"
