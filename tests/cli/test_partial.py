"""`spectral-latent parse --partial`: what is known of each tree comes with the sentences."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.constituency import ConstituencyModel, PhraseConstraints
from spectral_latent.corpora import parse_brackets, parse_conllu, parse_partial
from spectral_latent.dependency import DependencyConstraints, DependencyModel, DependencySentence
from spectral_latent.model import Partial

Run = Callable[..., Any]

SENTENCES = "They see dogs ( (PRN -LRB- pets) -RRB- ) .\nThe ( dogs left )\n( (S (NP Cats with\n tails) see it .))\n"
ROW = "{}\t{}\t_\tX\t_\t_\t{}\t{}\t_\tSpaceAfter=No\n"


@pytest.fixture(scope="module")
def dependencies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parser of `a b c`, in which c hangs from a, or from b."""
    trees = [DependencySentence.of(list("abc")).with_heads((0, 1, head), ("root", "x", "y")) for head in (1, 1, 2)]
    path = tmp_path_factory.mktemp("partial") / "dependencies"
    DependencyModel.train(trees).save(path)
    return path


def test_brackets(run: Run, model: Path, tmp_path: Path) -> None:
    """Parses are those of Python, from a file and from standard input."""
    parser = ConstituencyModel.load(model)
    parses = [parser.parse(tree.sentence, constraints=tree.constraints) for tree in parse_partial(SENTENCES)]
    expected = [f"{parse.tree.bracketed()}\n" for parse in parses]
    assert "(PRN (-LRB- -LRB-) (NNS pets))" in expected[0] or parses[0].is_fallback
    (tmp_path / "text").write_text(SENTENCES)
    assert run("parse", model, "--partial", stdin=SENTENCES).stdout == "".join(expected)
    assert run("parse", model, tmp_path / "text", "--partial").stdout == "".join(expected)
    page = tmp_path / "page.html"
    assert run("parse", model, tmp_path / "text", "--partial", "--html", page).exit_code == 0
    assert page.read_text().count("<svg") == 3


def test_tags_that_are_given_are_obeyed(run: Run, model: Path, tmp_path: Path) -> None:
    """In all formats that have tags, as by constraints in Python; unknown ones are left open, and counted."""
    parser = ConstituencyModel.load(model)
    words, own = ["The", "dogs", "see", "it", "."], ["DT", "NNS", "VBP", "PRP", "."]
    rows = [(word, tag) for word, tag in zip(words, own, strict=True)]
    for at, tag in ((1, "NN"), (1, "VBD"), (3, "NNS"), (2, "GW"), (0, "NP")):
        rows[at] = (words[at], tag)
        tags = {word: each for word, (_, each) in enumerate(rows) if each in parser.tags}
        (expected,) = parser.parse_all([Partial(tuple(words), PhraseConstraints(tags=tags))])
        for ending, text in (
            ("tagged", " ".join(map("/".join, rows)) + "\n"),
            ("mrg", f"(X {' '.join(f'({tag} {word})' for word, tag in rows)})"),
            (
                "conllu",
                "".join(f"{n}\t{word}\t_\tX\t{tag}" + 5 * "\t_" + "\n" for n, (word, tag) in enumerate(rows, 1)),
            ),
            ("jsonl", json.dumps({"words": words, "tags": [tag for _, tag in rows]})),
        ):
            (tmp_path / f"a.{ending}").write_text(text)
            result = run("parse", model, tmp_path / f"a.{ending}")
            (tree,) = parse_brackets(result.stdout)
            assert tree == expected[0].tree
            assert [leaf.label for leaf in tree.preterminals()][at] == tag or tag not in parser.tags
            if tag in parser.tags:
                assert result.stderr.count("does not know") == (len(tags) < len(words))
            else:
                assert f"such as {tag}" in result.stderr or "GW" in result.stderr
            assert "tags" in run("surprisal", model, tmp_path / f"a.{ending}").stderr


def test_an_unknown_tag_is_left_open_and_counted(run: Run, model: Path) -> None:
    bare = run("parse", model, "--partial", stdin="They see it .\nThe dogs see it .\n")
    found = run("parse", model, "--partial", stdin="They (GW see) it .\nThe (NP-SBJ (GW dogs)) (HYPH see) it .\n")
    assert (bare.exit_code, found.exit_code) == (0, 0)
    assert found.stdout.splitlines()[0] == bare.stdout.splitlines()[0]
    assert "(NP (NNS dogs))" in found.stdout
    (warning,) = found.stderr.splitlines()
    assert "3 words, such as GW, HYPH" in warning and "DT" in warning


