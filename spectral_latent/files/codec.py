"""Write objects as arrays and JSON, and read them, by the declarations of their fields.

A class is a dataclass or a named tuple.  The annotation of a field says how the field is stored, and what is checked
when it is read: `Annotated[IntArray, Axes("n"), Index("S")]`.

| field | in the file |
| --- | --- |
| an array, or None | the array `name`; an array of the right type, shape and limits |
| a list of strings marked as `Text` | the arrays `name.text` and `name.lengths` |
| an object of a class like this, or None | the arrays `name.field`, and a table of settings |
| a tuple of such objects | the arrays `name.0.field` ..., and a list of tables |
| a plain value, options, names, or a list of these | the setting `name` |

| beside a type | meaning |
| --- | --- |
| `AtLeast`, `Above`, `AtMost`, `Below` | limits of each number, or of each name, as in `Options` |
| `are_distinct`, `are_sorted`, `sum_to_one` | limits of an array as a whole; the first one of a list, too |
| `are_one_line` | names that cannot add lines or columns to a table; checked when a file is written, too |
| `are_probabilities` | operators whose numbers are a distribution over the rules of a symbol, in each of its states |
| `Axes("S", "m", 2)` | the lengths of axes; a letter is the same length in all fields of an object |
| `Index("S")` | each number is at least 0, and below the length of an axis |
| `TEXT` | a file has the strings as one compressed array, not as JSON |
| `SMALL` | the array comes in the smaller type in which a file has it, and without a check of its numbers |
| `Given("features.names")` | a file does not have the field: it is a field of the object that holds this one |

Fields that the class itself computes (`init=False`), or that are marked as `Given`, are not stored.  Conditions on
several fields stand in `__post_init__`, so that they hold for all objects.  A type that has no such fields is stored as
an object of another class, its form; see `register`.
"""

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from inspect import isabstract
from operator import attrgetter
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar, Union, cast, get_args, get_origin

import numpy as np
from numpy.typing import NDArray

from spectral_latent._options import Options, accept, checked, field_types, without_alias
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Vocabulary

_ROUNDING = 1e-6  # the largest rounding error of a sum of shares
Contents: TypeAlias = tuple[Mapping[str, NDArray[Any]], dict[str, Any]]  # the arrays and the settings of a model
_T = TypeVar("_T")
_Other = TypeVar("_Other")
_Function = TypeVar("_Function", bound=Callable[..., Any])
_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")  # a tab, or what some reader takes for the end of a line
_DEEPEST = 20  # the deepest nesting of a name


class UnknownKindError(LookupError):
    """An error for a model whose options have a class that is not imported, such as an estimator of the user's own."""


def _limit(meaning: str) -> Callable[[_Function], _Function]:
    """Make a decorator of functions that tell whether a value is within a limit; messages say its meaning."""

    def decorate(function: _Function) -> _Function:
        vars(function)["meaning"] = meaning
        return function

    return decorate


@_limit("without repetition")
def are_distinct(value: Any) -> bool:
    """Tell whether names or numbers, in a list or in an array (n,), are all different."""
    return len(set(value.tolist() if isinstance(value, np.ndarray) else value)) == len(value)


@_limit("without tabs and line breaks")
def are_one_line(value: Any) -> bool:
    """Tell whether a name, or names in lists and tuples, have no tabs and line breaks, which would break a table."""
    if isinstance(value, str):
        return not _BREAKS.search(value)
    return all(map(are_one_line, value)) if isinstance(value, tuple | list) else True


@_limit("in order")
def are_sorted(value: NDArray[Any]) -> bool:
    """Tell whether numbers (n,) never fall, or rows (n, k) are in lexicographic order without repetition."""
    step = np.diff(value, axis=0)
    if step.ndim == 1:
        return bool((step >= 0).all())
    # Compare each row with the row before, from the last column to the first; equal rows are out of order.
    rises = np.zeros(len(step), dtype=np.bool_)
    for column in reversed(step.T):
        rises = (column > 0) | ((column == 0) & rises)
    return bool(rises.all())


@_limit("shares that sum to one")
def sum_to_one(value: NDArray[Any]) -> bool:
    """Tell whether numbers (..., n) are not negative, and sum to one along the last axis."""
    return bool((value >= 0.0).all() and (np.abs(value.sum(axis=-1) - 1.0) <= _ROUNDING).all())


@_limit("probabilities")
def are_probabilities(value: ObservableOperators) -> bool:
    """Tell whether operators say that they are probabilities; a file's sums are checked when it is read."""
    return value.probabilities


