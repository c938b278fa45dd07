"""Make the options that several commands share."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args

import click

from spectral_latent._names import EstimatorName
from spectral_latent.cli.console import Console
from spectral_latent.cli.outputs import OutputFile, Write, results

if TYPE_CHECKING:
    from spectral_latent.tasks.inputs import Input, InputSentence
    from spectral_latent.tasks.writing import Form

__all__ = [
    "BRACKETS",
    "CANDIDATES",
    "DEPENDENCY_SOURCES",
    "LISTS",
    "LIST_FORMATS",
    "SOURCES",
    "TABLES",
    "TAGGED_SOURCES",
    "TEXT_SOURCES",
    "AnswerRequest",
    "Answers",
    "answer_options",
    "column_option",
    "epilog_of",
    "errors_options",
    "files_argument",
    "format_option",
    "format_options",
    "jobs_option",
    "json_option",
    "made_file_option",
    "models_option",
    "non_projective_option",
    "number_option",
    "quiet_option",
    "results_option",
    "seed_option",
    "skip_bad_option",
    "sources_argument",
    "tell_of_fewer",
    "training_options",
]

_Values = TypeVar("_Values", bound=NamedTuple)
_Command = TypeVar("_Command", bound=Callable[..., Any])
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

CANDIDATES = 50  # the value of `reranking.N_CANDIDATES`, which is not imported, so that help is quick
_FIRST = 20  # the largest number of fallbacks whose numbers are kept
_JSON = (".jsonl", ".ndjson")  # the endings of JSON lines

SOURCES = "of trees: brackets (*.mrg ...), a file or folder, or nltk:NAME, a treebank of NLTK"
DEPENDENCY_SOURCES = "of dependency trees: CoNLL-U or CoNLL-X, a file or folder, or nltk:NAME"
TAGGED_SOURCES = "of tags: a table as CoNLL-U, or lines of the/DT dog/NN, a file or folder, or nltk:NAME"
TEXT_SOURCES = "of sentences: the same, or lines of tokens in *.tok or *.txt"
LIST_FORMATS = ("bllip", "trees", "conllu", "json")
BRACKETS = ("brackets", "penn", "historical")
TABLES = ("conllu",)
LISTS = "blocks of BLLIP, lines `score TAB tree`, CoNLL-U with comments # score, or JSON lines"


def epilog_of(*kinds: str, name: str = "SOURCE") -> str:
    """Write the lines on the sources of a command, for the end of its help."""
    return "\n".join(
        ["\b", *(f"{name} {kind}." for kind in kinds), "A part of a corpus is nltk:NAME:train, :dev or :test."]
    )


def number_option(
    name: str, metavar: str, text: str, *, default: int | None = None, least: int = 1, most: int | None = None
) -> _Decorator:
    """Make an option that takes an integer between two limits; without a default it is None."""
    is_shown = default is not None
    kind = click.IntRange(least, most)
    return click.option(name, metavar=metavar, default=default, show_default=is_shown, type=kind, help=text)


def seed_option(text: str) -> _Decorator:
    """Make the option `--seed`."""
    return number_option("--seed", "N", text, default=0, least=0)


def made_file_option(metavar: str, text: str) -> _Decorator:
    """Make the option `--output` of a command that makes a file of one kind, and needs its name."""
    return click.option("-o", "--output", metavar=metavar, required=True, type=OutputFile(), help=text)


output_option = click.option("-o", "--output", metavar="OUT", type=OutputFile(), help="The file to write.")
sources_argument = click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
files_argument = click.argument(
    "files", metavar="[FILE]...", nargs=-1, callback=lambda _context, _argument, files: files or ("-",)
)
column_option = click.option(
    "--column",
    type=click.Choice(["upos", "xpos", "universal"]),
    help="The column of CoNLL-U with the tags; or universal tags of NLTK.  [default: upos, or that of training]",
)
jobs_option = number_option(
    "--jobs", "N", "The number of threads or processes, which does not change the result.", default=1
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, an object on each line.")
non_projective_option = click.option(
    "--non-projective", is_flag=True, help="Find dependency trees whose arcs may cross."
)
models_option = click.option(
    "--model",
    "models",
    metavar="[NAME=]FILE",
    multiple=True,
    help="A parser that scores trees; its name is latent if none is given.",
)


def _with_quiet_library(_context: click.Context, _option: click.Parameter, quiet: bool) -> bool:
    """Let the library log only errors, and give no warnings, until the group of all commands ends."""
    if quiet:
        logging.getLogger("spectral_latent").setLevel(logging.ERROR)
        warnings.simplefilter("ignore", UserWarning)
    return quiet


quiet_option = click.option(
    "--quiet", "-q", is_flag=True, callback=_with_quiet_library, help="Print no messages and progress bars."
)
results_option = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OutputFile(),
    help="The file to write, whole or not at all; compressed if its name ends in .gz.  [default: standard output]",
)


def errors_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of standard errors to a command, which gets `errors` and `groups`."""
    text = "Add jackknife standard errors, which don't contain bias. SOURCE is what MODEL was trained from."
    groups = "The number of groups, each of which is left out of one training."
    command = number_option("--groups", "N", groups, default=20, least=3)(command)
    return click.option("--errors", metavar="SOURCE", multiple=True, help=text)(command)


