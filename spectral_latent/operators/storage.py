"""Read and write model files: named arrays and JSON settings in one safetensors file, which cannot run code.

`StoredModel` is the base of all models that can be saved.

A file is written whole or not at all.  A digest of its contents shows damage when the file is read.  The contents are
then compared with their declarations (`operators.contents`), so that a hostile file with the right digest raises an
error and never leads to an out-of-bounds access.  The same model gives the same bytes, with the same version of zlib.

Numbers are converted to the smallest type that holds them.  Their bytes are compressed by zlib, and stored as an array
of bytes: first the lowest byte of every number, then the next byte of every number.  Equal arrays are stored once.

The settings are JSON without white space and with sorted keys.  Three entries are about the arrays:

| entry | meaning |
| --- | --- |
| `arrays` | name: the type of the numbers in memory, their smaller type, and the shape |
| `copies` | name: the name of an equal array, which is stored |
| `digest` | BLAKE2b, 32 bytes in hexadecimal, of all that is stored |

The digest is of three things: the settings without it; the JSON list of name, type and shape of every stored array, by
name; and the bytes of the stored arrays, by name.
"""

from __future__ import annotations

import json
import math
import os
import platform
import secrets
import stat
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from hashlib import blake2b
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from spectral_latent import __version__
from spectral_latent._options import ShortRepr

__all__ = ["ModelFileError", "StoredModel", "load_model", "opened_model", "save_model"]

FORMAT = "spectral_latent"
VERSION = 7
_KEY = "model"
_DIGEST = "digest"
_RECORD = "record"
_FLOATS = ("float16", "float32")
_SMALLER = {"int64": ("uint8", "uint16", "uint32"), "float32": _FLOATS[:1], "float64": _FLOATS}  # the smallest first
_STORED = {"bool", *_SMALLER, *_SMALLER["int64"], *_FLOATS}
_MOST_COMPRESSED = 1100  # the most bytes that zlib makes of one
_BEGINNING = 1 << 12  # bytes of a file that show whether it is text
_SHOWN = 10  # entries of a list in a summary
_Contents: TypeAlias = tuple[dict[str, NDArray[Any]], dict[str, Any]]  # the arrays and the settings of a model


_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, MemoryError)


class ModelFileError(ValueError):
    """A file is not a whole model of this library and of this version."""


class MissingModelError(ModelFileError, FileNotFoundError):
    """A file that does not exist, or a file to write in a folder that does not exist."""


