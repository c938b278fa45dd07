"""Benchmarks: all can be imported, and those of accuracy run on a small treebank."""

import importlib
from itertools import product
from pathlib import Path
from types import ModuleType

import pytest

from spectral_latent import ConstituencyModel
from spectral_latent.corpora.embedded import embedded_treebank

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
TREES = embedded_treebank(60)


def load(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module(name)


@pytest.fixture
def treebank(tmp_path: Path) -> str:
    (file := tmp_path / "small.mrg").write_text("\n".join(tree.bracketed() for tree in TREES))
    return str(file)


@pytest.mark.parametrize("name", [file.stem for file in sorted(FOLDER.glob("*.py"))])
def test_imports(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(name, monkeypatch).__doc__


def test_constituency(treebank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    constituency = load("constituency", monkeypatch)
    corpus = constituency.Corpus(treebank, treebank)
    for name in ("plain", "one spectral grammar", "fast"):
        row = constituency.measure(corpus, name)
        assert set(row) == set(constituency.COLUMNS)
        assert 50 < row["F1"] <= 100


def test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = load("files", monkeypatch)
    ConstituencyModel.train(TREES).save(tmp_path / "model")
    row = files.measure(str(tmp_path / "model"))
    assert set(row) == set(files.COLUMNS)
    assert row["file MB"] == (tmp_path / "model").stat().st_size / 1e6


def test_estimators(treebank: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    estimators = load("estimators", monkeypatch)
    row = estimators.measure("clusters-em, 5 iterations", treebank, treebank)
    assert set(row) == set(estimators.COLUMNS) and row["iterations"] > 0
    estimators.curves(treebank, treebank, [1, 2])
    head, rule, *rows = capsys.readouterr().out.splitlines()
    assert (head.count("|"), rule) == (4, "| --- | ---: | ---: |")
    assert [row.split("|")[1].strip() for row in rows] == ["from clusters", "from random"]
    assert all(50 < float(cell) <= 100 for row in rows for cell in row.split("|")[2:4])


def test_sequences(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every learner has a row."""
    sequences = load("sequences", monkeypatch)
    monkeypatch.setattr("sys.argv", ["sequences.py", "--kinds", "three", "--models", "1", "--strings", "100"])
    sequences.main()
    rows = [line.split("|")[3:6] for line in capsys.readouterr().out.splitlines() if line.startswith("| three")]
    assert [row[0].strip() for row in rows] == [
        "bigrams, λ = 0.1",
        "spectral, states chosen",
        "spectral",
        "spectral, then EM, 100 iterations",
        "spectral, then EM, to the end",
        "clusters, then EM",
        "Baum-Welch, one start",
        "Baum-Welch, best of 5",
    ]


def test_tagging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tagging = load("tagging", monkeypatch)
    sentences = [f"{noun}/N {verb}/V" for noun, verb in product(("cats", "dogs"), ("bark", "run"))]
    (file := tmp_path / "small.tagged").write_text("\n".join(sentences))
    row = tagging.measure(tagging.Corpus(str(file), str(file), None), "latent, m = 4")
    assert set(row) == set(tagging.COLUMNS)
    assert (row["accuracy"], row["unknown"]) == (100.0, 0.0)


def test_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks are a part of the work, and put back."""
    checks = load("checks", monkeypatch)
    for label, row in checks.rows(TREES[:20], TREES[:3]):
        assert 0.0 < row["checks ms"] < row["CPU ms"], label
    with checks.timed_checks() as clock:
        pass
    assert clock.seconds == 0.0
