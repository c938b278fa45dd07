"""Report the progress of training, and show it on one line of a terminal, with the time that is left."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

_SOON = 2.0  # seconds of training without a line


class EstimationError(ValueError):
    """An error of estimation: the data do not support the estimate."""


class LoweredStates(NamedTuple):
    """A symbol with enough nodes for `supported` states, but with only `kept` large singular values of Ω̂.

    Condition 1 or 2 of the long paper fails for the symbol: some states are too similar, or the features do not
    distinguish them; or the trees are too few.  If the next direction is one of the states, `times` as many trees show
    it; infinite if no number does."""

    symbol: int
    supported: int
    kept: int
    times: float


class Progress(NamedTuple):
    """A report of an estimator's progress: `done` of `total` steps of a stage."""

    stage: str
    done: int
    total: int
    score: float | None = None  # the number that the stage maximises: the objective of EM, or a held-out score
    lowered: tuple[LoweredStates, ...] = ()  # symbols with fewer states than their nodes support, after "projections"


def silent(_progress: Progress) -> None:
    """Ignore the progress of an estimator."""


Listener = Callable[[Progress], None]


class ProgressLine:
    """A listener that shows the stage of training and the time until the end of the stage.

    Nothing is shown in the first two seconds.  The next line on standard error overwrites the line, and `clear` removes
    it."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._begin = time.perf_counter()
        self._reported = self._begin  # the time of the last report
        self._stage = ""
        self._stage_begin = self._begin
        self._n_done = 0  # steps of the stage
        self._width = 0  # of the line that is on the screen

    def __call__(self, progress: Progress) -> None:
        """Show a step, with the seconds until the end of its stage if all steps take equally long."""
        now = time.perf_counter()
        if progress.stage != self._stage or progress.done <= self._n_done:
            # A stage begins with a report of zero steps, or, without such a report, with the report before its first
            # step.
            self._stage = progress.stage
            self._stage_begin = self._reported if progress.done else now
        self._n_done = progress.done
        self._reported = now
        if now - self._begin < _SOON:
            return
        text = f"Training: {progress.stage}, step {progress.done} of {progress.total}"
        if progress.done:
            left = (now - self._stage_begin) / progress.done * (progress.total - progress.done)
            text += f", about {left:.0f} s left" if left >= 1.0 else ""
        self.clear()
        # Move the cursor back, so that a message of other code overwrites the line.
        self._stream.write(f"{text}\r")
        self._stream.flush()
        self._width = len(text)

    def clear(self) -> None:
        """Remove the line from the screen."""
        if self._width:
            self._stream.write(f"\r{' ' * self._width}\r")
            self._stream.flush()
            self._width = 0


@contextmanager
def shown(progress: bool | None) -> Iterator[Listener]:
    """Make a listener that shows the progress of training until the block ends, or a listener that shows nothing."""
    is_shown = sys.stderr is not None and sys.stderr.isatty() if progress is None else progress
    if not is_shown:
        yield silent
        return
    line = ProgressLine()
    try:
        yield line
    finally:
        line.clear()
