"""`spectral-latent train`: a command for each kind of model, whose options are the keywords of its function."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from inspect import signature
from typing import Annotated, Any, Literal, TypeAlias

import click

from spectral_latent._names import ConstituencyPresetName, EstimatorName, PresetName
from spectral_latent.cli.command import CommandGroup
from spectral_latent.cli.evaluate import KINDS as EVALUATE
from spectral_latent.cli.evaluate import Gold
from spectral_latent.cli.inputs import rooted_sentences
from spectral_latent.cli.options import (
    DEPENDENCY_SOURCES,
    PARTS,
    SOURCES,
    TAGGED_SOURCES,
    TEXT_SOURCES,
    Command,
    Count,
    Jobs,
    Seed,
    SkipBad,
    SourceFormat,
    Sources,
    Value,
)
from spectral_latent.cli.outputs import OutputFile, figures_table, message
from spectral_latent.cli.record import Run
from spectral_latent.cli.sentences import warn_of_raw_text
from spectral_latent.kinds import added_kinds, find_kind, usual_kind

_SETTINGS = "A set of options; see docs/training.md.  [default: fast]"
_Estimator: TypeAlias = Annotated[
    EstimatorName | None, Value("The method that finds latent states, instead of a preset.")
]
_NStates: TypeAlias = Annotated[
    int | None, Value("The largest number of latent states of a symbol or a tag.", click.IntRange(1), "M")
]
_Weights: TypeAlias = Annotated[
    tuple[float, ...],
    Value("What a tree or sentence of a SOURCE counts; one W for each SOURCE.  [default: 1]", click.FloatRange(0), "W"),
]
_Preset: TypeAlias = Annotated[PresetName | None, Value(_SETTINGS)]
_Column: TypeAlias = Annotated[
    Literal["upos", "xpos", "universal"] | None,
    Value("The column of CoNLL-U with the tags; or universal tags of NLTK.  [default: upos]"),
]
_ModelFile: TypeAlias = Annotated[Any, Value("The model file to write.", OutputFile(), "MODEL", ("-o", "--output"))]


def train_constituency(
    run: Run,
    *,
    preset: Annotated[ConstituencyPresetName | None, Value(_SETTINGS)] = None,
    estimator: _Estimator = None,
    n_states: _NStates = None,
    weight: _Weights = (),
    format_: SourceFormat = None,
    skip_bad: SkipBad = False,
    function_labels: bool = False,
    text: Annotated[tuple[str, ...], Value(metavar="SOURCE")] = (),
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> Any:
    """Train a constituency parser, a latent-variable PCFG, on treebank trees.

    MODEL is written whole when training has succeeded, or not at all.  See docs/training.md.

    \b
    Examples:
      spectral-latent train constituency nltk:treebank:train -o wsj.model
      spectral-latent train constituency sections/ -o wsj.model --preset accurate --text news.tok
      spectral-latent train constituency sections/ -o wsj.model --estimator clusters-em --n-states 24

    function_labels: also learn function labels, such as SBJ of NP-SBJ.
    text: also learn from the sentences of SOURCE, which have no trees."""
    from spectral_latent.constituency import ConstituencyOptions, self_train
    from spectral_latent.constituency import preset as options_of
    from spectral_latent.corpora import constituency_trees, sentences

    name = _preset(preset, estimator)
    options = tuple(
        replace(own, estimator=_estimator(own, estimator, n_states, seed), function_labels=function_labels)
        for own in ((ConstituencyOptions(),) if estimator else options_of(name))
    )
    trees, weights = run.examples("trees", constituency_trees, weight, form=format_, skip_bad=skip_bad)
    given: Any = {"weights": weights, "jobs": jobs, "listener": run.listener, "changes": run.changes}
    if not text:
        return run.learner.train(trees, options, **given)
    words: set[str] = set()
    return self_train(_noted(trees, words), _checked(run.digested(sentences, text), words), options, **given)


def _noted(trees: Iterable[Any], words: set[str]) -> Iterator[Any]:
    """Return trees as they are read, and add their words to a set."""
    for tree in trees:
        words.update(tree.words())
        yield tree


def _checked(sentences: Iterable[list[str]], words: set[str]) -> Iterator[list[str]]:
    """Return sentences as they are read, after the trees with these words; warn if one is not divided into words."""
    from spectral_latent.tokenisation import Tokenisation

    yield from warn_of_raw_text(
        sentences, Tokenisation(frozenset(words)), "sentence", "divide text into words before training"
    )


def train_dependency(
    run: Run,
    *,
    preset: _Preset = None,
    estimator: _Estimator = None,
    n_states: _NStates = None,
    weight: _Weights = (),
    format_: SourceFormat = None,
    column: Literal["upos", "xpos"] = "upos",
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> Any:
    """Train a dependency parser, one or more latent grammars, on dependency trees.

    Each tree has one root; its arcs may cross.

    \b
    Example:
      spectral-latent train dependency en-train.conllu -o deps.model --column xpos

    column: the column of CoNLL-U with the tags; the other column is used if this one is empty."""
    from spectral_latent.dependency import preset as options_of

    options = tuple(
        replace(own, tags=column, estimator=_estimator(own, estimator, n_states, seed))
        for own in options_of(_preset(preset, estimator))
    )
    trees, weights = run.examples("trees", rooted_sentences, weight, form=format_)
    return run.learner.train(trees, options, weights=weights, jobs=jobs, listener=run.listener)


def train_tagger(
    run: Run,
    *,
    preset: _Preset = None,
    estimator: _Estimator = None,
    n_states: _NStates = None,
    weight: _Weights = (),
    format_: SourceFormat = None,
    column: _Column = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> Any:
    """Train a tagger, a latent hidden Markov model, on tagged sentences.

    \b
    Examples:
      spectral-latent train tagger en-train.conllu -o tagger.model
      spectral-latent train tagger nltk:brown -o tagger.model --column universal"""
    from spectral_latent.corpora import tagged_sentences
    from spectral_latent.sequence import preset as options_of

    options = options_of(_preset(preset, estimator))
    options = replace(options, estimator=_estimator(options, estimator, n_states, seed))
    columns: list[Any] = []
    settings = {"column": column, "form": format_, "columns": columns}
    sentences, weights = run.examples("sentences", tagged_sentences, weight, **settings)
    model = run.learner.train(sentences, options, weights=weights, jobs=jobs, listener=run.listener)
    return replace(model, tagset=next(iter(columns), column))


def train_hmm(
    run: Run,
    *,
    preset: _Preset = None,
    estimator: _Estimator = None,
    n_states: Annotated[int | None, Value("The largest number of states.", click.IntRange(1), "M")] = None,
    weight: _Weights = (),
    format_: SourceFormat = None,
    seed: Seed = 0,
    jobs: Jobs = 1,
) -> Any:
    """Train a hidden Markov model on sentences without tags.

    It computes surprisal, and its states have no names.

    \b
    Example:
      spectral-latent train hmm nltk:brown -o hmm.model --n-states 16"""
    from spectral_latent.corpora import sentences
    from spectral_latent.sequence import HMMOptions, hmm_preset

    options = HMMOptions() if estimator else hmm_preset(_preset(preset, estimator))
    options = replace(options, estimator=_estimator(options, estimator, n_states, seed))
    examples, weights = run.examples("sentences", sentences, weight, form=format_)
    return run.learner.train(examples, options, weights=weights, jobs=jobs, listener=run.listener)


def train_anchors(
    run: Run,
    *,
    n_states: Count = 12,
    window: Annotated[int, Value(type=click.IntRange(1, 100), metavar="W")] = 1,
    format_: SourceFormat = None,
) -> Any:
    """Find parts of speech in untagged sentences, by an anchor hidden Markov model.

    Each state has an anchor, a word that no other state emits; `spectral-latent info MODEL --states` shows them, and
    `spectral-latent label` gives them tags.

    \b
    Example:
      spectral-latent train anchors nltk:brown -o anchors.model

    n_states: the largest number of parts of speech.
    window: the number of words on each side that are the context of a word."""
    from spectral_latent.anchors import AnchorOptions
    from spectral_latent.corpora import sentences

    examples, _ = run.examples("sentences", sentences, form=format_)
    options = AnchorOptions(n_states, window=window)
    model = run.learner.train(examples, options, listener=run.listener)
    if model.n_states < n_states:
        message(f"The corpus supports only {model.n_states} states")
    return model


def _preset(preset: Any, estimator: str | None) -> Any:
    """Choose the preset; with an estimator it is `spectral`, whose settings are the defaults."""
    if preset and estimator:
        raise click.UsageError("--preset includes the estimator; leave out --preset or --estimator")
    return "spectral" if estimator else preset or "fast"


def _estimator(options: Any, name: EstimatorName | None, n_states: int | None, seed: int) -> Any:
    """Choose an estimator by its name, or change the settings of the options' estimator."""
    from spectral_latent.estimation import ESTIMATORS

    default = options.estimator
    n_states = n_states or getattr(default.states, "n_states", None)
    # Grammars of one preset may differ in their seeds alone.
    seed += getattr(default.states, "seed", 0)
    return (ESTIMATORS[name] if name else default).with_settings(n_states=n_states, seed=seed)


