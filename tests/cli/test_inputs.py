"""One way to look at an input, for all commands: its format shows in its name or in its first lines."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spectral_latent import load
from spectral_latent.corpora import parse_brackets
from spectral_latent.corpora.sources import in_conllu

Run = Callable[..., Any]

WORDS = ["They", "see", "dogs", "."]
ROW = "{}\t{}\t_\t_\tX\t_\t{}\t_\t_\t_\n"
MALT = "They\tX\t2\nsee\tX\t0\ndogs\tX\t2\n.\tX\t2\n"
INPUTS: dict[str, tuple[str, str]] = {  # an ending, and the sentence in that format
    "brackets": ("mrg", "( (S (NP-SBJ (X They)) (VP (X see) (NP (X dogs) (-NONE- *))) (X .)) )\n"),
    "conllu": ("conllu", "# a\n" + "".join(ROW.format(n, word, "_") for n, word in enumerate(WORDS, start=1)) + "\n"),
    "tagged": ("tagged", "They/X see/X dogs/X ./X\n"),
    "json": ("jsonl", '{"words": ["They", "see", "dogs", "."]}\n'),
    "tokens": ("txt", "They see dogs .\n"),
}


@pytest.fixture(scope="module")
def parser(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dependency parser of the words above."""
    folder = tmp_path_factory.mktemp("parser")
    (folder / "a.conllu").write_text(in_conllu(MALT))
    assert run("train", "dependency", folder / "a.conllu", "-o", folder / "model", "-q").exit_code == 0
    return folder / "model"


def test_folders_of_compressed_files(run: Run, treebank: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "a.mrg.gz").write_bytes(gzip.compress(treebank.read_bytes()))
    for source in (tmp_path / "all", tmp_path / "all" / "a.mrg.gz"):
        result = run("train", "constituency", source, "-o", tmp_path / "new", "--n-states", "4", "-q")
        assert (result.exit_code, result.output) == (0, "")
        assert load(tmp_path / "new").fingerprint == load(model).fingerprint


def test_spaces_of_raw_text_are_kept(run: Run, parser: Path) -> None:
    rows = run("parse", parser, "--text", stdin="They (see) dogs.").stdout.split("\n")[2:-2]
    text = "".join(columns[1] + ("" if columns[9] == "SpaceAfter=No" else " ") for columns in map(_columns, rows))
    assert text == "They (see) dogs. "


def _columns(row: str) -> list[str]:
    return row.split("\t")


def test_the_option_says_more_than_the_first_lines(run: Run, model: Path, tagger: Path) -> None:
    assert run("tag", tagger, stdin="He/P she/P\n").stdout.count("/") == 2
    assert run("tag", tagger, "--format", "tokens", stdin="He/P she/P\n").stdout.count("/") == 4
    (tree,) = parse_brackets(run("parse", model, "--format", "tokens", stdin="AND/OR N/A").stdout)
    assert list(tree.words()) == ["AND/OR", "N/A"]
    result = run("parse", model, "--format", "brackets", stdin="They see it .")
    assert (result.exit_code, "'They' stands outside brackets" in result.stderr) == (1, True)


def test_words_with_slashes_and_tabs_are_words(run: Run, model: Path, tmp_path: Path) -> None:
    for text in ("http://a.b/c", "03/04/2024\nthey left", "The\tdog\tbarks", "and/or\n", "The\tdog\t2\nbarks loudly"):
        for name in ("a", "a.txt", "a.tok"):
            (tmp_path / name).write_text(text)
            result = run("parse", model, tmp_path / name)
            assert result.exit_code == 0, result.stderr
            assert [list(tree.words()) for tree in parse_brackets(result.stdout)] == [
                line.split() for line in text.splitlines()
            ]


def test_what_speaks_for_another_format_is_told(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("They/X see/X it/X\n")
    for file, text in ((tmp_path / "a.txt", None), ("-", "They/X see/X\nit and/or\n")):
        for command in ("parse", "surprisal"):
            result = run(command, model, file, stdin=text)
            assert (result.exit_code, "They/X" in result.stdout) == (0, True)
            assert "words with tags" in result.stderr and "--format" in result.stderr
            assert "--format" not in run(command, model, file, "--format", "tokens", stdin=text).stderr


def test_errors_under_a_guess_name_the_option(run: Run, model: Path, parser: Path, tmp_path: Path) -> None:
    lines = "They/X see/X\n" * 20 + "it\n"
    (tmp_path / "a").write_text(lines)
    train = ("train", "tagger", tmp_path / "a", "-o", tmp_path / "new")
    for command in (("parse", model, tmp_path / "a"), ("tag", tmp_path / "a"), train, ("train", "anchors", *train[2:])):
        result = run(*command)
        assert result.exit_code
        if command[0] != "tag":
            assert "line 21: 'it' is not a word/TAG" in result.stderr and "--format" in result.stderr
    told = run(*train[:1], "anchors", *train[2:], "--format", "tokens", "--n-states", "2")
    assert (
        told.exit_code,
        "They/X" in run("info", tmp_path / "new", "--states").stdout.replace("they/x", "They/X"),
    ) == (
        0,
        True,
    )


def test_comments_after_the_last_sentence(run: Run, model: Path, parser: Path, tagger: Path, tmp_path: Path) -> None:
    text = INPUTS["conllu"][1]
    end = "# the end\n\n#\n"
    assert run("parse", model, stdin=text + end).stdout == run("parse", model, stdin=text).stdout
    assert run("tag", tagger, stdin=text + end).stdout.endswith(f"\n\n{end}")
    for options in ([], ["--n-best", "2"], ["--jobs", "2"], ["--partial"]):
        found = run("parse", parser, *options, stdin=text + end)
        assert found.stdout == run("parse", parser, *options, stdin=text).stdout + end
        (tmp_path / "a").write_text(text + end)
        told = run("parse", parser, *options, tmp_path / "a", "-o", tmp_path / "b").stderr
        assert "1 sentence, 4 words" in told and (tmp_path / "b").read_text() == found.stdout
