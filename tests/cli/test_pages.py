"""The pages of `info --html` and `parse --html`: structure, escaping, size, and that they say what is so."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from spectral_latent.cli.report import _Accuracy, _Case
from tests.cli.conftest import Run
from tests.cli.pages import Page

HOSTILE = "<script>x='y'</script>"
QUOTING = "\"'><img/onerror=x>&amp;"
TREES = "\n".join(
    f"(S (NP (DT the) (NN {noun})) (VP (VBZ {verb}) (NP (NN {thing}))) (. .))"
    for noun in ("dog\x07", HOSTILE, QUOTING)
    for verb in ("sees", "likes")
    for thing in ("rain", "snow", HOSTILE)
)
ROWS = "1\t{}\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tsees\t_\tVERB\t_\t_\t0\troot\t_\t_\n3\t{}\t_\t{}\t_\t_\t2\tobj\t_\t_\n"
ROWS += "4\tnow\t_\tADV\t_\t_\t2\tadvmod\t_\t_\n5\t.\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_\n\n"
KINDS = {"constituency": "gold.mrg", "dependency": "gold.conllu", "tagger": "gold.conllu"}


@pytest.fixture(scope="module")
def pages(run: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Write the page of a small model of each kind, whose corpus has hostile words."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "gold.mrg").write_text(TREES)
    rows = [ROWS.format(noun, thing, "NOUN") for noun in ("dogs", HOSTILE, QUOTING) for thing in ("rain", "it")]
    (folder / "gold.conllu").write_text("".join(rows))
    (folder / "other.conllu").write_text("".join(row.replace("it\t_\tNOUN", "it\t_\tPRON") for row in rows))
    pages = {}
    for kind, gold in KINDS.items():
        source = folder / ("other.conllu" if kind == "tagger" else gold)
        model = folder / kind
        assert run("train", kind, source, "-o", model, "--n-states", "2", "-q").exit_code == 0
        done = run("info", model, folder / gold, "--html", folder / f"{kind}.html", "--top", "3")
        assert done.exit_code == 0, done.output
        assert done.stdout == ""
        pages[kind] = (folder / f"{kind}.html").read_text(encoding="utf-8")
    return pages


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_well_formed_and_loads_nothing(pages: dict[str, str], kind: str) -> None:
    text = pages[kind]
    page = Page(text)
    assert page.wrong == []
    assert page.open == [] and re.findall(r"[\x00-\x08\x0b-\x1f]", text) == []
    assert len(text.encode()) < 1_000_000
    assert re.findall(r"(?:src|href)=\"(?!#)|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text) == []
    (policy,) = (meta["content"] for meta in page.all("meta") if "http-equiv" in meta)
    assert str(policy).startswith("default-src 'none'")


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_words_are_text(pages: dict[str, str], kind: str) -> None:
    page = Page(pages[kind])
    assert len(page.all("script")) == 1
    assert page.all("img") == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    shown = [text for texts in page.texts.values() for text in texts]
    assert any(HOSTILE in text for text in shown)
    assert any(QUOTING in text for text in shown)


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_can_be_used_without_a_mouse_and_without_eyes(pages: dict[str, str], kind: str) -> None:
    page = Page(pages[kind])
    assert page.all("html") == [{"lang": "en"}]
    names = Counter(attributes["id"] for _, attributes in page.elements if "id" in attributes)
    assert set(names.values()) == {1}
    assert all(str(link["href"])[1:] in names for link in page.all("a"))
    headings = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert headings == [1] + [2] * (len(headings) - 1)
    assert len(page.all("table")) == len(page.all("caption"))
    regions = [attributes for attributes in page.all("div") if attributes.get("role") == "region"]
    assert len(regions) >= len(page.all("table"))
    assert all(region["tabindex"] == "0" and region["aria-label"] for region in regions)
    assert len(page.all("label")) == len(page.all("input")) == 2
    assert all(field["data-of"] in names and f"{field['data-of']}-count" in names for field in page.all("input"))
    assert len(page.all("svg")) == len(page.all("title")) - 1
    assert len(page.all("details")) == len(page.all("summary")) > 0


def test_sections_of_a_parser(pages: dict[str, str]) -> None:
    page = Page(pages["constituency"])
    assert [element["id"] for element in page.all("section")] == [*("accuracy", "symbols", "rules", "model")]
    assert page.texts["p"][0] == "F1 100.0; 100.0 % of the trees and 100.0 % of the tags are right."
    assert any("the dog" in text for text in page.texts["td"])
    assert len(page.all("svg")) > 0
    assert any("S → NP @S" in text for text in page.texts["th"])
    assert any(text.startswith("Best, F1 100.0") for text in page.texts["summary"])
    opened = [attributes for attributes in page.all("details") if "open" in attributes]
    assert 0 < len(opened) <= 6


@pytest.mark.parametrize("number", [1, 6, 7, 30])
def test_no_sentence_is_both_best_and_worst(number: int) -> None:
    """Few sentences are all shown, and of many five of each."""
    cases = [_Case(["a"] * (5 + n % 3), 100.0 * (n % 4 > 0), list) for n in range(number)]
    accuracy = _Accuracy("", "F1", cases, Counter())
    shown = {id(case) for case in (*accuracy.worst, *accuracy.best)}
    assert len(shown) == len(accuracy.worst) + len(accuracy.best) == min(number, 10)
    assert accuracy.best[0] == max(cases, key=lambda case: (case.score, len(case.words)))


def test_labels_that_are_taken_for_others_are_counted(pages: dict[str, str]) -> None:
    """In training `it` is a pronoun, in the gold file a noun: three of twelve nouns."""
    text = pages["tagger"]
    confused = text[text.index('<table id="confused"') :].partition("</table>")[0]
    row = r'<tr><th scope="row">NOUN</th><td>PRON</td><td class="n">3</td>\s*<td><span.*?>25.0 %</span>.*?</td></tr>'
    assert re.findall('<tr><th scope="row">.*?</tr>', confused, re.DOTALL) == re.findall(row, confused) != []


def test_the_page_of_an_anchor_model(run: Run, tmp_path: Path) -> None:
    rows = [ROWS.format(noun, thing, "NOUN") for noun in ("dogs", HOSTILE) for thing in ("rain", "it")]
    (tmp_path / "gold.conllu").write_text("".join(rows))
    model = tmp_path / "anchors"
    assert run("train", "anchors", tmp_path / "gold.conllu", "-o", model, "--n-states", "2", "-q").exit_code == 0
    done = run("info", model, tmp_path / "gold.conllu", "--html", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    assert [element["id"] for element in page.all("section")] == ["symbols", "confusion", "model"]
    assert (page.wrong, len(page.all("script"))) == ([], 1)
    met = text[text.index('<table id="met"') :]
    assert sum(map(int, re.findall(r'<td class="n">(\d+)</td>', met))) == 20


def test_a_page_without_jinja2_names_the_extra(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for arguments in (("info", model), ("parse", model), ("parse", "absent.model")):  # before the model is read
        refused = run(*arguments, "--html", tmp_path / "page.html", stdin="They see it .\n")
        assert (refused.exit_code, "the extra `pages`" in refused.output) == (1, True)
    assert not (tmp_path / "page.html").exists()


# Trees


def test_every_tree_is_drawn(run: Run, model: Path, files: Path, tmp_path: Path) -> None:
    lines = f"They see it .\n\nThe {HOSTILE} left it .\n"
    done = run("parse", model, "--html", tmp_path / "page.html", "--n-best", "2", stdin=lines)
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    assert (page.wrong, page.open, len(page.all("script"))) == ([], [], 1)
    assert page.texts["h2"] == ["1: They see it .", f"3: The {HOSTILE} left it ."]
    trees = [shown for shown in page.texts["p"] if re.fullmatch(r"Tree \d: log \|p̂\| = -(inf|[\d.]+)", shown)]
    assert len(page.all("svg")) == len(trees) >= 2
    assert page.texts["title"][0] == "Trees of standard input"
    assert re.findall(r"(?:src|href)=\"(?!#)", text) == []
    assert all(region["tabindex"] == "0" for region in page.all("div"))
    table = (files / "gold.conllu").read_text().partition("\n\n")[0] + "\n\n"
    assert run("parse", files / "dependency", "--html", tmp_path / "page.html", stdin=table).exit_code == 0
    (arcs,) = Page((tmp_path / "page.html").read_text(encoding="utf-8")).texts["title"][1:]
    assert "They: dep of see" in arcs and "see: root of the root" in arcs


def test_a_page_of_a_model_without_states(run: Run, treebank: Path, tmp_path: Path) -> None:
    options = ("--estimator", "spectral", "--n-states", "2", "-q")
    assert run("train", "constituency", treebank, "-o", tmp_path / "model", *options).exit_code == 0
    assert run("info", tmp_path / "model", "--html", tmp_path / "page.html").exit_code == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert [element["id"] for element in page.all("section")] == ["symbols", "model"]
    assert "singular value" in page.texts["th"]
