"""`spectral-latent parse` and `spectral-latent score`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors import safe_open

from spectral_latent.constituency import ConstituencyModel, Phrase, clean
from spectral_latent.corpora import parse_brackets, read_brackets
from spectral_latent.files import storage

Run = Callable[..., Any]


def test_a_tree_for_each_line(run: Run, model: Path, treebank: Path, tmp_path: Path) -> None:
    trees = [clean(tree) for tree in read_brackets(treebank)]
    text = "".join(" ".join(tree.words()) + "\n" for tree in trees if tree)
    (tmp_path / "text").write_text(text)
    from_stdin, from_file = run("parse", model, stdin=text), run("parse", model, tmp_path / "text")
    assert from_stdin.exit_code == from_file.exit_code == 0
    assert from_stdin.output == from_file.output == "".join(f"{tree.bracketed()}\n" for tree in trees if tree)


def test_empty_lines_stay(run: Run, model: Path) -> None:
    result = run("parse", model, stdin="\nThey see it .\n  \nThey left it .")
    assert [line.split(" ")[0] for line in result.stdout.splitlines()] == ["", "(S", "", "(S"]
    assert run("parse", model, stdin="").stdout == ""
    assert run("parse", model, "--n-best", "2", stdin="\n\n").stdout == "\n\n"


def test_n_best(run: Run, model: Path) -> None:
    parser = ConstituencyModel.load(model)
    lines = ["They see dogs ( pets ) .", "They left it ."]
    result = run("parse", model, "--n-best", "3", stdin="\n".join(lines))
    blocks = result.stdout.removesuffix("\n\n").split("\n\n")
    for line, block in zip(lines, blocks, strict=True):
        expected = [f"{parse.log:.6f}\t{parse.tree.bracketed()}" for parse in parser.parse_nbest(line.split(), 3)]
        assert block.splitlines() == expected
    one = run("parse", model, "--n-best", "1", stdin="\n".join(lines)).stdout
    assert one == "".join(block.splitlines()[0] + "\n\n" for block in blocks)
    assert run("parse", model, "--n-best", "1", stdin="\n").stdout == "\n"


def test_probabilities_are_computed_only_where_they_are_shown(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[int] = []
    compute = ConstituencyModel.score_trees

    def score_trees(*args: Any, **options: Any) -> Any:
        scored.append(1)
        return compute(*args, **options)

    monkeypatch.setattr(ConstituencyModel, "score_trees", score_trees)
    (first,) = run("parse", model, stdin="They left it .").stdout.splitlines()
    assert not scored
    (best, *_) = run("parse", model, "--n-best", "2", stdin="They left it .").stdout.splitlines()
    (row,) = run("parse", model, "--json", stdin="They left it .").stdout.splitlines()
    assert best.endswith(f"\t{first}")
    assert float(best.split("\t")[0]) == pytest.approx(json.loads(row)["candidates"][0]["score"], abs=1e-6)
    assert len(scored) == 2


@pytest.mark.parametrize("sentence", ["They see dogs ( pets ) .", "They see dogs -LRB- pets -RRB- ."])
def test_brackets_as_words(run: Run, model: Path, sentence: str) -> None:
    (tree,) = parse_brackets(run("parse", model, stdin=sentence).stdout)
    assert list(tree.words()) == ["They", "see", "dogs", "-LRB-", "pets", "-RRB-", "."]
    assert "(PRN (-LRB- -LRB-) (NNS pets) (-RRB- -RRB-))" in tree.bracketed()


@pytest.mark.parametrize("word", [":)", "a(b)c", "((", "\u00a0", "日本語", "x" * 3000, "\x00", "-NONE-"])
def test_odd_words(run: Run, model: Path, word: str) -> None:
    result = run("parse", model, stdin=f"They see {word} .\n")
    (tree,) = parse_brackets(result.stdout)
    assert len(list(tree.words())) == 4


def test_fallbacks_are_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "trees").write_text("(S (A a) (B b))")
    model = tmp_path / "model"
    run("train", "constituency", tmp_path / "trees", "-o", model, "-q")
    result = run("parse", model, stdin="a b\na a b\n\na b a\n")
    assert result.stdout.splitlines()[1] == "(FALLBACK (A a) (A a) (B b))"
    assert "FALLBACK: line 2, 4\n" in result.stderr
    assert run("parse", model, "--quiet", stdin="a b a").stderr == ""
    assert run("parse", model, "--n-best", "2", stdin="a b a").stdout == "-inf\t(FALLBACK (A a) (B b) (A a))\n\n"
    (tmp_path / "gold").write_text("(S (A a) (B b)) (S (A a) (B b) (A a))")
    assert '"fallbacks": 1' in run("evaluate", model, tmp_path / "gold", "--json").stdout


def test_scores(run: Run, model: Path, treebank: Path) -> None:
    text = treebank.read_text() + "(S (NEW (PRP They)) (VBP see))"
    weight = ConstituencyModel.load(model).score(parse_brackets(text))
    expected = [f"{log:.6f}\t{sign:.0f}" for log, sign in zip(weight.log, weight.sign, strict=True)]
    result = run("score", model, stdin=text)
    assert result.stdout.splitlines() == expected
    assert expected[-1] == "-inf\t0"
    assert run("score", model, treebank).stdout.splitlines() == expected[:-1]
    assert run("score", model, treebank, "--jobs", "2").stdout.splitlines() == expected[:-1]


def test_several_files_are_scored_one_after_the_other(run: Run, model: Path, tmp_path: Path) -> None:
    trees = ["(S (NP (PRP They)) (VP (VBP see)))\n", "(S (NP (PRP They)) (VP (VBD left)))\n"]
    for name, text in zip("ab", trees, strict=True):
        (tmp_path / f"{name}.mrg").write_text(text)
    files = [tmp_path / "a.mrg", tmp_path / "b.mrg"]
    alone = [run("score", model, file).stdout for file in files]
    assert run("score", model, *files).stdout == "".join(alone)
    rows = map(json.loads, run("score", model, *files, "--json").stdout.splitlines())
    assert [row["tree"] for row in rows] == ["a.mrg:1", "b.mrg:1"]


@pytest.mark.parametrize("command", ["parse", "score", "evaluate"])
def test_a_model_is_read_once(
    run: Run, model: Path, treebank: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def spy(path: str, **options: Any) -> Any:
        opened.append(str(path))
        return safe_open(path, **options)

    monkeypatch.setattr(storage, "safe_open", spy)
    assert run(command, model, treebank, "-q").exit_code == 0
    assert opened == [str(model)]


def test_trees_are_cleaned_once(
    run: Run, model: Path, treebank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To train and to score; `clean` is known by its name in two modules."""
    cleaned: list[Phrase] = []

    def spy(tree: Phrase, **options: bool) -> Phrase | None:
        cleaned.append(tree)
        return clean(tree, **options)

    monkeypatch.setattr("spectral_latent.constituency.cleaning.clean", spy)
    monkeypatch.setattr("spectral_latent.evaluation.models.clean", spy)
    n = len(treebank.read_text().splitlines())
    assert run("train", "constituency", treebank, "-o", tmp_path / "again", "--n-states", "2", "-q").exit_code == 0
    assert len(cleaned) == n
    assert run("score", model, treebank, "-q").exit_code == 0
    assert len(cleaned) == 2 * n


