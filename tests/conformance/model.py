"""Check what every model of the library must do.

A test module makes a subclass of `ModelConformance` for each model, which defines the attributes above
`learn`.
"""

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save

from spectral_latent.files import ModelFileError
from spectral_latent.files.storage import _seal, pack_arrays

NONSENSE: list[Any] = [None, True, "nonsense", [], {}, [None], -1.5]
Refused = Iterable[tuple[Callable[[], Any], type[Exception], str]]  # a call, its error, and a part of the message
MISSING = object()  # stands for a setting that is left out


def with_option(options: Any, path: tuple[str, ...], value: Any) -> Any:
    """Replace one option; `path` is its name after the names of the options that contain it."""
    name, *rest = path
    inner = value if not rest else with_option(getattr(options, name), tuple(rest), value)
    return replace(options, **{name: inner})


def contents(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the arrays and the settings of a model file without the library; leave out what describes the file alone."""
    arrays = {}
    with safe_open(path, framework="np") as opened:
        settings = json.loads(opened.metadata()["model"])
        del settings["digest"]
        for name, (kind, smaller, shape) in settings.pop("arrays").items():
            # The bytes of all numbers are stored place by place: all first bytes, then all second bytes, and so on.
            content = zlib.decompress(opened.get_tensor(name).tobytes())
            places = np.frombuffer(content, dtype=np.uint8).reshape(np.dtype(smaller).itemsize, -1)
            arrays[name] = np.frombuffer(places.T.tobytes(), dtype=smaller).astype(kind).reshape(shape)
    return arrays | {name: arrays[first] for name, first in settings.pop("copies").items()}, settings


def write(path: Path, arrays: dict[str, Any], settings: dict[str, Any]) -> None:
    """Write a model file with the right digest, so that a reader can only refuse its contents."""
    stored, table = pack_arrays(arrays)
    path.write_bytes(save(stored, {"model": _seal({**settings, **table}, stored)}))


def damaged_arrays(array: Any) -> Iterator[Any]:
    """List arrays that a reader must refuse in the place of an array of a model file."""
    yield array[..., None]
    if array.size:
        yield array[:-1]
        yield np.concatenate([array, array[:1]])
    yield array.astype(np.float32 if array.dtype != np.float32 else np.float64)
    if array.dtype.kind == "f" and array.size:
        for value in (np.nan, np.inf):
            wrong = array.copy()
            wrong.flat[-1] = value
            yield wrong
    if array.dtype.kind == "i" and array.size:
        for value in (-(10**6), 10**6):
            wrong = array.copy()
            wrong.flat[-1] = value
            yield wrong


def nested_settings(settings: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """List the settings of a file and of its parts, each with the names that lead to it; options are one setting."""
    for name, value in settings.items() if isinstance(settings, dict) else enumerate(settings):
        if not isinstance(name, int):
            yield (*path, name), value
        if name != "options" and (
            isinstance(value, dict) or (isinstance(value, list) and value and value[0].__class__ is dict)
        ):
            yield from nested_settings(value, (*path, name))


def changed_setting(settings: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """Replace the setting at the end of a path, or leave it out if the value is MISSING."""
    name, *rest = path
    changed = settings.copy()
    if rest:
        changed[name] = changed_setting(settings[name], tuple(rest), value)
    elif value is MISSING:
        del changed[name]
    else:
        changed[name] = value
    return changed


def wrong_counts(ask: Callable[[Any], Any]) -> Refused:
    """List calls of a function with values of `n_best` that it must refuse."""
    for wrong in (0, 2.5, True, "2"):
        yield partial(ask, wrong), ValueError, "n_best must be "


def wrong_choices(name: str, ask: Callable[..., Any]) -> Refused:
    """List calls of a function with values of a yes-or-no argument that it must refuse."""
    for wrong in ("no", 1, None):
        yield partial(ask, **{name: wrong}), ValueError, f"{name} must be "


class ModelConformance:
    """Checks of a model that `train` makes of `examples`."""

    model_class: Any  # the class of the model
    examples: list[Any]  # a few examples to learn from
    inputs: list[Any]  # one is a single word, and one is empty if the model may be asked about an empty input
    answers: Callable[[Any], Any]  # calls all methods of a model that answer; answers are compared by ==
    many: Callable[..., list[Any]]  # asks a model about several inputs in one call
    refused: Callable[..., Refused]  # lists calls of a model that must fail, each with its error and what it says
    settings: tuple[Any, ...]  # small options to train with
    example: Any  # examples that training refuses, because a string or a number is no list of examples
    defaults: Any  # the options of a model that is trained without options
    facts: tuple[str, ...] = ("options",)  # the names of its description, besides those of all models
    sense: Mapping[str, list[Any]] = MappingProxyType({})  # the values of NONSENSE that a setting of a file may have

    @classmethod
    def learn(cls, examples: Any, options: Any = None, **others: Any) -> Any:
        return cls.model_class.train(examples, options, **others)

    @classmethod
    def load(cls, path: Path) -> Any:
        return cls.model_class.load(path)

    @staticmethod
    def options_of(model: Any) -> Any:
        return model.options

    @classmethod
    def train(cls, options: Any = None, **others: Any) -> Any:
        return cls.learn(iter(cls.examples), options, **others)

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> list[Any]:
        """Train a model with each of the settings."""
        return [cls.train(options) for options in cls.settings]

    @pytest.fixture(scope="class")
    @classmethod
    def file(cls, models: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
        path = tmp_path_factory.mktemp("models") / "model"
        models[0].save(path)
        return path

    def test_a_loaded_model_answers_alike_and_saves_the_same_bytes(self, models: list[Any], tmp_path: Path) -> None:
        for model in models:
            self.check_round_trip(model, tmp_path)

    def check_round_trip(self, model: Any, folder: Path) -> None:
        model.save(folder / "model")
        loaded = self.load(folder / "model")
        loaded.save(folder / "again")
        assert (folder / "again").read_bytes() == (folder / "model").read_bytes()
        assert self.answers(loaded) == self.answers(model)

    def test_a_model_says_what_it_is(self, models: list[Any], tmp_path: Path) -> None:
        """A model describes itself in a line, a table and facts for JSON, and has a fingerprint of its own."""
        for model in models:
            assert len(repr(model)) < 1000
            facts = json.loads(json.dumps(model.description))
            assert (facts["kind"], facts["sizes"]) == (self.model_class.kind, model.sizes)
            assert sorted(facts.keys() - {"objective"}) == sorted(["kind", "sizes", *self.facts])
            assert set(model.summary) == set(facts)
            assert model._repr_html_().count("<tr>") == len(facts)
            assert len(model._repr_html_()) < 20_000
            model.save(tmp_path / "model", {"command": "test"})
            assert self.load(tmp_path / "model").fingerprint == model.fingerprint
            assert contents(tmp_path / "model")[1]["record"] == {"command": "test"}
        assert len({model.fingerprint for model in models}) == len(models)

    def test_several_inputs_are_answered_as_each_alone(self, models: list[Any]) -> None:
        together = self.many(models[0], self.inputs)
        assert together == [self.many(models[0], [each])[0] for each in self.inputs]
        assert self.many(models[0], []) == []

    def test_what_training_takes_without_options(self) -> None:
        assert self.options_of(self.learn(self.examples[:15])) == self.defaults

    def test_what_is_no_list_of_examples_is_refused(self) -> None:
        for nothing in ([], self.example):
            with pytest.raises((TypeError, ValueError)):
                self.learn(nothing)

    def test_requests_that_cannot_be_met(self, models: list[Any]) -> None:
        for call, error, message in self.refused(models[0]):
            with pytest.raises(error, match=message):
                call()

    def test_files_without_one_of_their_parts_are_refused(self, file: Path, tmp_path: Path) -> None:
        """Only singular values and later fields may be missing, because older files do not have them."""
        arrays, settings = contents(file)
        path = tmp_path / "model"
        write(path, {name: array for name, array in arrays.items() if not name.endswith("singular_values")}, settings)
        assert self.answers(self.load(path)) == self.answers(self.load(file))
        for name in arrays:
            if name.endswith("singular_values"):
                continue
            write(path, {other: array for other, array in arrays.items() if other != name}, settings)
            self._is_refused(path)
        for place, _ in nested_settings(settings):
            write(path, arrays, changed_setting(settings, place, MISSING))
            if place[0] in type(self.load(file)).later:
                without = {name: getattr(type(self.load(file)), name) for name in place[:1]}  # its default
                assert self.answers(self.load(path)) == self.answers(replace(self.load(file), **without))
            else:
                self._is_refused(path, f"{place} missing")

    @pytest.mark.filterwarnings("ignore:invalid value encountered")  # the damaged numbers cause this warning
    def test_files_with_damaged_arrays_are_refused(self, file: Path, tmp_path: Path) -> None:
        """Each array in a quarter of the ways; `tests/fuzz` tries others at random."""
        arrays, settings = contents(file)
        for number, (name, array) in enumerate(arrays.items()):
            for wrong in islice(damaged_arrays(array), number % 4, None, 4):
                write(tmp_path / "model", arrays | {name: wrong}, settings)
                self._is_refused(tmp_path / "model", f"{name}, {wrong.dtype} {wrong.shape}")

    def test_files_with_settings_that_make_no_sense_are_refused(self, file: Path, tmp_path: Path) -> None:
        arrays, settings = contents(file)
        for number, (path, value) in enumerate(nested_settings(settings)):
            for wrong in NONSENSE[number % 4 :: 4]:
                makes_sense = wrong in self.sense.get(str(path[-1]), []) or (
                    path[0] == "library" and isinstance(wrong, str)
                )
                if wrong != value and not makes_sense:
                    write(tmp_path / "model", arrays, changed_setting(settings, path, wrong))
                    self._is_refused(tmp_path / "model", f"{path} = {wrong!r}")

    def _is_refused(self, path: Path, what: str = "") -> None:
        """Check that a file is refused by an error that names it."""
        try:
            self.load(path)
        except ModelFileError as error:
            assert str(path) in str(error)
        else:
            raise AssertionError(f"a file with {what or 'damage'} was loaded")
