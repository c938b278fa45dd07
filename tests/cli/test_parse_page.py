"""Pages of `parse --html`: trees drawn, words as text, nothing that browsers load."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.pages import Page

Run = Callable[..., Any]
HOSTILE = "<script>x='y'</script>"


def test_every_tree_is_drawn(run: Run, model: Path, tmp_path: Path) -> None:
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


def test_arcs_are_drawn(run: Run, tmp_path: Path) -> None:
    rows = "1\tDogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    (tmp_path / "gold.conllu").write_text(rows * 5)
    assert run("train", "dependency", tmp_path / "gold.conllu", "-o", tmp_path / "model", "-q").exit_code == 0
    assert run("parse", tmp_path / "model", "--html", tmp_path / "page.html", stdin="Dogs bark\n").exit_code == 0
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.texts["title"][1:] == ["Dogs: nsubj of bark, bark: root of the root"]
