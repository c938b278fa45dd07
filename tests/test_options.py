"""Every field of every class of options accepts exactly the values that it declares, and survives a model file."""

from __future__ import annotations

import importlib
import inspect
import json
import math
import pkgutil
from collections.abc import Iterator
from dataclasses import make_dataclass
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import click
import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import spectral_latent
from spectral_latent import constituency, dependency, sequence
from spectral_latent._options import Bound, Count, Options, checked, describe, field_types
from spectral_latent.anchors import AnchorOptions
from spectral_latent.cli.train import COMMAND
from spectral_latent.constituency import Binarisation, ConstituencyOptions
from spectral_latent.dependency import Attachment, DependencyOptions
from spectral_latent.estimation import EstimatorOptions, Spectral
from spectral_latent.files import read, write
from spectral_latent.sequence import HMMOptions
from tests.conformance import test_models
from tests.conformance.model import ModelConformance, contents, with_option

NUMBERS = (int, float)
ESTIMATED = ("constituency", "dependency", "tagger")  # what the command trains with a choice of estimators


def modules() -> Iterator[Any]:
    for module in pkgutil.walk_packages(spectral_latent.__path__, "spectral_latent."):
        if not module.name.endswith("__main__"):
            yield importlib.import_module(module.name)


def subclasses(options: type[Options]) -> Iterator[type[Options]]:
    for known in options.__subclasses__():
        yield known
        yield from subclasses(known)


MODULES = list(modules())
CLASSES = sorted(
    {
        known
        for known in subclasses(Options)
        if known.__module__.startswith("spectral_latent.") and not inspect.isabstract(known)
    },
    key=lambda known: known.__name__,
)


class Field(NamedTuple):
    """A field of options, by its declaration.

    name: the name of the field.
    kind: the type without limits and without None.
    limits: the limits of a number.
    optional: whether the field accepts None.
    """

    name: str
    kind: Any
    limits: tuple[Any, ...] = ()
    optional: bool = False

    @staticmethod
    def of(name: str, declared: Any) -> Field:
        """Divide a declared type into the parts of a field."""
        if NoneType in get_args(declared):
            some = next(part for part in get_args(declared) if part is not NoneType)
            return Field.of(name, some)._replace(optional=True)
        if get_origin(declared) is Annotated:
            kind, *limits = get_args(declared)
            return Field(name, kind, tuple(limits))
        return Field(name, declared)

    @property
    def is_options(self) -> bool:
        return inspect.isclass(self.kind) and issubclass(self.kind, Options)


@cache
def fields_of(options: type[Options]) -> list[Field]:
    return [Field.of(name, declared) for name, declared in field_types(options).items()]


# What is declared


def test_all_classes_of_settings_are_options() -> None:
    named = {
        value
        for module in MODULES
        for name, value in inspect.getmembers(module, inspect.isclass)
        if value.__module__.startswith("spectral_latent.") and name.endswith("Options")
    }
    assert named - {Options} <= set(CLASSES)
    assert {Binarisation, Attachment, Spectral} <= set(CLASSES)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_field_declares_what_it_accepts(kind: type[Options]) -> None:
    for field in fields_of(kind):
        if field.kind in NUMBERS:
            assert field.limits, f"{kind.__name__}.{field.name} is a number without a range"
        else:
            assert field.kind is bool or get_origin(field.kind) is Literal or field.is_options, field
        assert all(isinstance(limit, Bound) for limit in field.limits)


# What is accepted


@cache
def accepted(field: Field) -> st.SearchStrategy[Any]:
    """Draw values that a field accepts for all values of the other fields."""
    if field.optional:
        return st.none() | accepted(field._replace(optional=False))
    if get_origin(field.kind) is Literal:
        return st.sampled_from(get_args(field.kind))
    if field.is_options:
        return objects(field.kind)
    if field.kind is bool:
        return st.booleans()
    least = next((limit for limit in field.limits if limit(math.inf)), None)
    most = next((limit for limit in field.limits if limit(-math.inf)), None)
    low = None if least is None else least.bound
    high = None if most is None else most.bound
    if field.kind is int:
        return st.integers(low, 2**63 - 1 if high is None else high)
    is_open = [limit is not None and not limit(limit.bound) for limit in (least, most)]
    ends = {"exclude_min": is_open[0], "exclude_max": is_open[1]}
    return st.floats(low, high, allow_nan=False, allow_infinity=False, **ends)


