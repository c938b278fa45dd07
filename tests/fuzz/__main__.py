"""Run many cases of each kind, and print a table of what came of them.

A case is the same on every machine: its seed, its kind and its number say all.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.fuzz import kills, models, texts


def main() -> int:
    """Run the cases, print a line for each kind and a traceback for each failure; 1 if there was any, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--texts", type=int, default=2000, help="changed texts of each format")
    parser.add_argument("--models", type=int, default=2000, help="damaged files of each kind of model")
    parser.add_argument("--kills", type=int, default=70, help="during saving and parsing each")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    n_failures = 0
    with tempfile.TemporaryDirectory(prefix="spectral-latent-fuzz-") as name:
        folder = Path(name, "models")
        folder.mkdir()
        checks: dict[str, Callable[[int], str]] = {}
        for form in texts.FORMATS:
            checks[f"text, {form}"] = partial(texts.check, form, seed=given.seed)
        for kind in models.KINDS:
            checks[f"model, {kind}"] = partial(models.check, kind, seed=given.seed, folder=folder)
        for kind, kill in kills.KINDS.items():
            killed = Path(name, f"killed during {kind}")
            killed.mkdir()
            checks[f"kill, {kind}"] = partial(kill, seed=given.seed, folder=killed)
        for label, check in checks.items():
            numbers = {"text": given.texts, "model": given.models, "kill": given.kills}
            n_cases = numbers[label.partition(",")[0]]
            if not n_cases:
                continue
            found: Counter[str] = Counter()
            begun = time.process_time()
            for case in range(n_cases):
                try:
                    found[check(case)] += 1
                except Exception:
                    found["FAILED"] += 1
                    print(f"{label}, seed {given.seed}, case {case}:\n{traceback.format_exc()}", file=sys.stderr)
            counts = ", ".join(f"{number} {outcome}" for outcome, number in sorted(found.items()))
            seconds = time.process_time() - begun  # of this process, not of those that are killed
            print(f"{label:<24}{n_cases:>10,} cases in {seconds:,.0f} CPU seconds: {counts}", flush=True)
            n_failures += found["FAILED"]
    return int(n_failures > 0)


if __name__ == "__main__":
    sys.exit(main())
