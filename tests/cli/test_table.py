"""One table of commands: every command with models of every kind, and with every form of input, good and bad.

What commands compute is compared with the library in the files that are named after them.
"""

import csv
import gzip
import inspect
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.corpora import parse_brackets, parse_conllu
from tests.cli.conftest import Run, command_at
from tests.cli.reference import commands

WORDS = ["They", "see", "dogs", "."]
ROW = "{}\t{}\t_\t{tag}\t{tag}\t_\t{}\t{}\t_\t_\n"
TREE = "( (S (NP-SBJ (PRP They)) (VP (VBP see) (NP (NNS dogs) (-NONE- *))) (. .)) )\n"
TABLE = "# sent_id = {}\n" + "".join(
    ROW.format(n, word, head, "root" if head == 0 else "dep", tag=tag)
    for n, (word, head, tag) in enumerate(zip(WORDS, (2, 0, 2, 2), ("PRP", "VBP", "NNS", "."), strict=True), start=1)
)
INPUTS = {  # of each format: the ending of a name, and a sentence
    "brackets": ("mrg", TREE),
    "conllu": ("conllu", TABLE.format(1) + "\n"),
    "tagged": ("tagged", "They/PRP see/VBP dogs/NNS ./.\n"),
    "json": ("jsonl", '{"words": ["They", "see", "dogs", "."]}\n'),
    "tokens": ("txt", "They see dogs .\n"),
}
ANSWERED = {  # the commands that answer sentence by sentence, and the models that they are tried with
    "parse": ("constituency", "dependency"),
    "tag": ("tagger", "anchors", "labelled"),
    "surprisal": ("constituency", "dependency", "tagger", "hmm"),
}
ASKED = [(command, kind) for command, kinds in ANSWERED.items() for kind in kinds]
KINDS = ("constituency", "dependency", "tagger", "hmm", "anchors", "reranker")


def words_of(text: str, command: str) -> list[list[str]]:
    if command == "tag":
        return [[token.rsplit("/", 1)[0] for token in line.split()] for line in text.splitlines()]
    if command == "surprisal":
        rows = [line.split("\t") for line in text.splitlines()[1:]]
        return [[row[2] for row in rows if row[0] == name] for name in dict.fromkeys(row[0] for row in rows)]
    if text.startswith("("):
        return [list(tree.words()) for tree in parse_brackets(text)]
    return [list(sentence.forms) for sentence in parse_conllu(text)]


@pytest.mark.parametrize("form", INPUTS)
@pytest.mark.parametrize(("command", "kind"), ASKED)
def test_a_format_is_known_by_name_lines_and_option(
    run: Run, files: Path, tmp_path: Path, command: str, kind: str, form: str
) -> None:
    """From files and pipes, compressed or not, and to files; JSON has the same words."""
    ending, text = INPUTS[form]
    (tmp_path / "a").write_text(text)
    (tmp_path / f"b.{ending}.gz").write_bytes(gzip.compress(text.encode()))
    ask = (command, files / kind)
    expected = run(*ask, stdin=text)
    assert expected.exit_code == 0, expected.stderr
    if not (command == "tag" and form == "conllu"):
        assert words_of(expected.stdout, command) == [WORDS]
    assert run(*ask, tmp_path / f"b.{ending}.gz").stdout == expected.stdout
    assert run(*ask, "--format", form, stdin=text).stdout == expected.stdout
    assert run(*ask, tmp_path / "a", "-o", tmp_path / "out", "-q").output == ""
    assert (tmp_path / "out").read_text() == expected.stdout
    (row,) = run(*ask, tmp_path / "a", "--json").stdout.splitlines()
    assert json.loads(row)["words"] == WORDS
    assert run(*ask, tmp_path / "a", "-o", tmp_path / "out.jsonl.gz", "-q").output == ""
    assert gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()).decode() == f"{row}\n"


