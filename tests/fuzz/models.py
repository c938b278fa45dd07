"""Files of every kind of model, with the right digest and wrong contents, and what must become of them.

A damaged file is refused when it is read, by a ModelFileError that names it; or it is a model, whose answers have no
NaN, are as many as there are questions, and come from within its arrays (run with NUMBA_BOUNDSCHECK=1 to see that).
"""

import random
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spectral_latent import load
from spectral_latent.files import ModelFileError, load_model, save_model
from spectral_latent.files.storage import VERSION
from tests.files import golden

KINDS = list(golden.MODELS)

FAR = [-(2**62), -(10**9), -2, -1, 0, 1, 2, 3, 10**6, 10**9, 2**62]
FLOATS = [0.0, -0.0, -1.0, 1e-300, 1e-30, 0.5, 1.0, 2.0, 1e6, 1e30, 1e90, 1e308, -1e308, np.inf, np.nan]
SETTINGS = [None, True, False, 0, 1, -1, 3, 10**9, 10**400, 0.5, 1e308, "", "a", "False", [], [None], ["a", "a"], {}]


def _numbers(answers: Any) -> Iterator[float]:
    """List the numbers of lists within lists."""
    if isinstance(answers, list):
        for answer in answers:
            yield from _numbers(answer)
    elif isinstance(answers, float):
        yield answers


@cache
def whole(kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return load_model(golden.FOLDER / str(VERSION) / kind)


def damaged(
    rng: random.Random, arrays: dict[str, Any], settings: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Change one to three things in the contents of a model file."""
    arrays, settings = dict(arrays), dict(settings)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if rng.random() < 0.3:
            key = rng.choice(sorted(settings.keys() - {"format", "kind", "version"}))
            settings[key] = _other(rng, settings[key])
        else:
            name = rng.choice(sorted(arrays))
            arrays[name] = _damaged_array(rng, arrays[name], arrays)
    return {name: array for name, array in arrays.items() if array is not None}, settings


def _damaged_array(rng: random.Random, array: Any, arrays: dict[str, Any]) -> Any:
    """Change a number, a row, the order, the type or the shape of an array, or leave it out."""
    if array is None or not array.size or rng.random() < 0.02:
        return None
    changed = array.copy()
    at = rng.randrange(array.size)
    how = rng.choice(["number"] * 6 + ["row", "swap", "short", "long", "type", "shape", "all", "other"])
    if how == "number":
        near = changed.ravel()[rng.randrange(array.size)]
        value = rng.choice([near, *(FLOATS if array.dtype.kind == "f" else FAR)])
        with np.errstate(all="ignore"):
            changed.flat[at] = value if array.dtype.kind == "f" else np.int64(value).astype(array.dtype)
    elif how in ("row", "swap"):
        other = rng.randrange(len(array))
        changed[other] = array[at % len(array)]
        if how == "swap":
            changed[at % len(array)] = array[other]
    elif how == "all":
        changed[...] = changed.flat[at]
    elif how == "other":
        return arrays[rng.choice(sorted(arrays))]
    else:
        types = [np.float16, np.float32, np.float64, np.int64, np.uint8, np.bool_]
        with warnings.catch_warnings(action="ignore"):
            return {
                "short": lambda: array[:-1],
                "long": lambda: np.concatenate([array, array[:1]]),
                "type": lambda: array.astype(rng.choice(types)),
                "shape": lambda: array[None],
            }[how]()
    return changed


def _other(rng: random.Random, value: Any) -> Any:
    """Change, leave out or repeat one part of a JSON value."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        name = rng.choice(sorted(value))
        if rng.random() < 0.03:
            return {key: part for key, part in value.items() if key != name}
        return value | {name: _other(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        how = rng.choice(["change", "change", "short", "twice", "swap"])
        if how == "change":
            return [*value[:at], _other(rng, value[at]), *value[at + 1 :]]
        return {"short": value[:-1], "twice": [*value, value[at]], "swap": value[at:] + value[:at]}[how]
    return rng.choice(SETTINGS)


def check(kind: str, case: int, seed: int, folder: Path) -> str:
    """Damage a model file, read it and use it: "refused", "an error" with a message of its own, or "used".

    Raises AssertionError or any other error where the library does what it must not do.
    """
    rng = random.Random(f"{seed}:{kind}:{case}")
    path = folder / "damaged"
    save_model(path, *damaged(rng, *whole(kind)))
    try:
        model = load(path)
    except ModelFileError as error:
        assert str(path) in str(error)
        return "refused"
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        try:
            assert not np.isnan(list(_numbers(golden.answers(model)))).any(), "an answer is NaN"
        except ValueError as error:
            assert type(error) is ValueError
            return "an error"
    return "used"
