"""Tables of separated values are read as the `csv` module writes them, and what is wrong is named with its line."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.corpora import CorpusError, parse_table

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
