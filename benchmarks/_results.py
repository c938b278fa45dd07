"""Keep results: run benchmarks, read the tables that they print, and write a JSON line for each row.

| here | meaning |
| --- | --- |
| plan.toml | the benchmarks, each with its command, its data and the tables that the command prints |
| results.jsonl | a line for each row of each table, with the command, commit and machine that it comes from |
| RESULTS.md | all tables, made from these lines |
| `<!-- results: NAME -->` | the place of a table in any other page; it ends with `<!-- end -->` |

A row keeps its cells as the benchmark printed them.  The first cells, as many as the plan says, are its key: a row that
is measured again replaces the row with the same key.
"""

import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PLAN = ROOT / "benchmarks/plan.toml"
RESULTS = ROOT / "benchmarks/results.jsonl"
DATA = "SPECTRAL_LATENT_DATA"  # the folder of data that the plan's commands name
PEERS = ("Berkeley parser", "MSTParser", "NLTK", "UDPipe", "hmmlearn")  # begin their rows
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class Benchmark(NamedTuple):
    """A benchmark of the plan.

    name: the name on the command line.
    title: the heading of its tables.
    command: the module to run, and its arguments.
    tables: the name of each table that the command prints, in turn, with a caption.
    needs: the data; `nltk:NAME`, or a path with `$SPECTRAL_LATENT_DATA`.
    keys: how many of the first cells are the key of a row.
    seeds: the seeds that the figures depend on.
    note: what a reader must know of the tables.
    drawn: the page that draws all rows of the tables; empty if there is none.
    check: how a test runs the benchmark, or a cheap part of it; empty if no test does.
    """

    name: str
    title: str
    command: str
    tables: dict[str, str]
    needs: Sequence[str] = ()
    keys: int = 1
    seeds: Sequence[int] = (0,)
    note: str = ""
    drawn: str = ""
    check: Mapping[str, Any] = MappingProxyType({})

    def missing(self) -> list[str]:
        """List the data that are not there."""
        return [source for source in self.needs if not is_there(source)]


class Result(NamedTuple):
    """A row of a table.

    table: the name of the table.
    key: how many of the first cells are its key.
    cells: the texts of its cells by the names of the columns.
    command: the command line that printed it.
    commit: the commit of the code.
    date: the day of the run.
    seeds: the seeds that the figures depend on.
    cpu_seconds: CPU seconds of the whole command, compilation included; None if nobody noted them.
    machine: the processor and the versions of what does the arithmetic.
    """

    table: str
    key: int
    cells: dict[str, str]
    command: str
    commit: str
    date: str
    seeds: Sequence[int]
    cpu_seconds: float | None
    machine: str

    @property
    def name(self) -> tuple[str, ...]:
        """The table, and the cells that identify the row in it."""
        return (self.table, *list(self.cells.values())[: self.key])

    def line(self) -> str:
        """Write the row as a line of JSON."""
        return json.dumps(self._asdict(), ensure_ascii=False)


def settings() -> dict[str, Any]:
    """Read what the plan says besides the benchmarks: the text that RESULTS.md begins with, the columns that it leaves
    out, the rooms that the benchmarks of each title measure, and where data come from."""
    return tomllib.loads(PLAN.read_text(encoding="utf-8"))


def plan() -> dict[str, Benchmark]:
    """Read the plan, the benchmarks by their names."""
    several = (Benchmark(**{"tables": {entry["name"]: ""}} | entry) for entry in settings()["benchmark"])
    return {benchmark.name: benchmark for benchmark in several}


def how_to_get(source: str) -> str:
    """Say where data of the plan come from."""
    return next(origin for beginning, origin in settings()["data"].items() if source.startswith(beginning))


def peer_of(result: Result) -> str:
    """Name the other program of a row, which does not change with this library; empty if the row is the library's."""
    cells = (cell for cell in result.name[1:] if cell.startswith(PEERS))
    return next(cells, "").partition(",")[0]


def is_there(source: str) -> bool:
    """Tell whether data of the plan are on this machine."""
    if source.startswith("nltk:"):
        from nltk.data import path

        found = (Path(folder, "corpora", source[len("nltk:") :]) for folder in path)
        return any(place.exists() or place.with_suffix(".zip").exists() for place in found)
    expanded = os.path.expandvars(source)
    return "$" not in expanded and Path(expanded).exists()


def read_results() -> list[Result]:
    """Read the lines of all results."""
    return [Result(**json.loads(line)) for line in RESULTS.read_text(encoding="utf-8").splitlines()]


def write_results(results: Iterable[Result]) -> None:
    """Write the lines of all results."""
    RESULTS.write_text("".join(f"{result.line()}\n" for result in results), encoding="utf-8")


