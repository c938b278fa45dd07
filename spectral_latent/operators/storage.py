"""Models as files: named arrays and JSON settings in one safetensors file, which cannot run code.

A file is written whole or not at all, and a digest over its contents tells damage when it is read.  Then the contents
are compared with what is declared (`operators.contents`), so that a hostile file, whose digest is right, is an error
and never an out-of-bounds access.  The same model gives the same bytes.

The settings are JSON without white space and with sorted keys.  Their entry `digest` is BLAKE2b, 32 bytes in
hexadecimal, of three things: the settings without it; the JSON list of name, type and shape of every array, by name;
and the numbers of the arrays, by name.
"""

from __future__ import annotations

import json
import os
import platform
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

__all__ = ["ModelFileError", "load_model", "opened_model", "save_model"]

FORMAT = "spectral_latent"
VERSION = 6
_KEY = "model"
_DIGEST = "digest"


class ModelFileError(ValueError):
    """A file that is not a whole model of this library's, or of another version."""


def save_model(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> None:
    """Write arrays and JSON-able settings to a file, which appears complete or not at all.

    A file that was there stays until then, and its permissions are kept.  Of a symbolic link, the file that it leads to
    is written.  What processes that were killed have left in the folder is removed.
    """
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    content = save(whole, {_KEY: _sealed({"format": FORMAT, "version": VERSION, **settings}, whole)})
    target = Path(path)
    if target.exists() and not target.is_file():
        raise ModelFileError(f"{target}: a folder or a device; name a file")
    try:
        _write_whole(Path(os.path.realpath(target)), content)
    except FileNotFoundError:
        raise ModelFileError(f"{target}: the folder does not exist; create it first") from None
    except OSError as error:
        error.filename = str(target)
        raise


def _sealed(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write settings as JSON, with the digest of these settings and of arrays that lie in one piece each."""
    named = sorted(arrays.items())
    rest = {name: value for name, value in settings.items() if name != _DIGEST}
    digest = blake2b(_json(rest).encode(), digest_size=32)
    digest.update(_json([[name, array.dtype.str, array.shape] for name, array in named]).encode())
    for _, array in named:
        digest.update(array.reshape(-1).view(np.uint8).data)
    return _json({**rest, _DIGEST: digest.hexdigest()})


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _write_whole(target: Path, content: bytes) -> None:
    """Write a file beside its place, and put it there when it is on the disk."""
    ours = f".{FORMAT}-{blake2b(platform.node().encode(), digest_size=4).hexdigest()}-"
    _sweep(target.parent, ours)
    part = target.with_name(f"{ours}{os.getpid()}-{secrets.token_hex(4)}")
    try:
        with part.open("xb") as file:  # a new file, which gets the permissions that the process gives to all its files
            if target.exists():
                part.chmod(stat.S_IMODE(target.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
        _sync_folder(target.parent)
    finally:
        with suppress(OSError):
            part.unlink()


def _sync_folder(folder: Path) -> None:
    """Have the names of a folder's files written to the disk, where the system can do that."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _sweep(folder: Path, prefix: str) -> None:
    """Remove what processes of this machine that are no more have left in a folder: files `prefix PID - ...`."""
    if os.name != "posix":  # elsewhere, no signal only asks whether a process is there
        return
    for part in folder.glob(f"{prefix}*"):
        process = part.name.removeprefix(prefix).partition("-")[0]
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            with suppress(OSError):
                part.unlink()
        except (OSError, ValueError, OverflowError):
            continue


def load_model(path: str | os.PathLike[str], kind: str | None = None) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read the arrays and settings of a model of the given kind, or of any.

    Raises ModelFileError, naming the file and what to do, if the file is missing, cut short, damaged, not a model, of
    another kind or of another version.
    """
    if Path(path).is_dir():
        raise ModelFileError(f"{path}: a folder; give the file of a model")
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            settings = json.loads(metadata[_KEY], parse_constant=_infinity)
            names = file.keys()
            arrays = {name: file.get_tensor(name) for name in names}
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error})") from None
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{path}: not a model, or cut short ({error}); train it again") from None
    if not isinstance(settings, dict) or settings.get("format") != FORMAT:
        raise ModelFileError(f"{path}: not a model of this library")
    version = settings.get("version")
    if version != VERSION:
        is_newer = isinstance(version, int) and version > VERSION
        remedy = "install a newer spectral-latent" if is_newer else "train it again"
        raise ModelFileError(f"{path}: format version {version}, but this library reads {VERSION}; {remedy}")
    if metadata != {_KEY: _sealed(settings, arrays)}:
        raise ModelFileError(f"{path}: the model is damaged (its digest is another); copy it again, or train it again")
    del settings[_DIGEST]
    if kind is not None and settings.get("kind") != kind:
        raise ModelFileError(f"{path}: a {settings.get('kind')} model, where a {kind} model is needed")
    return arrays, settings


def _infinity(name: str) -> float:
    """Read what JSON has for infinities, which may be names.  Raises ValueError for NaN."""
    if name == "NaN":
        raise ValueError("a setting is not a number")
    return float(name)


@contextmanager
def opened_model(
    path: str | os.PathLike[str], kind: str | None = None
) -> Iterator[tuple[dict[str, NDArray[Any]], dict[str, Any]]]:
    """Load arrays and settings to make a model of; what goes wrong on the way is a ModelFileError that names the file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "toy")
    ...     save_model(file, {}, {"kind": "toy", "names": ["a"]})
    ...     with opened_model(file, "toy") as (arrays, settings):
    ...         settings["names"]
    ['a']
    """
    parts = load_model(path, kind)
    try:
        yield parts
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{path}: the model is damaged ({error}); train it again") from None
