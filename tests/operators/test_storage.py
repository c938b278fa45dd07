"""Model files: every bit comes back, and no damage does harm."""

from __future__ import annotations

import json
import os
import struct
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent._options import Options
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.inference import inside, marginals, outside, tree_weights
from spectral_latent.operators import (
    ModelFileError,
    ObservableOperators,
    PackedOperators,
    arrays_of,
    column_from,
    load_model,
    opened_model,
    operators_from,
    options_from,
    save_model,
)
from spectral_latent.trees import Forest
from tests.oracles import columns, random_numbers, rules_of

TREES = [(0, (1, (2, 0), (2, 1)), (0, (2, 1))), (0, (0, (2, 0)), (0, (2, 0))), (1, (2, 1), (1, (2, 0), (0, 2)))]
STATES = [3, 2, 4]
SETTINGS = {"kind": "toy", "words": ["a", "Ω", "東", "'\"\\\n"], "number": 0.1, "nothing": None}


def toy() -> ObservableOperators:
    return random_numbers(np.random.default_rng(0), STATES, rules_of(TREES)).operators()


def saved(path: Path) -> Path:
    save_model(path, arrays_of("latent", toy()), SETTINGS)
    return path


def use(operators: ObservableOperators) -> None:
    """Run compiled code over every operator; an index out of bounds would be found or would crash."""
    skeletal = columns(TREES)
    forest = Forest.of_trees(skeletal, skeletal.rules)
    if operators.n_symbols == 3 and operators.rules.equals(skeletal.rules):
        inner = inside(operators, forest)
        marginals(operators, forest, inner, outside(operators, forest, inner))


# ---------------------------------------------------------------------------------------------------------------------
# What is written comes back


def test_a_model_comes_back_bit_for_bit(tmp_path: Path) -> None:
    operators = toy()
    arrays, settings = load_model(saved(tmp_path / "model"), "toy")
    again = operators_from("latent", arrays)
    assert (operators.packed.terms > 0).any()
    assert (operators.packed.terms == 0).any()
    for name, array in again.packed._asdict().items():
        assert array.dtype == getattr(operators.packed, name).dtype
        assert array.tobytes() == getattr(operators.packed, name).tobytes()
    assert {name: settings[name] for name in SETTINGS} == SETTINGS
    forest = Forest.of_trees(columns(TREES), operators.rules)
    assert tree_weights(again, forest).log.tolist() == tree_weights(operators, forest).log.tolist()


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (saved(tmp_path / name).read_bytes() for name in "ab")
    assert first == second
    arrays, settings = load_model(tmp_path / "a", "toy")
    shuffled = dict(reversed(arrays.items())), dict(reversed(settings.items()))
    save_model(tmp_path / "c", *shuffled)
    assert (tmp_path / "c").read_bytes() == first


def test_arrays_of_any_layout_and_size_come_back(tmp_path: Path) -> None:
    arrays = {
        "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "strided": np.arange(10)[::2],
        "empty": np.empty((0, 3)),
        "mask": np.array([True, False]),
    }
    save_model(tmp_path / "m", arrays, {"kind": "k"})
    again, _ = load_model(tmp_path / "m", "k")
    assert again.keys() == arrays.keys()
    for name, array in arrays.items():
        assert again[name].dtype == array.dtype
        assert again[name].tolist() == array.tolist()


def test_a_saved_model_replaces_the_old_one_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    save_model(tmp_path / "m", {}, {"kind": "old"})
    saved(tmp_path / "m")
    assert load_model(tmp_path / "m", "toy")[1]["kind"] == "toy"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_model_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    assert saved(tmp_path / "m").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_path_in_the_working_folder_needs_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    save_model("m", {}, {"kind": "k"})
    assert load_model("m", "k")[0] == {}


# ---------------------------------------------------------------------------------------------------------------------
# What fails leaves no trace


class _FullDisk(OSError):
    pass


