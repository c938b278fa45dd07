"""Translate docstrings of this library, which are plain text with Markdown's tables and code, to reStructuredText.

| in a docstring | becomes |
| --- | --- |
| `name: its meaning`, with the lines after it | a field `:param name:` |
| a table with bars | a `list-table` |
| `code` between backticks | a literal |
| a line that begins with `>>>`, up to an empty line | itself, a doctest |
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

_PARAMETER = re.compile(r"([a-z_]\w*(?:, [a-z_]\w*)*): (.*)")
_CELL = re.compile(r"(?<!\\)\|")  # a bar between cells


def _escape(text: str) -> str:
    """Escape a line, all but its code.

    >>> _escape("p(h \\\\| a) of `x`, |x_i|*")
    'p(h \\\\| a) of ``x``, \\\\|x\\\\_i\\\\|\\\\*'
    """
    plain = text.replace("\\|", "|").split("`")
    if len(plain) % 2 == 0:  # a backtick without its other half
        plain = [text.replace("`", "'")]
    parts = [re.sub(r"([\\*|_])", r"\\\1", part) if at % 2 == 0 else f"``{part}``" for at, part in enumerate(plain)]
    return "".join(parts)


def _table(rows: list[str]) -> Iterator[str]:
    """Write a table with a row of names and a row of dashes."""
    yield from ("", ".. list-table::", "   :header-rows: 1", "")
    for row in [rows[0], *rows[2:]]:
        cells = [cell.strip() for cell in _CELL.split(row.strip())[1:-1]]
        for at, cell in enumerate(cells):
            yield f"   {'* -' if at == 0 else '  -'} {_escape(cell)}"
    yield ""


def _fields(lines: list[str]) -> Iterator[str]:
    """Write a block of parameters, each of which ends where the next one begins."""
    yield ""
    for line in lines:
        parameter = _PARAMETER.fullmatch(line)
        if parameter:
            *others, last = parameter[1].split(", ")
            yield from (f":param {_escape(name)}: see {_escape(last)}" for name in others)
            yield f":param {_escape(last)}: {_escape(parameter[2])}"
        else:
            yield f"    {_escape(line.strip())}"
    yield ""


def _kinds(lines: Iterable[str]) -> Iterator[str]:
    """Name the kind of every line."""
    kind = "text"
    for line in lines:
        if not line.strip() or (kind == "fields" and line.startswith("Raises ")):
            kind = "text"
        elif line.lstrip().startswith(">>>"):
            kind = "doctest"
        elif kind == "text" and _PARAMETER.fullmatch(line):
            kind = "fields"
        elif kind in ("text", "table"):
            kind = "table" if line.lstrip().startswith("|") and line.rstrip().endswith("|") else "text"
        yield kind


def to_restructured_text(lines: list[str]) -> list[str]:
    """Translate a docstring.

    lines: the docstring without its indentation.

    >>> to_restructured_text(["Add.", "", "a: the first,", "or none.", "b, c: two.", "Raises ValueError.", ">>> 1"])
    ['Add.', '', '', ':param a: the first,', '    or none.', ':param b: see c', ':param c: two.', '',
     'Raises ValueError.', '>>> 1']
    """
    found: list[str] = []
    for kind, group in groupby(zip(_kinds(lines), lines, strict=True), key=lambda pair: pair[0]):
        block = [line for _, line in group]
        match kind:
            case "doctest":
                found += block
            case "table":
                found += _table(block)
            case "fields":
                found += _fields(block)
            case _:
                found += map(_escape, block)
    return found
