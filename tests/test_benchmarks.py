"""Benchmarks run on small treebanks, pages have the tables of the results, and cheap rows come out again."""

import importlib
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks._pages import pages
from benchmarks._results import Result, lacking, merged, plan, printed, read_results, rows_of, tables_in

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
CHECKED = {name: benchmark for name, benchmark in plan().items() if benchmark.check}


def load(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{name}")


def test_pages_are_made_from_the_results() -> None:
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run python -m benchmarks tables"


def test_every_row_is_of_a_table_of_the_plan() -> None:
    results = read_results()
    tables = [table for benchmark in plan().values() for table in benchmark.tables]
    assert {result.table for result in results} <= set(tables)
    assert len({result.name for result in results}) == len(results)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.corpus] * bool(each.needs)) for name, each in CHECKED.items()]
)
def test_cheap_rows_come_out_again(name: str) -> None:
    """Columns are equal where the plan says `exact`, and as near as it says where it says `close`."""
    benchmark = CHECKED[name]
    if missing := benchmark.missing():
        pytest.skip(f"needs {', '.join(missing)}")
    kept = {result.name: result.cells for result in read_results()}
    text, _ = printed(benchmark.check["command"])
    compared = 0
    for table, cells in rows_of(benchmark, text):
        key = (table, *list(cells.values())[: benchmark.keys])
        if (old := kept.get(key)) is None:
            continue
        for column in benchmark.check.get("exact", ()):
            assert cells[column] == old[column], (key, column)
        for column, tolerance in benchmark.check.get("close", {}).items():
            assert bool(cells.get(column)) == bool(old.get(column)), (key, column)  # some rows lack some figures
            if cells.get(column):
                assert float(cells[column]) == pytest.approx(float(old[column]), abs=1.001 * tolerance), (key, column)
        compared += 1
    assert compared


def test_a_row_without_its_peers_data_keeps_the_published_one() -> None:
    def result(f1: str, over: str) -> Result:
        cells = {"model": "fast", "F1": f1, "over": over, "always empty": ""}
        return Result("t", 1, cells, "python -m x", "c", "2026-01-01", (0,), 1.0, "m")

    published, without = result("85.8", "-0.06"), result("85.9", "")
    assert merged([published], [without]) == [published]
    assert lacking([published], [without]) == {"t fast": ["over"]}
    assert merged([without], [published]) == [published] and not lacking([without], [published])
    assert merged([without], [result("86.0", "")]) == [result("86.0", "")]  # nothing was published