@pytest.mark.parametrize("step", ["write", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved(tmp_path / "m").read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise _FullDisk("no space left on device")

    if step == "replace":
        monkeypatch.setattr(os, "replace", fail)
    else:
        opened = Path.open

        def full(*args: Any) -> Any:
            file = opened(*args, buffering=0)
            file.write(b"half")

            class Full:
                write = staticmethod(fail)

                def __enter__(self) -> Full:
                    return self

                def __exit__(self, *_: object) -> None:
                    file.close()

            return Full()

        monkeypatch.setattr(Path, "open", full)
    with pytest.raises(_FullDisk) as raised:
        save_model(tmp_path / "m", {"x": np.arange(3)}, {"kind": "new"})
    monkeypatch.undo()
    assert raised.value.filename == str(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_settings_that_json_cannot_hold_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        save_model(tmp_path / "m", {}, {"kind": {1, 2}})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="folder does not exist"):
        save_model(tmp_path / "nowhere" / "m", {}, {"kind": "k"})


def test_permissions_are_those_of_any_new_file_or_of_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    new = saved(tmp_path / "m")
    assert new.stat().st_mode == (tmp_path / "other").stat().st_mode
    new.chmod(0o640)
    assert saved(new).stat().st_mode & 0o777 == 0o640


def test_the_permissions_of_other_files_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changing the process's umask, even for a moment, changes the files that other threads create."""
    masks: list[int] = []
    monkeypatch.setattr(os, "umask", masks.append)
    saved(tmp_path / "m")
    assert masks == []


def test_words_of_broken_text_come_back(tmp_path: Path) -> None:
    words = [os.fsdecode(b"caf\xe9")]
    save_model(tmp_path / "m", {}, {"kind": "k", "words": words})
    assert load_model(tmp_path / "m", "k")[1]["words"] == words


# ---------------------------------------------------------------------------------------------------------------------
# Damage and malice


def check(path: Path) -> bool:
    """Load and use a file; False if it is refused with ModelFileError.  Whatever else happens is a failure."""
    try:
        arrays, _ = load_model(path, "toy")
        operators = operators_from("latent", arrays)
    except ModelFileError:
        return False
    with np.errstate(all="ignore"):  # numbers may have become huge
        use(operators)
    return True


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    content = saved(tmp_path / "m").read_bytes()
    short = tmp_path / "short"
    for end in range(len(content)):
        short.write_bytes(content[:end])
        with pytest.raises(ModelFileError):
            load_model(short, "toy")


def test_trailing_bytes_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "m")
    path.write_bytes(path.read_bytes() + b"\0")
    assert not check(path)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file to damage."""
    return saved(tmp_path_factory.mktemp("damage") / "m")


@pytest.fixture(scope="module")
def whole(scratch: Path) -> bytes:
    return scratch.read_bytes()


@given(flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=3))
@settings(max_examples=1000)
def test_flipped_bytes_are_refused_or_leave_a_valid_model(
    scratch: Path, whole: bytes, flips: list[tuple[float, int]]
) -> None:
    content = bytearray(whole)
    for at, mask in flips:
        content[int(at * len(content))] ^= mask
    scratch.write_bytes(bytes(content))
    check(scratch)


def altered(**changes: Any) -> dict[str, np.ndarray]:
    """The arrays of the toy model with some replaced, or dropped if None."""
    arrays = arrays_of("latent", toy())
    for name, change in changes.items():
        old = arrays.pop(f"latent.{name}")
        new = change(old.copy()) if callable(change) else change
        if new is not None:
            arrays[f"latent.{name}"] = new
    return arrays


def put(at: Any, value: float) -> Any:
    def change(array: np.ndarray) -> np.ndarray:
        array[at] = value
        return array

    return change


HOSTILE = {
    "a symbol beyond the last in a binary rule": {"binary_rules": put((0, 1), 3)},
    "a negative symbol in a binary rule": {"binary_rules": put((0, 0), -1)},
    "a symbol beyond the last in a unary rule": {"unary_rules": put((0, 1), 3)},
    "a negative symbol in a unary rule": {"unary_rules": put((0, 1), -1)},
    "a symbol beyond the last in a leaf rule": {"leaf_rules": put((0, 0), 3)},
    "a negative terminal": {"leaf_rules": put((0, 1), -1)},
    "no states": {"states": put(0, 0)},
    "more states than columns": {"states": put(0, 5)},
    "negative states": {"states": put(0, -1)},
    "other states than the tensors have": {"states": put(0, 2)},
    "negative terms": {"terms": put(0, -1)},
    "more terms than numbers": {"terms": put(0, 10**6)},
    "fewer terms than numbers": {"terms": lambda terms: terms * 0 + 1},
    "an offset before the start": {"offset": put(0, -8)},
    "an offset beyond the end": {"offset": put(-1, 10**6)},
    "offsets out of order": {"offset": lambda offset: offset[::-1].copy()},
    "an offset too many": {"offset": lambda offset: np.append(offset, offset[-1])},
    "a number missing": {"data": lambda data: data[:-1]},
    "a number too many": {"data": lambda data: np.append(data, 0.0)},
    "numbers in a table": {"data": lambda data: data.reshape(1, -1)},
    "not a number": {"data": put(0, np.nan)},
    "an infinite leaf": {"leaf": put((0, 0), np.inf)},
    "an infinite root": {"root": put((0, 0), -np.inf)},
    "not a number in a unary rule": {"unary": put((0, 0, 0), np.nan)},
    "small floats": {"data": lambda data: data.astype(np.float32)},
    "small integers": {"states": lambda states: states.astype(np.int32)},
    "unsigned integers": {"terms": lambda terms: terms.astype(np.uint64)},
    "floats for symbols": {"leaf_rules": lambda rules: rules.astype(float)},
    "a row missing from the leaves": {"leaf": lambda leaf: leaf[:-1]},
    "a row missing from the roots": {"root": lambda root: root[:-1]},
    "a column missing from the roots": {"root": lambda root: root[:, :-1]},
    "a root for no symbol": {"root": lambda root: root[0]},
    "a single root": {"root": np.float64(0.5).reshape(())},
    "square leaf rules": {"leaf_rules": lambda rules: np.c_[rules, rules[:, :1]]},
    "flat binary rules": {"binary_rules": lambda rules: rules.ravel()},
    "no binary rules": {"binary_rules": np.empty((0, 3), dtype=np.int64)},
    "a scalar for a table": {"binary_rules": np.int64(3).reshape(())},
    "operators of another size": {"unary": lambda unary: unary[:, :-1]},
} | {f"{name} missing": {name: None} for name in PackedOperators._fields}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_arrays_are_refused(what: str, tmp_path: Path) -> None:
    save_model(tmp_path / "m", altered(**HOSTILE[what]), SETTINGS)
    assert not check(tmp_path / "m")


@pytest.mark.parametrize("terms", [2**62, 2**62 + 1])
def test_a_number_of_terms_that_overflows_is_refused(terms: int) -> None:
    """(1 + 1 + 2) · 2^62 = 0 modulo 2^64, and (1 + 1 + 2) · (2^62 + 1) = 4."""
    size = 4 * terms % 2**64
    packed = PackedOperators(
        states=np.array([1, 2]),
        root=np.zeros((2, 2)),
        leaf=np.zeros((0, 2)),
        unary=np.zeros((0, 2, 2)),
        binary_rules=np.array([[0, 0, 1]]),
        unary_rules=np.zeros((0, 2), dtype=np.int64),
        leaf_rules=np.zeros((0, 2), dtype=np.int64),
        offset=np.array([0, size]),
        terms=np.array([terms]),
        data=np.zeros(size),
    )
    with pytest.raises(ModelFileError):
        operators_from("p", {f"p.{name}": array for name, array in packed._asdict().items()})


def raw(path: Path, settings: str, tensors: dict[str, Any], body: bytes = b"") -> Path:
    """A safetensors file written by hand."""
    header = json.dumps({"__metadata__": {"model": settings}, **tensors}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + body)
    return path


GOOD = json.dumps({"format": "spectral_latent", "version": 4, "kind": "toy"})


def test_a_file_written_by_hand_loads(tmp_path: Path) -> None:
    tensors = {"x": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}}
    arrays, _ = load_model(raw(tmp_path / "m", GOOD, tensors, struct.pack("<d", 0.25)), "toy")
    assert arrays["x"].tolist() == [0.25]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '"text"',
        "{}",
        '{"format":"spectral_latent"}',
        '{"format":"spectral_latent","version":3,"kind":"toy"}',
        '{"format":"spectral_latent","version":4,"kind":"other"}',
        '{"format":"other","version":4,"kind":"toy"}',
        '{"format":"spectral_latent","version":"4","kind":"toy"}',
    ],
)
def test_settings_of_another_kind_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        load_model(raw(tmp_path / "m", text, {}), "toy")


def test_settings_nested_beyond_measure_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        load_model(raw(tmp_path / "m", "[" * 200_000, {}), "toy")


@pytest.mark.parametrize(("dtype", "size"), [("BF16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1)])
def test_numbers_that_numpy_lacks_are_refused(dtype: str, size: int, tmp_path: Path) -> None:
    tensors = {"x": {"dtype": dtype, "shape": [1], "data_offsets": [0, size]}}
    with pytest.raises(ModelFileError):
        load_model(raw(tmp_path / "m", GOOD, tensors, b"\0" * size), "toy")


def test_what_is_no_model_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("(S (NP I) (VP am))\n" * 20)
    for name in ("nothing", "empty", "text", "."):
        with pytest.raises(ModelFileError, match=name.replace(".", r"\S+")):
            load_model(tmp_path / name, "toy")
    with pytest.raises(ModelFileError, match="toy model, where a other model is needed"):
        load_model(saved(tmp_path / "m"), "other")


@pytest.mark.parametrize("kind", [KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError])
def test_what_goes_wrong_with_the_parts_names_the_file(kind: type[Exception], tmp_path: Path) -> None:
    path = saved(tmp_path / "m")
    with pytest.raises(ModelFileError) as raised, opened_model(path, "toy") as parts:
        assert parts[1]["words"] == SETTINGS["words"]
        raise kind("odd")
    assert str(raised.value) == f"{path}: the model is damaged ({kind('odd')}); train it again"


def test_errors_of_model_files_name_the_file_once(tmp_path: Path) -> None:
    path = saved(tmp_path / "m")
    with pytest.raises(ModelFileError) as raised, opened_model(path, "toy") as (arrays, _):
        operators_from("plain", arrays)
    assert str(raised.value).startswith(f"{path}: the operators `plain` of the model are damaged")
    with pytest.raises(ModelFileError) as raised, opened_model(path, "other"):
        pytest.fail("a model of another kind was opened")
    assert str(raised.value) == f"{path}: a toy model, where a other model is needed"


def test_other_errors_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), opened_model(saved(tmp_path / "m"), "toy"):
        _ = 1 // 0


@pytest.mark.parametrize(
    "wrong", [np.zeros((2, 1)), np.float64(1.0), np.arange(3), np.zeros(2, dtype=np.float32), np.array([1.0, np.inf])]
)
def test_what_is_no_column_of_finite_numbers_is_refused(wrong: Any) -> None:
    assert column_from("x", {"x": np.zeros(0)}).shape == (0,)
    with pytest.raises(ValueError, match="x is not a column of finite numbers"):
        column_from("x", {"x": np.asarray(wrong)})


# ---------------------------------------------------------------------------------------------------------------------
# Settings


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


@given(
    st.builds(
        Settings,
        states=st.integers(),
        smoothing=st.none() | st.floats(allow_nan=False, allow_infinity=False),
        which=st.sampled_from(["all", "simple"]),
        on=st.booleans(),
        name=st.text(),
        inner=st.builds(Inner, depth=st.integers()),
    )
)
def test_options_come_back_from_json(options: Settings) -> None:
    again = options_from(Settings, json.loads(json.dumps(asdict(options))))
    assert again == options
    assert type(again.smoothing) in (float, type(None))


def test_a_whole_number_may_stand_for_a_float_and_nothing_else_may() -> None:
    assert options_from(Settings, asdict(Settings()) | {"smoothing": 3}) == Settings(smoothing=3.0)


@pytest.mark.parametrize(
    "change",
    [
        {"states": 1.0},
        {"states": True},
        {"states": "16"},
        {"states": None},
        {"smoothing": "30"},
        {"smoothing": False},
        {"which": "some"},
        {"which": None},
        {"on": 1},
        {"name": 3},
        {"inner": {}},
        {"inner": {"depth": "1"}},
        {"inner": None},
        {"another": 1},
    ],
    ids=str,
)
def test_options_of_another_type_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ModelFileError):
        options_from(Settings, asdict(Settings()) | change)


@pytest.mark.parametrize("values", [None, [], 3, "text", {}, {"states": 1}])
def test_options_that_are_missing_are_refused(values: Any) -> None:
    with pytest.raises(ModelFileError):
        options_from(Settings, values)


@pytest.mark.parametrize("states", [0, 4.0, None])
def test_a_refused_setting_is_named_once_with_the_remedy(states: Any) -> None:
    with pytest.raises(ModelFileError) as raised:
        options_from(EstimatorOptions, asdict(EstimatorOptions()) | {"n_states": states})
    wanted = "EstimatorOptions.n_states must be an integer of at least 1"
    assert str(raised.value) == f"{wanted}, not {states!r}; train the model again"


def test_a_refused_setting_of_inner_options_is_named_once() -> None:
    with pytest.raises(ModelFileError) as raised:
        options_from(Settings, asdict(Settings()) | {"inner": {"depth": "1"}})
    assert str(raised.value) == "Inner.depth must be an integer, not '1'; train the model again"


def test_missing_and_unknown_settings_are_named() -> None:
    values = asdict(Settings())
    del values["which"]
    with pytest.raises(ModelFileError, match="Settings are missing or unknown: which, wich"):
        options_from(Settings, values | {"wich": "all"})