@st.composite
def objects(draw: st.DrawFn, kind: type[Options]) -> Options:
    """Draw options of a class with values that its fields accept one by one and the class accepts together."""
    if inspect.isabstract(kind):
        kind = draw(st.sampled_from([known for known in CLASSES if issubclass(known, kind)]))
    values = {field.name: draw(accepted(field)) for field in fields_of(kind)}
    if kind is HMMOptions:  # it refuses nearly all other values
        values["estimator"] = values["estimator"].with_settings(smoothing=None, rank=None)
    try:
        return kind(**values)
    except ValueError:
        reject()


@pytest.mark.parametrize("kind", CLASSES)
@given(data=st.data())
def test_what_is_accepted_comes_back_from_a_model_file(kind: type[Options], data: st.DataObject) -> None:
    options = data.draw(objects(kind))
    holder = make_dataclass("Holder", [("options", kind)])
    _, settings = write(holder(options))
    again = read(holder, {}, json.loads(json.dumps(settings))).options
    assert again == options
    for field in fields_of(kind):
        value = getattr(again, field.name)
        if value is not None and field.kind in (int, float, bool):
            assert type(value) is field.kind


def test_numbers_and_names_of_numpy_are_stored_as_plain_ones() -> None:
    options = EstimatorOptions(n_states=np.uint8(4), smoothing=np.int64(4), cutoff=np.float16(0.5))
    assert [type(value) for value in (options.n_states, options.smoothing, options.cutoff)] == [int, float, float]
    assert hash(options) == hash(EstimatorOptions(n_states=4, smoothing=4.0, cutoff=0.5))
    assert AnchorOptions(exchange=np.False_).exchange is False  # type: ignore[arg-type]
    assert type(ConstituencyOptions(marginals=np.str_("absolute")).marginals) is str  # type: ignore[arg-type]


# What is refused


def neighbours(number: float) -> tuple[float, float]:
    return math.nextafter(number, -math.inf), math.nextafter(number, math.inf)


def refused(field: Field) -> list[Any]:
    """List values of a wrong type, and then values out of range."""
    wrong: list[Any] = ["", "1", [1], (1,), {}, 1j, object(), int, np.zeros(2), np.zeros((), dtype=int)]
    wrong += [] if field.optional else [None]
    wrong += [0, 1, 1.0, np.int64(1)] if field.kind is bool else [True, False, np.True_]
    if field.kind not in NUMBERS:
        return [*wrong, 0, 0.5, math.nan]
    wrong += [math.nan, math.inf, -math.inf, np.float64("nan"), np.float32("inf")]
    wrong += [4.0, 0.5, np.float64(4.0)] if field.kind is int else [10**400]
    for limit in field.limits:
        less, more = (limit.bound - 1, limit.bound + 1) if field.kind is int else neighbours(limit.bound)
        wrong += [less, -(10**12)] if limit(math.inf) else [more, 10**12]
        wrong += [] if limit(limit.bound) else [limit.bound]
    return wrong


@pytest.mark.parametrize("kind", CLASSES)
def test_what_is_refused_is_named(kind: type[Options]) -> None:
    for field in fields_of(kind):
        choices = get_args(field.kind) if get_origin(field.kind) is Literal else ()
        for value in refused(field):
            with pytest.raises(ValueError) as raised:
                kind(**{field.name: value})
            message = str(raised.value)
            assert message.startswith(f"{kind.__name__}.{field.name} must be "), message
            assert f", not {value!r}" in message, message
            assert all(f"{limit.bound:g}" in message for limit in field.limits), message
            assert all(repr(choice) in message for choice in choices), message


def test_a_count_is_a_number_that_an_array_can_hold() -> None:
    most = np.iinfo(np.int64).max
    assert checked("n", int(most), Count) == most
    for more in (int(most) + 1, 2**64, 10**30):
        with pytest.raises(ValueError, match=r"n must be .* too large"):
            checked("n", more, Count)


def params_of(kind: str) -> list[click.Parameter]:
    """List the options of `spectral-latent train KIND`."""
    command = COMMAND.get_command(click.Context(COMMAND), kind)
    assert command is not None
    return command.params


