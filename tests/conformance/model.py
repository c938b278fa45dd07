"""What every model of the library must do, whatever it models.

A test module makes a subclass of `ModelConformance` for each model, and gives the parts that come first.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save

from spectral_latent._options import Options, field_types
from spectral_latent.estimation import EstimationError, Progress
from spectral_latent.operators import ModelFileError
from spectral_latent.operators.compression import pack_arrays
from spectral_latent.operators.storage import _sealed

NONSENSE: list[Any] = [None, True, "nonsense", [], {}, [None], -1.5]
KEPT = object()  # stands for an option that keeps its value


def with_option(options: Any, path: tuple[str, ...], value: Any) -> Any:
    """Replace one option, which may lie within other options."""
    name, *rest = path
    inner = value if not rest else with_option(getattr(options, name), tuple(rest), value)
    return replace(options, **{name: inner})


def option_paths(options: Options) -> Iterator[tuple[str, ...]]:
    """List the options that are no further options, each by the names that lead to it."""
    for field in fields(options):
        value = getattr(options, field.name)
        if isinstance(value, Options):
            yield from ((field.name, *path) for path in option_paths(value))
        else:
            yield (field.name,)


def declared(options: Options, path: tuple[str, ...]) -> Any:
    """Find the declared type of an option."""
    for name in path[:-1]:
        options = getattr(options, name)
    return field_types(type(options))[path[-1]]


def value_at(options: Any, path: tuple[str, ...]) -> Any:
    """Find the value of an option."""
    for name in path:
        options = getattr(options, name)
    return options


def other_values(declaration: Any, value: Any) -> Iterator[Any]:
    """List values of an option that it accepts and that differ from the given one."""
    parts = get_args(declaration)
    if NoneType in parts:
        some = next(part for part in parts if part is not NoneType)
        candidates = [None, *other_values(some, value)]
    elif get_origin(declaration) is Annotated:
        kind, *limits = parts
        start = 1.0 if value is None else float(value)
        numbers = [0.0, 1.0, 2.0, 3.0, 0.5, 0.9, 0.99, start / 10, start * 10, start * 1000, start + 1, start - 1]
        typed = [int(number) if kind is int else number for number in numbers]
        candidates = [number for number in typed if all(limit.accepts(number) for limit in limits)]
    elif get_origin(declaration) is Literal:
        candidates = list(parts)
    elif isinstance(declaration, type) and issubclass(declaration, Options):
        candidates = [declaration()]
    else:
        assert declaration is bool
        candidates = [not value]
    yield from (candidate for candidate in candidates if candidate != value)


def contents(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the arrays and the settings of a model file, without the library and without what is about the file."""
    arrays = {}
    with safe_open(path, framework="np") as opened:
        settings = json.loads(opened.metadata()["model"])
        del settings["digest"]
        for name, (kind, smaller, shape) in settings.pop("arrays").items():
            content = zlib.decompress(opened.get_tensor(name).tobytes())
            places = np.frombuffer(content, dtype=np.uint8).reshape(np.dtype(smaller).itemsize, -1)
            arrays[name] = np.frombuffer(places.T.tobytes(), dtype=smaller).astype(kind).reshape(shape)
    return arrays | {name: arrays[first] for name, first in settings.pop("copies").items()}, settings


def write(path: Path, arrays: dict[str, Any], settings: dict[str, Any]) -> None:
    """Write a model file with the right digest, so that all that is wrong with it is its contents."""
    stored, table = pack_arrays(arrays)
    path.write_bytes(save(stored, {"model": _sealed({**settings, **table}, stored)}))


def damaged_arrays(array: Any) -> Iterator[Any]:
    """List arrays that cannot stand in the place of an array of a model file."""
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


