"""Run many cases of each kind, and print a table of what came of them.

A case is the same on every machine: its seed, its kind and its number say all.
"""

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from functools import partial
from pathlib import Path

from tests.fuzz import models, texts


def main() -> int:
    """Run the cases, print a line for each kind and a traceback for each failure; 1 if there was any, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--texts", type=int, default=2000, help="changed texts of each format")
    parser.add_argument("--models", type=int, default=2000, help="damaged files of each kind of model")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    n_failures = 0
    with tempfile.TemporaryDirectory(prefix="spectral-latent-fuzz-") as name:
        check_text = partial(texts.check, seed=given.seed)
        check_model = partial(models.check, seed=given.seed, folder=Path(name))
        kinds = [(form, given.texts, check_text) for form in texts.FORMATS]
        kinds += [(kind, given.models, check_model) for kind in models.KINDS]
        for kind, n_cases, check in kinds:
            found: Counter[str] = Counter()
            begun = time.process_time()
            for case in range(n_cases):
                try:
                    found[check(kind, case)] += 1
                except Exception:
                    found["FAILED"] += 1
                    print(f"{kind}, seed {given.seed}, case {case}:\n{traceback.format_exc()}", file=sys.stderr)
            counts = ", ".join(f"{number} {outcome}" for outcome, number in sorted(found.items()))
            seconds = time.process_time() - begun
            print(f"{kind:<24}{n_cases:>10,} cases in {seconds:,.0f} CPU seconds: {counts}", flush=True)
            n_failures += found["FAILED"]
    return int(n_failures > 0)


if __name__ == "__main__":
    sys.exit(main())
