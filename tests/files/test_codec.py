"""Objects come back from arrays and settings, and what is not as declared is refused."""

import itertools
import json
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import pytest
import typing_extensions
from hypothesis import given
from hypothesis import strategies as st

from spectral_latent._options import AtLeast, Options, check_fields
from spectral_latent.files import TEXT, Axes, Given, Index, are_distinct, are_sorted, plain, read, sum_to_one, write
from spectral_latent.trees import FloatArray, IntArray, Vocabulary

any_text = st.text(st.characters(exclude_categories=()), max_size=5)  # surrogates and unassigned code points too
names = st.recursive(
    st.none() | any_text | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda part: st.lists(part, max_size=3).map(tuple),
    max_leaves=5,
)


class Pair(NamedTuple):
    name: Hashable
    side: Literal["left", "right"]


@dataclass(frozen=True)
class Inner(Options):
    depth: int = 1


@dataclass(frozen=True)
class Settings(Options):
    states: int = 16
    smoothing: float | None = 30.0
    which: Literal["all", "simple"] = "all"
    on: bool = True
    name: str = ""
    inner: Inner = field(default_factory=Inner)


class Column(NamedTuple):
    """A part that takes the words of the whole."""

    words: Annotated[Sequence[str], Given("words")]
    word: Annotated[IntArray, Axes("n"), AtLeast(0), are_sorted]
    share: Annotated[FloatArray, Axes("n")]


@dataclass(frozen=True, eq=False)
class Box:
    """A part that may come several times."""

    label: str
    corner: Annotated[FloatArray, Axes(2)] | None = None


Kind = TypeVar("Kind", bound=Options)


@dataclass(frozen=True, eq=False)
class Whole(Generic[Kind]):
    """A whole of parts of every kind."""

    options: Kind
    words: Annotated[list[str], TEXT, Axes("w"), are_distinct]
    names: Annotated[Vocabulary[Hashable], Axes("k")]
    symbols: Annotated[list[Pair], are_distinct]
    table: Annotated[FloatArray, Axes("k", "m", "m"), sum_to_one]
    place: Annotated[IntArray, Axes("m"), Index("w")]
    column: Column
    boxes: tuple[Box, ...] = ()
    more: Box | None = None
    number: float | None = None
    computed: int = field(init=False)

    def __post_init__(self) -> None:
        if self.number == 13:
            raise ValueError("thirteen")
        object.__setattr__(self, "computed", len(self.words))


def whole(**changes: Any) -> Whole[Settings]:
    words = ["a", "", "東京", "\ud800", "\udc00"]
    parts: dict[str, Any] = {
        "options": Settings(8, inner=Inner(3)),
        "words": words,
        "names": Vocabulary(["x", ("y", (1, None))]),
        "symbols": [Pair("a", "left"), Pair(("b", 2), "right")],
        "table": np.full((2, 3, 3), 1 / 3),
        "place": np.array([4, 0, 1]),
        "column": Column(words, np.array([0, 0, 2]), np.array([0.5, 0.5, 1.0])),
        "boxes": (Box("one", np.ones(2)), Box("two")),
    }
    return Whole(**(parts | changes))


def again(found: Whole[Settings]) -> Whole[Settings]:
    arrays, about = write(found)
    return read(Whole[Settings], arrays, json.loads(json.dumps(about)))


def test_all_parts_come_back() -> None:
    one = whole(more=Box("more"), number=3)
    other = again(one)
    assert (other.options, other.words, other.names.names) == (one.options, one.words, one.names.names)
    assert (other.symbols, other.number, other.computed) == (one.symbols, 3.0, 5)
    assert other.column.words == one.words
    assert [box.label for box in (*other.boxes, other.more or Box(""))] == ["one", "two", "more"]
    assert other.boxes[0].corner is not None and other.boxes[1].corner is None
    assert write(other)[1] == write(one)[1]
    for name, array in write(one)[0].items():
        assert write(other)[0][name].tobytes() == array.tobytes()


@dataclass(frozen=True)
class Grown:
    """A class with fields that older files lack."""

    later: ClassVar[tuple[str, ...]] = ("notes", "number")

    words: Annotated[list[str], TEXT]
    notes: Annotated[list[str], TEXT] = field(default_factory=list)
    number: float = 0.5


