"""What the tests of all adapters share."""

import multiprocessing
from collections.abc import Iterator
from multiprocessing.pool import Pool

import pytest

pytest.register_assert_rewrite("tests.conformance.parsers", "tests.conformance.taggers")


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """A pool of one process that begins with nothing, and takes seconds to import what all models need."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        yield pool
