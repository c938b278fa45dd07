"""Hold the options of the commands that answer sentence by sentence, and count and write their answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.options import jobs_option, json_option, quiet_option, with_values
from spectral_latent.cli.outputs import OutputFile, OutputForm, Write, results
from spectral_latent.cli.sentences import InputSentence

__all__ = ["AnswerRequest", "Answers", "answer_options"]

_FIRST = 20  # the largest number of fallbacks whose numbers are kept
_JSON = (".jsonl", ".ndjson")  # the endings of `corpora`, which is not imported, so that help is quick


class Answers:
    """Answers that are counted, and written as they come."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self.sentences = 0
        self.words = 0
        self.fallbacks = 0
        self._first: list[int] = []

    def add(self, sentence: InputSentence, text: str, is_fallback: bool = False) -> None:
        """Count and write the answer to the next sentence.

        sentence: the sentence that is answered.
        text: the text of the answer.
        is_fallback: whether the answer is a fallback.
        """
        self.sentences += 1
        self.words += len(sentence.sentence.forms)
        self.fallbacks += is_fallback
        if is_fallback and len(self._first) < _FIRST:
            self._first.append(sentence.number)
        self._write(text)

    def report(self, unit: str, console: Console) -> None:
        """Print how many sentences have no parse, and the numbers of the first of these sentences.

        unit: the name of the unit that the numbers count, such as `line`.
        console: prints the message.
        """
        if self.fallbacks:
            numbers = ", ".join(map(str, self._first))
            rest = f" and {self.fallbacks - len(self._first):,} more" if self.fallbacks > len(self._first) else ""
            console.message(
                f"The grammar derives no tree, and the output has a flat one marked FALLBACK: {unit} {numbers}{rest}"
            )


class AnswerRequest(NamedTuple):
    """The values of the shared options.

    as_json: whether to write JSON.
    output: the file to write; None for standard output.
    jobs: the number of processes.
    quiet: whether to print no messages.
    """

    as_json: bool
    output: Path | None
    jobs: int
    quiet: bool

    @property
    def form(self) -> OutputForm:
        """The form of the answers, which `--json` and the ending of the file's name tell.

        >>> AnswerRequest(False, Path("a.JSONL.gz"), jobs=1, quiet=True).form
        'json'
        """
        name = "" if self.output is None else self.output.name.lower().removesuffix(".gz")
        return "json" if self.as_json or name.endswith(_JSON) else "text"

    @contextmanager
    def answers(self, unit: str, console: Console) -> Iterator[Answers]:
        """Begin the answers, which are printed, or written to a file that appears whole or not at all.

        unit: the name of the unit that the numbers of sentences count, such as `line`.
        console: prints the numbers of answered sentences and words, and of fallbacks also if the command fails.
        """
        with results(self.output) as write:
            answers = Answers(write)
            try:
                yield answers
            finally:
                answers.report(unit, console)
        if self.output is not None:
            fallbacks = f", {answers.fallbacks:,} fallbacks" if answers.fallbacks else ""
            console.message(f"{self.output}: {answers.sentences:,} sentences, {answers.words:,} words{fallbacks}")


_OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OutputFile(),
    help="The file to write, whole or not at all: JSON if its name ends in .jsonl, and compressed if in .gz.  "
    "[default: standard output, as results come]",
)
answer_options = with_values(AnswerRequest, json_option, _OUTPUT, jobs_option, quiet_option)
