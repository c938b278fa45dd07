"""A way to run commands, small models of every kind, and a sentence in every format."""

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from spectral_latent.anchors import AnchorHMM
from spectral_latent.cli import main
from spectral_latent.dependency import DependencyModel, DependencySentence

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
LEAF = re.compile(r"\((\S+) ([^\s()]+)\)")
ROW = "{}\t{}\t_\t{}\t{}\t_\t{}\t{}\t_\t_\n"
CONLLU = """\
# sent_id = one
# text = The dogs left.
1|The|the|DET|DT|_|_|_|_|_
2|dogs|dog|NOUN|NNS|Number=Plur|_|_|2:nsubj|_
3-4|left.|_|_|_|_|_|_|_|SpaceAfter=No
3|left|leave|VERB|VBD|_|_|_|_|_
3.1|ghost|ghost|X|X|_|_|_|3:dep|_
# a comment within
4|.|.|PUNCT|.|_|_|_|_|_

# newdoc

1|dogs|dog|NOUN|NNS|_|_|_|_|_
2|see|see|VERB|VBP|_|_|_|_|_

""".replace("|", "\t")


def command_at(path: tuple[str, ...]) -> Any:
    found: Any = main
    for name in path:
        found = found.get_command(click.Context(found), name)
    return found


def runner(command: click.Command) -> Run:
    """Give the function that runs a command line; any exception that is not the command's own way to end is raised."""

    def invoke(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(command, [str(argument) for argument in arguments], stdin, catch_exceptions=False)

    return invoke


@pytest.fixture(scope="session")
def run() -> Run:
    return runner(main)


@pytest.fixture(scope="session")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("treebank") / "all.mrg"
    path.write_text("\n".join(TREES))
    return path


@pytest.fixture(scope="session")
def model(run: Run, treebank: Path) -> Path:
    path = treebank.parent / "model"
    assert run("train", "constituency", treebank, "-o", path, "--n-states", "4", "-q").exit_code == 0
    return path


@pytest.fixture(scope="session")
def taggings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of tagged sentences: the words of `TREES`, each with its tag."""
    path = tmp_path_factory.mktemp("taggings") / "all.tagged"
    pairs = ([(word, tag) for tag, word in LEAF.findall(tree) if tag != "-NONE-"] for tree in TREES)
    path.write_text("".join(" ".join(map("/".join, row)) + "\n" for row in pairs))
    return path


@pytest.fixture(scope="session")
def tagger(run: Run, taggings: Path) -> Path:
    path = taggings.parent / "tagger"
    assert run("train", "tagger", taggings, "-o", path, "--n-states", "2", "-q").exit_code == 0
    return path


@pytest.fixture(scope="session")
def files(
    run: Run, treebank: Path, taggings: Path, model: Path, tagger: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with a model of every kind that the command line makes, named after the kind."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "constituency").write_bytes(model.read_bytes())
    (folder / "tagger").write_bytes(tagger.read_bytes())
    (folder / "gold.mrg").write_bytes(treebank.read_bytes())
    (folder / "gold.tagged").write_bytes(taggings.read_bytes())
    table = []
    for line in taggings.read_text().splitlines():
        pairs = [token.rsplit("/", 1) for token in line.split()]
        head = next(n for n, (word, _) in enumerate(pairs, start=1) if word in ("see", "left"))
        rows = (
            ROW.format(n, word, tag, tag, 0 if n == head else head, "root" if n == head else "dep")
            for n, (word, tag) in enumerate(pairs, start=1)
        )
        table.append("".join(rows) + "\n")
    (folder / "gold.conllu").write_text("".join(table))
    for kind, source in (("dependency", "gold.conllu"), ("hmm", "gold.tagged"), ("anchors", "gold.tagged")):
        given = ("train", kind, folder / source, "-o", folder / kind, "--n-states", "3", "-q")
        assert run(*given).exit_code == 0
    labels = [f"{anchor}=X{n}" for n, anchor in enumerate(AnchorHMM.load(folder / "anchors").anchors)]
    assert run("label", folder / "anchors", *labels, "-o", folder / "labelled", "-q").exit_code == 0
    (folder / "gold.nbest").write_text(run("rerank", "lists", model, treebank, "--n-best", "3", "-q").stdout)
    given = (folder / "gold.nbest", "--gold", treebank, "--model", model, "-o", folder / "reranker", "-q")
    assert run("rerank", "train", *given).exit_code == 0
    return folder


@pytest.fixture(scope="session")
def torn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dependency parser of `a b c`, in which c hangs from a, or from b."""
    words = DependencySentence.of(list("abc"), list("ABC"))
    trees = [words.with_heads((0, 1, head), ("root", "x", "y")) for head in (1, 1, 2)]
    path = tmp_path_factory.mktemp("torn") / "model"
    DependencyModel.train(trees).save(path)
    return path
