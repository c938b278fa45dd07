"""The documentation site translates docstrings, and leaves out no public room and no page."""

import doctest
import importlib.util
import posixpath
import re
from types import ModuleType

import pytest

from tests.documents import MADE_PAGES, ROOT, documents
from tests.test_house import IN_ROOMS

SITE = ROOT / "docs/_site"
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# The marker of a list's item, a bold heading or two spaces after a sentence: there, two blocks have become one.
JOINED = re.compile(r"[.:?!] +[-*+]\s|[.?!)]\s\*\*[^*]+[.?!]\*\*|[.:?!)]  +\S")
HIDDEN = {"spectral_latent.cli", "spectral_latent.__main__"}  # commands, with help of their own


@pytest.fixture(scope="module")
def docstrings() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docstrings", SITE / "docstrings.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_examples_of_the_translation(docstrings: ModuleType) -> None:
    flags = doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(docstrings, optionflags=flags) == doctest.TestResults(failed=0, attempted=2)


def test_tables_and_doctests(docstrings: ModuleType) -> None:
    lines = ["| here | p(h \\| a) |", "| --- | --- |", "| `f` | a*b |", "", ">>> f(1)", "[a_, *b]", "", "End_."]
    assert docstrings.to_restructured_text(lines) == [
        *["", ".. list-table::", "   :header-rows: 1", ""],
        *["   * - here", "     - p(h \\| a)", "   * - ``f``", "     - a\\*b", "", ""],
        *[">>> f(1)", "[a_, *b]", "", "End\\_."],
    ]


def test_the_reference_lists_every_public_room() -> None:
    listed = set(re.findall(r"^   (spectral_latent[\w.]*)$", documents()["docs/api.md"], re.MULTILINE))
    rooms = {module for module in IN_ROOMS if module.count(".") == 1 and not module.rpartition(".")[2].startswith("_")}
    assert listed == rooms - HIDDEN | {"spectral_latent_nltk", "spectral_latent_sklearn", "spectral_latent_spacy"}


def test_every_page_is_in_the_table_of_contents() -> None:
    """The sidebar has a dozen entries, and all other pages stand below them."""
    pages = {page: text for page, text in documents().items() if page.startswith("docs/")}
    listed = []
    for page, text in pages.items():
        trees = re.findall(r"```\{toctree\}\n(.*?)```", text, re.DOTALL)
        lines = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
        assert page != "docs/index.md" or len(lines) == 12
        listed += [posixpath.join(posixpath.dirname(page), f"{line}.md") for line in lines]
    assert sorted(listed) == sorted({*pages, *MADE_PAGES, "docs/tutorials/index.md"} - {"docs/index.md"})


def test_links_between_pages_lead_to_files() -> None:
    lost = []
    for page, text in documents().items():
        folder = (ROOT / page).parent
        for target in re.findall(r"\]\(([^)#]+)(?:#[\w-]*)?\)", CODE.sub("", text)):
            is_made = (folder / target).resolve() in [ROOT / made for made in MADE_PAGES]
            if not re.match(r"https?:", target) and not is_made and not (folder / target).exists():
                lost.append(f"{page}: {target}")
    assert lost == []


def test_no_blocks_are_joined() -> None:
    assert JOINED.search("One.  - Two") and JOINED.search("One. **Two.** Three") and JOINED.search("One. -\n  Two")
    joined = []
    for page, text in documents().items():
        prose = re.sub(r"^[|>].*$", "", CODE.sub("", text), flags=re.M)
        joined += [f"{page}: {prose[match.start() - 40 : match.end() + 20]!r}" for match in JOINED.finditer(prose)]
    assert joined == []
