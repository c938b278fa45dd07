"""`spectral-latent train`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

import click

from spectral_latent.cli.inputs import SOURCES, TAGGED_SOURCES, TEXT_SOURCES, column_option, tagged, treebank, untagged
from spectral_latent.cli.notes import Notes, quiet_option
from spectral_latent.cli.outputs import can_be_written, refuse_inputs
from spectral_latent.cli.tables import DEPENDENCY_SOURCES, dependency_entries

if TYPE_CHECKING:
    from spectral_latent.anchors.hulls import HullName
    from spectral_latent.constituency.presets import PresetName
    from spectral_latent.estimation import EstimatorName, EstimatorOptions

__all__ = ["ESTIMATORS", "HULLS", "train"]

# spelt out, so that help need not import the estimators
HULLS = ("brown", "cca", "best-fit", "random")
PRESETS = ("fast", "accurate")
ESTIMATORS = ("spectral", "clustering", "em", "hybrid", "pivots", "pivots-em")

_DEFAULT = click.core.ParameterSource.DEFAULT
_T = TypeVar("_T")


class _Model(Protocol):
    def save(self, path: Path, /) -> None: ...


class _Training(NamedTuple):
    """What every kind of model is trained with, and what is done and told around it."""

    sources: tuple[str, ...]
    output: Path
    n_states: int
    seed: int
    notes: Notes
    begun: float
    estimator: EstimatorName = "spectral"
    jobs: int = 1

    @property
    def options(self) -> EstimatorOptions:
        """Those of the estimator."""
        from spectral_latent.estimation import EstimatorOptions

        return EstimatorOptions(estimator=self.estimator, n_states=self.n_states, seed=self.seed)

    def stream(self, examples: Iterable[_T], kind: str) -> Iterator[_T]:
        """Give examples on as they are read, and tell their number after the last."""
        number = 0
        for example in self.notes.progress(examples, f"Reading {kind}"):
            number += 1
            yield example
        self.notes.say(f"Training on {number} {kind}")

    def save(self, model: _Model, contents: str) -> None:
        """Write the model, whole or not at all."""
        model.save(self.output)
        self.notes.say(f"{self.output}: {contents}, {time.perf_counter() - self.begun:.1f} s")


@click.group()
def train() -> None:
    """Train a model."""


def _number(
    name: str, metavar: str, default: int, least: int, help: str, most: int | None = None
) -> Callable[..., Any]:
    """An option for an integer."""
    return click.option(
        name, metavar=metavar, default=default, show_default=True, type=click.IntRange(least, most), help=help
    )


def _training(
    sources: str,
    n_states: int,
    states_help: str = "The most latent states of a symbol.",
    seed_help: str = "Where singular value decompositions, clusters and random states start from.",
    has_estimators: bool = True,
) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function of a `_Training` and of options of its own.

    sources: what the help says of them.  n_states: how many there are if nothing is said.  has_estimators: whether
    there is a choice of them, and of processes.
    """
    of_estimators = (
        click.option(
            "--estimator",
            default="spectral",
            show_default=True,
            type=click.Choice(ESTIMATORS),
            help="How latent states are found; see docs/guide.md.",
        ),
        _number("--jobs", "N", 1, 1, "Processes; the model does not depend on it."),
    )
    decorators = (
        train.command(epilog=sources),
        click.argument("sources", metavar="SOURCE...", nargs=-1, required=True),
        click.option(
            "-o",
            "--output",
            metavar="MODEL",
            required=True,
            type=click.Path(path_type=Path),
            callback=can_be_written,
            help="The model file to write.",
        ),
        _number("--n-states", "M", n_states, 1, states_help),
        _number("--seed", "N", 0, 0, seed_help),
        *(of_estimators if has_estimators else ()),
        quiet_option,
    )

    def decorate(function: Callable[..., None]) -> click.Command:
        @wraps(function)
        def command(quiet: bool, **given: Any) -> None:
            refuse_inputs(given["output"], [*given["sources"], *given.get("held_out", ())])
            shared = {name: given.pop(name) for name in _Training._fields if name in given}
            function(_Training(**shared, notes=Notes(quiet), begun=time.perf_counter()), **given)

        decorated: Any = command
        for decorator in reversed(decorators):
            decorated = decorator(decorated)
        return decorated  # type: ignore[no-any-return]

    return decorate


