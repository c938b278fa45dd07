"""Keep the history of a project: a line of JSON for each accepted tree.

| key | value |
| --- | --- |
| time, annotator | when, and by whom |
| sentence | the name of the sentence |
| number | the number of its tree in the file of trees, from 0; null if the tree was new |
| before, after | the tree that was replaced, or null, and the accepted one, in brackets |
| file_before, file_after | the digest of the file of trees before, and as it is written next |

A line is on the disk before the file of trees is written.  By its digest, a file of trees shows which line it was
written after, so that the next start knows what the file lacks, wherever the last process ended.  A last line that does
not end in a line feed was not written: the next start cuts it off.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple


class BusyError(RuntimeError):
    """Another process has the project."""


class HistoryLine(NamedTuple):
    """A line of a history; see the module."""

    sentence: str
    number: int | None
    before: str | None
    after: str
    file_before: str | None = None
    file_after: str | None = None


class History:
    """The history of a project, which one process at a time has; it is made if it is not there.

    Raises BusyError if another process has it, and ValueError for a line that is none of a history."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            self._lock()
            content = path.read_bytes()
            self._end = content.rfind(b"\n") + 1  # where the last whole line ends
            self._last = 0  # bytes of the line that `undo` takes away
            lines = content[: self._end].split(b"\n")[:-1]
            self.entries = [_entry(line, self._place(at)) for at, line in enumerate(lines)]
            self.cut_off = content[self._end :].decode("utf-8", "replace")
            self._cut()
        except BaseException:
            os.close(self._file)
            raise

    def _lock(self) -> None:
        """Keep other processes from the file, until this one ends.  Raises BusyError if one has it."""
        try:
            import fcntl
        except ImportError:  # not on this system
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BusyError(f"another process has {self.path}; close it, or choose another file of trees") from None

    def _place(self, at: int) -> str:
        return f"{self.path}:{at + 1}"

    def _cut(self) -> None:
        """Cut off what stands behind the last whole line, if there is anything."""
        if os.fstat(self._file).st_size != self._end:
            os.ftruncate(self._file, self._end)
            os.fsync(self._file)

    def append(self, entry: HistoryLine, **others: str) -> None:
        """Append a line, and wait until it is on the disk; if that fails, the history is as it was."""
        row = {**others, **entry._asdict()}
        line = (json.dumps(row) + "\n").encode("ascii")
        if _entry(line.rstrip(b"\n"), self._place(len(self.entries))) != entry:
            raise ValueError(f"the history would be read with another line than {row!r:.80}")
        self._cut()  # what an earlier failure has left
        try:
            os.lseek(self._file, self._end, os.SEEK_SET)
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except BaseException:
            with suppress(OSError):
                self._cut()
            raise
        self._last = len(line)
        self._end += len(line)
        self.entries.append(entry)

    def undo(self) -> None:
        """Take away the line that was appended last, whose tree could not be written.

        On a disk that fails it may stay until the next line, or until the next start, which puts its tree back."""
        self.entries.pop()
        self._end -= self._last
        with suppress(OSError):
            self._cut()

    def lacking(self, digest: str) -> tuple[int, bool]:
        """Find the first line whose tree a file of trees may lack, and whether it does lack it and all later ones."""
        for at in reversed(range(len(self.entries))):
            if self.entries[at].file_after == digest:
                return at + 1, True
            if self.entries[at].file_before == digest:
                return at, True
        # Another program has changed the file since.  A line was written after the file had the trees of all before.
        return max((at for at, entry in enumerate(self.entries) if entry.file_after is not None), default=0), False

    def close(self) -> None:
        """Let other processes have the history."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _entry(line: bytes, place: str) -> HistoryLine:
    """Read a line.  Raises ValueError, which names the place, for one that is none of a history."""
    try:
        row: Any = json.loads(line)
        entry = HistoryLine(
            **{key: row[key] for key in HistoryLine._fields if key in row or key not in HistoryLine._field_defaults}
        )
        are_texts = all(
            isinstance(each, str | None) for each in (entry.before, entry.file_before, entry.file_after)
        ) and isinstance(entry.sentence + entry.after, str)
        if are_texts and (entry.number is None or (type(entry.number) is int and entry.number >= 0)):
            return entry
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise ValueError(f"{place}: not a line of a history; move the file away to start a new one")
