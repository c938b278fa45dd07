"""What is printed of files and options does not control a terminal, and has an end; no output replaces an input."""

import errno
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from spectral_latent.cli.command import CommandGroup, _replace_closed_streams
from spectral_latent.corpora import CorpusError
from spectral_latent.files import ModelFileError, load_model, save_model
from tests.cli.conftest import Run
from tests.cli.reference import commands

HOSTILE = "S\x1b]0;pwn\x07\x9b31m\u202e\x00"
LONG = 100_000
BOUND = 20_000  # characters: the usage of a command, and messages with escapes


def assert_harmless(text: str) -> None:
    """Only line ends, tabs of lists of choices, and characters that can be printed."""
    assert {character for character in text if not character.isprintable()} <= set("\n\t"), text[:500]
    assert len(text) < BOUND


@pytest.mark.parametrize("name", ["version", "kind", "library", "format", "record"])
def test_settings_of_a_model(run: Run, model: Path, tmp_path: Path, name: str) -> None:
    arrays, kept = load_model(model)
    crafted = tmp_path / "crafted"
    for text in (HOSTILE, HOSTILE * LONG):
        value: Any = {"command": text, text: text} if name == "record" else text
        save_model(crafted, arrays, {**kept, name: value})
        for command in ("info", "parse", "surprisal"):
            result = run(command, crafted, *(() if command == "info" else ("/dev/null",)))
            assert_harmless(result.output)
        try:
            load_model(crafted, "tagger")
        except ModelFileError as error:
            assert_harmless(str(error))
            assert str(tmp_path) in str(error)


def test_names_in_a_model(run: Run, files: Path, tmp_path: Path) -> None:
    label = HOSTILE.rstrip("\x00")
    (tmp_path / "a.mrg").write_text(f"({label} (A{label} a) (B b))\n" * 3)
    assert run("train", "constituency", tmp_path / "a.mrg", "-o", tmp_path / "model", "-q").exit_code == 0
    arrays, settings = load_model(files / "reranker")
    save_model(tmp_path / "reranker", arrays, settings | {"models": {HOSTILE: "other"} | dict(settings["models"])})
    for given in (
        ("info", tmp_path / "model"),
        ("info", "--states", tmp_path / "model"),
        ("info", tmp_path / "model", "--symbol", "none"),
        ("info", tmp_path / "reranker"),
        ("rerank", "apply", tmp_path / "reranker", files / "gold.nbest", "--model", files / "constituency"),
    ):
        result = run(*given)
        assert "pwn" in result.output
        assert_harmless(result.output)


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_options_and_arguments_that_are_repeated(run: Run, model: Path, path: tuple[str, ...]) -> None:
    """Each command with hostile names of options, commands, and files."""
    named = HOSTILE.rstrip("\x00")
    for text in (named, named * LONG):
        values = ((f"--{text}",), (text,) * 4, (str(model), text), ("--jobs", text), ("-o", text), (text, "-q"))
        for arguments in values:
            assert_harmless(run(*path, *arguments).stderr)


def test_streams_that_are_closed_are_replaced_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    before = sys.stdin, sys.stdout
    _replace_closed_streams()
    assert sys.stderr.writable() and (sys.stdin, sys.stdout) == before
    opened = sys.stderr
    _replace_closed_streams()
    assert sys.stderr is opened
    opened.close()


def test_warnings_and_errors_of_the_library() -> None:
    @click.group(cls=CommandGroup)
    def group() -> None:
        pass

    @group.command()
    def warn() -> None:
        warnings.warn(HOSTILE * LONG, stacklevel=1)
        raise CorpusError(HOSTILE * LONG)

    @group.command()
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert CliRunner().invoke(group, ["interrupted"]).exit_code == 128 + signal.SIGINT
    result = CliRunner().invoke(group, ["warn"])
    assert_harmless(result.stderr)
    assert result.stderr.startswith("Warning: S\\x1b]0;pwn")
    assert "\nError: S\\x1b]0;pwn" in result.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """Read all files of a folder, links as what they lead to."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "line",
    [
        "train constituency gold.mrg -o gold.mrg",
        "train constituency . -o gold.mrg",
        "train tagger gold.tagged -o gold.tagged",
        "train anchors gold.tagged -o gold.tagged",
        "train dependency gold.conllu -o gold.conllu",
        "train hmm gold.tagged -o hard",
        "train constituency gold.mrg --text text -o text",
        "rerank train gold.nbest --gold gold.mrg --model p=constituency -o constituency",
        "rerank train gold.nbest --gold gold.mrg --model p=link -o constituency",
        "rerank train gold.nbest --gold gold.mrg --model p=constituency -o gold.nbest",
        "parse constituency text -o text",
        "parse constituency text -o constituency",
        "parse constituency text --rerank reranker -o reranker",
        "parse constituency text --rerank reranker.html --html reranker.html",
        "tag tagger gold.tagged -o hard",
        "surprisal hmm text -o hmm",
    ],
)
def test_no_output_takes_the_place_of_an_input(
    run: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    for name, content in contents(files).items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "text").write_text("They see it .\n")
    (tmp_path / "reranker.html").write_text("a reranker")
    (tmp_path / "link").symlink_to("constituency")
    (tmp_path / "hard").hardlink_to(tmp_path / "gold.tagged")
    monkeypatch.chdir(tmp_path)
    before = contents(tmp_path)
    result = run(*line.split(), "-q")
    assert result.exit_code and "a file to read" in result.stderr
    assert contents(tmp_path) == before


def test_a_model_in_the_folder_that_it_learns_from_may_be_written_again(
    run: Run, taggings: Path, tmp_path: Path
) -> None:
    (tmp_path / "all.tagged").write_bytes(taggings.read_bytes())
    for _ in range(2):
        assert run("train", "tagger", tmp_path, "-o", tmp_path / "tagger", "--n-states", "2", "-q").exit_code == 0


def test_a_link_is_replaced_and_old_answers_stay_if_a_command_fails(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("the victim's")
    (tmp_path / "out").symlink_to(tmp_path / "victim")
    assert run("parse", model, "-o", tmp_path / "out", "-q", stdin="They see it .\n").exit_code == 0
    assert (tmp_path / "victim").read_text() == "the victim's"
    assert not (tmp_path / "out").is_symlink() and (tmp_path / "out").read_text().startswith("(S ")
    (tmp_path / "bad.jsonl").write_text('{"text": "They see it."}\n{}\n')
    before = contents(tmp_path)
    assert run("parse", model, tmp_path / "bad.jsonl", "-o", tmp_path / "out", "-q").exit_code == 1
    assert contents(tmp_path) == before


def test_what_cannot_be_written_leaves_the_old_model(
    run: Run, taggings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "model"
    model.write_bytes(b"an older model")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", full)
        result = run("train", "tagger", taggings, "-o", model, "-q")
        assert (result.exit_code, result.stderr) == (1, f"Error: {model}: No space left on device\n")
    monkeypatch.setattr("os.access", lambda _, mode: mode != 2)
    result = run("train", "tagger", taggings, "-o", model)
    assert result.exit_code == 2 and "Training" not in result.stderr  # told before all work
    assert contents(tmp_path) == {"model": b"an older model"}
