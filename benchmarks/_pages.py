"""Make the tables of RESULTS.md and of other pages from the lines of results."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from benchmarks._results import ROOT, Benchmark, Result, peer_of, plan, read_results, settings

RESULTS_PAGE = ROOT / "benchmarks/RESULTS.md"
PAGES = ("README.md", "docs/*.md")
MARKER = re.compile(r"<!-- results: ([^\n]*?) -->\n.*?<!-- end -->", re.DOTALL)
FIGURE = re.compile(r"<!-- figure: ([^\n]*?) \| ([^\n]*?) \| ([^\n]*?) -->[^<\n]*<!-- end -->")
COMMIT = "commit"  # the last column of a table whose rows are of several commits
NUMBER = re.compile(r"[-+<]? ?[\d,.]+\b.*|-?")  # a cell that stands on the right


def markdown(rows: Sequence[dict[str, str]]) -> str:
    """Write a table without empty columns; columns of numbers stand on the right."""
    filled_columns = [column for row in rows for column, cell in row.items() if cell and column != COMMIT]
    head = [column for column in dict.fromkeys(itertools.chain(*rows)) if column in filled_columns]
    head += [COMMIT] * (COMMIT in rows[0])
    is_right = [all(NUMBER.fullmatch(row.get(column, "")) for row in rows) for column in head]
    rule = ["---:" if right else "---" for right in is_right]
    lines = [head, rule, *([row.get(column, "") for column in head] for row in rows)]
    return "".join(f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in line)}|\n" for line in lines)


def with_commits(results: Sequence[Result], columns: Sequence[str] = ()) -> list[dict[str, str]]:
    """Take the cells of rows, all or those of some columns, and the commits of this library's rows if these differ."""
    several = len({result.commit for result in results if not peer_of(result)}) > 1
    every = [{name: result.cells[name] for name in columns or result.cells} for result in results]
    commits = ["" if peer_of(result) else result.commit for result in results]
    return [cells | ({COMMIT: commit} if several else {}) for cells, commit in zip(every, commits, strict=True)]


def selected(results: Sequence[Result], request: str) -> tuple[list[Result], list[str]]:
    """Choose the rows and the columns that a marker asks for; no columns stand for all of them.

    request: `NAME`, `NAME | columns` or `NAME | columns | rows`; a row is named by its first cell, or by its whole key
    with commas.
    """
    name, *lists = (part.strip() for part in request.split("|"))
    columns, rows = [[one.strip() for one in part.split(";")] for part in (*lists, "", "")][:2]
    every = [result for result in results if result.table == name]
    if not every:
        raise SystemExit(f"results: {name}: there is no such table")
    by_name = {result.name[1]: result for result in every} | {", ".join(result.name[1:]): result for result in every}
    chosen = [by_name[row] for row in rows] if rows != [""] else every
    return chosen, columns if columns != [""] else []


def filled(text: str, results: Sequence[Result]) -> str:
    """Put tables and single figures into all their places in a page; a table has the day and the commit of its rows."""

    def table(found: re.Match[str]) -> str:
        """Write a table between its markers."""
        rows, columns = selected(results, found[1])
        told = f"{markdown(with_commits(rows, columns))}\nMeasured: {when(rows)}.\n"
        return f"<!-- results: {found[1]} -->\n{told}<!-- end -->"

    def figure(found: re.Match[str]) -> str:
        """Write one cell between its markers."""
        return f"<!-- figure: {' | '.join(found.groups())} -->{row_of(results, found).cells[found[2]]}<!-- end -->"

    return FIGURE.sub(figure, MARKER.sub(table, text))


def row_of(results: Sequence[Result], found: re.Match[str]) -> Result:
    """Find the row of a single figure, `TABLE | COLUMN | KEY`, where the cells of a key have commas between them."""
    name, _, key = found.groups()
    for result in results:
        if result.name[0] == name and ", ".join(result.name[1:]) == key:
            return result
    raise SystemExit(f"results: {name}: there is no row {key}")