def test_only_later_fields_may_be_missing() -> None:
    kept = Grown(["a"], ["b", "c"], 2.0)
    arrays, about = write(kept)
    assert read(Grown, arrays, about) == kept
    older = {name: array for name, array in arrays.items() if name.startswith("words")}
    assert read(Grown, older, {}) == Grown(["a"])
    with pytest.raises(ValueError, match="words"):
        read(Grown, {name: array for name, array in arrays.items() if name not in older}, about)


Change = Callable[[dict[str, Any], dict[str, Any]], Any]
WRONG: dict[str, Change] = {
    "an axis of two lengths": lambda arrays, _: arrays.update(table=np.full((2, 3, 4), 1 / 4)),
    "an axis of another length than a list": lambda arrays, _: arrays.update(table=np.full((3, 3, 3), 1 / 3)),
    "an axis of another length than in another array": lambda arrays, _: arrays.update(place=np.array([0, 1])),
    "an index beyond the last": lambda arrays, _: arrays.update(place=np.array([5, 0, 1])),
    "a negative index": lambda arrays, _: arrays.update(place=np.array([-1, 0, 1])),
    "shares of more than one": lambda arrays, _: arrays.update(table=np.ones((2, 3, 3))),
    "a limit of a part": lambda arrays, _: arrays.update({"column.word": np.array([0, 2, 1])}),
    "a shape of an optional part": lambda arrays, _: arrays.update({"boxes.0.corner": np.ones(3)}),
    "an array of no part": lambda arrays, _: arrays.update(extra=np.ones(3)),
    "an array of a part that is not there": lambda arrays, _: arrays.update({"more.corner": np.ones(2)}),
    "a text that is longer": lambda arrays, _: arrays.update({"words.text": np.arange(99, dtype=np.uint8)}),
    "a text of no characters": lambda arrays, _: arrays.update({"words.text": np.full(3, 255, dtype=np.uint8)}),
    "negative lengths": lambda arrays, _: arrays.update({"words.lengths": np.array([2, -1, 1, 1, 2])}),
    "lengths that overflow": lambda arrays, _: arrays.update({"words.lengths": np.array([2**62] * 4 + [5])}),
    "a word that comes twice": lambda arrays, _: arrays.update({"words.lengths": np.array([0, 0, 3, 1, 1])}),
    "a setting that is unknown": lambda _, about: about.update(another=1),
    "a setting of a part that is unknown": lambda _, about: about["boxes"][0].update(another=1),
    "no setting": lambda _, about: about.pop("number"),
    "a part that is no table": lambda _, about: about.update(column=[]),
    "a part that is missing": lambda _, about: about.update(column=None),
    "parts that are no list": lambda _, about: about.update(boxes={}),
    "a list of nothing": lambda _, about: about.update(boxes=[None]),
    "a name that comes twice": lambda _, about: about.update(names=["x", "x"]),
    "a name that is a table": lambda _, about: about.update(names=["x", {}]),
    "names that are no list": lambda _, about: about.update(names="xy"),
    "another number of names": lambda _, about: about.update(names=["x"]),
    "a symbol that is no pair": lambda _, about: about.update(symbols=[["a"]]),
    "options without a field": lambda _, about: about["options"].pop("on"),
    "an option of another type": lambda _, about: about["options"].update(states=1.0),
    "an option of another name": lambda _, about: about["options"].update(another=1),
    "an option beyond its choices": lambda _, about: about["options"].update(which="some"),
    "a number in place of a choice": lambda _, about: about["options"].update(on=1),
    "options within options that are none": lambda _, about: about["options"].update(inner={}),
    "shares that are negative": lambda arrays, _: arrays["table"].__setitem__((0, 0), [1.5, -0.5, 0.0]),
    "a condition of the class": lambda _, about: about.update(number=13),
}


@pytest.mark.parametrize("what", WRONG)
def test_parts_that_are_not_as_declared_are_refused(what: str) -> None:
    arrays, about = write(whole())
    about = json.loads(json.dumps(about))
    WRONG[what](arrays, about)
    with pytest.raises(ValueError):
        read(Whole[Settings], arrays, about)


@given(st.lists(any_text, unique=True, max_size=6))
def test_any_strings_come_back_from_text(words: list[str]) -> None:
    empty = Column(words, np.zeros(0, dtype=np.int64), np.zeros(0))
    found = whole(words=words, column=empty, place=np.zeros(0, dtype=np.int64), table=np.ones((2, 0, 0)))
    assert again(found).words == words


@given(st.lists(names, unique_by=repr, max_size=5))
def test_any_names_come_back_from_json(parts: list[Hashable]) -> None:
    vocabulary = Vocabulary(parts)
    found = whole(names=vocabulary, table=np.full((len(vocabulary), 3, 3), 1 / 3))
    assert again(found).names.names == vocabulary.names


