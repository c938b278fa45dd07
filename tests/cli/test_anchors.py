"""Anchor models on the command line: `train anchors`, `info --states`, `label`, `tag` and `evaluate`."""

import itertools
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.anchors import AnchorHMM
from spectral_latent.inspection.anchors import anchor_plane, anchor_rows, anchor_table, draw_anchors

Run = Callable[..., Any]
PARTS = {"DET": ["the", "a", "this"], "NOUN": ["dog", "cat", "bird"], "VERB": ["sees", "hears", "likes"]}
OBJECTS = [[], [("the", "DET"), ("dog", "NOUN")], [("a", "DET"), ("bird", "NOUN")], [("it", "NOUN")]]
KEYS = ["many_to_one", "one_to_one", "v_measure", "sentences", "tokens", "tokens_per_second"]


def gold() -> list[list[tuple[str, str]]]:
    begins = itertools.product(*([(word, tag) for word in words] for tag, words in PARTS.items()))
    return [[*begin, *thing, (".", "PUNCT")] for begin, thing in itertools.product(begins, OBJECTS)]


def sentences() -> list[list[str]]:
    return [[word for word, _ in sentence] for sentence in gold()]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("anchors") / "all.tagged"
    path.write_text("".join(" ".join(map("/".join, row)) + "\n" for row in gold()))
    return path


@pytest.fixture(scope="module")
def anchored(run: Run, source: Path) -> Path:
    path = source.parent / "anchored"
    assert run("train", "anchors", source, "-o", path, "--n-states", "4", "-q").exit_code == 0
    return path


@pytest.fixture(scope="module")
def labels(anchored: Path) -> dict[str, str]:
    tag_of = dict(itertools.chain.from_iterable(gold()))
    return {anchor: tag_of[anchor] for anchor in AnchorHMM.load(anchored).anchors}


@pytest.fixture(scope="module")
def labelled(run: Run, anchored: Path, labels: dict[str, str]) -> Path:
    path = anchored.parent / "labelled"
    given = (f"{anchor.upper()}={tag}" for anchor, tag in labels.items())
    result = run("label", anchored, *given, "-o", path)
    assert (result.exit_code, result.stderr) == (0, f"{path}: written\n")
    return path


def test_tags_do_not_matter(run: Run, source: Path, anchored: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(" ".join(row) + "\n" for row in sentences()))
    for name, sources in (("a", [tmp_path / "a.txt"]), ("b", [tmp_path])):
        assert run("train", "anchors", *sources, "-o", tmp_path / name, "--n-states", "4", "-q").output == ""
        assert AnchorHMM.load(tmp_path / name).fingerprint == AnchorHMM.load(anchored).fingerprint


def test_table(run: Run, anchored: Path, labelled: Path, labels: dict[str, str]) -> None:
    result = run("info", anchored, "--states", "--top", "2")
    assert (result.exit_code, result.stderr) == (0, "")
    model = AnchorHMM.load(anchored)
    assert result.stdout == anchor_table(model, 2) + "\n"
    head, *lines = result.stdout.splitlines()
    assert head.split() == ["state", "anchor", "share", "top", "words"]
    for line, row in zip(lines, anchor_rows(model, 2), strict=True):
        assert line.split()[:3] == [str(row.state), row.anchor, f"{100 * row.share:.1f}"]
        assert f"{row.words[0][0]} {row.words[0][1]:.3f}" in line
    head, *lines = run("info", labelled, "--states").stdout.splitlines()
    assert head.split()[:3] == ["state", "anchor", "label"]
    assert [line.split()[1:3] for line in lines] == [list(pair) for pair in labels.items()]


def test_rows(anchored: Path) -> None:
    model = AnchorHMM.load(anchored)
    rows = anchor_rows(model, 3)
    assert sum(row.share for row in rows) == pytest.approx(1.0)
    assert [row.words for row in rows] == model.top_words(3)
    assert {row.label for row in rows} == {None}
    assert model.names == [row.anchor.upper() for row in rows]


def test_plane(anchored: Path) -> None:
    """Anchors are where their words are, and distances are those of the corners' largest two directions."""
    model = AnchorHMM.load(anchored)
    anchors, words = anchor_plane(model, 100)
    assert anchors.mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    for word, state in model.anchors.items():
        assert words[word] == pytest.approx(anchors[state], abs=1e-6)
    assert set(words) == set(model.words)
    scatter = anchors.T @ anchors
    assert scatter[0, 1] == pytest.approx(0.0, abs=1e-9)
    assert scatter[0, 0] >= scatter[1, 1]
    one = AnchorHMM.train([["rain"]])
    assert anchor_plane(one)[1]["rain"].tolist() == [0.0, 0.0]


def test_one_label_for_each_anchor(run: Run, anchored: Path, labelled: Path, labels: dict[str, str]) -> None:
    assert AnchorHMM.load(labelled).labels == tuple(labels.values())
    first, *rest = labels
    again = labelled.parent / "again"
    assert run("label", labelled, f"{first}=X", "-o", again).exit_code == 0
    assert AnchorHMM.load(again).labels == ("X", *(labels[anchor] for anchor in rest))
    result = run("label", anchored, f"{first}=X", "-o", again)
    assert (result.exit_code, f"no tag for the anchors {rest[0]!r}" in result.stderr) == (1, True)
    result = run("label", anchored, "never=X", "-o", again)
    assert (result.exit_code, "'never' is not an anchor; the anchors are" in result.stderr) == (1, True)
    for wrong in (["the=X"], ["-o", again], ["the", "-o", again], ["=X", "-o", again]):
        assert run("label", anchored, *wrong).exit_code == 2
    assert AnchorHMM.load(again).labels == ("X", *(labels[anchor] for anchor in rest))  # as it was


