"""Hold the options of the commands that train a model with latent states on a treebank."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar, get_args

import click

from spectral_latent._names import EstimatorName
from spectral_latent.cli.options import (
    jobs_option,
    made_file_option,
    number_option,
    quiet_option,
    seed_option,
    sources_argument,
    with_values,
)
from spectral_latent.cli.training import TrainingRun

if TYPE_CHECKING:
    from spectral_latent.estimation import Estimator

__all__ = ["MODEL_FILE", "TrainingRequest", "training_options"]

MODEL_FILE = made_file_option("MODEL", "The model file to write.")

_Name = TypeVar("_Name", bound=str)

_ESTIMATOR = click.option(
    "--estimator",
    type=click.Choice(get_args(EstimatorName)),
    help="The method that finds latent states, in the place of a preset, with the defaults of all other settings; "
    "docs/guide/training.md compares them.",
)
_N_STATES = number_option(
    "--n-states",
    "M",
    "The largest number of latent states of a symbol or a tag.  [default: the number of the preset]",
)
_SEED = seed_option(
    "The seed of random starts; another seed gives another model, which may be a little better or worse."
)
_DEV = click.option(
    "--dev",
    metavar="SOURCE",
    multiple=True,
    help="Evaluate the model on SOURCE, as `spectral-latent evaluate` does; the model does not learn from it. `info` "
    "shows the figures.",
)


def _weight(text: str) -> float:
    """Read the weight of a source.  Raises BadParameter unless it is a finite number of at least 0."""
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise click.BadParameter(f"{text!r} is not a finite number of at least 0")
    return weight


_WEIGHT = click.option(
    "--weight",
    "weights",
    metavar="W",
    multiple=True,
    type=_weight,
    help="The weight of each tree or sentence of a SOURCE: it counts as W trees or sentences. W is at least 0, such as "
    "0.3 for trees that a parser has made. Give one --weight for each SOURCE, in their order.  [default: 1]",
)


class TrainingRequest(NamedTuple, Generic[_Name]):
    """The values of the shared options.

    sources: the sources to learn from.
    output: the model file to write.
    preset_name: the preset; None if it is not given.
    estimator: the estimator; None for the estimator of the preset.
    n_states: the largest number of latent states; None for the number of the preset.
    dev: the sources to evaluate the model on.
    weights: a weight for each source; none if all examples have weight 1.
    seed: the seed of random starts.
    jobs: the number of threads that learn, and of processes that parse while they learn.
    quiet: whether to print no messages.
    """

    sources: tuple[str, ...]
    output: Path
    preset_name: _Name | None
    estimator: EstimatorName | None
    n_states: int | None
    dev: tuple[str, ...]
    weights: tuple[float, ...]
    seed: int
    jobs: int
    quiet: bool

    @property
    def preset(self) -> _Name | Literal["fast", "spectral"]:
        """The preset of the settings; with an estimator it is `spectral`, whose settings are the defaults.

        Raises UsageError if both a preset and an estimator are given.
        """
        if self.preset_name and self.estimator:
            raise click.UsageError("--preset includes the estimator; leave out --preset or --estimator")
        return "spectral" if self.estimator else self.preset_name or "fast"

    def estimator_options(self, default: Estimator) -> Estimator:
        """Choose the estimator of the command line, or change the settings of a preset's estimator.

        default: the estimator of the preset.
        """
        from spectral_latent.estimation import ESTIMATORS

        n_states = self.n_states or getattr(default.states, "n_states", None)
        chosen = ESTIMATORS[self.estimator] if self.estimator else default
        return chosen.with_settings(n_states=n_states, seed=self.seed)

    def training(self, kind: str) -> TrainingRun:
        """Begin the training.

        kind: the name of the examples in the sources.
        """
        return TrainingRun(self.output, kind, self.quiet, self.dev)


def training_options(*presets: str) -> Callable[[Callable[..., None]], Callable[..., Any]]:
    """Add the shared options to a command, which gets their values as its first argument, `TrainingRequest`.

    presets: the names of the presets.
    """
    slow = "accurate has"
    if "best" in presets:
        slow = "accurate has better results, best takes three times as long to train as accurate and has"
    preset = click.option(
        "--preset",
        "preset_name",
        type=click.Choice(presets),
        help=f"Settings that go well together: fast is trained and parses in the least time, {slow} the best results, "
        "spectral uses no EM; see docs/accuracy.md.  [default: fast]",
    )
    options = (MODEL_FILE, preset, _ESTIMATOR, _N_STATES, _DEV, _WEIGHT, _SEED, jobs_option, quiet_option)
    return with_values(TrainingRequest, sources_argument, *options)
