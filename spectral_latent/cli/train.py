"""`spectral-latent train`."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from spectral_latent._names import ConstituencyPresetName, PresetName
from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Commands
from spectral_latent.cli.options import (
    BRACKETS,
    DEPENDENCY_SOURCES,
    SOURCES,
    TABLES,
    TAGGED_SOURCES,
    TEXT_SOURCES,
    column_option,
    epilog_of,
    format_option,
    made_file_option,
    number_option,
    quiet_option,
    skip_bad_option,
    sources_argument,
    training_options,
)

if TYPE_CHECKING:
    from spectral_latent.estimation import Progress
    from spectral_latent.estimation.progress import ProgressLine
    from spectral_latent.tasks.training import Run

__all__ = ["train"]

_FEW = 10  # fewer examples give a warning
_PARTS = 4  # a stage is divided into so many parts, and a step is printed at the end of each part
_LONG = ("folds", "sentences without trees", "tagger of")  # begin stages that take long and are printed without scores


@click.group(cls=Commands)
def train() -> None:
    """Train a model."""


@train.command(epilog=epilog_of(SOURCES))
@training_options(*get_args(ConstituencyPresetName), formats=BRACKETS)
@click.option(
    "--choose-states",
    metavar="SOURCE",
    multiple=True,
    help="Choose the number of states of each symbol, up to M, by parsing SOURCE; for --estimator spectral.",
)
@skip_bad_option
@click.option("--function-labels", is_flag=True, help="Also learn function labels, such as SBJ of NP-SBJ.")
@click.option(
    "--text", metavar="SOURCE", multiple=True, help="Also learn from the sentences of SOURCE, which have no trees."
)
def constituency(**given: Any) -> None:
    """Train a constituency parser, a latent-variable PCFG, on treebank trees.

    MODEL is written whole when training has succeeded, or not at all.  See docs/training.md.

    \b
    Examples:
      spectral-latent train constituency nltk:treebank:train -o wsj.model
      spectral-latent train constituency sections/ -o wsj.model --preset accurate --text news.tok
      spectral-latent train constituency sections/ -o wsj.model --estimator clusters-em --n-states 24"""
    _train("constituency", **given)


@train.command(epilog=epilog_of(DEPENDENCY_SOURCES))
@training_options(*get_args(PresetName), formats=TABLES)
@click.option(
    "--column",
    default="upos",
    show_default=True,
    type=click.Choice(["upos", "xpos"]),
    help="The column of CoNLL-U with the tags; the other column is used if this one is empty.",
)
@click.option(
    "--first",
    type=click.Choice(["left", "right"]),
    help="The side of a head whose words every grammar attaches first.  [default: that of the preset]",
)
@click.option("--morphology", is_flag=True, help="Also learn tags, features and lemmas, as `train ud` does.")
def dependency(**given: Any) -> None:
    """Train a dependency parser, one or more latent grammars, on dependency trees.

    Each tree has one root; its arcs may cross.  MODEL is written whole when training has succeeded, or not at all.

    \b
    Examples:
      spectral-latent train dependency en-train.conllu -o deps.model --column xpos
      spectral-latent train dependency nltk:dependency_treebank:train -o deps.model"""
    _train("dependency", **given)


@train.command(epilog=epilog_of(DEPENDENCY_SOURCES))
@training_options(*get_args(PresetName), formats=TABLES)
def ud(**given: Any) -> None:
    """Train one file for a language: a dependency parser with taggers and lemmas.

    The parser learns from tags and features as taggers predict them.  MODEL is written whole when training has
    succeeded, or not at all.

    \b
    Example:
      spectral-latent train ud en-train.conllu -o en.model --preset accurate"""
    _train("dependency", morphology=True, **given)


@train.command(epilog=epilog_of(TAGGED_SOURCES))
@training_options(*get_args(PresetName), formats=("tagged", *TABLES))
@column_option
def tagger(**given: Any) -> None:
    """Train a tagger, a latent hidden Markov model, on tagged sentences.

    MODEL is written whole when training has succeeded, or not at all.

    \b
    Examples:
      spectral-latent train tagger en-train.conllu -o tagger.model
      spectral-latent train tagger nltk:brown -o tagger.model --column universal"""
    _train("tagger", **given)


@train.command(epilog=epilog_of(TAGGED_SOURCES, TEXT_SOURCES))
@sources_argument
@made_file_option("MODEL", "The model file to write.")
@number_option("--n-states", "M", "The largest number of parts of speech.", default=12)
@click.option("--no-spelling", is_flag=True, help="Do not use the spelling of words.")
@number_option("--window", "W", "The number of words on each side that are the context of a word.", default=1, most=100)
@format_option("tokens", "tagged", *TABLES, of="files of SOURCE")
@quiet_option
def anchor(**given: Any) -> None:
    """Find parts of speech in untagged sentences, by an anchor hidden Markov model.

    Each state has an anchor, a word that no other state emits; `spectral-latent anchors` shows and labels them.  MODEL
    is written whole when training has succeeded, or not at all.

    \b
    Example:
      spectral-latent train anchor nltk:brown -o anchors.model"""
    _train("anchors", jobs=1, **given)


def _train(
    kind: str,
    sources: tuple[str, ...],
    output: Path,
    jobs: int,
    quiet: bool,
    dev: tuple[str, ...] = (),
    **settings: Any,
) -> None:
    """Train a model of a kind, write it with its record, and evaluate it; the settings are those of its trainer."""
    from spectral_latent.tasks import KINDS, Gold
    from spectral_latent.tasks.training import Run

    begun = time.perf_counter()
    of_kind = KINDS[kind]
    assert of_kind.train is not None
    console = _TrainingConsole(quiet)
    run = console.run = Run(sources, console, jobs)
    model = of_kind.train(run, **settings)
    console.end()
    record = run.record(of_kind.command, of_kind.train, settings)
    model.save(output, record)
    seconds = time.perf_counter() - begun
    megabytes = output.stat().st_size / 1e6
    console.message(f"{output}: {model.sizes}, from {console.examples}, {seconds:.1f} s, {megabytes:.1f} MB")
    if dev:
        from spectral_latent.cli.outputs import figures_table

        assert of_kind.evaluate is not None
        figures = of_kind.evaluate(
            model, Gold(str(output), dev, console, form=settings["form"], skip_bad=settings.get("skip_bad", False))
        )
        click.echo(figures_table(figures))
        run.evaluated(dev, figures)
        model.save(output, run.record(of_kind.command, of_kind.train, settings))
    console.message(f"Next: {of_kind.first.format(output)}")


class _TrainingConsole(Console):
    """The messages of a training: on a terminal, a line with the time that is left; elsewhere, a few steps."""

    run: Run

    def __init__(self, quiet: bool) -> None:
        super().__init__(quiet)
        self._line: ProgressLine | None = None
        self._told = False

    @property
    def examples(self) -> str:
        """The number of examples that were read, with their name."""
        from spectral_latent._options import counted

        return counted(self.run.n_examples, self.run.kind.removesuffix("s"))

    def has_read(self) -> None:
        """Print the number of examples, and begin to measure the time."""
        self.message(f"Training on {self.examples}")
        if self.shows_progress:
            from spectral_latent.estimation.progress import ProgressLine

            self._line = ProgressLine()
        if 0 < self.run.n_examples < _FEW:
            self.message(f"Warning: a useful model needs hundreds of {self.run.kind} or more")

    def on_progress(self, progress: Progress) -> None:
        """Print a step that an estimator reports."""
        self._tell_changes()
        if progress.lowered:
            if self._line:
                self._line.clear()
            from spectral_latent._options import counted

            lowered = counted(len(progress.lowered), "symbol")
            self.message(f"Fewer states for {lowered}, whose further singular values are too small")
        if self._line:
            self._line(progress)
        elif _is_told(progress):
            score = "" if progress.score is None else f": {progress.score:.2f}"
            self.message(f"{progress.stage} {progress.done}/{progress.total}{score}")

    def _tell_changes(self) -> None:
        """Print once what was changed in the trees: they are read and cleaned when training makes its first step."""
        if not self._told:
            self._told = True
            self.table(f"Changed in the {self.run.kind}:", self.run.changes.table())

    def end(self) -> None:
        """Clear the line of progress."""
        self._tell_changes()
        if self._line:
            self._line.clear()


def _is_told(progress: Progress) -> bool:
    """Tell whether a step is printed: if it has a score or its stage takes long, and it ends a part of its stage."""
    if progress.score is None and (not progress.stage.startswith(_LONG) or not progress.done):
        return False
    part = max(math.ceil(progress.total / _PARTS), 1)
    return progress.done % part == 0 or progress.done == progress.total
