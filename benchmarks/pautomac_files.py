"""Read strings and their probabilities as the competitions PAutomaC (2012) and SPiCe (2016) write them.

| file | lines |
| --- | --- |
| strings | the number of strings and of symbols; then, for each string, its length and its symbols 0 ... n - 1 |
| solution of PAutomaC | the number of strings; then the probability of each string |
"""

from __future__ import annotations

import math
import os

from spectral_latent.corpora.text import CorpusError, Line, read_text

__all__ = ["read_probabilities", "read_strings"]


def read_strings(path: str | os.PathLike[str]) -> list[list[int]]:
    """Read the strings of a problem; some may be empty.

    path: the file, such as `1.pautomac.train`; gzip may have compressed it.

    Raises CorpusError, which names the line, for anything but integers, a symbol that is not below the number of
    symbols, and numbers of strings or of symbols other than those that stand first.

    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "train").write_text("2 3\\n2 0 2\\n0\\n")
    ...     read_strings(Path(folder, "train"))
    [[0, 2], []]
    """
    first, rows = _read(path)
    if len(first) != 2:
        raise Line(os.fspath(path), 1).error("give the number of strings and the number of symbols")
    strings = []
    for number, row in enumerate(rows, start=2):
        line = Line(os.fspath(path), number)
        numbers = [_integer(part, line) for part in row]
        length, string = numbers[0], numbers[1:]
        if len(string) != length:
            raise line.error(f"there are {len(string)} symbols after the length {length}; correct one of them")
        if any(x >= _integer(first[1], line) for x in string):
            raise line.error(f"the symbol {max(string)} is not one of 0 ... {int(first[1]) - 1}")
        strings.append(string)
    _check_number(path, first[0], len(strings))
    return strings


def read_probabilities(path: str | os.PathLike[str]) -> list[float]:
    """Read the probabilities of a solution.

    path: the file, such as `1.pautomac_solution.txt`.

    Raises CorpusError, which names the line, for anything but numbers from 0 to 1, and for another number of them than
    stands first.
    """
    first, rows = _read(path)
    found = []
    for number, row in enumerate(rows, start=2):
        try:
            (p,) = map(float, row)
        except ValueError:
            p = math.nan
        if not 0.0 <= p <= 1.0:
            raise Line(os.fspath(path), number).error(f"{' '.join(row)!r:.60} is no probability; give one number")
        found.append(p)
    _check_number(path, first[0], len(found))
    return found


def _read(path: str | os.PathLike[str]) -> tuple[list[str], list[list[str]]]:
    """Read the first line and the other lines of a file, each divided at spaces; not the empty ones at the end."""
    lines = read_text(path).rstrip().split("\n")
    first, *rows = (line.split() for line in lines)
    if not first:
        raise CorpusError(f"{os.fspath(path)}: no strings; the first line has their number")
    for number, row in enumerate(rows, start=2):
        if not row:
            raise Line(os.fspath(path), number).error("the line is empty; an empty string is written 0")
    return first, rows


def _integer(text: str, line: Line) -> int:
    """Read an integer of at least 0."""
    if not text.isdecimal() or len(text) > 18:
        raise line.error(f"{text!r:.60} is not an integer of at least 0")
    return int(text)


def _check_number(path: str | os.PathLike[str], declared: str, found: int) -> None:
    """Raise CorpusError unless a file has as many strings as it declares."""
    if _integer(declared, Line(os.fspath(path), 1)) != found:
        raise CorpusError(
            f"{os.fspath(path)}: {found} strings, where the first line declares {declared}; is it cut off?"
        )