class Axes:
    """The length of each axis of an array, or the length of a list: a letter, a number, or None for any length."""

    def __init__(self, *lengths: str | int | None) -> None:
        self.lengths = lengths


@dataclass(frozen=True)
class Index:
    """Accept numbers of the places along an axis."""

    axis: str


TEXT = object()
"""Marks a list of strings that is stored as one compressed array."""

SMALL = object()
"""Marks an array whose numbers are taken as a file has them: often in two bytes each, and not checked."""


@dataclass(frozen=True)
class Given:
    """Take a field from the object that holds this one.

    path: the name of the other object's field, or names joined by dots; fields before this object are known."""

    path: str


class _Form(NamedTuple):
    """A class with declared fields whose objects are stored in place of others."""

    cls: type[Any]
    of: Callable[[Any], Any]
    made: Callable[[Any], Any]


_FORMS: dict[type[Any], _Form] = {}


def register(kind: type[_T], form: type[_Other], of: Callable[[_T], _Other], made: Callable[[_Other], _T]) -> None:
    """Store objects of a type in another form: as objects of a class with declared fields."""
    _FORMS[kind] = _Form(form, of, made)


class _Field(NamedTuple):
    """A declared field: its type without None, and what stands beside the type."""

    name: str
    declared: Any
    is_optional: bool
    markers: tuple[Any, ...]

    def find(self, kind: type[_T]) -> _T | None:
        """Find the mark of a kind beside the type."""
        return next((mark for mark in self.markers if isinstance(mark, kind)), None)

    @property
    def is_array(self) -> bool:
        """Whether the field is an array."""
        return get_origin(self.declared) is np.ndarray

    @property
    def dtype(self) -> Any:
        """The type of the numbers of an array."""
        return get_args(get_args(self.declared)[1])[0]

    @property
    def axes(self) -> Axes:
        """The lengths of the axes of an array; one axis of any length if they are not declared."""
        return self.find(Axes) or Axes(None)

    @property
    def record(self) -> Any:
        """The class of the stored object, or of each object of a tuple; None for other fields."""
        kind = get_origin(self.declared) or self.declared
        if kind is tuple:
            part = get_args(self.declared)[0]
            return part if is_dataclass(get_origin(part) or part) else None
        return self.declared if _is_record(kind) else None


def _is_record(kind: Any) -> bool:
    """Tell whether objects of a class are stored field by field."""
    if not isinstance(kind, type) or issubclass(kind, Options):
        return False
    return kind in _FORMS or is_dataclass(kind) or hasattr(kind, "_fields")


@cache
def _fields_of(declared: Any) -> tuple[_Field, ...]:
    """List the stored fields of a class, which may be a generic class with its parameters."""
    cls = get_origin(declared) or declared
    parameters = dict(zip(getattr(cls, "__parameters__", ()), get_args(declared), strict=False))
    names = [each.name for each in fields(cls) if each.init] if is_dataclass(cls) else cls._fields
    types = field_types(cls)
    return tuple(_field(name, parameters.get(types[name], types[name])) for name in names)


def _field(name: str, declared: Any, markers: tuple[Any, ...] = (), is_optional: bool = False) -> _Field:
    """Take a declaration apart."""
    declared = without_alias(declared)
    if get_origin(declared) is Annotated:
        declared, *more = get_args(declared)
        return _field(name, declared, (*markers, *more), is_optional)
    if get_origin(declared) in (Union, UnionType) and NoneType in get_args(declared):
        (some,) = (part for part in get_args(declared) if part is not NoneType)
        return _field(name, some, markers, True)
    return _Field(name, declared, is_optional, markers)


def write(stored: Any) -> Contents:
    """Turn an object into arrays and settings.

    Raises ValueError for a name that is not made of strings, numbers, None and tuples.

    >>> class Coin(NamedTuple):
    ...     side: str
    ...     odds: Annotated[NDArray[np.float64], Axes(2)]
    >>> write(Coin("heads", np.array([0.5, 0.5])))
    ({'odds': array([0.5, 0.5])}, {'side': 'heads'})
    """
    arrays: dict[str, NDArray[Any]] = {}
    return arrays, _write(stored, "", arrays)


