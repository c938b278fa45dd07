"""Dependency parsers on the command line: `train dependency`, `parse`, `score` and `evaluate`."""

import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.corpora import dependency_trees, parse_conllu, to_conllu
from spectral_latent.corpora.sources import in_conllu
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.estimation import Clusters
from spectral_latent.evaluation import evaluate_dependency_parser

Run = Callable[..., Any]

KEYS = [
    "uas",
    "las",
    "las_universal",
    "uas_no_punctuation",
    "las_no_punctuation",
    "complete",
    "nonpositive_share",
    "sentences",
    "fallbacks",
    "sentences_per_second",
]
NOUNS, VERBS = ("dogs", "cats"), ("see", "like")
TAGS = (["DT", "NNS", "VBP", "NNS", "."], ["DET", "NOUN", "VERB", "NOUN", "PUNCT"])
HEADS, RELATIONS = (2, 3, 0, 3, 3), ("det", "nsubj", "root", "obj", "punct")
ROW = "{}\t{}\t_\t{}\t{}\t_\t{}\t{}\t_\t_\n"


def gold() -> list[DependencySentence]:
    blank = ("_",) * 5
    return [
        DependencySentence(("the", a, verb, b, "."), blank, tuple(TAGS[1]), tuple(TAGS[0]), blank, HEADS, RELATIONS)
        for a, verb, b in itertools.product(NOUNS, VERBS, NOUNS)
    ]


TEXT = "".join(" ".join(sentence.forms) + "\n" for sentence in gold())
TAGGED = "".join(" ".join(map("/".join, zip(tree.forms, tree.upos, strict=True))) + "\n" for tree in gold())
CONLLU = """\
# sent_id = one
# text = The dogs sleep.
1|The|the|DET|DT|_|_|_|_|_
2|dogs|dog|NOUN|NNS|Number=Plur|_|_|2:nsubj|_
3-4|sleep.|_|_|_|_|_|_|_|SpaceAfter=No
3|sleep|sleep|VERB|VBP|_|_|_|_|_
3.1|ghost|ghost|X|X|_|_|_|3:dep|_
# a comment within
4|.|.|PUNCT|.|_|_|_|_|_

# newdoc

1|dogs|dog|NOUN|NNS|_|_|_|_|_
2|see|see|VERB|VBP|_|_|_|_|_

""".replace("|", "\t")


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("dependency") / "all.conllu"
    path.write_text("".join(map(to_conllu, gold())))
    return path


@pytest.fixture(scope="module")
def parser(run: Run, trees: Path) -> Path:
    path = trees.parent / "parser"
    assert run("train", "dependency", trees, "-o", path, "--n-states", "2", "-q").output == ""
    return path


@pytest.fixture(scope="module")
def loaded(parser: Path) -> DependencyModel:
    return DependencyModel.load(parser)


def heads_of(output: str) -> list[tuple[int, ...] | None]:
    return [sentence.heads for sentence in parse_conllu(output)]


# ---------------------------------------------------------------------------------------------------------------------
# train


def test_what_is_told(run: Run, trees: Path, tmp_path: Path) -> None:
    result = run("train", "dependency", trees, trees, "-o", tmp_path / "model", "--n-states", "1")
    assert (result.exit_code, result.stdout) == (0, "")
    first, *_, last, _ = result.stderr.splitlines()
    assert first == "Training on 16 trees"
    assert last.startswith(f"{tmp_path / 'model'}: 4 tags of up to 1 state, 6 words, ")


def test_settings(run: Run, trees: Path, parser: Path, tmp_path: Path) -> None:
    extra = ["--n-states", "3", "--seed", "7", "--column", "xpos", "--estimator", "clustering"]
    assert run("train", "dependency", trees, "-o", tmp_path / "model", *extra).exit_code == 0
    model = DependencyModel.load(tmp_path / "model")
    assert model.options.estimator == Clusters(n_states=3, seed=7)
    assert model.options.tags == "xpos"
    assert model.grammar.tags == sorted(set(TAGS[0]))
    for jobs in ("1", "2"):
        run("train", "dependency", trees, "-o", tmp_path / jobs, "--n-states", "2", "--jobs", jobs)
        assert (tmp_path / jobs).read_bytes() == parser.read_bytes()