@pytest.mark.parametrize(
    ("command", "option", "kind", "name"),
    [
        *((("train", kind), "n_states", Spectral, "n_states") for kind in ESTIMATED),
        *((("train", kind), "seed", Spectral, "seed") for kind in ESTIMATED),
        (("train", "dependency"), "column", DependencyOptions, "tags"),
        (("train", "anchors"), "n_states", AnchorOptions, "n_states"),
        (("train", "anchors"), "window", AnchorOptions, "window"),
    ],
)
def test_the_command_accepts_what_options_accept(
    command: tuple[str, str], option: str, kind: type[Options], name: str
) -> None:
    """The command line has ranges of its own, so that its help does not import the options."""
    given = next(known.type for known in params_of(command[1]) if known.name == option)
    field = Field.of(name, field_types(kind)[name])
    if isinstance(given, click.Choice):
        assert tuple(given.choices) == get_args(field.kind)
    else:
        assert isinstance(given, click.IntRange)
        least = [limit.bound for limit in field.limits if limit.words == "of at least"]
        most = [limit.bound for limit in field.limits if limit.words == "of at most"]
        assert (least, most or [None]) == ([given.min], [given.max])


@pytest.mark.parametrize("command", ["constituency", "dependency", "tagger"])
def test_the_command_and_the_library_have_the_same_presets(command: str) -> None:
    (kind,) = (known.type for known in params_of(command) if known.name == "preset")
    assert isinstance(kind, click.Choice)
    of_preset: Any = {"constituency": constituency, "dependency": dependency, "tagger": sequence}[command].preset
    assert all(of_preset(name) for name in kind.choices)
    other = "slow" if command == "constituency" else "clusters"
    with pytest.raises(ValueError, match=f"'{other}' is no preset; give fast, accurate"):
        of_preset(other)


# What options do


@pytest.mark.parametrize("kind", [str, int, float, bool, NoneType])
def test_simple_types_have_plain_names(kind: type) -> None:
    assert "object" not in describe(kind) and kind.__name__ not in describe(kind).split()


LEARNERS = [kind for name, kind in vars(test_models).items() if name.startswith("Test")]
IDLE = {"seed", "megabytes", "seconds", "marginals", "candidates", "random_starts", "cutoff", "exchange"}
"""Options that may change nothing here: small models draw nothing, reach no limit, and have one candidate."""


def options_in(options: Options, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Field, Any]]:
    """List the options in options, each with the names that lead to it, and its value."""
    for field in fields_of(type(options)):
        value = getattr(options, field.name)
        if isinstance(value, Options):
            yield from options_in(value, (*path, field.name))
        else:
            yield (*path, field.name), field, value


def other_values(field: Field, value: Any) -> list[Any]:
    """List values far from the one that an option has."""
    if field.kind is bool:
        return [not value]
    if field.is_options:
        return [] if inspect.isabstract(field.kind) else [field.kind()]
    if field.kind not in NUMBERS:
        return [other for other in get_args(field.kind) if other != value]
    near = field.kind(value or 0)
    least = [limit.bound for limit in field.limits if limit.words == "of at least"]
    tried = (*least, 2 * near + 1) if field.kind is int else (near / 10 + 1e-6, 10 * near + 0.3, near / 2 + 0.4)
    return [other for other in tried if other != value and all(limit(other) for limit in field.limits)]


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_option_changes_the_model_or_its_answers_or_is_refused(
    learner: type[ModelConformance], tmp_path: Path
) -> None:
    examples = learner.examples[:40]

    def learn(options: Options) -> tuple[Any, dict[str, bytes]]:
        model = learner.learn(examples, options)
        model.save(tmp_path / "model")
        return model, {name: array.tobytes() for name, array in contents(tmp_path / "model")[0].items()}

    changes: dict[tuple[str, ...], bool] = {}
    for options in learner.settings:
        model, arrays = learn(options)
        answers = learner.answers(model)
        for path, field, value in options_in(options):
            for other in other_values(field, value) if field.name not in IDLE else ():
                if not changes.setdefault(path, False):
                    try:
                        found, numbers = learn(with_option(options, path, other))
                        changes[path] = numbers != arrays or learner.answers(found) != answers
                    except (ValueError, RuntimeWarning):
                        changes[path] = True
    assert len(changes) > 3
    assert [path for path, changed in changes.items() if not changed] == []