def test_missing_data_are_named_with_their_origin(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing is run or changed."""
    assert all(load("_results").how_to_get(source) for benchmark in plan().values() for source in benchmark.needs)
    monkeypatch.setenv("SPECTRAL_LATENT_DATA", str(tmp_path))
    monkeypatch.setattr(load("__main__"), "run", pytest.fail)
    before = load("_results").RESULTS.read_bytes()
    monkeypatch.setattr("sys.argv", ["benchmarks", "craft", "--record"])
    load("__main__").main()
    told = capsys.readouterr().out
    assert "treebanks/craft" in told and "github.com" in told
    assert load("_results").RESULTS.read_bytes() == before


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=n", "-c", "user.email=e")
    return subprocess.run(["git", "-C", folder, *who, *arguments], capture_output=True, text=True, check=True).stdout


def test_rows_older_than_the_code_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements count, comments and docstrings do not, and only those of the rooms that are measured."""
    found = load("_stale")
    monkeypatch.setattr(load("_results"), "ROOT", tmp_path)
    monkeypatch.setattr(found, "settings", lambda: {"rooms": {"Phrases": ["grammar"]}})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    found.change_since.cache_clear()
    phrases = [plan()["phrases"]]

    def row(commit: str, model: str = "fast") -> Result:
        return Result("phrases", 1, {"model": model}, "python -m x", commit, "2026-01-01", (0,), 1.0, "m")

    assert not found.is_checkout() and load("_results").commit() == "unknown"
    for room in ("grammar", "files"):
        (tmp_path / "spectral_latent" / room).mkdir(parents=True)
        (tmp_path / "spectral_latent" / room / "a.py").write_text('"""Old."""\n\nstates = 8  # so many\n')
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    first = git(tmp_path, "rev-parse", "--short=8", "HEAD").strip()
    assert found.is_checkout()
    (tmp_path / "spectral_latent/grammar/a.py").write_text('"""New."""\n\nstates = 8\n')
    (tmp_path / "spectral_latent/files/a.py").write_text("states = 9\n")
    assert list(found.stale([row(first), row(f"{first}+")], phrases)) == []
    found.change_since.cache_clear()
    (tmp_path / "spectral_latent/grammar/a.py").write_text('"""New."""\n\nstates = 9\n')
    (told,) = found.stale([row(first), row(first, "Berkeley parser")], phrases)
    assert all(part in told for part in ("phrases, fast", "grammar/a.py has changed", first))
    (tmp_path / "spectral_latent/grammar/a.model").write_bytes(b"\x9c")  # no text
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "second")
    second = git(tmp_path, "rev-parse", "--short=8", "HEAD").strip()
    (tmp_path / "spectral_latent/grammar/a.model").write_bytes(b"\x9d")
    (told,) = found.stale([row(second)], phrases)
    assert "grammar/a.model has changed" in told
    (told,) = found.stale([row("0123abcd")], phrases)
    assert "not in this clone" in told
    found.change_since.cache_clear()


def test_results_show_what_differs_and_stands_on_no_other_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A table of which a page has all rows is a link; columns that are the same in all rows are left out."""
    pages, results = load("_pages"), load("_results")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "docs").mkdir()

    def row(table: str, model: str, f1: str) -> Result:
        cells = {"model": model, "text": "dev", "fallbacks": f1, "F1": f1}
        return Result(table, 1, cells, "python -m x", "c", "2026-01-01", (0,), 1.0, "m")

    several = [row(table, model, f1) for table in ("phrases", "craft") for model, f1 in (("fast", "1"), ("best", "2"))]
    page = tmp_path / "docs/page.md"
    page.write_text(
        "<!-- results: phrases | model -->\n<!-- end -->\n<!-- results: craft | model | fast -->\n<!-- end -->"
    )
    assert "fallbacks" in results.settings()["left_out"]
    text = pages.results_page(several)
    assert "../docs/page.md" in text.partition("## Phrases")[2].partition("CRAFT")[0]
    assert list(tables_in(text)) == [[{"model": "fast", "F1": "1"}, {"model": "best", "F1": "2"}]]
    assert "| dev |" in pages.section([plan()["craft"]], several)


@pytest.mark.parametrize("name", [file.stem for file in sorted(FOLDER.glob("*.py")) if file.stem != "__main__"])
def test_imports(name: str) -> None:
    assert load(name).__doc__


def test_new_figures_stand_beside_recorded_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Only `--record` changes the file of results."""
    main, results = load("__main__"), load("_results")
    (file := tmp_path / "results.jsonl").write_text(results.RESULTS.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(results, "RESULTS", file)
    recorded = next(row for row in results.read_results() if row.table == "slopes")
    found = recorded._replace(cells=recorded.cells | {"twice the trees: errors fall by": "1%"})
    monkeypatch.setattr(main, "run", lambda benchmark: [found])
    for arguments in (["slopes"], ["slopes", "--record"]):
        before = file.read_text(encoding="utf-8")
        monkeypatch.setattr("sys.argv", ["benchmarks", *arguments])
        main.main()
        (table,) = tables_in(capsys.readouterr().out)
        assert [row["new"] for row in table] == ["1%"]
        assert (file.read_text(encoding="utf-8") == before) == (arguments == ["slopes"])