def test_the_other_column_where_the_tags_are(run: Run, trees: Path, tmp_path: Path) -> None:
    for column, other, tags in (("xpos", 4, TAGS[1]), ("upos", 3, TAGS[0])):
        rows = [line.split("\t") for line in trees.read_text().splitlines()]
        text = "\n".join("\t".join([*row[:other], "_", *row[other + 1 :]]) if row[0] else "" for row in rows)
        (tmp_path / "a.conll").write_text(text)
        result = run("train", "dependency", tmp_path / "a.conll", "-o", tmp_path / "model", "--column", column)
        assert result.exit_code == 0
        assert DependencyModel.load(tmp_path / "model").grammar.tags == sorted(set(tags))


def table(*heads: object) -> str:
    """A sentence of the words a, b, c with these heads."""
    rows = zip("abc", heads, strict=False)
    return "".join(ROW.format(number, word, "A", "A", head, "_") for number, (word, head) in enumerate(rows, start=1))


BAD = [
    ("", "bad.conllu: no sentences"),
    ("1\tYes\n", "bad.conllu, line 1: 2 columns where CoNLL-U has 10"),
    (table(3), "bad.conllu, line 1: the HEAD 3 in a sentence of 1 word"),
    (table("_"), "bad.conllu, sentence 1, line 1: no word has a HEAD"),
    (table(0, 3, 2), "bad.conllu, sentence 1, line 2: the heads lead in a circle, from 2 'b' to 3 'c' to 2 'b'"),
    (table(0) + "\n" + table(0, 0), "bad.conllu, sentence 2, line 4: the words 1 'a', 2 'b' have the HEAD 0; give it"),
]


@pytest.mark.parametrize(
    ("upos", "xpos", "options", "tags", "gaps"),
    [
        ("AB", "CD", [], "AB", 0),
        ("A_", "CD", [], "AD", 1),
        ("A_", "__", [], "AX", 1),
        ("__", "C_", [], "CX", 1),
    ],
)
def test_every_word_gets_a_tag(
    run: Run, tmp_path: Path, upos: str, xpos: str, options: list[str], tags: str, gaps: int
) -> None:
    """That of the column, of the other column, or X; the column is kept, so that parsing reads the same one."""
    rows = [ROW.format(1, "a", upos[0], xpos[0], 2, "_"), ROW.format(2, "b", upos[1], xpos[1], 0, "_")]
    (tmp_path / "a.conllu").write_text("".join(rows))
    result = run("train", "dependency", tmp_path / "a.conllu", "-o", tmp_path / "model", *options)
    assert result.exit_code == 0
    model = DependencyModel.load(tmp_path / "model")
    assert model.grammar.tags == list(tags)
    assert model.options.tags == ("xpos" if options or upos == "__" != xpos else "upos")
    warning = f"Warning: words without an {model.options.tags} tag: 1 of 2, such as "
    assert (warning in result.stderr) == (gaps > 0)
    assert run("train", "dependency", tmp_path / "a.conllu", "-o", tmp_path / "model", "-q", *options).stderr == ""
    unknown = run("parse", tmp_path / "model", tmp_path / "a.conllu").stderr
    assert unknown == ""


# ---------------------------------------------------------------------------------------------------------------------
# parse


@pytest.mark.parametrize("text", [TEXT, TAGGED])
def test_text(run: Run, parser: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "text").write_text(text)
    from_stdin, from_file = run("parse", parser, stdin=text), run("parse", parser, tmp_path / "text")
    assert (from_stdin.exit_code, from_stdin.stderr) == (0, "")
    assert from_stdin.output == from_file.output
    for number, (found, tree) in enumerate(zip(parse_conllu(from_stdin.output), gold(), strict=True), start=1):
        # tags that are missing are found
        assert (found.forms, found.upos, found.heads) == (tree.forms, tuple(TAGS[1]), HEADS)
        assert found.comments == (f"sent_id = {number}", f"text = {' '.join(tree.forms)}")


def test_conllu_is_given_back(run: Run, parser: Path, loaded: DependencyModel, tmp_path: Path) -> None:
    parses = [loaded.parse(sentence) for sentence in parse_conllu(CONLLU)]
    rows = itertools.chain(*(zip(p.tree.heads or (), p.tree.relations, strict=True) for p in parses))
    lines = [line.split("\t") for line in CONLLU.split("\n")]
    expected = "\n".join(
        "\t".join([*line[:6], *map(str, next(rows)), *line[8:]]) if line[0].isdigit() else "\t".join(line)
        for line in lines
    )
    for name in ("a.conllu", "a.conllx", "a"):
        (tmp_path / name).write_text(CONLLU)
        assert run("parse", parser, tmp_path / name).stdout == expected
    assert run("parse", parser, stdin=CONLLU).stdout == expected
    assert run("parse", parser, stdin=CONLLU.removesuffix("\n")).stdout == expected
    assert run("parse", parser, stdin=CONLLU + "# the end\n").stdout == expected + "# the end\n"
    crlf = run("parse", parser, stdin=CONLLU.replace("\n", "\r\n").encode())
    assert crlf.stdout_bytes == expected.replace("\n", "\r\n").encode()


