"""Models as files: named arrays and JSON settings in one safetensors file, which cannot run code.

Written whole or not at all; read with every index checked, so that a damaged or hostile file is an error and never
an out-of-bounds access.  The same model gives the same bytes.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from spectral_latent._options import Options, field_types
from spectral_latent.operators.operators import ObservableOperators, PackedOperators
from spectral_latent.trees import FloatArray

__all__ = [
    "ModelFileError",
    "arrays_of",
    "column_from",
    "load_model",
    "name_of",
    "opened_model",
    "operators_from",
    "options_from",
    "plain_name",
    "save_model",
]

FORMAT = "spectral_latent"
VERSION = 4
_KEY = "model"

AnyOptions = TypeVar("AnyOptions", bound=Options)


class ModelFileError(ValueError):
    """A file that is not a whole model of this library's, or of another version."""


def save_model(path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> None:
    """Write arrays and JSON-able settings to a file, which appears complete or not at all.

    A file that was there stays until then, and its permissions are kept.
    """
    header = {"format": FORMAT, "version": VERSION, **settings}
    text = json.dumps(header, sort_keys=True, separators=(",", ":"))
    content = save({name: np.ascontiguousarray(array) for name, array in arrays.items()}, {_KEY: text})
    target = Path(path)
    if target.exists() and not target.is_file():
        raise ModelFileError(f"{target}: a folder or a device; name a file")
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with part.open("xb") as file:  # a new file, which gets the permissions that the process gives to all its files
            file.write(content)
        if target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        part.replace(target)
    except FileNotFoundError:
        raise ModelFileError(f"{target}: the folder does not exist; create it first") from None
    except OSError as error:
        error.filename = str(target)
        raise
    finally:
        with suppress(OSError):
            part.unlink()


def load_model(path: str | os.PathLike[str], kind: str | None = None) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read the arrays and settings of a model of the given kind, or of any.

    Raises ModelFileError, naming the file and what to do, if the file is missing, cut short, not a model, of another
    kind or of another version.
    """
    if Path(path).is_dir():
        raise ModelFileError(f"{path}: a folder; give the file of a model")
    try:
        with safe_open(path, framework="np") as file:
            settings = json.loads((file.metadata() or {})[_KEY])
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
    if kind is not None and settings.get("kind") != kind:
        raise ModelFileError(f"{path}: a {settings.get('kind')} model, where a {kind} model is needed")
    return arrays, settings


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


def arrays_of(prefix: str, operators: ObservableOperators) -> dict[str, NDArray[Any]]:
    """List the arrays of operators, named `prefix.field`."""
    return {f"{prefix}.{name}": array for name, array in operators.packed._asdict().items()}


def operators_from(
    prefix: str, arrays: Mapping[str, NDArray[Any]], *, probabilities: bool = False
) -> ObservableOperators:
    """Make operators of what `arrays_of` listed.  Raises ModelFileError if arrays lack or do not fit together."""
    try:
        packed = PackedOperators(*(arrays[f"{prefix}.{name}"] for name in PackedOperators._fields))
        for name in ("root", "leaf", "unary", "data"):
            if not _is_finite(getattr(packed, name)):
                raise ValueError(f"{name} is not of finite numbers")
        if (packed.leaf_rules < 0).any():
            raise ValueError("a rule names a terminal that does not exist")
        operators = ObservableOperators.unpacked(packed, probabilities=probabilities)
        if not np.array_equal(operators.binary.offset, packed.offset):
            raise ValueError("tensor sizes do not add up")
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ModelFileError(f"the operators `{prefix}` of the model are damaged ({error}); train it again") from None
    return operators


def column_from(name: str, arrays: Mapping[str, NDArray[Any]]) -> FloatArray:
    """Take the array of that name, if it is finite numbers (n,).  Raises KeyError if there is none, else ValueError.

    >>> column_from("prior", {"prior": np.array([0.25, 0.75])})
    array([0.25, 0.75])
    """
    column = arrays[name]
    if column.ndim != 1 or not _is_finite(column):
        raise ValueError(f"{name} is not a column of finite numbers")
    return column


def _is_finite(array: NDArray[Any]) -> bool:
    """Tell whether an array has finite numbers only, of the type that models are made of."""
    return array.dtype == np.float64 and bool(np.isfinite(array).all())


def options_from(cls: type[AnyOptions], values: Any) -> AnyOptions:
    """Make options of what `dataclasses.asdict` and JSON made of them.

    values: the fields by name; a field that is options itself is a dict, too.

    Raises ModelFileError if fields are missing or unknown, or if the options refuse a value.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Settings(Options):
    ...     states: int = 1
    ...     smoothing: float | None = None
    >>> options_from(Settings, {"states": 16, "smoothing": 30.0})
    Settings(states=16, smoothing=30.0)
    """
    declared = field_types(cls)
    if not isinstance(values, dict):
        raise ModelFileError(f"{cls.__name__} must be a table of settings, not {values!r}; train the model again")
    if wrong := sorted(set(values) ^ set(declared)):
        raise ModelFileError(
            f"settings of {cls.__name__} are missing or unknown: {', '.join(wrong)}; train the model again"
        )
    parts = {
        name: options_from(kind, values[name])
        for name, kind in declared.items()
        if isinstance(kind, type) and issubclass(kind, Options)
    }
    try:
        return cls(**(values | parts))
    except ValueError as error:
        raise ModelFileError(f"{error}; train the model again") from None


def plain_name(name: Hashable) -> Any:
    """Convert a name to what JSON has; tuples become lists.  Raises ValueError for what cannot be saved.

    >>> plain_name(("a", (1, None)))
    ['a', [1, None]]
    """
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, tuple):
        return [plain_name(part) for part in name]
    if name is not None and not isinstance(name, str | int | float):
        raise ValueError(f"{name!r} cannot be saved: names must be strings, numbers, None or tuples of them")
    return name


def name_of(plain: Any) -> Hashable:
    """Convert what `plain_name` made back to a name; TypeError if there is none."""
    if isinstance(plain, dict):
        raise TypeError("a name is a table")
    return tuple(name_of(part) for part in plain) if isinstance(plain, list) else plain
