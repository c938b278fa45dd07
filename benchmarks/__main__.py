"""Run benchmarks, and make the tables of all pages from their results.

    python -m benchmarks                  # the names, and the data that are not there
    python -m benchmarks phrases theorems # run some; results.jsonl gets their rows
    python -m benchmarks all              # run all whose data are there
    python -m benchmarks tables           # write RESULTS.md, and the tables of README.md and docs
    python -m benchmarks show climb       # print tables of results.jsonl

The environment variable SPECTRAL_LATENT_DATA names the folder of the data that are not NLTK's.  A row that lacks a
figure for want of data does not replace the published row.  `tables` lists the rows of README.md and docs that are
older than the code that they measure, and ends with status 1 if there are any; pages name the commit of each row.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks._pages import pages, section, shown
from benchmarks._results import lacking, merged, plan, read_results, run, write_results
from benchmarks._stale import is_checkout, stale


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks of plan.toml, `all`, `tables` or `show`")
    names = parser.parse_args().names
    benchmarks = plan()
    unknown = [name for name in names if name not in (*benchmarks, "all", "tables", "show")]
    if unknown:
        parser.error(
            f"{', '.join(unknown)}: no such benchmark; there are {', '.join(benchmarks)}, all, tables and show"
        )
    if "show" in names:
        print(*(section([benchmarks[name]], read_results()) for name in names if name in benchmarks), sep="")
        return
    for name, benchmark in benchmarks.items():
        missing = ", ".join(benchmark.missing())
        if not names:
            print(f"{name}: {f'needs {missing}' if missing else benchmark.command}")
        elif name not in names and "all" not in names:
            continue
        elif missing:
            print(f"{name}: not run; it needs {missing}", flush=True)
        else:
            rows = run(benchmark)
            old = read_results()
            write_results(merged(old, rows))
            for row, columns in lacking(old, rows).items():
                print(f"{row}: the published row stays, for this run has no data for {', '.join(columns)}", flush=True)
            print(f"{name}: {len(rows)} rows in {rows[0].cpu_seconds} CPU seconds", flush=True)
    if "tables" in names:
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")
        _tell_stale()


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
