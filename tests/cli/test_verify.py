"""`verify`: models that are trained again, and what is refused."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_latent import load
from spectral_latent.files import load_model, save_model

Run = Callable[..., Any]

ROW = "{}\t{}\t_\t{}\t{}\t_\t{}\t{}\t_\t_\n"
DOGS = ROW.format(1, "Dogs", "NOUN", "NNS", 2, "nsubj") + ROW.format(2, "bark", "VERB", "VBP", 0, "root") + "\n"


@pytest.fixture
def verify(run: Run) -> Callable[..., tuple[int, str, str]]:
    """Give the function that verifies a model, and returns the status, what was printed and the error."""

    def verified(*arguments: str | Path) -> tuple[int, str, str]:
        result = run("info", *arguments, "--verify", "-q")
        return result.exit_code, result.stdout, result.stderr

    return verified


Verify = Callable[..., tuple[int, str, str]]


def with_record(model: Path, file: Path, **changes: Any) -> Path:
    """Copy a model, and change its record."""
    arrays, settings = load_model(model)
    save_model(file, arrays, settings | {"record": settings["record"] | changes})
    return file


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("constituency", ["--n-states", "2", "--seed", "3"]),
        ("constituency", ["--preset", "accurate", "--n-states", "2"]),
        ("constituency", ["--estimator", "em"]),
        ("dependency", ["--column", "xpos"]),
        ("pipeline", ["--n-states", "2"]),
        ("tagger", ["--column", "xpos", "--estimator", "spectral"]),
        ("anchors", ["--n-states", "2", "--window", "2"]),
        ("hmm", ["--n-states", "2", "--weight", "2"]),
    ],
)
def test_every_training_of_the_command_line_can_be_done_again(
    run: Run, verify: Verify, treebank: Path, tmp_path: Path, kind: str, options: list[str]
) -> None:
    """From a source of another name in another folder."""
    source = tmp_path / "source"
    source.write_text(treebank.read_text() if kind == "constituency" else DOGS * 10)
    assert run("train", kind, source, "-o", tmp_path / "model", *options, "-q").exit_code == 0
    source.rename(tmp_path / "moved")
    arguments = (tmp_path / "model", tmp_path / "moved", "--jobs", "2")
    assert verify(*arguments) == (0, f"{tmp_path / 'model'}: trained again, the same model\n", "")


def test_the_sources_of_text_come_last(run: Run, verify: Verify, treebank: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.tok"
    text.write_text("They see it .\nThey sleep .\n")
    model = tmp_path / "model"
    assert run("train", "constituency", treebank, "-o", model, "--text", text, "-q").exit_code == 0
    assert verify(model, treebank, text) == (0, f"{model}: trained again, the same model\n", "")
    other = tmp_path / "other.tok"
    other.write_text("They see it .\n")
    assert "other content than source 2" in verify(model, treebank, other)[2]


def test_the_names_of_the_record_are_those_of_this_folder(
    run: Run, model: Path, treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(treebank.parent)
    result = run("info", model, "--verify")
    assert (result.exit_code, result.stdout) == (0, f"{model}: trained again, the same model\n")
    assert result.stderr.startswith("Training again: spectral-latent train constituency all.mrg --n-states 4\n")
    monkeypatch.chdir(tmp_path)
    result = run("info", model, "--verify")
    assert (result.exit_code, "all.mrg" in result.stderr) == (1, True)


def test_sources_of_other_content_are_named(verify: Verify, run: Run, taggings: Path, tmp_path: Path) -> None:
    """Before training, the second of two among them."""
    first, second, model = (tmp_path / name for name in ("first.tagged", "second.tagged", "model"))
    shutil.copy(taggings, first)
    second.write_text("Dogs/NNS bark/VBP\n")
    assert run("train", "tagger", first, second, "-o", model, "-q").exit_code == 0
    assert verify(model, first, second)[0] == 0
    second.write_text("Dogs/NNS barked/VBP\n")
    message = f"Error: {second}: other content than source 2 of the record, second.tagged\n"
    assert verify(model, first, second) == (1, "", message)
    status, _, error = verify(model, first)
    assert (status, "is made of 2 sources, not 1: first.tagged, second.tagged" in error) == (2, True)


def test_what_differs_is_told(verify: Verify, tagger: Path, taggings: Path, tmp_path: Path) -> None:
    arrays, settings = load_model(tagger)
    arrays["members.0.prior"][1] += 0.25
    save_model(tmp_path / "model", arrays, {**settings, "library": "0.0.1", "tagset": "upos"})
    status, printed, error = verify(tmp_path / "model", taggings)
    assert (status, error) == (1, "")
    first, *rest = printed.splitlines()
    assert first == f"{tmp_path / 'model'}: trained again, another model"
    assert rest == [
        f"  library: 0.0.1, and now {settings['library']}",
        "  tagset: 'upos', and now None",
        f"  members.0.prior: 1 of {len(arrays['members.0.prior'])} numbers differ, by up to 0.25",
    ]


def test_other_settings_and_shapes(verify: Verify, tagger: Path, taggings: Path, tmp_path: Path) -> None:
    training = {"kind": "tagger", "settings": {"n_states": 1, "seed": 8, "estimator": "em"}}
    status, printed, _ = verify(with_record(tagger, tmp_path / "model", training=training), taggings)
    _, *rest = printed.splitlines()
    assert (status, "  members 0 options estimator start seed: 0, and now 8" in rest) == (1, True)
    assert all(line.startswith("  ") for line in rest)


def test_no_more_than_twenty_differences_are_shown(
    verify: Verify, tagger: Path, taggings: Path, tmp_path: Path
) -> None:
    arrays, settings = load_model(tagger)
    further = {f"array {number}": np.zeros(1) for number in range(30)}
    save_model(tmp_path / "model", arrays | further, settings)
    status, printed, _ = verify(tmp_path / "model", taggings)
    *_, last_shown, last = printed.splitlines()
    assert (status, last_shown, last) == (
        1,
        "  array 26: (1,) float64, and now nothing",
        "  and 10 further differences",
    )
    assert len(printed.splitlines()) == 22


def test_models_without_a_record(verify: Verify, run: Run, model: Path, treebank: Path, tmp_path: Path) -> None:
    """Those saved in Python, and rerankers."""
    load(model).save(tmp_path / "model")
    lists = tmp_path / "lists"
    lists.write_text(run("rerank", "lists", model, treebank, "--n-best", "3").stdout)
    given = (lists, "--gold", treebank, "--model", model, "-o", tmp_path / "reranker", "-q")
    assert run("rerank", "train", *given).exit_code == 0
    for name in ("model", "reranker"):
        message = f"Error: {tmp_path / name}: no record of training, which only `spectral-latent train` writes\n"
        assert verify(tmp_path / name, treebank) == (1, "", message)
    assert verify(tmp_path / "none") == (1, "", f"Error: {tmp_path / 'none'}: No such file or directory\n")


@pytest.mark.parametrize(
    "changes",
    [
        {"training": {"kind": "sentiment", "settings": {}}},
        {"training": {"kind": "constituency", "settings": {"magic": True}}},
        {"training": {"kind": "constituency", "settings": {"run": None}}},
        {"training": {"kind": "constituency", "settings": {"preset": 7}}},
        {"training": {"kind": "constituency", "settings": {"n_states": "many"}}},
        {"training": {"kind": "constituency", "settings": {"text": 7}}},
        {"training": {"kind": "constituency", "settings": [1]}},
        {"training": None},
        {"sources": None},
        {"sources": ["all.mrg"]},
    ],
)
def test_records_of_no_use(verify: Verify, model: Path, treebank: Path, tmp_path: Path, changes: Any) -> None:
    changed = with_record(model, tmp_path / "model", **changes)
    status, _, error = verify(changed, treebank)
    assert (status, error.count("\n")) == (1, 1)
    assert error.startswith(f"Error: {changed}: this version cannot repeat the training of its record")
