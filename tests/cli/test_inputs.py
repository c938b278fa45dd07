"""One way to look at an input, for all commands: its format shows in its name or in its first lines."""

import codecs
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spectral_latent import load
from spectral_latent.cli.sentences import read_sentences
from spectral_latent.corpora import parse_brackets, parse_conllu
from spectral_latent.corpora.sources import in_conllu
from spectral_latent.tokenisation import Tokenisation

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


@pytest.mark.parametrize("form", INPUTS)
def test_all_formats_are_read_by_name_by_first_line_and_by_option(form: str, tmp_path: Path) -> None:
    ending, text = INPUTS[form]
    for name in (f"a.{ending}", "a"):
        (tmp_path / name).write_text(text)
        given = read_sentences([str(tmp_path / name)], None, Tokenisation(frozenset()))
        assert given.form == form
        assert [sentence.words for sentence in given.sentences] == [WORDS]


@pytest.mark.parametrize("form", INPUTS)
def test_a_constituency_parser_takes_all_formats(run: Run, model: Path, tmp_path: Path, form: str) -> None:
    ending, text = INPUTS[form]
    expected = run("parse", model, stdin=" ".join(WORDS)).stdout
    (tmp_path / f"a.{ending}").write_text(text)
    for result in (run("parse", model, stdin=text), run("parse", model, tmp_path / f"a.{ending}")):
        assert (result.exit_code, result.stdout) == (0, expected)
        if form in ("tokens", "json"):
            assert result.stderr == ""
        else:  # the tag X of each word is unknown
            assert re.fullmatch(
                r"Warning: .* the tags of 4 words, such as X, and leaves them open; .*\n", result.stderr
            )
    (tree,) = parse_brackets(expected)
    assert list(tree.words()) == WORDS


@pytest.mark.parametrize("form", INPUTS)
def test_a_dependency_parser_takes_all_formats(run: Run, parser: Path, tmp_path: Path, form: str) -> None:
    ending, text = INPUTS[form]
    (tmp_path / f"a.{ending}").write_text(text)
    for result in (run("parse", parser, stdin=text), run("parse", parser, tmp_path / f"a.{ending}")):
        assert result.exit_code == 0, result.stderr
        *lines, end = result.stdout.removesuffix("\n").split("\n")
        comments = ["# a"] if form == "conllu" else ["# sent_id = 1", "# text = They see dogs ."]
        rows = lines[len(comments) :]
        assert (lines[: len(comments)], end) == (comments, "")
        assert [row.split("\t")[1] for row in rows] == WORDS
        assert [row.split("\t")[6] for row in rows] == ["2", "0", "2", "2"]


@pytest.mark.parametrize("form", INPUTS)
def test_a_tagger_takes_all_formats(run: Run, tagger: Path, tmp_path: Path, form: str) -> None:
    ending, text = INPUTS[form]
    tags = ["PRP", "VBP", "NNS", "."]
    (tmp_path / f"a.{ending}").write_text(text)
    rest = iter(tags)
    if form == "conllu":  # given back with other tags
        expected = re.sub(r"\t_\t_\tX\t", lambda _: f"\t_\t{next(rest)}\tX\t", text)
    else:
        expected = " ".join(map("/".join, zip(WORDS, tags, strict=True))) + "\n"
    for result in (run("tag", tagger, stdin=text), run("tag", tagger, tmp_path / f"a.{ending}")):
        assert (result.exit_code, result.stdout, result.stderr) == (0, expected, "")


ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "a byte order mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16, little end first": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16, big end first": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "gzip": lambda text: gzip.compress(text.encode()),
    "gzip of UTF-16": lambda text: gzip.compress(text.encode("utf-16")),
    "gzip in parts": lambda text: gzip.compress(text[:5].encode()) + gzip.compress(text[5:].encode()),
}


