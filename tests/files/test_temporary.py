"""Temporary files and folders of killed processes are removed by the next process, and no others."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from spectral_latent.cli.outputs import results
from spectral_latent.files import temporary_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="no question whether a process exists")

KILLED = """
import os, signal
import numpy as np
from spectral_latent.estimation._treebank import ColumnStore
from spectral_latent.model.batches import _save

class Model:
    def save(self, path):
        open(path, "w").close()

model, store = Model(), ColumnStore(memory=0)
store.append({"a": np.arange(3)})
_save(model)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_folders_of_killed_processes_are_removed(folder: Path) -> None:
    """Those of models for several processes, and of treebanks that are larger than the memory."""
    subprocess.run([sys.executable, "-c", KILLED], check=False)
    left = sorted(folder.glob("spectral-latent-*/*"))
    assert len(left) == 2
    mine, another = temporary_folder(), temporary_folder()
    assert set(folder.iterdir()) == {mine, another}


@pytest.mark.parametrize("name", ["answers.txt", "answers.txt.gz", f"{'a' * 250}.txt"])
def test_errors_of_writing_name_the_file_that_was_asked_for(tmp_path: Path, name: str) -> None:
    resource = pytest.importorskip("resource")
    output = tmp_path / name
    before, action = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(OSError, match=re.escape(str(output))) as raised, results(output) as write:
            write("".join(map(str, range(10_000))))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, action)
    assert str(raised.value.filename) == str(output) and not list(tmp_path.iterdir())


def test_other_folders_stay(folder: Path) -> None:
    """Those of living processes, of other machines, and what is outside the folder of temporary files."""
    mine = temporary_folder()
    beginning, process, _ = mine.name.rsplit("-", 2)
    assert int(process) == os.getpid()
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    dead = int(ended.stdout)
    outside = folder / "outside"
    stays = [f"{beginning}-{os.getppid()}-x", f"{beginning[:-1]}g-{dead}-x", f"{beginning}-x-x", f"{beginning}--1-x"]
    for name in (*stays, f"{beginning}-{dead}-x", "outside"):
        (folder / name / "within").mkdir(parents=True)
    (folder / f"{beginning}-{dead}-link").symlink_to(outside)
    temporary_folder().rmdir()
    assert {path.name for path in folder.iterdir()} == {mine.name, "outside", *stays}
    assert (outside / "within").is_dir()
