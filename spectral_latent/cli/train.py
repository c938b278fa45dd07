"""`spectral-latent train`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spectral_latent.cli.inputs import SOURCES, treebank
from spectral_latent.cli.notes import Notes, quiet_option

if TYPE_CHECKING:
    from spectral_latent.estimation import EstimatorName

__all__ = ["ESTIMATORS", "train"]

# spelt out, so that help need not import the estimators
ESTIMATORS = ("spectral", "clustering", "em", "hybrid", "pivots", "pivots-em")


@click.group()
def train() -> None:
    """Train a model."""


def _can_be_written(_context: click.Context, _parameter: click.Parameter, path: Path) -> Path:
    """The path, unless it is clear before all work that no file can be written there."""
    if path.exists() and not path.is_file():
        raise click.ClickException(f"{path}: a folder or a device; name a file")
    if not path.parent.is_dir():
        raise click.ClickException(f"{path}: the folder does not exist; create it first")
    if not os.access(path.parent, os.W_OK):
        raise click.ClickException(f"{path}: the folder may not be written to; give another")
    return path


@train.command(epilog=SOURCES)
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    metavar="MODEL",
    required=True,
    type=click.Path(path_type=Path),
    callback=_can_be_written,
    help="The model file to write.",
)
@click.option(
    "--estimator",
    default="spectral",
    show_default=True,
    type=click.Choice(ESTIMATORS),
    help="How latent states are found; see docs/guide.md.",
)
@click.option(
    "--states",
    metavar="M",
    default=16,
    show_default=True,
    type=click.IntRange(min=1),
    help="The most latent states of a symbol.",
)
@click.option(
    "--seed",
    metavar="N",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Where the singular value decompositions start from; hardly matters.",
)
@click.option(
    "--jobs",
    metavar="N",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Processes; the model does not depend on it.",
)
@click.option(
    "--choose-states",
    "held_out",
    metavar="SOURCE",
    multiple=True,
    help="Choose each symbol's states, up to M, by how these held-out trees are parsed; takes minutes. Spectral only.",
)
@quiet_option
def constituency(
    sources: tuple[str, ...],
    output: Path,
    estimator: EstimatorName,
    states: int,
    seed: int,
    jobs: int,
    held_out: tuple[str, ...],
    quiet: bool,
) -> None:
    """Train a parser, a latent-variable PCFG, on treebank trees.

    Traces, function labels and unlabelled top brackets are removed from the trees first.  MODEL is written when
    training has succeeded, whole or not at all.
    """
    from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Treebank
    from spectral_latent.estimation import EstimatorOptions
    from spectral_latent.evaluation import with_chosen_states

    if held_out and estimator != "spectral":
        raise click.UsageError("--choose-states goes with --estimator spectral")
    notes, clock = Notes(quiet), time.perf_counter()
    trees = list(notes.progress(treebank(sources), "Reading trees"))
    notes.say(f"Training on {len(trees)} trees")
    options = ConstituencyOptions(estimator=EstimatorOptions(estimator=estimator, states=states, seed=seed))
    if held_out:
        model = with_chosen_states(Treebank.of(trees, options), treebank(held_out), jobs=jobs, listener=notes.tell)
    else:
        model = ConstituencyModel.train(trees, options, jobs=jobs, listener=notes.tell)
    model.save(output)
    notes.say(
        f"{output}: {len(model.labels)} symbols of up to {model.operators.states.max()} states, "
        f"{len(model.lexicon.words)} words, {time.perf_counter() - clock:.1f} s"
    )
