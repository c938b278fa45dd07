"""The golden files of each version of the format are read, and their models answer as they did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_latent import load
from spectral_latent.files.storage import VERSION
from tests.conformance.model import contents, write
from tests.files.golden import FOLDER, MODELS, QUESTIONS, answers

FILES = sorted(path for path in FOLDER.glob("*/*") if path.suffix != ".json")


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=1e-6, atol=1e-9))
    return bool(one == other)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}, {path.name}")
def test_files_of_every_version_are_read_and_answer_as_they_did(path: Any) -> None:
    expected = json.loads((path.parent / "answers.json").read_text(encoding="utf-8"))[path.name]
    assert same(json.loads(json.dumps(answers(load(path)))), expected)


@pytest.mark.parametrize("kind", ["automaton", "hmm", "tagger"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_near_zero_give_numbers(kind: str, tmp_path: Path) -> None:
    """Models whose numbers are no probabilities may have any; a weight that is as good as zero divides nothing."""
    arrays, settings = contents(FOLDER / str(VERSION) / kind)
    n_asked = 0
    for name in (name for name, array in arrays.items() if array.dtype.kind == "f"):
        write(tmp_path / "model", arrays | {name: np.full_like(arrays[name], 5e-324)}, settings)
        try:
            model = load(tmp_path / "model")
            found = [list(model.following(words).values()) for words in QUESTIONS]
        except ValueError:  # such a model is refused, or its sequences never end
            continue
        n_asked += 1
        assert all(min(p) >= 0.0 and sum(p) <= 1.0 + 1e-9 for p in found), name
        assert not np.isnan(np.concatenate([model.entropy(words) for words in QUESTIONS])).any(), name
        if kind != "tagger":
            assert not np.isnan([model.surprisal(words).sentence for words in QUESTIONS]).any(), name
    assert n_asked >= 3


def test_the_present_version_has_a_golden_file_of_each_kind() -> None:
    assert {path.name for path in FILES if path.parent.name == str(VERSION)} == set(MODELS)
    assert sum(path.stat().st_size for path in FILES) < 200_000 * len({path.parent for path in FILES})
