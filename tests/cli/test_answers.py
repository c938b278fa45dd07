"""Answers to long inputs: rows in and out, parts of an input, and commands that are killed and go on."""

import gzip
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import joblib
import pytest

from spectral_latent.cli import answers
from spectral_latent.constituency import ConstituencyModel

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

Run = Callable[..., Any]

SUBJECTS = ("They", "The dogs", "Cats with tails", "Cats with dogs", "The old house")
OBJECTS = ("it", "the old house", "dogs", "the dogs with tails", "cats")
SENTENCES = [f"{subject} {verb} {thing} ." for subject, verb, thing in product(SUBJECTS, ("see", "left"), OBJECTS)]
ENDINGS = ("txt", "txt.gz", "jsonl", "jsonl.gz", "parquet")
PROGRAM = """
import os, signal, sys
from spectral_latent.cli import answers, main

class Killed(answers._KeptAnswers):
    notes = 0
    def _save(self):
        self.notes += 1
        if self.notes > 80:
            os.kill(os.getpid(), signal.SIGKILL)
        super()._save()

answers._SECONDS = -1.0  # a note after each answer
answers._KeptAnswers = Killed
main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def parser(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dependency parser."""
    folder = tmp_path_factory.mktemp("parser")
    trees = (f"They\tP\t2\tsubj\nsee\tV\t0\troot\nit\tP\t{head}\tobj\n.\t.\t2\tpunct\n" for head in (2, 4))
    (folder / "a.tab").write_text("\n".join(trees))
    assert run("train", "dependency", folder / "a.tab", "-o", folder / "model", "-q").exit_code == 0
    return folder / "model"


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    """A file of tokenised sentences, one of them empty."""
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join([*SENTENCES[:20], "", *SENTENCES[20:]]) + "\n")
    return path


def conllu(sentence: list[str]) -> str:
    """Write a sentence as a table."""
    return "".join(f"{n}\t{word}\t_\t_\t_\t_\t_\t_\t_\t_\n" for n, word in enumerate(sentence, start=1)) + "\n"