def _write(stored: Any, prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Add the arrays of an object to others, under names with a prefix, and return its settings."""
    if type(stored) in _FORMS:
        stored = _FORMS[type(stored)].of(stored)
    settings: dict[str, Any] = {}
    for field in _fields_of(cast(Hashable, type(stored))):
        value, at = getattr(stored, field.name), prefix + field.name
        if field.find(Given):
            continue
        if field.is_array:
            arrays |= {} if value is None else {at: value}
        elif TEXT in field.markers:
            names = list(value)
            arrays[f"{at}.text"] = np.frombuffer("".join(names).encode("utf-8", "surrogatepass"), dtype=np.uint8)
            arrays[f"{at}.lengths"] = np.fromiter(map(len, names), dtype=np.int64)
        elif _is_record(type(value)):
            settings[field.name] = _write(value, f"{at}.", arrays)
        elif isinstance(value, tuple) and value and is_dataclass(value[0]) and _is_record(type(value[0])):
            settings[field.name] = [_write(part, f"{at}.{number}.", arrays) for number, part in enumerate(value)]
        else:
            if are_one_line in field.markers and not are_one_line(value):
                raise ValueError(f"{at} cannot be saved: names must be without tabs and line breaks")
            settings[field.name] = plain(value)
    return settings


def read(cls: type[_T], arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any], **given: Any) -> _T:
    """Make an object of arrays and settings.

    given: the values of fields that are marked as `Given`.

    Raises ValueError, which names the array or the setting, if something is missing, unknown, or not as declared.
    A setting that `cls.later` lists may be missing: the object gets the default.

    >>> class Coin(NamedTuple):
    ...     side: str
    ...     odds: Annotated[NDArray[np.float64], Axes(2)]
    >>> read(Coin, {"odds": np.array([0.5, 0.5])}, {"side": "heads"}).side
    'heads'
    >>> read(Coin, {"odds": np.array([0.5])}, {"side": "heads"})
    Traceback (most recent call last):
    ValueError: the array odds has the shape (1,), and must have (2,)
    """
    reader = _Reader(arrays, set())
    made: _T = reader.record(cls, settings, "", given)
    if unknown := arrays.keys() - reader.used:
        raise ValueError(f"it has an array {min(unknown)!r:.60}, which is of no part of such a model")
    return made


class _Reader(NamedTuple):
    """The arrays of a file, and the names of those that were read."""

    arrays: Mapping[str, NDArray[Any]]
    used: set[str]

    def array(
        self, name: str, dtype: Any, axes: Axes, sizes: dict[str, int], *, is_small: bool = False
    ) -> NDArray[Any]:
        """Return an array of a type and a shape; the lengths of axes that have no length yet become known."""
        if name not in self.arrays:
            raise ValueError(f"the array {name} is missing")
        self.used.add(name)
        self.check_shape(name, dtype, axes, sizes)
        if is_small:
            small: NDArray[Any] = getattr(self.arrays, "smaller", self.arrays.__getitem__)(name)
            return small
        array = self.arrays[name]
        if fault := array_fault(array, dtype, array.shape):
            raise ValueError(f"the array {name} {fault}")
        return array

    def check_shape(self, name: str, dtype: Any, axes: Axes, sizes: dict[str, int]) -> None:
        """Compare the type and the shape of an array, which packed arrays tell before they are decompressed."""
        described: NDArray[Any] = getattr(self.arrays, "described", self.arrays.__getitem__)(name)
        wanted = tuple(sizes.get(n) if isinstance(n, str) else n for n in axes.lengths)
        if fault := _shape_fault(described, dtype, wanted):
            raise ValueError(f"the array {name} {fault}")
        shape = described.shape
        for letter, length in zip(axes.lengths, shape, strict=True):
            if isinstance(letter, str) and sizes.setdefault(letter, length) != length:
                raise ValueError(f"the array {name} has the shape {shape}, and axes {letter} of several lengths")

    def names(self, name: str) -> list[str]:
        """Return the strings of a list that is stored as text."""
        content = self.array(f"{name}.text", np.uint8, Axes(None), {}).tobytes()
        lengths = self.array(f"{name}.lengths", np.int64, Axes(None), {})
        text = content.decode("utf-8", "surrogatepass")
        if lengths.min(initial=0) < 0 or lengths.max(initial=0) > len(text) or lengths.sum() != len(text):
            raise ValueError(f"the strings {name} do not fill their text")
        ends = np.cumsum(lengths).tolist()
        return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def record(self, declared: Any, settings: Any, prefix: str, given: Mapping[str, Any]) -> Any:
        """Make an object of a class with declared fields; `given` has the fields of the object that holds it."""
        cls = get_origin(declared) or declared
        if cls in _FORMS:
            form = self.record(_FORMS[cls].cls, settings, prefix, given)
            return _make(prefix, lambda: _FORMS[cls].made(form))
        if not isinstance(settings, dict):
            raise ValueError(f"the settings {prefix.removesuffix('.')} must be a table")
        values: dict[str, Any] = {}
        sizes: dict[str, int] = {}
        known: set[str] = set()
        every = _fields_of(declared)
        # Shapes are compared before anything is decompressed, in a table of axes of their own: lists are not read yet.
        sizes_of_arrays: dict[str, int] = {}
        for field in every:
            if field.is_array and prefix + field.name in self.arrays and not field.find(Given):
                self.check_shape(prefix + field.name, field.dtype, field.axes, sizes_of_arrays)
        # Limits of arrays are checked after all fields are read: an index may refer to an axis of a later field.
        for field in every:
            if mark := field.find(Given):
                values[field.name] = attrgetter(mark.path)(SimpleNamespace(**given))
                continue
            at = prefix + field.name
            if field.is_array:
                is_absent = field.is_optional and at not in self.arrays
                is_small = SMALL in field.markers
                array = None if is_absent else self.array(at, field.dtype, field.axes, sizes, is_small=is_small)
                values[field.name] = array
                continue
            if TEXT in field.markers:
                if f"{at}.text" not in self.arrays and field.name in getattr(cls, "later", ()):
                    continue
                values[field.name] = _plain_value(field, at, self.names(at), sizes)
                continue
            known.add(field.name)
            if field.name not in settings:
                if field.name in getattr(cls, "later", ()):
                    continue
                raise ValueError(f"the setting {at} is missing")
            values[field.name] = self._value(field, at, settings[field.name], sizes, {**given, **values})
        gone = {name for name in getattr(cls, "earlier", ()) if not settings.get(name)}
        if unknown := settings.keys() - known - gone:
            raise ValueError(f"the setting {prefix}{min(unknown)!s:.60} is unknown")
        for field in every:
            if field.is_array and values[field.name] is not None:
                _check_limits(field, prefix, values[field.name], sizes)
        return _make(prefix, lambda: cls(**values))

    def _value(self, field: _Field, at: str, value: Any, sizes: dict[str, int], values: dict[str, Any]) -> Any:
        """Make the value of a field that has settings."""
        if field.record is None:
            return _plain_value(field, at, value, sizes)
        if value is None and field.is_optional:
            return None
        if field.record is field.declared:
            made = self.record(field.record, value, f"{at}.", values)
            _check_limits(field, at, made, sizes)
            return made
        if not isinstance(value, list):
            raise ValueError(f"the setting {at} must be a list")
        _check_length(field, at, len(value), sizes)
        return tuple(self.record(field.record, part, f"{at}.{n}.", values) for n, part in enumerate(value))


def _make(prefix: str, make: Callable[[], Any]) -> Any:
    """Make an object; an error names the object."""
    try:
        return make()
    except (ValueError, IndexError) as error:
        if not prefix:
            raise
        raise ValueError(f"{prefix.removesuffix('.')}: {error}") from None


def array_fault(array: NDArray[Any], dtype: Any, shape: tuple[int | None, ...]) -> str | None:
    """Describe how an array differs from its declaration; None if it fits.

    array: an array of any shape, (...)."""
    if fault := _shape_fault(array, dtype, shape):
        return fault
    # Products of three numbers must not overflow: the limit is below the third root of the largest number.
    if array.size and np.issubdtype(dtype, np.floating):
        most = float(np.finfo(array.dtype).max) ** 0.3
        if not (array.min() >= -most and array.max() <= most):  # NaN fails both comparisons
            return "has numbers that are not finite, or too large to be multiplied"
    return None


def _shape_fault(array: NDArray[Any], dtype: Any, shape: tuple[int | None, ...]) -> str | None:
    """Describe how the type or the shape of an array of any shape differs from its declaration; None if it fits."""
    if array.dtype != dtype:
        return f"has numbers of {array.dtype}, and must have {np.dtype(dtype)}"
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        return f"has the shape {array.shape}, and must have ({wanted}{',' if len(shape) == 1 else ''})"
    return None


def _check_limits(field: _Field, prefix: str, value: Any, sizes: Mapping[str, int]) -> None:
    """Raise ValueError if an array or an object is not within the limits of its field."""
    for mark in field.markers:
        if hasattr(mark, "meaning") and not np.all(mark(value)):
            kind = "array" if field.is_array else "object"
            raise ValueError(f"the {kind} {prefix}{field.name} must be {mark.meaning}")
        if isinstance(mark, Index) and value.size and not 0 <= value.min() <= value.max() < sizes[mark.axis]:
            raise ValueError(f"the array {prefix}{field.name} must be of at least 0 and below {sizes[mark.axis]}")


def _plain_value(field: _Field, at: str, value: Any, sizes: dict[str, int]) -> Any:
    """Make the value of a setting, whose type is declared; the length of a list becomes known."""
    declared = Annotated[(field.declared, *field.markers)] if field.markers else field.declared
    if value is None and field.is_optional:
        return None
    made = checked(f"the setting {at}", value, declared, _from_json)
    if field.find(Axes):
        _check_length(field, at, len(made), sizes)
    return made


def _check_length(field: _Field, at: str, length: int, sizes: dict[str, int]) -> None:
    """Raise ValueError if a list has another length than declared; the length of its axis becomes known."""
    (axis,) = (field.find(Axes) or Axes(length)).lengths
    wanted = sizes.setdefault(axis, length) if isinstance(axis, str) else axis
    if length != wanted:
        raise ValueError(f"{at} has {length} entries, and must have {wanted}")


def plain(value: Any, depth: int = 0) -> Any:
    """Turn options, names, and lists of these into values that JSON can hold; tuples become lists.

    value: options, a string, a number, None, or a list, a tuple or a `Vocabulary` of these; tuples are nested at most
        20 deep.
    depth: the number of lists and tuples around the value.

    Raises ValueError for any other object.

    >>> plain(("a", (1, None)))
    ['a', [1, None]]
    """
    if isinstance(value, Options):
        return value.table()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple | list | Vocabulary):
        if depth > _DEEPEST + 1:
            raise ValueError(f"a name of more than {_DEEPEST} nested tuples cannot be saved")
        return [plain(part, depth + 1) for part in value]
    if not isinstance(value, str | int | float | None) or value != value:
        raise ValueError(f"{value!r} cannot be saved: names must be strings, numbers, None or tuples of them")
    return value


def _from_json(value: Any, declared: Any) -> Any:
    """Make a name, options, a named tuple or a vocabulary of a JSON value.  Raises ValueError or TypeError."""
    kind = get_origin(declared) or declared
    if kind is Hashable:
        return _name_of(value)
    if kind is Vocabulary:
        names = accept(value, list[get_args(declared)], _from_json)  # type: ignore[misc]
        made: Vocabulary[Any] = Vocabulary(names)
        if len(made) < len(names):
            raise ValueError("a name comes twice")
        return made
    if issubclass(kind, Options):
        return _options_of(kind, value)
    if issubclass(kind, tuple):
        return kind(
            *(accept(part, each, _from_json) for part, each in zip(value, field_types(kind).values(), strict=True))
        )
    if not isinstance(value, kind):
        raise TypeError
    return value


def _name_of(value: Any, depth: int = 0) -> Hashable:
    """Convert a JSON value to a name.  Raises TypeError for a table, and for too many lists."""
    if isinstance(value, dict) or depth > _DEEPEST:
        raise TypeError("a name must not be a table, nor nested too deep")
    return tuple(_name_of(part, depth + 1) for part in value) if isinstance(value, list) else value


def _options_of(cls: type[Options], values: Any) -> Options:
    """Make options of the table that `plain` made of them; a later field that the table lacks is the default."""
    if not isinstance(values, dict):
        raise ValueError(f"{cls.__name__} must be a table of settings")
    if cls.kinds is not None:
        values = dict(values)
        kind = str(values.pop("kind", None))
        found = cls.kinds.get(kind, Options)
        if not issubclass(found, cls) or isabstract(found):
            raise UnknownKindError(
                f"{kind!r:.60} is no {cls.__name__} of this library; import the module that defines it: by "
                f"`spectral-latent --import MODULE`, or before `load` in Python"
            )
        cls = found
    declared = field_types(cls)
    values = {name: value for name, value in values.items() if name not in cls.earlier}
    if wrong := sorted(set(values) ^ set(declared) - (cls.later - set(values))):
        raise ValueError(f"settings of {cls.__name__} are missing or unknown: {', '.join(wrong)}")
    return cls(
        **{name: checked(f"{cls.__name__}.{name}", value, declared[name], _from_json) for name, value in values.items()}
    )
