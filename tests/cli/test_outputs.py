"""Files that commands write never take the place of what they read."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from spectral_latent.cli import main
from spectral_latent.cli.options import Command
from spectral_latent.cli.outputs import OutputFile
from tests.cli.reference import commands

Run = Callable[..., Any]

SENTENCES = "They see it .\nThe dogs left cats .\n"


def contents(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder, links as what they lead to."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def command_at(path: list[str]) -> click.Command:
    """Find a command by its names."""
    found: click.Command = main
    for name in path:
        assert isinstance(found, click.Group)
        found = found.get_command(click.Context(found), name) or found
    return found


@pytest.mark.parametrize("kind", ["constituency", "tagger", "anchors", "dependency", "hmm"])
def test_training_takes_the_place_of_no_input(run: Run, treebank: Path, tmp_path: Path, kind: str) -> None:
    source = tmp_path / "trees.mrg"
    source.write_bytes(treebank.read_bytes())
    for given in (source, tmp_path):
        result = run("train", kind, given, "-o", source, "-q")
        assert result.exit_code != 0
        assert "trees.mrg: a file to read, which would be lost" in result.output
        assert source.read_bytes() == treebank.read_bytes()


def test_a_model_in_the_folder_that_it_learns_from_may_be_written_again(
    run: Run, taggings: Path, tmp_path: Path
) -> None:
    (tmp_path / "all.tagged").write_bytes(taggings.read_bytes())
    for _ in range(2):
        assert run("train", "tagger", tmp_path, "-o", tmp_path / "tagger", "--n-states", "2", "-q").exit_code == 0


def test_a_reranker_takes_the_place_of_no_input(run: Run, treebank: Path, model: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    lists.write_text("-1.0\t(NN run)\n-2.0\t(VB run)\n")
    parser = tmp_path / "parser"
    parser.write_bytes(model.read_bytes())
    link = tmp_path / "link"
    link.symlink_to(parser)
    before = parser.read_bytes()
    for output in (parser, link, lists):
        result = run("rerank", "train", lists, "--gold", treebank, "--model", f"p={parser}", "-o", output, "-q")
        assert result.exit_code != 0
        assert "a file to read, which would be lost" in result.output
    assert parser.read_bytes() == before
    assert lists.read_text().startswith("-1.0")


def test_every_command_that_writes_files_looks_at_what_it_reads() -> None:
    found = {" ".join(path): command_at(path) for path in commands()}
    writing = {
        name: command
        for name, command in found.items()
        if any(isinstance(parameter.type, OutputFile) for parameter in command.params)
    }
    assert {"parse", "tag", "surprisal", "score", "info", "label", "rerank lists", "train tagger"} <= set(writing)
    assert [name for name, command in writing.items() if not isinstance(command, Command)] == []


@pytest.mark.parametrize("command", ["parse", "tag", "surprisal"])
def test_answers_take_the_place_of_no_input(run: Run, model: Path, tagger: Path, tmp_path: Path, command: str) -> None:
    of_command = tagger if command == "tag" else model
    text, hard, copied = (tmp_path / name for name in ("text", "hard", "model"))
    text.write_text(SENTENCES)
    hard.hardlink_to(text)
    copied.write_bytes(of_command.read_bytes())
    before = contents(tmp_path)
    for arguments in ((of_command, text, "-o", text), (of_command, text, "-o", hard), (copied, text, "-o", copied)):
        result = run(command, *arguments, "-q")
        assert (result.exit_code, "a file to read, which would be lost" in result.stderr) == (1, True), result.stderr
        assert contents(tmp_path) == before


def test_a_link_is_replaced_and_not_followed(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("the victim's")
    (tmp_path / "out").symlink_to(tmp_path / "victim")
    assert run("parse", model, "-o", tmp_path / "out", "-q", stdin=SENTENCES).exit_code == 0
    assert (tmp_path / "victim").read_text() == "the victim's"
    assert not (tmp_path / "out").is_symlink()
    assert (tmp_path / "out").read_text() == run("parse", model, stdin=SENTENCES).stdout


def test_a_command_that_fails_leaves_the_old_answers(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    (tmp_path / "bad.jsonl").write_text('{"text": "They see it."}\n{}\n')
    before = contents(tmp_path)
    assert run("parse", model, tmp_path / "bad.jsonl", "-o", tmp_path / "out", "-q").exit_code == 1
    assert contents(tmp_path) == before


def test_a_reranker_of_parse_is_read(run: Run, model: Path, tmp_path: Path) -> None:
    reranker = tmp_path / "reranker.html"
    reranker.write_text("the reranker")
    before = contents(tmp_path)
    result = run("parse", model, "--rerank", reranker, "-o", reranker, stdin=SENTENCES)
    assert (result.exit_code, "a file to read" in result.stderr) == (1, True)
    result = run("parse", model, "--rerank", reranker, "--html", reranker, stdin=SENTENCES)
    assert (result.exit_code, "a file to read" in result.stderr) == (1, True)
    assert contents(tmp_path) == before


@pytest.mark.skipif(not os.path.exists("/dev/stdin"), reason="standard input has no name")
def test_standard_input_is_read(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text(SENTENCES)
    command = [sys.executable, "-m", "spectral_latent", "parse", model, "-o", tmp_path / "text"]
    with text.open() as file:
        done = subprocess.run(command, stdin=file, capture_output=True, text=True)
    assert (done.returncode, "a file to read" in done.stderr) == (1, True)
    assert contents(tmp_path) == {"text": SENTENCES.encode()}


LIMITED = """
import resource, sys
from spectral_latent.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
main(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of files")
@pytest.mark.parametrize("command", ["parse", "score"])
def test_a_file_that_cannot_be_written_to_its_end_is_named(
    model: Path, treebank: Path, tmp_path: Path, command: str
) -> None:
    source = tmp_path / "source"
    source.write_text("They see it .\n" * 2000 if command == "parse" else treebank.read_text() * 150)
    arguments = [sys.executable, "-c", LIMITED, command, model, source, "-o", tmp_path / "out", "-q"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: {tmp_path}") and "out" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()
