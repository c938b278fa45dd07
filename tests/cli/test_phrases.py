"""`parse` and `score` of phrases, and what is known of them before: tags and brackets."""

import json
from pathlib import Path

import pytest

from spectral_latent.constituency import ConstituencyModel, PhraseConstraints, clean
from spectral_latent.constituency.tree import list_constituents
from spectral_latent.corpora import constituency_trees, parse_brackets, parse_partial
from spectral_latent.dependency import DependencyModel
from spectral_latent.model import Partial
from spectral_latent.reranking import parse_nbest
from tests.cli.conftest import Run


def test_each_line_has_a_tree_and_empty_ones_stay(run: Run, model: Path, treebank: Path) -> None:
    """The parser has learnt these trees."""
    trees = [clean(tree) for tree in constituency_trees(treebank)]
    text = "\n".join(" ".join(tree.words()) for tree in trees if tree)
    expected = "\n".join(tree.bracketed() for tree in trees if tree)
    assert run("parse", model, stdin=f"\n{text}\n  \n").stdout == f"\n{expected}\n\n"
    assert run("parse", model, "--n-best", "2", stdin="\n\n").stdout == "\n\n"


def test_n_best_trees_are_those_of_json_and_begin_with_the_best(run: Run, model: Path) -> None:
    lines = "They see dogs -LRB- pets -RRB- .\nThey left it .\n"
    best = run("parse", model, stdin=lines).stdout.splitlines()
    blocks = run("parse", model, "--n-best", "3", stdin=lines).stdout.removesuffix("\n\n").split("\n\n")
    lists = list(parse_nbest(run("parse", model, "--n-best", "3", "--json", stdin=lines).stdout, "-"))
    for tree, block, nbest in zip(best, blocks, lists, strict=True):
        rows = [line.split("\t") for line in block.splitlines()]
        assert rows == [[f"{each.score:.6f}", each.tree.bracketed()] for each in nbest.candidates]  # type: ignore[union-attr]
        assert rows[0][1] == tree and len(rows) > 1
    one = run("parse", model, "--n-best", "1", stdin=lines).stdout
    assert one == "".join(block.splitlines()[0] + "\n\n" for block in blocks)
    assert "(PRN (-LRB- -LRB-) (NNS pets) (-RRB- -RRB-))" in best[0]


def test_trees_of_no_derivation_are_flat_marked_and_counted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "trees").write_text("(S (A a) (B b))")
    model = tmp_path / "model"
    run("train", "constituency", tmp_path / "trees", "-o", model, "-q")
    result = run("parse", model, stdin="a b\na a b\n\na b a\n")
    assert result.stdout.splitlines()[1] == "(FALLBACK (A a) (A a) (B b))"
    assert "line 2, 4\n" in result.stderr
    assert run("parse", model, "--quiet", stdin="a b a").stderr == ""
    assert run("parse", model, "--n-best", "2", stdin="a b a").stdout == "-inf\t(FALLBACK (A a) (B b) (A a))\n\n"
    (tmp_path / "gold").write_text("(S (A a) (B b)) (S (A a) (B b) (A a))")
    assert json.loads(run("evaluate", model, tmp_path / "gold", "--json").stdout)["fallbacks"] == 1


def test_scores_are_those_of_parses_and_minus_infinity(run: Run, model: Path, treebank: Path, tmp_path: Path) -> None:
    trees = [tree for each in constituency_trees(treebank) if (tree := clean(each))]
    (tmp_path / "a.mrg").write_text("\n".join(tree.bracketed() for tree in trees))
    (tmp_path / "b.mrg").write_text("(S (NEW (PRP They)) (VBP see))")
    text = "\n".join(" ".join(tree.words()) for tree in trees)
    best = [block.split("\t")[0] for block in run("parse", model, "--n-best", "2", stdin=text).stdout.split("\n\n")]
    files = [tmp_path / "a.mrg", tmp_path / "b.mrg"]
    expected = [*(f"{log}\t1" for log in best[:-1]), "-inf\t0"]
    assert run("score", model, *files).stdout.splitlines() == expected
    assert run("score", model, *files, "--jobs", "2").stdout.splitlines() == expected
    rows = [json.loads(line) for line in run("score", model, *files, "--json").stdout.splitlines()]
    assert [row["tree"] for row in rows] == [*(f"a.mrg:{n}" for n in range(1, len(trees) + 1)), "b.mrg:1"]
    assert [f"{row['log']:.6f}" for row in rows[:-1]] == best[:-1]
    assert (rows[-1]["log"], rows[-1]["sign"]) == (None, 0)


@pytest.mark.filterwarnings("default")  # the warning of a worker process would be an error there
@pytest.mark.parametrize(
    ("limit", "jobs", "beyond"),
    [
        ((), "1", [2]),
        (("--limit", "words=30"), "2", [2]),
        (("--limit", "seconds=1e-9"), "1", [1, 2, 3]),
        (("--limit", "megabytes=1", "--limit", "words=3"), "1", [1, 2, 3]),
    ],
)
def test_sentences_beyond_a_limit_do_not_end_the_batch(
    run: Run, model: Path, limit: tuple[str, ...], jobs: str, beyond: list[int]
) -> None:
    """Nor does one that is too long for any chart."""
    lines = f"They see it .\n{5000 * 'They '}\nThey left it .\n"
    result = run("parse", model, "--jobs", jobs, *limit, stdin=lines)
    assert result.exit_code == 0
    trees = result.stdout.splitlines()
    assert [line for line, tree in enumerate(trees, start=1) if tree.startswith("(FALLBACK ")] == beyond
    assert f"line {', '.join(map(str, beyond))}" in result.stderr and trees[1].count("They") == 5000


