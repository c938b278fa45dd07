"""Benchmarks run on small treebanks, pages have the tables of the results, and cheap rows come out again."""

import importlib
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks._measure import half_interval, print_head, print_row
from benchmarks._pages import filled, pages
from benchmarks._results import Result, lacking, merged, plan, printed, read_results, rooms, rows_of, tables_in
from spectral_latent.corpora import CorpusError
from spectral_latent.evaluation import GoldTree, TaggingScore
from tests.toy import toy_treebank

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
TREES = toy_treebank(60)
CHECKED = {name: benchmark for name, benchmark in plan().items() if benchmark.check}


def load(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{name}")


# ---------------------------------------------------------------------------------------------------------------------
# Results


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


def test_rows_are_replaced_by_their_key() -> None:
    def result(row: str, figure: str) -> Result:
        return Result("t", 1, {"model": row, "F1": figure}, "python -m x", "c", "2026-01-01", (0,), 1.0, "m")

    old = [result("a", "1"), result("b", "2")]
    found = merged(old, [result("b", "3"), result("c", "4")])
    assert [(row.cells["model"], row.cells["F1"]) for row in found] == [("a", "1"), ("b", "3"), ("c", "4")]


def test_a_row_without_its_peers_data_keeps_the_published_one() -> None:
    def result(f1: str, over: str) -> Result:
        cells = {"model": "fast", "F1": f1, "over": over, "always empty": ""}
        return Result("t", 1, cells, "python -m x", "c", "2026-01-01", (0,), 1.0, "m")

    published, without = result("85.8", "-0.06"), result("85.9", "")
    assert merged([published], [without]) == [published]
    assert lacking([published], [without]) == {"t fast": ["over"]}
    assert merged([without], [published]) == [published] and not lacking([without], [published])
    assert merged([without], [result("86.0", "")]) == [result("86.0", "")]  # nothing was published


def test_the_help_names_benchmarks_that_exist() -> None:
    lines = re.findall(r"python -m benchmarks +([^#\n]*)#", str(load("__main__").__doc__))
    assert {name for line in lines for name in line.split()} - {
        *plan(),
        "papers",
        "all",
        "tables",
        "show",
        "--record",
    } == set()
    assert len(lines) == 7


def test_every_section_names_rooms_that_exist() -> None:
    assert rooms().keys() == {benchmark.title for benchmark in plan().values()}
    library = FOLDER.parent / "spectral_latent"
    assert [name for names in rooms().values() for name in names if not (library / name).is_dir()] == []


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
    monkeypatch.setattr(found, "rooms", lambda: {"Phrases": ["grammar"]})
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


def test_tables_are_read_as_they_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_head(["model"], ["F1", "±"])
    print_row(["fast"], {"F1": 85.81, "±": "1.2"}, ["F1", "±"], ())
    print("text")
    print_row(["best"], {"F1": 1234.4}, ["F1", "±"], ["F1"])
    head = "| model | F1 | ± |\n| --- | ---: | ---: |\n"
    text = capsys.readouterr().out.replace("text\n", f"text\n{head}")
    assert list(tables_in(text)) == [
        [{"model": "fast", "F1": "85.8", "±": "1.2"}, {"model": "best", "F1": "1,234", "±": ""}]
    ]


def test_a_page_chooses_columns_and_rows() -> None:
    cells = [{"model": name, "F1": "85.8", "s": "9"} for name in ("fast", "best")]
    results = [Result("t", 1, row, "python -m x", "c", "2026-01-01", (0,), 1.0, "m") for row in cells]
    page = "<!-- results: t | model; F1 | best -->\nold\n<!-- end -->"
    table = "| model | F1 |\n| --- | ---: |\n| best | 85.8 |\n"
    told = "\nMeasured: commit c, 2026-01-01.\n"
    assert filled(page, results) == f"<!-- results: t | model; F1 | best -->\n{table}{told}<!-- end -->"
    page = "<!-- results: t | model -->\n<!-- end -->"
    results[1] = results[1]._replace(commit="d")
    results.append(results[1]._replace(cells={"model": "Berkeley parser", "F1": "85.8", "s": ""}, commit="e"))
    rows = ["| fast | c |", "| best | d |", "| Berkeley parser | |"]  # of another parser, whose commit says nothing
    assert filled(page, results).splitlines()[1:6] == ["| model | commit |", "| --- | --- |", *rows]


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
    assert "fallbacks" in results.left_out()
    text = pages.results_page(several)
    assert "../docs/page.md" in text.partition("## Phrases")[2].partition("CRAFT")[0]
    assert list(tables_in(text)) == [[{"model": "fast", "F1": "1"}, {"model": "best", "F1": "2"}]]
    assert "| dev |" in pages.section([plan()["craft"]], several)


# ---------------------------------------------------------------------------------------------------------------------
# Benchmarks on small data


@pytest.fixture
def treebank(tmp_path: Path) -> str:
    (file := tmp_path / "small.mrg").write_text("\n".join(tree.bracketed() for tree in TREES))
    return str(file)


@pytest.mark.parametrize("name", [file.stem for file in sorted(FOLDER.glob("*.py")) if file.stem != "__main__"])
def test_imports(name: str) -> None:
    assert load(name).__doc__


@pytest.mark.parametrize("model", ["plain", "one spectral grammar", "fast"])
def test_accuracy_of_phrases(treebank: str, model: str) -> None:
    accuracy = load("accuracy")
    row = accuracy.measure(accuracy.Row("phrases", model, treebank, treebank, None))
    assert set(row) <= {"sentences", *accuracy.TASKS["phrases"].columns, *accuracy.COSTS}
    assert row["sentences"] == len(TREES) and 50 < row["F1"] <= 100 and row["±"] < 10


def test_parts_of_a_treebank(treebank: str) -> None:
    """A part has as many trees as asked for, and the sentences that are asked for are evaluated."""
    accuracy = load("accuracy")
    row = accuracy.measure(accuracy.Row("phrases", "plain", treebank, treebank, 20, every=2, words="1-12"))
    short = [tree for tree in TREES if len(list(tree.words())) <= 12]
    assert row["sentences"] == len(short[::2])
    assert row["F1"] < accuracy.measure(accuracy.Row("phrases", "plain", treebank, treebank, None))["F1"]


def test_intervals(tmp_path: Path) -> None:
    """Half of an interval is about 1.96 standard errors, and the first tree of a list counts."""
    scores = [TaggingScore(tokens=1, correct=int(i % 5 > 0)) for i in range(500)]
    half = half_interval(scores, lambda score: score.accuracy)
    assert half == pytest.approx(100 * 1.96 * (0.8 * 0.2 / 500) ** 0.5, rel=0.1)
    berkeley_trees = load("_peers").berkeley_trees
    gold = [tree for tree in map(GoldTree.of, TREES[:2]) if tree is not None]
    best = TREES[0].bracketed()
    (lists := tmp_path / "dev.trees").write_text(f"-1.5\t{best}\n-2.5\t{best.replace('(S ', '(X ', 1)}\n\n")
    assert [tree.bracketed() for tree in berkeley_trees(lists, [0], gold[:1])] == [best]


def test_accuracy_of_arcs_and_tags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [("dogs", "NOUN", 2, "nsubj"), ("bark", "VERB", 0, "root"), ("loudly", "ADV", 2, "advmod")]
    rows = (f"{i}\t{w}\t_\t{u}\t_\t_\t{h}\t{r}\t_\t_\n" for i, (w, u, h, r) in enumerate(words, start=1))
    (file := tmp_path / "small.conllu").write_text(("".join(rows) + "\n") * 20)
    sources = ["--train", str(file), "--evaluate", f"small={file}"]
    for task, column, more in (("dependencies", "LAS", []), ("tags", "accuracy", ["--column", "upos"])):
        load("accuracy").main([task, *sources, "--models", "fast", "spectral", *more])
        (found,) = tables_in(capsys.readouterr().out)
        assert [(row["model"], row["text"], row[column], row["±"]) for row in found] == [
            (name, "small", "100.0", "0.0") for name in ("fast", "spectral")
        ]
    load("accuracy").main(["columns", *sources, "--given", "words", "text"])
    (found,) = tables_in(capsys.readouterr().out)
    assert [(row["given"], row["Tokens"]) for row in found] == [("words", "100.0"), ("text", "100.0")]
    assert found[0]["LAS"] == "100.0"


def test_learning_curve() -> None:
    curve = load("learning_curve")
    halved = [curve.Point(n, 1.0, 100.0 - 64.0 / n) for n in (1, 2, 4)]
    assert curve.gain_of_doubling(halved) == pytest.approx(0.5)
    curves = curve.read_curves()
    drawn = [line for axes in curve.draw(curves).axes for line in axes.lines]
    assert sum(len(line.get_xdata()) for line in drawn) == 2 * sum(map(len, curves.values()))


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


def test_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    """Every learner has a row, and what knows more is nearer to the truth than bigrams."""
    load("sequences").main(["random", "--kinds", "three", "--models", "1", "--strings", "100"])
    (rows,) = tables_in(capsys.readouterr().out)
    assert {(row["model"], row["strings"]) for row in rows} == {("three", "100")}
    assert len({row["learner"] for row in rows}) == 8


def test_files_of_pautomac(tmp_path: Path) -> None:
    """They are read as they stand, and damaged ones refused."""
    sequences = load("sequences")
    (file := tmp_path / "1.pautomac.train").write_text("3 8\n5 5 4 1 1 5\n0\n1 7\n\n")
    assert sequences.read_strings(file) == [[5, 4, 1, 1, 5], [], [7]]
    for damaged in ("", "2 2\n0\n\n1 1\n", "1 2\n2 0\n", "1 2\n1 x\n", "3 2\n0\n"):
        file.write_text(damaged)
        with pytest.raises(CorpusError, match=r"1\.pautomac\.train"):
            sequences.read_strings(file)


def test_coverage() -> None:
    """Smoothing adds bias, so that intervals miss the truth; no tree is covered less often than the worst."""
    coverage = load("known_models")
    rows = {name: coverage.measure_coverage(coverage.PROBLEMS[10], name, 200, 3) for name in coverage.SETTINGS}
    for row in rows.values():
        assert set(row) == set(coverage.COVERAGE_COLUMNS)
        assert 0 <= row["worst"] <= row["coverage %"] <= 100 and row["worst"] <= row["rarer half"]
        assert row["worst"] <= row["worst sound"]
    assert rows["default"]["error alone"] < rows["no smoothing"]["error alone"]
    assert rows["default"]["error alone"] < rows["default"]["coverage %"]
