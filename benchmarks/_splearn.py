"""Learn a weighted automaton by scikit-splearn, for `automata.py`, which runs this file with another Python.

The task comes as JSON on standard input: `train` and `test`, strings to learn from and to evaluate, `n_symbols`,
`rank`, `version` and `length`.  The answer on standard output is the values of the strings and the CPU seconds of
learning.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path


def main() -> None:
    """Read the task, learn, and write the answer."""
    from splearn.datasets.base import load_data_sample  # type: ignore[import-not-found, unused-ignore]
    from splearn.spectral import Spectral  # type: ignore[import-not-found, unused-ignore]

    warnings.simplefilter("ignore")
    task = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        samples = []
        for name in ("train", "test"):
            file = Path(folder, name)
            lines = [f"{len(task[name])} {task['n_symbols']}"]
            lines += [" ".join(map(str, [len(row), *row])) for row in task[name]]
            file.write_text("\n".join(lines) + "\n")
            samples.append(load_data_sample(adr=str(file)).data)
        train, test = samples
        length = task["length"]
        model = Spectral(
            rank=task["rank"], lrows=length, lcolumns=length, version=task["version"], sparse=True, mode_quiet=True
        )
        begun = time.process_time()
        model.fit(train)
        seconds = time.process_time() - begun
        values = model.predict(test).tolist()
    print(json.dumps({"values": values, "seconds": seconds}))


if __name__ == "__main__":
    main()
