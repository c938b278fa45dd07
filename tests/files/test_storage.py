"""Model files: every bit comes back, and no damage does harm."""

import errno
import hashlib
import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from unittest.mock import Mock

import numpy as np
import pytest
from safetensors import safe_open

from spectral_latent._version import TESTED, untested
from spectral_latent.files import (
    MAX_BYTES,
    Axes,
    CompactOperators,
    ModelFileError,
    load_model,
    open_model,
    read,
    round_operators,
    save_model,
    write,
)
from spectral_latent.inference import inside, marginals, outside
from spectral_latent.operators import ObservableOperators, Tensors
from spectral_latent.trees import FloatArray, Forest
from tests.documents import limit_of
from tests.oracles import columns, random_lpcfg, random_numbers, rules_of

TREES = [(0, (1, (2, 0), (2, 1)), (0, (2, 1))), (0, (0, (2, 0)), (0, (2, 0))), (1, (2, 1), (1, (2, 0), (0, 2)))]
STATES = [3, 2, 4]
SETTINGS = {"kind": "toy", "words": ["a", "Ω", "東", "'\"\\\n"], "number": 0.1, "nothing": None}


def toy() -> ObservableOperators:
    return random_numbers(np.random.default_rng(0), STATES, rules_of(TREES)).operators()


class Toy(NamedTuple):
    """A model of operators alone."""

    latent: CompactOperators


def toy_arrays() -> dict[str, np.ndarray]:
    return write(Toy(CompactOperators.of(toy())))[0]


def operators_from(arrays: Mapping[str, np.ndarray], *, probabilities: bool = False) -> CompactOperators:
    return read(Toy, arrays, {"latent": {"probabilities": probabilities}}).latent


def saved(path: Path) -> Path:
    save_model(path, toy_arrays(), SETTINGS)
    return path


def use(operators: ObservableOperators) -> None:
    """Run compiled code over every operator; an index out of bounds would be found or would crash."""
    skeletal = columns(TREES)
    forest = Forest.of_trees(skeletal, skeletal.rules)
    if operators.n_symbols == 3 and operators.rules.equals(skeletal.rules):
        inner = inside(operators, forest)
        marginals(operators, forest, inner, outside(operators, forest, inner))


# What is written comes back


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
        "negative": np.array([-1, 3]),
        "large": np.array([2**32, 0]),
        "half": np.array([0.5, -0.0, 65504.0], dtype=np.float32),
        "not half": np.array([0.1, 1e300]),
        "single": np.array([0.1], dtype=np.float32).astype(float),
        "one number": np.float64(0.25).reshape(()),
        "text": np.frombuffer(b"text", dtype=np.uint8),
        "text again": np.frombuffer(b"text", dtype=np.uint8),
        "other type": np.array([116, 101, 120, 116]),
        "empty": np.empty((0, 3)),
        "mask": np.array([True, False]),
    }
    save_model(tmp_path / "m", arrays, {"kind": "k"})
    again, _ = load_model(tmp_path / "m", "k")
    assert again.keys() == arrays.keys()
    for name, array in arrays.items():
        assert again[name].dtype == array.dtype
        assert again[name].tobytes() == np.ascontiguousarray(array).tobytes()


def test_numbers_are_stored_in_the_smallest_type_and_equal_arrays_once(tmp_path: Path) -> None:
    ones = np.ones(100_000)
    random = np.random.default_rng(0).integers(0, 256, 100_000)
    save_model(tmp_path / "m", {"a": ones, "b": ones.copy(), "c": random, "d": random}, {"kind": "k"})
    with safe_open(tmp_path / "m", framework="np") as file:
        stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert sorted(stored) == ["a", "c"]
    assert {array.dtype.name for array in stored.values()} == {"uint8"}
    assert len(zlib.decompress(stored["c"].tobytes())) == 100_000
    assert (tmp_path / "m").stat().st_size < 102_000


# What fails leaves no trace


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    before = saved(tmp_path / "m").read_bytes()
    for owner, name in ((os, "replace"), (os, "fsync"), (Path, "open")):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, Mock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
            with pytest.raises(OSError, match="No space left") as raised:
                save_model(tmp_path / "m", {"x": np.arange(3)}, {"kind": "new"})
        assert raised.value.filename == str(tmp_path / "m")
        assert (tmp_path / "m").read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_symbolic_link_stays_and_its_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    link = tmp_path / "link"
    link.symlink_to(Path("models", "m"))
    for _ in range(2):
        saved(link)
        assert link.is_symlink()
        assert [path.name for path in (tmp_path / "models").iterdir()] == ["m"]
    assert load_model(link, "toy")[1] == load_model(tmp_path / "models" / "m")[1]


