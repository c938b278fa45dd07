"""Read and write model files: named arrays and JSON settings in one safetensors file, which cannot run code.

A file is written whole or not at all.  A digest of its contents shows damage when the file is read.  The contents are
then compared with their declarations (`files.codec`), so that a hostile file with the right digest raises an
error and never leads to an out-of-bounds access.  The same model gives the same bytes, with the same version of zlib.

The settings are JSON without white space and with sorted keys.  Numbers of arrays are converted to the smallest type
that holds them.  Their bytes are compressed by zlib, and stored as an array of bytes: first the lowest byte of every
number, then the next byte of every number.  Equal arrays are stored once.  Three entries of the settings are of the
file:

| entry | meaning |
| --- | --- |
| `arrays` | name: the type of the numbers in memory, their smaller type, and the shape |
| `copies` | name: the name of an equal array, which is stored |
| `digest` | BLAKE2b, 32 bytes in hexadecimal |

The digest is computed from three parts: the settings without the digest; the JSON list of name, type and shape of every
stored array, by name; and the bytes of the stored arrays, by name.

Temporary files and folders are named by their process, so that those of killed processes can be removed.
"""

import json
import math
import os
import platform
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from spectral_latent._names import printable
from spectral_latent._options import Count, checked
from spectral_latent._threads import made_to_stay
from spectral_latent._version import __version__, untested
from spectral_latent.files.codec import Contents, UnknownKindError
from spectral_latent.ready import find_model, missing_model

_FLOATS = ("float16", "float32")
_SMALLER = {"int64": ("uint8", "uint16", "uint32"), "float32": _FLOATS[:1], "float64": _FLOATS}  # the smallest first
_STORED = {"bool", *_SMALLER, *_SMALLER["int64"], *_FLOATS}
_MOST_AXES = 4
_LONGEST_AXIS = 1 << 48
_MOST_COMPRESSED = 1100  # the largest number of bytes that zlib can make from one compressed byte
_SLICE = 1 << 15  # the number of compressed bytes that are decompressed at once
FORMAT = "spectral_latent"
VERSION = 8
MAX_BYTES = 4 << 30  # the largest memory of the arrays of a model, unless its reader asks for more
RECORD = "record"
HEADING = frozenset({"format", "version", "library", "kind", RECORD})  # settings that are of the file, not of the model
_KEY = "model"
_DIGEST = "digest"
_BEGINNING = 1 << 12  # the number of bytes that are read to tell whether a file is text
# The versions that are readable, each with what turns its contents into those of the present version.
_TO_PRESENT: dict[int, Callable[[Contents], Contents]] = {VERSION: lambda contents: contents}
_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError, MemoryError)


def temporary_folder() -> Path:
    """Make a new folder among the temporary files of the system, and remove those of processes that have ended.

    >>> folder = temporary_folder()
    >>> folder.is_dir(), folder.name.startswith("spectral-latent-")
    (True, True)
    >>> folder.rmdir()
    """
    import tempfile  # here, because loading does without it, and it takes a while

    return Path(tempfile.mkdtemp(prefix=_swept_prefix(Path(tempfile.gettempdir()), "spectral-latent-")))


def _swept_prefix(folder: Path, prefix: str) -> str:
    """Return the beginning of the names of this process's own temporary files, which end in letters by chance.

    Files and folders of the same kind are removed if their processes, of this machine, have ended."""
    prefix += f"{_machine()}-"
    if os.name == "posix":  # other systems have no signal that only asks whether a process exists
        for path in folder.glob(f"{prefix}*"):
            _remove_if_ended(path, path.name.removeprefix(prefix).partition("-")[0])
    return f"{prefix}{os.getpid()}-"


def _machine() -> str:
    """Return a short digest of the name of the machine, and of the container within which a process has its number."""
    space = ""
    with suppress(OSError):  # other systems than Linux
        space = os.readlink("/proc/self/ns/pid")
    return blake2b(f"{platform.node()} {space}".encode(), digest_size=4).hexdigest()


