"""Translate the links of pages: on the site, some files of the repository are pages of their own."""

import re

__all__ = ["front_page", "to_site"]

_ON_THE_SITE = {  # files, and their pages
    "../README.md": "index.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../SECURITY.md": "trust.md",
    "../CHANGELOG.md": "changelog.md",
    "../benchmarks/RESULTS.md": "results.md",
}
_PROGRAM = re.compile(r"((?:course|tutorial)_\w+)\.py")
_LINK = re.compile(r"(?<=\]\()[^)#\s]+")


def to_site(text: str) -> str:
    """Let the links of a page lead to pages of the site, and leave everything else as it is.

    >>> to_site("[Read](../README.md#try-it) [the course](course_1_coins.py), not ../README.md.")
    '[Read](index.md#try-it) [the course](tutorials/course_1_coins.rst), not ../README.md.'
    """
    return _LINK.sub(lambda link: _PROGRAM.sub(r"tutorials/\1.rst", _ON_THE_SITE.get(link[0], link[0])), text)


def front_page(readme: str) -> str:
    """Make the front page of the site of the README, whose links begin in the folder above.

    >>> front_page("![a parse](docs/states.svg) [Promises](docs/trust.md) [results](benchmarks/RESULTS.md)")
    '![a parse](states.svg) [Promises](trust.md) [results](results.md)'
    """
    from_docs = _LINK.sub(lambda link: link[0] if ":" in link[0] else f"../{link[0]}".replace("../docs/", ""), readme)
    return to_site(from_docs)
