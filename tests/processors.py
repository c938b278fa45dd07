"""Train models as on other kinds of processors, and print which models differ from those of this processor.

NumPy, its BLAS and numba choose code for the processor that they find, and each code adds up sums in an order of its
own.  On x86-64, variables of the environment make them choose the code for another processor.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.constituency import ConstituencyModel
from spectral_latent.constituency.options import preset
from spectral_latent.dependency import DependencyModel
from spectral_latent.dependency.options import preset as dependency_preset
from spectral_latent.sequence import LatentHMM, LatentTagger
from spectral_latent.sequence.options import hmm_preset
from spectral_latent.sequence.options import preset as tagger_preset
from tests.conformance.treebank import DEPENDENCIES, TAGGED
from tests.toy import toy_treebank

TREES = toy_treebank(500)
WORDS = [list(tree.words()) for tree in TREES]
MODELS: dict[str, Callable[[], Any]] = {
    "constituency, fast": lambda: ConstituencyModel.train(TREES),
    "constituency, clusters": lambda: ConstituencyModel.train(TREES, preset("clusters")[0]),
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


def main() -> None:
    """Print for each kind of processor the models that differ from those of this one."""
    parser = argparse.ArgumentParser(prog="python -m tests.processors", description=__doc__)
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="only train models, for this processor")
    parser.add_argument("--model", choices=MODELS, action="append", help="a model to train; all if none is named")
    given = parser.parse_args()
    chosen = given.model or list(MODELS)
    if given.into is not None:
        train(given.into, chosen)
        return
    with tempfile.TemporaryDirectory(prefix="spectral-latent-processors-") as name:
        folder = Path(name)
        train(folder, chosen)
        for processor, variables in PROCESSORS.items():
            differing = differences(folder, variables, chosen)
            print(f"{processor}: {', '.join(differing) or 'all models the same'}", flush=True)


def train(folder: Path, chosen: Iterable[str]) -> None:
    for name in chosen:
        MODELS[name]().save(folder / name)


def differences(folder: Path, variables: Mapping[str, str], chosen: Iterable[str]) -> list[str]:
    """Train models again in a process with variables of the environment, and list those whose files differ."""
    with tempfile.TemporaryDirectory(prefix="spectral-latent-processors-") as name:
        command = [sys.executable, "-m", "tests.processors", "--into", name]
        command += [part for model in chosen for part in ("--model", model)]
        path = os.pathsep.join(sys.path)
        subprocess.run(command, env={**os.environ, "PYTHONPATH": path, **variables}, check=True)
        return [each for each in chosen if (folder / each).read_bytes() != Path(name, each).read_bytes()]


if __name__ == "__main__":
    main()
