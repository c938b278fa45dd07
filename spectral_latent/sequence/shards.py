"""Sequences in shards of bounded size; where there is more than one, they lie in a temporary file."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from spectral_latent.sequence.conversion import Sequences
from spectral_latent.trees import IntArray

__all__ = ["SequenceShards"]


class SequenceShards:
    """Sequences that were read once, given out any number of times, one shard after another.

    size: positions in a shard, after which the next begins; a sequence is never cut.

    >>> shards = SequenceShards(size=2)
    >>> shards.extend([([7, 8], [0, 1]), ([9], [0]), ([7], [1])])
    >>> [shard.terminal.tolist() for shard in shards], shards.n_sequences, shards.n_positions
    ([[7, 8], [9, 7]], 3, 4)
    """

    def __init__(self, size: int = 1 << 19) -> None:
        self.size = size
        self.n_sequences = 0
        self.n_positions = 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the shards
        self._written: list[tuple[int, int]] = []  # positions and sequences of each shard in the file
        self._begin()

    @staticmethod
    def of(sequences: Sequences) -> SequenceShards:
        """A single shard."""
        shards = SequenceShards(len(sequences.terminal))
        shards._terminal, shards._tag = array("i", sequences.terminal), array("i", sequences.tag)
        shards._length = array("i", np.diff(sequences.start))
        shards.n_sequences, shards.n_positions = sequences.n_sequences, len(sequences.terminal)
        return shards

    def _begin(self) -> None:
        self._terminal, self._tag, self._length = array("i"), array("i"), array("i")

    def extend(self, rows: Iterable[tuple[list[int], list[int]]]) -> None:
        """Add sequences, each as its terminals and its tags.  Raises ValueError if one is empty."""
        for terminals, tags in rows:
            self.n_sequences += 1
            if not terminals:
                raise ValueError(f"sequence {self.n_sequences} is empty")
            if len(self._terminal) >= self.size:
                self._write()
            self._terminal.extend(terminals)
            self._tag.extend(tags)
            self._length.append(len(terminals))
            self.n_positions += len(terminals)

    def _write(self) -> None:
        self._written.append((len(self._terminal), len(self._length)))
        for column in (self._terminal, self._tag, self._length):
            column.tofile(self._file)
        self._begin()

    def __len__(self) -> int:
        """The number of shards."""
        return len(self._written) + bool(self._length)

    def __iter__(self) -> Iterator[Sequences]:
        self._file.flush()
        offset = 0
        for n_positions, n_sequences in self._written:
            self._file.seek(offset)
            content = np.frombuffer(self._file.read(4 * (2 * n_positions + n_sequences)), dtype=np.intc)
            offset += content.nbytes
            terminal, tag, length = np.split(content.astype(np.int64), [n_positions, 2 * n_positions])
            yield _sequences(terminal, tag, length)
        if self._length:
            yield _sequences(
                *(np.array(column, dtype=np.int64) for column in (self._terminal, self._tag, self._length))
            )

    def __del__(self) -> None:
        self._file.close()


def _sequences(terminal: IntArray, tag: IntArray, length: IntArray) -> Sequences:
    return Sequences(terminal, tag, np.concatenate([[0], np.cumsum(length)]))
