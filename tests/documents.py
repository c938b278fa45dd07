"""The pages of the documentation."""

from pathlib import Path

__all__ = ["ROOT", "documents"]

ROOT = Path(__file__).resolve().parents[1]
_MADE = ("_build", "api", "tutorials")  # folders of pages that building the site makes


def documents() -> dict[str, str]:
    """Read every page, by its path from the root of the repository."""
    docs = ROOT / "docs"
    pages = [page for page in sorted(docs.rglob("*.md")) if page.relative_to(docs).parts[0] not in _MADE]
    return {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *pages]}