def test_a_private_model_is_never_readable_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "m")
    path.chmod(0o600)
    modes: list[int] = []
    sync = os.fsync

    def watched(number: int) -> None:
        modes.append(os.fstat(number).st_mode & 0o777)
        sync(number)

    monkeypatch.setattr(os, "fsync", watched)
    saved(path)
    assert modes[0] == path.stat().st_mode & 0o777 == 0o600
    assert len(modes) == 2  # the file before it is renamed, then the folder
    (tmp_path / "other").touch()
    assert saved(tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.skipif(os.name != "posix", reason="elsewhere, nothing tells whether a process is there")
def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys, numpy as np\n"
        "from spectral_latent.files import save_model\n"
        "os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)\n"
        "save_model(sys.argv[1], {'x': np.ones(9)}, {'kind': 'toy'})"
    )
    before = saved(tmp_path / "m").read_bytes()
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path / "m")], check=False).returncode == -9
    assert (tmp_path / "m").read_bytes() == before
    (left,) = [path for path in tmp_path.iterdir() if path.name != "m"]
    alive = left.with_name(left.name.replace(left.name.split("-")[2], str(os.getpid())))
    alive.touch()
    saved(tmp_path / "m")
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "m", alive])


# Damage and malice


def check(path: Path) -> bool:
    """Load and use a file; False if it is refused with ModelFileError.  Whatever else happens is a failure."""
    try:
        with open_model(path, "toy") as (arrays, _):
            operators = operators_from(arrays).operators
    except ModelFileError:
        return False
    with np.errstate(all="ignore"):  # numbers may have become huge
        use(operators)
    return True


def test_truncations_and_a_further_byte_are_refused(tmp_path: Path) -> None:
    content = saved(tmp_path / "m").read_bytes()
    short = tmp_path / "short"
    for damaged in (content + b"\0", content[:-1], *(content[:end] for end in range(0, len(content), 31))):
        short.write_bytes(damaged)
        with pytest.raises(ModelFileError):
            load_model(short, "toy")


def test_a_flipped_bit_of_any_byte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m"
    save_model(path, {"b": np.array([True]), "x": np.array([0.0, 1.0])}, {"kind": "toy", "words": ["é", 0.5, None]})
    content = path.read_bytes()
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        with pytest.raises(ModelFileError):
            load_model(path)


def altered(**changes: Any) -> dict[str, np.ndarray]:
    """The arrays of the toy model with some replaced."""
    arrays = toy_arrays()
    for name, change in changes.items():
        old = arrays[f"latent.{name}"]
        arrays[f"latent.{name}"] = change(old.copy()) if callable(change) else change
    return arrays


def put(at: Any, value: float) -> Any:
    def change(array: np.ndarray) -> np.ndarray:
        array[at] = value
        return array

    return change


HOSTILE = {
    "a symbol beyond the last in a binary rule": {"binary_rules": put((0, 1), 3)},
    "leaf rules out of order": {"leaf_rules": lambda rules: rules[::-1].copy()},
    "a leaf rule that comes twice": {"leaf_rules": lambda rules: rules[[0, *range(len(rules) - 1)]]},
    "binary rules out of order": {"binary_rules": lambda rules: rules[::-1].copy()},
    "a number beyond all measure": {"data_share": put(0, 1e200)},
    "a factor beyond all measure": {"data_factor": put(0, 1e200)},
    "a product beyond all measure": {"data_share": put(0, 1e80), "data_factor": put(0, 1e80)},
    "a negative factor": {"leaf_factor": put(0, -1.0)},
    "a vector that no rule has": {"leaf_vector": lambda vector: vector + 1},
    "a vector of another symbol": {"leaf_vector": lambda vector: vector * 0},
    "a root beyond its states": {"root": put((1, -1), 0.5)},
    "no states": {"states": put(0, 0)},
    "more states than columns": {"states": put(0, 5)},
    "other states than the tensors have": {"states": put(0, 2)},
    "fewer terms than numbers": {"terms": lambda terms: terms * 0 + 1},
    "a column missing from the roots": {"root": lambda root: root[:, :-1]},
    "no binary rules": {"binary_rules": np.empty((0, 3), dtype=np.int64)},
}  # arrays of other shapes, types and sizes, with numbers beyond all, or missing: tests/conformance, for all models


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_arrays_are_refused(what: str, tmp_path: Path) -> None:
    save_model(tmp_path / "m", altered(**HOSTILE[what]), SETTINGS)
    assert not check(tmp_path / "m")