@pytest.mark.parametrize("form", INPUTS)
@pytest.mark.parametrize(("command", "kind"), ASKED)
def test_several_files_are_several_files(
    run: Run, files: Path, tmp_path: Path, command: str, kind: str, form: str
) -> None:
    ending, text = INPUTS[form]
    second = text.replace("# sent_id = 1\n", "") if form == "conllu" else text
    (tmp_path / f"a.{ending}").write_text(text.rstrip("\n"))
    (tmp_path / f"b.{ending}").write_text(2 * second)
    names = [tmp_path / f"{name}.{ending}" for name in "ab"]
    rows = [json.loads(row) for row in run(command, files / kind, *names, "--json").stdout.splitlines()]
    assert [row["words"] for row in rows] == [WORDS] * 3
    first = "1" if form == "conllu" else f"a.{ending}:1"
    assert [row["sent_id"] for row in rows] == [first, f"b.{ending}:1", f"b.{ending}:2"]
    both, alone = (run(command, files / kind, *given) for given in (names, names[:1]))
    assert both.exit_code == 0 and len(both.stdout.splitlines()) > len(alone.stdout.splitlines())
    (tmp_path / "c.txt").write_text("a tokenised sentence")
    (tmp_path / "c.jsonl").write_text("{}\n")
    refused = run(command, files / kind, names[0], tmp_path / ("c.jsonl" if form != "json" else "c.txt"))
    assert (refused.exit_code, refused.stdout, "files of one format" in refused.stderr) == (1, "", True)


ODD = [*(":)", "a(b)c", "((", "\u00a0", "日本語", "x" * 3000, "\x00", "-NONE-", "\u2028", "*", "and/or", "/", "a//")]
ODD += ['"', "``", 'b"c', "#", "\\", "http://a.b/c", "03/04/2024"]


@pytest.mark.parametrize(("command", "kind"), ASKED)
def test_odd_words_are_words(run: Run, files: Path, command: str, kind: str) -> None:
    """One to a word of the output; brackets are written as those of the Penn Treebank."""
    result = run(
        command, files / kind, "-q", "--format", "tokens", stdin="".join(f"They see {word} .\n" for word in ODD)
    )
    if command == "surprisal":
        rows = list(csv.reader(io.StringIO(result.stdout, newline=""), delimiter="\t"))[1:]
        assert [row[2] for row in rows] == [word for odd in ODD for word in ("They", "see", odd, ".")]
        return
    assert "日本語" in run(command, files / kind, "-q", "--json", stdin="They see 日本語 .\n").stdout
    found = words_of(result.stdout.replace("\u2028", "_"), command)
    for words, odd in zip(found, ODD, strict=True):
        assert (words[:2], words[3:]) == (["They", "see"], ["."])
        assert words[2] == odd.replace("\u2028", "_") or set(odd) & set("()\u00a0\0*-"), odd


@pytest.mark.parametrize("command", ["parse", "surprisal"])
def test_what_speaks_for_another_format_is_told(run: Run, model: Path, command: str) -> None:
    text = "They/X see/X\nit and/or\n"
    result = run(command, model, stdin=text)
    assert (result.exit_code, "They/X" in result.stdout, "--format" in result.stderr) == (0, True, True)
    assert "--format" not in run(command, model, "--format", "tokens", stdin=text).stderr


def test_rows_have_names_and_words_or_text(run: Run, model: Path, tagger: Path) -> None:
    rows = [
        {"id": 7, "words": ["They", "see", "it", "."]},
        {"sent_id": "a b", "tokens": ["They", "left", "it", "."], "tags": ["PRP", "VBD", "PRP", "."], "other": None},
        {"text": "They see it. They\nleft."},
        {"words": []},
    ]
    text = "\n".join(map(json.dumps, rows))
    expected = run("parse", model, stdin="They see it .\nThey left it .\nThey see it .\nThey left .\n\n").stdout
    assert run("parse", model, stdin=text).stdout == expected
    for command, path in (("parse", model), ("tag", tagger)):
        found = [json.loads(line) for line in run(command, path, "--json", stdin=text).stdout.splitlines()]
        assert [each["sent_id"] for each in found] == ["7", "a b", "3.1", "3.2", "4"]
    assert found[0] == {"sent_id": "7", "words": rows[0]["words"], "tags": ["PRP", "VBP", "PRP", "."]}


