"""Dependency parsers on the command line: `train dependency`, `parse`, `score` and `evaluate`."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.corpora import parse_conllu, to_conllu
from spectral_latent.corpora.sources import in_conllu
from spectral_latent.dependency import DependencyConstraints, DependencyModel, DependencySentence
from spectral_latent.reranking import parse_nbest
from tests.cli.conftest import CONLLU, ROW, Run
from tests.corpora.annotated import rows

NOUNS, VERBS = ("dogs", "cats"), ("see", "like")
TAGS = (["DT", "NNS", "VBP", "NNS", "."], ["DET", "NOUN", "VERB", "NOUN", "PUNCT"])
HEADS, RELATIONS = (2, 3, 0, 3, 3), ("det", "nsubj", "root", "obj", "punct")
BLANK = ("_",) * 5
GOLD = [
    DependencySentence(("the", a, verb, b, "."), BLANK, tuple(TAGS[1]), tuple(TAGS[0]), BLANK, HEADS, RELATIONS)
    for a, verb, b in itertools.product(NOUNS, VERBS, NOUNS)
]


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dependency") / "all.conllu"
    path.write_text("".join(map(to_conllu, GOLD)))
    return path


@pytest.fixture(scope="module")
def parser(run: Run, trees: Path) -> Path:
    path = trees.parent / "parser"
    assert run("train", "dependency", trees, "-o", path, "--n-states", "2", "-q").output == ""
    return path


def heads_of(output: str) -> list[tuple[int, ...] | None]:
    return [sentence.heads for sentence in parse_conllu(output)]


def test_conllu_is_given_back_but_for_heads_and_relations(run: Run, parser: Path, trees: Path, tmp_path: Path) -> None:
    model = DependencyModel.load(parser)
    parses = [model.parse(sentence) for sentence in parse_conllu(CONLLU)]
    found = itertools.chain(*(zip(p.tree.heads or (), p.tree.relations, strict=True) for p in parses))
    lines = [line.split("\t") for line in CONLLU.split("\n")]
    expected = "\n".join(
        "\t".join([*line[:6], *map(str, next(found)), *line[8:]]) if line[0].isdigit() else "\t".join(line)
        for line in lines
    )
    (tmp_path / "a").write_text(CONLLU)
    assert run("parse", parser, tmp_path / "a").stdout == expected
    crlf = run("parse", parser, stdin=CONLLU.replace("\n", "\r\n").encode())
    assert crlf.stdout_bytes == expected.replace("\n", "\r\n").encode()
    end = "# the end\n\n#\n"
    for options in ([], ["--n-best", "2"], ["--jobs", "2"], ["--partial"]):
        alone, more = (run("parse", parser, *options, stdin=CONLLU + each).stdout for each in ("", end))
        assert more == alone
    wrong = run("parse", parser, stdin=trees.read_text().replace("\t3\tnsubj", "\t1\twrong"))
    assert (heads_of(wrong.stdout), "wrong" in wrong.stdout) == ([HEADS] * 8, False)


def test_lines_become_tables_with_names_and_text(run: Run, parser: Path) -> None:
    result = run("parse", parser, stdin="\n# dogs see\n \ndogs see")
    found = list(parse_conllu(result.stdout))
    assert [sentence.forms for sentence in found] == [("#", "dogs", "see"), ("dogs", "see")]
    assert found[1].comments == ("sent_id = 4", "text = dogs see")
    columns = [row.split("\t") for row in run("parse", parser, "--text", stdin="the (dogs) see.").stdout.split("\n")]
    text = "".join(row[1] + ("" if row[9] == "SpaceAfter=No" else " ") for row in columns[2:-2])
    assert text == "the (dogs) see. "


def test_n_best_and_crossing_trees(run: Run, torn: Path) -> None:
    model = DependencyModel.load(torn)
    words = DependencySentence.of(list("abc"), list("ABC"))
    parses = model.parse_nbest(words, 3)
    line = "a/A b/B c/C\n"
    expected = [(parse.tree.heads, f"score = {parse.log:.6f}") for parse in parses]
    assert len(expected) > 1
    for text, names in ((f"{line}\n{line}", "13"), (f"# sent_id = x\n{rows(*'___')}", "x"), (rows(*"___"), "1")):
        found = list(parse_conllu(run("parse", torn, "--n-best", "3", stdin=text).stdout))
        assert [(tree.heads, tree.comments[-1]) for tree in found] == expected * len(names)
        named = [f"sent_id = {name}-{rank}" for name in names for rank in range(1, len(parses) + 1)]
        assert all(name in tree.comments for name, tree in zip(named, found, strict=True))
    (row,) = run("parse", torn, "--n-best", "3", "--json", stdin=line).stdout.splitlines()
    (nbest,) = parse_nbest(row, "-")
    assert [candidate.tree.heads for candidate in nbest.candidates] == [heads for heads, _ in expected]  # type: ignore[union-attr]
    crossing = model.parse(words, projective=False).tree.heads
    assert heads_of(run("parse", torn, "--non-projective", stdin=line).stdout) == [crossing]


def test_trees_of_no_derivation_are_flat_marked_and_counted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(in_conllu("Yes\tUH\t0\n"))
    model = tmp_path / "model"
    run("train", "dependency", tmp_path / "a.conllu", "-o", model, "-q")
    result = run("parse", model, stdin="Yes\n\nYes Yes Yes\n")
    assert result.stderr.endswith("line 3\n")
    first, second = parse_conllu(result.stdout)
    assert ("FALLBACK" in first.comments, "FALLBACK" in second.comments) == (False, True)
    assert second.heads == (0, 1, 1)
    (found,) = parse_conllu(run("parse", model, "--n-best", "2", "-q", stdin="Yes Yes").stdout)
    assert {"sent_id = 1-1", "score = -inf", "FALLBACK"} <= set(found.comments)
    (tmp_path / "b.conllu").write_text(in_conllu("Yes\tUH\t0\n\nYes\tUH\t0\nYes\tUH\t1\n"))
    figures = json.loads(run("evaluate", model, tmp_path / "b.conllu", "--json").stdout)
    assert (figures["fallbacks"], figures["uas"]) == (1, 100.0)
    assert run("score", model, stdin=ROW.format(1, "No", "X", "X", 0, "root")).stdout == "-inf\t0\n"


def test_the_probability_of_each_head_is_written(run: Run, parser: Path) -> None:
    text = CONLLU.replace("\t_\n", "\tGloss=x|HeadProb=7\n")
    plain, lines = (
        run("parse", parser, "--format", "conllu", *options, stdin=text).stdout.splitlines(keepends=True)
        for options in ([], ["--confidence"])
    )
    shown = []
    for one, other in zip(plain, lines, strict=True):
        if one != other:
            assert other.startswith(one.removesuffix("7\n"))
            shown.append(float(other.split("HeadProb=")[1]))
    found = [tree for tree in parse_conllu("".join(plain)) if tree.heads]
    expected = [posterior for row in DependencyModel.load(parser).part_posteriors(found) for posterior in row.tolist()]
    assert shown == pytest.approx(expected, abs=6e-4)


def test_heads_and_relations_that_are_known(run: Run, torn: Path) -> None:
    """Lines stay as they are but for HEAD and DEPREL."""
    known = f"# sent_id = 7\n{rows('_', '_', 2, relations='_x_')}\n"
    output = run("parse", torn, "--partial", stdin=f"{known}# another\n{rows(*'___')}\n# the end\n").stdout
    assert output.startswith(f"# sent_id = 7\n{rows(0, 1, 2, relations=('root', 'x', 'y'))}\n# another\n1\ta")
    model = DependencyModel.load(torn)
    words = DependencySentence.of(list("abc"), list("ABC"))
    assert heads_of(output) == [(0, 1, 2), model.parse(words).tree.heads]
    parses = model.parse_nbest(words, 5, constraints=DependencyConstraints({3: 2}))
    several = run("parse", torn, "--partial", "--n-best", "5", stdin=known).stdout
    assert heads_of(several) == [parse.tree.heads for parse in parses]
    for heads, forbidden in ((("_", "_", "!2"), [(2, 3)]), (("!0|3", "_", "_"), [(0, 1), (3, 1)])):
        (found,) = heads_of(run("parse", torn, "--partial", stdin=rows(*heads)).stdout)
        assert found == model.parse(words, constraints=DependencyConstraints(forbidden=forbidden)).tree.heads


@pytest.mark.parametrize(
    ("heads", "relation", "place"),
    [
        ("21_", "_", "line 2: the heads of the words 1, 2"),
        ("__2", "subject", "line 2: the parser has no relation 'subject'"),
        ("__4", "_", "line 4: the HEAD 4"),
        ("30_", "_", "line 2: the arcs 3 → 1 and 0 → 2"),
        (("_", "!0|1|3", "_"), "_", "line 2: every head of the word 2"),
    ],
)
def test_heads_that_cannot_be_are_named(run: Run, torn: Path, heads: Any, relation: str, place: str) -> None:
    text = f"# a comment\n{rows(*heads, relations=[relation] * 3)}"
    result = run("parse", torn, "--partial", stdin=text)
    assert (result.exit_code, place in " ".join(result.stderr.split())) == (1, True), result.stderr


def test_figures_of_short_sentences_several_roots_and_no_relations(
    run: Run, parser: Path, trees: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.conllu").write_text(in_conllu("dogs\tNNS\t0\nsee\tVBP\t0\n"))
    found = json.loads(run("evaluate", parser, tmp_path / "a.conllu", trees, "--json").stdout)
    assert (found["sentences"], found["complete"]) == (9, 800 / 9)
    found = json.loads(run("evaluate", parser, tmp_path / "a.conllu", trees, "--json", "--max-length", "2").stdout)
    assert (found["sentences"], found["uas"]) == (1, 50.0)
    (tmp_path / "b.conllu").write_text("".join(to_conllu(tree._replace(relations=("_",) * 5)) for tree in GOLD))
    found = json.loads(run("evaluate", parser, tmp_path / "b.conllu", "--json").stdout)
    assert (found["uas"], found["las"], found["las_universal"]) == (100.0, None, None)


def test_raw_text_becomes_a_table_with_all_columns(run: Run, tmp_path: Path) -> None:
    """A pipeline learns to divide text, tokens of two words too, and `evaluate` divides gold text."""
    columns = [
        ("They", "they", "PRON", "_", "_", 4, "nsubj"),
        ("do", "do", "AUX", "_", "Mood=Ind", 4, "aux"),
        ("n't", "not", "PART", "_", "_", 4, "advmod"),
        ("{0}", "{0}", "VERB", "_", "VerbForm=Inf", 0, "root"),
        (".", ".", "PUNCT", "_", "_", 4, "punct"),
    ]
    blocks = []
    for number, verb in enumerate(("see", "bark", "run", "sleep", "eat", "play") * 4):
        lines = ["\t".join(map(str, (at, *row, "_", "_"))).format(verb) for at, row in enumerate(columns, start=1)]
        lines.insert(1, "\t".join(["2-3", "don't", *"________"]))
        blocks.append("\n".join([f"# sent_id = {number}", f"# text = They don't {verb}.", *lines, "", ""]))
    (tmp_path / "all.conllu").write_text("".join(blocks))
    (tmp_path / "raw.txt").write_text("They don't walk. They don't see.\n")
    model = tmp_path / "model"
    assert run("train", "pipeline", tmp_path / "all.conllu", "-o", model, "-q").exit_code == 0
    first, second, end = run("parse", model, tmp_path / "raw.txt", "--text").output.split("\n\n")
    gold = blocks[0].strip().split("\n")
    assert first.split("\n")[:4] == ["# sent_id = 1", "# text = They don't walk.", *gold[2:4]]
    assert second.split("\n")[1:6] == [*gold[1:6]]
    assert second.split("\n")[6:] == [gold[6][:-1] + "SpaceAfter=No", gold[7]] and not end
    figures = json.loads(run("evaluate", model, tmp_path / "all.conllu", "--from", "text", "--json").output)
    assert figures["tokens_f1"] == figures["words_f1"] == figures["las"] == figures["blex"] == 100.0
    assert figures["sentences"] == 24 and figures["sentences_f1"] == 100.0
