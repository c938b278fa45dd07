"""A corpus of NLTK made for a test."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import nltk
import pytest
from nltk.corpus.reader import BracketParseCorpusReader

Install = Callable[..., Any]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Give the function that makes a corpus `nltk:toy` out of files and a reader."""

    def make(files: dict[str, str], reader: Any = BracketParseCorpusReader, **options: Any) -> Any:
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])  # NLTK reads nowhere else
        corpus = reader(str(tmp_path), sorted(files, reverse=True), **options)
        monkeypatch.setattr(import_module("nltk.corpus"), "toy", corpus, raising=False)  # not the lazy one
        return corpus

    return make
