"""Fixtures for data that does not come with the project, and the settings of property tests."""

import gc
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import hypothesis
import pytest

EXPLORING = "SPECTRAL_LATENT_EXPLORE"  # the seconds in which properties are tried on new examples; see `make explore`
BEGUN = pytest.StashKey[float]()  # when all tests were collected

hypothesis.settings.register_profile("default", deadline=None, derandomize=True, max_examples=30)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=500, print_blob=True, database=None)
hypothesis.settings.load_profile("explore" if EXPLORING in os.environ else "default")

DATA_FIXTURES = {"require_corpus", "shared_file"}


@pytest.hookimpl(optionalhook=True)  # the tests of the wheel run without xdist
def pytest_xdist_auto_num_workers() -> int:
    """Take as many processes as there are processors: each more collects all tests once more, and ends no sooner."""
    return os.cpu_count() or 1


def pytest_collection() -> None:
    """Switch the garbage collector off while tests are collected, because all modules and tests live to the end."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Let the collected tests count as old, and search for garbage rarely: tests of readers make many small objects."""
    session.config.stash[BEGUN] = time.monotonic()
    gc.freeze()
    gc.unfreeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that use the fixtures below, directly or through other fixtures, and put their files first.

    These tests take longest: if several processes share the files, no process should begin with one at the end.  Only
    properties explore, in a random order.
    """
    for item in items:
        if not DATA_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.corpus)
    long = {item.path for item in items if item.get_closest_marker("corpus")}
    items.sort(key=lambda item: item.path not in long)
    if EXPLORING in os.environ:
        items[:] = [item for item in items if hypothesis.is_hypothesis_test(getattr(item, "obj", None))]
        random.Random(config.getoption("hypothesis_seed")).shuffle(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what an exploration has no time for."""
    if EXPLORING in os.environ and time.monotonic() - item.config.stash[BEGUN] > float(os.environ[EXPLORING]):
        pytest.skip("the time for exploring is over")


def _missing(what: str, remedy: str) -> NoReturn:
    """Skip the test, or let it fail if SPECTRAL_LATENT_REQUIRE_DATA=1 says that the data must be there."""
    verdict = pytest.fail if os.environ.get("SPECTRAL_LATENT_REQUIRE_DATA") == "1" else pytest.skip
    verdict(f"{what} not found: {remedy}")


@pytest.fixture(scope="session")
def require_corpus() -> Callable[[str], Any]:
    """Return a function that finds NLTK's corpus reader of a name; NLTK itself searches NLTK_DATA."""

    def reader(name: str) -> Any:
        import nltk.corpus  # not at the head of the module, because this import takes a second

        corpus = getattr(nltk.corpus, name)
        try:
            corpus.ensure_loaded()
        except LookupError:
            _missing(f"NLTK corpus {name}", f"run `python -m nltk.downloader {name}`, or set NLTK_DATA")
        return corpus

    return reader


@pytest.fixture(scope="session")
def shared_file() -> Callable[[str], Path]:
    """Return a function that finds a file or folder by its path relative to SPECTRAL_LATENT_DATA."""

    def locate(relative: str) -> Path:
        root = os.environ.get("SPECTRAL_LATENT_DATA")
        if root is None or not (path := Path(root, relative)).exists():
            _missing(relative, "set SPECTRAL_LATENT_DATA to the folder that holds it")
        return path

    return locate
