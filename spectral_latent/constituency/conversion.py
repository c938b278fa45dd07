"""Convert phrases to s-trees and back: unary chains are collapsed, and phrases binarised outward from one child.

A phrase X over children c_1 ... c_n with head c_h becomes

    X → c_1 @X,   @X → c_2 @X,   ...,   @X → @X c_n,   ...,   @X → c_h c_{h+1}

where the left children hang above the right ones.  Binarisation to the left or right is the case h = 1 or h = n.

Heads are found by rules.  For Penn Treebank labels, the rules are the table of Collins (1999, Appendix A), with the
labels that later English treebanks added.  The head of a phrase with another label is its last child that is neither
punctuation nor a bracket.  This rule is not made for a certain language, but it is consistent.  On Spanish and Dutch,
parsers with heads learnt from the treebank were no better; see docs/accuracy.md.

The features of s-trees are the templates of slides 18 and 19.  The core computes those that need only the tree; this
module adds the two templates that use heads.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, NamedTuple

import numpy as np

from spectral_latent._options import AtLeast, Options
from spectral_latent.constituency.cleaning import base_label
from spectral_latent.constituency.tree import Phrase
from spectral_latent.estimation import FeatureColumns, inside_templates, outside_templates
from spectral_latent.trees import BoolArray, IntArray, SkeletalTrees, Vocabulary

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


def find_head(label: str, children: Sequence[str]) -> int:
    """Find the position of the head among the children of a phrase, from 0."""
    head = _chosen(label, children)
    if head >= 2 and children[head - 1] == "CC" and not _is_punctuation(children[head - 2]):
        return head - 2  # X CC Y is split_by_heads by X
    return head


class PhraseSymbol(NamedTuple):
    """A symbol of a binarised grammar.

    chain: the labels of a collapsed unary chain, top to bottom; over a word, the last label is its tag.
    bar: whether this is @X, a part of the phrase X = chain[0].
    memory: labels of the context: the siblings inside a bar, or the parents of a phrase."""

    chain: tuple[str, ...]
    bar: bool = False
    memory: tuple[str, ...] = ()

    @property
    def last(self) -> str:
        """The last label of the chain: the tag of a word, or the label of a phrase."""
        return self.chain[-1]

    @property
    def name(self) -> str:
        """The symbol in one word.

        >>> PhraseSymbol(("S", "VP"), bar=True, memory=("NP",)).name
        '@S|VP^NP'
        """
        return "@" * self.bar + "|".join(self.chain) + "".join(f"^{label}" for label in self.memory)


@dataclass(frozen=True)
class Binarisation(Options):
    """Settings of the conversion of phrases to binary trees.

    outward_from: the child to which the other children are attached: the first child, the last child, or the head (by
    Collins' table, or by a rule for other labels).
    siblings: the number of children whose labels a bar symbol remembers: those attached last.
    parents: the number of phrases above a phrase whose labels its symbol remembers."""

    outward_from: Literal["head", "first", "last"] = "head"
    siblings: Annotated[int, AtLeast(0)] = 0
    parents: Annotated[int, AtLeast(0)] = 0

    def centre(self, label: str, children: Sequence[str]) -> int:
        """Find the child from which binarisation starts."""
        if self.outward_from == "head":
            return find_head(label, children)
        return 0 if self.outward_from == "first" else len(children) - 1


class _Step(NamedTuple):
    """A node of an s-tree: a leaf, or one that joins the two finished subtrees before it."""

    symbol: PhraseSymbol
    is_leaf: bool
    head_is_right: bool


class PhraseTrees(NamedTuple):
    """s-trees of N nodes with their heads.

    head_is_right: (N,) whether the head of a node is below its right child; False at a leaf."""

    trees: SkeletalTrees
    head_is_right: BoolArray


class _Steps:
    """The numbers of the steps that phrases take; equal phrases take equal steps, which are found once."""

    def __init__(self, binarisation: Binarisation) -> None:
        self.steps = Vocabulary[_Step]()
        self._binarisation = binarisation
        self.leaf = cache(self._leaf)
        self.phrase = cache(self._plan)

    def _leaf(self, chain: tuple[str, ...], parents: tuple[str, ...]) -> int:
        """Number the step of a word below a chain of labels."""
        return self.steps.add(_Step(PhraseSymbol(chain, memory=parents), is_leaf=True, head_is_right=False))

    def _plan(self, chain: tuple[str, ...], parents: tuple[str, ...], labels: tuple[str, ...]) -> _Plan:
        """Find the child from which binarisation starts, and the steps that join the other children to it.

        Heads, bars and memories do not depend on function labels.

        chain: the chain of labels of the phrase; `labels` are those of the children below it."""
        symbol = PhraseSymbol(chain, memory=parents)
        label = base_label(symbol.last)
        labels = tuple([base_label(child) for child in labels])
        centre = self._binarisation.centre(label, labels)
        n_siblings = self._binarisation.siblings
        order = [*range(centre + 1, len(labels)), *range(centre - 1, -1, -1)]
        merges: list[int] = []
        memory: tuple[str, ...] = ()
        for at in order:
            memory = (*memory, labels[at])[-n_siblings:] if n_siblings else ()
            bar = symbol if len(merges) == len(order) - 1 else PhraseSymbol((label,), True, memory)
            merges.append(self.steps.add(_Step(bar, is_leaf=False, head_is_right=at < centre)))
        n_right = len(labels) - centre - 1
        below = tuple([base_label(each) for each in (symbol.last, *symbol.memory)[: self._binarisation.parents]])
        return _Plan(centre + 1, merges[:n_right], merges[n_right:], below)


class _Plan(NamedTuple):
    """The conversion of a phrase: its first children, each other child with a merge, and the remaining merges."""

    n_first: int
    right: list[int]  # the merge after each child that is not among the first ones
    left: list[int]  # the merges after all children
    below: tuple[str, ...]  # the memory of the children


def _steps_of(phrase: Phrase, found: _Steps, parents: tuple[str, ...], words: list[str]) -> Iterator[int]:
    """Convert a phrase to steps in post-order, and append its words."""
    tasks: list[tuple[Phrase, tuple[str, ...]] | int] = [(phrase, parents)]
    while tasks:
        task = tasks.pop()
        if isinstance(task, int):
            yield task
            continue
        (label, children), parents = task
        chain: tuple[str, ...] = (label,)
        while len(children) == 1 and isinstance(only := children[0], Phrase):
            label, children = only
            chain += (label,)
        if len(children) == 1:
            words.append(str(children[0]))
            yield found.leaf(chain, parents)
            continue
        phrases = [child for child in children if isinstance(child, Phrase)]
        if len(phrases) < len(children):
            raise ValueError(f"a phrase {label} holds several words, or words beside phrases; give each word a tag")
        n_first, right, left, below = found.phrase(chain, parents, tuple([child.label for child in phrases]))
        # The last task comes first.
        tasks += reversed(left)
        for child, merge in zip(reversed(phrases[n_first:]), reversed(right), strict=True):
            tasks += (merge, (child, below))
        tasks += [(child, below) for child in phrases[n_first - 1 :: -1]]


def convert_trees(
    phrases: Iterable[Phrase],
    binarisation: Binarisation,
    symbols: Vocabulary[PhraseSymbol],
    terminals: Vocabulary[str],
) -> PhraseTrees:
    """Convert cleaned phrases to s-trees; new symbols and words get new numbers."""
    found = _Steps(binarisation)
    numbers, ends, words = array("q"), array("q"), list[str]()
    for phrase in phrases:
        numbers.extend(_steps_of(phrase, found, ("",) * min(binarisation.parents, 1), words))
        ends.append(len(numbers))
    step = np.array(numbers, dtype=np.int64)
    steps = found.steps.names
    # Number symbols and words in the order of their first places.
    kinds, first = np.unique(step, return_index=True)
    number = np.zeros(len(steps), dtype=np.int64)
    for kind in kinds[np.argsort(first)].tolist():
        number[kind] = symbols.add(steps[kind].symbol)
    leaf = np.array([made.is_leaf for made in steps], dtype=np.bool_)[step]
    is_right = np.array([made.head_is_right for made in steps], dtype=np.bool_)[step]
    terminal = np.full(len(step), -1, dtype=np.int64)
    terminal[leaf] = [terminals.add(word) for word in words]
    trees = SkeletalTrees.post_order(number[step], np.where(leaf, 0, 2), terminal, np.array(ends, dtype=np.int64) - 1)
    return PhraseTrees(trees, is_right)


def build_phrase(chains: Iterable[tuple[str, ...]], n_children: Iterable[int], words: Iterable[str]) -> Phrase:
    """Build a phrase from nodes in post-order."""
    rest = iter(words)
    parts: list[Phrase | str] = []  # phrases and words that have no parent yet
    sizes: list[int] = []  # the number of these parts below each node without a parent
    for chain, n in zip(chains, n_children, strict=True):
        if n == 0:
            parts.append(next(rest))
            size = 1
        else:
            size = sum(sizes[-n:])
            del sizes[-n:]
        if chain:
            below = tuple(parts[-size:])
            for label in reversed(chain):
                below = (Phrase(label, below),)
            parts[-size:] = below
            size = 1
        sizes.append(size)
    (top,) = parts
    assert isinstance(top, Phrase)
    return top


def make_phrase(tree: SkeletalTrees, symbols: Sequence[PhraseSymbol], words: Iterable[str]) -> Phrase:
    """Convert one s-tree back to a phrase.  A bar @X at the top stands for its phrase X."""
    named = [symbols[symbol] for symbol in tree.symbol.tolist()]
    chains = [() if symbol.bar else symbol.chain for symbol in named]
    chains[-1] = named[-1].chain
    return build_phrase(chains, np.where(tree.left < 0, 0, 2).tolist(), words)


FeatureSet = Literal["all", "simple"]


def _head_tags(converted: PhraseTrees, tags: IntArray) -> tuple[IntArray, IntArray]:
    """Find the tag of each node's head, and the tag of its governor: the next other head above; -1 if there is none."""
    trees, head_is_right = converted
    child_of_head = np.where(trees.is_leaf, -1, np.where(head_is_right, trees.right, trees.left))
    head = trees.follow(child_of_head)
    # Follow each node up while it has the head of its parent; above the last such node is the governor.
    is_head = head[trees.parent] == head
    projection = trees.follow(np.where((trees.parent >= 0) & is_head, trees.parent, -1))
    governor = trees.parent[projection]
    tag = tags[trees.symbol[head]]
    return tag, np.where(governor >= 0, tag[governor], -1)


def compute_constituency_features(converted: PhraseTrees, tags: IntArray, which: FeatureSet = "all") -> FeatureColumns:
    """Compute all templates of slides 18 and 19, or the two simple templates of slide 28: rule below and rule above.

    tags: (S,) the number of the last label of each symbol; at a leaf, this label is a tag."""
    trees = converted.trees
    inner = inside_templates(trees)
    outer = outside_templates(trees)
    if which == "simple":
        return FeatureColumns.of({"rule": inner["rule"]}, {"above": outer["above"]})
    own, governor = _head_tags(converted, tags)
    return FeatureColumns.of(inner | {"head": own}, outer | {"governor": governor})
