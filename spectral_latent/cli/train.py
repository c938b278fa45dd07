"""`spectral-latent train`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

import click

from spectral_latent._names import ESTIMATORS, AnyPresetName, EstimatorName, HullName, PresetName
from spectral_latent.cli.groups import Commands
from spectral_latent.cli.options import column_option, jobs_option, quiet_option
from spectral_latent.cli.outputs import OutputFile
from spectral_latent.cli.sources import (
    DEPENDENCY_SOURCES,
    SOURCES,
    TAGGED_SOURCES,
    TEXT_SOURCES,
    dependency_entries,
    tagged,
    treebank,
    untagged,
)
from spectral_latent.cli.training import Training

if TYPE_CHECKING:
    from spectral_latent.anchors.options import SpellingName
    from spectral_latent.dependency import DependencySentence
    from spectral_latent.estimation import EstimatorOptions

__all__ = ["train"]

_Name = TypeVar("_Name", bound=str)

sources_argument = click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
output_option = click.option(
    "-o", "--output", metavar="MODEL", required=True, type=OutputFile(), help="The model file to write."
)
_PRESET = (
    "Settings that go well together: fast is trained and parses in the least time, {most} the best results, spectral "
    "uses no EM; see docs/accuracy.md.  [default: fast]"
)
preset_option = click.option(
    "--preset", "preset_name", type=click.Choice(get_args(PresetName)), help=_PRESET.format(most="accurate has")
)
phrase_preset_option = click.option(
    "--preset",
    "preset_name",
    type=click.Choice(get_args(AnyPresetName)),
    help=_PRESET.format(
        most="accurate has better results, best takes three times as long to train as accurate and has"
    ),
)
estimator_option = click.option(
    "--estimator",
    type=click.Choice(ESTIMATORS),
    help="The method that finds latent states, in the place of a preset, with the defaults of all other settings; "
    "docs/guide/training.md compares them.",
)
n_states_option = click.option(
    "--n-states",
    metavar="M",
    type=click.IntRange(min=1),
    help="The largest number of latent states of a symbol or a tag.  [default: that of the preset]",
)
seed_option = click.option(
    "--seed",
    metavar="N",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="The seed of random starts; another seed gives another model, which may be a little better or worse.",
)
dev_option = click.option(
    "--dev",
    metavar="SOURCE",
    multiple=True,
    help="Evaluate the model on SOURCE, as `spectral-latent evaluate` does, which is not learned from; `info` "
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


weight_option = click.option(
    "--weight",
    "weights",
    metavar="W",
    multiple=True,
    type=_weight,
    help="How many trees or sentences each one of a SOURCE counts as, a number of at least 0, such as 0.3 for trees "
    "that a parser has made; one --weight for each SOURCE, in their order.  [default: 1]",
)


@click.group(cls=Commands)
def train() -> None:
    """Train a model."""


@train.command(epilog=SOURCES)
@sources_argument
@output_option
@phrase_preset_option
@estimator_option
@n_states_option
@click.option(
    "--choose-states",
    "held_out",
    metavar="SOURCE",
    multiple=True,
    help="Choose the number of states of each symbol, up to M, by parsing the trees of SOURCE, which are not learned "
    "from; takes minutes, and goes with --estimator spectral.",
)
@click.option(
    "--function-labels",
    is_flag=True,
    help="Also learn function labels, such as SBJ of NP-SBJ, with one grammar more; goes without --choose-states.  "
    "[default: function labels are removed]",
)
@dev_option
@weight_option
@seed_option
@jobs_option
@quiet_option
def constituency(
    sources: tuple[str, ...],
    output: Path,
    preset_name: AnyPresetName | None,
    estimator: EstimatorName | None,
    n_states: int | None,
    held_out: tuple[str, ...],
    function_labels: bool,
    dev: tuple[str, ...],
    weights: tuple[float, ...],
    seed: int,
    jobs: int,
    quiet: bool,
) -> None:
    """Train a constituency parser, a latent-variable PCFG, on treebank trees.

    Traces, unlabelled top brackets and, without --function-labels, function labels are removed from the trees first.
    MODEL is written whole when training has succeeded, or not at all.

    \b
    Examples:
      spectral-latent train constituency nltk:treebank:train -o wsj.safetensors
      spectral-latent train constituency nltk:treebank:train -o wsj.safetensors --preset accurate
      spectral-latent train constituency sections/ -o wsj.safetensors --estimator clusters-em --n-states 24 --jobs 4
    """
    from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, prepare, preset
    from spectral_latent.evaluation import with_chosen_states

    if held_out and (preset_name or (estimator or "spectral") != "spectral"):
        raise click.UsageError("--choose-states goes with --estimator spectral")
    if held_out and function_labels:
        raise click.UsageError("--function-labels goes without --choose-states")
    name: AnyPresetName = _preset_name(preset_name, estimator)
    grammars = (ConstituencyOptions(),) if estimator or held_out else preset(name)

    training = Training(output, [*sources, *held_out], "trees", quiet, dev)
    on_progress = training.on_progress
    trees = training.stream(treebank, sources, weights)
    settings = tuple(
        replace(
            own,
            estimator=_estimator(own.estimator, estimator, n_states, seed),
            function_labels=function_labels,
        )
        for own in grammars
    )
    if held_out:
        (prepared,) = prepare(trees, settings, weights=training.weights, jobs=jobs)
        model = with_chosen_states(prepared, training.record.read(treebank, held_out), jobs=jobs, listener=on_progress)
    else:
        model = ConstituencyModel.train(trees, settings, weights=training.weights, jobs=jobs, listener=on_progress)

    training.save(model, "parse")


@train.command(epilog=DEPENDENCY_SOURCES)
@sources_argument
@output_option
@preset_option
@estimator_option
@n_states_option
@click.option(
    "--column",
    default="upos",
    show_default=True,
    type=click.Choice(["upos", "xpos"]),
    help="The column of CoNLL-U with the tags; the other column is used if this one is empty.",
)
@click.option(
    "--first",
    default="right",
    show_default=True,
    type=click.Choice(["left", "right"]),
    help="The side of a head whose words the grammar attaches first.",
)
@dev_option
@weight_option
@seed_option
@jobs_option
@quiet_option
def dependency(
    sources: tuple[str, ...],
    output: Path,
    preset_name: PresetName | None,
    estimator: EstimatorName | None,
    n_states: int | None,
    column: Literal["upos", "xpos"],
    first: Literal["left", "right"],
    dev: tuple[str, ...],
    weights: tuple[float, ...],
    seed: int,
    jobs: int,
    quiet: bool,
) -> None:
    """Train a dependency parser, a latent dependency grammar, on dependency trees.

    Each tree has one root; its arcs may cross.  The parser remembers the column of its tags.  A word without a tag
    there gets that of the other column, or X; a warning counts these words.  MODEL is written whole when training has
    succeeded, or not at all.

    \b
    Examples:
      spectral-latent train dependency en-train.conllu -o deps.safetensors --column xpos
      spectral-latent train dependency nltk:dependency_treebank:train -o deps.safetensors
    """
    from spectral_latent.dependency import Attachment, DependencyModel, preset

    training = Training(output, sources, "trees", quiet, dev)
    trees = training.stream(_rooted_sentences, sources, weights)
    options = preset(_preset_name(preset_name, estimator))
    options = replace(
        options,
        tags=column,
        attachment=Attachment(first),
        estimator=_estimator(options.estimator, estimator, n_states, seed),
    )
    model = DependencyModel.train(trees, options, weights=training.weights, jobs=jobs, listener=training.on_progress)
    training.save(model, "parse")


@train.command(epilog=TAGGED_SOURCES)
@sources_argument
@output_option
@preset_option
@estimator_option
@n_states_option
@column_option
@dev_option
@weight_option
@seed_option
@jobs_option
@quiet_option
def tagger(
    sources: tuple[str, ...],
    output: Path,
    preset_name: PresetName | None,
    estimator: EstimatorName | None,
    n_states: int | None,
    column: str | None,
    dev: tuple[str, ...],
    weights: tuple[float, ...],
    seed: int,
    jobs: int,
    quiet: bool,
) -> None:
    """Train a tagger, a latent hidden Markov model, on tagged sentences.

    The tagger remembers the column of its tags, so that `tag` and `evaluate` use the same column.  A word without a tag
    there gets that of the other column, or X; a warning counts these words.  MODEL is written whole when training has
    succeeded, or not at all.

    \b
    Examples:
      spectral-latent train tagger en-train.conllu -o english.tagger
      spectral-latent train tagger nltk:brown -o brown.tagger --column universal
    """
    from spectral_latent.corpora.tagged import column_of
    from spectral_latent.sequence import LatentTagger, preset

    training = Training(output, sources, "sentences", quiet, dev)
    sentences = training.stream(partial(tagged, column=column), sources, weights)
    options = preset(_preset_name(preset_name, estimator))
    options = replace(options, estimator=_estimator(options.estimator, estimator, n_states, seed))
    model = LatentTagger.train(sentences, options, weights=training.weights, jobs=jobs, listener=training.on_progress)
    tagset = next(filter(None, (column_of(source, column) for source in sources)), column)
    training.save(replace(model, tagset=tagset), "tag")


@train.command(epilog=TEXT_SOURCES)
@sources_argument
@output_option
@click.option(
    "--n-states",
    metavar="M",
    default=12,
    show_default=True,
    type=click.IntRange(min=1),
    help="The largest number of parts of speech.",
)
@click.option(
    "--hull",
    default="brown",
    show_default=True,
    type=click.Choice(get_args(HullName)),
    help="The way to make points of words; docs/guide/anchors.md compares them.",
)
@click.option("--no-spelling", is_flag=True, help="Do not use the spelling of words.  [default: spelling is used]")
@click.option(
    "--window",
    metavar="W",
    default=1,
    show_default=True,
    type=click.IntRange(1, 100),
    help="The number of words on each side that are the context of a word.",
)
@click.option(
    "--seed",
    metavar="N",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="The seed of --hull random; other hulls do not use it.",
)
@quiet_option
def anchor(
    sources: tuple[str, ...],
    output: Path,
    n_states: int,
    hull: HullName,
    no_spelling: bool,
    window: int,
    seed: int,
    quiet: bool,
) -> None:
    """Find parts of speech in sentences without tags, by an anchor hidden Markov model.

    Each state has an anchor, a word that no other state emits; `spectral-latent anchors` shows the anchors, and labels
    them, which makes the model a tagger.  MODEL is written whole when training has succeeded, or not at all.

    \b
    Example:
      spectral-latent train anchor nltk:brown -o anchors.safetensors
    """
    from spectral_latent.anchors import AnchorHMM, AnchorOptions, HullOptions

    training = Training(output, sources, "sentences", quiet)
    sentences = training.stream(untagged, sources)
    spelling: SpellingName = "none" if no_spelling else "regression"
    options = AnchorOptions(n_states, hull=HullOptions(hull, window, spelling=spelling, seed=seed))
    model = AnchorHMM.train(sentences, options, listener=training.on_progress)
    if model.n_states < n_states:
        training.console.message(f"The corpus supports only {model.n_states} states")
    training.save(model, "anchors")


def _rooted_sentences(sources: Sequence[str]) -> Iterator[DependencySentence]:
    """Read the dependency trees of sources, with one root each."""
    return (entry.rooted().sentence for entry in dependency_entries(sources))


def _preset_name(preset_name: _Name | None, estimator: EstimatorName | None) -> _Name | Literal["fast", "spectral"]:
    """Choose the preset whose settings a model gets.

    preset_name: the preset of the command line.
    estimator: the estimator of the command line.  A model of one grammar then has the settings of `spectral`, which are
        the defaults.

    Raises UsageError for both.
    """
    if preset_name and estimator:
        raise click.UsageError("--preset includes the estimator; leave out --preset or --estimator")
    return "spectral" if estimator else preset_name or "fast"


def _estimator(
    default: EstimatorOptions, estimator: EstimatorName | None, n_states: int | None, seed: int
) -> EstimatorOptions:
    """Change the options of an estimator to those of the command line.

    The seed is added to the seed of the preset, so that the grammars of one preset keep different seeds.
    """
    return replace(
        default,
        estimator=estimator or default.estimator,
        n_states=n_states or default.n_states,
        seed=default.seed + seed,
    )
