"""`spectral-latent train`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import click

from spectral_latent._names import AnyPresetName, HullName, PresetName
from spectral_latent.cli.groups import Commands
from spectral_latent.cli.options import column_option, number_option, quiet_option, seed_option, sources_argument
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
from spectral_latent.cli.training import TrainingRun
from spectral_latent.cli.training_options import MODEL_FILE, TrainingRequest, training_options

if TYPE_CHECKING:
    from spectral_latent.anchors.hulls import SpellingName
    from spectral_latent.cli.console import Console
    from spectral_latent.constituency import Changes, Phrase
    from spectral_latent.dependency import DependencySentence

__all__ = ["train"]


@click.group(cls=Commands)
def train() -> None:
    """Train a model."""


@train.command(epilog=SOURCES)
@training_options(*get_args(AnyPresetName))
@click.option(
    "--choose-states",
    "held_out",
    metavar="SOURCE",
    multiple=True,
    help="Choose the number of states of each symbol, up to M, by parsing the sentences of SOURCE; the model does not "
    "learn from its trees. It takes minutes, and goes with --estimator spectral.",
)
@click.option(
    "--function-labels",
    is_flag=True,
    help="Also learn function labels, such as SBJ of NP-SBJ, with one grammar more; goes without --choose-states.  "
    "[default: function labels are removed]",
)
@click.option(
    "--text",
    metavar="SOURCE",
    multiple=True,
    help="Also learn from the sentences of SOURCE, which have no trees: a first parser parses them, and MODEL is "
    "learnt from the parsed trees, too.  Four parsed trees count as one.  This helps the presets accurate and best, "
    "and takes four times as long for 10,000 sentences; goes without --choose-states.",
)
def constituency(
    given: TrainingRequest[AnyPresetName], held_out: tuple[str, ...], function_labels: bool, text: tuple[str, ...]
) -> None:
    """Train a constituency parser, a latent-variable PCFG, on treebank trees.

    Traces, unlabelled top brackets and, without --function-labels, function labels are removed from the trees first.
    The sentences of --text are spelt as those of the trees, such as -LRB- for a bracket.  Each sentence is a line of
    words with blanks between them, or has any other form that `train anchor` reads.
    MODEL is written whole when training has succeeded, or not at all.

    \b
    Examples:
      spectral-latent train constituency nltk:treebank:train -o wsj.model
      spectral-latent train constituency nltk:treebank:train -o wsj.model --preset accurate
      spectral-latent train constituency nltk:treebank:train -o wsj.model --preset accurate --text news.tok
      spectral-latent train constituency sections/ -o wsj.model --estimator clusters-em --n-states 24 --jobs 4
    """
    from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, prepare, preset, self_train
    from spectral_latent.evaluation import with_chosen_states

    if held_out and (given.preset_name or (given.estimator or "spectral") != "spectral"):
        raise click.UsageError("--choose-states goes with --estimator spectral")
    if held_out and function_labels:
        raise click.UsageError("--function-labels goes without --choose-states")
    if held_out and text:
        raise click.UsageError("--text goes without --choose-states")
    options = preset(given.preset)
    if given.estimator or held_out:
        options = (ConstituencyOptions(),)
    options = tuple(
        replace(own, estimator=given.estimator_options(own.estimator), function_labels=function_labels)
        for own in options
    )
    training = given.training("trees")
    changes = training.record.changes
    trees = training.stream(partial(treebank, changes=changes), given.sources, given.weights)
    if held_out:
        (prepared,) = prepare(trees, options, weights=training.weights, jobs=given.jobs, changes=changes)
        chosen_on = training.record.read(treebank, held_out)
        model = with_chosen_states(prepared, chosen_on, jobs=given.jobs, listener=training.on_progress)
    elif text:
        words: set[str] = set()
        sentences = _checked(training.record.read(untagged, text), words, training.console)
        model = self_train(
            _noted(trees, words),
            sentences,
            options,
            weights=training.weights,
            jobs=given.jobs,
            listener=training.on_progress,
            changes=changes,
        )
    else:
        model = ConstituencyModel.train(
            trees,
            options,
            weights=training.weights,
            jobs=given.jobs,
            listener=training.on_progress,
            changes=changes,
        )
    training.save(model, "parse")


@train.command(epilog=DEPENDENCY_SOURCES)
@training_options(*get_args(PresetName))
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
def dependency(
    given: TrainingRequest[PresetName], column: Literal["upos", "xpos"], first: Literal["left", "right"]
) -> None:
    """Train a dependency parser, a latent dependency grammar, on dependency trees.

    Each tree has one root; its arcs may cross.  The parser remembers the column of its tags.  A word without a tag in
    this column gets the tag in the other column, or X; a warning counts these words.  MODEL is written whole when
    training has succeeded, or not at all.

    \b
    Examples:
      spectral-latent train dependency en-train.conllu -o deps.model --column xpos
      spectral-latent train dependency nltk:dependency_treebank:train -o deps.model
    """
    from spectral_latent.dependency import Attachment, DependencyModel, preset

    options = preset(given.preset)
    options = replace(
        options, tags=column, attachment=Attachment(first), estimator=given.estimator_options(options.estimator)
    )
    training = given.training("trees")
    trees = training.stream(partial(_rooted_sentences, training.record.changes), given.sources, given.weights)
    model = DependencyModel.train(
        trees, options, weights=training.weights, jobs=given.jobs, listener=training.on_progress
    )
    training.save(model, "parse")


@train.command(epilog=TAGGED_SOURCES)
@training_options(*get_args(PresetName))
@column_option
def tagger(given: TrainingRequest[PresetName], column: str | None) -> None:
    """Train a tagger, a latent hidden Markov model, on tagged sentences.

    The tagger remembers the column of its tags, so that `tag` and `evaluate` use the same column.  A word without a tag
    in this column gets the tag in the other column, or X; a warning counts these words.  MODEL is written whole when
    training has succeeded, or not at all.

    \b
    Examples:
      spectral-latent train tagger en-train.conllu -o tagger.model
      spectral-latent train tagger nltk:brown -o tagger.model --column universal
    """
    from spectral_latent.corpora.tagged import column_of
    from spectral_latent.sequence import LatentTagger, preset

    options = preset(given.preset)
    options = replace(options, estimator=given.estimator_options(options.estimator))
    training = given.training("sentences")
    sentences = training.stream(
        partial(tagged, column=column, changes=training.record.changes), given.sources, given.weights
    )
    model = LatentTagger.train(
        sentences, options, weights=training.weights, jobs=given.jobs, listener=training.on_progress
    )
    tagset = next(filter(None, (column_of(source, column) for source in given.sources)), column)
    training.save(replace(model, tagset=tagset), "tag")


@train.command(epilog=TEXT_SOURCES)
@sources_argument
@MODEL_FILE
@number_option("--n-states", "M", "The largest number of parts of speech.", default=12)
@click.option(
    "--hull",
    default="brown",
    show_default=True,
    type=click.Choice(get_args(HullName)),
    help="The way to make points of words; docs/guide/anchors.md compares them.",
)
@click.option("--no-spelling", is_flag=True, help="Do not use the spelling of words.  [default: spelling is used]")
@number_option("--window", "W", "The number of words on each side that are the context of a word.", default=1, most=100)
@seed_option("The seed of --hull random; other hulls do not use it.")
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
      spectral-latent train anchor nltk:brown -o anchors.model
    """
    from spectral_latent.anchors import AnchorHMM, AnchorOptions, HullOptions

    training = TrainingRun(output, "sentences", quiet)
    sentences = training.stream(partial(untagged, changes=training.record.changes), sources)
    spelling: SpellingName = "none" if no_spelling else "regression"
    options = AnchorOptions(n_states, hull=HullOptions(hull, window, spelling=spelling, seed=seed))
    model = AnchorHMM.train(sentences, options, listener=training.on_progress)
    if model.n_states < n_states:
        training.console.message(f"The corpus supports only {model.n_states} states")
    training.save(model, "anchors")


def _noted(trees: Iterable[Phrase], words: set[str]) -> Iterator[Phrase]:
    """Return trees as they are read, and note their words.

    trees: the trees to pass on.
    words: a set that gets the words of the trees.
    """
    for tree in trees:
        words.update(tree.words())
        yield tree


def _checked(sentences: Iterable[list[str]], words: set[str], console: Console) -> Iterator[list[str]]:
    """Return sentences as they are read, and warn of the first sentence that is clearly not divided into words.

    sentences: the sentences to check.
    words: the words of the treebank, which is read before the first sentence.
    console: prints the warning.
    """
    from spectral_latent.cli.sentences import RawTextCheck
    from spectral_latent.tokenisation import Tokenisation

    check: RawTextCheck | None = None
    for number, sentence in enumerate(sentences, start=1):
        check = check or RawTextCheck(
            Tokenisation(frozenset(words)), console, "sentence", "divide text into words before training"
        )
        check.look_at(sentence, number)
        yield sentence


def _rooted_sentences(changes: Changes, sources: Sequence[str]) -> Iterator[DependencySentence]:
    """Read the dependency trees of sources, with one root each."""
    return (entry.rooted().sentence for entry in dependency_entries(sources, changes))
