"""Run a training: read sources, show progress, and keep a record with the settings and a digest of each source."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from inspect import signature
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from spectral_latent._names import counted
from spectral_latent.cli.options import option_name
from spectral_latent.cli.outputs import bar, message, shows_progress, table
from spectral_latent.kinds import find_kind

if TYPE_CHECKING:
    from spectral_latent.estimation import Progress

_T = TypeVar("_T")
_Read: TypeAlias = Callable[[str], Iterable[_T]]
_FEW = 10  # fewer examples give a warning
_PARTS = 4  # a stage is divided into so many parts, and a step is printed at the end of each part
_LONG = ("folds", "sentences without trees", "tagger of")  # begin stages that take long and are printed without scores


class Run:
    """A training: its sources, what was read of them, its progress, and its record.

    Names in the record are without folders, and it has neither the time nor the machine, so that the same training
    makes the same file.

    model: the kind of the model, such as `tagger`.
    kind: the name of the examples, such as `trees`.
    changes: the changes to the examples that were counted so far."""

    def __init__(self, sources: Sequence[str], model: str) -> None:
        """Begin a training."""
        from spectral_latent.constituency import Changes

        self.sources = sources
        self.model = model
        self.kind = "sentences"
        self.changes = Changes()
        self._n_examples = 0
        self._n_words = 0
        self._read: list[dict[str, str]] = []
        self._figures: dict[str, Any] = {}
        self._line: Any = None  # of progress, on a terminal
        self._has_told = False

    def examples(
        self, kind: str, read: Callable[..., Iterable[_T]], weights: Sequence[float] = (), **settings: Any
    ) -> tuple[Iterator[_T], Iterator[float] | None]:
        """Return the examples of the sources as they are read, and the weight of each; None if all count once.

        read: the reader of a source, which is given these settings, and what it changes is counted."""
        self.kind = kind
        read = partial(read, changes=self.changes, **settings)
        if not weights:
            return (example for example, _ in self._weighted(read, (1.0,) * len(self.sources))), None
        if len(weights) != len(self.sources):
            times, sources = counted(len(weights), "time"), counted(len(self.sources), "source")
            raise click.UsageError(f"--weight is given {times} for {sources}; give one for each source")
        pairs, same = tee(self._weighted(read, weights))
        return (example for example, _ in pairs), (weight for _, weight in same)

    @property
    def learner(self) -> Any:
        """The class of the model, with its function `train`."""
        found: Any = find_kind(self.model)
        return found.cls

    def _weighted(self, read: _Read[_T], weights: Sequence[float]) -> Iterator[tuple[_T, float]]:
        """Return each example with its weight, count it, and say when the last one is read."""
        weighted = zip(self.sources, weights, strict=True)
        pairs = ((example, weight) for source, weight in weighted for example in self.digested(read, [source]))
        for example, weight in bar(pairs, f"Reading {self.kind}"):
            self._n_examples += 1
            self._n_words += _n_words(example)
            yield example, weight
        message(f"Training on {self.counted}")
        if 0 < self._n_examples < _FEW:
            message(f"Warning: a useful model needs hundreds of {self.kind} or more")

    def digested(self, read: _Read[_T], sources: Sequence[str]) -> Iterator[_T]:
        """Read sources one after the other, and keep a digest (BLAKE2b) of the examples of each source, in order."""
        for source in sources:
            digest = blake2b(digest_size=32)
            for example in read(source):
                digest.update(_text(example).encode("utf-8", "surrogatepass"))
                yield example
            self._read.append({"name": _name(source), "content": digest.hexdigest()})

    @property
    def counted(self) -> str:
        """The number of examples that were read, with their name."""
        return counted(self._n_examples, self.kind.removesuffix("s"))

    def listener(self, progress: Progress) -> None:
        """Show a step of training: on a terminal, a line with the time that is left; elsewhere, a few steps."""
        if self._line is None and shows_progress():
            from spectral_latent.estimation.progress import ProgressLine

            self._line = ProgressLine()
        self._tell_changes()
        if progress.lowered:
            from statistics import median

            self.end()
            lowered = counted(len(progress.lowered), "symbol")
            message(f"Fewer states for {lowered}, whose further singular values are too small")
            enough = self._n_examples * median(each.times for each in progress.lowered)
            if math.isfinite(enough):
                message(f"About {enough:,.0f} {self.kind} would show one more state of half of them, if they have any")
        if self._line:
            self._line(progress)
        elif _is_told(progress):
            score = "" if progress.score is None else f": {progress.score:.2f}"
            message(f"{progress.stage} {progress.done}/{progress.total}{score}")

    def _tell_changes(self) -> None:
        """Print once what was changed in the trees: they are read and cleaned when training makes its first step."""
        if not self._has_told:
            self._has_told = True
            table(f"Changed in the {self.kind}:", self.changes.table())

    def end(self) -> None:
        """Clear the line of progress."""
        self._tell_changes()
        if self._line:
            self._line.clear()

    def evaluated(self, sources: Sequence[str], figures: Mapping[str, Any]) -> None:
        """Keep the figures of an evaluation, except the figures of speed, which are never the same twice."""
        kept = {name: value for name, value in figures.items() if not name.endswith("_per_second")}
        rounded = {name: round(value, 2) if isinstance(value, float) else value for name, value in kept.items()}
        self._figures = {"dev": {"sources": [_name(source) for source in sources], **rounded}}

    def record(self, train: Callable[..., Any], settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the record as an object that JSON can hold, with the settings that differ from the defaults.

        Sources among the settings, of which there are several, are listed after those that the model learns from."""
        from spectral_latent.constituency import Changes

        defaults = signature(train).parameters
        changed = {
            name: value
            for name, value in settings.items()
            if value != defaults[name].default and name != "jobs"  # which changes no model
        }
        left_out = {kind: list(map(_name, places)) for kind, places in self.changes.left_out.items()}
        changes = Changes(self.changes.counts, left_out, self.changes.spellings).contents()
        return {
            "command": _command(self.model, self.sources, changed),
            "sources": self._read,
            self.kind: self._n_examples,
            "words": self._n_words,
            **({"changes": changes} if changes else {}),
            **self._figures,
        }


def _is_told(progress: Progress) -> bool:
    """Tell whether a step is printed: if it has a score or its stage takes long, and it ends a part of its stage."""
    if progress.score is None and (not progress.stage.startswith(_LONG) or not progress.done):
        return False
    part = max(math.ceil(progress.total / _PARTS), 1)
    return progress.done % part == 0 or progress.done == progress.total


def _command(kind: str, sources: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Write the command line of a training, without folders."""
    words = ["spectral-latent", "train", kind, *map(_name, sources)]
    for name, value in settings.items():
        values = value if isinstance(value, tuple) else (value,)
        option = option_name(name)
        words += [option] if value is True else [word for each in values for word in (option, _name(str(each)))]
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
