"""A few cases of everything that `make fuzz` runs at length."""

from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz import models, texts

SEED = 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("form", texts.FORMATS)
def test_changed_texts_are_read_or_refused(form: str) -> None:
    assert list(texts.FORMATS[form].read(texts.FORMATS[form].text, "unchanged"))
    found = Counter(texts.check(form, case, SEED) for case in range(100))
    assert found["refused"] and found["read"]


@pytest.mark.slow  # tests of conformance damage each part of each kind in turn
@pytest.mark.parametrize("kind", models.KINDS)
def test_damaged_models_are_refused_or_give_answers(kind: str, folder: Path) -> None:
    found = Counter(models.check(kind, case, SEED, folder) for case in range(15))
    assert found["refused"] and found["used"]