def lacking(old: Sequence[Result], new: Sequence[Result]) -> dict[str, list[str]]:
    """List new rows without a figure that the old row with the same key has, and the columns of these figures.

    A figure is lacking if the data of another parser, with which a row is compared, are not on this machine.
    """
    kept = {result.name: result.cells for result in old}
    empty = {
        " ".join(row.name): [name for name, cell in row.cells.items() if not cell and kept.get(row.name, {}).get(name)]
        for row in new
    }
    return {row: columns for row, columns in empty.items() if columns}


def merged(old: Sequence[Result], new: Sequence[Result]) -> list[Result]:
    """Put new rows in the places of old ones with the same key, and other new rows after those of their table.

    A row stays if the new one lacks some of its figures, because a row is measured by one run.
    """
    without = lacking(old, new)
    by_name = {result.name: result for result in [*old, *(row for row in new if " ".join(row.name) not in without)]}
    tables = dict.fromkeys(result.table for result in [*old, *new])
    return [result for table in tables for result in by_name.values() if result.table == table]


def compared(old: Sequence[Result], new: Sequence[Result]) -> Iterator[dict[str, str]]:
    """Set the figures of new rows beside the recorded ones, with their difference where both are numbers.

    >>> row = Result("t", 1, {"model": "fast", "F1": "85.8"}, "", "", "", (), None, "")
    >>> list(compared([row], [row._replace(cells={"model": "fast", "F1": "86.0"})]))
    [{'row': 't, fast', 'figure': 'F1', 'new': '86.0', 'recorded': '85.8', 'difference': '+0.2'}]
    """
    kept = {result.name: result.cells for result in old}
    for result in new:
        for column, cell in list(result.cells.items())[result.key :]:
            recorded = kept.get(result.name, {}).get(column, "")
            if cell or recorded:
                found = [number(cell), number(recorded)]
                difference = "" if None in found else f"{found[0] - found[1]:+.4g}"  # type: ignore[operator]
                row = ", ".join(result.name)
                yield dict(row=row, figure=column, new=cell, recorded=recorded, difference=difference)


def number(cell: str) -> float | None:
    """Read a cell that is a number."""
    try:
        return float(cell.replace(",", ""))
    except ValueError:
        return None


def tables_in(text: str) -> Iterator[list[dict[str, str]]]:
    """Read the tables in Markdown of a text, each as its rows: cells by the names of the columns.

    A table with the columns of the one before it goes on with that table.

    >>> list(tables_in("one\\n| a | b |\\n| --- | ---: |\\n| x | 1.0 |\\ntwo"))
    [[{'a': 'x', 'b': '1.0'}]]
    """
    previous: list[dict[str, str]] = []
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
        head, _, *rows = ([cell.strip() for cell in line.strip()[1:-1].split("|")] for line in block.splitlines())
        table = [dict(zip(head, row, strict=True)) for row in rows]
        if previous and list(previous[0]) == head:
            previous += table
        else:
            if previous:
                yield previous
            previous = table
    if previous:
        yield previous


def machine() -> str:
    """Describe the processor, and the versions of what does the arithmetic."""
    names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()) if sys.platform == "linux" else []
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    return f"{names[0] if names else platform.processor()}, Python {platform.python_version()}, {versions}"


def git(*arguments: str) -> str | None:
    """Ask git about the checkout; None if there is no git, or if it knows no answer."""
    try:
        ran = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError:
        return None
    return None if ran.returncode else ran.stdout


def commit() -> str:
    """Name the commit of the code, with a plus if files of the code have changed since; "unknown" without git."""
    name = git("rev-parse", "--short=8", "HEAD")
    changed = git("status", "--porcelain", "--", "*.py", "pyproject.toml")
    return "unknown" if name is None else name.strip() + "+" * bool(changed)


def printed(command: str) -> tuple[str, float]:
    """Run a command of the plan on one thread, and give what it prints, and its CPU seconds."""
    words = [sys.executable, "-m", *map(os.path.expandvars, shlex.split(command))]
    environment = os.environ | dict.fromkeys(THREADS, "1")
    with subprocess.Popen(words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, encoding="utf-8") as process:
        text = process.stdout.read() if process.stdout else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command}: ended with status {process.returncode}")
    if DATA in os.environ:  # names of files say nothing of this machine
        text = text.replace(f"{os.environ[DATA]}/", "")
    return text, usage.ru_utime + usage.ru_stime


def rows_of(benchmark: Benchmark, text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """List the rows that a benchmark has printed, each with the name of its table."""
    for table, rows in zip(benchmark.tables, tables_in(text), strict=True):
        yield from ((table, row) for row in rows)


def run(benchmark: Benchmark) -> list[Result]:
    """Run a benchmark, and give its rows."""
    text, seconds = printed(benchmark.command)
    today = datetime.now(UTC).date().isoformat()
    common = (f"python -m {benchmark.command}", commit(), today, benchmark.seeds, round(seconds, 1), machine())
    return [Result(table, benchmark.keys, row, *common) for table, row in rows_of(benchmark, text)]
