"""Train models on sources, and keep a record of each training: its settings, and a digest of each source."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from inspect import signature
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from spectral_latent._names import ConstituencyPresetName, EstimatorName, PresetName
from spectral_latent.tasks.inputs import RawTextCheck
from spectral_latent.tasks.sources import rooted_sentences, tagged, treebank, untagged
from spectral_latent.tasks.watch import RequestError, Watch

if TYPE_CHECKING:
    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.corpora import Format
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.estimation import Estimator
    from spectral_latent.sequence import LatentTagger

__all__ = ["Memory", "Run", "record_of", "train_anchors", "train_constituency", "train_dependency", "train_tagger"]

_T = TypeVar("_T")
_Read = Callable[[Sequence[str]], Iterable[_T]]
_OPTIONS = {"weights": "weight", "form": "format"}  # whose names are not those of parameters
Memory = dict[str, tuple[list[Any], dict[str, str]]]  # the examples of each source, and its name and digest


class Run:
    """A training: its sources, what was read of them, and its record.

    Names in the record are without folders, and it has neither the time nor the machine, so that the same training
    makes the same file.

    sources: the sources to learn from.
    watch: is told what was read, and the progress of training.
    jobs: the number of threads that learn, and of processes that parse while they learn.
    kind: the name of the examples, such as `trees`.
    n_examples: the number of examples that were read so far.
    changes: the changes to the examples that were counted so far."""

    def __init__(
        self,
        sources: Sequence[str],
        watch: Watch | None = None,
        jobs: int = 1,
        expected: Sequence[Mapping[str, str]] | None = None,
        keeps: Callable[[int], bool] | None = None,
        memory: Memory | None = None,
    ) -> None:
        """Begin a training."""
        from spectral_latent.constituency import Changes

        self.sources = sources
        self.watch = watch or Watch()
        self.jobs = jobs
        self.kind = "sentences"
        self.n_examples = 0
        self.changes = Changes()
        self._expected = expected
        self._keeps = keeps
        self._memory = memory
        self._n_words = 0
        self._read: list[dict[str, str]] = []
        self._figures: dict[str, Any] = {}

    def examples(
        self, kind: str, read: _Read[_T], weights: Sequence[float] = ()
    ) -> tuple[Iterator[_T], Iterator[float] | None]:
        """Return the examples of the sources as they are read, and the weight of each; None if all count once."""
        self.kind = kind
        if not weights:
            return (example for example, _ in self._weighted(read, (1.0,) * len(self.sources))), None
        if len(weights) != len(self.sources):
            from spectral_latent._options import counted

            raise RequestError(
                f"--weight is given {counted(len(weights), 'time')} for {counted(len(self.sources), 'source')}; "
                f"give one for each source"
            )
        if not any(weights):
            raise RequestError("every --weight is 0, so that there is nothing to learn from; raise at least one")
        pairs, same = tee(self._weighted(read, weights))
        return (example for example, _ in pairs), (weight for _, weight in same)

    def _weighted(self, read: _Read[_T], weights: Sequence[float]) -> Iterator[tuple[_T, float]]:
        """Return each example with its weight, count it, and tell the watch when the last one is read."""
        weighted = zip(self.sources, weights, strict=True)
        pairs = ((example, weight) for source, weight in weighted for example in self._examples_of(read, source))
        for example, weight in self.watch.bar(pairs, f"Reading {self.kind}"):
            self.n_examples += 1
            self._n_words += _n_words(example)
            if self._keeps is None or self._keeps(self.n_examples - 1):
                yield example, weight
        self.watch.has_read()

    def _examples_of(self, read: _Read[_T], source: str) -> Iterable[_T]:
        """Return the examples of a source, which are read once by trainings that share a memory."""
        if self._memory is None:
            return self.digested(read, [source])
        if source not in self._memory:
            self._memory[source] = list(self.digested(read, [source])), self._read[-1]
        else:
            self._read.append(self._memory[source][1])
        return self._memory[source][0]

    def digested(self, read: _Read[_T], sources: Sequence[str]) -> Iterator[_T]:
        """Read sources one after the other, and keep a digest (BLAKE2b) of the examples of each source, in order."""
        for source in sources:
            digest = blake2b(digest_size=32)
            for example in read([source]):
                digest.update(_text(example).encode("utf-8", "surrogatepass"))
                yield example
            content = digest.hexdigest()
            number = len(self._read)
            if self._expected is not None and content != self._expected[number]["content"]:
                from spectral_latent.corpora import CorpusError

                name = self._expected[number]["name"]
                raise CorpusError(f"{source}: other content than source {number + 1} of the record, {name}")
            self._read.append({"name": _name(source), "content": content})

    def evaluated(self, sources: Sequence[str], figures: Mapping[str, Any]) -> None:
        """Keep the figures of an evaluation, except the figures of speed, which are never the same twice."""
        kept = {name: value for name, value in figures.items() if not name.endswith("_per_second")}
        rounded = {name: round(value, 2) if isinstance(value, float) else value for name, value in kept.items()}
        self._figures = {"dev": {"sources": [_name(source) for source in sources], **rounded}}

    def record(self, kind: str, train: Callable[..., Any], settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record as an object that JSON can hold, with the settings that differ from the defaults.

        Sources among the settings, of which there are several, are listed after those that the model learns from."""
        from spectral_latent.constituency import Changes

        defaults = signature(train).parameters
        changed = {name: value for name, value in settings.items() if value != defaults[name].default}
        settings_of_record = {
            name: list(map(_plain, value)) if isinstance(value, tuple) else value for name, value in changed.items()
        }
        left_out = {kind: list(map(_name, places)) for kind, places in self.changes.left_out.items()}
        changes = Changes(self.changes.counts, left_out, self.changes.spellings).contents()
        return {
            "command": _command(kind, self.sources, changed),
            "training": {"kind": kind, "settings": settings_of_record},
            "sources": self._read,
            self.kind: self.n_examples,
            "words": self._n_words,
            **({"changes": changes} if changes else {}),
            **self._figures,
        }