def raw(path: Path, settings: str, tensors: dict[str, Any], body: bytes = b"") -> Path:
    """A safetensors file written by hand, with the digest as the documents have it."""
    about = json.dumps([[name, {"U8": "|u1"}.get(x["dtype"]), x["shape"]] for name, x in tensors.items()])
    digest = hashlib.blake2b((settings + about.replace(" ", "")).encode() + body, digest_size=32).hexdigest()
    sealed = settings.replace('"format"', f'"digest":"{digest}","format"', 1)
    header = json.dumps({"__metadata__": {"model": sealed}, **tensors}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + body)
    return path


GOOD = '{"arrays":{},"copies":{},"format":"spectral_latent","kind":"toy","library":"0.1.0","version":8}'


def by_hand(path: Path, entry: Any, body: bytes, copies: Any = None) -> Path:
    """A file whose table of arrays has this entry for the compressed numbers `body`."""
    table = json.dumps({"x": entry}).replace(" ", "")
    settings = GOOD.replace('"arrays":{}', f'"arrays":{table}').replace("{}", json.dumps(copies or {}).replace(" ", ""))
    return raw(path, settings, {"x": {"dtype": "U8", "shape": [len(body)], "data_offsets": [0, len(body)]}}, body)


QUARTERS = zlib.compress(bytes([0, 0, 0x34, 0x38]))  # 0.25 and 0.5 as float16, the low bytes first


def test_a_file_written_by_hand_loads(tmp_path: Path) -> None:
    arrays, _ = load_model(by_hand(tmp_path / "m", ["float64", "float16", [2]], QUARTERS, {"y": "x"}), "toy")
    assert arrays["x"].tolist() == arrays["y"].tolist() == [0.25, 0.5]
    assert arrays["x"].dtype == np.float64


@pytest.mark.parametrize(
    ("entry", "body", "copies"),
    [
        (["float64", "float16", [3]], QUARTERS, {}),
        (["float64", "float16", [-2]], QUARTERS, {}),
        (["float64", "float16", [-1, -2]], QUARTERS, {}),
        (["float64", "float16", [True, 2]], QUARTERS, {}),
        (["float64", "float16", [1 << 40]], QUARTERS, {}),
        (["object", "object", [1]], QUARTERS, {}),
        (["float64", "<f2", [2]], QUARTERS, {}),
        (["float64", "float16"], QUARTERS, {}),
        (None, QUARTERS, {}),
        (["float64", "float16", [2]], QUARTERS[:-1], {}),
        (["float64", "float16", [2]], QUARTERS + b"0", {}),
        (["float64", "float16", [2]], QUARTERS, {"x": "x"}),
        (["float64", "float16", [2]], QUARTERS, {"y": "z"}),
        (["float64", "float16", [2]], QUARTERS, ["x"]),
    ],
)
def test_numbers_that_do_not_fit_the_table_are_refused(entry: Any, body: bytes, copies: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="m: the model is damaged"):
        load_model(by_hand(tmp_path / "m", entry, body, copies), "toy")


def test_shapes_are_compared_before_anything_is_decompressed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pair(NamedTuple):
        one: Annotated[FloatArray, Axes("n")]
        other: Annotated[FloatArray, Axes("n")]

    path = tmp_path / "m"
    save_model(path, {"one": np.ones(3), "other": np.ones((3, 1))}, {"kind": "toy"})
    monkeypatch.setattr("spectral_latent.files.storage._decompress", lambda *_: pytest.fail("decompressed"))
    with pytest.raises(ModelFileError, match="the array other has the shape"), open_model(path) as (arrays, _):
        read(Pair, arrays, {})
    save_model(path, {"one": np.ones(3), "other": np.ones(4)}, {"kind": "toy"})
    with pytest.raises(ModelFileError, match="the array other has the shape"), open_model(path) as (arrays, _):
        read(Pair, arrays, {})


def test_a_model_may_be_as_large_as_its_reader_allows(tmp_path: Path) -> None:
    bomb = by_hand(tmp_path / "m", ["int64", "uint8", [1 << 24]], zlib.compress(bytes(1 << 24), 1))
    with pytest.raises(ModelFileError, match=rf"m: the model needs {8 << 24} bytes .* larger max_bytes"):
        load_model(bomb, "toy", max_bytes=8 << 20)
    saved(tmp_path / "toy")
    needed = sum({array.tobytes(): array.nbytes for array in load_model(tmp_path / "toy")[0].values()}.values())
    assert load_model(tmp_path / "toy", max_bytes=needed)
    with pytest.raises(ModelFileError, match="may have"):
        load_model(tmp_path / "toy", max_bytes=needed - 1)


