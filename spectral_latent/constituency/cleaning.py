"""Clean the annotation of treebanks, which leaves the phrases that a parser learns from and is scored on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from spectral_latent.constituency.phrase import Phrase, inner_first
from spectral_latent.estimation import EstimationError

__all__ = [
    "EMPTY_TAG",
    "TOPS",
    "base_label",
    "clean",
    "clean_together",
    "cleaned",
    "function_label",
    "is_empty",
    "tagged_words",
    "without_functions",
]

EMPTY_TAG = "-NONE-"
_INDEX = re.compile(r"[-=]\d*(?=[-=]|$)")
_STARRED = re.compile(r"\*([A-Z0-9?]+|pro)\*(-\d+)?")
TOPS = frozenset({"", "TOP", "ROOT", "S1", "VROOT"})  # labels of a bracket around a tree


def without_functions(tree: Phrase) -> Phrase:
    """Cut every label of a tree to its category.

    tree: a tree, such as a parse with function labels.

    >>> without_functions(Phrase("S", (Phrase("NP-SBJ", (Phrase("NN", ("rain",)),)),))).bracketed()
    '(S (NP (NN rain)))'
    """
    done: list[Phrase | str] = []
    for node in reversed(list(tree.nodes())):
        if isinstance(node, str):
            done.append(node)
        else:
            done.append(Phrase(base_label(node.label), tuple(done.pop() for _ in node.children)))
    (made,) = done
    assert isinstance(made, Phrase)
    return made


def is_empty(tag: str, word: str) -> bool:
    """Tell whether a tagged word is an empty element: a mark that annotators put at a place without a word.

    The Penn Treebank gives empty elements the tag -NONE-.  In other treebanks an empty element stands directly below
    the label of its phrase, and has the form of most empty elements of the Penn Treebank: a name of capitals and digits
    (or pro) in asterisks, perhaps with an index.  Examples: `*0*`, a subject that Spanish leaves out, and `*T*-1`.

    tag: the label above the word.
    word: the word of a leaf.

    >>> is_empty("-NONE-", "0"), is_empty("sn.e-SUJ", "*0*"), is_empty("NP", "*pro*"), is_empty("UH", "*sigh*")
    (True, True, True, False)
    """
    return tag == EMPTY_TAG or _STARRED.fullmatch(word) is not None


def tagged_words(phrase: Phrase) -> Iterator[tuple[str, str]]:
    """Walk over the words that are not empty elements, each after the label above it, from left to right.

    phrase: a tree as a treebank has it.

    >>> list(tagged_words(Phrase("VP", (Phrase("VB", ("go",)), Phrase("-NONE-", ("*",))))))
    [('VB', 'go')]
    """
    stack: list[tuple[str, Phrase | str]] = [("", phrase)]
    while stack:
        label, node = stack.pop()
        if isinstance(node, Phrase):
            stack.extend((node.label, child) for child in reversed(node.children))
        elif not is_empty(label, node):
            yield label, node


@lru_cache(maxsize=4096)
def base_label(label: str) -> str:
    """Cut a label at its first `-` or `=`, which leaves the category without function labels and indices.

    A `-` or `=` at the beginning belongs to the category.

    Subtypes after dots are part of the category.

    label: a label as a treebank has it.

    >>> [base_label(label) for label in ("NP-SBJ-1", "NP=2", "-LRB-", "PRT|ADVP", "S.F.C-CD")]
    ['NP', 'NP', '-LRB-', 'PRT|ADVP', 'S.F.C']
    """
    for at, character in enumerate(label):
        if at and character in "-=" and not label.startswith("-"):
            return label[:at]
    return label


def function_label(label: str) -> str:
    """Remove the indices of traces and gaps from a label, and keep its category and its function labels.

    label: a label as a treebank has it.

    >>> [function_label(label) for label in ("NP-SBJ-1", "NP=2", "PP-LOC-CLR", "-LRB-")]
    ['NP-SBJ', 'NP', 'PP-LOC-CLR', '-LRB-']
    """
    base = base_label(label)
    return base + _INDEX.sub("", label[len(base) :])


def _rebuilt(label: str, children: list[Phrase | str], function_labels: bool) -> Phrase | None:
    """Make a phrase of a label and cleaned children; None if there are no children."""
    if not children:
        return None
    base = base_label(label)
    only = children[0]
    label = function_label(label) if function_labels and isinstance(only, Phrase) else base
    if len(children) == 1 and isinstance(only, Phrase):
        if base in TOPS:
            return only
        if base_label(only.label) == base:
            # X over X becomes one X with the function labels of the upper X; a tag has no function labels.
            return only if label == base or only.is_preterminal() else Phrase(label, only.children)
    return Phrase(label or "TOP", tuple(children))


def clean(phrase: Phrase, *, function_labels: bool = False) -> Phrase | None:
    """Remove function labels, empty elements (`is_empty`), X over X, and a top bracket that holds one tree.

    A phrase without words becomes None.  A top bracket over several trees stays, as `TOP`.

    phrase: a tree as a treebank has it.
    function_labels: whether phrases keep their function labels; tags lose them, and indices are always removed.

    >>> def leaf(tag, word): return Phrase(tag, (word,))
    >>> subject = Phrase("NP-SBJ", (Phrase("NP", (leaf("NNS", "dogs"),)),))
    >>> tree = Phrase("", (Phrase("S", (subject, Phrase("VP", (leaf("VBP", "eat"), leaf("-NONE-", "*"))))),))
    >>> print(clean(tree).bracketed())
    (S (NP (NNS dogs)) (VP (VBP eat)))
    >>> print(clean(tree, function_labels=True).bracketed())
    (S (NP-SBJ (NNS dogs)) (VP (VBP eat)))
    """
    (cleaned_phrase,) = clean_together([phrase], function_labels=function_labels)
    return cleaned_phrase


def clean_together(phrases: Sequence[Phrase], *, function_labels: bool = False) -> list[Phrase | None]:
    """Clean several phrases; an object that several phrases share is cleaned once, and stays shared.

    phrases: trees as a treebank has them.
    function_labels: whether phrases keep their function labels.

    >>> subject = Phrase("NP-SBJ", (Phrase("NNS", ("dogs",)),))
    >>> one, other = clean_together([Phrase(label, (subject, Phrase("VBP", ("bark",)))) for label in ("S", "SINV")])
    >>> one.children[0] is other.children[0]
    True
    """
    made: dict[int, Phrase | None] = {}  # the cleaned phrase of each phrase, by its `id`
    for phrase in inner_first(phrases):
        children: list[Phrase | str] = []
        for child in phrase.children:
            if isinstance(child, str):
                if not is_empty(phrase.label, child):
                    children.append(child)
            elif (kept := made[id(child)]) is not None:
                children.append(kept)
        made[id(phrase)] = _rebuilt(phrase.label, children, function_labels)
    return [made[id(phrase)] for phrase in phrases]


def cleaned(phrases: Iterable[Phrase], *, function_labels: bool = False) -> Iterator[Phrase]:
    """Clean phrases one by one.

    phrases: trees as a treebank has them.
    function_labels: whether phrases keep their function labels.

    Raises EstimationError at a phrase without words.

    >>> [tree.label for tree in cleaned([Phrase("S1", (Phrase("NN-SBJ", ("rain",)),))])]
    ['NN']
    """
    for number, phrase in enumerate(phrases, start=1):
        without_traces = clean(phrase, function_labels=function_labels)
        if without_traces is None:
            raise EstimationError(f"tree {number} has no words: {phrase.bracketed()[:80]}")
        yield without_traces