def _plain(value: Any) -> Any:
    """Leave the folder out of a name."""
    return _name(value) if isinstance(value, str) else value


def _command(kind: str, sources: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Write the command line of a training, without folders."""
    words = ["spectral-latent", "train", kind, *map(_name, sources)]
    for name, value in settings.items():
        option = f"--{_OPTIONS.get(name, name)}".replace("_", "-")
        values = value if isinstance(value, tuple) else (value,)
        words += [option] if value is True else [word for each in values for word in (option, str(_plain(each)))]
    return shlex.join(words)


def _name(source: str) -> str:
    """Leave the folder out of the name of a source, if it is a path."""
    return Path(source).name or source


def _text(example: Any) -> str:
    """Write an example as a line; different examples have different lines."""
    from spectral_latent.constituency import Phrase

    return f"{example.bracketed() if isinstance(example, Phrase) else json.dumps(example)}\n"


def _n_words(example: Any) -> int:
    """Count the words of an example, traces left out."""
    from spectral_latent.constituency import Phrase
    from spectral_latent.constituency.cleaning import tagged_words
    from spectral_latent.dependency import DependencySentence

    if isinstance(example, DependencySentence):
        return len(example.forms)
    return sum(1 for _ in tagged_words(example)) if isinstance(example, Phrase) else len(example)


def record_of(file: str) -> dict[str, Any] | None:
    """Read the record in a model file; None for the file of a model that was saved in Python."""
    from spectral_latent.files import ModelFileError, load_model

    _, settings = load_model(file)
    record = settings.get("record")
    if not isinstance(record, dict | None):
        raise ModelFileError(f"{file}: the record of training is damaged; train the model again")
    return record


# Trainers of each kind of model; the names of their parameters are those of the options


def _preset(preset: str | None, estimator: str | None) -> Any:
    """Choose the preset; with an estimator it is `spectral`, whose settings are the defaults."""
    if preset and estimator:
        raise RequestError("--preset includes the estimator; leave out --preset or --estimator")
    return "spectral" if estimator else preset or "fast"


def _estimator(default: Estimator, name: EstimatorName | None, n_states: int | None, seed: int) -> Estimator:
    """Choose an estimator by its name, or change the settings of a preset's estimator."""
    from spectral_latent.estimation import ESTIMATORS

    n_states = n_states or getattr(default.states, "n_states", None)
    # Grammars of one preset may differ in their seeds alone.
    seed += getattr(default.states, "seed", 0)
    return (ESTIMATORS[name] if name else default).with_settings(n_states=n_states, seed=seed)


def train_constituency(
    run: Run,
    *,
    preset: ConstituencyPresetName | None = None,
    estimator: EstimatorName | None = None,
    n_states: int | None = None,
    weights: Sequence[float] = (),
    form: Format | None = None,
    skip_bad: bool = False,
    seed: int = 0,
    choose_states: Sequence[str] = (),
    function_labels: bool = False,
    text: Sequence[str] = (),
) -> ConstituencyModel:
    """Train a parser of phrases on trees in brackets, and on text without trees if there is any."""
    from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, prepare, self_train
    from spectral_latent.constituency import preset as options_of
    from spectral_latent.evaluation import with_chosen_states

    if choose_states and estimator != "spectral":
        raise RequestError("--choose-states goes with --estimator spectral; give it in the place of a preset")
    for name, is_given in (("--function-labels", function_labels), ("--text", text)):
        if choose_states and is_given:
            raise RequestError(f"{name} goes without --choose-states")
    name = _preset(preset, estimator)
    options = (ConstituencyOptions(),) if estimator else options_of(name)
    options = tuple(
        replace(own, estimator=_estimator(own.estimator, estimator, n_states, seed), function_labels=function_labels)
        for own in options
    )
    trees, weight_of_each = run.examples(
        "trees", partial(treebank, changes=run.changes, form=form, skip_bad=skip_bad), weights
    )
    listener = run.watch.on_progress
    if choose_states:
        (prepared,) = prepare(trees, options, weights=weight_of_each, jobs=run.jobs, changes=run.changes)
        return with_chosen_states(
            prepared,
            run.digested(partial(treebank, form=form, skip_bad=skip_bad), choose_states),
            jobs=run.jobs,
            listener=listener,
        )
    given: Any = {"weights": weight_of_each, "jobs": run.jobs, "listener": listener, "changes": run.changes}
    if not text:
        return ConstituencyModel.train(trees, options, **given)
    words: set[str] = set()
    sentences = _checked(run.digested(untagged, text), words, run.watch)
    return self_train(_noted(trees, words), sentences, options, **given)


def _noted(trees: Iterable[Any], words: set[str]) -> Iterator[Any]:
    """Return trees as they are read, and add their words to a set."""
    for tree in trees:
        words.update(tree.words())
        yield tree


def _checked(sentences: Iterable[list[str]], words: set[str], watch: Watch) -> Iterator[list[str]]:
    """Return sentences as they are read, after the trees with these words; warn if one is not divided into words."""
    from spectral_latent.tokenisation import Tokenisation

    check: RawTextCheck | None = None
    for number, sentence in enumerate(sentences, start=1):
        check = check or RawTextCheck(
            Tokenisation(frozenset(words)), watch, "sentence", "divide text into words before training"
        )
        check.look_at(sentence, number)
        yield sentence


def train_dependency(
    run: Run,
    *,
    preset: PresetName | None = None,
    estimator: EstimatorName | None = None,
    n_states: int | None = None,
    weights: Sequence[float] = (),
    form: Format | None = None,
    seed: int = 0,
    column: Literal["upos", "xpos"] = "upos",
    first: Literal["left", "right"] | None = None,
    morphology: bool = False,
) -> DependencyModel:
    """Train a dependency parser on trees with one root each, and with `morphology` the taggers of its columns."""
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.dependency import preset as options_of

    options = tuple(
        replace(
            own,
            tags=column,
            attachment=replace(own.attachment, first_side=first or own.attachment.first_side),
            estimator=_estimator(own.estimator, estimator, n_states, seed),
        )
        for own in options_of(_preset(preset, estimator))
    )
    trees, weight_of_each = run.examples("trees", partial(rooted_sentences, changes=run.changes, form=form), weights)
    train = DependencyModel.train_language if morphology else DependencyModel.train
    return train(trees, options, weights=weight_of_each, jobs=run.jobs, listener=run.watch.on_progress)


def train_tagger(
    run: Run,
    *,
    preset: PresetName | None = None,
    estimator: EstimatorName | None = None,
    n_states: int | None = None,
    weights: Sequence[float] = (),
    form: Format | None = None,
    seed: int = 0,
    column: str | None = None,
) -> LatentTagger:
    """Train a tagger on tagged sentences."""
    from spectral_latent.corpora.tagged import column_of
    from spectral_latent.sequence import LatentTagger
    from spectral_latent.sequence import preset as options_of

    options = options_of(_preset(preset, estimator))
    options = replace(options, estimator=_estimator(options.estimator, estimator, n_states, seed))
    read = partial(tagged, column=column, changes=run.changes, form=form)
    sentences, weight_of_each = run.examples("sentences", read, weights)
    model = LatentTagger.train(
        sentences, options, weights=weight_of_each, jobs=run.jobs, listener=run.watch.on_progress
    )
    tagset = next(filter(None, (column_of(source, column, form) for source in run.sources)), column)
    return replace(model, tagset=tagset)


def train_anchors(
    run: Run,
    *,
    n_states: int = 12,
    no_spelling: bool = False,
    window: int = 1,
    form: Format | None = None,
) -> AnchorHMM:
    """Find parts of speech in sentences without tags."""
    from spectral_latent.anchors import AnchorHMM, AnchorOptions

    sentences, _ = run.examples("sentences", partial(untagged, changes=run.changes, form=form))
    options = AnchorOptions(n_states, window=window, spelling=not no_spelling)
    model = AnchorHMM.train(sentences, options, listener=run.watch.on_progress)
    if model.n_states < n_states:
        run.watch.message(f"The corpus supports only {model.n_states} states")
    return model
