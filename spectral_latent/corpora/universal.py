"""Map UPOS to the universal tags of Petrov, Das and McDonald (2012).

| universal tag | UPOS |
| --- | --- |
| NOUN | NOUN, PROPN |
| VERB | VERB, AUX |
| CONJ | CCONJ, SCONJ |
| PRT | PART |
| X | X, INTJ, SYM |
| . | PUNCT |
| ADJ, ADP, ADV, DET, NUM, PRON | the same |
"""

from __future__ import annotations

from types import MappingProxyType

__all__ = ["UNIVERSAL_TAGS", "universal_tag"]

UNIVERSAL_TAGS = (".", "ADJ", "ADP", "ADV", "CONJ", "DET", "NOUN", "NUM", "PRON", "PRT", "VERB", "X")

_OF_UPOS = MappingProxyType(
    {
        "AUX": "VERB",
        "CCONJ": "CONJ",
        "INTJ": "X",
        "PART": "PRT",
        "PROPN": "NOUN",
        "PUNCT": ".",
        "SCONJ": "CONJ",
        "SYM": "X",
        **{tag: tag for tag in UNIVERSAL_TAGS},
    }
)


def universal_tag(tag: str) -> str:
    """Return the universal tag of a UPOS tag; a universal tag is returned unchanged.

    tag: a tag of UPOS, or a universal one.

    Raises ValueError for any other tag.

    >>> [universal_tag(tag) for tag in ("PROPN", "AUX", "SCONJ", "PUNCT", "ADV", ".")]
    ['NOUN', 'VERB', 'CONJ', '.', 'ADV', '.']
    """
    universal = _OF_UPOS.get(tag)
    if universal is None:
        raise ValueError(f"{tag!r} is neither a UPOS tag nor a universal one; take the column upos, or universal")
    return universal