def train(
    sources: Sources,
    *,
    output: _ModelFile,
    dev: Annotated[tuple[str, ...], Value(metavar="SOURCE")] = (),
    **settings: Any,
) -> None:
    """Train a model of a kind, write it with its record, and evaluate it.

    dev: evaluate the model on SOURCE; `info` shows the figures."""
    begun = time.perf_counter()
    ((kind, function),) = click.get_current_context().command.kinds.items()  # type: ignore[attr-defined]
    run = Run(sources, kind)
    model = function(run, **settings)
    run.end()
    model.save(output, run.record(function, settings))
    seconds = time.perf_counter() - begun
    megabytes = output.stat().st_size / 1e6
    message(f"{output}: {model.sizes}, from {run.counted}, {seconds:.1f} s, {megabytes:.3f} MB")
    if dev:
        evaluate = EVALUATE[usual_kind(kind)]
        shared = {"skip_bad", "column"} & settings.keys() & signature(evaluate).parameters.keys()
        gold = Gold(str(output), dev, form=settings.get("format_"))
        figures, _ = evaluate(model, gold, **{name: settings[name] for name in shared})
        click.echo(figures_table(figures))
        run.evaluated(dev, figures)
        model.save(output, run.record(function, settings))
    message(f"Next: {_NEXT[usual_kind(kind)].format(output)}")


