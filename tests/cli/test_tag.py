"""`tag`, `label` and `evaluate` of taggers and of anchor models, whose tables are taken by `info --states`."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from spectral_latent.anchors import AnchorHMM
from spectral_latent.sequence import LatentTagger
from tests.cli.conftest import CONLLU, ROW, Run

TAGS = ["DT", "NNS", "VBD", ".", "NNS", "VBP"]


def filled(text: str, column: int, tags: list[str]) -> str:
    """The text with tags in a column of its words."""
    rest = iter(tags)

    def line_of(line: str) -> str:
        columns = line.split("\t")
        return "\t".join([*columns[:column], next(rest), *columns[column + 1 :]]) if columns[0].isdigit() else line

    return "\n".join(map(line_of, text.split("\n")))


def test_words_of_training_have_their_tags_and_empty_lines_stay(run: Run, tagger: Path, taggings: Path) -> None:
    gold = 100 * f"{taggings.read_text()}\n"  # more than is read at once
    assert run("tag", tagger, stdin=re.sub(r"/\S+", "", gold)).stdout == gold


@pytest.mark.parametrize("change", [("", ""), ("\n", "\r\n"), (r"\n\Z", ""), (r"\A", "\n\n")])
def test_a_column_of_conllu_is_filled_and_nothing_else_changes(
    run: Run, tagger: Path, tmp_path: Path, change: tuple[str, str]
) -> None:
    text = re.sub(*change, CONLLU)
    (tmp_path / "two").write_bytes(text.encode())
    for options, column in (([], 3), (["--column", "upos"], 3), (["--column", "xpos"], 4)):
        found = run("tag", tagger, tmp_path / "two", *options).stdout_bytes
        assert found == filled(text, column, TAGS).encode()


@pytest.mark.parametrize(
    ("learnt", "given", "column"),
    [("xpos", [], 4), ("xpos", ["--column", "upos"], 3), ("upos", ["--column", "xpos"], 4), ("of my own", [], 3)],
)
def test_the_column_of_training_is_filled(
    run: Run, tagger: Path, tmp_path: Path, learnt: str, given: list[str], column: int
) -> None:
    replace(LatentTagger.load(tagger), tagset=learnt).save(tmp_path / "model")
    assert run("tag", tmp_path / "model", *given, stdin=CONLLU).stdout == filled(CONLLU, column, TAGS)


def test_tags_that_are_hard_to_write(run: Run, tmp_path: Path) -> None:
    LatentTagger.train([[("a", 1), ("b", 2)]]).save(tmp_path / "numbers")
    result = run("tag", tmp_path / "numbers", stdin="a b")
    assert (result.exit_code, "the tag 1 " in result.stderr) == (1, True)
    LatentTagger.train([[("a", "A/X"), ("b", "B")]]).save(tmp_path / "slash")
    result = run("tag", tmp_path / "slash", stdin="a b")
    assert (result.exit_code, result.stdout, "'A/X'" in result.stderr) == (0, "a/A/X b/B\n", True)
    row = "1\ta\t_\t{}\t_\t_\t_\t_\t_\t_\n"
    result = run("tag", tmp_path / "slash", "--format", "conllu", stdin=row.format("_"))
    assert (result.stdout, result.stderr) == (row.format("A/X"), "")


def test_labels_are_the_tags_of_anchors(run: Run, files: Path, tmp_path: Path) -> None:
    """Anchors are named in letters of any case; a model has labels for all of them or for none."""
    anchored, labelled = files / "anchors", files / "labelled"
    first, *rest = AnchorHMM.load(anchored).anchors
    for n_states in (1, 50):
        told = run(
            "train", "anchors", files / "gold.tagged", "-o", tmp_path / "new", "--n-states", str(n_states)
        ).stderr
        assert ("supports only" in told) == (AnchorHMM.load(tmp_path / "new").n_states < n_states)
    assert AnchorHMM.load(labelled).labels == ("X0", "X1", "X2")
    assert ["labels" in AnchorHMM.load(path).sizes for path in (anchored, labelled)] == [False, True]
    _, *lines = run("info", labelled, "--states").stdout.splitlines()
    assert [line.split()[1:3] for line in lines] == [[first, "X0"], [rest[0], "X1"], [rest[1], "X2"]]
    assert run("label", labelled, f"{first.upper()}=X", "-o", tmp_path / "again").exit_code == 0
    assert AnchorHMM.load(tmp_path / "again").labels == ("X", "X1", "X2")
    result = run("label", anchored, f"{first}=X", "-o", tmp_path / "again")
    assert (result.exit_code, repr(rest[0]) in result.stderr) == (1, True)
    plain, named = (run("tag", path, stdin="They see it .\n").stdout for path in (anchored, labelled))
    for n, anchor in enumerate((first, *rest)):
        plain = plain.replace(f"/{anchor.upper()}", f"/X{n}")
    assert plain == named


def test_figures_of_states_and_of_tags(run: Run, files: Path, tmp_path: Path) -> None:
    """Of universal tags, that of a full stop is one."""
    gold, anchored, labelled = files / "gold.tagged", files / "anchors", tmp_path / "labelled"
    tag_of = {word.lower(): tag for word, tag in (token.rsplit("/", 1) for token in gold.read_text().split())}
    given = (f"{anchor}={tag_of[anchor]}" for anchor in AnchorHMM.load(anchored).anchors)
    assert run("label", anchored, *given, "-o", labelled, "-q").exit_code == 0
    found, tagged = (json.loads(run("evaluate", path, gold, "--json").stdout) for path in (anchored, labelled))
    assert (found["sentences"], found["tokens"]) == (18, len(gold.read_text().split()))
    assert 0 < tagged["accuracy"] <= found["many_to_one"] <= 100 and found["one_to_one"] <= found["many_to_one"]
    (tmp_path / "a.tagged").write_text("The/DT dogs/NNS see/VBP mice/NNS ./.\n")
    assert json.loads(run("evaluate", labelled, tmp_path / "a.tagged", "--json").stdout)["unknown_tokens"] == 1
    upos = {"NOUN": "PROPN", "VERB": "AUX", ".": "PUNCT"}
    given = (f"{anchor}={tag}" for anchor, tag in zip(AnchorHMM.load(anchored).anchors, upos, strict=True))
    assert run("label", anchored, *given, "-o", labelled, "-q").exit_code == 0
    tokens = [token.rsplit("/", 1) for token in run("tag", labelled, stdin="They see it .\n").stdout.split()]
    rows = (ROW.format(n, word, upos[tag], "_", "_", "_") for n, (word, tag) in enumerate(tokens, start=1))
    (tmp_path / "a.conllu").write_text("".join(rows))
    for options, accuracy in (([], 0.0), (["--column", "universal"], 100.0)):
        found = json.loads(run("evaluate", labelled, tmp_path / "a.conllu", "--json", "-q", *options).stdout)
        assert found["accuracy"] == accuracy
    options = ["--column", "universal", "--json"]
    assert json.loads(run("evaluate", anchored, tmp_path / "a.conllu", *options).stdout)["many_to_one"] == 100.0
    (tmp_path / "b.tagged").write_text("the/DT\n")
    result = run("evaluate", labelled, tmp_path / "b.tagged", "--column", "universal")
    assert (result.exit_code, "'DT'" in result.stderr) == (1, True)
