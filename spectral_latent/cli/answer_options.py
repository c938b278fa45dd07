"""Hold the options of the commands that answer sentence by sentence: `parse`, `tag` and `surprisal`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from spectral_latent.cli.answers import Answers, AnswersFile, answers_to, is_complete
from spectral_latent.cli.console import Console
from spectral_latent.cli.inputs import Input
from spectral_latent.cli.options import jobs_option, json_option, quiet_option, with_values
from spectral_latent.cli.outputs import OutputForm

if TYPE_CHECKING:
    from spectral_latent.corpora.rows import Column

__all__ = ["AnswerRequest", "answer_options"]


def _shard(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Read the number of a part and the number of all parts, such as 1/4."""
    if value is None:
        return None
    number, _, n_parts = value.partition("/")
    if not (number.isdecimal() and n_parts.isdecimal() and 1 <= int(number) <= int(n_parts)):
        raise click.BadParameter(f"{value!r} is not such as 1/4, the first of four parts")
    return int(number), int(n_parts)


_OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=AnswersFile(),
    help="The file to write, whole or not at all: JSON if its name ends in .jsonl, Parquet if in .parquet, and "
    "compressed if in .gz.  [default: standard output, as results come]",
)
_SHARD = click.option(
    "--shard",
    metavar="I/N",
    callback=_shard,
    help="Read the sentences of FILE in N parts of the same size, and answer the sentences of the I-th part.",
)
_RESUME = click.option(
    "--resume", is_flag=True, help="Go on with the unfinished --output of the same command, if there is one."
)


class AnswerRequest(NamedTuple):
    """The values of the shared options.

    as_json: whether to write JSON.
    output: the file to write; None for standard output.
    shard: the number of the part of the input to answer, from 1, and the number of parts; None for all of the input.
    resume: whether to go on with an unfinished output.
    jobs: the number of processes.
    quiet: whether to print no messages.
    """

    as_json: bool
    output: Path | None
    shard: tuple[int, int] | None
    resume: bool
    jobs: int
    quiet: bool

    def begin(self) -> Console:
        """End the command if --resume names an output that is complete; otherwise return the console.

        Raises UsageError if standard output is to be resumed.
        """
        if self.resume and self.output is None:
            raise click.UsageError("--resume goes with --output")
        console = Console(self.quiet)
        if self.resume and self.output is not None and is_complete(self.output):
            console.message(f"{self.output}: complete; leave out --resume to write it anew")
            raise click.exceptions.Exit(0)
        return console

    @property
    def form(self) -> OutputForm:
        """The form of the answers, which `--json` and the ending of the file's name tell.

        Raises UsageError if the name of the file asks for another form than --json, and for compressed Parquet.

        >>> AnswerRequest(False, Path("a.JSONL.gz"), shard=None, resume=False, jobs=1, quiet=True).form
        'json'
        """
        from spectral_latent.corpora.formats import ENDINGS
        from spectral_latent.corpora.text import ending_of

        ending = "" if self.output is None else ending_of(self.output)
        if self.output is not None and ending in ENDINGS["parquet"]:
            if self.as_json:
                raise click.UsageError(
                    f"{self.output}: a name of Parquet files; leave out --json, or give another name"
                )
            if self.output.suffix.lower() == ".gz":
                raise click.UsageError(f"{self.output}: Parquet is compressed within; leave out .gz")
            return "parquet"
        return "json" if self.as_json or ending in ENDINGS["json"] else "text"

    def part_of(self, given: Input) -> Input:
        """Take the part of an input that is to be answered.

        given: the input to divide.

        Raises ClickException if the input is to be divided, and the number of its sentences is not known.
        """
        return given.part(*self.shard) if self.shard else given

    def answers(self, columns: Mapping[str, Column], console: Console) -> AbstractContextManager[Answers]:
        """Begin the answers, which are printed or kept in a file; see `answers_to`.

        columns: the types of the columns of Parquet.
        console: prints the numbers of answered sentences and words, also if the command fails.
        """
        of_parquet = columns if self.form == "parquet" else None
        return answers_to(self.output, of_parquet, console, resume=self.resume)


answer_options = with_values(AnswerRequest, json_option, _OUTPUT, _SHARD, _RESUME, jobs_option, quiet_option)
