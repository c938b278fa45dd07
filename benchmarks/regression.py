"""Fail if training, or parsing in batches or one by one, takes 1.3 times the CPU time of an earlier version.

    python -m benchmarks.regression                   # beside the last tag; beside HEAD~100 if there is no tag
    python -m benchmarks.regression --base HEAD~50 --runs 7

Both versions train on trees of the ready model `toy` and parse their sentences, by turns, in processes of their own
with one thread; the least CPU seconds of each count.  The first run of each version compiles, and does not count.  The
numbers of distinct Python functions of the library that one parse calls, and of their calls, are told beside them.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._measure import ROOT, checkout_of, command_line
from benchmarks._results import git
from spectral_latent import load

WORST = 1.3  # the largest ratio that passes
SECONDS = "CPU s"
TASKS = {
    "training": SECONDS,
    "parsing in batches": SECONDS,
    "parsing one by one": SECONDS,
    "one parse": "functions",
    "one parse again": "calls",
}
TASK = """
import sys
import time
from spectral_latent.constituency import ConstituencyModel, preset
from spectral_latent.corpora import constituency_trees
trees = list(constituency_trees(sys.argv[1]))
sentences = [list(tree.words()) for tree in trees] * 5
times = [0.0]  # with what training imports, some of which waits until it is used
model = ConstituencyModel.train(trees, preset("fast"))
times.append(time.process_time())
for parses in model.parse_all(sentences):
    pass
times.append(time.process_time())
for sentence in sentences:
    model.parse(sentence)
times.append(time.process_time())
called = []
def listen(frame, event, _):
    if event == "call" and "spectral_latent" in frame.f_code.co_filename:
        called.append(frame.f_code)
sys.setprofile(listen)
model.parse(sentences[0])
sys.setprofile(None)
print(*(after - before for before, after in zip(times, times[1:])), len(set(called)), len(called))
"""


def measure(checkout: Path, trees: Path) -> list[float]:
    """Train and parse with the code of a checkout; return the numbers of `TASKS`."""
    settings = {"PYTHONPATH": str(checkout), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", TASK, str(trees)]
    done = subprocess.run(command, cwd=checkout, env=os.environ | settings, check=True, capture_output=True, text=True)
    return list(map(float, done.stdout.split()))


def main() -> int:
    """Compare the checkout with an earlier version; return 1 if it is too slow."""
    parser = command_line(__doc__)
    parser.add_argument("--base", help="the earlier version; the last tag, or HEAD~100, if not given")
    parser.add_argument("--runs", type=int, default=5, help="the runs of each version")
    arguments = parser.parse_args()
    base = arguments.base or (git("describe", "--tags", "--abbrev=0") or "HEAD~100").strip()
    with tempfile.TemporaryDirectory() as folder, checkout_of(base) as before:
        trees = Path(folder, "trees.mrg")
        drawn = load("toy").sample(400, np.random.default_rng(0))
        trees.write_text("\n".join(tree.bracketed() for tree in drawn), encoding="utf-8")
        times: dict[Path, list[list[float]]] = {before: [], ROOT: []}
        for run in range(arguments.runs + 1):
            for checkout, of_checkout in times.items():
                measured = measure(checkout, trees)
                of_checkout += [measured] if run else []
    worst = 0.0
    for at, (task, unit) in enumerate(TASKS.items()):
        old, new = (min(numbers[at] for numbers in of_checkout) for of_checkout in times.values())
        print(f"{task}: {new:.5g} {unit}; {old:.5g} in {base}; ratio {new / old:.2f}")
        worst = max(worst, new / old if unit == SECONDS else 0.0)
    return int(worst > WORST)


if __name__ == "__main__":
    sys.exit(main())
