"""Pieces of a stream are found in time in proportion to its length."""

from __future__ import annotations

import io
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent.cli import inputs


class _Slow(io.BytesIO):
    """A stream that gives as few bytes at a time as a test wants."""

    size = 1 << 16

    def read1(self, size: int | None = -1, /) -> bytes:
        return super().read1(self.size)


PATTERNS = [re.compile(rb"\n"), re.compile(rb"^ *\r?\n", re.MULTILINE)]


TEXTS = st.lists(st.sampled_from(["a", " ", "\n", "\r\n"]), max_size=30).map("".join)


@given(TEXTS, st.integers(1, 5), st.sampled_from(PATTERNS))
def test_pieces_are_the_whole_and_end_where_the_pattern_does(text: str, size: int, end: re.Pattern[bytes]) -> None:
    stream = _Slow(text.encode())
    stream.size = size
    found = list(inputs._cut(stream, "x", end))
    assert "".join(piece.text for piece in found) == text
    lines = [piece.line for piece in found]
    assert lines == [1 + "".join(piece.text for piece in found[:at]).count("\n") for at in range(len(found))]
    ends = {match.end() for match in end.finditer(text.encode())}
    assert all(sum(len(piece.text) for piece in found[: at + 1]) in ends for at in range(len(found) - 1))
    if found and len(text) not in ends:
        assert not end.search(found[-1].text.encode())


@pytest.mark.parametrize("content", [b"word " * 5_000_000, b"1\tword\n" * 3_000_000])
def test_a_stream_without_an_end_is_read_in_linear_time(content: bytes) -> None:
    begun = time.process_time()
    (piece,) = inputs._cut(io.BytesIO(content), "x", PATTERNS[1])
    assert len(piece.text) == len(content)
    assert time.process_time() - begun < 3
