"""Rows of JSON in and out, and files of answers."""

import gzip
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.corpora import parse_brackets
from spectral_latent.corpora.sources import in_conllu

Run = Callable[..., Any]

SUBJECTS = ("They", "The dogs", "Cats with tails", "Cats with dogs", "The old house")
OBJECTS = ("it", "the old house", "dogs", "the dogs with tails", "cats")
SENTENCES = [f"{subject} {verb} {thing} ." for subject, verb, thing in product(SUBJECTS, ("see", "left"), OBJECTS)]


@pytest.fixture(scope="module")
def parser(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dependency parser."""
    folder = tmp_path_factory.mktemp("parser")
    trees = (f"They\tP\t2\tsubj\nsee\tV\t0\troot\nit\tP\t{head}\tobj\n.\t.\t2\tpunct\n" for head in (2, 4))
    (folder / "a.conllu").write_text(in_conllu("\n".join(trees)))
    assert run("train", "dependency", folder / "a.conllu", "-o", folder / "model", "-q").exit_code == 0
    return folder / "model"


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    """A file of tokenised sentences, one of them empty."""
    path = tmp_path / "sentences.txt"
    path.write_text("\n".join([*SENTENCES[:20], "", *SENTENCES[20:]]) + "\n")
    return path


# Rows


def test_rows_have_names_and_words_or_text(run: Run, model: Path, tagger: Path) -> None:
    rows = [
        {"id": 7, "words": ["They", "see", "it", "."]},
        {"sent_id": "a b", "tokens": ["They", "left", "it", "."], "tags": ["PRP", "VBD", "PRP", "."], "other": None},
        {"text": "They see it. They\nleft."},
        {"words": []},
    ]
    text = "\n".join(map(json.dumps, rows))
    found = [json.loads(line) for line in run("parse", model, "--json", stdin=text).stdout.splitlines()]
    assert [each["sent_id"] for each in found] == ["7", "a b", "3.1", "3.2", "4"]
    assert run("parse", model, stdin=text).stdout == (
        run("parse", model, stdin="They see it .\nThey left it .\nThey see it .\nThey left .\n\n").stdout
    )
    tagged = [json.loads(line) for line in run("tag", tagger, "--json", stdin=text).stdout.splitlines()]
    assert [each["sent_id"] for each in tagged] == ["7", "a b", "3.1", "3.2", "4"]
    assert tagged[0] == {"sent_id": "7", "words": rows[0]["words"], "tags": ["PRP", "VBP", "PRP", "."]}


def test_names_of_rows_are_those_of_trees(run: Run, parser: Path) -> None:
    text = '{"id": "x", "words": ["They", "see", "it", "."], "tags": ["P", "V", "P", "."]}\n{"text": "They see it."}'
    lines = run("parse", parser, stdin=text).stdout.splitlines()
    assert [line for line in lines if line.startswith("# sent_id")] == ["# sent_id = x", "# sent_id = 2.1"]
    assert [line.split("\t")[3] for line in lines if line[:1].isdecimal()][:2] == ["P", "V"]
    lines = run("parse", parser, "--n-best", "2", stdin=text).stdout.splitlines()
    assert [line for line in lines if line.startswith("# sent_id")][:2] == ["# sent_id = x-1", "# sent_id = x-2"]


def test_tagged_rows_are_parsed(run: Run, model: Path, tagger: Path, sentences: Path, tmp_path: Path) -> None:
    """What `tag` writes, `parse` reads, compressed or not, and obeys."""
    tagged, trees = tmp_path / "tagged.jsonl.gz", tmp_path / "trees.jsonl"
    assert run("tag", tagger, sentences, "-o", tagged, "-q").exit_code == 0
    rows = [json.loads(line) for line in gzip.decompress(tagged.read_bytes()).splitlines()]
    assert [row["words"] for row in rows] == [line.split() for line in sentences.read_text().splitlines()]
    assert run("parse", model, tagged, "-o", trees, "-q").exit_code == 0
    for row, line in zip(rows, trees.read_text().splitlines(), strict=True):
        for candidate in json.loads(line)["candidates"]:
            leaves = list(next(parse_brackets(candidate["tree"])).preterminals())
            assert [(leaf.label, leaf.children[0]) for leaf in leaves] == [*zip(row["tags"], row["words"], strict=True)]
