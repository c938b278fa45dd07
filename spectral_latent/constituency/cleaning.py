"""From treebank annotation to the phrases that a parser is to learn and is scored on."""

from __future__ import annotations

from collections.abc import Iterator

from spectral_latent.constituency.phrase import Phrase

__all__ = ["EMPTY_TAG", "base_label", "clean"]

EMPTY_TAG = "-NONE-"
_TOPS = frozenset({"", "TOP", "ROOT", "S1", "VROOT"})


def base_label(label: str) -> str:
    """The category without function labels and indices: cut at the first `-` or `=` that does not open the label.

    >>> [base_label(label) for label in ("NP-SBJ-1", "NP=2", "-LRB-", "PRT|ADVP")]
    ['NP', 'NP', '-LRB-', 'PRT|ADVP']
    """
    for at, character in enumerate(label):
        if at and character in "-=" and not label.startswith("-"):
            return label[:at]
    return label


def _rebuilt(phrase: Phrase, children: list[Phrase | str]) -> Phrase | None:
    """The phrase over its cleaned children; None if nothing is left of it."""
    if not children:
        return None
    label = base_label(phrase.label)
    only = children[0]
    if len(children) == 1 and isinstance(only, Phrase) and (only.label == label or label in _TOPS):
        return only
    return Phrase(label or "TOP", tuple(children))


def clean(phrase: Phrase) -> Phrase | None:
    """Without function labels, empty elements, X over X, and a top bracket that holds one tree.

    What is left of a phrase without words is None.  A top bracket over several trees stays, as `TOP`.

    >>> def leaf(tag, word): return Phrase(tag, (word,))
    >>> subject = Phrase("NP-SBJ", (Phrase("NP", (leaf("NNS", "dogs"),)),))
    >>> tree = Phrase("", (Phrase("S", (subject, Phrase("VP", (leaf("VBP", "eat"), leaf("-NONE-", "*"))))),))
    >>> print(clean(tree).bracketed())
    (S (NP (NNS dogs)) (VP (VBP eat)))
    """
    if phrase.label == EMPTY_TAG:
        return None
    result: Phrase | None = None
    stack: list[tuple[Phrase, Iterator[Phrase | str], list[Phrase | str]]] = [(phrase, iter(phrase.children), [])]
    while stack:
        current, rest, kept = stack[-1]
        for child in rest:
            if isinstance(child, str):
                kept.append(child)
            elif child.label != EMPTY_TAG:
                stack.append((child, iter(child.children), []))
                break
        else:
            stack.pop()
            result = _rebuilt(current, kept)
            if stack and result is not None:
                stack[-1][2].append(result)
    return result