def test_heads_that_are_there_do_not_matter(run: Run, parser: Path, trees: Path) -> None:
    wrong = trees.read_text().replace("\t3\tnsubj", "\t1\twrong")
    result = run("parse", parser, stdin=wrong)
    assert (heads_of(result.stdout), "wrong" in result.stdout) == ([HEADS] * 8, False)


def test_empty_lines_have_no_output(run: Run, parser: Path) -> None:
    result = run("parse", parser, stdin="\n# dogs see\n \ndogs see")
    assert [sentence.forms for sentence in parse_conllu(result.stdout)] == [("#", "dogs", "see"), ("dogs", "see")]
    assert [sentence.comments[0] for sentence in parse_conllu(result.stdout)] == ["sent_id = 2", "sent_id = 4"]


@pytest.fixture(scope="module")
def torn(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parser of the sentence `a b c`, in which c hangs from a or from b."""
    folder = tmp_path_factory.mktemp("torn")
    blocks = (f"a\tA\t0\nb\tB\t1\nc\tC\t{head}\n" for head in (1, 1, 2))
    (folder / "a.conllu").write_text(in_conllu("\n".join(blocks)))
    assert run("train", "dependency", folder / "a.conllu", "-o", folder / "model", "-q").exit_code == 0
    return folder / "model"


def test_n_best(run: Run, torn: Path) -> None:
    model = DependencyModel.load(torn)
    parses = model.parse_nbest(DependencySentence.of(["a", "b", "c"], ["A", "B", "C"]), 3)
    found = list(parse_conllu(run("parse", torn, "--n-best", "3", stdin="a/A b/B c/C\n\na/A b/B c/C\n").stdout))
    expected = [(parse.tree.heads, f"score = {parse.log:.6f}") for parse in parses]
    assert len(expected) > 1
    assert [(tree.heads, tree.comments[-1]) for tree in found] == expected * 2
    ranks = range(1, len(parses) + 1)
    assert [tree.comments[0] for tree in found] == [f"sent_id = {line}-{rank}" for line in (1, 3) for rank in ranks]
    (one,) = parse_conllu(run("parse", torn, "--n-best", "1", stdin="a/A b/B c/C\n").stdout)
    assert (one.heads, one.comments) == (found[0].heads, found[0].comments)
    table = "".join(ROW.format(n, x, "_", x.upper(), "_", "_") for n, x in enumerate("abc", start=1))
    for text, name in ((f"# sent_id = x\n{table}", "x"), (f"# text = a b c\n{table}", "1")):
        found = list(parse_conllu(run("parse", torn, "--n-best", "3", stdin=text).stdout))
        assert [(tree.heads, tree.comments[-1]) for tree in found] == expected
        assert all(f"sent_id = {name}-{rank}" in tree.comments for rank, tree in enumerate(found, start=1))


def test_non_projective(run: Run, parser: Path, loaded: DependencyModel) -> None:
    parse = loaded.parse(DependencySentence.of(gold()[0].forms, gold()[0].xpos), projective=False)
    found = run("parse", parser, "--non-projective", stdin=TAGGED.splitlines()[0])
    assert heads_of(found.stdout) == [parse.tree.heads]
    result = run("parse", parser, "--non-projective", "--n-best", "2", stdin=TAGGED)
    assert (result.exit_code, "--non-projective goes without --n-best" in result.stderr) == (2, True)


def test_fallbacks_are_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(in_conllu("Yes\tUH\t0\n"))
    model = tmp_path / "model"
    run("train", "dependency", tmp_path / "a.conllu", "-o", model, "-q")
    result = run("parse", model, stdin="Yes\n\nYes Yes Yes\n")
    assert result.stderr.endswith("the output has a flat one marked FALLBACK: line 3\n")
    first, second = parse_conllu(result.stdout)
    assert (first.comments, second.comments) == (
        ("sent_id = 1", "text = Yes"),
        ("sent_id = 3", "text = Yes Yes Yes", "FALLBACK"),
    )
    assert second.heads == (0, 1, 1)
    assert run("parse", model, "-q", stdin="Yes Yes").stderr == ""
    (found,) = parse_conllu(run("parse", model, "--n-best", "2", stdin="Yes Yes").stdout)
    assert found.comments == ("sent_id = 1-1", "text = Yes Yes", "rank = 1", "score = -inf", "FALLBACK")
    (tmp_path / "b.conllu").write_text(in_conllu("Yes\tUH\t0\n\nYes\tUH\t0\nYes\tUH\t1\n"))
    figures = json.loads(run("evaluate", model, tmp_path / "b.conllu", "--json").stdout)
    assert (figures["fallbacks"], figures["nonpositive_share"], figures["uas"]) == (1, 50.0, 100.0)


# ---------------------------------------------------------------------------------------------------------------------
# score and evaluate


def test_scores(run: Run, parser: Path, loaded: DependencyModel, trees: Path) -> None:
    crossed = ROW.format(1, "the", "DET", "DT", 4, "_") + "".join(
        ROW.format(n, word, tag, "_", head, "_")
        for n, word, tag, head in [(2, "dogs", "NOUN", 3), (3, "see", "VERB", 0), (4, "cats", "NOUN", 3)]
    )
    unknown = ROW.format(1, "Yes", "INTJ", "UH", 0, "root")
    text = f"{trees.read_text()}{crossed}\n{unknown}"
    weight = loaded.score(parse_conllu(text))
    expected = [f"{log:.6f}\t{sign:.0f}" for log, sign in zip(weight.log, weight.sign, strict=True)]
    assert expected[-1] == "-inf\t0" and math.isfinite(weight.log[-2])
    assert run("score", parser, stdin=text).stdout.splitlines() == expected
    assert run("score", parser, trees).stdout.splitlines() == expected[:-2]


def test_evaluate(run: Run, parser: Path, loaded: DependencyModel, trees: Path) -> None:
    result = run("evaluate", parser, trees, "--json")
    found = json.loads(result.stdout)
    assert (list(found), result.stderr) == (KEYS, "")
    scores = evaluate_dependency_parser(loaded, list(dependency_trees(trees)))
    assert found.pop("sentences_per_second") > 0
    assert found == {
        "uas": 100.0,
        "las": scores.score.las if scores.has_relations else None,
        "las_universal": scores.score.las_universal if scores.has_relations else None,
        "uas_no_punctuation": 100.0,
        "las_no_punctuation": scores.score.las_no_punctuation if scores.has_relations else None,
        "complete": 100.0,
        "nonpositive_share": 0.0,
        "sentences": 8,
        "fallbacks": 0,
    }
    lines = run("evaluate", parser, trees, "--non-projective").stdout.splitlines()
    assert [line[:24].strip().replace(" ", "_") for line in lines] == KEYS


def test_evaluate_without_relations(run: Run, parser: Path, tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text("".join(to_conllu(tree._replace(relations=("_",) * 5)) for tree in gold()))
    figures = json.loads(run("evaluate", parser, tmp_path / "a.conllu", "--json").stdout)
    assert (figures["uas"], figures["las"], figures["las_universal"]) == (100.0, None, None)
    assert "las                         -\n" in run("evaluate", parser, tmp_path / "a.conllu").stdout


def test_evaluate_longer_sentences_and_several_roots(run: Run, parser: Path, trees: Path, tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(in_conllu("dogs\tNNS\t0\nsee\tVBP\t0\n"))
    found = json.loads(run("evaluate", parser, tmp_path / "a.conllu", trees, "--json").stdout)
    assert (found["sentences"], found["nonpositive_share"], found["complete"]) == (9, 100 / 9, 800 / 9)
    found = json.loads(run("evaluate", parser, tmp_path / "a.conllu", trees, "--json", "--max-length", "2").stdout)
    assert (found["sentences"], found["uas"]) == (1, 50.0)
    result = run("evaluate", parser, trees, "--max-length", "2")
    assert (result.exit_code, "no trees of at most 2 words to evaluate on" in result.stderr) == (1, True)


def test_a_treebank_of_nltk(run: Run, require_corpus: Callable[[str], Any], tmp_path: Path) -> None:
    require_corpus("dependency_treebank")
    model = tmp_path / "model"
    result = run("train", "dependency", "nltk:dependency_treebank:dev", "-o", model, "--n-states", "4", "-q")
    assert result.exit_code == 0, result.stderr
    options = ["--max-length", "10", "--json"]
    found = json.loads(run("evaluate", model, "nltk:dependency_treebank:test", *options).stdout)
    assert (found["las"], found["fallbacks"]) == (None, 0)
    assert found["uas"] > 80 and found["uas_no_punctuation"] > 80
    assert found["nonpositive_share"] < 5


@pytest.mark.parametrize("column", ["upos", "xpos"])
def test_tags_stand_in_their_column(run: Run, trees: Path, tmp_path: Path, column: str) -> None:
    """Also where the input has one tag for each word, or none."""
    run("train", "dependency", trees, "-o", tmp_path / "model", "--column", column, "-q")
    tags = TAGS[1] if column == "upos" else TAGS[0]
    pairs = list(zip(gold()[0].forms, tags, strict=True))
    tagged = " ".join(map("/".join, pairs))
    for text in (" ".join(gold()[0].forms), tagged):
        (found,) = parse_conllu(run("parse", tmp_path / "model", stdin=text).stdout)
        other = "xpos" if column == "upos" else "upos"
        assert (getattr(found, column), getattr(found, other)) == (tuple(tags), ("_",) * 5)


@pytest.mark.parametrize("name", ["en_ewt", "de_gsd", "es_gsd", "id_gsd"])
def test_a_tagger_and_a_parser_of_a_treebank_fit_together(
    run: Run, shared_file: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    """Without any option, whatever columns the treebank has: the parser knows all tags that the tagger gives."""
    text = shared_file(f"ud/{name}/{name}-ud-test.conllu").read_text(encoding="utf-8")
    sentences = text.split("\n\n")
    (tmp_path / "train.conllu").write_text("\n\n".join(sentences[:60]) + "\n\n", encoding="utf-8")
    (tmp_path / "new.conllu").write_text("\n\n".join(sentences[60:90]) + "\n\n", encoding="utf-8")
    for kind in ("tagger", "dependency"):
        result = run("train", kind, tmp_path / "train.conllu", "-o", tmp_path / kind, "--n-states", "2")
        assert (result.exit_code, "Warning" in result.stderr) == (0, False)
    words = "".join(" ".join(sentence.forms) + "\n" for sentence in dependency_trees(tmp_path / "new.conllu"))
    tagged = run("tag", tmp_path / "tagger", "-", stdin=words)
    parsed = run("parse", tmp_path / "dependency", "-", "--format", "tagged", stdin=tagged.stdout)
    assert (tagged.exit_code, parsed.exit_code, "tags" in parsed.stderr) == (0, 0, False)
    result = run("evaluate", tmp_path / "dependency", tmp_path / "new.conllu", "--json")
    assert json.loads(result.stdout)["uas"] > 50


def test_tags_that_the_parser_does_not_know(run: Run, torn: Path) -> None:
    result = run("parse", torn, stdin="a/A b/NOUN c/VERB\na/A b/NOUN\n")
    assert (result.exit_code, result.stderr) == (
        0,
        "Warning: the parser does not know the tags of 3 words, such as NOUN, VERB, and leaves them open; it "
        "learned upos tags such as A, B, C\n",
    )
    for text in ("a/A b/B c/C\n", "a b c\n"):
        assert run("parse", torn, stdin=text).stderr == ""
    assert run("parse", torn, "-q", stdin="a/X b/B c/C").stderr == ""


def test_the_probability_of_each_head_is_written(run: Run, parser: Path, loaded: DependencyModel) -> None:
    text = CONLLU.replace("|", "\t").replace("\t_\n", "\tGloss=x|HeadProb=7\n")
    plain = run("parse", str(parser), "--format", "conllu", stdin=text).stdout.splitlines(keepends=True)
    lines = run("parse", str(parser), "--format", "conllu", "--confidence", stdin=text).stdout.splitlines(keepends=True)
    shown = []
    for one, other in zip(plain, lines, strict=True):
        if one != other:
            assert other.startswith(one.removesuffix("7\n"))
            shown.append(float(other.split("HeadProb=")[1]))
    found = [tree for tree in parse_conllu("".join(plain)) if tree.heads]
    expected = [posterior for row in loaded.part_posteriors(found) for posterior in row.tolist()]
    assert shown == pytest.approx(expected, abs=6e-4)


def test_raw_text_becomes_a_table_with_all_columns(run: Run, tmp_path: Path) -> None:
    """A pipeline learns to divide text, tokens of two words too, and `evaluate` divides gold text."""
    rows = [
        ("They", "they", "PRON", "_", "_", 4, "nsubj"),
        ("do", "do", "AUX", "_", "Mood=Ind", 4, "aux"),
        ("n't", "not", "PART", "_", "_", 4, "advmod"),
        ("{0}", "{0}", "VERB", "_", "VerbForm=Inf", 0, "root"),
        (".", ".", "PUNCT", "_", "_", 4, "punct"),
    ]
    blocks = []
    for number, verb in enumerate(("see", "bark", "run", "sleep", "eat", "play") * 4):
        lines = ["\t".join(map(str, (at, *row, "_", "_"))).format(verb) for at, row in enumerate(rows, start=1)]
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