@pytest.mark.filterwarnings("default")  # the warning of a worker process would be an error there
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_line_too_long_for_a_chart_does_not_end_the_batch(run: Run, model: Path, jobs: str) -> None:
    lines = ["They see it .", " ".join(["They"] * 5000), "They left it ."]
    result = run("parse", model, "--jobs", jobs, stdin="\n".join(lines))
    assert result.exit_code == 0
    trees = result.stdout.splitlines()
    assert len(trees) == 3
    assert [tree.startswith("(FALLBACK ") for tree in trees] == [False, True, False]
    assert trees[1].count("They") == 5000
    assert "FALLBACK: line 2" in result.stderr


@pytest.mark.filterwarnings("default")  # the warning of a worker process would be an error there
@pytest.mark.parametrize("limit", [("words=3",), ("seconds=1e-9",), ("megabytes=1", "words=3")])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_sentences_beyond_a_limit_are_marked_and_counted(
    run: Run, model: Path, limit: tuple[str, ...], jobs: str
) -> None:
    result = run(
        "parse",
        model,
        "--jobs",
        jobs,
        *(part for each in limit for part in ("--limit", each)),
        stdin="They\nThey see it .\nDogs\n",
    )
    assert result.exit_code == 0
    beyond = [1, 2, 3] if limit == ("seconds=1e-9",) else [2]
    trees = result.stdout.splitlines()
    assert [line for line, tree in enumerate(trees, start=1) if tree.startswith("(FALLBACK ")] == beyond
    assert f"FALLBACK: line {', '.join(map(str, beyond))}" in result.stderr


def test_deep_trees_do_not_depend_on_the_number_of_processes(run: Run, tmp_path: Path) -> None:
    """A chain of 600 phrases, each within the other."""
    source = tmp_path / "deep.mrg"
    source.write_text("(S (N a))\n" + "(S (N a) " * 3 + "(S (N a))" + ")" * 3 + "\n")
    assert run("train", "constituency", source, "-o", tmp_path / "deep", "--n-states", "1", "-q").exit_code == 0
    text = " ".join(["a"] * 600) + "\n"
    one, two = (run("parse", tmp_path / "deep", "--jobs", jobs, stdin=text) for jobs in ("1", "2"))
    assert one.stdout == two.stdout
    assert one.stdout.count("(S ") == 600
