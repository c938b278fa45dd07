"""Find the head among the children of a phrase, by rules.

For Penn Treebank labels, the rules are the table of Collins (1999, Appendix A), with the labels that later English
treebanks added.  The head of a phrase with another label is its last child that is neither punctuation nor a bracket.
This rule is not made for a certain language, but it is consistent.  On Spanish and Dutch, parsers with heads learnt
from the treebank were no better; see docs/accuracy.md.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["head_child"]

_LEFT, _RIGHT = 1, -1

# label: (where to start, candidate labels in order of priority)
_RULES: dict[str, tuple[int, str]] = {
    "ADJP": (_LEFT, "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": (_RIGHT, "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": (_RIGHT, "CC RB IN"),
    "FRAG": (_RIGHT, ""),
    "INTJ": (_LEFT, ""),
    "LST": (_RIGHT, "LS :"),
    "NAC": (_LEFT, "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": (_RIGHT, "IN TO VBG VBN RP FW"),
    "PRN": (_LEFT, ""),
    "PRT": (_RIGHT, "RP"),
    "QP": (_LEFT, "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": (_RIGHT, "VP NP ADVP ADJP PP"),
    "S": (_LEFT, "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": (_LEFT, "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": (_LEFT, "SQ S SINV SBARQ FRAG"),
    "SINV": (_LEFT, "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": (_LEFT, "VBZ VBD VBP VB MD VP SQ"),
    "UCP": (_RIGHT, ""),
    "VP": (_LEFT, "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": (_LEFT, "CC WRB JJ ADJP"),
    "WHADVP": (_RIGHT, "CC WRB"),
    "WHNP": (_LEFT, "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": (_RIGHT, "IN TO FW"),
}
_PRIORITIES = {label: (start, names.split()) for label, (start, names) in _RULES.items()}
_NOUN_LIKE = frozenset({"NP", "NX", "NML"})
_NOUN_STEPS: tuple[tuple[int, frozenset[str]], ...] = (
    (_RIGHT, frozenset(["NN", "NNP", "NNPS", "NNS", "NX", "NML", "POS", "JJR"])),
    (_LEFT, frozenset({"NP"})),
    (_RIGHT, frozenset(["$", "ADJP", "PRN"])),
    (_RIGHT, frozenset({"CD"})),
    (_RIGHT, frozenset(["JJ", "JJS", "RB", "QP"])),
)


def _is_punctuation(label: str) -> bool:
    return not any(character.isalnum() or character == "$" for character in label) or label in {"-LRB-", "-RRB-"}


def _scan(children: Sequence[str], start: int, wanted: frozenset[str]) -> int:
    """Find the first child, counted from the side `start`, with one of some labels; -1 if there is none."""
    positions = range(len(children)) if start == _LEFT else range(len(children) - 1, -1, -1)
    return next((at for at in positions if children[at] in wanted), -1)


def _chosen(label: str, children: Sequence[str]) -> int:
    """Find the head by the table, or by the rule for other labels, before coordination is treated."""
    if label in _NOUN_LIKE:
        if children[-1] == "POS":
            return len(children) - 1
        for start, wanted in _NOUN_STEPS:
            if (at := _scan(children, start, wanted)) >= 0:
                return at
    start, priorities = _PRIORITIES.get(label, (_RIGHT, []))
    for name in priorities:
        if (at := _scan(children, start, frozenset({name}))) >= 0:
            return at
    content = frozenset(child for child in children if not _is_punctuation(child))
    return max(_scan(children, start, content), 0)


def head_child(label: str, children: Sequence[str]) -> int:
    """Find the position of the head among the children of a phrase, from 0.

    >>> head_child("S", ["NP", "VP", "."]), head_child("NP", ["DT", "JJ", "NN"]), head_child("XP", ["A", "B", ","])
    (1, 2, 1)
    """
    head = _chosen(label, children)
    if head >= 2 and children[head - 1] == "CC" and not _is_punctuation(children[head - 2]):
        return head - 2  # X CC Y is headed by X
    return head
