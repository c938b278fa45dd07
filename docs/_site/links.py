"""Translate the links of pages: on the site, some files of the repository are pages of their own."""

import re

__all__ = ["to_site"]

_ON_THE_SITE = {  # files, and their pages
    "../README.md": "index.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../SECURITY.md": "security.md",
    "../CHANGELOG.md": "changelog.md",
    "../benchmarks/RESULTS.md": "results.md",
}
_TUTORIAL = re.compile(r"((?:\.\./)*)(course_\w+|tutorial_\w+|in_a_hundred_lines)\.py")
_LINK = re.compile(r"(?<=\]\()[^)#\s]+")


def to_site(text: str) -> str:
    """Let the links of a page lead to pages of the site, and leave everything else as it is.

    >>> to_site("[Read](../../README.md#try-it) [the course](../course_1_coins.py), not ../README.md.")
    '[Read](../index.md#try-it) [the course](../tutorials/course_1_coins.rst), not ../README.md.'
    """
    return _LINK.sub(lambda link: _page(link[0]), text)


def _page(target: str) -> str:
    """Name the page of the site that a link leads to."""
    for file, page in _ON_THE_SITE.items():
        if f"/{target}".endswith(f"/{file}"):
            return target.removesuffix(file) + page
    return _TUTORIAL.sub(r"\1tutorials/\2.rst", target) if _TUTORIAL.fullmatch(target) else target
