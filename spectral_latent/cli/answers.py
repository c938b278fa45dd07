"""Count the answers of `parse`, `tag` and `surprisal`; print them, or keep them in a file that a command can resume.

While a command writes `FILE`, its answers are in `FILE.part`.  Every few seconds, the command notes in `FILE.progress`
how many sentences are answered:

| key | what it holds |
| --- | --- |
| `settings` | the version of the library, options by name, and digests of the model files |
| `bytes` | the length of `FILE.part` up to the last sentence that is noted |
| `sentences`, `words`, `fallbacks` | the numbers of sentences and words that are answered so far, and of fallbacks |
| `first` | the numbers of the first sentences whose answer is a fallback |
| `input` | a digest of the sentences that are answered so far |

The answers are written to disk first, and then the note; only then does the command go on.  In the end `FILE.part`
becomes `FILE`, compressed or converted to Parquet if the name of `FILE` says so, and the note is removed.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from spectral_latent._version import __version__
from spectral_latent.cli.console import Console
from spectral_latent.cli.outputs import refuse_inputs
from spectral_latent.cli.sentences import InputSentence

if TYPE_CHECKING:
    from spectral_latent.corpora.rows import Column

__all__ = ["Answers", "answers_to", "is_complete"]

_SECONDS = 2.0  # the time between two notes of the progress
_FIRST = 20  # the largest number of fallbacks whose numbers are kept
_NO_SETTINGS = ("file", "output", "jobs", "quiet", "resume")  # parameters that do not change the answers
_MODELS = ("model", "rerank", "models")  # parameters that name files of models


def is_complete(output: Path) -> bool:
    """Tell whether an output is complete, and remove the note of its progress if a killed command has left one.

    output: the file to write.
    """
    if not output.exists() or _beside(output, "part").exists():
        return False
    _beside(output, "progress").unlink(missing_ok=True)
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
    inputs: Iterable[str],
    console: Console,
    *,
    resume: bool,
) -> Iterator[Answers]:
    """Begin the answers of the present command line, which are printed or kept in a file.

    output: the file to write; None for standard output.
    columns: the types of the columns, if the file is Parquet and answers are its rows in JSON; None for other files.
    inputs: all files that the command reads, as `refuse_inputs` takes them.
    console: prints the numbers of answered sentences and words, also if the command fails.
    resume: whether to go on with an unfinished output.

    Raises ClickException if the file would replace a file that the command reads, if another process writes it, and if
    the unfinished output is not from the same command line, models and input; CorpusError if there is no pyarrow.
    """
    if output is None:
        yield Answers()
        return
    refuse_inputs(output, inputs)
    if columns is not None:
        from spectral_latent.corpora.rows import import_arrow

        import_arrow()
    with _locked(_beside(output, "part")):
        answers = _KeptAnswers(output, columns, _settings(click.get_current_context()), resume=resume)
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
        self, output: Path, columns: Mapping[str, Column] | None, settings: Mapping[str, Any], *, resume: bool
    ) -> None:
        super().__init__()
        self._output = output
        self._columns = columns
        self._settings = settings
        self._part = _beside(output, "part")
        self._note = _beside(output, "progress")
        self._new_note = _beside(output, "progress.new")
        self._digest = blake2b(digest_size=32)
        self._n_noted = 0
        self._to_skip = 0
        self._expected = ""
        size = self._read_note() if resume and self._note.exists() else 0
        if not self._n_noted:
            self._note.unlink(missing_ok=True)
        self._file = self._part.open("r+b")
        self._file.truncate(size)
        self._file.seek(size)
        self._noted = time.monotonic()

    def _read_note(self) -> int:
        """Read the note of the unfinished command, and return the length of its answers in bytes."""
        try:
            note = json.loads(self._note.read_bytes())
            settings = note["settings"]
            size = int(note["bytes"])
            self.sentences = self._n_noted = self._to_skip = int(note["sentences"])
            self.words = int(note["words"])
            self.fallbacks = int(note["fallbacks"])
            self.first = list(note["first"])
            self._expected = note["input"]
        except (ValueError, KeyError, TypeError):
            raise click.ClickException(f"{self._note}: damaged; leave out --resume to begin anew") from None
        names = {**settings, **self._settings}
        if other := [name for name in names if settings.get(name) != self._settings.get(name)]:
            raise click.ClickException(
                f"{self._output}: the unfinished output has other settings ({', '.join(other)}); give the same, or "
                f"leave out --resume to begin anew"
            )
        if self._part.stat().st_size < size:
            raise click.ClickException(f"{self._part}: cut short; leave out --resume to begin anew")
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
        """Write the answers to disk, and then the note of the progress."""
        _to_disk(self._file)
        note = {
            "settings": self._settings,
            "bytes": self._file.tell(),
            "sentences": self.sentences,
            "words": self.words,
            "fallbacks": self.fallbacks,
            "first": self.first,
            "input": self._digest.hexdigest(),
        }
        with self._new_note.open("wb") as file:
            file.write(json.dumps(note, indent=1).encode())
            _to_disk(file)
        self._new_note.replace(self._note)
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
        if self._columns is not None:
            from spectral_latent.corpora.rows import write_parquet

            made = _beside(self._output, "part.new")
            with self._part.open(encoding="utf-8", newline="\n") as lines:
                write_parquet(lines, made, self._columns)
        elif self._output.suffix.lower() == ".gz":
            made = _beside(self._output, "part.new")
            with self._part.open("rb") as plain, made.open("wb") as file:
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as compressed:
                    shutil.copyfileobj(plain, compressed)
                _to_disk(file)
        made.replace(self._output)
        for path in (self._part, self._note, self._new_note):
            path.unlink(missing_ok=True)

    def give_up(self) -> int:
        """Leave the answers up to the last note, and return their number; without a note, remove the file.

        Nothing is noted here, because a command may be interrupted while it counts and writes an answer.
        """
        self._file.close()
        if not self._n_noted:
            self._part.unlink(missing_ok=True)
        return self._n_noted


def _beside(output: Path, ending: str) -> Path:
    """Name a file that lies beside the output."""
    return output.with_name(f"{output.name}.{ending}")


def _text(sentence: InputSentence) -> bytes:
    """Write all of a sentence, for the digest of the input."""
    return repr(tuple(sentence)).encode("utf-8", "surrogatepass")


def _to_disk(file: BinaryIO) -> None:
    """Write the part of a file that is still in memory to disk."""
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Make a file if it does not exist, and lock it against other processes, if the system has locks of files.

    Raises ClickException if another process writes it.
    """
    with path.open("ab") as file:
        if sys.platform == "win32":
            file.close()
        else:
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise click.ClickException(
                    f"{path}: another process writes it; wait for it, or name another output"
                ) from None
            except OSError:  # a file system without locks
                pass
        yield


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
