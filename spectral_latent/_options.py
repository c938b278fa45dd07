"""Check options against the declared types of their fields, and describe objects in one line."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache, partial
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from spectral_latent._names import counted

__all__ = [
    "Above",
    "AtLeast",
    "AtMost",
    "Below",
    "Bound",
    "Count",
    "Options",
    "ShortRepr",
    "accept",
    "check_fields",
    "checked",
    "counted",
    "describe",
    "field_types",
    "given_or",
    "of_preset",
    "without_alias",
]

_T = TypeVar("_T")
_Name = TypeVar("_Name", bound=str)
_Options = TypeVar("_Options", bound="Options")

_KINDS = {str: "a string", int: "an integer", float: "a finite number", bool: "True or False", NoneType: "None"}


@dataclass(frozen=True)
class Bound:
    """A limit of numbers on one side of a bound; other limits are functions, which also have a `meaning`.

    words: what stands before the bound in messages.
    compare: tells whether a number is on the right side, given the number and the bound."""

    words: str
    compare: Callable[[Any, Any], Any]
    bound: float

    def __call__(self, value: Any) -> Any:
        """Tell whether a number is in the range; for an array (...), whether each of its numbers is."""
        return self.compare(value, self.bound)

    @property
    def meaning(self) -> str:
        """What messages say of numbers in the range."""
        return f"{self.words} {self.bound:g}"


AtLeast = partial(Bound, "of at least", operator.ge)
AtMost = partial(Bound, "of at most", operator.le)
Above = partial(Bound, "above", operator.gt)
Below = partial(Bound, "below", operator.lt)

Count: TypeAlias = Annotated[int, AtLeast(1)]
"""The type of arguments that count something, such as `n_best`."""


@dataclass(frozen=True)
class Options:
    """Base of all options: a field accepts what its type declares, and stores it as a plain Python object.

    A type is bool, int, float, another class of options, a `Literal` of names, or one of these `| None`.  Limits of a
    number stand beside it, as in `Annotated[int, AtLeast(1)]`.  NumPy's numbers are accepted, and integers for floats.
    A bool is not accepted for a number; NaN and infinities are refused.  A class with conditions on several fields
    checks them in a `__post_init__` of its own, which first calls the `__post_init__` of this class.

    Raises ValueError, which names the field, the value and what is allowed.

    `repr` shows only the fields that differ from their defaults.

    >>> @dataclass(frozen=True)
    ... class Cooking(Options):
    ...     minutes: Annotated[float, Above(0.0), AtMost(90.0)] = 10.0
    ...     heat: Literal["low", "high"] = "low"
    >>> Cooking(np.int64(8))
    Cooking(minutes=8.0)
    >>> Cooking(heat="hihg")
    Traceback (most recent call last):
        ...
    ValueError: Cooking.heat must be one of 'low', 'high', not 'hihg'
    """

    kinds: ClassVar[dict[str, type[Options]] | None] = None  # the classes by name, where a field may have several
    later: ClassVar[frozenset[str]] = frozenset()  # fields that files lack which are older than the field
    earlier: ClassVar[frozenset[str]] = frozenset()  # settings of older files that say nothing of a trained model

    def __post_init__(self) -> None:
        check_fields(self)

    def __init_subclass__(cls) -> None:
        """Keep the `repr` below, which `dataclass` would replace by its own if the class had none."""
        cls.__repr__ = Options.__repr__  # type: ignore[method-assign]
        if cls.kinds is not None:
            cls.kinds[cls.__name__] = cls

    def table(self) -> dict[str, Any]:
        """List the fields by name, as a model file has them; where a field may have several classes, `kind` names its.

        >>> @dataclass(frozen=True)
        ... class Cooking(Options):
        ...     minutes: float = 10.0
        >>> Cooking().table()
        {'minutes': 10.0}
        """
        found = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {name: value.table() if isinstance(value, Options) else value for name, value in found.items()}
        return plain if self.kinds is None else {"kind": type(self).__name__, **plain}

    def __repr__(self) -> str:
        changed = ((field.name, getattr(self, field.name)) for field in fields(self) if not _has_default(self, field))
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed)})"


class ShortRepr(ABC):
    """Base of objects whose `repr` is one line: their sizes, and the options that differ from the defaults.

    >>> class Kettle(ShortRepr):
    ...     sizes = "2 litres"
    >>> Kettle()
    <Kettle: 2 litres>
    """

    @property
    @abstractmethod
    def sizes(self) -> str:
        """The sizes of the object, such as `45 symbols of up to 8 states`."""

    def __repr__(self) -> str:
        options = getattr(self, "options", None)
        return f"<{type(self).__name__}: {self.sizes}{'' if options is None else f'; {options!r}'}>"


_types_of = cache(get_type_hints)


def field_types(options: type) -> dict[str, Any]:
    """Return the declared type of each field, with its limits."""
    hints = _types_of(options, include_extras=True)
    return {name: declared for name, declared in hints.items() if get_origin(declared) is not ClassVar}


def without_alias(declared: Any) -> Any:
    """Replace a name that a `type` statement gave to a type by the type, as NumPy 2.5 names `NDArray`."""
    alias = get_origin(declared) or declared
    if not hasattr(alias, "__value__"):
        return declared
    parts = get_args(declared)
    return without_alias(alias.__value__[parts] if parts else alias.__value__)


def _has_default(options: Options, field: Field[Any]) -> bool:
    """Tell whether a field of options has its default."""
    value = getattr(options, field.name)
    if field.default_factory is not MISSING:
        return bool(value == field.default_factory())
    return bool(value == field.default)


def _instance(value: Any, declared: Any) -> Any:
    """Return a value that is an object of the declared class.  Raises ValueError for any other value."""
    if not isinstance(value, get_origin(declared) or declared):
        raise ValueError
    return value


def accept(value: Any, declared: Any, other: Callable[[Any, Any], Any] = _instance) -> Any:
    """Return a value as a plain Python object of the declared type.  Raises ValueError if the type refuses it."""
    declared = without_alias(declared)
    kind = get_origin(declared) or declared
    parts = get_args(declared)
    if kind is Annotated:
        made = accept(value, parts[0], other)
        if all(np.all(mark(made)) for mark in parts[1:] if hasattr(mark, "meaning")):
            return made
    elif kind in (Union, UnionType):
        wanted = next(part for part in parts if part is not NoneType)
        return None if value is None else accept(value, wanted, other)
    elif kind is Literal:
        if isinstance(value, str) and value in parts:
            return str(value)
    elif kind is bool:
        if isinstance(value, bool | np.bool_):
            return bool(value)
    elif kind is int:
        if isinstance(value, Integral) and not isinstance(value, bool):
            return int(np.int64(value))  # OverflowError if an array cannot hold it
    elif kind is float:
        if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    elif kind in (list, tuple, Sequence):
        if isinstance(value, kind if other is _instance else list | tuple):
            made = value if parts[0] is str and {*map(type, value)} <= {str} else None
            made = made or [accept(part, parts[0], other) for part in value]
            return tuple(made) if kind is tuple else list(made)
    else:
        return other(value, declared)
    raise ValueError


def checked(name: str, value: Any, declared: Any, other: Callable[[Any, Any], Any] = _instance) -> Any:
    """Return a value as a plain Python object of the declared type.  Raises ValueError if the type refuses it."""
    try:
        return accept(value, declared, other)
    except (TypeError, ValueError, OverflowError) as error:
        reason = f" ({error})" if str(error) else ""
        reason = ", which is too large" if isinstance(error, OverflowError) else reason
        raise ValueError(f"{name} must be {describe(declared)}, not {value!r:.500}{reason}") from None


def check_fields(made: Any) -> None:
    """Check the fields of a new dataclass, and store each as a plain Python object of its declared type."""
    types = field_types(type(made))
    for name in (field.name for field in fields(made) if field.init):
        object.__setattr__(made, name, checked(f"{type(made).__name__}.{name}", getattr(made, name), types[name]))


def given_or(default: _Options, options: _Options | None) -> _Options:
    """Return options that were given, or else the default.  Raises ValueError for an object of another class."""
    return default if options is None else cast(_Options, checked("options", options, type(default)))


def describe(declared: Any) -> str:
    """Describe the values that a declared type accepts, for messages."""
    declared = without_alias(declared)
    kind = get_origin(declared) or declared
    parts = get_args(declared)
    if kind is Annotated:
        limits = [mark.meaning for mark in parts[1:] if hasattr(mark, "meaning")]
        return f"{describe(parts[0])} {' and '.join(limits)}".strip()
    if kind in (Union, UnionType):
        return " or ".join(describe(part) for part in parts)
    if kind is Literal:
        return f"one of {', '.join(repr(name) for name in parts)}"
    if kind in (list, tuple, Sequence):
        return f"a {kind.__name__} of {'strings' if parts[0] is str else getattr(parts[0], '__name__', parts[0])}"
    return _KINDS.get(kind, f"an object of {kind.__name__}")


def of_preset(presets: Mapping[_Name, _T], name: _Name) -> _T:
    """Look up the options of a preset."""
    if name not in presets:
        *names, last = presets
        raise ValueError(f"{name!r} is no preset; give {', '.join(names)} or {last}")
    return presets[name]