def save_model(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> None:
    """Write arrays and JSON-able settings to a file, which appears complete or not at all.

    An old file of this name stays until the new one is complete, which gets its permissions.  If the name is a symbolic
    link, the file that it leads to is written.  Temporary files of killed processes are removed from the folder.

    path: the file to write.
    arrays: arrays of any shape, by name.
    settings: further contents, which `json.dumps` must be able to write.
    Raises ValueError for numbers of a type that files do not hold, and for a setting of a name that the file uses.
    """
    stored, table = _packed(arrays)
    for name in (*table, _DIGEST):
        if name in settings:
            raise ValueError(f"the file has a setting {name} of its own; give yours another name")
    heading: dict[str, Any] = {"format": FORMAT, "version": VERSION, "library": __version__}
    content = save(stored, {_KEY: _sealed({**heading, **settings, **table}, stored)})
    target = Path(path)
    if target.exists() and not target.is_file():
        raise ModelFileError(f"{target}: a folder or a device; name a file")
    try:
        _write_whole(Path(os.path.realpath(target)), content)
    except FileNotFoundError:
        raise MissingModelError(f"{target}: the folder does not exist; create it first") from None
    except OSError as error:
        error.filename = str(target)
        raise


def _packed(arrays: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compress arrays, and leave out those that equal others.

    Returns the compressed arrays, and the entries `arrays` and `copies` of the settings.
    Raises ValueError, naming the array, for numbers of a type that files do not hold.
    """
    stored: dict[str, NDArray[Any]] = {}
    names: dict[tuple[Any, ...], str] = {}
    table: dict[str, list[Any]] = {}
    copies: dict[str, str] = {}
    for name, given in sorted(arrays.items()):
        if given.dtype.name not in _STORED:
            raise ValueError(
                f"the array {name} has numbers of {given.dtype}; a file holds {', '.join(sorted(_STORED))}"
            )
        array = given.astype(given.dtype.newbyteorder("="), copy=False)
        smallest = np.ascontiguousarray(_smallest(array)).reshape(array.shape)
        entry = [array.dtype.name, smallest.dtype.name, array.shape]
        first = names.setdefault((*entry, smallest.tobytes()), name)
        if first == name:
            stored[name] = _compressed(smallest)
            table[name] = entry
        else:
            copies[name] = first
    return stored, {"arrays": table, "copies": copies}


def _smallest(array: NDArray[Any]) -> NDArray[Any]:
    """Convert numbers of any shape to the smallest type that loses nothing."""
    for smaller in _SMALLER.get(array.dtype.name, ()):
        with np.errstate(over="ignore", invalid="ignore"):
            converted = array.astype(smaller)
            if np.array_equal(converted.astype(array.dtype), array):
                return converted
    return array


def _compressed(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Compress the bytes of an array of any shape, those of the same place in each number together."""
    places = array.reshape(-1).view(np.uint8).reshape(-1, array.itemsize)
    return np.frombuffer(zlib.compress(places.T.tobytes()), dtype=np.uint8)


def _decompressed(stored: NDArray[Any], entry: Any) -> NDArray[Any]:
    """Make an array of its compressed bytes and its entry in the settings, in its smaller type.

    stored: (n,) the compressed bytes.
    Raises ValueError, TypeError, KeyError, AttributeError or zlib.error if the bytes are not those of the array.
    """
    kind, smaller, shape = entry
    if smaller != kind and smaller not in _SMALLER[kind]:
        raise ValueError(f"numbers of {smaller} are not a smaller type of {kind}")
    if smaller not in _STORED or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("the type or the shape of an array is not one")
    itemsize = np.dtype(smaller).itemsize
    size = itemsize * math.prod(shape)
    if size > _MOST_COMPRESSED * (stored.size + 1):
        raise ValueError("an array is larger than what it is made of")
    reader = zlib.decompressobj()
    content = reader.decompress(stored.tobytes(), size + 1)
    if len(content) != size or not reader.eof or reader.unused_data:
        raise ValueError("an array has too few or too many bytes")
    places = np.frombuffer(content, dtype=np.uint8).reshape(itemsize, -1)
    numbers: NDArray[Any] = np.ascontiguousarray(places.T).view(smaller).reshape(shape)
    return numbers


def _unpacked(stored: Mapping[str, NDArray[Any]], settings: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Make the arrays that `_packed` was given; the entries about them are removed from the settings.

    Raises ValueError, TypeError, KeyError, AttributeError or zlib.error if the entries do not fit the stored arrays.
    """
    table = settings.pop("arrays")
    copies = settings.pop("copies")
    if table.keys() != stored.keys() or copies.keys() & table.keys():
        raise ValueError("the arrays are not those of the table")
    arrays = {name: _decompressed(stored[name], entry).astype(entry[0], copy=False) for name, entry in table.items()}
    return arrays | {name: arrays[first] for name, first in copies.items()}


def _sealed(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write settings as JSON, with the digest of these settings and of arrays that lie in one piece each."""
    rest = {name: value for name, value in settings.items() if name != _DIGEST}
    return _json({**rest, _DIGEST: _digest(rest, arrays)})


def _digest(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Compute the digest of settings, and of arrays that lie in one piece each."""
    named = sorted(arrays.items())
    digest = blake2b(_json(settings).encode(), digest_size=32)
    digest.update(_json([[name, array.dtype.str, array.shape] for name, array in named]).encode())
    for _, array in named:
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _write_whole(target: Path, content: bytes) -> None:
    """Write a temporary file beside the target, and rename it when it is on the disk."""
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
    """Write the names of a folder's files to the disk, if the system can do that."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _sweep(folder: Path, prefix: str) -> None:
    """Remove the temporary files `prefix PID - ...` of processes of this machine that have ended."""
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


def load_model(path: str | os.PathLike[str], kind: str | None = None) -> _Contents:
    """Read the arrays and settings of a model of the given kind, or of any.

    path: the file to read.
    kind: the kind of model that the file must hold; None for any.

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
        raise MissingModelError(f"{path}: No such file or directory") from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error})") from None
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError, RecursionError):
        if _is_text(Path(path)):
            raise ModelFileError(f"{path}: text, where the file of a model is needed") from None
        raise ModelFileError(f"{path}: not a model, or cut short; train it again") from None
    if not isinstance(settings, dict) or settings.get("format") != FORMAT:
        raise ModelFileError(f"{path}: not a model of this library")
    version = settings.get("version")
    if version != VERSION:
        is_newer = isinstance(version, int) and version > VERSION
        remedy = "install a newer spectral-latent" if is_newer else "train it again"
        raise ModelFileError(f"{path}: format version {version}, but this library reads {VERSION}; {remedy}")
    if metadata != {_KEY: _sealed(settings, arrays)}:
        raise ModelFileError(f"{path}: the model is damaged (its digest is another); copy it again, or train it again")
    if not isinstance(settings.get("library"), str):
        raise ModelFileError(f"{path}: the model is damaged (it names no version of the library); train it again")
    del settings[_DIGEST]
    try:
        arrays = _unpacked(arrays, settings)
    except (*_DAMAGE, zlib.error) as error:
        raise ModelFileError(f"{path}: the model is damaged ({error}); train it again") from None
    if kind is not None and settings.get("kind") != kind:
        raise ModelFileError(f"{path}: a {settings.get('kind')} model, where a {kind} model is needed")
    return arrays, settings


def _is_text(path: Path) -> bool:
    """Tell whether a file is text: not empty, in UTF-8 and without control characters but those of white space."""
    with path.open("rb") as file:
        beginning = file.read(_BEGINNING)
    text = beginning.decode("utf-8", errors="ignore")
    is_utf_8 = len(text.encode()) > len(beginning) - 4  # the last character may be cut
    return bool(text) and is_utf_8 and all(character.isprintable() or character.isspace() for character in text)


def _infinity(name: str) -> float:
    """Read an infinity of JSON as a float, because a name may be infinite.  Raises ValueError for NaN."""
    if name == "NaN":
        raise ValueError("a setting is not a number")
    return float(name)


@contextmanager
def opened_model(path: str | os.PathLike[str], kind: str | None = None) -> Iterator[_Contents]:
    """Load arrays and settings to make a model of; an error in the `with` block becomes a ModelFileError.

    path: the file to read.
    kind: the kind of model that the file must hold; None for any.

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
    except _DAMAGE as error:
        raise ModelFileError(f"{path}: the model is damaged ({error}); train it again") from None


def _shortened(value: Any) -> str:
    """Write a fact about a model, of a list the first entries.

    >>> _shortened(["NN", "VB"]), _shortened(list(range(100))), _shortened(None)
    ('2: NN, VB', '100: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, list):
        shown = [str(entry) for entry in value[:_SHOWN]]
        return f"{len(value)}: {', '.join([*shown, *(['...'] if len(value) > _SHOWN else [])])}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {entry}" for name, entry in value.items()) or "-"
    return str(value)


class StoredModel(ShortRepr):
    """Base of models: a model is saved in one file, of which it can be made again.

    kind: the name of the kind of model in files.

    >>> class Kettle(StoredModel):
    ...     kind = "kettle"
    ...     sizes = "2 litres"
    ...     def contents(self): return {"temperature": np.array([100.0])}, {"material": "copper"}
    ...     @staticmethod
    ...     def from_arrays(arrays, settings): return Kettle()
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Kettle().save(Path(folder, "model"))
    ...     Kettle.load(Path(folder, "model"))
    <Kettle: 2 litres>
    >>> print(Kettle().summary)
    {'kind': 'kettle', 'sizes': '2 litres'}
    """

    kind: ClassVar[str]

    @abstractmethod
    def contents(self) -> _Contents:
        """Return the arrays and the settings of the model, of which `from_arrays` makes it again.

        Raises ValueError if a name within the model is not made of strings, numbers, None and tuples.
        """

    @staticmethod
    @abstractmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> StoredModel:
        """Make a model of the contents of its file; `load` turns the errors of damaged contents into ModelFileError.

        arrays: the arrays of the file by name.
        settings: the settings of the file.
        """

    @property
    def fingerprint(self) -> str:
        """The digest of the contents, which tells models apart: equal for models that answer alike to the last bit."""
        arrays, settings = self.contents()
        return _digest(settings, {name: np.ascontiguousarray(array) for name, array in arrays.items()})

    @property
    def description(self) -> dict[str, Any]:
        """The facts about the model that tell it from others, by their names; JSON can hold them."""
        options = getattr(self, "options", None)
        facts: dict[str, Any] = {"kind": self.kind, "sizes": self.sizes}
        if options is not None:
            facts["options"] = asdict(options)
        if objective := getattr(self, "objective", ()):
            facts["objective"] = [round(value, 2) for value in objective]
        return facts

    @property
    def summary(self) -> dict[str, str]:
        """The description in short texts: the first entries of lists, and the options that differ from the defaults."""
        options = getattr(self, "options", None)
        texts = {name: _shortened(value) for name, value in self.description.items()}
        return texts | ({} if options is None else {"options": repr(options)})

    def _repr_html_(self) -> str:
        """Write the summary as a table, which notebooks show."""
        rows = (f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in self.summary.items())
        return f"<table>{''.join(rows)}</table>"

    def save(self, path: str | os.PathLike[str], record: Mapping[str, Any] | None = None) -> None:
        """Write the model to one file, whole or not at all.

        path: the file.
        record: an account of how the model was made, which the file keeps and `record_of` returns; JSON can hold it.

        Raises ValueError as `contents`.
        """
        arrays, settings = self.contents()
        save_model(path, arrays, {"kind": self.kind, **settings, **({} if record is None else {_RECORD: record})})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model.  Raises ModelFileError if the file is not a whole model of this kind and version.

        path: the file.
        """
        with opened_model(path, cls.kind) as (arrays, settings):
            return cast(Self, cls.from_arrays(arrays, settings))
