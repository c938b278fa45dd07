"""Surprisal of the regions of a table is that of their words."""

from typing import Any

import pytest

from spectral_latent import load
from spectral_latent.constituency import ConstituencyModel
from spectral_latent.model import surprisal_of_regions

ITEMS = [
    {"item": "1", "condition": "reduced", "text": "The horse raced"},
    {"item": "1", "condition": "reduced", "text": ""},
    {"item": "1", "condition": "reduced", "text": " past the barn, "},
    {"item": "1", "condition": "reduced", "text": "fell."},
    {"item": "1", "condition": "full", "text": "The horse that was raced past the barn, fell."},
    {"item": "2", "condition": "full", "text": "He can't go xyzzying. She can"},
    {"item": "2", "condition": "full", "text": "not!"},
]
SUMS = ("surprisal", "lexical", "syntactic")


@pytest.fixture(scope="module")
def model() -> ConstituencyModel:
    return load("en")


def rows_of(model: ConstituencyModel, items: list[dict[str, str]], *sentence: str) -> list[dict[str, Any]]:
    return list(surprisal_of_regions(items, "text", model.surprisal, model.tokenisation, sentence))


def test_regions_of_a_sentence_are_its_parts(model: ConstituencyModel) -> None:
    rows = rows_of(model, ITEMS, "item", "condition")
    assert [{name: row[name] for name in item} for row, item in zip(rows, ITEMS, strict=True)] == ITEMS
    assert [row["words"] for row in rows] == [3, 0, 4, 2, 11, 8, 2]
    assert [row["unseen"] for row in rows][5] == 1
    text = "The horse raced past the barn, fell."
    assert [text[row["first"] : row["end"]] for row in rows[:4]] == ["The horse raced", "", "past the barn,", "fell."]
    whole = model.surprisal(["The", "horse", "raced", "past", "the", "barn", ",", "fell", "."])
    for name, column in zip(SUMS, (whole.total, whole.lexical, whole.syntactic), strict=True):
        expected = [column[:3].sum(), 0.0, column[3:7].sum(), column[7:].sum()]
        assert [row[name] for row in rows[:4]] == pytest.approx(expected)
    # Two sentences: the second begins anew, and its last word begins in the last region.
    first, second = (model.surprisal(words.split()) for words in ("He ca n't go xyzzying .", "She can not !"))
    assert rows[5]["surprisal"] == pytest.approx(first.total.sum() + second.total[:2].sum())
    assert rows[6]["surprisal"] == pytest.approx(second.total[2:].sum())


ADDED = ("position", "token", "first", "end", "words", "unseen", *SUMS)


@pytest.mark.parametrize("row", [{"item": 1}, *({"text": "It rains.", name: 2} for name in ADDED), {"text": 2.5}])
def test_wrong_tables(model: ConstituencyModel, row: dict[str, Any]) -> None:
    """Without the column, with one that would be overwritten, and without a text in it."""
    with pytest.raises((ValueError, TypeError)):
        rows_of(model, [{"text": "It rains."}, row])
