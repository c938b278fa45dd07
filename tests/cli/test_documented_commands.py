"""The command lines of README, documents and help run, and every command and option is documented."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from spectral_latent.anchors import AnchorHMM
from spectral_latent.cli import main
from spectral_latent_annotate._commands import main as annotate
from tests.cli.conftest import command_at
from tests.cli.reference import commands, help_of, reference
from tests.documents import documents

KINDS = {  # the kind of each model that documents name
    "wsj.model": "constituency",
    "deps.model": "dependency",
    "tagger.model": "tagger",
    "anchors.model": "anchors",
    "reranker.model": "reranker",
}
PROGRAMS = {"spectral-latent": main, "spectral-latent-annotate": annotate}
COMMAND = re.compile(r"(?:echo [^|]*\| )?spectral-latent(?:-annotate)? ")
OUTPUT = re.compile(r"^```sh\n([^\n]+)\n```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("spectral-latent demo", "spectral-latent-annotate annotate")  # long ones, tested by themselves


def _shown(text: str) -> Iterator[str]:
    for line in text.splitlines():
        line = line.strip()
        if COMMAND.match(line) and not line.startswith(ELSEWHERE):
            yield re.sub(r"\s+# .*", "", line)


HELPS = {" ".join(["help of", *path]): help_of(path).partition("Options:")[0] for path in commands()}
PAGES = {name: lines for name, text in {**documents(), **HELPS}.items() if (lines := list(_shown(text)))}


@pytest.fixture(scope="module")
def folder(files: Path, treebank: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that the command lines name."""
    folder = tmp_path_factory.mktemp("shown")
    for name in ("dev.mrg", "test.mrg", "trees.mrg", "gold.mrg", "silver.mrg"):
        shutil.copy(treebank, folder / name)
    (folder / "broken.tsv").write_text("Dogs see it .\t(S (NP Dogs (VP see it\n")
    (folder / "sections").mkdir()
    shutil.copy(treebank, folder / "sections" / "a.mrg")
    for name in ("en-train.conllu", "en-dev.conllu", "dev.conllu"):
        shutil.copy(files / "gold.conllu", folder / name)
    for section in range(25):
        (folder / f"parsed/mrg/wsj/{section:02}").mkdir(parents=True)
        shutil.copy(treebank, folder / f"parsed/mrg/wsj/{section:02}/wsj.mrg")
    for name in ("treebank", "wsj-02-21"):
        (folder / name).mkdir()
        shutil.copy(treebank, folder / name)
    for name in ("sentences.txt", "text.txt", "new.txt", "long.txt", "news.tok"):
        (folder / name).write_text("They see it .\n" * 3)
    items = re.search(r"^item,condition,text\n[^`]*", documents()["docs/surprisal.md"], re.MULTILINE)
    assert items
    (folder / "items.csv").write_text(items[0])
    for name in ("dev.nbest", "test.nbest", "new.nbest", "own.nbest"):
        shutil.copy(files / "gold.nbest", folder / name)
    for name, kind in KINDS.items():
        shutil.copy(files / kind, folder / name)
    return folder


class _Shell:
    """A shell in a folder, which puts small files in the place of corpora."""

    def __init__(self) -> None:
        self.kinds = dict(KINDS)
        self.kind = "constituency"  # of the model that was trained last

    def do(self, line: str) -> str:
        stdin = None
        if line.startswith("echo "):
            echo, _, line = line.partition(" | ")
            stdin = " ".join(shlex.split(echo)[1:]) + "\n"
        line, _, target = line.partition(" > ")
        line = line.replace("--column universal", "")  # of a corpus of NLTK, in the place of which there is a table
        program, *words = shlex.split(line)
        words = list(self._without_dots(words))
        if words[0] == "train":
            self.kind = words[1]
            self.kinds[words[words.index("-o") + 1]] = self.kind
            words += [] if "--preset" in words or "--n-states" in words else ["--n-states", "3"]
        model = next((word for word in words if word in self.kinds), None)
        kind = self.kind if model is None or words[0] == "train" else self.kinds[model]
        words = [self._file(word, kind) for word in words]
        found = CliRunner().invoke(PROGRAMS[program], words, stdin, catch_exceptions=False)
        assert found.exit_code == 0, f"{line}: {found.stderr}"
        if target:
            Path(target).write_text(found.stdout)
        return found.stdout

    def _without_dots(self, words: list[str]) -> Iterator[str]:
        """Give the words on, and in the place of labels that end in three dots those of all anchors."""
        if "..." not in words:
            yield from (word.removesuffix("...") for word in words)
            return
        yield from words[:2]
        for anchor in AnchorHMM.load(words[1]).anchors:
            yield f"{anchor}=NOUN"
        yield from words[words.index("...") + 1 :]

    def _file(self, word: str, kind: str) -> str:
        """Name the file that stands for a corpus."""
        trees = "dev.mrg" if kind in ("constituency", "reranker") else "dev.conllu"
        return trees if word.startswith("nltk:") else word


@pytest.mark.parametrize("page", PAGES)
def test_the_command_lines_that_are_shown_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """On small files, one after the other, as a reader would type them.  What a page shows of a ready model is true."""
    shutil.copytree(folder, tmp_path / "files")
    monkeypatch.chdir(tmp_path / "files")
    shell = _Shell()
    outputs = dict(OUTPUT.findall(documents().get(page, "")))
    for line in PAGES[page]:
        printed = shell.do(line)
        if " en " in line and line in outputs:
            shown = outputs[line].split()
            assert re.split(r"\s+", printed.strip()) == shown, line


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_help_fits_on_a_screen(path: tuple[str, ...]) -> None:
    """At 100 columns no line is longer, and no summary of a command is cut."""
    assert help_of(path, width=100).count("\n") <= 40
    lines = help_of(path, width=98).splitlines()  # click leaves two columns free
    assert [line for line in lines if len(line) > 100 or (line.startswith("  ") and line.endswith("..."))] == []


def test_every_command_shows_an_example() -> None:
    without = [path for path in commands() if "spectral-latent" not in help_of(path).partition("Options:")[0][30:]]
    assert without == [("train",)]  # the group, whose commands show theirs


def test_every_option_has_help_and_a_place_in_the_reference() -> None:
    text = reference()
    for path in commands():
        command = command_at(path)
        assert f"## {' '.join(['spectral-latent', *path])}\n" in text
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{path}: {parameter.opts}"
                assert all(option in text for option in parameter.opts)
