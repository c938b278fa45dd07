"""A way to run commands, and a small model."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spectral_latent.cli import main

Run = Callable[..., Result]

SUBJECTS = ["(NP-SBJ (PRP They))", "(NP (DT The) (NNS dogs))", "(NP (NP (NNS Cats)) (PP (IN with) (NP (NNS tails))))"]
OBJECTS = [
    "(NP (PRP it))",
    "(NP (DT the) (JJ old) (NN house))",
    "(NP (NNS dogs) (PRN (-LRB- -LRB-) (NNS pets) (-RRB- -RRB-)))",
]
VERBS = ["(VBP see)", "(VBD left)"]
TREES = [
    f"( (S {subject} (VP {verb} {thing} (-NONE- *)) (. .)) )"
    for subject, verb, thing in itertools.product(SUBJECTS, VERBS, OBJECTS)
]


@pytest.fixture(scope="session")
def run() -> Run:
    """Give the function that runs a command line; any exception that is not the command's own way to end is raised."""

    def invoke(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(main, [str(argument) for argument in arguments], stdin, catch_exceptions=False)

    return invoke


@pytest.fixture(scope="session")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of trees."""
    path = tmp_path_factory.mktemp("treebank") / "all.mrg"
    path.write_text("\n".join(TREES))
    return path


@pytest.fixture(scope="session")
def model(run: Run, treebank: Path) -> Path:
    """A model trained on it."""
    path = treebank.parent / "model"
    assert run("train", "constituency", treebank, "-o", path, "--n-states", "4", "-q").exit_code == 0
    return path


@pytest.fixture(scope="session")
def taggings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of tagged sentences: the words of `TREES`, each with its tag."""
    path = tmp_path_factory.mktemp("taggings") / "all.tagged"
    leaf = re.compile(r"\((\S+) ([^\s()]+)\)")
    pairs = ([(word, tag) for tag, word in leaf.findall(tree) if tag != "-NONE-"] for tree in TREES)
    path.write_text("".join(" ".join(map("/".join, row)) + "\n" for row in pairs))
    return path


@pytest.fixture(scope="session")
def tagger(run: Run, taggings: Path) -> Path:
    """A tagger trained on it."""
    path = taggings.parent / "tagger"
    assert run("train", "tagger", taggings, "-o", path, "--n-states", "2", "-q").exit_code == 0
    return path