def test_names_that_json_cannot_hold_are_refused() -> None:
    deep: Any = "x"
    for _ in range(30):
        deep = (deep,)
    for wrong in (object(), b"x", float("nan"), frozenset("a"), deep, 1j):
        with pytest.raises(ValueError, match="cannot be saved"):
            plain([wrong])


def holder(declared: Any) -> Any:
    return make_dataclass("Holder", [("x", declared)])


def read_setting(declared: Any, value: Any) -> Any:
    return read(holder(declared), {}, {"x": value}).x


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((2, 1)),
        np.arange(3),
        np.array([1.0, np.inf]),
        np.array([1.0, np.nan]),
        np.array([1.0, 1e95]),
        np.array([-0.5, 1.0]),
        np.array([0.5, 0.25]),
    ],
    ids=str,
)
def test_arrays_that_are_not_as_declared_are_refused(wrong: np.ndarray) -> None:
    declared = holder(Annotated[FloatArray, Axes(None), AtLeast(0.0), are_sorted])
    assert read(declared, {"x": np.zeros(0)}, {}).x.shape == (0,)
    for arrays in ({"x": wrong}, {}):
        with pytest.raises(ValueError, match=r"^the array x "):
            read(declared, arrays, {})


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=2), max_size=4))
def test_rows_are_in_order_if_each_is_greater_than_the_one_before(rows: list[list[int]]) -> None:
    expected = all(one < other for one, other in itertools.pairwise(rows))
    assert are_sorted(np.array(rows, dtype=np.int64).reshape(-1, 2)) == expected


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        (bool, True, True),
        (str | None, None, None),
        (Annotated[float, AtLeast(0.0)], 3, 3.0),
        (list[str], ["a", "a"], ["a", "a"]),
        (tuple[Hashable, ...], ["a", ["b", 1]], ("a", ("b", 1))),
        (list[Pair], [[["a", 1], "left"]], [Pair(("a", 1), "left")]),
    ],
)
def test_settings_of_the_declared_type_come_back(declared: Any, value: Any, expected: Any) -> None:
    found = read_setting(declared, value)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (bool, 1),
        (bool, "False"),
        (str, None),
        (str | None, 3),
        (Annotated[float, AtLeast(0.0)], -1),
        (Annotated[float, AtLeast(0.0)], 10**400),
        (float, "1"),
        (list[str], "abc"),
        (list[str], {"a": 1}),
        (list[str], ["a", None]),
        (Annotated[list[str], are_distinct], ["a", "a"]),
        (tuple[Hashable, ...], [{}]),
        (list[Pair], [["a", "up"]]),
        (list[Pair], [["a"]]),
        (list[Pair], [["a", "left", 1]]),
        (list[Pair], [None]),
        (list[Pair], None),
    ],
)
def test_settings_of_another_type_are_refused(declared: Any, value: Any) -> None:
    with pytest.raises(ValueError, match="the setting x must be ") as refused:
        read_setting(declared, value)
    assert f", not {value!r}" in str(refused.value)
    with pytest.raises(ValueError, match="the setting x is missing"):
        read(holder(declared), {}, {})


def test_a_type_may_be_declared_by_a_name_of_a_type_statement() -> None:
    """NumPy 2.5 names `NDArray` so, on Python 3.12 and later."""
    number = TypeVar("number", bound=np.generic)
    named = typing_extensions.TypeAliasType(
        "named", np.ndarray[tuple[int, ...], np.dtype[number]], type_params=(number,)
    )
    nested: Any = typing_extensions.TypeAliasType("nested", named[np.int64])
    cards = make_dataclass(
        "Cards", [("suit", Annotated[nested, Axes("n"), AtLeast(0)]), ("kind", named[np.float64] | None)]
    )
    kept: Any = cards(np.array([1, 2]), None)
    arrays, settings = write(kept)
    assert (list(arrays), settings) == (["suit"], {})
    assert read(cards, arrays, settings).suit.tolist() == [1, 2]
    for spoilt in (np.array([1.0]), np.array([-1]), np.array([[1]])):
        with pytest.raises(ValueError, match="the array suit"):
            read(cards, {"suit": spoilt}, {})
    check_fields(kept)
    kept.suit = [1, 2]
    with pytest.raises(ValueError, match=r"Cards\.suit"):
        check_fields(kept)