def test_a_forbidden_bracket_is_in_no_tree(run: Run, model: Path) -> None:
    subject = "(NP (DT The) (NNS dogs))"
    assert subject in run("parse", model, stdin="The dogs see it .\n").stdout
    for label in ("NP", ""):
        found = run("parse", model, "--partial", stdin=f"(!{label} The dogs) see it .\n")
        assert found.exit_code == 0
        assert subject not in found.stdout


def test_heads_and_relations(run: Run, dependencies: Path, tmp_path: Path) -> None:
    """Lines stay as they are but for HEAD and DEPREL."""
    head = "# sent_id = 7\n"
    known = head + ROW.format(1, "a", "_", "_") + ROW.format(2, "b", "_", "x") + ROW.format(3, "c", 2, "_") + "\n"
    bare = "".join(ROW.format(word, form, "_", "_") for word, form in enumerate("abc", start=1)) + "\n"
    (tmp_path / "a.conllu").write_text(known + "# another\n" + bare + "# the end\n")
    output = run("parse", dependencies, tmp_path / "a.conllu", "--partial").stdout
    filled = [ROW.format(1, "a", 0, "root"), ROW.format(2, "b", 1, "x"), ROW.format(3, "c", 2, "y")]
    assert output.startswith(head + "".join(filled) + "\n# another\n1\ta")
    parser = DependencyModel.load(dependencies)
    words = DependencySentence.of(list("abc"), ["X"] * 3)
    assert [sentence.heads for sentence in parse_conllu(output)] == [(0, 1, 2), parser.parse(words).tree.heads]
    parses = parser.parse_nbest(words, 5, constraints=DependencyConstraints({3: 2}))
    several = run("parse", dependencies, "--partial", "--n-best", "5", stdin=known).stdout
    assert [sentence.heads for sentence in parse_conllu(several)] == [parse.tree.heads for parse in parses]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("They left .\n\nThey (VB left .", "standard input, line 3: a bracket that opens in this sentence"),
        ("They left .\n(XP They left) .", "standard input, line 2: the parser has no label 'XP'; its labels are"),
        ("They\n(NP (!NP They)) left", "standard input, line 2: the bracket (0, 1, 'NP') is required and forbidden"),
        (
            "(! They left .)",
            "standard input, line 1: the whole sentence is always a constituent, and cannot be forbidden",
        ),
        ("(PRP (VBP They)) left", "standard input, line 1: the word 0 has two tags, 'PRP' and 'VBP'"),
        (ROW.format(1, "They", 0, "_"), "standard input: sentences in CoNLL-U, where trees in brackets are needed"),
    ],
)
def test_wrong_brackets_are_named_before_any_parse(run: Run, model: Path, text: str, message: str) -> None:
    result = run("parse", model, "--partial", stdin=text)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert message in " ".join(result.stderr.split())


def test_a_forbidden_head_is_in_no_tree(run: Run, dependencies: Path) -> None:
    parser = DependencyModel.load(dependencies)
    words = DependencySentence.of(list("abc"), ["X"] * 3)
    for heads, forbidden in ((("_", "_", "!2"), [(2, 3)]), (("!0|3", "_", "_"), [(0, 1), (3, 1)])):
        text = "".join(ROW.format(word, "abc"[word - 1], head, "_") for word, head in enumerate(heads, start=1))
        (found,) = parse_conllu(run("parse", dependencies, "--partial", stdin=text).stdout)
        expected = parser.parse(words, constraints=DependencyConstraints(forbidden=forbidden)).tree.heads
        assert found.heads == expected != parser.parse(words).tree.heads


@pytest.mark.parametrize(
    ("heads", "relation", "message"),
    [
        (("2", "1", "_"), "_", "line 2: the heads of the words 1, 2 are a cycle"),
        (("_", "_", "2"), "subject", "line 2: the parser has no relation 'subject'; its relations are root, x, y"),
        (("_", "_", "4"), "_", "line 4: the HEAD 4 in a sentence of 3 words"),
        (("3", "0", "_"), "_", "line 2: the arcs 3 → 1 and 0 → 2 cross"),
        (("_", "!0|1|3", "_"), "_", "line 2: every head of the word 2 is forbidden"),
    ],
)
def test_wrong_heads_are_named(
    run: Run, dependencies: Path, heads: tuple[str, ...], relation: str, message: str
) -> None:
    words = enumerate(zip("abc", heads, strict=True), start=1)
    rows = [ROW.format(number, word, head, relation) for number, (word, head) in words]
    result = run("parse", dependencies, "--partial", stdin="# a comment\n" + "".join(rows))
    assert result.exit_code == 1
    assert message in " ".join(result.stderr.split())
