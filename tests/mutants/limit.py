"""A plugin of pytest: a test that takes too many CPU seconds fails."""

from __future__ import annotations

import signal
from collections.abc import Generator
from types import FrameType

import pytest

SECONDS = 20


def _fail(_number: int, _frame: FrameType | None) -> None:
    pytest.fail(f"more than {SECONDS} CPU seconds")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, bool, bool]:
    """Run a test with its fixtures within the limit."""
    signal.signal(signal.SIGPROF, _fail)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