def _remove_if_ended(path: Path, process: str) -> None:
    """Remove a temporary file or folder if its process has ended; what cannot be removed stays."""
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        with suppress(OSError):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
    except (OSError, ValueError, OverflowError):
        pass


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Compress arrays; an array that is equal to another one is left out.

    arrays: arrays of any shape, by name.

    Returns the compressed arrays, and the entries `arrays` and `copies` of the settings.
    Raises ValueError, naming the array, for numbers of a type that files do not hold."""
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
            stored[name] = _compress(smallest)
            table[name] = entry
        else:
            copies[name] = first
    return stored, {"arrays": table, "copies": copies}


def _smallest(array: NDArray[Any]) -> NDArray[Any]:
    """Convert numbers of any shape to the smallest type that holds them exactly."""
    for smaller in _SMALLER.get(array.dtype.name, ()):
        with np.errstate(over="ignore", invalid="ignore"):
            converted = array.astype(smaller)
            if np.array_equal(converted.astype(array.dtype), array):
                return converted
    return array


def _compress(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Compress the bytes of an array of any shape, first the lowest bytes of all numbers, then the next bytes."""
    places = array.reshape(-1).view(np.uint8).reshape(-1, array.itemsize)
    return np.frombuffer(zlib.compress(places.T.tobytes()), dtype=np.uint8)


def _n_numbers(entry: Any, n_stored: int) -> int:
    """Count the numbers of an array, by its entry in the settings and the number of its compressed bytes."""
    kind, smaller, shape = entry
    if smaller != kind and smaller not in _SMALLER[kind]:
        raise ValueError(f"numbers of {smaller} are not a smaller type of {kind}")
    if smaller not in _STORED or len(shape) > _MOST_AXES:
        raise ValueError("an array has an unknown type or an impossible shape")
    if not all(type(length) is int and 0 <= length < _LONGEST_AXIS for length in shape):
        raise ValueError("an array has an impossible shape")
    n_numbers = math.prod(shape)
    if n_numbers * np.dtype(smaller).itemsize > _MOST_COMPRESSED * (n_stored + 1):
        raise ValueError("an array is larger than its compressed bytes can make")
    return int(n_numbers)


def _decompress(stored: NDArray[Any], entry: Any) -> NDArray[Any]:
    """Make an array, in its smaller type, from its compressed bytes (n,) and its checked entry in the settings."""
    _, smaller, shape = entry
    itemsize = np.dtype(smaller).itemsize
    size = itemsize * math.prod(shape)
    reader = zlib.decompressobj()
    content = bytearray()
    for first in range(0, len(stored), _SLICE):  # what one slice makes takes little memory, which is used again
        content += reader.decompress(stored[first : first + _SLICE].data, max(1, size + 1 - len(content)))
    if len(content) != size or not reader.eof or reader.unused_data:
        raise ValueError("an array has too few or too many bytes")
    *lower, highest = np.frombuffer(content, dtype=np.uint8).reshape(itemsize, -1)
    numbers = highest.astype(f"u{itemsize}")
    for place in reversed(lower):  # shift all numbers at once, which is faster than to copy them byte by byte
        numbers <<= 8
        numbers |= place
    return np.asarray(numbers.view(smaller).reshape(shape))


class _PackedArrays(Mapping[str, NDArray[Any]]):
    """Arrays that are decompressed when they are first asked for.

    stored: the compressed bytes of each array.
    table: the type of each array in memory, its smaller type, and its shape, which were checked.
    copies: the array that another one is equal to, by the name of the other one."""

    def __init__(self, stored: Mapping[str, NDArray[Any]], table: Mapping[str, Any], copies: Mapping[str, str]) -> None:
        self._stored = stored
        self._table = table
        self._first = {name: name for name in table} | dict(copies)
        self._made: dict[str, NDArray[Any]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._first)

    def __len__(self) -> int:
        return len(self._first)

    def __contains__(self, name: object) -> bool:
        return name in self._first

    def __getitem__(self, name: str) -> NDArray[Any]:
        first = self._first[name]
        if first not in self._made:
            self._made[first] = self.smaller(first).astype(self._table[first][0], copy=False)
        return self._made[first]

    def smaller(self, name: str) -> NDArray[Any]:
        """Return an array in its smaller type, in new memory."""
        first = self._first[name]
        try:
            return _decompress(self._stored[first], self._table[first])
        except zlib.error as error:
            raise ValueError(f"the bytes of the array {first} cannot be decompressed ({error})") from None

    def described(self, name: str) -> NDArray[Any]:
        """Return an array of the type and the shape of another one, without its numbers and without memory."""
        kind, _, shape = self._table[self._first[name]]
        return np.broadcast_to(np.zeros((), kind), tuple(shape))


