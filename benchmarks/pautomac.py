"""Train automata on the problems of PAutomaC, and compare their perplexity with the truth.

    python -m benchmarks.pautomac
    python -m benchmarks.pautomac --problems 1 2 3 --folder ../shared/pautomac

Perplexity is that of the competition (Verwer, Eyraud and de la Higuera 2014): 2^(-Σ p(x) log2 q(x)) over the strings of
the test part, with p and q divided by their sums; its excess over the truth is shown in percent.  *chosen* is what
`WeightedAutomaton.train` has chosen by held-out strings of the training part alone.  Seconds are CPU seconds after
compilation.  *Start* is the random start of EM that won, of all that climbed with the chosen settings.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

from benchmarks._measure import print_head, print_row
from benchmarks.pautomac_files import read_probabilities, read_strings
from spectral_latent import WeightedAutomaton
from spectral_latent.trees import FloatArray

COLUMNS = ("chosen", "start", "truth", "perplexity", "excess %", "CPU s")


def perplexity(p: FloatArray, log_q: FloatArray) -> float:
    """Compute the perplexity of test strings.

    p: (T,) the true probabilities.
    log_q: (T,) the natural logarithms of the probabilities under a model.
    """
    p = p / p.sum()
    log_q = log_q - log_q.max()
    log_q = log_q - np.log(np.exp(log_q).sum())
    return float(np.exp(-(p @ log_q)))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = Path(os.environ.get("SPECTRAL_LATENT_DATA", "../shared"))
    parser.add_argument("--folder", type=Path, default=data / "pautomac")
    parser.add_argument("--problems", type=int, nargs="+", default=range(1, 49))
    arguments = parser.parse_args()
    WeightedAutomaton.train(["ab", "a", ""] * 20)  # compiles what is measured
    excesses, seconds = [], []
    print_head(["problem"], COLUMNS)
    for number in arguments.problems:
        file = arguments.folder / f"{number}.pautomac"
        if not file.with_suffix(".pautomac.train").is_file():
            continue
        strings, test = (read_strings(f"{file}.{part}") for part in ("train", "test"))
        exact = np.array(read_probabilities(f"{file}_solution.txt"))
        begun = time.process_time()
        model = WeightedAutomaton.train(strings)
        seconds.append(time.process_time() - begun)
        truth = perplexity(exact, np.log(np.maximum(exact, 1e-300)))
        found = perplexity(exact, model.log_probabilities(test))
        excesses.append(100.0 * (found / truth - 1.0))
        assert model.options is not None
        row = {
            "chosen": f"{model.options.estimator}, {model.n_states}",
            "start": f"{np.argmax(model.reached) + 1} of {len(model.reached)}" if model.reached else "",
            "truth": f"{truth:.3f}",
            "perplexity": f"{found:.3f}",
            "excess %": f"{excesses[-1]:.2f}",
        }
        print_row([number], {**row, "CPU s": seconds[-1]}, COLUMNS, ())
    for name, value in (("mean", np.mean(excesses)), ("median", np.median(excesses)), ("largest", np.max(excesses))):
        print_row([name], {"excess %": f"{value:.2f}"}, COLUMNS, ())
    print_row(["together"], {"CPU s": float(np.sum(seconds))}, COLUMNS, ())


if __name__ == "__main__":
    main()
