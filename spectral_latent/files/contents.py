"""Compare the contents of model files, arrays and settings, with declarations.

Declarations have the types and limits of `Options`, and a few more that this module defines.

| declared | accepted |
| --- | --- |
| `array_from(..., np.float64, (n, None), AtLeast(0.0))` | numbers of exactly this type and shape, within limits |
| `setting_from(..., Annotated[list[str], Distinct()])` | JSON of this type, within limits |
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from inspect import isabstract
from types import NoneType, UnionType
from typing import Annotated, Any, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import Options, accepted, described, field_types
from spectral_latent.files.storage import ModelFileError

__all__ = [
    "Distinct",
    "Shares",
    "Sorted",
    "array_from",
    "options_from",
    "plain_name",
    "setting_from",
]

_ROUNDING = 1e-6  # the largest rounding error of a sum of shares
_DEEPEST = 20  # the deepest nesting of a name

AnyOptions = TypeVar("AnyOptions", bound=Options)


class Limit(Protocol):
    """A limit of numbers or names, such as `AtLeast` of `Options`."""

    def accepts(self, value: Any, /) -> Any:
        """Tell whether a value is within the limit; for an array, the answer is one truth value, or one for each
        number.

        value: a number, a list, or an array of any shape.
        """


@dataclass(frozen=True)
class Distinct:
    """Accept names or numbers that are all different."""

    def accepts(self, values: Any) -> bool:
        """Tell whether all values are different.

        values: names or numbers, as a list or as an array (n,).
        """
        return len(set(values.tolist() if isinstance(values, np.ndarray) else values)) == len(values)

    def __str__(self) -> str:
        return "without repetition"


@dataclass(frozen=True)
class Sorted:
    """Accept numbers (n,) that never fall, or rows (n, k) in lexicographic order without repetition."""

    def accepts(self, values: NDArray[Any]) -> bool:
        """Tell whether the numbers or the rows are in order.

        values: (n,) numbers or (n, k) rows.
        """
        step = np.diff(values, axis=0)
        if step.ndim == 1:
            return bool((step >= 0).all())
        # Compare each row with the row before at the first column where they differ; equal rows are out of order.
        first = (step != 0).argmax(axis=1)
        return bool((step[np.arange(len(step)), first] > 0).all())

    def __str__(self) -> str:
        return "in order"


@dataclass(frozen=True)
class Shares:
    """Accept numbers (..., n) that are not negative, and sum to one along the last axis."""

    def accepts(self, values: NDArray[Any]) -> bool:
        """Tell whether every row is non-negative and sums to one.

        values: (..., n) the numbers.
        """
        return bool((values >= 0.0).all() and (np.abs(values.sum(axis=-1) - 1.0) <= _ROUNDING).all())

    def __str__(self) -> str:
        return "shares that sum to one"


def array_from(
    name: str,
    arrays: Mapping[str, NDArray[Any]],
    dtype: type[np.generic],
    shape: tuple[int | None, ...],
    *limits: Limit,
) -> NDArray[Any]:
    """Return the array of a name, if it fits its declaration.

    name: the name of the array.
    arrays: the arrays of a model file, by name.
    dtype: the type of the numbers; floats must not be NaN, and a product of three floats must not overflow.
    shape: the length of each axis; None for an axis of any length.
    limits: the limits of the numbers, such as `AtLeast(0)`.

    Raises ValueError, naming the array, if it is missing or does not fit its declaration.

    >>> from spectral_latent._options import AtLeast, AtMost
    >>> array_from("prior", {"prior": np.array([0.25, 0.75])}, np.float64, (2,), AtLeast(0.0), AtMost(1.0))
    array([0.25, 0.75])
    >>> array_from("keys", {"keys": np.array([3, 1])}, np.int64, (None,), Sorted())
    Traceback (most recent call last):
    ValueError: the array keys must be in order
    """
    fault = _fault(arrays.get(name), dtype, shape, limits)
    if fault is not None:
        raise ValueError(f"the array {name} {fault}")
    return arrays[name]


def _fault(
    array: NDArray[Any] | None, dtype: type[np.generic], shape: tuple[int | None, ...], limits: tuple[Limit, ...]
) -> str | None:
    """Describe how an array of any shape, (...), differs from its declaration; None if it fits."""
    if array is None:
        return "is missing"
    if array.dtype != dtype:
        return f"has numbers of {array.dtype}, and must have {np.dtype(dtype)}"
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        return (
            f"has the shape {array.shape}, and must have ({', '.join('any' if n is None else str(n) for n in shape)})"
        )
    # Products of three numbers must not overflow: the limit is below the third root of the largest number.
    if array.size and np.issubdtype(dtype, np.floating):
        most = float(np.finfo(array.dtype).max) ** 0.3
        if not (array.min() >= -most and array.max() <= most):  # NaN fails both comparisons
            return "has numbers that are not finite, or too large to be multiplied"
    broken = next((limit for limit in limits if not np.all(limit.accepts(array))), None)
    return None if broken is None else f"must be {broken}"


def setting_from(name: str, settings: Mapping[str, Any], declared: Any) -> Any:
    """Return the setting of a name, if it has the declared type.

    name: the name of the setting.
    settings: the settings of a model file, as JSON has them.
    declared: a type that a field of `Options` may have; `str`, a class of options or of named tuples; `Hashable` for a
    name that `plain_name` has made; a list or tuple of one of these, also within limits.

    Raises ValueError, naming the setting, if it is missing or of another type, and ModelFileError as `options_from`.

    >>> from typing import Annotated
    >>> setting_from("names", {"names": ["a", "b"]}, Annotated[list[str], Distinct()])
    ['a', 'b']
    >>> setting_from("p", {"p": "1"}, bool)
    Traceback (most recent call last):
    ValueError: the setting p must be True or False
    """
    if name not in settings:
        raise ValueError(f"the setting {name} is missing")
    try:
        return _of_json(settings[name], declared)
    except ModelFileError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"the setting {name} must be {described(declared)}") from None


def _of_json(value: Any, declared: Any) -> Any:
    """Make an object of the declared type from a JSON value.  Raises ValueError or TypeError for another type."""
    kind = get_origin(declared) or declared
    parts = get_args(declared)
    if kind is Annotated:
        made = _of_json(value, parts[0])
        if not all(limit.accepts(made) for limit in parts[1:]):
            raise ValueError
        return made
    if kind in (Union, UnionType):
        wanted = next(part for part in parts if part is not NoneType)
        return None if value is None else _of_json(value, wanted)
    if kind in (list, tuple):
        if not isinstance(value, list):
            raise TypeError
        if parts[0] is str and all(isinstance(part, str) for part in value):  # there may be many names
            return kind(value)
        return kind(_of_json(part, parts[0]) for part in value)
    if kind is Hashable:
        return _name_of(value)
    if isinstance(kind, type) and issubclass(kind, Options):
        return options_from(kind, value)
    if isinstance(kind, type) and issubclass(kind, tuple):
        fields = get_type_hints(kind)
        return kind(*(_of_json(part, field) for part, field in zip(value, fields.values(), strict=True)))
    return accepted(value, declared)


def options_from(cls: type[AnyOptions], values: Any) -> AnyOptions:
    """Make options from the dict that `Options.table` and JSON made from them.

    cls: the class of the options.
    values: the fields by name; a field that holds options is a dict, too.

    Raises ModelFileError if fields are missing or unknown, or if the options refuse a value.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Settings(Options):
    ...     states: int = 1
    ...     smoothing: float | None = None
    >>> options_from(Settings, {"states": 16, "smoothing": 30.0})
    Settings(states=16, smoothing=30.0)
    """
    if not isinstance(values, dict):
        raise ModelFileError(f"{cls.__name__} must be a table of settings, not {values!r}; train the model again")
    if cls.kinds is not None:
        values = dict(values)
        kind = str(values.pop("kind", None))
        found = cls.kinds.get(kind, Options)
        if not issubclass(found, cls) or isabstract(found):
            raise ModelFileError(f"{kind!r} is no {cls.__name__} that is known here; import its module first")
        cls = found
    declared = field_types(cls)
    if wrong := sorted(set(values) ^ set(declared)):
        raise ModelFileError(
            f"settings of {cls.__name__} are missing or unknown: {', '.join(wrong)}; train the model again"
        )
    parts = {
        name: _of_json(values[name], kind)
        for name, kind in declared.items()
        if any(isinstance(part, type) and issubclass(part, Options) for part in (kind, *get_args(kind)))
    }
    try:
        return cls(**(values | parts))
    except ValueError as error:
        raise ModelFileError(f"{error}; train the model again") from None


def plain_name(name: Hashable, depth: int = 0) -> Any:
    """Convert a name to an object that JSON can hold; tuples become lists.  Raises ValueError for any other object.

    name: a string, a number, None, or a tuple of these, nested at most 20 deep.
    depth: the number of tuples around the name.

    >>> plain_name(("a", (1, None)))
    ['a', [1, None]]
    """
    if isinstance(name, np.generic):
        name = name.item()
    if isinstance(name, tuple):
        if depth > _DEEPEST:
            raise ValueError(f"a name of more than {_DEEPEST} nested tuples cannot be saved")
        return [plain_name(part, depth + 1) for part in name]
    if not isinstance(name, str | int | float | None) or name != name:
        raise ValueError(f"{name!r} cannot be saved: names must be strings, numbers, None or tuples of them")
    return name


def _name_of(plain: Any, depth: int = 0) -> Hashable:
    """Convert the result of `plain_name` back to a name.  Raises TypeError for a table, and for too many lists."""
    if isinstance(plain, dict) or depth > _DEEPEST:
        raise TypeError("a name must not be a table, nor nested too deep")
    return tuple(_name_of(part, depth + 1) for part in plain) if isinstance(plain, list) else plain
