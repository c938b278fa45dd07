"""Clean the annotation of treebanks, which leaves the phrases that a parser learns from and is scored on."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import is_
from typing import Any

from spectral_latent._options import checked
from spectral_latent.constituency.tree import Phrase
from spectral_latent.estimation import EstimationError

EMPTY_TAG = "-NONE-"
_INDEX = re.compile(r"[-=]\d*(?=[-=]|$)")
# The empty elements of treebanks, except those that are also words: `*`, `*-1` and `0`.
_NAMES = r"0|ARB|CON|EXP|ICH|NOT|NP|OP|PPA|PRO|RNR|T\d*|U|arb|con|exp|op|pro"
_EMPTY = re.compile(rf"\*({_NAMES}|\?)\*(-\d+)?")
_TRACE_INDEX = re.compile(r"(?<=.)-\w+$")
TOPS = frozenset({"", "TOP", "ROOT", "S1", "VROOT"})  # labels of a bracket around a tree
_PLACES = 3  # the places of trees that are told
_SPELLINGS = 3  # the spellings of empty elements that are told
_REMOVED = "empty elements removed"
WORDLESS = "phrases without words removed"


@dataclass
class Changes:
    """The changes that readers and cleaning made to a corpus: what they removed, cut and left out.

    Functions that read or clean add to the counts of the object that they are given, so that one object can follow a
    treebank from its files into a model.

    counts: the number of changes of each kind, by a text that says what was done.
    left_out: the places of the first three trees or sentences of each kind that was left out.
    spellings: the number of empty elements that were removed, by their spelling without an index.

    >>> changes = Changes()
    >>> _ = clean(Phrase("NP-SBJ", (Phrase("NN", ("rain",)),)), changes=changes)
    >>> print(changes.table())
    1  function labels and indices cut from phrases
    """

    counts: Counter[str] = field(default_factory=Counter)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    spellings: Counter[str] = field(default_factory=Counter)

    def remove(self, word: str) -> None:
        """Count an empty element that is removed.

        word: the empty element, such as `*T*-1`."""
        self.counts[_REMOVED] += 1
        self.spellings[_TRACE_INDEX.sub("", word)] += 1

    def leave_out(self, kind: str, place: str) -> None:
        """Count a tree or a sentence that is left out, and keep its place if it is one of the first.

        kind: the text that says what is left out and why, such as "trees without words left out".
        place: the place in the corpus, such as a file and a line."""
        self.counts[kind] += 1
        places = self.left_out.setdefault(kind, [])
        if len(places) < _PLACES:
            places.append(place)

    def add(self, other: Changes) -> None:
        """Add the counts of other changes, and their first places."""
        self.counts.update(other.counts)
        self.spellings.update(other.spellings)
        for kind, places in other.left_out.items():
            self.left_out[kind] = [*self.left_out.get(kind, []), *places][:_PLACES]

    def warn(self, stacklevel: int = 1) -> None:
        """Warn of trees and sentences that were left out, with their number and the first places.

        stacklevel: the number of callers between this call and the line that the warning names."""
        for kind, places in self.left_out.items():
            warnings.warn(f"{kind}: {self.counts[kind]:,}; the first: {'; '.join(places)}", stacklevel=stacklevel + 1)

    def table(self) -> str:
        """Write a line for each kind of change, with its number; below it the first places, or commonest spellings.

        >>> changes = Changes(Counter({"function labels and indices cut from phrases": 1200}))
        >>> changes.remove("*T*-1")
        >>> changes.leave_out("trees without words left out", "old.psd, line 7")
        >>> print(changes.table())
        1,200  function labels and indices cut from phrases
            1  empty elements removed
               the commonest: *T* (1)
            1  trees without words left out
               the first: old.psd, line 7
        """
        numbers = [f"{count:,}" for count in self.counts.values()]
        width = max(map(len, numbers), default=0)
        lines: list[str] = []
        for number, kind in zip(numbers, self.counts, strict=True):
            lines.append(f"{number:>{width}}  {kind}")
            if kind in self.left_out:
                lines.append(f"{'':{width}}  the first: {'; '.join(self.left_out[kind])}")
            if kind == _REMOVED and self.spellings:
                spellings = (f"{word} ({count:,})" for word, count in self.spellings.most_common(_SPELLINGS))
                lines.append(f"{'':{width}}  the commonest: {', '.join(spellings)}")
        return "\n".join(lines)

    def contents(self) -> dict[str, Any]:
        """Return the counts, first places left out and commonest empty elements as an object that JSON can hold.

        >>> Changes(Counter({"empty elements removed": 3})).contents()
        {'empty elements removed': 3}
        """
        spellings = dict(self.spellings.most_common(_SPELLINGS))
        return {
            **self.counts,
            **({"first left out": self.left_out} if self.left_out else {}),
            **({"commonest empty elements": spellings} if spellings else {}),
        }


def without_functions(tree: Phrase) -> Phrase:
    """Cut the label of every phrase of a tree to its category; tags stay as they are."""
    done: list[Phrase | str] = []
    for node in reversed(list(tree.nodes())):
        if isinstance(node, str):
            done.append(node)
        else:
            label = node.label if node.is_preterminal() else base_label(node.label)
            done.append(Phrase(label, tuple(done.pop() for _ in node.children)))
    (made,) = done
    assert isinstance(made, Phrase)
    return made


def is_empty(tag: str, word: str) -> bool:
    """Tell whether a leaf by itself is an empty element: a mark that annotators put at a place without a word.

    The Penn Treebank gives empty elements the tag -NONE-.  In other treebanks an empty element stands directly below
    the label of its phrase, and has one of the names of empty elements in asterisks, perhaps with an index.  Examples:
    `*0*`, a subject that Spanish leaves out, and `*T*-1`.  Readers of treebanks also look at other leaves with the same
    label, and give empty elements the tag -NONE-; all that comes after them knows an empty element by its tag."""
    return tag == EMPTY_TAG or _EMPTY.fullmatch(word) is not None


def tagged_words(phrase: Phrase) -> Iterator[tuple[str, str]]:
    """Walk over the words without those that have the tag -NONE-, each after the label above it, from left to right."""
    stack: list[tuple[str, Phrase | str]] = [("", phrase)]
    while stack:
        label, node = stack.pop()
        if isinstance(node, Phrase):
            stack.extend((node.label, child) for child in reversed(node.children))
        elif label != EMPTY_TAG:
            yield label, node


@lru_cache(maxsize=4096)
def base_label(label: str) -> str:
    """Cut a label at its first `-` or `=`, which leaves the category without function labels and indices.

    A `-` or `=` at the beginning belongs to the category.

    Subtypes after dots are part of the category.

    >>> [base_label(label) for label in ("NP-SBJ-1", "NP=2", "-LRB-", "PRT|ADVP", "S.F.C-CD")]
    ['NP', 'NP', '-LRB-', 'PRT|ADVP', 'S.F.C']
    """
    for at, character in enumerate(label):
        if at and character in "-=" and not label.startswith("-"):
            return label[:at]
    return label


def function_label(label: str) -> str:
    """Remove the indices of traces and gaps from a label, and keep its category and its function labels."""
    base = base_label(label)
    return base + _INDEX.sub("", label[len(base) :])


def _rebuilt(phrase: Phrase, children: list[Phrase | str], function_labels: bool, changes: Changes) -> Phrase:
    """Make a phrase of the label of a phrase and of its cleaned children, or return it if they are its own."""
    counts = changes.counts
    only = children[0]
    if isinstance(only, str):
        return _with_children(phrase, phrase.label, children)
    base = base_label(phrase.label)
    label = function_label(phrase.label) if function_labels else base
    if len(children) == 1 and base in TOPS:
        counts["top brackets removed"] += 1
        return only
    if label != phrase.label:
        counts["function labels and indices cut from phrases"] += 1
    if len(children) == 1 and base_label(only.label) == base and not only.is_preterminal():
        # X over X becomes one X, with the function labels of the upper X if it has any.
        counts["phrases over a phrase of their own label removed"] += 1
        return only if label == base else Phrase(label, only.children)
    return _with_children(phrase, label or "TOP", children)


def _with_children(phrase: Phrase, label: str, children: list[Phrase | str]) -> Phrase:
    """Make a phrase of a label and of children, or return the given one if it has just these."""
    if label == phrase.label and len(children) == len(phrase.children) and all(map(is_, children, phrase.children)):
        return phrase
    return Phrase(label, tuple(children))


def clean(phrase: Phrase, *, function_labels: bool = False, changes: Changes | None = None) -> Phrase | None:
    """Remove function labels, words with the tag -NONE-, X over X, and a top bracket that holds one tree.

    Tags stay as they are: what follows the hyphen in N-D or v-fin is no function.  A phrase over a tag of its own label
    stays, too.  A phrase without words becomes None.  A top bracket over several trees stays, as `TOP`.

    function_labels: whether phrases keep their function labels; indices are always removed.

    >>> def leaf(tag, word): return Phrase(tag, (word,))
    >>> subject = Phrase("NP-SBJ", (Phrase("NP", (leaf("NNS", "dogs"),)),))
    >>> tree = Phrase("", (Phrase("S", (subject, Phrase("VP", (leaf("VBP", "eat"), leaf("-NONE-", "*"))))),))
    >>> print(clean(tree).bracketed())
    (S (NP (NNS dogs)) (VP (VBP eat)))
    >>> print(clean(tree, function_labels=True).bracketed())
    (S (NP-SBJ (NNS dogs)) (VP (VBP eat)))
    """
    (cleaned_phrase,) = clean_together([phrase], function_labels=function_labels, changes=changes)
    return cleaned_phrase


def clean_together(
    phrases: Sequence[Phrase], *, function_labels: bool = False, changes: Changes | None = None
) -> list[Phrase | None]:
    """Clean several phrases; an object that several phrases share is cleaned once, and stays shared."""
    own = checked("changes", changes, Changes | None) or Changes()
    return _rebuild(phrases, lambda phrase, children: _rebuilt(phrase, children, function_labels, own), own)


def without_empty(phrase: Phrase, changes: Changes | None = None) -> Phrase | None:
    """Remove words with the tag -NONE- and phrases without words, and nothing else; None if no words are left."""
    own = changes or Changes()
    return _rebuild([phrase], lambda phrase, children: _with_children(phrase, phrase.label, children), own)[0]


def _rebuild(
    phrases: Sequence[Phrase], rebuilt: Callable[[Phrase, list[Phrase | str]], Phrase | None], changes: Changes
) -> list[Phrase | None]:
    """Rebuild phrases from those below them, without empty elements and without phrases that lose all words."""
    made: dict[int, Phrase | None] = {}  # the new phrase of each phrase that is no tag with its word, by its `id`
    for top in phrases:
        above = [] if id(top) in made else [top]
        for phrase in above:
            for child in phrase.children:
                if isinstance(child, Phrase) and id(child) not in made and not child.is_preterminal():
                    above.append(child)
        for phrase in reversed(above):
            label, parts = phrase
            children: list[Phrase | str] = []
            for part in parts:
                if isinstance(part, str) or part.is_preterminal():
                    tag, word = (label, part) if isinstance(part, str) else (part.label, str(part.children[0]))
                    if tag != EMPTY_TAG:
                        children.append(part)
                    else:
                        changes.remove(word)
                elif (new := made[id(part)]) is not None:
                    children.append(new)
            if not children and isinstance(parts[0], Phrase):
                changes.counts[WORDLESS] += 1
            made[id(phrase)] = rebuilt(phrase, children) if children else None
    return [made[id(phrase)] for phrase in phrases]


def cleaned(
    phrases: Iterable[Phrase], *, function_labels: bool = False, changes: Changes | None = None
) -> Iterator[Phrase]:
    """Clean phrases one by one."""
    for number, phrase in enumerate(phrases, start=1):
        without_traces = clean(phrase, function_labels=function_labels, changes=changes)
        if without_traces is None:
            raise EstimationError(f"tree {number} has no words: {phrase.bracketed()[:80]}")
        yield without_traces
