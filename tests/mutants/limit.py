"""A plugin of pytest: a test that takes too many CPU seconds fails, and hypothesis looks for no smaller example."""

from __future__ import annotations

import signal
from collections.abc import Generator
from types import FrameType

import hypothesis
import pytest

SECONDS = 20
PROFILE = "mutants"

hypothesis.settings.register_profile(
    PROFILE,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)


def _fail(_number: int, _frame: FrameType | None) -> None:
    pytest.fail(f"more than {SECONDS} CPU seconds")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Run a test within the limit; hypothesis may run the example that failed once more, for a second."""
    signal.signal(signal.SIGPROF, _fail)
    signal.setitimer(signal.ITIMER_PROF, SECONDS, 1)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
