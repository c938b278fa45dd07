"""Compiled code is of use where nobody may write, and a terminal is told of compilation."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

ROOT = Path(__file__).resolve().parents[1]
CALL = """
import numpy
from spectral_latent.estimation._projections import _sums_of_rows
_sums_of_rows(numpy.array([[0]]), numpy.ones((1, 2)))
_sums_of_rows(numpy.array([[0]]), numpy.ones((1, 2))[:, ::-1])
"""
NEW = "_sums_of_rows(numpy.array([[0, 0]])[:, ::-1], numpy.ones((1, 2)))\n"  # arguments of another kind
QUIET = "import logging; logging.getLogger('spectral_latent').setLevel('ERROR')\n"
OTHERS = "import numba; numba.njit(lambda x: x)(1)\n"
USE = """
from numba.core.caching import CacheImpl
CacheImpl._locator_classes = []  # the folders for the cache that could be written to
from spectral_latent.sequence import HiddenMarkov
"""


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
found = answer(Pair(5, 3))
"""


def test_compiled_code_is_that_of_all_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that a process kept is used again, unless a part or a record that it contains has changed or moved."""
    folder = tmp_path / "sources"
    folder.mkdir()
    cache = str(tmp_path / "cache")
    monkeypatch.syspath_prepend(tmp_path)
    # Python would use bytecode again after a change in the same second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(numba.config, "CACHE_DIR", cache)

    def write(fields: str = "a: int; b: int", result: str = "pair.a - pair.b", module: str = "sources.record") -> None:
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

    def forget() -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == "sources"]:
            del sys.modules[name]

    def run(**changed: str) -> tuple[int, int]:
        """Import all modules again, as a new process does."""
        write(**changed)
        forget()
        importlib.invalidate_caches()
        whole = importlib.import_module("sources.whole")
        return whole.found, sum(whole.answer.stats.cache_hits.values())

    write()
    environment = os.environ | {
        "NUMBA_CACHE_DIR": cache,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    subprocess.run([sys.executable, "-c", "import sources.whole"], env=environment, check=True)
    assert run() == (2, 1)
    assert run(result="pair.b - pair.a") == (-2, 0)
    assert run(fields="b: int; a: int", result="pair.b - pair.a") == (2, 0)
    assert run(module="sources.moved") == (2, 0)
    forget()


DOUBLED = """
from spectral_latent._compiled import compiled
@compiled
def doubled(x):
    return 2 * x
found = doubled(4)
"""


@pytest.mark.parametrize(
    ("ending", "damage"), [(".nbi", "pickle of something else"), (".nbc", "cut"), (".nbc", "other")]
)
def test_damaged_files_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, damage: str) -> None:
    """One damaged file of each kind costs one compilation, and the next process finds the code again."""
    (tmp_path / "twice.py").write_text(DOUBLED)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    def run() -> tuple[int, int]:
        sys.modules.pop("twice", None)
        importlib.invalidate_caches()
        module = importlib.import_module("twice")
        return module.found, sum(module.doubled.stats.cache_hits.values())

    assert [run(), run()] == [(8, 0), (8, 1)]
    (path,) = (tmp_path / "cache").rglob(f"*{ending}")
    whole = path.read_bytes()
    damaged = {"cut": whole[:-7], "other": bytes(len(whole)), "pickle of something else": b"N."}
    path.write_bytes(damaged[damage])
    assert [run(), run()] == [(8, 0), (8, 1)]
    sys.modules.pop("twice", None)


def on_terminal(script: str, cache: Path) -> str:
    """Run a script whose standard error is a terminal, and return what it writes there."""
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
    assert on_terminal(CALL, tmp_path) == "Compiling, which takes up to a minute the first time\n"
    # code of others, code that is kept, and a quiet logger
    assert on_terminal(OTHERS + CALL + QUIET + NEW, tmp_path) == ""


def test_a_parse_needs_every_function_for_one_kind_of_arguments_and_none_for_strings() -> None:
    """At the first parse, a function is compiled once more for each kind of arguments, and strings take long."""
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
