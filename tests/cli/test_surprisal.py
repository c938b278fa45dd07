"""`surprisal` on the command line: the numbers of the model, in each form."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from spectral_latent import load
from spectral_latent.constituency import ConstituencyModel
from spectral_latent.grammar import Limits
from spectral_latent.model import surprisal_of_regions
from spectral_latent.sequence import HMMOptions, LatentHMM
from tests.cli.conftest import Run

HEADER = ["sent_id", "number", "word", "seen", "surprisal", "lexical", "syntactic", "sentence"]
SENTENCES = [["They", "see", "it", "."], ["Cats", "left", "zebras", "."]]
TEXT = "They see it .\n\nCats left zebras .\n"


@pytest.mark.parametrize("kind", ["constituency", "dependency", "tagger", "hmm"])
def test_a_row_for_each_word(run: Run, files: Path, tmp_path: Path, kind: str) -> None:
    """Empty lines have no rows, but numbers; JSON has the same, with the end, that adds up to the sentence."""
    path = files / kind
    (tmp_path / "text").write_text(TEXT)
    assert run("surprisal", path, tmp_path / "text", "-o", tmp_path / "a.tsv").exit_code == 0
    header, *rows = [line.split("\t") for line in (tmp_path / "a.tsv").read_text().splitlines()]
    assert header == HEADER
    entries = [
        json.loads(line) for line in run("surprisal", path, "--json", "--unit", "nats", stdin=TEXT).stdout.splitlines()
    ]
    assert [(entry["sent_id"], entry["words"]) for entry in entries] == [("1", SENTENCES[0]), ("3", SENTENCES[1])]
    for entry in entries:
        own = [row for row in rows if row[0] == entry["sent_id"]]
        assert [row[1:3] for row in own] == [[str(at), word] for at, word in enumerate(entry["words"], start=1)]
        for name in entry.keys() & {"surprisal", "lexical", "syntactic"}:
            found = np.array([float(row[HEADER.index(name)]) for row in own])
            np.testing.assert_allclose(found * math.log(2), entry[name], atol=1e-5)
        assert sum(entry["surprisal"]) + entry["end"] == pytest.approx(entry["sentence"])
        if kind in ("tagger", "hmm"):
            assert entry["sentence"] == pytest.approx(-load(path).log_probabilities([entry["words"]])[0])
        assert [row[3] for row in own] == [str(word != "zebras").lower() for word in entry["words"]]
        assert entry["seen"] == [word != "zebras" for word in entry["words"]]


ITEMS = [["item", "rt", "text"], ["1", "310", "They see"], ["1", "402", "it,\tzebras ."], ["2", "", "They left it."]]


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_items_come_back_with_sums_of_their_regions(run: Run, model: Path, tmp_path: Path, separator: str) -> None:
    """In a table with the same separator, or as JSON: from several files, and into a file."""
    for name, rows in (("a.csv", ITEMS[:3]), ("b.TSV", [ITEMS[0], ITEMS[3]])):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file, delimiter=separator).writerows(rows)
    parser = ConstituencyModel.load(model)
    rows = [dict(zip(ITEMS[0], row, strict=True)) for row in ITEMS[1:]]
    wanted = list(surprisal_of_regions(rows, "text", parser.surprisal, parser.tokenisation, ["item"]))
    assert [row["words"] for row in wanted] == [2, 4, 4] and wanted[1]["unseen"] == 2
    command = ("surprisal", model, tmp_path / "a.csv", tmp_path / "b.TSV", "--items", "text", "--by", "item")
    assert run(*command, "-o", tmp_path / "out").exit_code == 0
    with (tmp_path / "out").open(newline="") as file:
        found = list(csv.DictReader(file, delimiter=separator))
    for row, other in zip(found, wanted, strict=True):
        assert list(row) == list(other)
        assert [row[name] for name in ITEMS[0]] == [other[name] for name in ITEMS[0]]
        assert [float(row[name]) for name in other.keys() - ITEMS[0]] == pytest.approx(
            [other[name] for name in other.keys() - ITEMS[0]], abs=1e-6
        )
    assert [json.loads(line) for line in run(*command, "--json").stdout.splitlines()] == wanted


def test_items_that_cannot_be_read(run: Run, model: Path, tmp_path: Path) -> None:
    items = tmp_path / "items.csv"
    items.write_text("item,text\n1,They see it.\n2,it, too\n")
    for arguments, code, told in (
        ((items,), 2, "--items"),
        (("--by", "item"), 2, "--items"),
        ((items, "--items", "text", "--text"), 2, "--text"),
        ((items, "--items", "txt"), 1, "'txt'"),
        ((items, "--items", "text"), 1, "items.csv, line 3"),
    ):
        found = run("surprisal", model, *arguments, stdin="")
        assert (found.exit_code, told in found.stderr) == (code, True), found.stderr


def test_models_that_have_none_are_refused(run: Run, treebank: Path, tmp_path: Path) -> None:
    train = (
        "train",
        "constituency",
        treebank,
        "-o",
        tmp_path / "spectral",
        "--estimator",
        "spectral",
        "--n-states",
        "2",
    )
    assert run(*train, "-q").exit_code == 0
    LatentHMM.train([[1, 2], [2]] * 5, HMMOptions(choose_states=False)).save(tmp_path / "numbers")
    for name, told in (("spectral", "preset 'fast'"), ("numbers", "1 is not a string")):
        found = run("surprisal", tmp_path / name, stdin=TEXT)
        assert (found.exit_code, found.stdout, told in found.stderr) == (1, "", True), found.stderr


@pytest.mark.filterwarnings("default")
def test_sentences_beyond_the_limits(run: Run, model: Path, tmp_path: Path) -> None:
    """No JSON reader takes NaN."""
    ConstituencyModel.load(model).with_limits(Limits(max_words=3)).save(tmp_path / "model")
    found = run("surprisal", tmp_path / "model", "--json", stdin=TEXT)
    assert "has no surprisal" in found.stderr
    entry = json.loads(found.stdout.splitlines()[0])
    assert entry["surprisal"] == [None] * 4 and entry["end"] is None
    row = run("surprisal", tmp_path / "model", "-q", stdin=TEXT).stdout.splitlines()[1].split("\t")
    assert all(math.isnan(float(x)) for x in row[4:])
