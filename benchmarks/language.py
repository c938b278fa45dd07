"""Train one file for a language, and print the table of the CoNLL 2018 shared task for its test part.

    python -m benchmarks.language                     # English, French and Greek
    python -m benchmarks.language --treebanks ../shared/ud/el_gdt --presets fast --sentences 100

Models are trained by `DependencyModel.train_language`, as `train ud` does, and are given the words of the test part or
its text.  Seconds are CPU seconds after compilation; sentences a second are parsed with all columns predicted.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import islice
from pathlib import Path
from typing import get_args

from benchmarks._measure import print_head, print_row
from spectral_latent._names import PresetName
from spectral_latent.corpora import dependency_trees
from spectral_latent.dependency import DependencyModel, preset
from spectral_latent.evaluation import evaluate_columns

METRICS = {
    "Tokens": "tokens_f1",
    "Sentences": "sentences_f1",
    "Words": "words_f1",
    **{name: name.lower() for name in ("UPOS", "XPOS", "UFeats", "Lemmas", "UAS")},
    "LAS": "las_universal",
    **{name: name.lower() for name in ("MLAS", "BLEX")},
}
COLUMNS = (*METRICS, "training s", "sentences/s")


def main() -> None:
    """Print two rows for each preset and treebank: of words, and of text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = Path(os.environ.get("SPECTRAL_LATENT_DATA", "../shared")) / "ud"
    folders = [data / name for name in ("en_ewt", "fr_sequoia", "el_gdt")]
    parser.add_argument("--treebanks", type=Path, nargs="+", default=folders)
    parser.add_argument("--presets", nargs="+", choices=get_args(PresetName), default=["accurate"])
    parser.add_argument("--sentences", type=int, help="the number of sentences to learn from; all if not given")
    arguments = parser.parse_args()
    print_head(["treebank", "preset", "given"], COLUMNS)
    for folder in arguments.treebanks:
        train, test = (
            list(islice(dependency_trees(folder / f"{folder.name}-ud-{part}.conllu"), most))
            for part, most in (("train", arguments.sentences), ("test", None))
        )
        for name in arguments.presets:
            DependencyModel.train_language(train[:20], preset(name))  # compiles what is measured
            begun = time.process_time()
            model = DependencyModel.train_language(train, preset(name))
            seconds = time.process_time() - begun
            for origin in ("words", "text"):
                found = evaluate_columns(model, test, origin=origin)
                row = {column: found.score[metric] for column, metric in METRICS.items()}
                row |= {"training s": seconds, "sentences/s": found.sentences_per_second}
                print_row([folder.name, name, origin], row, COLUMNS, ())


if __name__ == "__main__":
    main()
