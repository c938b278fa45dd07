"""The page in a browser without a screen: trees are drawn, changed by clicks and keys, undone and accepted."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spectral_latent.constituency import Phrase
from spectral_latent.corpora import parse_brackets
from spectral_latent_annotate import Project, serve
from tests.toy import toy_treebank

pytest.importorskip("flask")
webdriver = pytest.importorskip("selenium.webdriver")
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="no chromium and chromedriver; install Debian's chromium-driver"
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
TREES = toy_treebank(40)
WORDS = ["the", "dog", "saw", "a", "cat", "in", "the", "garden"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--window-size=1400,900",
    ):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.implicitly_wait(10)
    yield driver
    driver.quit()


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Page]:
    path = tmp_path / "trees.mrg"
    path.write_text("\n".join(tree.bracketed() for tree in TREES) + "\n", encoding="utf-8")
    project = Project(path, [WORDS, list(TREES[1].words())[:4]], annotator="anna")
    server = serve(project, 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    browser.get(server.address)
    found = Page(browser, project, server.address)
    found.wait_for("sentence 1")
    yield found
    browser.get("about:blank")
    server.shutdown()
    thread.join()
    server.server_close()
    project.close()


class Page:
    """What a reader sees and does on the page."""

    def __init__(self, browser: Any, project: Project, address: str) -> None:
        self.address = address
        self.browser = browser
        self.project = project

    def wait_for(self, title: str) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.browser, 20).until(lambda driver: driver.find_element("id", "title").text == title)

    def tree(self) -> Phrase:
        """Return the tree that the page would send."""
        (found,) = parse_brackets(
            self.browser.execute_script(
                "const write = n => `(${n.label} ${n.word !== undefined ? n.word : n.children.map(write).join(' ')})`;"
                "return write(tree)"
            )
        )
        return found

    def click(self, first: int, end: int, label: str, *, shift: bool = False) -> None:
        from selenium.webdriver import ActionChains, Keys

        (node, *_) = self.browser.find_elements(
            "css selector", f'[data-span="{first}-{end}"][data-label="{label}"] text'
        )
        actions = ActionChains(self.browser)
        actions = actions.key_down(Keys.SHIFT) if shift else actions
        actions = actions.click(node)
        (actions.key_up(Keys.SHIFT) if shift else actions).perform()

    def press(self, key: str) -> None:
        self.browser.find_element("id", "tree").send_keys(key)

    def answer(self, label: str) -> None:
        from selenium.webdriver import Keys

        field = self.browser.find_element("id", "label")
        field.clear()
        field.send_keys(label, Keys.ENTER)
        # The dialog tells that it has closed in a later event, which a busy machine may delay.
        self.browser.execute_async_script(
            "const done = arguments[0]; (function wait() {"
            " document.getElementById('ask').open ? setTimeout(wait, 20) : setTimeout(done, 200) })()"
        )

    @property
    def message(self) -> str:
        return str(self.browser.find_element("id", "message").text)


def test_a_tree_is_corrected_by_clicks_and_keys_and_accepted(page: Page) -> None:
    suggested = page.tree()
    assert suggested == page.project.suggest(40)[0] and list(suggested.words()) == WORDS
    drawn = page.browser.find_elements("css selector", "#tree .node")
    assert len(drawn) == sum(isinstance(node, Phrase) for node in suggested.nodes())
    # Relabel a phrase, and undo it.
    page.click(0, 2, "NP")
    page.press("r")
    page.answer("XP")
    relabelled = page.tree()
    assert "(XP (DT the) (NN dog))" in relabelled.bracketed()
    page.press("u")
    assert page.tree() == suggested
    # Split a bracket, and merge its parts again.
    page.click(0, 2, "NP")
    page.press("s")
    assert page.tree().bracketed().startswith("(S (DT the) (NN dog)")
    page.click(0, 1, "DT")
    page.click(1, 2, "NN", shift=True)
    page.press("m")
    page.answer("NP")
    assert page.tree() == suggested
    # A word that stands first cannot be attached behind others.
    page.click(0, 1, "DT")
    page.press("a")
    page.click(6, 8, "NP")
    assert "order" in page.message and page.tree() == suggested
    page.click(0, 2, "NP")
    page.press("r")
    page.answer("not a label")
    assert page.message and page.tree() == suggested
    # Accept a changed tree: the next sentence is shown, and the file and the history have the tree.
    page.click(0, 2, "NP")
    page.press("r")
    page.answer("NPX")
    wanted = page.tree()
    page.browser.find_element("id", "accept").click()
    page.wait_for("sentence 2")
    *before, last = parse_brackets(page.project.path.read_text(encoding="utf-8"))
    assert before == TREES and last == wanted
    assert '"annotator": "anna"' in page.project.history.read_text(encoding="utf-8")
    page.browser.find_element("id", "previous").click()
    page.wait_for("sentence 1")
    assert page.tree() == wanted and "accepted" in page.browser.find_element("id", "progress").text
