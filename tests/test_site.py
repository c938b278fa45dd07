"""The documentation site translates docstrings, and leaves out no public room and no page."""

import doctest
import importlib.util
import posixpath
import re
from html import unescape
from types import ModuleType

import pytest

from tests.documents import MADE_PAGES, ROOT, documents
from tests.test_house import IN_ROOMS

SITE = ROOT / "docs/_site"
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
HIDDEN = {"spectral_latent.cli", "spectral_latent.__main__"}  # commands, with help of their own


INCLUDE = re.compile(r"```\{(?:literal)?include\} (\S+)")


def of_the_site(name: str) -> ModuleType:
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
    assert doctest.testmod(links) == doctest.TestResults(failed=0, attempted=2)
    included = [(page, file) for page, text in documents().items() for file in INCLUDE.findall(links.to_site(text))]
    assert len(included) >= 4
    for page, file in included:
        assert ((ROOT / page).parent / file).resolve().is_file(), (page, file)


@pytest.fixture(scope="module")
def built() -> dict[str, str]:
    """Read the pages that `make pages` has built, by their names."""
    folder = ROOT / "docs/_build/pages"
    sources = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.*"), *SITE.rglob("*.*"), ROOT / "benchmarks/RESULTS.md"]
    written = [path for path in sources if str(path.relative_to(ROOT)) not in MADE_PAGES]
    last = folder / "searchindex.js"  # which is written when all pages are
    if not last.exists() or last.stat().st_mtime < max(path.stat().st_mtime for path in written):
        pytest.skip("`make pages` builds them first")
    return {str(page.relative_to(folder)): page.read_text("utf-8") for page in sorted(folder.rglob("*.html"))}


def article(html: str) -> str:
    """Take a page without the frame around it."""
    return html[html.index("<article") : html.index("</article>")]


def test_no_directive_is_in_the_text(built: dict[str, str]) -> None:
    for page, html in built.items():
        if page not in ("genindex.html", "search.html") and "<article" in html:
            prose = unescape(re.sub(r"<(pre|code)\b.*?</\1>|<[^>]+>", "", article(html), flags=re.DOTALL))
            assert not re.search(
                r":[a-z]+-[a-z]+:|\{(?:include|toctree|eval-rst|literalinclude)|```|\.\. [a-z]+::", prose
            ), page
            assert len(prose) > 300 or page.startswith(("api/", "_modules")), page


def test_no_link_is_dead(built: dict[str, str]) -> None:
    places = {page: set(re.findall(r'\bid="([^"]+)"', html)) for page, html in built.items()}
    dead = []
    for page, html in built.items():
        for target, place in re.findall(r'<a [^>]*href="([^"#:]*)(?:#([^"]*))?"', html):
            at = posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) if target else page
            if at.endswith(".html") and (at not in built or (place and unescape(place) not in places[at])):
                dead.append(f"{page}: {target}#{place}")
    assert dead == []


def test_examples_of_the_translation(docstrings: ModuleType) -> None:
    flags = doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(docstrings, optionflags=flags) == doctest.TestResults(failed=0, attempted=2)


def test_the_reference_lists_every_public_room() -> None:
    listed = set(re.findall(r"^   (spectral_latent[\w.]*)$", documents()["docs/api.md"], re.MULTILINE))
    rooms = {module for module in IN_ROOMS if module.count(".") == 1 and not module.rpartition(".")[2].startswith("_")}
    on_top = {folder.name for folder in (ROOT / "adapters").glob("spectral_latent_*")}
    assert listed == rooms - HIDDEN | on_top


def test_every_page_is_in_the_table_of_contents() -> None:
    """The sidebar has all pages, in the order in which they are read."""
    pages = documents()
    trees = re.findall(r"```\{toctree\}\n(.*?)```", pages["docs/index.md"], re.DOTALL)
    listed = [f"docs/{line}.md" for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    assert sorted(listed) == sorted({*pages, *MADE_PAGES, "docs/tutorials/index.md"} - {"docs/index.md", "README.md"})
    assert all("{toctree}" not in text for page, text in pages.items() if page != "docs/index.md")


def test_links_between_pages_lead_to_files() -> None:
    lost = []
    for page, text in documents().items():
        folder = (ROOT / page).parent
        for target in re.findall(r"\]\(([^)#]+)(?:#[\w-]*)?\)", CODE.sub("", text)):
            is_made = (folder / target).resolve() in [ROOT / made for made in MADE_PAGES] or target.startswith("api/")
            if not re.match(r"https?:", target) and not is_made and not (folder / target).exists():
                lost.append(f"{page}: {target}")
    assert lost == []
