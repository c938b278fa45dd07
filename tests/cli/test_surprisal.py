"""`surprisal` on the command line: the numbers of the model, in each form."""

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.constituency import ConstituencyModel
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.grammar import Limits
from spectral_latent.model import surprisal_of_regions
from spectral_latent.sequence import HMMOptions, LatentHMM, LatentTagger
from tests.cli.conftest import Run

HEADER = ["sent_id", "number", "word", "seen", "surprisal", "lexical", "syntactic", "sentence"]
SENTENCES = [["They", "see", "it", "."], ["Cats", "left", "zebras", "."]]
TEXT = "They see it .\n\nCats left zebras .\n"


def test_a_row_for_each_word(run: Run, model: Path, tmp_path: Path) -> None:
    """Empty lines have no rows, but numbers; the rows of the parts of an output are those of the whole."""
    parser = ConstituencyModel.load(model)
    header, *rows = [line.split("\t") for line in run("surprisal", model, stdin=TEXT).stdout.splitlines()]
    assert header == HEADER
    for number, words in zip((1, 3), SENTENCES, strict=True):
        own = [row for row in rows if row[0] == str(number)]
        assert [row[1:3] for row in own] == [[str(at), word] for at, word in enumerate(words, start=1)]
        found = parser.surprisal(words)
        wanted = np.stack([found.total, found.lexical, found.syntactic, [found.sentence] * len(words)], axis=1)
        np.testing.assert_allclose([[float(x) for x in row[4:]] for row in own], wanted, atol=1e-6)
        known = set(parser.members[0].lexicon.known)
        assert [row[3] for row in own] == ["true" if {word, word.lower()} & known else "false" for word in words]
    assert {row[2] for row in rows if row[3] == "false"} >= {"zebras"}
    (tmp_path / "text").write_text(TEXT)
    assert run("surprisal", model, tmp_path / "text", "-o", tmp_path / "a.tsv").exit_code == 0
    whole = (tmp_path / "a.tsv").read_text()
    assert whole == run("surprisal", model, stdin=TEXT).stdout
    assert whole.startswith("\t".join(HEADER) + "\n")


def test_readers_of_tables_find_every_row(run: Run, model: Path) -> None:
    words = ["He", '"', "no", '"', "'", "``", '"a', 'b"c', "#", "\\", "left"]
    found = run("surprisal", model, stdin=" ".join(words) + "\n" + '"\n').stdout
    header, *rows = csv.reader(io.StringIO(found, newline=""), delimiter="\t")
    assert header == HEADER and {len(row) for row in rows} == {len(HEADER)}
    assert [row[:3] for row in rows] == [["1", str(n), word] for n, word in enumerate(words, 1)] + [["2", "1", '"']]
    pandas = pytest.importorskip("pandas")
    assert pandas.read_csv(io.StringIO(found), sep="\t", keep_default_na=False)["word"].tolist() == [*words, '"']


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
        ((items,), 2, "items.csv is a table; name its column of text by --items"),
        (("--by", "item"), 2, "--by is for --items"),
        ((items, "--items", "text", "--text"), 2, "--format and --text are not"),
        ((items, "--items", "txt"), 1, "items.csv: row 1 has no column 'txt', but item, text"),
        ((items, "--items", "text"), 1, "items.csv, line 3: 3 cells, but 2 columns"),
    ):
        found = run("surprisal", model, *arguments, stdin="")
        assert (found.exit_code, told in found.stderr) == (code, True), found.stderr


def test_json(run: Run, model: Path, tmp_path: Path) -> None:
    entries = [
        json.loads(line) for line in run("surprisal", model, "--json", "--unit", "nats", stdin=TEXT).stdout.splitlines()
    ]
    assert [(entry["sent_id"], entry["words"]) for entry in entries] == [("1", SENTENCES[0]), ("3", SENTENCES[1])]
    found = ConstituencyModel.load(model).surprisal(SENTENCES[0], "nats")
    assert entries[0]["surprisal"] == found.total.tolist() and entries[0]["end"] == found.end
    assert entries[0]["lexical"] == found.lexical.tolist() and entries[0]["syntactic"] == found.syntactic.tolist()
    assert entries[0]["sentence"] == pytest.approx(sum(entries[0]["surprisal"]) + entries[0]["end"])
    assert entries[1]["seen"][2] is False and entries[1]["seen"][3] is True


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


def test_tags_of_dependency_parsers(run: Run, tmp_path: Path) -> None:
    trees = [
        DependencySentence.of([noun, "run"], [tag, "VERB"]).with_heads((2, 0))
        for noun, tag in (("dogs", "NOUN"), ("it", "PRON"))
    ]
    parser = DependencyModel.train(trees * 20)
    parser.save(tmp_path / "model")
    found = run("surprisal", tmp_path / "model", "--json", stdin="dogs/NOUN run/VERB\n")
    wanted = parser.surprisal(DependencySentence.of(["dogs", "run"], ["NOUN", "VERB"]))
    assert json.loads(found.stdout)["surprisal"] == wanted.total.tolist()
    assert json.loads(found.stdout)["seen"] == [True, True]
    assert parser.surprisal(DependencySentence.of(["cats", "run"], ["NOUN", "VERB"])).seen.tolist() == [False, True]


def test_models_without_probabilities(run: Run, treebank: Path, tmp_path: Path) -> None:
    train = ("train", "constituency", treebank, "-o", tmp_path / "model", "--estimator", "spectral", "--n-states", "2")
    assert run(*train, "-q").exit_code == 0
    found = run("surprisal", tmp_path / "model", stdin=TEXT)
    assert found.exit_code == 1 and not found.stdout
    assert "gives estimates that may be negative" in found.stderr and "preset 'fast'" in found.stderr


def test_taggers_and_models_of_sequences(run: Run, tagger: Path, tmp_path: Path) -> None:
    """A spectral model of sequences without tags has probabilities too."""
    hmm = LatentHMM.train(SENTENCES * 20, HMMOptions(EstimatorOptions("spectral", n_states=2), choose_states=False))
    hmm.save(tmp_path / "hmm")
    for path, model in ((tagger, LatentTagger.load(tagger)), (tmp_path / "hmm", hmm)):
        lines = run("surprisal", path, "--json", "--unit", "nats", stdin=TEXT).stdout.splitlines()
        entries = [json.loads(line) for line in lines]
        for entry, words in zip(entries, SENTENCES, strict=True):
            found = model.surprisal(words, "nats")
            assert entry["surprisal"] == found.total.tolist() and entry["end"] == found.end
            total = -sum(entry["surprisal"]) - entry["end"]
            assert total == pytest.approx(model.log_probabilities([words])[0], rel=1e-9)
        raw = run("surprisal", path, "--text", stdin="They see it.").stdout.splitlines()
        assert [line.split("\t")[2] for line in raw] == ["word", "They", "see", "it", "."]


def test_models_of_other_kinds(run: Run, tmp_path: Path) -> None:
    LatentHMM.train([[1, 2], [2]] * 5, HMMOptions(choose_states=False)).save(tmp_path / "numbers")
    assert "the observation 1 is not a string" in run("surprisal", tmp_path / "numbers", stdin=TEXT).stderr
    anchored = AnchorHMM.train(SENTENCES, AnchorOptions(n_states=2))
    for model in (anchored, anchored.label(dict.fromkeys(anchored.anchors, "X"))):
        model.save(tmp_path / "anchors")
        refused = run("surprisal", tmp_path / "anchors", stdin=TEXT).stderr
        assert "an anchor model, where " in refused and "use it with `tag`, `evaluate`" in refused
