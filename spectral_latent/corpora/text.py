"""Read files as text, compressed or not, and make the errors of all readers."""

import codecs
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path, PurePath
from typing import NamedTuple

from spectral_latent._names import printable

_CHUNK = 1 << 16  # bytes of decompressed text that are made at once
_GZIP = b"\x1f\x8b"  # the first bytes of compressed files
_LONGEST_LINE = 128 << 20  # bytes
_LONGEST_TEXT = 2 << 30  # bytes of a text that is read as a whole, decompressed
# Compressed text may be so many times as long as its file, which no treebank is, or so many bytes if that is more.
_MOST_EXPANDED = 100
_EXPANDED = 128 << 20
_LONE_RETURN = re.compile(rb"\r(?<!\r\r)\r*+(?!\n|\Z)")  # carriage returns before other text


class CorpusError(ValueError):
    """Data cannot be read; the message names the place and the reason, and says what to do.

    The message is for a terminal: characters that cannot be printed are escaped, and the middle of a long message is
    left out.

    >>> print(CorpusError("a.mrg, line 1: '\x1b[31m' stands outside brackets"))
    a.mrg, line 1: '\\x1b[31m' stands outside brackets
    """

    def __init__(self, *messages: str) -> None:
        """Join messages, each of which has a line of its own."""
        super().__init__("\n".join(map(printable, messages)))


class Line(NamedTuple):
    """A line of a text, for errors."""

    source: str
    number: int

    def error(self, problem: str) -> CorpusError:
        """Make the error for a problem in the line."""
        return CorpusError(f"{self.source}, line {self.number}: {problem}")


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a file as text, without a byte order mark."""
    source = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            return decode_all(iter(partial(file.read, _CHUNK), b""), source)
    except OSError as error:
        raise CorpusError(f"{source}: {error.strerror}; give a file that exists and may be read") from error


def decode_all(chunks: Iterable[bytes], source: str) -> str:
    """Decompress and decode a text as a whole."""
    parts = []
    length = 0
    for part in utf8_chunks(chunks, source):
        parts.append(part)
        length += len(part)
        if length > _LONGEST_TEXT:
            raise CorpusError(f"{source}: more than {_LONGEST_TEXT >> 20:,} MB to read as a whole; divide the text")
    return decode(b"".join(parts), source)


def ending_of(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file's name in lower case, without a further .gz."""
    return PurePath(os.fspath(path).lower().removesuffix(".gz")).suffix


def utf8_chunks(chunks: Iterable[bytes], source: str) -> Iterator[bytes]:
    """Return the chunks of a text, which gzip may have compressed; refuse binary data and very long lines."""
    line = 1
    length = 0  # of the part of the line that has been read
    for chunk in _expanded(chunks, source):
        end = chunk.find(b"\n")
        if length + (len(chunk) if end < 0 else end) > _LONGEST_LINE:
            raise Line(source, line).error(f"a line of more than {_LONGEST_LINE >> 20} MB; divide it")
        line += chunk.count(b"\n")
        length = length + len(chunk) if end < 0 else len(chunk) - chunk.rfind(b"\n") - 1
        yield chunk


def _expanded(chunks: Iterable[bytes], source: str) -> Iterator[bytes]:
    """Return the chunks of a text, decompressed if they are compressed; refuse binary data."""
    rest = iter(chunks)
    beginning = next(rest, b"")
    if beginning == _GZIP[:1]:  # the first chunk of a pipe may end here
        beginning += next(rest, b"")
    whole = chain([beginning], rest)
    if beginning.startswith(_GZIP):
        yield from _expanded(_decompress(whole, source), source)
    elif _is_binary(beginning):
        raise _binary_error(source)
    elif beginning:
        yield from whole


def _binary_error(source: str) -> CorpusError:
    """Return the error for data that are not text."""
    return CorpusError(f"{source}: binary data, where text is needed; give a text file in UTF-8")


def _is_binary(beginning: bytes) -> bool:
    """Tell from their beginning whether data are binary: not UTF-8, and with a zero byte, which texts rarely have."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        return b"\0" in beginning
    return False


def _decompress(chunks: Iterable[bytes], source: str) -> Iterator[bytes]:
    """Decompress text that gzip has compressed, in one part or in several parts one after the other."""
    part = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    n_read = n_made = 0
    try:
        for chunk in chunks:
            n_read += len(chunk)
            while chunk:
                if n_made > max(_EXPANDED, _MOST_EXPANDED * n_read):
                    raise CorpusError(
                        f"{source}: compressed text that is more than {_MOST_EXPANDED} times as long as its file; "
                        "decompress it if you trust its source"
                    )
                if part.eof:
                    part = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
                if text := part.decompress(chunk, _CHUNK):
                    n_made += len(text)
                    yield text
                chunk = part.unused_data if part.eof else part.unconsumed_tail
    except zlib.error as error:
        raise CorpusError(f"{source}: compressed text that is damaged ({error}); copy the file again") from None
    if not part.eof:
        raise CorpusError(f"{source}: compressed text that is cut short; copy the file again")


def decode(content: bytes, source: str, line: int = 1) -> str:
    """Decode UTF-8, without a byte order mark."""
    if line == 1 and b"\n" not in content and b"\r" in content.rstrip(b"\r"):
        raise CorpusError(f"{source}: lines end in carriage returns alone; convert them with `tr '\\r' '\\n'`")
    if content.count(b"\r") > content.count(b"\r\n") and (lone := _LONE_RETURN.search(content)):
        problem = "a carriage return within the line; write a line feed, or a space, in its place"
        raise Line(source, line + content.count(b"\n", 0, lone.start())).error(problem)
    if (mark := content.find(codecs.BOM_UTF8, int(line == 1))) >= 0:
        problem = "a byte order mark (U+FEFF) within the text; remove it, for example with `sed 's/\\xEF\\xBB\\xBF//g'`"
        raise Line(source, line + content.count(b"\n", 0, mark)).error(problem)
    try:
        return content.decode("utf-8-sig" if line == 1 else "utf-8")
    except UnicodeDecodeError as error:
        if b"\0" in content:
            raise _binary_error(source) from None
        line += error.object.count(b"\n", 0, error.start)
        column = error.start - error.object.rfind(b"\n", 0, error.start)
        raise CorpusError(
            f"{source}, line {line}, byte {column}: 0x{error.object[error.start]:02x} is not UTF-8; "
            f"convert the text to UTF-8, for example with `iconv -f LATIN1 -t UTF-8`"
        ) from error
