"""Read files as text; the error of every reader."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["CorpusError", "decode", "read_text"]

_LONGEST = 600  # characters of a message


class CorpusError(ValueError):
    """Data that cannot be read; the message names the place and the reason, and says what to do.

    The message is for a terminal: characters that cannot be printed are escaped, and much of a long one is left out.

    >>> print(CorpusError("a.mrg, line 1: '\x1b[31m' stands outside brackets"))
    a.mrg, line 1: '\\x1b[31m' stands outside brackets
    """

    def __init__(self, message: str) -> None:
        if len(message) > _LONGEST:
            message = f"{message[: _LONGEST // 2]} ... {message[-_LONGEST // 2 :]}"
        super().__init__("".join(c if c.isprintable() else ascii(c)[1:-1] for c in message))


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a UTF-8 file, without a byte order mark.

    Raises `CorpusError` if the file cannot be opened, or has bytes that are not UTF-8.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "hello.txt")
    ...     _ = file.write_text("¡hola!", encoding="utf-8")
    ...     print(read_text(file))
    ¡hola!
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise CorpusError(f"{os.fspath(path)}: {error.strerror}; give a file that exists and may be read") from error
    return decode(content, os.fspath(path))


def decode(content: bytes, source: str, line: int = 1) -> str:
    """Decode UTF-8, without a byte order mark.

    content: the bytes.
    source: the name of their file in errors.
    line: the number of their first line.

    Raises `CorpusError` for bytes that are not UTF-8, and for lines that end in carriage returns alone.

    >>> decode("¡hola!".encode(), "greeting")
    '¡hola!'
    """
    if line == 1 and b"\n" not in content and b"\r" in content.rstrip(b"\r"):
        raise CorpusError(f"{source}: lines end in carriage returns alone; convert them with `tr '\\r' '\\n'`")
    try:
        return content.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line += error.object.count(b"\n", 0, error.start)
        column = error.start - error.object.rfind(b"\n", 0, error.start)
        raise CorpusError(
            f"{source}, line {line}, byte {column}: 0x{error.object[error.start]:02x} is not UTF-8; "
            f"convert the text to UTF-8, for example with `iconv -f LATIN1 -t UTF-8`"
        ) from error