def test_what_tag_writes_is_read_and_obeyed_by_parse(run: Run, files: Path, tmp_path: Path) -> None:
    """With the names of rows, which those of several trees begin with."""
    tagged = tmp_path / "tagged.jsonl.gz"
    text = "The dogs see it .\n\nCats with tails left the old house .\n"
    assert run("tag", files / "tagger", "-o", tagged, "-q", stdin=text).exit_code == 0
    rows = [json.loads(line) for line in gzip.decompress(tagged.read_bytes()).splitlines()]
    assert [row["words"] for row in rows] == [line.split() for line in text.splitlines()]
    trees = parse_brackets(run("parse", files / "constituency", tagged).stdout)
    for row, tree in zip(rows[::2], trees, strict=True):
        leaves = [(leaf.label, leaf.children[0]) for leaf in tree.preterminals()]
        assert leaves == [*zip(row["tags"], row["words"], strict=True)]
    table = list(parse_conllu(run("parse", files / "dependency", "--n-best", "2", tagged).stdout))
    assert {sentence.comments[0] for sentence in table} >= {"sent_id = 1-1", "sent_id = 3-1"}
    assert {sentence.upos for sentence in table} == {tuple(row["tags"]) for row in rows if row["tags"]}


@pytest.mark.parametrize("form", [*INPUTS, "text"])
@pytest.mark.parametrize(("command", "kind"), ASKED)
def test_empty_input(run: Run, files: Path, command: str, kind: str, form: str) -> None:
    result = run(command, files / kind, "--format", form, stdin="")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "standard input: no sentences\n")
    assert run(command, files / kind, "--format", form, "-q", stdin="\n \n").stderr == ""


@pytest.mark.parametrize(("command", "kind"), ASKED)
def test_raw_text_and_several_processes(run: Run, files: Path, command: str, kind: str) -> None:
    """Raw text is the same as its words; without --text there is one warning; processes give the same."""
    raw, words = "They see dogs. They\nleft it.\n", "They see dogs .\nThey left it .\n"
    ask = (command, files / kind)
    of_text, of_words = run(*ask, "--text", stdin=raw), run(*ask, stdin=words)
    assert (of_text.exit_code, of_text.stderr) == (0, "")
    if kind != "dependency" or command == "surprisal":  # whose table has the text, too
        assert of_text.stdout == of_words.stdout
    assert run(*ask, stdin=raw).stderr.count("give --text") == 1
    if kind in ("constituency", "tagger"):
        two = run(*ask, "--jobs", "2", stdin=words * 20)
        assert (two.exit_code, two.stdout) == (0, run(*ask, stdin=words * 20).stdout)


# What is refused: one rule for all messages. They name the source, the line if there is one, and what to do.

REMEDY = re.compile(
    r"; |\bgive\b|\bsave\b|\bwrite\b|\bconvert\b|\bdid you mean\b|No such file|a folder|is needed|is for", re.IGNORECASE
)


def refused(result: Any, *named: str | Path, status: int = 1) -> str:
    """Assert that a command was refused by this rule, and return the message."""
    message = " ".join(result.stderr.split())
    assert (result.exit_code, result.stdout) == (status, ""), message
    assert "Traceback" not in message
    for name in named:
        assert str(name) in message, message
    assert REMEDY.search(message), message
    return message


def with_kinds() -> Iterator[tuple[tuple[str, ...], Any]]:
    """List the commands that are for some kinds of models, but not the commands of training."""
    for path in commands():
        command = command_at(path)
        if getattr(command, "kinds", None) and path[0] != "train":
            yield path, command


@pytest.mark.parametrize(("path", "command"), list(with_kinds()), ids=str)
def test_models_of_other_kinds_and_options_of_other_kinds(
    run: Run, files: Path, path: tuple[str, ...], command: Any
) -> None:
    more = {"label": ("the=X", "-o", files / "new"), "evaluate": (files / "gold.tagged",), "info": ("--states",)}
    for kind in KINDS:
        given = (*path, files / kind, *more.get(path[-1], ("/dev/null",)))
        if kind not in command.kinds:
            told = refused(run(*given), files / kind).partition("use it with ")[2]
            for name in {"parse", "tag", "surprisal", "label"} & {*re.findall("`(\\w+)`", told)}:
                assert kind in command_at((name,)).kinds
            assert "`info`" in told or kind == "reranker"
            continue
        own = inspect.signature(command.kinds[kind]).parameters
        every = [p for each in command.kinds.values() for p in inspect.signature(each).parameters.values()]
        for name in sorted({p.name for p in every if p.kind is p.KEYWORD_ONLY} - own.keys()):
            option = f"--{name.rstrip('_').replace('_', '-')}"
            (parameter,) = (each for each in command.params if each.name == name)
            value = [] if parameter.is_flag else [next(iter(getattr(parameter.type, "choices", ["2"])))]
            refused(run(*given, option, *value), f"{option} is for ", files / kind, status=2)
    assert not (files / "new").exists()