def section(
    benchmarks: Sequence[Benchmark],
    results: Sequence[Result],
    cells: Callable[[Sequence[Result]], list[dict[str, str]]] = with_commits,
    elsewhere: Mapping[str, Path] = MappingProxyType({}),
) -> str:
    """Write the section of benchmarks with one title: some cells of its tables, and links to those of other pages."""
    parts = [f"\n## {benchmarks[0].title}\n"]
    tables = {table: caption for benchmark in benchmarks for table, caption in benchmark.tables.items()}
    for table, caption in tables.items():
        rows = [result for result in results if result.table == table]
        names = " ".join(benchmark.name for benchmark in benchmarks if table in benchmark.tables)
        if table in elsewhere:
            page = elsewhere[table].relative_to(ROOT)
            parts += [f"{caption} (`{names}`; [shown here](../{page}))\n"]
        elif rows:
            parts += [f"{caption} (`{names}`; {when(rows)})\n", markdown(cells(rows))]
    parts += [f"{benchmark.note.strip()}\n" for benchmark in benchmarks if benchmark.note]
    return "\n".join(parts)


def telling(results: Sequence[Result]) -> list[dict[str, str]]:
    """Leave out the columns that the plan leaves out, and those that are the same in all rows, except the first."""
    rows = with_commits(results)
    first, *columns = dict.fromkeys(itertools.chain(*rows))
    kept = [column for column in columns if len({row.get(column, "") for row in rows}) > 1 or len(rows) == 1]
    shown = [first, *(column for column in kept if column not in settings()["left_out"])]
    title = rows[0][first].partition(": ")[0] + ": "  # which the caption names, if it is that of all rows
    if not all(row[first].startswith(title) for row in rows):
        title = ""
    cells = [{column: row.get(column, "").removeprefix(title) for column in shown} for row in rows]
    return [{column: "" if cell == "-" else cell for column, cell in row.items()} for row in cells]


def when(results: Sequence[Result]) -> str:
    """Say when this library's rows were measured, and with which commit if there is one."""
    results = [result for result in results if not peer_of(result)] or results
    first, last = (choose(result.date for result in results) for choose in (min, max))
    if len({result.commit for result in results}) == 1:
        return f"commit {results[0].commit}, {first}"
    return first if first == last else f"{first} to {last}"


def results_page(results: Sequence[Result]) -> str:
    """Write RESULTS.md."""
    by_title: dict[str, list[Benchmark]] = {}
    for benchmark in plan().values():
        by_title.setdefault(benchmark.title, []).append(benchmark)
    elsewhere = {table: ROOT / each.drawn for each in plan().values() if each.drawn for table in each.tables}
    for page, text in _marked().items():
        for rows in (selected(results, request)[0] for request in MARKER.findall(text)):
            if len(rows) == sum(result.table == rows[0].table for result in results):
                elsewhere[rows[0].table] = page
    return str(settings()["about"]) + "".join(
        section(several, results, telling, elsewhere) for several in by_title.values()
    )


def _marked() -> dict[Path, str]:
    """Read all pages that have markers."""
    texts = {path: path.read_text(encoding="utf-8") for pattern in PAGES for path in sorted(ROOT.glob(pattern))}
    return {path: text for path, text in texts.items() if MARKER.search(text) or FIGURE.search(text)}


def pages() -> dict[Path, str]:
    """Make the texts of RESULTS.md and of all pages that have markers."""
    results = read_results()
    return {path: filled(text, results) for path, text in _marked().items()} | {RESULTS_PAGE: results_page(results)}


def shown() -> list[Result]:
    """List the rows that README.md and the pages of docs show."""
    results = read_results()
    requests = [request for text in _marked().values() for request in MARKER.findall(text)]
    rows = [row for request in requests for row in selected(results, request)[0]]
    rows += [row_of(results, found) for text in _marked().values() for found in FIGURE.finditer(text)]
    return list({row.name: row for row in rows}.values())