def unpack_arrays(
    stored: Mapping[str, NDArray[Any]], settings: dict[str, Any], max_bytes: int
) -> Mapping[str, NDArray[Any]]:
    """Restore the arrays that `pack_arrays` compressed, and remove the entries about them from the settings.

    An array is decompressed when it is asked for, so that its shape can be compared before."""
    table = settings.pop("arrays")
    copies = settings.pop("copies")
    if table.keys() != stored.keys() or copies.keys() & table.keys():
        raise ValueError("the stored arrays are not those of the table")
    n_bytes = 0
    for name, entry in table.items():
        n_bytes += _n_numbers(entry, stored[name].size) * np.dtype(entry[0]).itemsize
    if n_bytes > max_bytes:
        raise ModelFileError(
            f"the model needs {n_bytes} bytes of memory, and may have {max_bytes}; load it with a larger max_bytes "
            "if you trust its source"
        )
    if not copies.keys().isdisjoint(table) or not set(copies.values()) <= table.keys():
        raise ValueError("an array is a copy of none that is stored")
    return _PackedArrays(stored, table, copies)


class ModelFileError(ValueError):
    """An error for a file that is not a whole model of this library and version.

    The message is for a terminal, as `printable` makes it, because names in a hostile file may be any text."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class MissingModelError(ModelFileError, FileNotFoundError):
    """An error for a file that does not exist, or for a file to write in a folder that does not exist."""


def save_model(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> None:
    """Write arrays and JSON-able settings to a file, which appears complete or not at all.

    An old file of this name stays until the new file is complete; the new file gets its permissions.  If the name is a
    symbolic link, its target is written.  Temporary files of killed processes are removed from the folder.

    arrays: arrays of any shape, by name.
    settings: further contents, which `json.dumps` must be able to write.
    Raises ValueError for numbers of a type that files do not hold, and for a setting of a name that the file uses."""
    stored, table = pack_arrays(arrays)
    for name in (*table, _DIGEST):
        if name in settings:
            raise ValueError(f"the file has a setting {name} of its own; give yours another name")
    heading: dict[str, Any] = {"format": FORMAT, "version": VERSION, "library": __version__}
    content = save(stored, {_KEY: _seal({**heading, **settings, **table}, stored)})
    target = Path(path)
    if target.exists() and not target.is_file():
        raise ModelFileError(f"{target}: a folder or a device; name a file")
    try:
        write_whole(Path(os.path.realpath(target)), content)
    except FileNotFoundError:
        raise MissingModelError(f"{target}: the folder does not exist; create it first") from None
    except OSError as error:
        error.filename = str(target)
        raise


def _seal(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write settings as JSON, with the digest of these settings and of contiguous arrays."""
    rest = {name: value for name, value in settings.items() if name != _DIGEST}
    return _json({**rest, _DIGEST: digest_of(rest, arrays)})


