"""The page of `parse --html`: structure, escaping, and every tree."""

import re
from pathlib import Path

from tests.cli.conftest import Run
from tests.cli.pages import Page

HOSTILE = "<script>x='y'</script>"


def test_every_tree_is_drawn(run: Run, model: Path, files: Path, tmp_path: Path) -> None:
    lines = f"They see it .\n\nThe {HOSTILE} left it .\n"
    done = run("parse", model, "--html", tmp_path / "page.html", "--n-best", "2", stdin=lines)
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = Page(text)
    assert (page.wrong, page.open, page.all("script")) == ([], [], [])
    assert page.texts["h2"] == ["1: They see it .", f"3: The {HOSTILE} left it ."]
    trees = [shown for shown in page.texts["p"] if re.fullmatch(r"Tree \d: log \|p̂\| = -(inf|[\d.]+)", shown)]
    assert len(page.all("svg")) == len(trees) >= 2
    assert page.texts["title"][0] == "Trees of standard input"
    assert re.findall(r"(?:src|href)=\"(?!#)|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text) == []
    (policy,) = (meta["content"] for meta in page.all("meta") if "http-equiv" in meta)
    assert str(policy).startswith("default-src 'none'")
    assert page.all("html") == [{"lang": "en"}]
    assert all(region["tabindex"] == "0" for region in page.all("div"))
    table = (files / "gold.conllu").read_text().partition("\n\n")[0] + "\n\n"
    assert run("parse", files / "dependency", "--html", tmp_path / "page.html", stdin=table).exit_code == 0
    (arcs,) = Page((tmp_path / "page.html").read_text(encoding="utf-8")).texts["title"][1:]
    assert "They: dep of see" in arcs and "see: root of the root" in arcs
