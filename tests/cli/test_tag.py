"""`tag`, `label` and `evaluate` of taggers and of anchor models, whose tables are taken by `info --states`."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from spectral_latent.anchors import AnchorHMM
from spectral_latent.sequence import LatentTagger
from tests.cli.conftest import CONLLU, Run

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


# Anchors

PARTS = {"DET": ["the", "a", "this"], "NOUN": ["dog", "cat", "bird"], "VERB": ["sees", "hears", "likes"]}
OBJECTS = [[], [("the", "DET"), ("dog", "NOUN")], [("a", "DET"), ("bird", "NOUN")], [("it", "NOUN")]]
BEGINS = itertools.product(*([(word, tag) for word in words] for tag, words in PARTS.items()))
GOLD = [[*begin, *thing, (".", "PUNCT")] for begin, thing in itertools.product(BEGINS, OBJECTS)]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("anchors") / "all.tagged"
    path.write_text("".join(" ".join(map("/".join, row)) + "\n" for row in GOLD))
    return path


@pytest.fixture(scope="module")
def anchored(run: Run, source: Path) -> Path:
    path = source.parent / "anchored"
    assert run("train", "anchors", source, "-o", path, "--n-states", "4", "-q").exit_code == 0
    return path


@pytest.fixture(scope="module")
def labels(anchored: Path) -> dict[str, str]:
    tag_of = dict(itertools.chain.from_iterable(GOLD))
    return {anchor: tag_of[anchor] for anchor in AnchorHMM.load(anchored).anchors}


@pytest.fixture(scope="module")
def labelled(run: Run, anchored: Path, labels: dict[str, str]) -> Path:
    path = anchored.parent / "labelled"
    given = (f"{anchor.upper()}={tag}" for anchor, tag in labels.items())
    assert run("label", anchored, *given, "-o", path, "-q").exit_code == 0
    return path


def test_labels_are_the_tags_of_anchors(run: Run, anchored: Path, labelled: Path, labels: dict[str, str]) -> None:
    assert AnchorHMM.load(labelled).labels == tuple(labels.values())
    _, *lines = run("info", labelled, "--states").stdout.splitlines()
    assert [line.split()[1:3] for line in lines] == [list(pair) for pair in labels.items()]
    first, *rest = labels
    again = labelled.parent / "again"
    assert run("label", labelled, f"{first}=X", "-o", again).exit_code == 0
    assert AnchorHMM.load(again).labels == ("X", *(labels[anchor] for anchor in rest))
    result = run("label", anchored, f"{first}=X", "-o", again)
    assert (result.exit_code, repr(rest[0]) in result.stderr) == (1, True)
    text = "the dog sees a bird .\n"
    plain, named = (run("tag", path, stdin=text).stdout.split() for path in (anchored, labelled))
    assert named == ["the/DET", "dog/NOUN", "sees/VERB", "a/DET", "bird/NOUN", "./PUNCT"]
    own = {anchor.upper(): tag for anchor, tag in labels.items()}
    assert [f"{word}/{own[tag]}" for word, tag in (token.split("/") for token in plain)] == named


def test_figures_of_states_and_of_tags(run: Run, source: Path, anchored: Path, labelled: Path, tmp_path: Path) -> None:
    """Of universal tags, that of a full stop is one."""
    found, tagged = (json.loads(run("evaluate", path, source, "--json").stdout) for path in (anchored, labelled))
    assert (found["sentences"], found["tokens"]) == (len(GOLD), sum(map(len, GOLD)))
    assert 90 < tagged["accuracy"] <= found["many_to_one"] <= 100 and found["one_to_one"] <= found["many_to_one"]
    (tmp_path / "a.tagged").write_text("The/DET Dog/NOUN sees/VERB mice/NOUN ./PUNCT\n")
    assert json.loads(run("evaluate", labelled, tmp_path / "a.tagged", "--json").stdout)["unknown_tokens"] == 1
    rows = [("the", "DET"), ("dog", "PROPN"), ("likes", "AUX"), (".", "PUNCT")]
    lines = (f"{number}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for number, (word, tag) in enumerate(rows, start=1))
    (tmp_path / "a.conllu").write_text("".join(lines))
    for options, accuracy in (([], 50.0), (["--column", "universal"], 75.0)):
        found = json.loads(run("evaluate", labelled, tmp_path / "a.conllu", "--json", "-q", *options).stdout)
        assert found["accuracy"] == accuracy
    options = ["--column", "universal", "--json"]
    assert json.loads(run("evaluate", anchored, tmp_path / "a.conllu", *options).stdout)["many_to_one"] == 100.0
    (tmp_path / "b.tagged").write_text("the/DT\n")
    result = run("evaluate", labelled, tmp_path / "b.tagged", "--column", "universal")
    assert (result.exit_code, "'DT'" in result.stderr) == (1, True)