BAD: dict[str, tuple[bytes, str]] = {  # files that nothing can be read from, and the place that is named
    "latin.txt": (b"They see it .\ncaf\xe9 .\n", "line 2, byte 4"),
    "binary.txt": (bytes(range(256)) * 20, "binary data"),
    "png.txt": (b"\x89PNG\0\0\0", "binary data"),
    "cut.txt.gz": (gzip.compress(b"They see it .\n")[:-5], "cut short"),
    "wide.txt": ("They".encode("utf-16"), "binary data"),
    "unbalanced.mrg": (b"(S (NN dogs))\n(S (NN dogs)", "line 2"),
    "short.conllu": (TABLE.encode() + b"5\tYes\n", "line 6"),
    "head.conllu": (TABLE.replace("\t2\tdep", "\tx\tdep", 1).encode(), "line 2"),
    "untagged.tagged": (b"They/PRP\nthey see/VBP\n", "line 2"),
    "row.jsonl": (b'{"text": "They see it."}\n{}\n', "line 2"),
    "cut.jsonl": (b'{"words": ["They"\n', "line 1"),
    "old.dp": (b"They\tXX\t2\nsee\tYY\t0\n", "CoNLL-U"),
}
READERS = {  # a command line for each, in which FILE is read
    "parse": ("parse", "constituency", "FILE"),
    "parse arcs": ("parse", "dependency", "FILE"),
    "tag": ("tag", "tagger", "FILE"),
    "surprisal": ("surprisal", "hmm", "FILE"),
    "score": ("score", "constituency", "FILE"),
    "score arcs": ("score", "dependency", "FILE"),
    "evaluate": ("evaluate", "constituency", "FILE"),
    "evaluate arcs": ("evaluate", "dependency", "FILE"),
    "evaluate tags": ("evaluate", "tagger", "FILE"),
    "train": ("train", "constituency", "FILE"),
    "train arcs": ("train", "dependency", "FILE"),
    "train tags": ("train", "tagger", "FILE"),
    "train hmm": ("train", "hmm", "FILE"),
    "train anchors": ("train", "anchors", "FILE"),
    "rerank": ("rerank", "apply", "reranker", "FILE", "--model", "constituency"),
    "rerank lists": ("rerank", "lists", "constituency", "FILE"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("reader", READERS)
def test_bad_files(run: Run, files: Path, tmp_path: Path, reader: str, name: str) -> None:
    """Refused by each command for what is wrong, or for its format; an output is not begun, or stays as it was."""
    content, place = BAD[name]
    path = tmp_path / name
    path.write_bytes(content)
    (tmp_path / "out").write_text("old")
    given = [path if word == "FILE" else files / word if (files / word).exists() else word for word in READERS[reader]]
    output = [] if reader.startswith("evaluate") else ["-o", tmp_path / "out"]
    if reader.startswith("train"):
        given[1] = READERS[reader][1]
    result = run(*given, *output, "-q")
    if result.exit_code == 0:  # where only words are read, a table may have any heads and old formats are lines
        assert name in ("head.conllu", "old.dp", "row.jsonl", "cut.jsonl", "untagged.tagged")
        return
    message = refused(result, path)
    if (
        "needed" not in message
        and "no n-best list" not in message
        and "read as" not in message
        and "no longer read" not in message
    ):
        assert place in message, message
    assert (tmp_path / "out").read_text() == "old"
    assert {each.name for each in tmp_path.iterdir()} == {name, "out"}


MODELS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "text": lambda whole: b"not a model\n" * 100,
    "binary": lambda whole: bytes(range(256)) * 20,
    "cut": lambda whole: whole[:-100],
    "header": lambda whole: whole[:30],
    "digest": lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]),
    "version": lambda whole: whole.replace(b'\\"version\\":8', b'\\"version\\":9', 1),
}