def test_brackets_that_are_known_stand_in_the_trees(run: Run, model: Path, tmp_path: Path) -> None:
    text = "They see dogs ( (PRN -LRB- pets) -RRB- ) .\nThe ( dogs left )\n( (S (NP Cats with\n tails) see it .))\n"
    (tmp_path / "text").write_text(text)
    found = run("parse", model, tmp_path / "text", "--partial", "--html", tmp_path / "page.html")
    assert found.exit_code == 0 and (tmp_path / "page.html").read_text().count("<svg") == 3
    found = run("parse", model, "--partial", stdin=text)
    lists = run("parse", model, "--partial", "--json", "--n-best", "2", stdin=text).stdout.splitlines()
    assert [json.loads(line)["sent_id"] for line in lists] == ["1", "2", "3"]
    for partial, tree in zip(parse_partial(text), parse_brackets(found.stdout), strict=True):
        assert tuple(tree.words()) == partial.sentence
        spans = {(part.first, part.end) for part in list_constituents(tree)}
        assert {(first, end) for first, end, *_ in partial.constraints.required} <= spans or tree.label == "FALLBACK"
    subject = "(NP (DT The) (NNS dogs))"
    assert subject in run("parse", model, stdin="The dogs see it .\n").stdout
    for label in ("NP", ""):
        assert subject not in run("parse", model, "--partial", stdin=f"(!{label} The dogs) see it .\n").stdout


def test_tags_that_are_given_are_obeyed(run: Run, model: Path, files: Path, tmp_path: Path) -> None:
    """In all formats that have tags; unknown ones are left open, and counted."""
    parser = ConstituencyModel.load(model)
    words, own = ["The", "dogs", "see", "it", "."], ["DT", "NNS", "VBP", "PRP", "."]
    rows = [(word, tag) for word, tag in zip(words, own, strict=True)]
    for at, tag in ((1, "NN"), (3, "NNS"), (2, "GW"), (0, "NP")):
        rows[at] = (words[at], tag)
        tags = {word: each for word, (_, each) in enumerate(rows) if each in parser.tags}
        ((expected,),) = parser.parse_all([Partial(tuple(words), PhraseConstraints(tags=tags))])
        table = (f"{n}\t{word}\t_\tX\t{tag}" + 5 * "\t_" + "\n" for n, (word, tag) in enumerate(rows, 1))
        for ending, text in (
            ("tagged", " ".join(map("/".join, rows)) + "\n"),
            ("mrg", f"(X {' '.join(f'({tag} {word})' for word, tag in rows)})"),
            ("conllu", "".join(table)),
            ("jsonl", json.dumps({"words": words, "tags": [tag for _, tag in rows]})),
        ):
            (tmp_path / f"a.{ending}").write_text(text)
            result = run("parse", model, tmp_path / f"a.{ending}")
            (tree,) = parse_brackets(result.stdout)
            assert tree == expected.tree
            assert [leaf.label for leaf in tree.preterminals()][at] == tag or tag not in parser.tags
            assert (tag in result.stderr) == (tag not in parser.tags)
            assert "tags" in run("surprisal", model, tmp_path / f"a.{ending}").stderr
    found = run("parse", model, "--partial", stdin="They (GW see) it .\nThe (NP-SBJ (GW dogs)) (HYPH see) it .\n")
    assert found.stdout.splitlines()[0] == run("parse", model, stdin="They see it .\n").stdout.strip()
    (warning,) = found.stderr.splitlines()
    assert "3 words" in warning and "GW, HYPH" in warning and "(NP (NNS dogs))" in found.stdout
    column = DependencyModel.load(files / "dependency").options.tags
    of_arcs = run("parse", files / "dependency", "--format", "tagged", stdin="They/GW see/VBP\n").stderr
    assert (column in of_arcs, column in warning, "GW" in of_arcs) == (True, False, True)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("They left .\n\nThey (VB left .", "line 3"),
        ("They left .\n(XP They left) .", "line 2: the parser has no label 'XP'"),
        ("They\n(NP (!NP They)) left", "line 2"),
        ("(! They left .)", "line 1"),
        ("(PRP (VBP They)) left", "line 1"),
        ("1\tThey\t_\tX\t_\t_\t0\t_\t_\t_\n", "sentences in CoNLL-U"),
    ],
)
def test_wrong_brackets_are_named_before_any_parse(run: Run, model: Path, text: str, place: str) -> None:
    result = run("parse", model, "--partial", stdin=text)
    message = " ".join(result.stderr.split())
    assert (result.exit_code, result.stdout) == (1, "")
    assert "standard input" in message and place in message
