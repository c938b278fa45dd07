"""A plugin of pytest: write down the functions of the library that each test calls.

The file that the variable REACHED names gets a line of JSON for each test, and for each file of tests: what is called
before a test begins may be kept for others of its file.  A line has the name, and the functions as pairs of module and
first line.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType

import pytest

from tests.mutants.faults import PACKAGE

REACHED = "REACHED"

_called: defaultdict[str, set[CodeType]] = defaultdict(set)


@contextmanager
def _noted(name: str) -> Iterator[None]:
    """Note the functions that are called meanwhile.

    name: of the test or the file that calls them.
    """
    codes = _called[name]

    def note(frame: FrameType, _event: str, _argument: object) -> None:
        codes.add(frame.f_code)

    before = sys.gettrace()
    sys.settrace(note)
    try:
        yield
    finally:
        sys.settrace(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    """Note what the fixtures of a test call, for its file."""
    with _noted(item.nodeid.partition("::")[0]):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Note what a test calls."""
    with _noted(item.nodeid):
        return (yield)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the file."""
    inside = f"{session.config.rootpath}/"
    with open(os.environ[REACHED], "w", encoding="utf-8") as file:
        for name, codes in _called.items():
            places = ((code.co_filename.removeprefix(inside), code.co_firstlineno) for code in codes)
            own = sorted(place for place in places if place[0].startswith(f"{PACKAGE}/"))
            file.write(json.dumps([name, own]) + "\n")