@pytest.mark.parametrize("path", [path for path in commands() if path and path[0] not in ("train", "demo")], ids=str)
def test_damaged_models(run: Run, files: Path, tmp_path: Path, path: tuple[str, ...]) -> None:
    if path in (("rerank",), ("rerank", "train")):
        return
    more = {
        "label": ("the=X", "-o", tmp_path / "new"),
        "evaluate": (files / "gold.mrg", *(("--gold", files / "gold.mrg") if path[0] == "rerank" else ())),
        "info": (),
    }.get(path[-1], (files / "gold.mrg",))
    whole = (files / "constituency").read_bytes()
    for name, change in MODELS.items():
        (tmp_path / name).write_bytes(change(whole))
        refused(run(*path, tmp_path / name, *more), tmp_path / name)
    for other in (tmp_path / "none", tmp_path):
        refused(run(*path, other, *more), other)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        ("prase constituency", 2, r"No such command 'prase'; did you mean parse"),
        ("train parser gold.mrg", 2, r"No such command 'parser'; there are constituency, dependency"),
        ("parse constituency --nbest 5", 2, r"No such option.*--n-best"),
        ("parse constituency --n-best 0", 2, r"--n-best"),
        ("parse constituency --limit words", 2, r"--limit words: give words=N, seconds=N or megabytes=N"),
        ("parse constituency --limit words=0", 2, r"--limit.*at least 1"),
        ("parse constituency --html page.txt", 2, r"page.txt: name a file that ends in .html"),
        ("parse constituency --html page.html --json", 2, r"--html .*--json"),
        ("parse dependency --non-projective --n-best 2", 2, r"--non-projective .*--n-best"),
        ("parse dependency --confidence --json", 2, r"--json .*--confidence"),
        ("parse constituency nofile.txt", 1, r"nofile.txt: No such file or directory"),
        ("parse gold.mrg constituency", 1, r"gold.mrg: text, where the file of a model is needed"),
        ("parse nomodel gold.mrg", 1, r"nomodel: neither a file nor a ready model; the ready models are "),
        ("parse constituency gold.mrg -o none/new", 2, r"none/new: the folder does not exist; create it first"),
        ("parse constituency gold.mrg -o gold.mrg", 1, r"gold.mrg: a file to read, which would be lost"),
        ("tag tagger gold.mrg --column upos", 2, r"--column is for CoNLL-U; give --format conllu"),
        ("train constituency gold.mrg", 2, r"Missing option .*-o"),
        ("train constituency nltk:treebnk -o new", 1, r"NLTK has no such treebank; did you mean nltk:treebank\?"),
        ("train constituency gold.conllu -o new", 1, r"CoNLL-U, where trees .*`train dependency`.*`train tagger`"),
        ("train dependency gold.mrg -o new", 1, r"trees in brackets, where .*`train constituency`"),
        ("train constituency gold.mrg -o new --preset fast --estimator em", 2, r"--preset includes .* leave out"),
        ("train constituency gold.mrg -o new --weight 1 --weight 2", 2, r"--weight is given 2 times for 1 source"),
        ("train constituency gold.mrg -o new --weight nan", 1, r"is nan; give a finite number"),
        ("train constituency gold.mrg -o new --weight -1", 2, r"--weight': -1.0 is not in the range"),
        ("info --states", 2, r"--states is for a model; give MODEL"),
        ("info constituency --symbol np", 1, r"no symbol 'np'; did you mean NP\?"),
        ("label anchors never=X -o new", 1, r"'never' is not an anchor; the anchors are"),
        ("label anchors the -o new", 2, r"give an anchor and its tag, as in the=DET"),
    ],
)
def test_wrong_command_lines(
    run: Run, files: Path, monkeypatch: pytest.MonkeyPatch, line: str, status: int, message: str
) -> None:
    monkeypatch.chdir(files)
    before = {path: path.read_bytes() for path in files.iterdir()}
    result = run(*line.split(), stdin="They see it .\n")
    assert result.exit_code == status, result.stderr
    assert re.search(message, " ".join(result.stderr.split())), result.stderr
    assert {path: path.read_bytes() for path in files.iterdir()} == before  # nothing lost or half-written
