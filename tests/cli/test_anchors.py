"""Anchor models on the command line: `train anchor`, `anchors`, `tag` and `evaluate`."""

import itertools
import json
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.inspection.anchors import anchor_plane, anchor_rows, anchor_table, draw_anchors
from spectral_latent.sequence import HMMOptions, LatentHMM

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
    assert run("train", "anchor", source, "-o", path, "--n-states", "4", "-q").exit_code == 0
    return path


@pytest.fixture(scope="module")
def labels(anchored: Path) -> dict[str, str]:
    tag_of = dict(itertools.chain.from_iterable(gold()))
    return {anchor: tag_of[anchor] for anchor in AnchorHMM.load(anchored).anchors}


@pytest.fixture(scope="module")
def labelled(run: Run, anchored: Path, labels: dict[str, str]) -> Path:
    path = anchored.parent / "labelled"
    options = itertools.chain.from_iterable(("--label", f"{anchor.upper()}={tag}") for anchor, tag in labels.items())
    result = run("anchors", anchored, *options, "-o", path)
    assert (result.exit_code, result.stderr) == (0, f"{path}: written\n")
    return path


def test_tags_do_not_matter(run: Run, source: Path, anchored: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(" ".join(row) + "\n" for row in sentences()))
    for name, sources in (("a", [tmp_path / "a.txt"]), ("b", [tmp_path])):
        assert run("train", "anchor", *sources, "-o", tmp_path / name, "--n-states", "4", "-q").output == ""
        assert AnchorHMM.load(tmp_path / name).fingerprint == AnchorHMM.load(anchored).fingerprint


def test_settings(run: Run, source: Path, tmp_path: Path) -> None:
    options = ["--no-spelling", "--window", "2", "--n-states", "3"]
    assert run("train", "anchor", source, "-o", tmp_path / "model", *options, "-q").exit_code == 0
    assert AnchorHMM.load(tmp_path / "model").options == AnchorOptions(3, window=2, spelling=False)