def digest_of(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Compute the digest of settings and of contiguous arrays.

    arrays: arrays of any shape, by name."""
    named = sorted(arrays.items())
    digest = blake2b(_json(settings).encode(), digest_size=32)
    digest.update(_json([[name, array.dtype.str, array.shape] for name, array in named]).encode())
    for _, array in named:
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def temporary_file(target: Path) -> Path:
    """Name a new file beside the target, and remove those of processes that have ended."""
    return target.with_name(_swept_prefix(target.parent, f".{FORMAT}-") + os.urandom(4).hex())


def write_whole(target: Path, content: bytes) -> None:
    """Write a temporary file beside the target, and rename it after it is on the disk.

    target: the file, whose permissions stay if it is there already."""
    part = temporary_file(target)
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


def load_model(path: str | os.PathLike[str], kind: str | None = None, max_bytes: int = MAX_BYTES) -> Contents:
    """Read the arrays and settings of a model of the given kind, or of any kind.

    path: the file to read, or the name of a ready model.
    kind: the kind of model that the file must hold; None for any.
    max_bytes: the largest memory of its arrays, in bytes.

    Raises ModelFileError, which names the file and a remedy, if the file is missing, cut short, damaged, not a model,
    of another kind or of another version, or if its arrays need more memory."""
    arrays, settings = _load_packed(path, kind, max_bytes)
    try:
        return dict(arrays), settings
    except _DAMAGE as error:
        raise _unreadable(path, error) from None


def _load_packed(
    path: str | os.PathLike[str], kind: str | None, max_bytes: int
) -> tuple[Mapping[str, NDArray[Any]], dict[str, Any]]:
    """Read a model as `load_model` does; each array is decompressed when it is asked for."""
    checked("max_bytes", max_bytes, Count)
    path, given = find_model(path), path
    if path.exists() and not path.is_file():  # a pipe, too, which would be awaited for ever
        kind_of_path = "a folder" if path.is_dir() else "a pipe or a device"
        raise ModelFileError(f"{path}: {kind_of_path}; give the file of a model")
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            settings = json.loads(metadata[_KEY], parse_constant=_infinity)
            names = file.keys()
            arrays = {name: file.get_tensor(name) for name in names}
    except FileNotFoundError:
        raise MissingModelError(missing_model(given)) from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error})") from None
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError, RecursionError):
        if _is_text(Path(path)):
            raise ModelFileError(f"{path}: text, where the file of a model is needed") from None
        raise ModelFileError(f"{path}: not a model, or cut short; train it again") from None
    if not isinstance(settings, dict) or settings.get("format") != FORMAT:
        raise ModelFileError(f"{path}: not a model of this library")
    version = settings.get("version")
    if type(version) is not int or version not in _TO_PRESENT:
        is_newer = isinstance(version, int) and version > VERSION
        remedy = "install a newer spectral-latent" if is_newer else "train it again"
        versions = " and ".join(map(str, _TO_PRESENT))
        raise ModelFileError(f"{path}: format version {version!s:.20}, but this library reads {versions}; {remedy}")
    if metadata != {_KEY: _seal(settings, arrays)}:
        raise ModelFileError(f"{path}: the model is damaged (its digest is another); copy it again, or train it again")
    if not isinstance(settings.get("library"), str):
        raise ModelFileError(f"{path}: the model is damaged (it names no version of the library); train it again")
    del settings[_DIGEST]
    try:
        packed = unpack_arrays(arrays, settings, max_bytes)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except _DAMAGE as error:
        raise _unreadable(path, error) from None
    if kind is not None and settings.get("kind") != kind:
        found = settings.get("kind")
        raise ModelFileError(
            f"{path}: a {found} model, where a {kind} model is needed; `spectral_latent.load` reads models of all kinds"
        )
    return _TO_PRESENT[version]((packed, settings))


def _is_text(path: Path) -> bool:
    """Tell whether a file is text: not empty, in UTF-8, and without control characters except white space."""
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
def open_model(path: str | os.PathLike[str], kind: str | None = None, max_bytes: int = MAX_BYTES) -> Iterator[Contents]:
    """Load the arrays and settings of a model; an error in the `with` block becomes a ModelFileError.

    path: the file to read, or the name of a ready model.
    kind: the kind of model that the file must hold; None for any.
    max_bytes: the largest memory of its arrays, in bytes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "toy")
    ...     save_model(file, {}, {"kind": "toy", "names": ["a"]})
    ...     with open_model(file, "toy") as (arrays, settings):
    ...         settings["names"]
    ['a']
    """
    contents = _load_packed(path, kind, max_bytes)
    try:
        with made_to_stay():
            yield contents
    except (ModelFileError, UnknownKindError) as error:
        raise ModelFileError(f"{path}: {error}") from None
    except _DAMAGE as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str | os.PathLike[str], error: Exception) -> ModelFileError:
    """Explain why contents with the right digest cannot be read: by packages newer than tested, or by damage."""
    if newer := untested():
        return ModelFileError(
            f"{path}: cannot be read ({error}). This version of the library was not tested with {', '.join(newer)}; "
            "install the tested version or a newer spectral-latent. If that does not help, the model is damaged"
        )
    return ModelFileError(f"{path}: the model is damaged ({error}); train it again")
