"""Read the pages of the documentation."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MADE_PAGES = ("docs/commands.md",)  # made when the site is built
MADE = ("_build", "api", "tutorials")  # folders with such pages


def documents() -> dict[str, str]:
    """Read every page; the keys are paths from the root of the repository."""
    docs = ROOT / "docs"
    pages = [page for page in sorted(docs.rglob("*.md")) if page.relative_to(docs).parts[0] not in MADE]
    names = {str(page.relative_to(ROOT)): page for page in [ROOT / "README.md", *pages]}
    return {name: page.read_text(encoding="utf-8") for name, page in names.items() if name not in MADE_PAGES}


def limit_of(quantity: str) -> str:
    """Read a limit in the table of `docs/trust.md`."""
    rows = (line.strip("| ").split(" | ") for line in documents()["docs/trust.md"].splitlines())
    return next(row[1] for row in rows if row[0] == quantity)
