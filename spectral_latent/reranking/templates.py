"""Count events in trees, as features that need no model.

| group | counts, for dependency trees | source |
| --- | --- | --- |
| `siblings` | tag of the nearest left dependant, tag of the head, tag of the nearest right dependant | Dhillon et al. |
| `grandparent` | side and tag of a word, tag of its head, tag of the head's head | 2012, section 4.3 |

| group | counts, for constituency trees | source |
| --- | --- | --- |
| `rule` | a label and those of its children | Collins and Koo 2005, section 4.2: rules, |
| `parent-rule` | a label, the labels of its children, and the label above | grandparent rules, |
| `heads` | a label, its head child's, another child's, the tags of these children's heads, a side | head-modifiers |

A `siblings` event is counted for every word and for the root.  A - stands for a missing word or a missing label above.
The side in `heads` is that of the other child.  Phrases are cleaned first (`NBest.cleaned`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from spectral_latent.constituency import Phrase
from spectral_latent.constituency.conversion import find_head
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking.candidates import NBest
from spectral_latent.reranking.features import FeatureTable
from spectral_latent.trees import IntArray, Vocabulary

__all__ = ["TreeTemplates"]

_NONE, _ROOT = "-", "ROOT"
_SIDES = ("left", "right")
_BATCH = 200  # lists whose events are counted together


class _Events(NamedTuple):
    """The events in some candidates.

    candidate: (e,) the candidate of each event, numbered from 0.
    event: (e,) the place of each event among the names.
    names: the names of different events.
    """

    candidate: IntArray
    event: IntArray
    names: list[str]


@dataclass(frozen=True)
class TreeTemplates:
    """Counts of the events that the tables of this module describe.

    names: the events that are features; all others are left out.

    >>> from spectral_latent.reranking.candidates import Candidate
    >>> words = DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"])
    >>> nbest = NBest.of(Candidate(words.with_heads(heads)) for heads in ((2, 0), (0, 1)))
    >>> templates = TreeTemplates.train([nbest], cutoff=1)
    >>> templates.names[:3]
    ('grandparent:left NNS VBP ROOT', 'grandparent:right NNS ROOT -', 'grandparent:right VBP NNS ROOT')
    >>> templates.table([nbest]).values.toarray()[:, :3]
    array([[1., 0., 0.],
           [0., 1., 1.]])
    """

    names: tuple[str, ...]

    @staticmethod
    def train(lists: Sequence[NBest], cutoff: int = 5) -> TreeTemplates:
        """Choose the events whose counts differ among the candidates of enough lists.

        lists: lists of one formalism.
        cutoff: the smallest number of lists whose candidates differ in an event.
        """
        counts = _counts(lists, None)
        often = counts.varying() >= cutoff
        return TreeTemplates(tuple(sorted(name for name, is_kept in zip(counts.names, often, strict=True) if is_kept)))

    def table(self, lists: Sequence[NBest]) -> FeatureTable:
        """Count the events in the candidates of lists.

        lists: L lists of n candidates in all.
        """
        return _counts(lists, self.names)


def _counts(lists: Sequence[NBest], names: Sequence[str] | None) -> FeatureTable:
    """Count how often each candidate has each event of these names, or each event that occurs."""
    columns = Vocabulary(names or ())
    column_of = columns.add if names is None else columns.get
    start = np.concatenate([[0], np.cumsum([len(nbest) for nbest in lists], dtype=np.int64)])
    cells = [np.zeros((0, 2), dtype=np.int64)]
    for first in range(0, len(lists), _BATCH):
        events = _events(lists[first : first + _BATCH])
        column = np.array([column_of(name) for name in events.names], dtype=np.int64)[events.event]
        cells.append(np.stack([start[first] + events.candidate, column], axis=1)[column >= 0])
    row, column = np.concatenate(cells).T
    shape = (int(start[-1]), len(columns))
    values = scipy.sparse.csr_array(scipy.sparse.coo_array((np.ones(len(row)), (row, column)), shape=shape))
    ids = tuple(nbest.id for nbest in lists)
    return FeatureTable(tuple(columns), values, start, ids, np.zeros(len(columns), dtype=bool))


def _events(lists: Sequence[NBest]) -> _Events:
    """Find the events in all candidates of lists of one formalism."""
    trees = [tree for nbest in lists for tree in nbest.cleaned]
    phrases = [tree for tree in trees if isinstance(tree, Phrase)]
    sentences = [tree for tree in trees if isinstance(tree, DependencySentence)]
    if phrases and sentences:
        raise ValueError("phrases in some lists, dependencies in others; make the features of each apart")
    return _of_phrases(phrases) if phrases else _of_dependencies(sentences)


def _of_dependencies(sentences: Sequence[DependencySentence]) -> _Events:
    """Find the events in dependency trees.

    The nodes 0, 1, ... are the roots and words of all sentences, each root before its words.  The last node stands for
    a missing word, so that -1 as a place finds it.
    """
    tags = Vocabulary([_NONE, _ROOT])
    tag: list[int] = []
    heads: list[int] = []
    sizes: list[int] = []
    for sentence in sentences:
        root = len(heads)
        heads.append(-1)
        heads += [root + head for head in sentence.heads or ()]
        tag.append(tags[_ROOT])
        tag += [tags.add(name) for name in _tags(sentence)]
        sizes.append(len(heads) - root)
    heads.append(-1)
    tag.append(tags[_NONE])
    head = np.array(heads)
    label = np.array(tag)
    node = np.arange(len(heads))
    tree = np.append(np.repeat(np.arange(len(sizes)), sizes), -1)
    # The nearest dependants on both sides: of several assignments to one head the last stays, which is the nearest.
    left = node[head > node]
    right = node[(head >= 0) & (head < node)][::-1]
    nearest_left = np.full(len(node), -1)
    nearest_left[head[left]] = left
    nearest_right = np.full(len(node), -1)
    nearest_right[head[right]] = right
    siblings = [label[nearest_left[:-1]], label[:-1], label[nearest_right[:-1]]]
    # For each word its side of the head, its tag, the head's tag, and the tag of the head's head.
    words = node[head >= 0]
    above = head[words]
    grandparent = [(above < words).astype(np.int64), label[words], label[above], label[head[above]]]
    return _join(
        _name_events("siblings", tree[:-1], siblings, [tags.names] * 3),
        _name_events("grandparent", tree[words], grandparent, [_SIDES, *[tags.names] * 3]),
    )


def _tags(sentence: DependencySentence) -> tuple[str, ...]:
    """Return the treebank's own tags, or the universal ones where there are no others."""
    return sentence.upos if all(tag == "_" for tag in sentence.xpos) else sentence.xpos