def tell_of_fewer(console: Console, fewer: int, name: str, n_groups: int, what: str) -> None:
    """Tell how many errors are computed from fewer groups than were asked for; nothing if none is."""
    from spectral_latent._options import counted

    if fewer:
        console.message(
            f"Errors of {counted(fewer, name)} are computed from fewer than {n_groups} groups: without the others, "
            f"their {what} is not finite"
        )


skip_bad_option = click.option(
    "--skip-bad", is_flag=True, help="Leave out trees in brackets that cannot be read, and count them."
)


def format_option(*formats: str, of: str) -> _Decorator:
    """Make the option for the format of files, whose value is the argument `form` of the command."""
    text = f"The format of {of}.  [default: as name or lines show]"
    return click.option("--format", "form", type=click.Choice(formats), help=text)


def format_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the format of FILE to a command, which gets the format as its argument `form`."""
    from spectral_latent.tasks.inputs import FORMATS

    text = "FILE is raw text: divide it into sentences and words."
    return click.option("--text", "form", flag_value="text", help=text)(format_option(*FORMATS, of="FILE")(command))


# Answers, sentence by sentence


class Answers:
    """Answers that are counted, and written as they come."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self.sentences = 0
        self._words = 0
        self._fallbacks = 0
        self._first: list[int | str] = []

    def add(self, sentence: InputSentence, text: str, is_fallback: bool = False) -> None:
        """Count and write the answer to the next sentence."""
        self.sentences += sentence.is_whole  # unlike comments after the last sentence
        self._words += len(sentence.sentence.forms)
        self._fallbacks += is_fallback
        if is_fallback and len(self._first) < _FIRST:
            self._first.append(sentence.number)
        self._write(text)

    def report_fallbacks(self, unit: str, console: Console) -> None:
        """Print how many sentences have no parse, and the numbers of the first of these sentences."""
        if self._fallbacks:
            numbers = ", ".join(map(str, self._first))
            rest = f" and {self._fallbacks - len(self._first):,} more" if self._fallbacks > len(self._first) else ""
            console.message(
                f"The grammar derives no tree, and the output has a flat one marked FALLBACK: {unit} {numbers}{rest}"
            )

    def __str__(self) -> str:
        counts = ((self.sentences, "sentence"), (self._words, "word"), (self._fallbacks, "fallback"))
        shown = counts if self._fallbacks else counts[:2]
        return ", ".join(f"{n:,} {name}{'' if n == 1 else 's'}" for n, name in shown)


class AnswerRequest(NamedTuple):
    """The values of the options of commands that answer sentence by sentence."""

    as_json: bool
    output: Path | None
    jobs: int
    quiet: bool

    @property
    def form(self) -> Form:
        """The form of the answers, which `--json` and the ending of the file's name tell."""
        name = "" if self.output is None else self.output.name.lower().removesuffix(".gz")
        return "json" if self.as_json or name.endswith(_JSON) else "text"

    @contextmanager
    def answers(self, given: Input, console: Console) -> Iterator[Answers]:
        """Begin the answers, which are printed, or written to a file that appears whole or not at all."""
        with results(self.output) as write:
            answers = Answers(write)
            try:
                yield answers
            finally:
                answers.report_fallbacks(given.unit, console)
        if not answers.sentences:
            console.message(f"{given.source}: no sentences")
        if self.output is not None:
            console.message(f"{self.output}: {answers}")


def _with_values(values: type[_Values], *options: _Decorator) -> _Decorator:
    """Add options to a command, which gets the values of those of a named tuple as its first argument."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_object(**given: Any) -> Any:
            return command(values(*map(given.pop, values._fields)), **given)

        decorated: Callable[..., Any] = with_object
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


_ANSWERS_FILE = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=OutputFile(),
    help="The file to write, whole or not at all: JSON if its name ends in .jsonl, compressed if in .gz.",
)
answer_options = _with_values(AnswerRequest, json_option, _ANSWERS_FILE, jobs_option, quiet_option)


# Training


def _weight(text: str) -> float:
    """Read the weight of a source: a finite number of at least 0."""
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise click.BadParameter(f"{text!r} is not a finite number of at least 0")
    return weight


def training_options(*presets: str, formats: Sequence[str]) -> _Decorator:
    """Add the options of commands that train a model with latent states on a treebank."""
    options = (
        sources_argument,
        made_file_option("MODEL", "The model file to write."),
        click.option(
            "--preset",
            type=click.Choice(presets),
            help="Settings that go well together; see docs/training.md.  [default: fast]",
        ),
        click.option(
            "--estimator",
            type=click.Choice(get_args(EstimatorName)),
            help="The method that finds latent states, in the place of a preset.",
        ),
        number_option("--n-states", "M", "The largest number of latent states of a symbol or a tag."),
        click.option(
            "--dev", metavar="SOURCE", multiple=True, help="Evaluate the model on SOURCE; `info` shows the figures."
        ),
        click.option(
            "--weight",
            "weights",
            metavar="W",
            multiple=True,
            type=_weight,
            help="What each tree or sentence of a SOURCE counts; one W for each SOURCE.  [default: 1]",
        ),
        format_option(*formats, of="files of SOURCE and --dev"),
        seed_option("The seed of random starts."),
        jobs_option,
        quiet_option,
    )

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