@_training(SOURCES, n_states=16)
@click.option(
    "--choose-states",
    "held_out",
    metavar="SOURCE",
    multiple=True,
    help="Choose each symbol's states, up to M, by how these held-out trees are parsed; takes minutes. Spectral only.",
)
@click.option(
    "--preset",
    "preset_name",
    type=click.Choice(PRESETS),
    help="Settings that go well together, in place of --estimator and --n-states: the best single grammar, or the mean "
    "of three; see docs/accuracy.md.",
)
@click.pass_context
def constituency(
    context: click.Context, training: _Training, held_out: tuple[str, ...], preset_name: PresetName | None
) -> None:
    """Train a parser, a latent-variable PCFG, on treebank trees.

    Traces, function labels and unlabelled top brackets are removed from the trees first.  MODEL is written when
    training has succeeded, whole or not at all.
    """
    from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, preset, read_treebank
    from spectral_latent.evaluation import with_chosen_states

    if held_out and training.estimator != "spectral":
        raise click.UsageError("--choose-states goes with --estimator spectral")
    given = [name for name in ("estimator", "n_states") if context.get_parameter_source(name) is not _DEFAULT]
    if preset_name and (held_out or given):
        raise click.UsageError("--preset settles the estimator and the states; leave out what else does")
    trees = training.stream(treebank(training.sources), "trees")
    options = ConstituencyOptions(estimator=training.options)
    jobs, listener = training.jobs, training.notes.tell
    if held_out:
        model = with_chosen_states(
            read_treebank(trees, [options], jobs=jobs)[0], treebank(held_out), jobs=jobs, listener=listener
        )
    else:
        settings = [
            replace(own, estimator=replace(own.estimator, seed=training.seed))
            for own in (preset(preset_name) if preset_name else (options,))
        ]
        model = ConstituencyModel.train(trees, settings, jobs=jobs, listener=listener)
    grammar = model.members[0]
    states, words = grammar.grammar.operators.states.max(), grammar.grammar.lexicon.words
    several = f"{len(model.members)} grammars, the first of " if len(model.members) > 1 else ""
    training.save(model, f"{several}{len(grammar.labels)} symbols of up to {states} states, {len(words)} words")


@_training(DEPENDENCY_SOURCES, n_states=16)
@click.option(
    "--tags",
    default="xpos",
    show_default=True,
    type=click.Choice(["upos", "xpos"]),
    help="Which column of CoNLL-U has the tags; the other one where that is empty.",
)
@click.option(
    "--first",
    default="right",
    show_default=True,
    type=click.Choice(["left", "right"]),
    help="The side whose words are attached to their head first.",
)
def dependency(training: _Training, tags: Literal["upos", "xpos"], first: Literal["left", "right"]) -> None:
    """Train a dependency parser, a latent dependency grammar, on dependency trees.

    Each tree has one root; it may be non-projective.  MODEL is written when training has succeeded, whole or not at
    all.
    """
    from spectral_latent.corpora.dependencies import with_tags
    from spectral_latent.dependency import Attachment, DependencyModel, DependencyOptions

    rooted = (entry.rooted() for entry in dependency_entries(training.sources))
    entries = training.stream(with_tags(rooted, tags), "trees")
    options = DependencyOptions(estimator=training.options, tags=tags, attachment=Attachment(first))
    trees = (entry.sentence for entry in entries)
    model = DependencyModel.train(trees, options, jobs=training.jobs, listener=training.notes.tell)
    names, states = model.grammar.tags, model.grammar.operators.states.max()
    training.save(model, f"{len(names)} tags of up to {states} states, {len(model.grammar.lexicon.words)} words")


@_training(TAGGED_SOURCES, n_states=8)
@column_option
def tagger(training: _Training, column: str | None) -> None:
    """Train a tagger, a latent hidden Markov model, on tagged sentences.

    Of CoNLL-U, the tags are those of the column UPOS, unless --column names another; `tag` and `evaluate` then use it
    too.

    MODEL is written when training has succeeded, whole or not at all.
    """
    from spectral_latent.sequence import LatentHMM, SequenceOptions

    sentences = training.stream(tagged(training.sources, column), "sentences")
    options = SequenceOptions(n_states=training.n_states, estimator=training.options)
    model = LatentHMM.fit_tagged(sentences, options, jobs=training.jobs, listener=training.notes.tell)
    states, words = model.latent.states.max(), len(model.observations.known)
    training.save(replace(model, column=column), f"{len(model.tags)} tags of up to {states} states, {words} words")


@_training(
    TEXT_SOURCES,
    n_states=12,
    states_help="The most parts of speech.",
    seed_help="Of --hull random.",
    has_estimators=False,
)
@click.option(
    "--hull",
    default="brown",
    show_default=True,
    type=click.Choice(HULLS),
    help="How words become points; see docs/guide.md.",
)
@click.option("--no-spelling", is_flag=True, help="Look at contexts only, not at how words are spelt.")
@_number("--window", "W", 1, 1, "How many words on each side are context.", most=100)
def anchor(training: _Training, hull: HullName, no_spelling: bool, window: int) -> None:
    """Find parts of speech in sentences without tags: an anchor hidden Markov model.

    Each state has an anchor, a word that no other state emits; `spectral-latent anchors` shows them, and makes the
    model a tagger.  MODEL is written when training has succeeded, whole or not at all.
    """
    from spectral_latent.anchors import AnchorHMM, AnchorOptions, HullOptions

    sentences = training.stream(untagged(training.sources), "sentences")
    options = HullOptions(hull, window, spelling=not no_spelling, seed=training.seed)
    model = AnchorHMM.train(sentences, AnchorOptions(training.n_states, hull=options))
    fewer = "" if model.n_states == training.n_states else f" (the words have room for no more than {model.n_states})"
    training.save(model, f"{model.n_states} states{fewer}, {len(model.words)} words")