@pytest.mark.parametrize(
    ("content", "message"), [(b"\n \n", "no words"), (b"caf\xe9", "byte 4: 0xe9 is not UTF-8"), (b"", "no words")]
)
def test_texts_that_cannot_be_learnt_from(run: Run, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    result = run("train", "anchor", tmp_path / "a.txt", "-o", tmp_path / "model")
    assert (result.exit_code, message in result.stderr, (tmp_path / "model").exists()) == (1, True, False)


def test_table(run: Run, anchored: Path, labelled: Path, labels: dict[str, str]) -> None:
    result = run("anchors", anchored, "--top", "2")
    assert (result.exit_code, result.stderr) == (0, "")
    model = AnchorHMM.load(anchored)
    assert result.stdout == anchor_table(model, 2) + "\n"
    head, *lines = result.stdout.splitlines()
    assert head.split() == ["state", "anchor", "share", "top", "words"]
    for line, row in zip(lines, anchor_rows(model, 2), strict=True):
        assert line.split()[:3] == [str(row.state), row.anchor, f"{100 * row.share:.1f}"]
        assert f"{row.words[0][0]} {row.words[0][1]:.3f}" in line
    head, *lines = run("anchors", labelled).stdout.splitlines()
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
    assert run("anchors", labelled, "--label", f"{first}=X", "-o", again).exit_code == 0
    assert AnchorHMM.load(again).labels == ("X", *(labels[anchor] for anchor in rest))
    result = run("anchors", anchored, "--label", f"{first}=X", "-o", again)
    assert (result.exit_code, f"no tag for the anchors {rest[0]!r}" in result.stderr) == (1, True)
    result = run("anchors", anchored, "--label", "never=X", "-o", again)
    assert (result.exit_code, "'never' is not an anchor; the anchors are" in result.stderr) == (1, True)
    for wrong in (["--label", "the=X"], ["-o", again], ["--label", "the", "-o", again], ["--label", "=X", "-o", again]):
        assert run("anchors", anchored, *wrong).exit_code == 2
    assert AnchorHMM.load(again).labels == ("X", *(labels[anchor] for anchor in rest))  # as it was


@pytest.mark.parametrize("ending", ["svg", "png", "pdf", "SVG"])
def test_picture(run: Run, labelled: Path, tmp_path: Path, ending: str) -> None:
    for name in ("a", "b"):
        result = run("anchors", labelled, "--picture", tmp_path / f"{name}.{ending}")
        assert (result.exit_code, result.stderr) == (0, f"{tmp_path / name}.{ending}: written\n")
    content = (tmp_path / f"a.{ending}").read_bytes()
    assert content[:5] in (b"<?xml", b"\x89PNG\r", b"%PDF-")
    if ending == "svg":
        assert content == (tmp_path / "b.svg").read_bytes()
        texts = {element.text for element in ET.fromstring(content).iter("{http://www.w3.org/2000/svg}text")}
        model = AnchorHMM.load(labelled)
        assert model.labels is not None
        assert texts == {f"{anchor} ({tag})" for anchor, tag in zip(model.anchors, model.labels, strict=True)}


def test_pictures_of_odd_words(tmp_path: Path) -> None:
    words = ["$x_1$", "日本", "\x00", "a b", "<b>", "\\frac"]
    model = AnchorHMM.train([[word, "."] for word in words] * 3)
    draw_anchors(model, tmp_path / "odd.svg")
    ET.fromstring((tmp_path / "odd.svg").read_bytes())
    anchor_table(model).encode()
    assert len(anchor_table(model).splitlines()) == model.n_states + 1


def test_pictures_that_cannot_be(run: Run, anchored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, message in (
        ("a.txt", "a.txt: name a picture that ends in .pdf, .png, .svg"),
        ("none/a.svg", "the folder does not exist; create it first"),
    ):
        result = run("anchors", anchored, "--picture", tmp_path / name)
        assert (result.exit_code, message in result.stderr) == (2 if "folder" in message else 1, True)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("anchors", anchored, "--picture", tmp_path / "a.svg")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "matplotlib" in result.stderr and "the extra `pictures`" in result.stderr
    assert list(tmp_path.iterdir()) == []


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
    result = run("evaluate", anchored, source, "--unsupervised", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert list(found) == KEYS
    assert (found["sentences"], found["tokens"]) == (len(gold()), sum(map(len, gold())))
    assert found["tokens_per_second"] > 0
    assert 90 < found["many_to_one"] <= 100
    assert found["one_to_one"] <= found["many_to_one"]
    others = json.loads(run("evaluate", labelled, source, "--unsupervised", "--json").stdout)
    assert all(others[key] == found[key] for key in KEYS[:-1])  # labels do not matter
    lines = run("evaluate", anchored, source, "--unsupervised").stdout.splitlines()
    assert [line[:24].strip().replace(" ", "_") for line in lines] == KEYS


def test_evaluate_as_a_tagger(run: Run, source: Path, anchored: Path, labelled: Path, tmp_path: Path) -> None:
    found = json.loads(run("evaluate", labelled, source, "--json").stdout)
    unsupervised = json.loads(run("evaluate", labelled, source, "--unsupervised", "--json").stdout)
    assert 90 < found["accuracy"] <= unsupervised["many_to_one"]
    assert found["unknown_tokens"] == 0
    (tmp_path / "a.tagged").write_text("The/DET Dog/NOUN sees/VERB mice/NOUN ./PUNCT\n")
    assert json.loads(run("evaluate", labelled, tmp_path / "a.tagged", "--json").stdout)["unknown_tokens"] == 1
    result = run("evaluate", anchored, source)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "an anchor model without labels, where a tagger is needed; use it with" in result.stderr
    assert "evaluate --unsupervised" in result.stderr


def test_evaluate_universal_tags(run: Run, labelled: Path, model: Path, treebank: Path, tmp_path: Path) -> None:
    rows = [("the", "DET"), ("dog", "PROPN"), ("likes", "AUX"), (".", "PUNCT")]
    lines = (f"{number}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for number, (word, tag) in enumerate(rows, start=1))
    (tmp_path / "a.conllu").write_text("".join(lines))
    for options, accuracy in (([], 50.0), (["--universal"], 75.0)):
        found = json.loads(run("evaluate", labelled, tmp_path / "a.conllu", "--json", "-q", *options).stdout)
        assert found["accuracy"] == accuracy  # of universal tags, that of a full stop is one
    options = ["--universal", "--unsupervised", "--json"]
    assert json.loads(run("evaluate", labelled, tmp_path / "a.conllu", *options).stdout)["many_to_one"] == 100.0
    (tmp_path / "b.tagged").write_text("the/DT\n")
    result = run("evaluate", labelled, tmp_path / "b.tagged", "--universal")
    assert (result.exit_code, "'DT' is neither a UPOS tag nor a universal one" in result.stderr) == (1, True)
    assert run("evaluate", labelled, tmp_path / "a.conllu", "--universal", "--column", "xpos").exit_code == 2
    assert run("evaluate", model, treebank, "--universal").exit_code == 2


def test_evaluate_states_of_other_models(run: Run, source: Path, tagger: Path, model: Path, tmp_path: Path) -> None:
    options = HMMOptions(EstimatorOptions("em", n_states=4, iterations=20), choose_states=False)
    LatentHMM.train(sentences(), options).save(tmp_path / "em")
    found = json.loads(run("evaluate", tmp_path / "em", source, "--unsupervised", "--json").stdout)
    assert (list(found), found["many_to_one"] > 40) == (KEYS, True)
    LatentHMM.train(sentences()).save(tmp_path / "spectral")
    for path, message in (
        (tmp_path / "spectral", "spectral operators have no states"),
        (tagger, "a tagger, where a model of sequences without tags is needed"),
        (model, "a parser, where a model of sequences without tags is needed"),
    ):
        result = run("evaluate", path, source, "--unsupervised")
        assert (result.exit_code, result.stdout, message in result.stderr) == (1, "", True)


def test_labels_that_are_no_strings(run: Run, source: Path, anchored: Path, tmp_path: Path) -> None:
    model = AnchorHMM.load(anchored)
    model.label(dict(zip(model.anchors, range(4), strict=True))).save(tmp_path / "numbers")
    result = run("tag", tmp_path / "numbers", stdin="the dog")
    assert (result.exit_code, "the tag 0 is not a string; use the model in Python" in result.stderr) == (1, True)
    assert "  3" in run("anchors", tmp_path / "numbers").stdout


def test_english(run: Run, shared_file: Callable[[str], Path], tmp_path: Path) -> None:
    source = shared_file("ud/en_ewt/en_ewt-ud-dev.conllu")
    assert run("train", "anchor", source, "-o", tmp_path / "model", "-q").exit_code == 0
    options = ["--unsupervised", "--universal", "--json"]
    found = json.loads(run("evaluate", tmp_path / "model", source, *options).stdout)
    assert found["tokens"] == 25147
    assert found["many_to_one"] > 50
    assert len(run("anchors", tmp_path / "model").stdout.splitlines()) == 13
