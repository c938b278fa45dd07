"""Files that commands write never take the place of what they read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize("kind", ["constituency", "tagger", "anchor", "dependency"])
def test_training_takes_the_place_of_no_input(run: Run, treebank: Path, tmp_path: Path, kind: str) -> None:
    source = tmp_path / "trees.mrg"
    source.write_bytes(treebank.read_bytes())
    for given in (source, tmp_path):
        result = run("train", kind, given, "-o", source, "-q")
        assert result.exit_code != 0
        assert "trees.mrg: a file to read, which would be lost" in result.output
        assert source.read_bytes() == treebank.read_bytes()


def test_a_model_in_the_folder_that_it_learns_from_may_be_written_again(
    run: Run, taggings: Path, tmp_path: Path
) -> None:
    (tmp_path / "all.tagged").write_bytes(taggings.read_bytes())
    for _ in range(2):
        assert run("train", "tagger", tmp_path, "-o", tmp_path / "tagger", "--n-states", "2", "-q").exit_code == 0


def test_a_reranker_takes_the_place_of_no_input(run: Run, treebank: Path, model: Path, tmp_path: Path) -> None:
    lists = tmp_path / "lists"
    lists.write_text("-1.0\t(NN run)\n-2.0\t(VB run)\n")
    parser = tmp_path / "parser"
    parser.write_bytes(model.read_bytes())
    link = tmp_path / "link"
    link.symlink_to(parser)
    before = parser.read_bytes()
    for output in (parser, link, lists):
        result = run("rerank", "train", lists, "--gold", treebank, "--model", f"p={parser}", "-o", output, "-q")
        assert result.exit_code != 0
        assert "a file to read, which would be lost" in result.output
    result = run("rerank", "features", lists, "--map", lists)
    assert result.exit_code != 0
    assert parser.read_bytes() == before
    assert lists.read_text().startswith("-1.0")
