"""What commands print of files and options does not control a terminal, and has an end."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from spectral_latent.cli.command import CommandGroup
from spectral_latent.corpora import CorpusError
from spectral_latent.files import ModelFileError, load_model, save_model
from tests.cli.reference import commands, help_of

Run = Callable[..., Any]

HOSTILE = "S\x1b]0;pwn\x07\x9b31m\u202e\x00"
LONG = 100_000
BOUND = 20_000  # characters: the usage of a command, and messages with escapes


def assert_harmless(text: str) -> None:
    """Only line ends, tabs of lists of choices, and characters that can be printed."""
    assert {character for character in text if not character.isprintable()} <= set("\n\t"), text[:500]
    assert len(text) < BOUND


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_help_fits_a_terminal(path: tuple[str, ...]) -> None:
    """At 100 columns no line is longer, and no summary of a command is cut."""
    lines = help_of(path, width=98).splitlines()  # click leaves two columns free
    assert [line for line in lines if len(line) > 100 or (line.startswith("  ") and line.endswith("..."))] == []


def damaged(model: Path, folder: Path, **settings: Any) -> Path:
    """Write a model with other settings, whose digest is right."""
    path = folder / "damaged"
    arrays, kept = load_model(model)
    save_model(path, arrays, {**kept, **settings})
    return path


@pytest.mark.parametrize("name", ["version", "kind", "library", "format", "record"])
@pytest.mark.parametrize("text", [HOSTILE, HOSTILE * LONG], ids=["short", "long"])
def test_settings_of_a_model(run: Run, model: Path, tmp_path: Path, name: str, text: str) -> None:
    value: Any = {"command": text, text: text} if name == "record" else text
    crafted = damaged(model, tmp_path, **{name: value})
    for command in ("info", "parse", "tag", "surprisal"):
        result = run(command, crafted, *(() if command == "info" else ("/dev/null",)))
        assert_harmless(result.stderr)
        if command == "info":
            assert_harmless(result.stdout)
    try:
        load_model(crafted, "tagger")
    except ModelFileError as error:
        assert_harmless(str(error))
        assert str(tmp_path) in str(error)


def test_names_in_a_model(run: Run, tmp_path: Path) -> None:
    label = HOSTILE.rstrip("\x00")
    (tmp_path / "a.mrg").write_text(f"({label} (A{label} a) (B b))\n" * 3)
    assert run("train", "constituency", tmp_path / "a.mrg", "-o", tmp_path / "model", "-q").exit_code == 0
    for command in (["info"], ["info", "--states"]):
        result = run(*command, tmp_path / "model")
        assert (result.exit_code, "pwn" in result.stdout) == (0, True)
        assert_harmless(result.stdout)
    result = run("info", tmp_path / "model", "--symbol", "none")
    assert "pwn" in result.stderr
    assert_harmless(result.stderr)


def test_names_in_a_reranker(run: Run, model: Path, treebank: Path, tmp_path: Path) -> None:
    lists, reranker = tmp_path / "lists", tmp_path / "reranker"
    lists.write_text(run("rerank", "lists", model, treebank, "--n-best", "2").stdout)
    given = ("--gold", treebank, "--model", model, "-o", reranker, "-q")
    assert run("rerank", "train", lists, *given).exit_code == 0
    _, settings = load_model(reranker)
    crafted = damaged(reranker, tmp_path, models={HOSTILE: "other"} | dict(settings["models"]))
    for arguments in (("info", crafted), ("rerank", "apply", crafted, lists, "--model", model)):
        result = run(*arguments)
        assert_harmless(result.stderr)
        if arguments[0] == "info":
            assert_harmless(result.stdout)


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_options_and_arguments_that_are_repeated(run: Run, model: Path, path: tuple[str, ...]) -> None:
    """Each command with hostile names of options, commands, and files."""
    named = HOSTILE.rstrip("\x00")
    for text in (named, named * LONG):
        values = ((f"--{text}",), (text,) * 4, (str(model), text), ("--jobs", text), ("-o", text), (text, "-q"))
        for arguments in values:
            result = run(*path, *arguments)
            assert_harmless(result.stderr)


def test_warnings_and_errors_of_the_library() -> None:
    @click.group(cls=CommandGroup)
    def group() -> None:
        pass

    @group.command()
    def warn() -> None:
        warnings.warn(HOSTILE * LONG, stacklevel=1)
        raise CorpusError(HOSTILE * LONG)

    result = CliRunner().invoke(group, ["warn"])
    assert_harmless(result.stderr)
    assert result.stderr.startswith("Warning: S\\x1b]0;pwn")
    assert "\nError: S\\x1b]0;pwn" in result.stderr
