"""Compare surprisal with the self-paced reading times of the Natural Stories corpus (Futrell et al. 2018).

    git clone https://github.com/languageMIT/naturalstories
    python -m benchmarks.reading_times MODEL naturalstories

MODEL is a parser of phrases or a tagger.  The corpus has ten stories, with the mean reading time of each word.  The
surprisal of a word is the sum over its tokens, punctuation included.  The mean time is regressed on the surprisal, the
length and the place of the word, and on the surprisal and the length of the word before, because reading spills over.
*Gain* is what both surprisals add to the log-likelihood of a Gaussian linear regression, in nats a word.  Published
analyses use the times of single readers, the frequencies of words, and random effects of readers and words:

    lmer(log(RT) ~ surprisal + surprisal_before + length + frequency + zone + (1 + surprisal | reader) + (1 | word))
"""

from __future__ import annotations

import argparse
import csv
import math
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spectral_latent import load
from spectral_latent.constituency import clean
from spectral_latent.corpora import read_brackets
from spectral_latent.trees import FloatArray

PARSES = "parses/penn/all-parses-aligned.txt.penn"
TIMES = "naturalstories_RTS/processed_wordinfo.tsv"
TOKEN = re.compile(r"(.+)/(\d+)\.(\d+)(?:\.\w+)?")  # a token, its story, and its word's place in the story

Place = tuple[int, int]


class Regression(NamedTuple):
    """A linear regression of n times.

    coefficients: the coefficients of a constant, of the surprisals of a word and of the word before, and of the others.
    errors: the standard errors of the coefficients.
    gain: what the two surprisals add to the log-likelihood, in nats a word.
    """

    coefficients: FloatArray
    errors: FloatArray
    gain: float


def read_surprisals(model: Any, folder: Path) -> dict[Place, tuple[float, int]]:
    """Compute the surprisal of each word of the stories in bits, and its length in letters."""
    words: dict[Place, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    for tree in filter(None, map(clean, read_brackets(folder / PARSES))):
        tokens = [match for match in map(TOKEN.fullmatch, tree.words()) if match]
        surprisals = model.surprisal([token[1] for token in tokens]).total
        for token, bits in zip(tokens, surprisals.tolist(), strict=True):
            place = int(token[2]), int(token[3])
            before, length = words[place]
            words[place] = before + bits, length + len(token[1])
    return dict(words)


def read_times(folder: Path) -> dict[Place, float]:
    """Read the mean reading time of each word in milliseconds."""
    with (folder / TIMES).open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return {(int(row["item"]), int(row["zone"])): float(row["meanItemRT"]) for row in rows}


def regress(surprisals: dict[Place, tuple[float, int]], times: dict[Place, float]) -> Regression:
    """Regress the times of words that have a word before them; the module describes the columns."""
    places = [
        (story, zone)
        for story, zone in sorted(times)
        if (story, zone) in surprisals and (story, zone - 1) in surprisals
        if math.isfinite(surprisals[story, zone][0]) and math.isfinite(surprisals[story, zone - 1][0])
    ]
    rows = [
        (1.0, surprisals[story, zone][0], surprisals[story, zone - 1][0], surprisals[story, zone][1], before, zone)
        for story, zone in places
        for before in [surprisals[story, zone - 1][1]]
    ]
    x = np.array(rows)
    y = np.array([times[place] for place in places])
    # The sums of squared residuals with the two surprisals and without them.
    squares = [((y - columns @ np.linalg.lstsq(columns, y)[0]) ** 2).sum() for columns in (x, np.delete(x, [1, 2], 1))]
    coefficients = np.linalg.lstsq(x, y)[0]
    variance = squares[0] / (len(y) - x.shape[1])
    errors = np.sqrt(variance * np.diag(np.linalg.inv(x.T @ x)))
    return Regression(coefficients, errors, 0.5 * math.log(squares[1] / squares[0]))


def main() -> None:
    """Print milliseconds for a bit of surprisal, and the gain."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    regression = regress(read_surprisals(load(arguments.model), arguments.folder), read_times(arguments.folder))
    for column, name in ((1, "surprisal"), (2, "surprisal of the word before")):
        coefficient, error = regression.coefficients[column], regression.errors[column]
        print(f"{name}: {coefficient:.2f} ms a bit, standard error {error:.2f}")
    print(f"gain: {regression.gain:.4f} nats a word")


if __name__ == "__main__":
    main()