@pytest.mark.parametrize(("name", "factor"), [("leaf_factor", 0.0), ("data_factor", 0.9), ("unary", 1e15)])
def test_rules_that_are_no_distribution_are_refused(name: str, factor: float) -> None:
    rules = {"leaf": [(0, 0), (1, 1), (2, 2)], "unary": [(1, 2)], "binary": [(0, 1, 2), (2, 2, 1)]}
    operators = replace(random_lpcfg(np.random.default_rng(0), STATES, rules).operators(), probabilities=True)
    arrays, _ = write(Toy(CompactOperators.of(round_operators(operators))))
    assert operators_from(arrays, probabilities=True).operators.probabilities
    changed = {**arrays, f"latent.{name}": arrays[f"latent.{name}"] * factor}
    with pytest.raises(ValueError, match="do not sum to one"):
        operators_from(changed, probabilities=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        '{"format":"spectral_latent","kind":"toy","version":8}',
        '{"format":"spectral_latent","kind":"toy","library":"0.1.0","version":7}',
        '{"format":"spectral_latent","kind":"other","library":"0.1.0","version":8}',
        '{"format":"other","kind":"toy","library":"0.1.0","version":8}',
        '{"format":"spectral_latent", "kind":"toy","library":"0.1.0","version":8}',
        '{"format":"spectral_latent","kind":"toy","number":NaN,"version":8}',
        "[" * 200_000,
    ],
)
def test_settings_of_another_kind_are_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        load_model(raw(tmp_path / "m", text, {}), "toy")


@pytest.mark.parametrize("kind", [KeyError, OverflowError, RecursionError, MemoryError])
def test_what_goes_wrong_with_the_parts_names_the_file(kind: type[Exception], tmp_path: Path) -> None:
    path = saved(tmp_path / "m")
    with pytest.raises(ModelFileError) as raised, open_model(path, "toy") as parts:
        assert parts[1]["words"] == SETTINGS["words"]
        raise kind("odd")
    assert str(raised.value).startswith(f"{path}: the model is damaged")


# Crafted files and objects


def crafted(n_rules: int, size: int, terms: int) -> dict[str, np.ndarray]:
    """Arrays of binary rules whose sizes are zero modulo 2^64."""
    symbols = np.array([(a, b, c) for a in range(3) for b in range(3) for c in range(3)])[:n_rules]
    arrays = {
        "states": np.full(3, size),
        "root": np.zeros((3, size)),
        "unary": np.zeros((0, size, size)),
        "binary_rules": symbols,
        "unary_rules": np.zeros((0, 2), dtype=np.int64),
        "leaf_rules": np.zeros((0, 2), dtype=np.int64),
        "leaf_factor": np.zeros(0),
        "leaf_vector": np.zeros(0, dtype=np.int64),
        "leaf_share": np.zeros(0),
        "terms": np.full(n_rules, terms),
        "data_factor": np.ones(n_rules * (3 if terms else 1)),
        "data_share": np.zeros(0),
    }
    return {f"latent.{name}": array for name, array in arrays.items()}


@pytest.mark.parametrize(("n_rules", "size", "terms"), [(4, 1, 2**62), (16, 2**20, 0)])
def test_sizes_that_overflow_together_are_refused(n_rules: int, size: int, terms: int, tmp_path: Path) -> None:
    save_model(tmp_path / "m", crafted(n_rules, size, terms), SETTINGS)
    assert not check(tmp_path / "m")
    shapes = np.full((n_rules, 3), size)
    with pytest.raises(ValueError, match=r"do not fill an array of 0|terms of tensors"):
        Tensors(shapes, np.full(n_rules, terms), np.zeros(0))


def test_a_model_that_a_package_newer_than_tested_cannot_read_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path / "m")
    untested.cache_clear()
    monkeypatch.setitem(TESTED, "numpy", "1.26")
    load_model(path)  # without a warning
    message = rf"cannot be read.*numpy {np.__version__}.*1\.26.*install"
    with pytest.raises(ModelFileError, match=message), open_model(path):
        raise TypeError("numpy has changed")
    untested.cache_clear()
    monkeypatch.setitem(TESTED, "numpy", np.__version__)
    with pytest.raises(ModelFileError, match="damaged"), open_model(path):
        raise TypeError("numpy has changed")


@pytest.mark.parametrize("name", ["arrays", "copies", "digest"])
def test_settings_of_the_file_itself_cannot_be_given(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"the file has a setting {name} of its own"):
        save_model(tmp_path / "m", {}, {"kind": "toy", name: 1})
    assert not (tmp_path / "m").exists()


def test_the_largest_memory_is_that_of_the_page() -> None:
    assert limit_of("arrays of a model in memory").startswith(f"{MAX_BYTES / 2**30:g} GB, ")