def inputs(folder: Path) -> list[Path]:
    """Write the same sentences in several formats."""
    words = [sentence.split() for sentence in SENTENCES]
    texts = {
        "a.conllu": "".join(f"# text {n}\n{conllu(row)}" for n, row in enumerate(words)) + "# the end\n",
        "a.jsonl": "".join(json.dumps({"id": f"s{n}", "tokens": row}) + "\n" for n, row in enumerate(words)),
        "b.jsonl": json.dumps({"text": " ".join(SENTENCES[:5])}) + "\n\n" + '{"text": ""}\n{"text": "They left."}\n',
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    rows = pyarrow.table({"sent_id": range(len(words)), "words": words, "other": words})
    parquet.write_table(rows, folder / "a.parquet", row_group_size=7)
    return [folder / name for name in (*texts, "a.parquet")]


# Rows


def test_rows_have_names_and_words_or_text(run: Run, model: Path, tagger: Path) -> None:
    rows = [
        {"id": 7, "words": ["They", "see", "it", "."]},
        {"sent_id": "a b", "tokens": ["They", "left"], "tags": ["PRP", "VBD"], "other": None},
        {"text": "They see it. They\nleft."},
        {"words": []},
    ]
    text = "\n".join(map(json.dumps, rows))
    found = [json.loads(line) for line in run("parse", model, "--json", stdin=text).stdout.splitlines()]
    assert [each["sent_id"] for each in found] == ["7", "a b", "3.1", "3.2", "4"]
    assert run("parse", model, stdin=text).stdout == (
        run("parse", model, stdin="They see it .\nThey left\nThey see it .\nThey left .\n\n").stdout
    )
    tagged = [json.loads(line) for line in run("tag", tagger, "--json", stdin=text).stdout.splitlines()]
    assert [each["sent_id"] for each in tagged] == ["7", "a b", "3.1", "3.2", "4"]
    assert tagged[0] == {"sent_id": "7", "words": rows[0]["words"], "tags": ["PRP", "VBP", "PRP", "."]}


def test_names_of_rows_are_those_of_trees(run: Run, parser: Path) -> None:
    text = '{"id": "x", "words": ["They", "see", "it", "."], "tags": ["P", "V", "P", "."]}\n{"text": "They see it."}'
    lines = run("parse", parser, stdin=text).stdout.splitlines()
    assert [line for line in lines if line.startswith("# sent_id")] == ["# sent_id = x", "# sent_id = 2.1"]
    assert [line.split("\t")[3] for line in lines if line[:1].isdecimal()][:2] == ["P", "V"]
    lines = run("parse", parser, "--n-best", "2", stdin=text).stdout.splitlines()
    assert [line for line in lines if line.startswith("# sent_id")][:2] == ["# sent_id = x-1", "# sent_id = x-2"]


def test_tagged_rows_are_parsed(run: Run, model: Path, tagger: Path, sentences: Path, tmp_path: Path) -> None:
    """What `tag` writes, `parse` reads, in JSON and in Parquet alike; the trees are those of the model."""
    for ending in ("jsonl", "jsonl.gz", "parquet"):
        tagged = tmp_path / f"tagged.{ending}"
        assert run("tag", tagger, sentences, "-o", tagged, "-q").exit_code == 0
        assert run("parse", model, tagged, "-o", tmp_path / f"trees.{ending}", "-q").exit_code == 0
    rows = parquet.read_table(tmp_path / "tagged.parquet").to_pylist()
    assert rows == [json.loads(line) for line in (tmp_path / "tagged.jsonl").read_text().splitlines()]
    assert [row["words"] for row in rows] == [line.split() for line in sentences.read_text().splitlines()]
    trees = parquet.read_table(tmp_path / "trees.parquet").to_pylist()
    loaded = ConstituencyModel.load(model)
    for row, tree in zip(filter(lambda row: row["words"], rows), trees, strict=True):
        parse = loaded.parse(row["words"])
        assert tree == {
            "sent_id": row["sent_id"],
            "rank": 1,
            "tree": parse.tree.bracketed(),
            "score": parse.log,
            "fallback": parse.is_fallback,
        }


def test_dependencies_in_parquet(run: Run, parser: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("They see it .\n\nsee see see\n")
    for options in ((), ("--n-best", "2")):
        result = run("parse", parser, tmp_path / "a.txt", "-o", tmp_path / "a.parquet", *options)
        assert result.exit_code == 0
        expected = [
            (each["sent_id"], rank, each["words"], tree["heads"], tree["relations"], float(tree["score"]))
            for line in run("parse", parser, tmp_path / "a.txt", "--json", *options).stdout.splitlines()
            for each in [json.loads(line)]
            for rank, tree in enumerate(each["candidates"], start=1)
        ]
        names = ("sent_id", "rank", "words", "heads", "relations", "score")
        rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
        assert [tuple(row[name] for name in names) for row in rows] == expected
        assert rows[0]["tags"] == ["P", "V", "P", "."]


NOT_ROWS = {
    '{"words": ["a"]': r"line 2, column \d+: not JSON .*; give an object on each line",
    "[1, 2]": r"line 2: \[1, 2\] is not an object; give one such as",
    "[" * 100_000: "line 2: not JSON that can be read",
    '{"id": ' + "9" * 5000 + "}": "line 2: not JSON that can be read",
    "{}": "line 2: none of the fields words, tokens and text; give one",
    '{"words": [], "text": ""}': "line 2: the fields words and text; give one",
    '{"words": "They see it"}': 'line 2: words is "They see it", which is not a list; give a list of strings',
    '{"words": ["They", 7]}': "line 2: words is 7, which is not a string; give a string",
    '{"words": ["They", "see it"]}': 'line 2: words has "see it", a string with white space; divide or remove it',
    '{"tokens": ["They", ""]}': 'line 2: tokens has "", a string without characters; divide or remove it',
    '{"words": ["They"], "tags": []}': "line 2: 0 tags of 1 words; give one for each word",
    '{"text": ["They"]}': r'line 2: text is \["They"\], which is not a string; give a string',
    '{"text": "\\ud800"}': r"line 2: text has \\ud800, half a character; give whole characters",
    '{"text": "a", "id": 1.5}': "line 2: id is 1.5, which is not a string; give a string",
    '{"text": "a", "id": "a\\nb"}': r'line 2: id is "a\\nb"; give a name on one line',
}


@pytest.mark.parametrize("line", NOT_ROWS, ids=[line[:30] for line in NOT_ROWS])
def test_lines_that_are_not_rows(run: Run, model: Path, tagger: Path, tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "They see it."}}\n{line}\n')
    for command in (("parse", model), ("tag", tagger)):
        result = run(*command, path, "-o", tmp_path / "out")
        assert (result.exit_code, result.stdout) == (1, "")
        assert re.match(rf"Error: {path}, {NOT_ROWS[line]}", result.stderr), result.stderr
    assert {each.name for each in tmp_path.iterdir()} == {"a.jsonl"}


def test_parquet_that_cannot_be_read(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet.write_table(pyarrow.table({"sentence": ["They left ."]}), tmp_path / "column.parquet")
    parquet.write_table(pyarrow.table({"words": [["They"], None]}), tmp_path / "null.parquet")
    whole = (tmp_path / "null.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[:-9])
    (tmp_path / "text.parquet").write_text("They left .\n")
    for name, message in {
        "column": "no column words, tokens or text among sentence; rename the column of sentences",
        "null": "row 2: none of the fields words, tokens and text; give one",
        "cut": "not Parquet that can be read",
        "text": "not Parquet, as its name says; give --format",
    }.items():
        result = run("parse", model, tmp_path / f"{name}.parquet")
        assert (result.exit_code, message in result.stderr) == (1, True), result.stderr
    for result in (
        run("parse", model, "--format", "parquet", stdin=whole),
        run("parse", model, tmp_path / "text.parquet", "-o", tmp_path / "a.parquet.gz"),
        run("parse", model, tmp_path / "text.parquet", "-o", tmp_path / "a.parquet", "--json"),
    ):
        assert result.exit_code != 0
        assert any(remedy in result.stderr for remedy in ("name a file", "leave out"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "a.txt").write_text("They left .\n")
    before = set(tmp_path.iterdir())
    for arguments in ((tmp_path / "null.parquet",), (tmp_path / "a.txt", "-o", tmp_path / "a.parquet")):
        result = run("parse", model, *arguments)
        assert (result.exit_code, 'pip install ".[parquet]"' in result.stderr) == (1, True)
    assert set(tmp_path.iterdir()) == before


def test_training_refuses_rows(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text('{"words": ["a"]}\n')
    for kind in ("constituency", "dependency", "tagger", "anchor"):
        result = run("train", kind, tmp_path / "a.txt", "-o", tmp_path / "new")
        assert (result.exit_code, "rows in JSON lines, where" in result.stderr) == (1, True)


# Parts


@pytest.mark.parametrize("n_parts", [1, 3, 17])
def test_parts_are_the_whole(run: Run, model: Path, tagger: Path, tmp_path: Path, n_parts: int) -> None:
    commands = (("tag", tagger),) if n_parts > 3 else (("parse", model), ("tag", tagger), ("tag", tagger, "--json"))
    for path, command in product(inputs(tmp_path), commands):
        whole = run(*command, path)
        parts = [run(*command, path, "--shard", f"{number}/{n_parts}") for number in range(1, n_parts + 1)]
        assert whole.stdout == "".join(part.stdout for part in parts) != ""
        if n_parts == 3:
            lengths = [part.stdout.count("\n") for part in parts]
            assert max(lengths) < 0.6 * sum(lengths)


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/2/3", "-1/2"])
def test_parts_that_are_none(run: Run, model: Path, shard: str) -> None:
    result = run("parse", model, "--shard", shard, stdin="They left .\n")
    assert (result.exit_code, "is not such as 1/4" in result.stderr) == (2, True)


def test_a_pipe_has_no_parts(run: Run, model: Path) -> None:
    result = run("parse", model, "--shard", "1/2", stdin="They left .\n")
    assert (result.exit_code, "a pipe cannot be divided" in result.stderr) == (1, True)


def test_processes_tag_alike(run: Run, tagger: Path, sentences: Path) -> None:
    with joblib.parallel_config("threading"):
        assert run("tag", tagger, sentences, "--jobs", "2").stdout == run("tag", tagger, sentences).stdout


# Commands that go on


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_a_kill_may_leave_is_finished_to_the_same_bytes(
    run: Run, model: Path, parser: Path, tagger: Path, tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """States of the two files during a command, with answers behind the last note, and after the last one.

    The commands of all endings together go through all formats of input.
    """
    table, named, raw, rows = inputs(tmp_path)
    commands: dict[str, list[tuple[Any, ...]]] = {
        "txt": [("parse", parser, table), ("tag", tagger, table)],
        "txt.gz": [("parse", model, named, "--n-best", "2", "--shard", "2/3"), ("tag", tagger, raw)],
        "jsonl": [("parse", parser, named), ("tag", tagger, rows)],
        "jsonl.gz": [("parse", model, raw), ("tag", tagger, named)],
        "parquet": [("parse", model, rows), ("parse", parser, table)],
    }
    states = tmp_path / "states"
    states.mkdir()
    write = answers._KeptAnswers._write
    output = tmp_path / f"out.{ending}"
    part, note = (tmp_path / f"out.{ending}.{name}" for name in ("part", "progress"))

    def write_and_copy(self: answers._KeptAnswers, *given: Any) -> None:
        write(self, *given)
        if self.sentences % 20 == 1 or self.sentences == len(SENTENCES):
            self._save()
            shutil.copy(part, states / f"{self.sentences}.part")
            shutil.copy(note, states / f"{self.sentences}.progress")

    for command in commands[ending]:
        with monkeypatch.context() as during:
            during.setattr(answers._KeptAnswers, "_write", write_and_copy)
            assert run(*command, "-o", output, "-q").exit_code == 0
        expected = output.read_bytes()
        assert not part.exists() and not note.exists()
        for state in states.glob("*.part"):
            output.unlink(missing_ok=True)
            part.write_bytes(state.read_bytes() + b"the beginning of an answ")
            shutil.copy(state.with_suffix(".progress"), note)
            with note.open("a") as file:
                file.write('{"bytes": 7, "sent')
            if ending.endswith((".gz", "parquet")):
                (tmp_path / f"out.{ending}.part.new").write_text("PAR1")
            result = run(*command, "-o", output, "--resume")
            assert result.exit_code == 0, result.stderr
            assert f"going on after {state.stem} sentences" in result.stderr
            assert output.read_bytes() == expected
            assert [path for path in tmp_path.glob("out*") if path != output] == []
            state.unlink()
        printed = run(*command, *(["--json"] if "jsonl" in ending else [])).stdout
        if ending != "parquet":
            content = gzip.decompress(expected) if ending.endswith(".gz") else expected
            assert content.decode() == printed


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_command_that_is_killed_twice(run: Run, model: Path, tmp_path: Path) -> None:
    source = tmp_path / "sentences.txt"
    source.write_text("\n".join(SENTENCES * 8))
    expected = run("parse", model, source).stdout
    output = tmp_path / "out.txt"
    note = tmp_path / "out.txt.progress"
    command = ["parse", model, source, "-o", output, "--resume"]
    for kills in (1, 2):
        killed = subprocess.run([sys.executable, "-c", PROGRAM, *command], capture_output=True)
        assert (killed.returncode, output.exists()) == (-signal.SIGKILL, False)
        assert json.loads(note.read_bytes().splitlines()[-1])["sentences"] == 80 * kills
    n_words = len(" ".join(SENTENCES).split())
    finished = run(*command)
    assert "going on after 160 sentences" in finished.stderr
    assert finished.stderr.endswith(f"out.txt: 400 sentences, {8 * n_words:,} words\n")
    assert output.read_text() == expected
    again = run(*command)
    assert (again.exit_code, again.stderr) == (
        0,
        f"{output}: complete; leave out --resume to write it anew\n",
    )


@pytest.fixture
def unfinished(
    run: Run, model: Path, sentences: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Path]:
    """The note and the answers of a command that was interrupted."""
    monkeypatch.setattr(answers, "_SECONDS", 0.0)
    write = answers._KeptAnswers._write

    def stop(self: answers._KeptAnswers, *given: Any) -> None:
        if self.sentences == 31:  # counted, and not written yet
            monkeypatch.undo()
            raise KeyboardInterrupt
        write(self, *given)

    monkeypatch.setattr(answers._KeptAnswers, "_write", stop)
    result = run("parse", model, sentences, "-o", tmp_path / "out")
    assert (result.exit_code, f"{tmp_path / 'out'}.part: 30 sentences; --resume" in result.stderr) == (130, True)
    return tmp_path / "out.progress", tmp_path / "out.part"


def test_other_commands_do_not_go_on(
    run: Run, model: Path, tagger: Path, sentences: Path, tmp_path: Path, unfinished: tuple[Path, Path]
) -> None:
    before = [path.read_bytes() for path in unfinished]
    other = tmp_path / "other"
    other.write_bytes(model.read_bytes())
    ConstituencyModel.load(model).with_limits(ConstituencyModel.load(model).options.limits).save(other)
    trees = tmp_path / "a.mrg"
    trees.write_text("(S (NP (PRP They)) (VP (VBP see)))\n" * 3)
    assert run("train", "constituency", trees, "-o", other, "--n-states", "2", "-q").exit_code == 0
    text = sentences.read_text()
    for arguments, message in (
        (("parse", model, sentences, "--n-best", "2"), "other settings (--n-best)"),
        (("parse", other, sentences, "--seconds", "5"), "other settings (MODEL, --seconds)"),
        (("parse", model, sentences, "--shard", "1/2"), "other settings (--shard)"),
        (("tag", tagger, sentences), "other settings (command, MODEL, "),
    ):
        result = run(*arguments, "-o", tmp_path / "out", "--resume")
        assert (result.exit_code, message in result.stderr) == (1, True), result.stderr
        assert [path.read_bytes() for path in unfinished] == before
    for changed in (text.replace("They", "Cats", 1), text[:200], ""):
        sentences.write_text(changed)
        result = run("parse", model, sentences, "-o", tmp_path / "out", "--resume")
        assert (result.exit_code, "does not begin with the 30 sentences" in result.stderr) == (1, True)
        assert [path.read_bytes() for path in unfinished] == before
    sentences.write_text(text)
    result = run("parse", model, sentences, "-o", tmp_path / "out", "--resume", "--jobs", "1")
    assert result.exit_code == 0
    assert (tmp_path / "out").read_text() == run("parse", model, sentences).stdout


def test_an_input_may_grow(
    run: Run, model: Path, sentences: Path, tmp_path: Path, unfinished: tuple[Path, Path]
) -> None:
    with sentences.open("a") as file:
        file.write("They left it .\n")
    text = sentences.read_text()
    for arguments in ((model, sentences), (model, "-")):
        kept = [path.read_bytes() for path in unfinished]
        assert run("parse", *arguments, "-o", tmp_path / "out", "--resume", stdin=text).exit_code == 0
        assert (tmp_path / "out").read_text() == run("parse", model, stdin=text).stdout
        for path, content in zip(unfinished, kept, strict=True):
            path.write_bytes(content)


def test_files_of_an_unfinished_command(
    run: Run, model: Path, sentences: Path, tmp_path: Path, unfinished: tuple[Path, Path]
) -> None:
    note, part = unfinished
    contents = (note.read_bytes(), part.read_bytes())
    command = ("parse", model, sentences, "-o", tmp_path / "out")
    part.write_bytes(contents[1][:-1])
    assert "cut short; leave out --resume" in run(*command, "--resume").stderr
    part.unlink()
    assert "cut short; leave out --resume" in run(*command, "--resume").stderr
    for damaged in (b"{}\n", b"[]\n", b"\xff\n", contents[0][-90:]):
        note.write_bytes(contents[0] + damaged)
        assert "damaged; leave out --resume" in run(*command, "--resume").stderr
    if sys.platform != "win32":
        import fcntl

        with note.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for options in ((), ("--resume",)):
                assert "another process writes it" in run(*command, *options).stderr
    result = run(*command)  # begins anew
    assert result.exit_code == 0
    assert (tmp_path / "out").read_text() == run("parse", model, sentences).stdout
    assert not note.exists() and not part.exists()


def test_resume_goes_with_an_output(run: Run, model: Path) -> None:
    result = run("parse", model, "--resume", stdin="They left .\n")
    assert (result.exit_code, "--resume goes with --output" in result.stderr) == (2, True)
