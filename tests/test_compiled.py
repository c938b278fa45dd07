"""Compiled code is of use where nobody may write, is kept by the text of its sources, and its making is announced."""

import contextlib
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent import load
from spectral_latent._compiled import check_starts
from spectral_latent.sequence import LatentTagger

ROOT = Path(__file__).resolve().parents[1]
CALL = """
import numpy
from spectral_latent.lexicon.buckets import spread
buckets = numpy.zeros((1, 1), dtype=numpy.int32)
spread(buckets, numpy.ones(1), 2)
spread(buckets, numpy.ones(1)[::-1], 2)
"""


@given(st.lists(st.integers(0, 4), max_size=4), st.integers(0, 4))
def test_starts_of_parts_begin_with_0_never_fall_and_end_with_the_number_of_rows(start: list[int], size: int) -> None:
    is_sound = start[:1] == [0] and start == sorted(start) and start[-1:] == [size]
    with contextlib.nullcontext() if is_sound else pytest.raises(ValueError):
        check_starts("start", np.array(start, dtype=np.int64), size)


def run_in(folder: Path, script: str, cache: Path | str | None) -> list[str]:
    """Run a script in a folder, with a folder for compiled code, and return the lines that it prints to stderr."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {"PYTHONPATH": str(ROOT)} | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def test_without_a_place_for_compiled_code_it_is_made_in_each_process_and_said_once(tmp_path: Path) -> None:
    (line,) = run_in(tmp_path, CALL, "/dev/null/nowhere")
    assert "each process" in line and "/dev/null/nowhere" in line


def test_compiled_code_is_not_loaded_after_others_got_the_right_to_write(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    run_in(tmp_path, CALL, cache)
    late = "import os, spectral_latent.lexicon.buckets as d\n"
    late += f"os.chmod(os.path.dirname(d.spread.code._cache._cache_file._index_path), 0o777)\n{CALL}"
    assert len(run_in(tmp_path, late, cache)) == 1


def test_no_file_of_the_current_folder_says_where_compiled_code_is(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="without PyYAML, numba reads no such file")
    trap = tmp_path / "trap"
    (tmp_path / "trap.py").write_text("raise SystemExit('TRAPPED')")
    (tmp_path / ".numba_config.yaml").write_text(
        f"cache_dir: {trap}\ncache_locator_classes: trap.Locator\nboundscheck: 1\ndisable_jit: 1\n"
    )
    unset = "import numba.core.config as c\nassert c.CACHE_DIR[-5:] == 'cache' and not c.DISABLE_JIT\n"
    assert run_in(tmp_path, CALL + unset, tmp_path / "cache")
    assert not trap.exists() and any((tmp_path / "cache").rglob("*.nbi"))


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
    monkeypatch.setenv("NUMBA_CACHE_DIR", cache)

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
        return whole.found, sum(whole.answer.code.stats.cache_hits.values())

    write()
    environment = os.environ | {
        "NUMBA_CACHE_DIR": cache,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    subprocess.run([sys.executable, "-c", "import sources.whole"], env=environment, check=True)
    assert run() == (2, 1)
    for source in folder.glob("*.py"):  # as an installation over an equal one writes them
        os.utime(source, ns=(0, 0))
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
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))

    def run() -> tuple[int, int]:
        sys.modules.pop("twice", None)
        importlib.invalidate_caches()
        module = importlib.import_module("twice")
        return module.found, sum(module.doubled.code.stats.cache_hits.values())

    assert [run(), run()] == [(8, 0), (8, 1)]
    (path,) = (tmp_path / "cache").rglob(f"*{ending}")
    whole = path.read_bytes()
    damaged = {"cut": whole[:-7], "other": bytes(len(whole)), "pickle of something else": b"N."}
    path.write_bytes(damaged[damage])
    assert [run(), run()] == [(8, 0), (8, 1)]
    sys.modules.pop("twice", None)


ANSWERS = """
import sys
import numpy as np
from spectral_latent import load
parser, tagger = map(load, sys.argv[1:3])
trees = [tree for tree in parser.sample(60, np.random.default_rng(0)) if sum(1 for _ in tree.words()) < 6][:5]

def answers():
    for tree in trees:
        words = list(tree.words())
        yield [parse.log for parse in parser.parse_nbest(words, 3)]
        yield parser.score([tree]).log
        yield parser.log_probabilities([words])
        yield parser.surprisal(words).total
        yield parser.entropy(words)
        yield parser.part_posteriors([tree])[0]
        yield tagger.posteriors(words).ravel()
        yield tagger.log_probabilities([words])
        yield [tagger.paths(words)[0][1]]

np.save(sys.argv[3], np.concatenate(list(answers())))
"""


COMPILED = "import spectral_latent._compiled as c; c._left = 0.0\n"
WITHOUT_NUMBA = "assert 'numba' not in sys.modules"


def test_answers_about_short_inputs_compile_nothing_and_are_those_of_compiled_code(tmp_path: Path) -> None:
    parser = load("toy")
    trees = parser.sample(20, np.random.default_rng(1))
    tagger = LatentTagger.train([[(word, word[-1]) for word in tree.words()] for tree in trees])
    paths = [tmp_path / name for name in ("parser", "tagger", "short.npy", "compiled.npy")]
    parser.save(paths[0])
    tagger.save(paths[1])
    for before, after, path in (("", WITHOUT_NUMBA, paths[2]), (COMPILED, "", paths[3])):
        command = [sys.executable, "-c", before + ANSWERS + after, *map(str, paths[:2]), str(path)]
        subprocess.run(command, cwd=ROOT, check=True)
    np.testing.assert_allclose(*map(np.load, paths[2:]), rtol=1e-12, atol=1e-12)


TRAIN = """
import sys
from spectral_latent.constituency import ConstituencyModel
from spectral_latent.corpora import constituency_trees
ConstituencyModel.train(constituency_trees(sys.argv[1])).save(sys.argv[2])
"""


def test_few_trees_compile_nothing_and_give_the_bytes_that_compiled_code_gives(tmp_path: Path) -> None:
    trees = load("toy").sample(100, np.random.default_rng(0))
    (tmp_path / "trees").write_text("\n".join(tree.bracketed() for tree in trees), encoding="utf-8")
    for script, path in ((TRAIN + WITHOUT_NUMBA, "short"), (COMPILED + TRAIN, "compiled")):
        subprocess.run([sys.executable, "-c", script, tmp_path / "trees", tmp_path / path], cwd=ROOT, check=True)
    assert (tmp_path / "short").read_bytes() == (tmp_path / "compiled").read_bytes()