TRAIN: dict[str, Callable[..., Any]] = {
    "constituency": train_constituency,
    "dependency": train_dependency,
    "tagger": train_tagger,
    "hmm": train_hmm,
    "anchors": train_anchors,
}
_SOURCES: dict[str, tuple[str, ...]] = {
    "constituency": (SOURCES,),
    "dependency": (DEPENDENCY_SOURCES,),
    "tagger": (TAGGED_SOURCES,),
    "hmm": (TAGGED_SOURCES, TEXT_SOURCES),
    "anchors": (TAGGED_SOURCES, TEXT_SOURCES),
}
_ECHO = 'echo "The cat sat on the mat ." | spectral-latent'
_NEXT = {  # the command to try first with a model
    **dict.fromkeys(("constituency", "dependency"), f"{_ECHO} parse {{}}"),
    "tagger": f"{_ECHO} tag {{}}",
    "hmm": f"{_ECHO} surprisal {{}}",
    "anchors": "spectral-latent info {} --states",
}


def _command(kind: str) -> Command | None:
    """Make the command of a kind, which trains by the function of the kind that it is or extends; None for others."""
    found, usual = find_kind(kind), usual_kind(kind)
    if found is None or usual not in TRAIN:
        return None
    sources = (*(f"SOURCE {each}" for each in _SOURCES[usual]), PARTS)
    text = found.training or TRAIN[usual].__doc__
    return Command(train, {kind: TRAIN[usual]}, name=kind, text=text, sources=sources)


COMMAND = CommandGroup("train", help="Train a model.", names=lambda: [*TRAIN, *added_kinds()], make=_command)
