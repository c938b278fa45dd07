"""Read files as text; the error of every reader."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["CorpusError", "decode", "read_text"]


class CorpusError(ValueError):
    """Data that cannot be read; the message names the place and the reason, and says what to do."""


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

    Raises `CorpusError` for bytes that are not UTF-8.

    >>> decode("¡hola!".encode(), "greeting")
    '¡hola!'
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line += error.object.count(b"\n", 0, error.start)
        column = error.start - error.object.rfind(b"\n", 0, error.start)
        raise CorpusError(
            f"{source}, line {line}, byte {column}: 0x{error.object[error.start]:02x} is not UTF-8; "
            f"convert the text to UTF-8, for example with `iconv -f LATIN1 -t UTF-8`"
        ) from error
