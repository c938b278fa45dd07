"""`python -m benchmarks.papers`."""

from benchmarks.papers.command import main

main(prog_name="python -m benchmarks.papers")
