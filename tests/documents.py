"""Read the pages of the documentation."""

from pathlib import Path

__all__ = ["ROOT", "documents"]

ROOT = Path(__file__).resolve().parents[1]
_MADE = ("_build", "api", "tutorials")  # folders with pages that are made when the site is built


def documents() -> dict[str, str]:
    """Read every page; the keys are paths from the root of the repository."""
    docs = ROOT / "docs"
    pages = [page for page in sorted(docs.rglob("*.md")) if page.relative_to(docs).parts[0] not in _MADE]
    return {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *pages]}
