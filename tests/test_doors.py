"""What a caller or the environment names is opened only if it is a file that may be read to its end."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import spectral_latent
from spectral_latent._numba import _folder_of, is_private
from spectral_latent.corpora import CorpusError, constituency_trees, dependency_trees, tagged_sentences
from spectral_latent.files import ModelFileError, load_model, save_model
from spectral_latent.sequence import LatentTagger

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")
READERS: list[Callable[[Any], Any]] = [constituency_trees, dependency_trees, tagged_sentences]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A pipe to which nobody writes, so that whoever opens it waits for ever."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


@pytest.fixture
def number(tmp_path: Path) -> Iterator[int]:
    """The number of an open file, which a careless reader would read and close."""
    (tmp_path / "open").write_text("(NN dog)\n")
    found = os.open(tmp_path / "open", os.O_RDONLY)
    yield found
    assert stat.S_ISREG(os.fstat(found).st_mode) and os.lseek(found, 0, os.SEEK_CUR) == 0
    os.close(found)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/urandom"])
def test_models_are_regular_files(device: str, pipe: Path, number: int, tmp_path: Path) -> None:
    for place in (pipe, Path(device), tmp_path):
        for load in (spectral_latent.load, load_model, LatentTagger.load):
            with pytest.raises(ModelFileError, match="give the file of a model"):
                load(place)
        with pytest.raises(ModelFileError, match="name a file"):
            save_model(place, {}, {"kind": "toy"})
    for load in (spectral_latent.load, load_model, LatentTagger.load):
        with pytest.raises(TypeError):
            load(number)  # type: ignore[arg-type]


@pytest.mark.parametrize("read", READERS)
def test_texts_end(read: Callable[[Any], Any], number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spectral_latent.corpora.text._LONGEST_LINE", 1 << 20)
    (tmp_path / "empty").mkdir()
    for place in ("/dev/zero", "/dev/urandom", tmp_path / "empty"):
        with pytest.raises(CorpusError, match=str(place)):
            list(read(place))
    with pytest.raises(TypeError):
        list(read(number))


def test_compiled_code_is_kept_in_private_folders_alone(pipe: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (pipe, "/dev/zero", tmp_path / "file", tmp_path / "file" / "within", "/proc/1"):
        assert _folder_of(str(tmp_path / "sources"), str(place)) is None
    for mode in (0o777, 0o770, 0o1777, 0o722, 0o702):
        (tmp_path / f"{mode}").mkdir()
        (tmp_path / f"{mode}").chmod(mode)
        assert _folder_of(str(tmp_path / "sources"), str(tmp_path / f"{mode}")) is None
    if os.geteuid() == 0:  # only root can give folders away
        (tmp_path / "of another").mkdir(0o700)
        os.chown(tmp_path / "of another", 65534, 65534)
        assert _folder_of(str(tmp_path / "sources"), str(tmp_path / "of another")) is None
    for mode in (0o700, 0o755):
        (tmp_path / f"{mode}").mkdir(mode)
        found = _folder_of(str(tmp_path / "sources"), str(tmp_path / f"{mode}"))
        assert found is not None and is_private(found) and Path(found).parent == tmp_path / f"{mode}"