@pytest.mark.parametrize("form", INPUTS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_encodings_and_compression(tmp_path: Path, encoding: str, form: str) -> None:
    ending, text = INPUTS[form]
    for name in (f"a.{ending}.gz", "a"):
        (tmp_path / name).write_bytes(ENCODINGS[encoding](text))
        given = read_sentences([str(tmp_path / name)], None, Tokenisation(frozenset()))
        assert [(given.form, sentence.words) for sentence in given.sentences] == [(form, WORDS)]


def test_folders_of_compressed_files(run: Run, treebank: Path, model: Path, tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "a.mrg.gz").write_bytes(gzip.compress(treebank.read_bytes()))
    for source in (tmp_path / "all", tmp_path / "all" / "a.mrg.gz"):
        result = run("train", "constituency", source, "-o", tmp_path / "new", "--n-states", "4", "-q")
        assert (result.exit_code, result.output) == (0, "")
        assert load(tmp_path / "new").fingerprint == load(model).fingerprint


BAD = [
    ("compressed text that is damaged", gzip.compress(b"They see it .")[:12] + b"x" * 20),
    ("compressed text that is cut short", gzip.compress(b"They see it .")[:-9]),
    ("not UTF-16, although its first bytes say so", codecs.BOM_UTF16_LE + b"a"),
    ("binary data, where text is needed", b"\x89PNG\0\0\0"),
    ("binary data, where text is needed", b"\0 and much text" * 10_000 + b"\xff"),  # a model of the library begins so
]


@pytest.mark.parametrize(("message", "content"), BAD, ids=range(len(BAD)))
def test_what_is_not_text(run: Run, model: Path, tagger: Path, tmp_path: Path, message: str, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    for arguments in (("parse", model), ("tag", tagger), ("score", model), ("evaluate", tagger)):
        result = run(*arguments, tmp_path / "a")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith(f"Error: {tmp_path / 'a'}: {message}")


RAW = 'They see\ndogs (cats). They left...\n\n"It"!'
SENTENCES = [["They", "see", "dogs", "(", "cats", ")", "."], ["They", "left", "..."], ['"', "It", '"', "!"]]


def test_raw_text(run: Run, model: Path, parser: Path, tagger: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(RAW)
    expected = [run("parse", model, stdin=" ".join(words)).stdout for words in SENTENCES]
    tagged = [run("tag", tagger, stdin=" ".join(words)).stdout for words in SENTENCES]
    for file, stdin in (("-", RAW), (tmp_path / "a.txt", None)):
        for options in (("--text",), ("--format", "text")):
            result = run("parse", model, file, *options, stdin=stdin)
            assert (result.exit_code, result.stdout, result.stderr) == (0, "".join(expected), "")
            result = run("tag", tagger, file, *options, stdin=stdin)
            assert (result.exit_code, result.stdout, result.stderr) == (0, "".join(tagged), "")
        found = list(parse_conllu(run("parse", parser, file, "--text", stdin=stdin).stdout))
        assert [list(sentence.forms) for sentence in found] == SENTENCES
        assert found[0].comments == ("sent_id = 1", "text = They see dogs (cats).")


def test_spaces_of_raw_text_are_kept(run: Run, parser: Path) -> None:
    rows = run("parse", parser, "--text", stdin="They (see) dogs.").stdout.split("\n")[2:-2]
    text = "".join(columns[1] + ("" if columns[9] == "SpaceAfter=No" else " ") for columns in map(_columns, rows))
    assert text == "They (see) dogs. "


def _columns(row: str) -> list[str]:
    return row.split("\t")


@pytest.mark.parametrize("text", ["They see it .\nDogs, cats see it .\nDogs, They .\n", "They didn't see it ."])
def test_text_that_is_not_tokenised(
    run: Run, model: Path, parser: Path, tagger: Path, tmp_path: Path, text: str
) -> None:
    (tmp_path / "a").write_text(text)
    for command, path in (("parse", model), ("parse", parser), ("tag", tagger)):
        for file in ("-", tmp_path / "a"):
            result = run(command, path, file, stdin=text)
            line = 1 + text.startswith("They see")
            reason = "has no spaces between words and marks, as tokenised text has; for raw text, give --text"
            assert (result.exit_code, result.stderr) == (0, f"Warning: line {line} {reason}\n")
            assert run(command, path, file, "-q", stdin=text).stderr == ""
            assert run(command, path, file, "--text", stdin=text).stderr == ""


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


def test_several_files(run: Run, model: Path, parser: Path, tagger: Path, tmp_path: Path) -> None:
    """The answers are those to each file, one after the other."""
    for form, (ending, text) in INPUTS.items():
        files = [tmp_path / f"{name}.{ending}" for name in "ab"]
        files[0].write_text(text)
        files[1].write_text(2 * text)
        for command in (("parse", model), ("parse", parser), ("tag", tagger), ("parse", model, "--n-best", "2")):
            one, two = (run(*command, file).stdout for file in files)
            both = run(*command, *files)
            assert both.exit_code == 0, both.stderr
            if command[1] != parser:
                assert both.stdout.split() == (one + two).split()
            else:
                found, expected = (list(parse_conllu(text)) for text in (both.stdout, one + two))
                bare = ([tree._replace(comments=()) for tree in trees] for trees in (found, expected))
                assert next(bare) == next(bare)
                names = [f"sent_id = {name}.{ending}:{number}" for name, number in (("a", 1), ("b", 1), ("b", 2))]
                assert form == "conllu" or [tree.comments[0] for tree in found] == names
            if command[0] == "tag" and form == "conllu":
                assert len(both.stdout.rstrip().split("\n\n")) == 3
    (tmp_path / "c").write_text("They left\n\nThe dogs\n")
    rows = [row.split("\t")[0] for row in run("surprisal", model, tmp_path / "c", tmp_path / "c").stdout.splitlines()]
    assert list(dict.fromkeys(rows)) == ["sent_id", "c:1", "c:3"]
    refused = run("parse", model, tmp_path / "c", tmp_path / "a.jsonl")
    assert (refused.exit_code, "files of one format" in refused.stderr) == (1, True)
    (tmp_path / "d.tagged").write_text("They\n")
    named = run("tag", tagger, tmp_path / "a.tagged", tmp_path / "d.tagged")
    assert (named.exit_code, "d.tagged, line 1" in named.stderr) == (1, True)


@pytest.mark.parametrize("form", [*INPUTS, "text"])
def test_empty_input(run: Run, tagger: Path, model: Path, parser: Path, form: str) -> None:
    for command, path in (("tag", tagger), ("parse", model), ("parse", parser)):
        result = run(command, path, "--format", form, stdin="")
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == "standard input: no sentences\n"


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


REFUSED = {
    ("constituency", "conllu"): "sentences in CoNLL-U, where trees in brackets are needed",
    (
        "constituency",
        "tagged",
    ): "words with tags, where trees in brackets are needed; they are for taggers",
    ("dependency", "brackets"): "trees in brackets, where sentences in CoNLL-U are needed; they are for constituency",
    ("dependency", "tagged"): "words with tags, where sentences in CoNLL-U are needed",
    ("tagger", "brackets"): "trees in brackets, where words with tags are needed",
    ("anchors", "brackets"): "trees in brackets, where tokenised sentences are needed",
}


@pytest.mark.parametrize(("kind", "form"), REFUSED)
def test_sources_in_another_format_are_refused(
    run: Run, model: Path, parser: Path, tagger: Path, tmp_path: Path, kind: str, form: str
) -> None:
    ending, text = INPUTS[form]
    commands: list[tuple[str | Path, ...]] = [("train", kind, "SOURCE", "-o", tmp_path / "new")]
    if kind != "anchors":
        path = {"constituency": model, "dependency": parser, "tagger": tagger}[kind]
        commands.append(("evaluate", path, "SOURCE"))
    if kind in ("constituency", "dependency"):
        commands.append(("score", path, "SOURCE"))
    for name in (f"a.{ending}", "a.txt"):
        (tmp_path / name).write_text(text)
        for command in commands:
            result = run(*(tmp_path / name if part == "SOURCE" else part for part in command))
            assert (result.exit_code, result.stdout) == (1, "")
            assert f"{tmp_path / name}: {REFUSED[kind, form]}" in result.stderr
    assert not (tmp_path / "new").exists()
