"""A project of twenty trees, with four sentences that wait, and its server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spectral_latent_annotate import Project, create_app
from tests.toy import toy_treebank

TREES = toy_treebank(24)
BASE = {"base_url": "http://127.0.0.1:8017"}


@contextmanager
def made_in(folder: Path) -> Iterator[Project]:
    path = folder / "trees.mrg"
    path.write_text("\n".join(tree.bracketed() for tree in TREES[:20]) + "\n", encoding="utf-8")
    made = Project(path, [list(tree.words()) for tree in TREES[20:]])
    yield made
    made.close()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with made_in(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A project for tests whose requests are refused, or change nothing."""
    with made_in(tmp_path_factory.mktemp("unchanged")) as made:
        yield made


@pytest.fixture
def client(project: Project) -> Any:
    return create_app(project, 8017).test_client()


@pytest.fixture(scope="module")
def client_of_unchanged(unchanged: Project) -> Any:
    return create_app(unchanged, 8017).test_client()
