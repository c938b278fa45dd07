"""Surprisal of the regions of a table is that of their words."""

from __future__ import annotations

import math
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


def test_sentences_have_a_region_for_each_word_of_their_text(model: ConstituencyModel) -> None:
    (item,) = [dict(each) for each in ITEMS if each["text"].startswith("He")]
    rows = rows_of(model, [item])
    assert [row["token"] for row in rows] == item["text"].split()
    assert [row["position"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [item["text"][row["first"] : row["end"]] for row in rows] == item["text"].split()
    assert [row["words"] for row in rows] == [1, 2, 1, 2, 1, 1]
    assert sum(row["surprisal"] for row in rows) == pytest.approx(
        sum(row["surprisal"] for row in rows_of(model, [item], "item"))
    )
    assert all(math.isclose(row["surprisal"], row["lexical"] + row["syntactic"]) for row in rows)


@pytest.mark.parametrize(
    ("row", "error", "message"),
    [
        ({"item": 1}, ValueError, "row 2 has no column 'text', but item"),
        ({"text": "It rains.", "words": 2}, ValueError, "'words', which would be overwritten"),
        ({"text": 2.5}, TypeError, r"row 2 has 2\.5 in the column 'text'"),
    ],
)
def test_wrong_tables(model: ConstituencyModel, row: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rows_of(model, [{"text": "It rains."}, row])
