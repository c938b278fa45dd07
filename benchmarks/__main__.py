"""Run benchmarks, and make the tables of all pages from their results.

    python -m benchmarks                           # what is claimed, the minutes it takes, and missing data
    python -m benchmarks phrases ranks             # run some: new figures beside recorded ones
    python -m benchmarks phrases ranks --record    # and record their rows in results.jsonl
    python -m benchmarks papers                    # make the tables and slides of the papers
    python -m benchmarks all                       # run all whose data are there
    python -m benchmarks tables                    # write RESULTS.md, and the tables of README.md and docs
    python -m benchmarks show coverage             # print tables of results.jsonl

The environment variable SPECTRAL_LATENT_DATA names the folder of the data that are not NLTK's.  A row that lacks a
figure for want of data does not replace the published row.  `tables` lists the rows of README.md and docs that are
older than the code that they measure, and ends with status 1 if there are any; pages name the commit of each row.
"""

import sys
from collections.abc import Collection, Sequence

from benchmarks._measure import command_line
from benchmarks._pages import markdown, pages, section, shown
from benchmarks._results import (
    Benchmark,
    Result,
    compared,
    how_to_get,
    lacking,
    merged,
    peer_of,
    plan,
    read_results,
    run,
    write_results,
)
from benchmarks._stale import is_checkout, stale


def main() -> None:
    """Run what the command line asks for."""
    parser = command_line(__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="benchmarks of plan.toml, or `papers`, `all`, `tables`, `show`"
    )
    parser.add_argument("--record", action="store_true", help="write the rows into results.jsonl")
    arguments = parser.parse_args()
    names, benchmarks = arguments.names, plan()
    groups = {"all": list(benchmarks), "papers": [name for name, each in benchmarks.items() if "et al." in each.title]}
    unknown = [name for name in names if name not in (*benchmarks, *groups, "tables", "show")]
    if unknown:
        parser.error(f"{', '.join(unknown)}: no such benchmark; there are {', '.join([*benchmarks, *groups])}")
    if not names:
        _print_claims(benchmarks.values(), read_results())
    elif "show" in names:
        print(*(section([benchmarks[name]], read_results()) for name in names if name in benchmarks), sep="")
    else:
        asked = (each for name in names for each in groups.get(name, [name]))
        for each in dict.fromkeys(asked):
            if each in benchmarks:
                _run(benchmarks[each], arguments.record)
        if "tables" in names:
            for path, text in pages().items():
                path.write_text(text, encoding="utf-8")
            _tell_stale()


def _print_claims(benchmarks: Collection[Benchmark], results: Sequence[Result]) -> None:
    """Print what each benchmark shows, its minutes when it was last recorded, its peers, and missing data."""
    rows = []
    for benchmark in benchmarks:
        own = [result for result in results if result.table in benchmark.tables]
        again = [result for result in own if result.command == f"python -m {benchmark.command}"]
        shares = any(each is not benchmark and each.tables.keys() & benchmark.tables for each in benchmarks)
        seconds = [result.cpu_seconds for result in (again if again or shares else own)]
        known = max((each for each in seconds if each is not None), default=None)
        rows.append(
            {
                "benchmark": benchmark.name,
                "claim": " ".join(filter(None, benchmark.tables.values())),
                "CPU minutes": "" if known is None else f"{known / 60:.1f}",
                "beside": ", ".join(dict.fromkeys(filter(None, map(peer_of, own)))),
                "needs": ", ".join(benchmark.missing()),
            }
        )
    print(markdown(rows), end="")


def _run(benchmark: Benchmark, record: bool) -> None:
    """Run a benchmark, print its figures beside the recorded ones, and record them if that is asked for."""
    if missing := benchmark.missing():
        for source in missing:
            print(f"{benchmark.name}: not run; it needs {source}: {how_to_get(source)}", flush=True)
        return
    old, rows = read_results(), run(benchmark)
    print(markdown(list(compared(old, rows))))
    for row, columns in lacking(old, rows).items():
        print(f"{row}: the published row stays, for this run has no data for {', '.join(columns)}")
    if record:
        write_results(merged(read_results(), rows))  # of now: other benchmarks may have ended meanwhile
    done = "recorded" if record else "not recorded; --record writes them into results.jsonl"
    print(f"{benchmark.name}: {len(rows)} rows in {rows[0].cpu_seconds} CPU seconds, {done}", flush=True)


def _tell_stale() -> None:
    """List the rows that are older than the code; end with status 1 if there are any."""
    if not is_checkout():
        print("tables: whether rows are older than the code is unknown, because this is no checkout of git")
        return
    found = list(stale(shown(), plan().values()))
    if found:
        print("These rows are older than the code that they measure; run the benchmarks in brackets:", file=sys.stderr)
        print(*found, sep="\n", file=sys.stderr)
        raise SystemExit(1)


if __name__ == "__main__":
    main()
