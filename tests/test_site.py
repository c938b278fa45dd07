"""The documentation site translates docstrings, and leaves out no public room and no page."""

import doctest
import importlib.util
import os
import posixpath
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest

from tests.documents import MADE, MADE_PAGES, ROOT, documents
from tests.test_house import IN_ROOMS

SITE = ROOT / "docs/_site"
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# The marker of a list's item, a bold heading or two spaces after a sentence: there, two blocks have become one.
JOINED = re.compile(r"[.:?!] +[-*+]\s|[.?!)]\s\*\*[^*]+[.?!]\*\*|[.:?!)]  +\S")
HIDDEN = {"spectral_latent.cli", "spectral_latent.__main__"}  # commands, with help of their own


INCLUDE = re.compile(r"```\{(?:literal)?include\} (\S+)")


def of_the_site(name: str) -> ModuleType:
    """Import a module of the settings of the site."""
    spec = importlib.util.spec_from_file_location(name, SITE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def docstrings() -> ModuleType:
    return of_the_site("docstrings")


def test_only_links_are_translated() -> None:
    """A page may include a file that is another page of the site, or name it in code."""
    links = of_the_site("links")
    assert doctest.testmod(links) == doctest.TestResults(failed=0, attempted=1)
    included = 0
    for page, text in documents().items():
        for file in INCLUDE.findall(links.to_site(text)):
            path = ((ROOT / page).parent / file).resolve()
            assert path.is_file() and path != ROOT / page, (page, file)
            included += 1
        for target in re.findall(r"\]\(([^)#]+)", CODE.sub("", links.to_site(text))):
            if not target.startswith("http") and page != "README.md":
                assert not target.endswith("README.md"), (page, target)
                assert "tutorials/" in target or "/tests/" in target or not target.endswith(".py"), (page, target)
    assert included >= 6


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the pages of the folder docs and the tutorials, which are not run; without the reference of the API."""
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("_build", *MADE))
    for file in [*ROOT.glob("*.md"), ROOT / "benchmarks/RESULTS.md"]:
        (folder / file.relative_to(ROOT)).parent.mkdir(exist_ok=True)
        shutil.copy(file, folder / file.relative_to(ROOT))
    settings = {
        "extensions": "myst_parser,sphinx.ext.autodoc,sphinx_gallery.gen_gallery",
        "exclude_patterns": "_build,_site,GALLERY_HEADER.rst,api.md,decisions,guide",
        "plot_gallery": "0",
    }
    given = [part for name, value in settings.items() for part in ("-D", f"{name}={value}")]
    places = [folder / "docs", folder / "pages"]
    paths = os.pathsep.join(map(str, (SITE, ROOT, ROOT / "adapters")))
    ran = subprocess.run(
        [sys.executable, "-m", "sphinx", "--quiet", "-c", SITE, *given, *places],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return folder / "pages"


def article(page: Path) -> str:
    """Take the text of a page of the site, without the frame around it."""
    html = page.read_text("utf-8")
    return unescape(re.sub(r"<[^>]+>", "", html[html.index("<article") : html.index("</article>")]))


def test_the_front_page_has_an_example_and_no_directive(built: Path) -> None:
    text = article(built / "index.html")
    assert "SpectralParser.load(" in text and "(VBD ate)" in text
    assert not re.search(r":[a-z]+-[a-z]+:|\{\w+\}|```", text)
    for page in ("contributing", "security", "changelog", "results"):  # the rest of those that include a file
        assert len(article(built / f"{page}.html")) > 1000, page


def test_the_course_stands_in_its_order(built: Path) -> None:
    html = (built / "index.html").read_text("utf-8")
    course = re.findall(r'class="toctree-l\d"><a class="reference internal" href="tutorials/(course_\d|in_a)', html)
    assert course == ["course_1", "course_2", "course_3", "in_a", "course_5"]


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