def test_pictures_of_odd_words(tmp_path: Path) -> None:
    words = ["$x_1$", "日本", "\x00", "a b", "<b>", "\\frac"]
    model = AnchorHMM.train([[word, "."] for word in words] * 3)
    draw_anchors(model, tmp_path / "odd.svg")
    ET.fromstring((tmp_path / "odd.svg").read_bytes())
    anchor_table(model).encode()
    assert len(anchor_table(model).splitlines()) == model.n_states + 1


def test_tag(run: Run, anchored: Path, labelled: Path, labels: dict[str, str]) -> None:
    text = "\n".join(map(" ".join, sentences()[:5])) + "\n\n"
    model = AnchorHMM.load(anchored)
    for path, names in ((anchored, model.names), (labelled, list(labels.values()))):
        result = run("tag", path, stdin=text)
        tagged = [
            " ".join(f"{word}/{names[state]}" for word, state in zip(row, states, strict=True))
            for row, states in zip(sentences()[:5], model.tag_all(sentences()[:5]), strict=True)
        ]
        assert (result.exit_code, result.stdout.splitlines()) == (0, [*tagged, ""])
    row = "1\tdog\t_\t{}\t_\t_\t_\t_\t_\t_\n2\t.\t_\t{}\t_\t_\t_\t_\t_\t_\n"
    found = model.tag(["dog", "."])
    names = [list(labels.values())[state] for state in found]
    assert run("tag", labelled, "--format", "conllu", stdin=row.format("_", "_")).stdout == row.format(*names)


def test_evaluate_unsupervised(run: Run, source: Path, anchored: Path, labelled: Path) -> None:
    result = run("evaluate", anchored, source, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert list(found) == KEYS
    assert (found["sentences"], found["tokens"]) == (len(gold()), sum(map(len, gold())))
    assert found["tokens_per_second"] > 0
    assert 90 < found["many_to_one"] <= 100
    assert found["one_to_one"] <= found["many_to_one"]
    lines = run("evaluate", anchored, source).stdout.splitlines()
    assert [line[:24].strip().replace(" ", "_") for line in lines] == KEYS


def test_evaluate_as_a_tagger(run: Run, source: Path, anchored: Path, labelled: Path, tmp_path: Path) -> None:
    found = json.loads(run("evaluate", labelled, source, "--json").stdout)
    unsupervised = json.loads(run("evaluate", anchored, source, "--json").stdout)
    assert 90 < found["accuracy"] <= unsupervised["many_to_one"]
    assert found["unknown_tokens"] == 0
    (tmp_path / "a.tagged").write_text("The/DET Dog/NOUN sees/VERB mice/NOUN ./PUNCT\n")
    assert json.loads(run("evaluate", labelled, tmp_path / "a.tagged", "--json").stdout)["unknown_tokens"] == 1


def test_evaluate_universal_tags(
    run: Run, anchored: Path, labelled: Path, model: Path, treebank: Path, tmp_path: Path
) -> None:
    rows = [("the", "DET"), ("dog", "PROPN"), ("likes", "AUX"), (".", "PUNCT")]
    lines = (f"{number}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for number, (word, tag) in enumerate(rows, start=1))
    (tmp_path / "a.conllu").write_text("".join(lines))
    for options, accuracy in (([], 50.0), (["--column", "universal"], 75.0)):
        found = json.loads(run("evaluate", labelled, tmp_path / "a.conllu", "--json", "-q", *options).stdout)
        assert found["accuracy"] == accuracy  # of universal tags, that of a full stop is one
    options = ["--column", "universal", "--json"]
    assert json.loads(run("evaluate", anchored, tmp_path / "a.conllu", *options).stdout)["many_to_one"] == 100.0
    (tmp_path / "b.tagged").write_text("the/DT\n")
    result = run("evaluate", labelled, tmp_path / "b.tagged", "--column", "universal")
    assert (result.exit_code, "'DT' is neither a UPOS tag nor a universal one" in result.stderr) == (1, True)
    assert run("evaluate", model, treebank, "--column", "universal").exit_code == 2


def test_labels_that_are_no_strings(run: Run, source: Path, anchored: Path, tmp_path: Path) -> None:
    model = AnchorHMM.load(anchored)
    model.label(dict(zip(model.anchors, range(4), strict=True))).save(tmp_path / "numbers")
    result = run("tag", tmp_path / "numbers", stdin="the dog")
    assert (result.exit_code, "the tag 0 is not a string; use the model in Python" in result.stderr) == (1, True)
    assert "  3" in run("info", tmp_path / "numbers", "--states").stdout


def test_english(run: Run, shared_file: Callable[[str], Path], tmp_path: Path) -> None:
    source = shared_file("ud/en_ewt/en_ewt-ud-dev.conllu")
    assert run("train", "anchors", source, "-o", tmp_path / "model", "-q").exit_code == 0
    options = ["--column", "universal", "--json"]
    found = json.loads(run("evaluate", tmp_path / "model", source, *options).stdout)
    assert found["tokens"] == 25147
    assert found["many_to_one"] > 50
    assert len(run("info", tmp_path / "model", "--states").stdout.splitlines()) == 13
