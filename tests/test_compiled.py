"""The message that functions are compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CALL = """
import numpy
from spectral_latent._compiled import with_room
with_room(numpy.array([[1, 2]]), 1)
with_room(numpy.array([[1, 2]], dtype=numpy.int64)[:, ::-1], 1)
"""
QUIET = "import logging; logging.getLogger('spectral_latent').setLevel('ERROR')\n"
OTHERS = "import numba; numba.njit(lambda x: x)(1)"


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
    assert on_terminal(OTHERS, tmp_path / "others") == ""
    assert on_terminal(QUIET + CALL, tmp_path / "quiet") == ""
    assert on_terminal(CALL, tmp_path / "first") == "Compiling, which takes up to a minute the first time\n"
    assert on_terminal(CALL, tmp_path / "first") == ""


def test_nothing_is_announced_in_files_and_pipes(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CALL], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert done.stderr == b""
