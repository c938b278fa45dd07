"""Train models as on other kinds of processors, and print which models differ from those of this processor.

NumPy, its BLAS and numba choose code for the processor that they find, and each code adds up sums in an order of its
own.  On x86-64, variables of the environment make them choose the code for another processor.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.constituency import ConstituencyModel
from spectral_latent.constituency.presets import preset
from spectral_latent.corpora.embedded import embedded_treebank
from spectral_latent.dependency import DependencyModel
from spectral_latent.dependency.presets import preset as dependency_preset
from spectral_latent.files import load_model
from spectral_latent.sequence import LatentHMM, LatentTagger
from spectral_latent.sequence.presets import hmm_preset
from spectral_latent.sequence.presets import preset as tagger_preset
from tests.conformance.treebank import DEPENDENCIES, TAGGED

TREES = embedded_treebank(500)
WORDS = [list(tree.words()) for tree in TREES]
MODELS: dict[str, Callable[[], Any]] = {
    "constituency, fast": lambda: ConstituencyModel.train(TREES),
    "constituency, spectral": lambda: ConstituencyModel.train(TREES, preset("spectral")[0]),
    "dependency, fast": lambda: DependencyModel.train(DEPENDENCIES),
    "dependency, spectral": lambda: DependencyModel.train(DEPENDENCIES, dependency_preset("spectral")),
    "tagger, fast": lambda: LatentTagger.train(TAGGED),
    "tagger, spectral": lambda: LatentTagger.train(TAGGED, tagger_preset("spectral")),
    "sequences, fast": lambda: LatentHMM.train(WORDS, hmm_preset("fast")),
    "sequences, spectral": lambda: LatentHMM.train(WORDS, hmm_preset("spectral")),
    "anchors": lambda: AnchorHMM.train(WORDS, AnchorOptions(n_states=6)),
}
# An old processor: BLAS for SSE3, and NumPy without AVX.
OTHER = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"}
PROCESSORS: dict[str, dict[str, str]] = {
    **{
        f"BLAS of {name}": {"OPENBLAS_CORETYPE": name}
        for name in ("Prescott", "Nehalem", "Sandybridge", "Haswell", "Zen", "SkylakeX")
    },
    "NumPy without AVX-512": {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR"},
    "both without AVX": OTHER,
    "numba for Haswell": {"NUMBA_CPU_NAME": "haswell"},
    "numba for any x86-64": {"NUMBA_CPU_NAME": "generic"},
}


def main() -> int:
    """Print for each kind of processor how many models are the same, and how the others differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.processors", description=__doc__)
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="only train models, for this processor")
    parser.add_argument("--model", choices=MODELS, action="append", help="a model to train; all if none is named")
    given = parser.parse_args()
    chosen = given.model or list(MODELS)
    if given.into is not None:
        train(given.into, chosen)
        return 0
    with tempfile.TemporaryDirectory(prefix="spectral-latent-processors-") as name:
        folder = Path(name)
        ours = trained(folder / "ours", {}, chosen)
        for processor, variables in PROCESSORS.items():
            theirs = trained(folder / processor, variables, chosen)
            found = {model: difference(ours / model, theirs / model) for model in chosen}
            differing = {model: text for model, text in found.items() if text}
            print(f"{processor}: {len(chosen) - len(differing)} of {len(chosen)} models the same", flush=True)
            for model, text in differing.items():
                print(f"    {model}: {text}", flush=True)
    return 0


def train(folder: Path, chosen: Iterable[str]) -> None:
    """Train models for this processor, into files of a folder.

    folder: the folder.
    chosen: the names of the models.
    """
    for name in chosen:
        MODELS[name]().save(folder / name)


def trained(folder: Path, variables: Mapping[str, str], chosen: Iterable[str]) -> Path:
    """Train models in a process of its own, into files of a new folder, and return the folder.

    folder: the folder.
    variables: the variables of the environment for the process.
    chosen: the names of the models.
    """
    folder.mkdir()
    command = [sys.executable, "-m", "tests.processors", "--into", str(folder)]
    command += [part for name in chosen for part in ("--model", name)]
    path = os.pathsep.join(sys.path)
    subprocess.run(command, env={**os.environ, "PYTHONPATH": path, **variables}, check=True)
    return folder


def difference(one: Path, other: Path) -> str:
    """Describe how two model files differ; return an empty text if they do not differ.

    one: a model file.
    other: a model file.
    """
    if one.read_bytes() == other.read_bytes():
        return ""
    before, settings = load_model(one)
    after, others = load_model(other)
    if before.keys() != after.keys() or any(before[name].shape != after[name].shape for name in before):
        return "arrays of other shapes"
    changed = 0
    furthest = 0.0
    for name, array in before.items():
        far = np.abs(array.astype(float) - after[name].astype(float))
        changed += int((far > 0).sum())
        furthest = max(furthest, float(far.max(initial=0.0) / max(np.abs(array).max(initial=0.0), 1e-300)))
    numbers = sum(array.size for array in before.values())
    text = "" if settings == others else ", and other settings"
    return f"{changed:,} of {numbers:,} numbers differ, by up to {furthest:.1g} of the largest{text}"


if __name__ == "__main__":
    sys.exit(main())
