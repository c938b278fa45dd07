"""Run benchmarks, and make the tables of all pages from their results.

    python -m benchmarks                  # the names, and the data that are not there
    python -m benchmarks phrases theorem  # run some; results.jsonl gets their rows
    python -m benchmarks all              # run all whose data are there
    python -m benchmarks tables           # write RESULTS.md, and the tables of README.md and docs
    python -m benchmarks show climb       # print tables of results.jsonl

The environment variable SPECTRAL_LATENT_DATA names the folder of the data that are not NLTK's.
"""

from __future__ import annotations

import argparse

from benchmarks._pages import pages, section
from benchmarks._results import merged, plan, read_results, run, write_results


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
            write_results(merged(read_results(), rows))
            print(f"{name}: {len(rows)} rows in {rows[0].cpu_seconds} CPU seconds", flush=True)
    if "tables" in names:
        for path, text in pages().items():
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
