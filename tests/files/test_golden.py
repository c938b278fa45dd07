"""The golden files of each version of the format are read, and their models answer as they did."""

import json
from typing import Any

import numpy as np
import pytest

from spectral_latent import load
from spectral_latent.files.storage import VERSION
from spectral_latent.kinds import KINDS
from tests.files.golden import FOLDER, MODELS, answers

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


def test_the_present_version_has_a_golden_file_of_each_kind() -> None:
    assert {path.name for path in FILES if path.parent.name == str(VERSION)} == set(MODELS) == {*KINDS, "reranker"}
    assert sum(path.stat().st_size for path in FILES) < 200_000 * len({path.parent for path in FILES})