class ModelConformance:
    """Checks of a model that `train` makes of `examples`."""

    model_class: Any  # the class of the model
    settings: tuple[Any, ...]  # options to train with, small ones; each option matters under at least one of them
    example: Any  # one that training refuses, because a string or a number stands in the place of an example
    has_weights = True  # whether examples may have weights
    without_effect: frozenset[tuple[str, ...]] = frozenset()  # options that matter to speed or to memory alone
    sense: Mapping[str, list[Any]] = MappingProxyType({})  # the nonsense that makes sense in a setting of a file

    @staticmethod
    def examples() -> list[Any]:
        """List a few things to learn from."""
        raise NotImplementedError

    @staticmethod
    def answers(model: Any) -> Any:
        """Ask the model whatever can be asked; the answers are compared by ==."""
        raise NotImplementedError

    @staticmethod
    def many(model: Any, jobs: int | None) -> Any:
        """Ask the model about several inputs, one of them empty and one of a single word, by so many processes."""
        raise NotImplementedError

    def refused(self, model: Any) -> Iterable[tuple[Callable[[], Any], type[Exception], str]]:
        """List calls that must fail, each with its error and what the message says."""
        raise NotImplementedError

    @staticmethod
    def of_words(model: Any) -> Iterable[Callable[[Any], Any]]:
        """List what takes the words of one sentence; nothing for a model of other things."""
        return ()

    @staticmethod
    def of_trees(model: Any) -> Iterable[Callable[[Any], Any]]:
        """List what takes several trees; nothing for a model of sequences."""
        return ()

    @classmethod
    def train(cls, options: Any = None, *, jobs: int | None = 1) -> Any:
        """Train the model."""
        return cls.model_class.train(iter(cls.examples()), options, jobs=jobs)

    @pytest.fixture(scope="class")
    @classmethod
    def models(cls) -> list[Any]:
        """Train a model with each of the settings."""
        return [cls.train(options) for options in cls.settings]

    @pytest.fixture(scope="class")
    @classmethod
    def file(cls, models: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
        """Save the first model."""
        path = tmp_path_factory.mktemp("models") / "model"
        models[0].save(path)
        return path

    def test_a_loaded_model_answers_alike_and_saves_the_same_bytes(self, models: list[Any], tmp_path: Path) -> None:
        for at, model in enumerate(models):
            path = tmp_path / f"model {at}"
            model.save(path)
            loaded = self.model_class.load(path)
            loaded.save(tmp_path / "again")
            assert (tmp_path / "again").read_bytes() == path.read_bytes()
            assert self.answers(loaded) == self.answers(model)
            assert loaded.options == model.options

    def test_a_model_keeps_the_objective_of_every_iteration(self, tmp_path: Path) -> None:
        """As a listener hears it, in the file too; an estimator without EM has none."""
        paths = [path for path in option_paths(self.settings[0]) if path[-1] == "tolerance"]
        if paths != [("tolerance",)] and paths != [("estimator", "tolerance")]:
            return  # no estimator to choose
        for estimator in ("clustering", "clusters-em"):
            options = self.settings[0]
            for name, value in {"estimator": estimator, "iterations": 3, "tolerance": 0.0}.items():
                options = with_option(options, (*paths[0][:-1], name), value)
            heard: list[Progress] = []
            model = self.model_class.train(iter(self.examples()), options, listener=heard.append)
            told = [progress.score for progress in heard if progress.stage.endswith("EM")]
            assert len(told) == (4 if estimator == "clusters-em" else 0)
            np.testing.assert_array_equal(np.ravel(model.description.get("objective", [])), np.round(told, 2))
            model.save(tmp_path / "model")
            assert self.model_class.load(tmp_path / "model").description == model.description

    def test_a_model_says_what_it_is(self, models: list[Any], tmp_path: Path) -> None:
        """In a short line, in a table, and in facts that JSON can hold; its fingerprint tells it from others."""
        for model in models:
            assert len(repr(model)) < 1000
            facts = json.loads(json.dumps(model.description))
            assert (facts["kind"], facts["sizes"]) == (self.model_class.kind, model.sizes)
            assert set(model.summary) == set(facts)
            assert model._repr_html_().count("<tr>") == len(facts)
            assert len(model._repr_html_()) < 20_000
            model.save(tmp_path / "model", {"command": "test"})
            assert self.model_class.load(tmp_path / "model").fingerprint == model.fingerprint
            assert contents(tmp_path / "model")[1]["record"] == {"command": "test"}
        assert len({model.fingerprint for model in models}) == len(models)

    def test_training_gives_the_same_bytes_for_any_number_of_jobs(self, models: list[Any], tmp_path: Path) -> None:
        for options, model in zip(self.settings, models, strict=True):
            model.save(tmp_path / "one")
            self.train(options, jobs=2).save(tmp_path / "two")
            assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()

    def test_answers_are_the_same_for_any_number_of_jobs(self, models: list[Any]) -> None:
        expected = self.many(models[0], 1)
        assert self.many(models[0], 1) == expected
        assert self.many(models[0], 2) == expected

    def test_weights_of_examples(self, models: list[Any], tmp_path: Path) -> None:
        """Weights of one change nothing, and a weight of zero leaves an example out."""
        if not self.has_weights:
            return
        examples = self.examples()
        of_weights = [(models[0], [1] * len(examples))]
        of_weights.append((self.model_class.train(examples[3:], self.settings[0]), [0, 0, 0, *of_weights[0][1][3:]]))
        for model, weights in of_weights:
            model.save(tmp_path / "expected")
            self.model_class.train(iter(examples), self.settings[0], weights=iter(weights)).save(tmp_path / "weighted")
            assert (tmp_path / "weighted").read_bytes() == (tmp_path / "expected").read_bytes()

    def test_an_example_of_weight_two_counts_twice(self, tmp_path: Path) -> None:
        """Up to rounding, in all numbers of the model."""
        if not self.has_weights:
            return
        examples = self.examples()
        weights = [1 + at % 3 for at in range(len(examples))]
        weighted = self.model_class.train(iter(examples), self.settings[0], weights=weights)
        repeated = [example for example, weight in zip(examples, weights, strict=True) for _ in range(weight)]
        self._compare(weighted, self.model_class.train(repeated, self.settings[0]), tmp_path)

    def _compare(self, one: Any, other: Any, folder: Path) -> None:
        """Compare the numbers of two models, which are rounded."""
        one.save(folder / "one")
        other.save(folder / "other")
        found, _ = contents(folder / "one")
        expected, _ = contents(folder / "other")
        assert set(found) == set(expected)
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, rtol=2e-3, atol=1e-4, err_msg=name)

    def test_weights_that_make_no_sense_are_refused(self) -> None:
        if not self.has_weights:
            return
        examples = self.examples()
        for weights in ([1.0], [1.0] * (len(examples) + 1), [-1.0] * len(examples), [float("nan")] * len(examples)):
            with pytest.raises(EstimationError, match="weight"):
                self.model_class.train(iter(examples), self.settings[0], weights=weights)
        with pytest.raises(EstimationError, match="no trees"):
            self.model_class.train(iter(examples), self.settings[0], weights=[0.0] * len(examples))

    def test_nothing_to_learn_from(self) -> None:
        with pytest.raises(ValueError):
            self.model_class.train([])

    def test_a_string_is_no_treebank(self) -> None:
        with pytest.raises((TypeError, ValueError)):
            self.model_class.train(self.example)

    def test_requests_that_cannot_be_met(self, models: list[Any]) -> None:
        for call, error, message in self.refused(models[0]):
            with pytest.raises(error, match=message):
                call()

    @pytest.mark.parametrize("wrong", ["dogs bark", "d", b"dogs", ["dogs", None], [("dogs", "N")], [["dogs"]]])
    def test_words_are_a_list_of_strings(self, models: list[Any], wrong: Any) -> None:
        """A string would be read as a list of characters."""
        for ask in self.of_words(models[0]):
            with pytest.raises(TypeError, match="; give "):
                ask(wrong)

    @pytest.mark.parametrize("wrong", ["(S x)", ["(S x)"], [["dogs"]], [None]])
    def test_trees_are_objects_of_their_class(self, models: list[Any], wrong: Any) -> None:
        for ask in self.of_trees(models[0]):
            with pytest.raises(TypeError, match=r"tree 1 is .*; give a sequence of "):
                ask(wrong)

    def test_options_by_other_names_or_of_other_values_are_refused(self) -> None:
        options = self.settings[0]
        with pytest.raises(TypeError):
            replace(options, no_such_option=1)
        for path in option_paths(options):
            name = path[-1]
            for wrong in ("nonsense", b"x", [1], float("nan"), object()):
                with pytest.raises(ValueError, match=rf"\.{name} must be "):
                    with_option(options, path, wrong)

    def test_every_option_changes_something(self, models: list[Any], tmp_path: Path) -> None:
        """A value of each option that makes another model, or a model that answers otherwise."""
        before = [(self._numbers(model, tmp_path), self.answers(model)) for model in models]
        paths = sorted({path for options in self.settings for path in option_paths(options)} - self.without_effect)
        idle = [".".join(path) for path in paths if not self._matters(path, before, tmp_path)]
        assert not idle, f"these options have no effect: {idle}"

    def _matters(self, path: tuple[str, ...], before: list[tuple[Any, Any]], folder: Path) -> bool:
        """Tell whether an option has a value that changes a model or its answers, or that training refuses.

        before: the numbers and the answers of the model of each of the settings.
        """
        values = [
            other_values(declared(options, path), value_at(options, path)) if path in option_paths(options) else ()
            for options in self.settings
        ]
        for tried in zip_longest(*values, fillvalue=KEPT):  # one value in every setting, then another value
            for options, value, (numbers, answers) in zip(self.settings, tried, before, strict=True):
                if value is KEPT:
                    continue
                try:
                    model = self.train(with_option(options, path, value))
                except ValueError:
                    return True
                # Answers take long, and are asked for only where all numbers are the same.
                if self._numbers(model, folder) != numbers or self.answers(model) != answers:
                    return True
        return False

    def _numbers(self, model: Any, folder: Path) -> dict[str, bytes]:
        """Collect the arrays of a model's file."""
        model.save(folder / "seen")
        arrays, _ = contents(folder / "seen")
        return {name: array.tobytes() for name, array in arrays.items()}

    def test_files_that_are_cut_short_or_absent_are_refused(self, file: Path, tmp_path: Path) -> None:
        content = file.read_bytes()
        path = tmp_path / "model"
        for end in (0, 7, 8, 100, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:end])
            self._is_refused(path)
        self._is_refused(tmp_path / "absent")

    def test_files_of_another_kind_or_version_are_refused(self, file: Path, tmp_path: Path) -> None:
        arrays, settings = contents(file)
        for wrong in ({"kind": "another"}, {"version": 10**6}, {"format": "another"}):
            write(tmp_path / "model", arrays, settings | wrong)
            self._is_refused(tmp_path / "model")

    def test_files_without_one_of_their_parts_are_refused(self, file: Path, tmp_path: Path) -> None:
        """Older files have no singular values, and are read without them."""
        arrays, settings = contents(file)
        path = tmp_path / "model"
        write(path, {name: array for name, array in arrays.items() if not name.endswith("singular_values")}, settings)
        assert self.answers(self.model_class.load(path)) == self.answers(self.model_class.load(file))
        for name in arrays:
            if name.endswith("singular_values"):
                continue
            write(path, {other: array for other, array in arrays.items() if other != name}, settings)
            self._is_refused(path)
        for key in settings:
            write(path, arrays, {other: value for other, value in settings.items() if other != key})
            self._is_refused(path)

    @pytest.mark.filterwarnings("ignore:invalid value encountered")  # made by the damage itself
    def test_files_with_damaged_arrays_are_refused(self, file: Path, tmp_path: Path) -> None:
        arrays, settings = contents(file)
        for name, array in arrays.items():
            for wrong in damaged_arrays(array):
                write(tmp_path / "model", arrays | {name: wrong}, settings)
                self._is_refused(tmp_path / "model", f"{name}, {wrong.dtype} {wrong.shape}")

    def test_files_with_settings_that_make_no_sense_are_refused(self, file: Path, tmp_path: Path) -> None:
        arrays, settings = contents(file)
        for key in settings:
            for wrong in NONSENSE:
                makes_sense = wrong in self.sense.get(key, []) or (key == "library" and isinstance(wrong, str))
                if wrong != settings[key] and not makes_sense:
                    write(tmp_path / "model", arrays, settings | {key: wrong})
                    self._is_refused(tmp_path / "model", f"{key} = {wrong!r}")

    def test_any_changed_byte_is_refused(self, file: Path, tmp_path: Path) -> None:
        content = file.read_bytes()
        rng = np.random.default_rng(0)
        head = int.from_bytes(content[:8], "little") + 8
        path = tmp_path / "model"
        for at in [*rng.integers(0, head, 60), *rng.integers(head, len(content), 60)]:
            changed = bytearray(content)
            changed[at] ^= 1 << int(rng.integers(8))
            path.write_bytes(changed)
            self._is_refused(path, f"byte {at} changed")

    def _is_refused(self, path: Path, what: str = "") -> None:
        """Check that a file is refused by an error that names it."""
        try:
            self.model_class.load(path)
        except ModelFileError as error:
            assert str(path) in str(error)
        else:
            raise AssertionError(f"a file with {what or 'damage'} was loaded")
