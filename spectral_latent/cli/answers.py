"""Count the answers of `parse`, `tag` and `surprisal`; print them, or keep them in a file that a command can resume.

While a command writes `FILE`, its answers are in `FILE.part`, and its notes in `FILE.progress`.  The first line of the
notes tells that they are notes, and has the version of the library, the options by name, and digests of the model
files.  Every few seconds the command adds a line, which tells how many sentences are answered:

| key | what it holds |
| --- | --- |
| `bytes` | the length of `FILE.part` up to the last sentence that is noted |
| `sentences`, `words`, `fallbacks` | the numbers of sentences and words that are answered so far, and of fallbacks |
| `first` | the numbers of the first sentences whose answer is a fallback |
| `input` | a digest of the sentences that are answered so far |

The answers are written to disk first, and then the note; only then does the command go on.  In the end `FILE.part`
becomes `FILE`, compressed or converted to Parquet, in `FILE.part.new`, if the name of `FILE` says so; and the notes are
removed.  Files of these names without the first line of notes are somebody else's, and stay as they are.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from spectral_latent._version import __version__
from spectral_latent.cli.console import Console
from spectral_latent.cli.outputs import OutputFile, side_file
from spectral_latent.cli.sentences import InputSentence

if TYPE_CHECKING:
    from spectral_latent.corpora.rows import Column

__all__ = ["Answers", "AnswersFile", "answers_to", "is_complete"]

_SECONDS = 2.0  # the time between two notes of the progress
_FIRST = 20  # the largest number of fallbacks whose numbers are kept
_NO_SETTINGS = ("file", "output", "jobs", "quiet", "resume")  # parameters that do not change the answers
_HEADING = b'{"notes": "of an unfinished output of spectral-latent"'  # the beginning of notes
_MODELS = ("model", "rerank", "models")  # parameters that name files of models


class AnswersFile(OutputFile):
    """The type of an option that names a file of answers, beside which there are other files while it is written."""

    def written(self, path: Path) -> Iterable[Path]:
        """List the file and the files beside it.

        path: the value of the option.

        >>> [path.name for path in AnswersFile().written(Path("trees"))]
        ['trees', 'trees.part', 'trees.part.new', 'trees.progress']
        """
        return path, *_files_beside(path)


def is_complete(output: Path) -> bool:
    """Tell whether an output is complete, and remove the notes if a killed command has left them.

    output: the file to write.
    """
    part, _, path = _files_beside(output)
    if not output.exists() or os.path.lexists(part):
        return False
    notes = _notes_in(path) or b""
    if notes.count(b"\n") == 1:  # a command that has just begun to write the output anew
        return False
    if notes:
        path.unlink(missing_ok=True)
    return True


class Answers:
    """Answers that are counted, and printed as they come.

    sentences: the number of sentences that are answered.
    words: the number of words of these sentences.
    fallbacks: the number of answers that are fallbacks.
    first: the numbers of the first sentences with fallbacks.
    """

    def __init__(self) -> None:
        self.sentences = 0
        self.words = 0
        self.fallbacks = 0
        self.first: list[int] = []

    def rest_of(self, sentences: Iterable[InputSentence]) -> Iterator[InputSentence]:
        """Return the sentences that are not answered yet; a second call goes on where the first one ended.

        sentences: sentences of the input, in their order.
        """
        return iter(sentences)

    def add(self, sentence: InputSentence, text: str, is_fallback: bool = False) -> None:
        """Count and write the answer to the next sentence.

        sentence: the sentence that is answered.
        text: the text of the answer.
        is_fallback: whether the answer is a fallback.
        """
        self.sentences += 1
        self.words += len(sentence.sentence.forms)
        self.fallbacks += is_fallback
        if is_fallback and len(self.first) < _FIRST:
            self.first.append(sentence.number)
        self._write(sentence, text)

    def report(self, unit: str, console: Console) -> None:
        """Print how many sentences have no parse, and the numbers of the first of these sentences.

        unit: the name of the unit that the numbers count, such as `line`.
        console: prints the messages.
        """
        if self.fallbacks:
            numbers = ", ".join(map(str, self.first))
            rest = f" and {self.fallbacks - len(self.first):,} more" if self.fallbacks > len(self.first) else ""
            console.message(
                f"The grammar derives no tree, and the output has a flat one marked FALLBACK: {unit} {numbers}{rest}"
            )

    def _write(self, _sentence: InputSentence, text: str) -> None:
        """Print an answer."""
        click.echo(text, nl=False)


@contextmanager
def answers_to(
    output: Path | None,
    columns: Mapping[str, Column] | None,
    console: Console,
    *,
    resume: bool,
) -> Iterator[Answers]:
    """Begin the answers of the present command line, which are printed or kept in a file.

    output: the file to write; None for standard output.
    columns: the types of the columns, if the file is Parquet and answers are its rows in JSON; None for other files.
    console: prints the numbers of answered sentences and words, also if the command fails.
    resume: whether to go on with an unfinished output.

    Raises ClickException if another process writes the file, if a file beside it is somebody else's, and if the
    unfinished output is not from the same command line, models and input; CorpusError if there is no pyarrow.
    """
    if output is None:
        yield Answers()
        return
    if columns is not None:
        from spectral_latent.corpora.rows import import_arrow

        import_arrow()
    with _opened_notes(output) as notes:
        answers = _KeptAnswers(output, notes, columns, _settings(click.get_current_context()), resume=resume)
        try:
            if answers.sentences:
                console.message(f"{output}: going on after {answers.sentences:,} sentences")
            yield answers
            answers.finish()
        except BaseException:
            if n_kept := answers.give_up():
                console.message(f"{output}.part: {n_kept:,} sentences; --resume goes on after them")
            raise
    fallbacks = f", {answers.fallbacks:,} fallbacks" if answers.fallbacks else ""
    console.message(f"{output}: {answers.sentences:,} sentences, {answers.words:,} words{fallbacks}")


class _KeptAnswers(Answers):
    """Answers that are kept in a file, which appears when all sentences are answered."""

    def __init__(
        self,
        output: Path,
        notes: BinaryIO,
        columns: Mapping[str, Column] | None,
        settings: Mapping[str, Any],
        *,
        resume: bool,
    ) -> None:
        super().__init__()
        self._output = output
        self._notes = notes
        self._columns = columns
        self._part, self._new_part, self._note = _files_beside(output)
        self._digest = blake2b(digest_size=32)
        self._n_noted = 0
        self._to_skip = 0
        self._expected = ""
        size = self._read_notes(settings) if resume else 0
        self._new_part.unlink(missing_ok=True)
        if not self._n_noted:
            self._part.unlink(missing_ok=True)
            notes.seek(0)  # not truncated before the new first line is there, so that it always has a first line
            notes.write(_HEADING + b", " + json.dumps({"settings": settings}).encode()[1:] + b"\n")
            notes.flush()
            notes.truncate()
        self._file = side_file(self._part, is_new=not self._n_noted)
        self._file.truncate(size)
        self._file.seek(size)
        self._noted = time.monotonic()

    def _read_notes(self, settings: Mapping[str, Any]) -> int:
        """Read the notes of the unfinished command, and return the length of its answers in bytes."""
        self._notes.seek(0)
        text = self._notes.read()
        whole = text[: text.rfind(b"\n") + 1]  # a killed command may leave a part of a line
        heading, *lines = whole.splitlines() or [b""]
        if not lines:
            return 0
        try:
            before = dict(json.loads(heading)["settings"])
            note = json.loads(lines[-1])
            size = int(note["bytes"])
            self.sentences = self._n_noted = self._to_skip = int(note["sentences"])
            self.words = int(note["words"])
            self.fallbacks = int(note["fallbacks"])
            self.first = list(note["first"])
            self._expected = note["input"]
        except (ValueError, KeyError, TypeError):
            raise click.ClickException(f"{self._note}: damaged; leave out --resume to begin anew") from None
        if other := [name for name in {**before, **settings} if before.get(name) != settings.get(name)]:
            raise click.ClickException(
                f"{self._output}: the unfinished output has other settings ({', '.join(other)}); give the same, or "
                f"leave out --resume to begin anew"
            )
        if not self._part.exists() or self._part.stat().st_size < size:
            raise click.ClickException(f"{self._part}: cut short; leave out --resume to begin anew")
        self._notes.seek(len(whole))
        self._notes.truncate()
        return size

    def rest_of(self, sentences: Iterable[InputSentence]) -> Iterator[InputSentence]:
        """Skip the sentences that are answered, and return the others.

        sentences: sentences of the input, in their order.

        Raises ClickException if the skipped sentences are not the sentences that were answered before.
        """
        for sentence in sentences:
            if not self._to_skip:
                yield sentence
                continue
            self._digest.update(_text(sentence))
            if self._to_skip == 1 and self._digest.hexdigest() != self._expected:
                raise self._other_input()
            self._to_skip -= 1

    def _other_input(self) -> click.ClickException:
        """Make the error for an input that does not begin with the answered sentences."""
        return click.ClickException(
            f"{self._output}: the input does not begin with the {self.sentences:,} sentences of the unfinished output; "
            f"give the same input, or leave out --resume to begin anew"
        )

    def _write(self, sentence: InputSentence, text: str) -> None:
        """Write an answer, and note the progress from time to time."""
        self._file.write(text.encode())
        self._digest.update(_text(sentence))
        if time.monotonic() - self._noted > _SECONDS:
            self._save()

    def _save(self) -> None:
        """Write the answers to disk, and then a note of the progress."""
        _to_disk(self._file)
        note = {
            "bytes": self._file.tell(),
            "sentences": self.sentences,
            "words": self.words,
            "fallbacks": self.fallbacks,
            "first": self.first,
            "input": self._digest.hexdigest(),
        }
        self._notes.write(json.dumps(note).encode() + b"\n")
        _to_disk(self._notes)
        self._n_noted = self.sentences
        self._noted = time.monotonic()

    def finish(self) -> None:
        """Turn the unfinished file into the complete file of the answers.

        Raises ClickException if the input has fewer sentences than were answered before.
        """
        if self._to_skip:
            raise self._other_input()
        _to_disk(self._file)
        self._file.close()
        made = self._part
        if self._columns is not None or self._output.suffix.lower() == ".gz":
            made = self._new_part
            with side_file(made, is_new=True) as file:
                self._convert(file)
                _to_disk(file)
        made.replace(self._output)
        self._end()

    def _convert(self, file: BinaryIO) -> None:
        """Write the answers to a file in Parquet, or compressed."""
        if self._columns is not None:
            from spectral_latent.corpora.rows import write_parquet

            with self._part.open(encoding="utf-8", newline="\n") as lines:
                write_parquet(lines, file, self._columns)
        else:
            with self._part.open("rb") as plain, gzip.GzipFile("", "wb", fileobj=file, mtime=0) as compressed:
                shutil.copyfileobj(plain, compressed)

    def _end(self) -> None:
        """Remove the files beside the output, the notes last, so that another file is never there without them."""
        self._part.unlink(missing_ok=True)
        if sys.platform == "win32":  # an open file cannot be removed
            self._notes.close()
        self._note.unlink(missing_ok=True)

    def give_up(self) -> int:
        """Leave the answers up to the last note, and return their number; without a note, remove the files.

        Nothing is noted here, because a command may be interrupted while it counts and writes an answer.
        """
        with suppress(OSError):  # of a full disk, which has been told before
            self._file.close()
        self._new_part.unlink(missing_ok=True)
        if not self._n_noted:
            self._end()
        return self._n_noted


def _files_beside(output: Path) -> list[Path]:
    """Name the files beside an output while it is written: the answers, their last form, and the notes."""
    return [output.with_name(f"{output.name}.{ending}") for ending in ("part", "part.new", "progress")]


def _text(sentence: InputSentence) -> bytes:
    """Write all of a sentence, for the digest of the input."""
    return repr(tuple(sentence)).encode("utf-8", "surrogatepass")


def _to_disk(file: BinaryIO) -> None:
    """Write the part of a file that is still in memory to disk."""
    file.flush()
    try:
        os.fsync(file.fileno())
    except OSError as error:
        error.filename = file.name
        raise


def _notes_in(path: Path) -> bytes | None:
    """Read the notes of a command, which may be empty when it has just begun; None if there are no notes of that name.

    A link is never followed.
    """
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as file:
        begin = file.read(len(_HEADING))
        return begin + file.read() if begin in (b"", _HEADING) else None


def _opened_notes(output: Path) -> BinaryIO:
    """Open the notes of an output, and lock them against other processes, if the system has locks of files.

    Raises ClickException if another process writes the output, and if a file beside the output is somebody else's.
    """
    *others, path = _files_beside(output)
    notes = _notes_in(path)
    foreign = [] if notes is not None or not os.path.lexists(path) else [path]
    foreign += [each for each in others if os.path.lexists(each) and (not notes or each.is_symlink())]
    if foreign:
        raise click.ClickException(
            f"{foreign[0]}: of no unfinished output of this version, and would be lost; rename or remove it, or name "
            f"another output"
        )
    busy = click.ClickException(f"{output}: another process writes it; wait for it, or name another output")
    try:
        file = side_file(path, is_new=notes is None)
    except (FileExistsError, FileNotFoundError):
        raise busy from None
    if sys.platform != "win32":
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise busy from None
        except OSError:  # a file system without locks
            pass
    return file


def _settings(context: click.Context) -> dict[str, Any]:
    """Collect all settings that decide the answers: the version, options by name, and digests of models."""
    settings: dict[str, Any] = {"spectral-latent": __version__, "command": context.info_name}
    for parameter in context.command.params:
        if parameter.name in _NO_SETTINGS:
            continue
        value = context.params[str(parameter.name)]
        if parameter.name in _MODELS:
            value = [_content(each) for each in ([value] if isinstance(value, str) else value or ())]
        is_argument = isinstance(parameter, click.Argument)
        name = str(parameter.name).upper() if is_argument else max(parameter.opts, key=len)
        settings[name] = list(value) if isinstance(value, tuple) else value
    return settings


def _content(model: str) -> str:
    """Return the digest of a model's file, given as `FILE` or `NAME=FILE`, with the name."""
    name, _, path = ("", "", model) if Path(model).exists() else model.partition("=")
    with open(path, "rb") as file:
        return f"{name}={file_digest(file, 'blake2b').hexdigest()}"
