"""Read tables of separated values, whose first line names the columns: CSV and TSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO

from spectral_latent.corpora.text import CorpusError, Line

_SEPARATORS = (",", "\t", ";")


def parse_table(text: str, source: str = "<string>") -> tuple[str, Iterator[dict[str, str]]]:
    r"""Read a table: its separator, which is the most frequent of comma, tab and semicolon in the first line, and rows.

    Cells with a separator, a quotation mark or a line end are quoted, as `csv`, pandas and R write them.

    Raises `CorpusError`, which names `source` and the line, for a text without a row of names, for a column without a
    name or with that of another, and for a row with more or fewer cells than names.

    >>> separator, rows = parse_table('item;text\n1;"He left; she stayed."\n')
    >>> separator, list(rows)
    (';', [{'item': '1', 'text': 'He left; she stayed.'}])
    """
    separator = max(_SEPARATORS, key=text.partition("\n")[0].count)
    return separator, _rows(csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True), source)


def _rows(reader: csv._reader, source: str) -> Iterator[dict[str, str]]:  # type: ignore[name-defined]
    """Read rows after a row of names."""
    try:
        names: list[str] = next(reader, [])
        if not all(names) or len(set(names)) < len(names) or not names:
            found = f"the names {names!r:.200} do not" if names else "the table is empty"
            raise Line(source, 1).error(f"the first line must name each column, once; {found}")
        for cells in filter(None, reader):
            if len(cells) != len(names):
                raise Line(source, reader.line_num).error(
                    f"{len(cells)} cells, but {len(names)} columns; quote cells that have a separator"
                )
            yield dict(zip(names, cells, strict=True))
    except csv.Error as error:
        raise CorpusError(f"{source}, line {reader.line_num}: {error}; quote each cell as a whole") from error
