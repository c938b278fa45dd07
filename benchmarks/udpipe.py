"""Compare dependency parsers with UDPipe 1, trained on the same files.

    python -m benchmarks.udpipe                       # French and Greek, which takes UDPipe half an hour of CPU time
    python -m benchmarks.udpipe --treebanks ../shared/ud/el_gdt --presets fast --sentences 100

UDPipe (`pip install ufal.udpipe`) is trained with its defaults; without it, its rows are left out.  Both read gold
words, tags and morphology, and both are scored as in the CoNLL 2018 shared task, on the test part.  Seconds are CPU
seconds after compilation.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from benchmarks._measure import print_head, print_row
from spectral_latent._names import PresetName
from spectral_latent.corpora import dependency_trees, parse_conllu, to_conllu
from spectral_latent.dependency import DependencyModel, DependencySentence, preset
from spectral_latent.evaluation import score_columns

COLUMNS = ("UAS", "LAS", "training s", "sentences/s", "MB")
Sentences = Sequence[DependencySentence]


def of_preset(name: PresetName, train: Sentences, test: Sentences) -> tuple[list[DependencySentence], list[float]]:
    """Train and parse; return the trees, and training seconds, sentences a second and megabytes."""
    begun = time.process_time()
    model = DependencyModel.train(train, preset(name))
    trained = time.process_time()
    parsed = [parses[0].tree for parses in model.parse_all([tree.without_tree() for tree in test], scored=False)]
    done = time.process_time()
    with TemporaryDirectory() as folder:
        model.save(Path(folder, "model"))
        megabytes = Path(folder, "model").stat().st_size / 1e6
    return parsed, [trained - begun, len(test) / (done - trained), megabytes]


def of_udpipe(train: Sentences, test: Sentences) -> tuple[list[DependencySentence], list[float]]:
    """Do the same with UDPipe's parser."""
    from ufal import udpipe  # type: ignore[import-not-found, unused-ignore]

    error = udpipe.ProcessingError()

    def read(trees: Sentences) -> list[Any]:
        """Read trees as UDPipe holds them."""
        reader = udpipe.InputFormat.newConlluInputFormat()
        reader.setText("".join(map(to_conllu, trees)))
        sentences = []
        while reader.nextSentence(sentence := udpipe.Sentence(), error):
            sentences.append(sentence)
        return sentences

    examples, given = udpipe.Sentences(read(train)), read([tree.without_tree() for tree in test])
    begun = time.process_time()
    made = udpipe.Trainer.train("morphodita_parsito", examples, udpipe.Sentences(), "none", "none", "", error)
    trained = time.process_time()
    with TemporaryDirectory() as folder:
        file = Path(folder, "model")
        file.write_bytes(made)
        model = udpipe.Model.load(str(file))
    writer = udpipe.OutputFormat.newConlluOutputFormat()
    loaded = time.process_time()
    for sentence in given:
        model.parse(sentence, model.DEFAULT, error)
    done = time.process_time()
    text = "".join(map(writer.writeSentence, given))
    return list(parse_conllu(text, "UDPipe")), [trained - begun, len(test) / (done - loaded), len(made) / 1e6]


def main() -> None:
    """Print a row for each parser of each treebank."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = Path(os.environ.get("SPECTRAL_LATENT_DATA", "../shared")) / "ud"
    parser.add_argument("--treebanks", type=Path, nargs="+", default=[data / "fr_sequoia", data / "el_gdt"])
    parser.add_argument("--presets", nargs="+", choices=get_args(PresetName), default=["accurate", "fast"])
    parser.add_argument("--sentences", type=int, help="the number of sentences to learn from; all if not given")
    arguments = parser.parse_args()
    print_head(["treebank", "parser"], COLUMNS)
    for folder in arguments.treebanks:
        train, test = (
            list(islice(dependency_trees(folder / f"{folder.name}-ud-{part}.conllu"), most))
            for part, most in (("train", arguments.sentences), ("test", None))
        )
        of_preset("fast", train[:20], test[:2])  # compiles what is measured
        found = {name: of_preset(name, train, test) for name in arguments.presets}
        if find_spec("ufal") is not None:
            found["UDPipe 1"] = of_udpipe(train, test)
        for name, (parsed, figures) in found.items():
            scores = score_columns(test, parsed)
            row = dict(zip(COLUMNS, [scores["uas"], scores["las_universal"], *figures], strict=True))
            print_row([folder.name, name], row, COLUMNS, ())


if __name__ == "__main__":
    main()
