"""The line that tells how far training is."""

import io
import sys

import pytest

from spectral_latent.estimation import Progress, silent
from spectral_latent.estimation.progress import ProgressLine, shown


class Clock:
    """Seconds that pass when the test says so."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Put a clock in the place of the system's."""
    clock = Clock()
    monkeypatch.setattr("time.perf_counter", clock)
    return clock


def lines_of(stream: io.StringIO) -> list[str]:
    """Take the lines that stood on the screen, one after the other."""
    return [line for line in stream.getvalue().split("\r") if line.strip()]


def test_the_time_left_is_that_of_steps_like_those_before(clock: Clock) -> None:
    stream = io.StringIO()
    line = ProgressLine(stream)
    for seconds, progress in (
        (1.0, Progress("features", 3, 3)),
        (6.0, Progress("EM", 0, 3)),  # the stage begins here
        (10.0, Progress("EM", 1, 3)),
        (14.0, Progress("EM", 2, 3)),
        (18.0, Progress("EM", 3, 3)),
        (20.0, Progress("states", 1, 4)),  # its first step began with the report before
    ):
        clock.now = seconds
        line(progress)
    assert lines_of(stream) == [
        "Training: EM, step 0 of 3",
        "Training: EM, step 1 of 3, about 8 s left",
        "Training: EM, step 2 of 3, about 4 s left",
        "Training: EM, step 3 of 3",
        "Training: states, step 1 of 4, about 6 s left",
    ]


def test_shown_on_a_terminal_or_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with shown(None) as listener:
        assert listener is silent
    with shown(True) as listener:
        assert isinstance(listener, ProgressLine)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with shown(None) as listener:
        assert isinstance(listener, ProgressLine)
    with shown(False) as listener:
        assert listener is silent
