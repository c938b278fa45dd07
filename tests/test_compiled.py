"""Compilation: of use where nobody may write, and announced on a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.caching import CacheImpl

from spectral_latent._compiled import compiled

ROOT = Path(__file__).resolve().parents[1]
CALL = """
import numpy
from spectral_latent.estimation._projections import _sums_of_rows
_sums_of_rows(numpy.array([[0]]), numpy.ones((1, 2)))
_sums_of_rows(numpy.array([[0]]), numpy.ones((1, 2))[:, ::-1])
"""
QUIET = "import logging; logging.getLogger('spectral_latent').setLevel('ERROR')\n"
OTHERS = "import numba; numba.njit(lambda x: x)(1)\n"
USE = """
from numba.core.caching import CacheImpl
CacheImpl._locator_classes = []  # the folders for the cache that could be written to
from spectral_latent.sequence import HiddenMarkov
"""


def test_functions_are_compiled_without_a_place_for_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])

    @compiled
    def total(numbers: np.ndarray) -> float:
        found = 0.0
        for number in numbers:
            found += number
        return found

    assert total(np.arange(4.0)) == 6.0


def test_the_library_is_imported_without_a_place_for_the_cache() -> None:
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


RECORD = """
from typing import NamedTuple
class Pair(NamedTuple):
    {fields}
"""
PART = """
from spectral_latent._compiled import compiled_part
@compiled_part
def difference(pair):
    return {result}
"""
WHOLE = """
from spectral_latent._compiled import compiled
from sources.part import difference
from {module} import Pair
@compiled
def answer(pair):
    return difference(pair)
print(answer(Pair(5, 3)), sum(answer.stats.cache_hits.values()))
"""


def test_compiled_code_is_that_of_all_sources(tmp_path: Path) -> None:
    """Code that was kept is used again, but not if a part or a record that it is made of has changed or moved."""
    folder = tmp_path / "sources"
    folder.mkdir()
    cache = tmp_path / "cache"

    def run(
        fields: str = "a: int; b: int", result: str = "pair.a - pair.b", module: str = "sources.record"
    ) -> list[str]:
        texts = {
            "__init__": "",
            module.partition(".")[2]: RECORD.format(fields=fields),
            "part": PART.format(result=result),
            "whole": WHOLE.format(module=module),
        }
        for source in folder.glob("*.py"):
            if source.stem not in texts:
                source.unlink()
        for name, text in texts.items():
            source = folder / f"{name}.py"
            if not source.exists() or source.read_text() != text:
                source.write_text(text)
        paths = os.pathsep.join([str(tmp_path), *sys.path])
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", "import sources.whole"]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()

    assert run() == ["2", "0"]
    assert run() == ["2", "1"]
    assert run(result="pair.b - pair.a") == ["-2", "0"]
    assert run(fields="b: int; a: int", result="pair.b - pair.a") == ["2", "0"]
    assert run(module="sources.moved") == ["2", "0"]


def on_terminal(script: str, cache: Path) -> str:
    """What a script writes to standard error, which is a terminal."""
    screen, terminal = os.openpty()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, stderr=terminal, check=True)
    os.write(terminal, b"end\n")
    os.close(terminal)
    shown = os.read(screen, 1000).decode()
    os.close(screen)
    return shown.replace("\r\n", "\n").removesuffix("end\n")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals")
def test_compilation_is_announced_once(tmp_path: Path) -> None:
    assert on_terminal(OTHERS + QUIET + CALL, tmp_path / "quiet") == ""  # code of others, then a quiet logger
    assert on_terminal(CALL, tmp_path / "quiet") == ""  # all is compiled
    assert on_terminal(CALL, tmp_path / "first") == "Compiling, which takes up to a minute the first time\n"


def test_nothing_is_announced_in_files_and_pipes(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CALL], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert done.stderr == b""


def test_a_parse_needs_every_function_for_one_kind_of_arguments_and_none_for_strings() -> None:
    """Each further kind would be compiled once more at the first parse, which strings make long."""
    leaf = "Phrase('{}', ('{}',))".format
    tree = f"Phrase('S', ({leaf('NNS', 'dogs')}, Phrase('VP', ({leaf('VBP', 'see')}, {leaf('NNS', 'cats')}))))"
    script = f"""
import gc
from numba.core.dispatcher import Dispatcher
from spectral_latent.constituency import ConstituencyModel, Phrase
model = ConstituencyModel.train([{tree}] * 20)
model.parse(["dogs", "see", "cats"])
kinds = {{
    each.py_func.__name__: [str(kind) for kind in each.signatures]
    for each in gc.get_objects()
    if isinstance(each, Dispatcher) and each.py_func.__module__.startswith("spectral_latent.") and each.signatures
}}
print(sorted(name for name, found in kinds.items() if len(found) > 1))
print(sorted(name for name, found in kinds.items() if "unicode" in str(found)))
print(len(kinds) > 10)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True)
    assert done.stdout.decode().splitlines() == ["[]", "[]", "True"], done.stderr
