"""Follow a training from its sources to the model file: print messages, and make the record in the file."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.evaluate import evaluate
from spectral_latent.cli.records import Record

if TYPE_CHECKING:
    from spectral_latent.estimation import Progress
    from spectral_latent.estimation.progress import ProgressLine

__all__ = ["TrainingRun"]

_NEXT = {  # the command to try first with a model
    "parse": 'echo "The cat sat on the mat ." | spectral-latent parse {model}',
    "tag": 'echo "The cat sat on the mat ." | spectral-latent tag {model}',
    "anchors": "spectral-latent anchors {model}",
}
_FEW = 10  # fewer examples give a warning
_PARTS = 4  # a stage is divided into so many parts, and a step is printed at the end of each part
_LONG = ("folds", "sentences without trees")  # the stages that take long, so that they are printed without scores
_T = TypeVar("_T")


class TrainingRun:
    """The messages and the record of a training.

    console: prints the messages.
    record: the record of the training, which the file keeps.
    weights: the weight of each example of `stream`, in their order; None if all examples count once.
    """

    def __init__(self, output: Path, kind: str, quiet: bool, dev: Sequence[str] = ()) -> None:
        """Begin to measure the time, and begin the record of this command.

        output: the model file to write.
        kind: the name of the examples in the sources.
        quiet: whether to print no messages.
        dev: the sources to evaluate the model on.
        """
        self._dev = dev
        self.console = Console(quiet)
        self._output = output
        self.record = Record(click.get_current_context(), kind)
        self.weights: Iterator[float] | None = None
        self._waiting: deque[float] = deque()
        self._start = time.perf_counter()
        self._line: ProgressLine | None = None
        self._told = False

    def stream(
        self, read: Callable[[Sequence[str]], Iterable[_T]], sources: Sequence[str], weights: Sequence[float] = ()
    ) -> Iterator[_T]:
        """Return examples as they are read, record them, and print their number after the last one.

        read: the function that reads sources.
        sources: the sources to learn from.
        weights: a weight for each source; none if all examples have weight 1.

        Raises UsageError for another number of weights than sources, and if all weights are 0.
        """
        if weights and len(weights) != len(sources):
            raise click.UsageError(
                f"--weight is given {len(weights)} times for {len(sources)} sources; give one for each source"
            )
        if weights and not any(weights):
            raise click.UsageError("every --weight is 0, so that there is nothing to learn from; raise at least one")
        if weights:
            self.weights = _taken(self._waiting)
        return self._examples(read, zip(sources, weights or (1.0,) * len(sources), strict=True))

    def _examples(
        self, read: Callable[[Sequence[str]], Iterable[_T]], sources: Iterable[tuple[str, float]]
    ) -> Iterator[_T]:
        """Return the examples of sources; the weight of an example is put into the queue before it is returned."""
        record = self.record
        weighted = ((example, weight) for source, weight in sources for example in record.read(read, [source]))
        for example, weight in self.console.bar(weighted, f"Reading {record.kind}"):
            record.count(example)
            if self.weights is not None:
                self._waiting.append(weight)
            yield example
        self.console.message(f"Training on {self._examples_read()}")
        if self.console.shows_progress:
            from spectral_latent.estimation.progress import ProgressLine

            self._line = ProgressLine()  # measures the time from here, where training begins
        if 0 < record.examples < _FEW:
            self.console.message(f"Warning: a useful model needs hundreds of {record.kind} or more")

    def _examples_read(self) -> str:
        """Write the number of examples that were read, with their name."""
        from spectral_latent._options import counted

        return counted(self.record.examples, self.record.kind.removesuffix("s"))

    def on_progress(self, progress: Progress) -> None:
        """Print the progress of training: on a terminal, a line with the time that is left; elsewhere, a few steps.

        progress: the step that an estimator reports.
        """
        self._tell_changes()
        if progress.lowered:
            if self._line:
                self._line.clear()
            n_lowered = len(progress.lowered)
            self.console.message(f"{n_lowered} symbols get fewer states: their further singular values are too small")
        if self._line:
            self._line(progress)
        elif _is_told(progress):
            score = "" if progress.score is None else f": {progress.score:.2f}"
            self.console.message(f"{progress.stage} {progress.done}/{progress.total}{score}")

    def _tell_changes(self) -> None:
        """Print once what was changed in the trees: they are read and cleaned when training makes its first step."""
        if not self._told:
            self._told = True
            self.console.table(f"Changed in the {self.record.kind}:", self.record.changes.table())

    def save(self, model: Any, use: str) -> None:
        """Write the model with the record of training, whole or not at all.

        Print its sizes, evaluate it, keep the figures in the record, and print the next command.

        model: the model to save.
        use: the name of the command that uses the model.
        """
        self._tell_changes()
        if self._line:
            self._line.clear()
        model.save(self._output, self.record.contents())
        seconds = time.perf_counter() - self._start
        megabytes = self._output.stat().st_size / 1e6
        self.console.message(
            f"{self._output}: {model.sizes}, from {self._examples_read()}, {seconds:.1f} s, {megabytes:.1f} MB"
        )
        if self._dev:
            of_quiet = ["--quiet"] if self.console.quiet else []
            command = [str(self._output), *self._dev, *of_quiet]
            self.record.evaluated(self._dev, evaluate.main(command, "evaluate", standalone_mode=False))
            model.save(self._output, self.record.contents())
        self.console.message(f"Next: {_NEXT[use].format(model=self._output)}")


def _is_told(progress: Progress) -> bool:
    """Tell whether a step is printed: if it has a score or its stage takes long, and it ends a part of its stage.

    progress: the step that is done.
    """
    if progress.score is None and (progress.stage not in _LONG or not progress.done):
        return False
    part = max(math.ceil(progress.total / _PARTS), 1)
    return progress.done % part == 0 or progress.done == progress.total


def _taken(waiting: deque[float]) -> Iterator[float]:
    """Take numbers out of a queue until it is empty."""
    while waiting:
        yield waiting.popleft()
