"""Results as JSON lines, and results in files."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.anchors import AnchorHMM
from spectral_latent.constituency import ConstituencyModel
from spectral_latent.corpora import parse_conllu
from spectral_latent.corpora.sources import in_conllu
from spectral_latent.dependency import DependencySentence
from spectral_latent.inspection.anchors import anchor_rows
from spectral_latent.reranking import parse_nbest

Run = Callable[..., Any]

WORDS = ["They", "see", "it", "."]
TEXT = "They see it .\n\nThe dogs left it .\n"


def lines_of(result: Any) -> list[Any]:
    """Read the JSON lines that a command prints."""
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def parser(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dependency parser of the words above."""
    folder = tmp_path_factory.mktemp("parser")
    rows = "They\tX\t2\tsubj\nsee\tX\t0\troot\nit\tX\t2\tobj\n.\tX\t2\tpunct\n"
    (folder / "a.conllu").write_text(in_conllu(rows))
    assert run("train", "dependency", folder / "a.conllu", "-o", folder / "model", "-q").exit_code == 0
    return folder / "model"


@pytest.fixture(scope="module")
def anchored(run: Run, taggings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An anchor model of three states."""
    path = tmp_path_factory.mktemp("anchored") / "model"
    assert run("train", "anchors", taggings, "-o", path, "--n-states", "3", "-q").exit_code == 0
    return path


def test_trees_in_json(run: Run, model: Path) -> None:
    """Each line is a list of the format that rerankers read."""
    first, empty, second = lines_of(run("parse", model, "--json", stdin=TEXT))
    assert ([first["sent_id"], second["sent_id"]], empty["candidates"]) == (["1", "3"], [])
    assert (first["words"], empty["words"]) == (WORDS, [])
    parse = ConstituencyModel.load(model).parse(WORDS)
    assert first["candidates"] == [{"tree": parse.tree.bracketed(), "score": parse.log}]
    result = run("parse", model, "--json", "--n-best", "3", stdin="They see it .\n")
    (nbest,) = parse_nbest(result.stdout, "-")
    assert len(nbest) > 1 and nbest.candidates[0].tree == parse.tree


def test_dependency_trees_in_json(run: Run, parser: Path) -> None:
    first, empty, second = lines_of(run("parse", parser, "--json", stdin="They see it .\n\nsee it\n"))
    assert ([first["sent_id"], second["sent_id"]], first["words"]) == (["1", "3"], WORDS)
    assert (empty["sent_id"], empty["candidates"]) == ("2", [])
    assert first["upos"] == ["X"] * 4
    ((heads, relations),) = ((each["heads"], each["relations"]) for each in first["candidates"])
    assert (heads, relations[:2]) == ([2, 0, 2, 2], ["subj", "root"])
    (nbest,) = parse_nbest(json.dumps(first), "-")
    (candidate,) = nbest.candidates
    assert isinstance(candidate.tree, DependencySentence)
    (found,) = parse_conllu(run("parse", parser, stdin="They see it .\n").stdout)
    assert candidate.tree == found._replace(comments=())


def test_names_of_sentences_are_kept(run: Run, model: Path, tagger: Path, parser: Path, tmp_path: Path) -> None:
    """A sentence of a table without a name has its number."""
    row = "1\tthey\t_\tX\t_\t_\t_\t_\t_\t_\n\n"
    (tmp_path / "a.conllu").write_text(f"# sent_id = weblog-1\n{row}{row}")
    commands = [(name, file) for file in (model, parser) for name in ("parse", "surprisal")]
    for command, file in [*commands, ("tag", tagger), ("surprisal", tagger)]:
        found = lines_of(run(command, file, tmp_path / "a.conllu", "--json"))
        assert [(each["sent_id"], each["words"]) for each in found] == [("weblog-1", ["they"]), ("2", ["they"])]
    assert run("surprisal", model, tmp_path / "a.conllu").stdout.splitlines()[1].startswith("weblog-1\t1\tthey\t")
    (partial, _) = lines_of(run("parse", parser, "--partial", tmp_path / "a.conllu", "--json"))
    assert partial["sent_id"] == "weblog-1"


@pytest.mark.parametrize("relations", ['"subj"', '["subj"]', "[1, 2]"])
def test_relations_in_json_that_are_not(relations: str) -> None:
    candidate = f'{{"heads": [2, 0], "relations": {relations}}}'
    with pytest.raises(ValueError, match="line 1: relations that are not a string for each of 2 words"):
        list(parse_nbest(f'{{"words": ["a", "b"], "candidates": [{candidate}]}}', "-"))


def test_tags_in_json(run: Run, tagger: Path, tmp_path: Path) -> None:
    table = "".join(f"{n}\t{word}\t_\t_\t_\t_\t_\t_\t_\t_\n" for n, word in enumerate(WORDS, start=1))
    expected = {"sent_id": "1", "words": WORDS, "tags": ["PRP", "VBP", "PRP", "."]}
    first, empty, second = lines_of(run("tag", tagger, "--json", stdin=TEXT))
    assert (first, second["sent_id"]) == (expected, "3")
    assert empty == {"sent_id": "2", "words": [], "tags": []}
    assert lines_of(run("tag", tagger, "--json", stdin=f"# comment\n{table}\n# end\n")) == [expected]


def test_scores_in_json(run: Run, model: Path, treebank: Path, tmp_path: Path) -> None:
    plain = [line.split("\t") for line in run("score", model, treebank).stdout.splitlines()]
    found = lines_of(run("score", model, treebank, "--json"))
    assert [each["tree"] for each in found] == list(range(1, len(plain) + 1))
    assert [(f"{each['log']:.6f}", str(each["sign"])) for each in found] == [tuple(row) for row in plain]
    (never,) = lines_of(run("score", model, "--json", stdin="(S (UH No))"))
    assert (never["log"], never["sign"]) == (None, 0)


def test_states_in_json(run: Run, anchored: Path) -> None:
    found = lines_of(run("info", anchored, "--states", "--json", "--top", "2"))
    rows = anchor_rows(AnchorHMM.load(anchored), 2)
    assert [each["anchor"] for each in found] == [row.anchor for row in rows]
    for each, row in zip(found, rows, strict=True):
        assert each["words"] == dict(row.words) and math.isclose(each["share"], row.share)