def _of_phrases(trees: Sequence[Phrase]) -> _Events:
    """Find the events in phrases."""
    reader = _PhraseReader()
    sizes = np.array([reader.read(tree) for tree in trees], dtype=np.int64).reshape(-1, 3)
    groups = zip(sizes.T, reader.events, reader.names(), strict=True)
    candidates = np.arange(len(trees))
    return _join(
        *(
            _Events(np.repeat(candidates, size), np.array(events, dtype=np.int64), names)
            for size, events, names in groups
        )
    )


class _PhraseReader:
    """Reads phrases one after the other, and numbers their rules, rules with the label above, and pairs of heads."""

    def __init__(self) -> None:
        self.events: tuple[list[int], list[int], list[int]] = ([], [], [])  # of rule, parent-rule and heads
        self._rules = Vocabulary[tuple[str, ...]]()  # a label, and its children's
        self._parent_rules = Vocabulary[tuple[str, int]]()  # the label above, and a rule
        self._heads = Vocabulary[tuple[int, int, str, str]]()  # a rule, a child, the head's tag and the child's
        self._head_of: list[int] = []  # the head child of each rule

    def read(self, tree: Phrase) -> tuple[int, int, int]:
        """Add the events of a tree; return the number of its events in each group."""
        rules, parent_rules, heads = self.events
        before = [len(events) for events in self.events]
        done: list[tuple[str, int, str]] = []  # label, rule (-1 for a tag) and head tag of nodes without parent so far
        # Nodes come in reverse of parents before children, left to right: the leftmost child is on top of the stack.
        for node in reversed(list(tree.nodes())):
            if isinstance(node, str):
                continue
            if node.is_preterminal():
                done.append((node.label, -1, node.label))
                continue
            children = [done.pop() for _ in node.children]
            rule = self._number_rule(node.label, [label for label, _, _ in children])
            rules.append(rule)
            head = self._head_of[rule]
            head_tag = children[head][2]
            for place, (_, child_rule, tag) in enumerate(children):
                if child_rule >= 0:
                    parent_rules.append(self._parent_rules.add((node.label, child_rule)))
                if place != head:
                    heads.append(self._heads.add((rule, place, head_tag, tag)))
            done.append((node.label, rule, head_tag))
        _, rule, _ = done.pop()
        if rule >= 0:
            parent_rules.append(self._parent_rules.add((_NONE, rule)))
        n_rules, n_parent_rules, n_heads = (
            len(events) - first for events, first in zip(self.events, before, strict=True)
        )
        return n_rules, n_parent_rules, n_heads

    def names(self) -> tuple[list[str], list[str], list[str]]:
        """Return the features' names, of each group in the order of its numbers."""
        rules = self._rules.names
        pairs = []
        for rule, place, head_tag, tag in self._heads:
            label, *children = rules[rule]
            head = self._head_of[rule]
            pairs.append(_name("heads", label, children[head], children[place], head_tag, tag, _SIDES[head < place]))
        return (
            [_name("rule", *rule) for rule in rules],
            [_name("parent-rule", label, *rules[rule]) for label, rule in self._parent_rules],
            pairs,
        )

    def _number_rule(self, label: str, children: list[str]) -> int:
        """Number a rule, and find its head child if it is new."""
        rule = self._rules.add((label, *children))
        if rule == len(self._head_of):
            self._head_of.append(find_head(label, children))
        return rule


def _name(group: str, *parts: str) -> str:
    """Make the name of a feature."""
    return f"{group}:{' '.join(parts)}"


def _name_events(
    group: str, candidate: IntArray, columns: list[IntArray], alphabets: Sequence[Sequence[str]]
) -> _Events:
    """Name events by their parts.

    candidate: (e,) the candidate of each event.
    columns: the places (e,) of each part in its alphabet.
    """
    sizes = [len(alphabet) for alphabet in alphabets]
    codes, event = np.unique(np.ravel_multi_index(columns, sizes), return_inverse=True)
    parts = zip(*(column.tolist() for column in np.unravel_index(codes, sizes)), strict=True)
    names = [_name(group, *(alphabet[i] for alphabet, i in zip(alphabets, row, strict=True))) for row in parts]
    return _Events(candidate, event, names)


def _join(*groups: _Events) -> _Events:
    """Put the events of several groups of the same candidates one after the other."""
    first = np.cumsum([0, *(len(group.names) for group in groups)])[:-1]
    return _Events(
        np.concatenate([group.candidate for group in groups]),
        np.concatenate([group.event + begin for group, begin in zip(groups, first, strict=True)]),
        [name for group in groups for name in group.names],
    )
