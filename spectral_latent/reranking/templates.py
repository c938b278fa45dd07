"""What occurs in a tree, counted: features that need no model.

| group | counts, for dependency trees | source |
| --- | --- | --- |
| `siblings` | tag of the nearest left dependant, tag of the head, tag of the nearest right dependant | Dhillon et al. |
| `grandparent` | side and tag of a word, tag of its head, tag of the head's head | 2012, section 4.3 |

| group | counts, for constituency trees | source |
| --- | --- | --- |
| `rule` | a label and those of its children | Collins and Koo 2005, section 4.2: rules, |
| `parent-rule` | the same with the label above | grandparent rules, |
| `heads` | a label, those of its head child and of another, the tags of their heads, and the side | head-modifiers |

Every word counts for `siblings`, and the root; - stands for no word, and for no label above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import sparse

from spectral_latent.constituency import Phrase
from spectral_latent.constituency.heads import head_child
from spectral_latent.dependency import DependencySentence
from spectral_latent.reranking.candidates import NBest
from spectral_latent.reranking.features import ListTransformer
from spectral_latent.reranking.tables import FeatureTable
from spectral_latent.trees import IntArray, Vocabulary

__all__ = ["TreeTemplates"]

_NONE, _ROOT = "-", "ROOT"
_SIDES = ("left", "right")
_BATCH = 200  # lists looked at together


class _Events(NamedTuple):
    """Events of some candidates, numbered from 0."""

    candidate: IntArray  # (e,)
    event: IntArray  # (e,) a place among the names
    names: list[str]


@dataclass
class TreeTemplates(ListTransformer):
    """The templates of the head of this module, for whichever trees the lists have.

    cutoff: an event is a feature if candidates differ in it in so many of the lists given to `fit`.
    vocabulary: the features, if they are known; then there is nothing to fit.

    >>> from spectral_latent.reranking.candidates import Candidate
    >>> words = DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"])
    >>> nbest = NBest.of(Candidate(words._replace(heads=heads)) for heads in ((2, 0), (0, 1)))
    >>> templates = TreeTemplates(cutoff=1).fit([nbest])
    >>> templates.feature_names()[:3]
    ('grandparent:left NNS VBP ROOT', 'grandparent:right NNS ROOT -', 'grandparent:right VBP NNS ROOT')
    >>> templates.transform([nbest]).toarray()[:, :3]
    array([[1., 0., 0.],
           [0., 1., 1.]])
    """

    cutoff: int = 5
    vocabulary: Sequence[str] | None = None
    _names: tuple[str, ...] | None = field(default=None, init=False, repr=False)

    def fit_table(self, lists: Sequence[NBest]) -> FeatureTable:
        """`fit`, then `table`, in one."""
        if self.vocabulary is None:
            counts = _counts(lists, None)
            self._names = tuple(
                sorted(name for name, n in zip(counts.names, counts.varying(), strict=True) if n >= self.cutoff)
            )
            return counts.aligned(self._names)
        return self.table(lists)

    def table(self, lists: Sequence[NBest]) -> FeatureTable:
        """The features of lists; other events are left out."""
        return _counts(lists, self.feature_names())

    def feature_names(self) -> tuple[str, ...]:
        """The names of the features; ValueError before `fit`."""
        names = self._names if self.vocabulary is None else tuple(self.vocabulary)
        if names is None:
            raise ValueError("the features have not been fitted; call fit with the lists of training")
        return names


def _counts(lists: Sequence[NBest], names: Sequence[str] | None) -> FeatureTable:
    """How often each candidate has each event: those of these names, or all."""
    columns = Vocabulary(names or ())
    number = columns.add if names is None else columns.get
    start = np.concatenate([[0], np.cumsum([len(each) for each in lists], dtype=np.int64)])
    cells = [np.zeros((0, 2), dtype=np.int64)]
    for first in range(0, len(lists), _BATCH):
        events = _events(lists[first : first + _BATCH])
        column = np.array([number(name) for name in events.names], dtype=np.int64)[events.event]
        cells.append(np.stack([start[first] + events.candidate, column], axis=1)[column >= 0])
    row, column = np.concatenate(cells).T
    shape = (int(start[-1]), len(columns))
    values = sparse.csr_array(sparse.coo_array((np.ones(len(row)), (row, column)), shape=shape))
    ids = tuple(each.id for each in lists)
    return FeatureTable(tuple(columns), values, start, ids, np.zeros(len(columns), dtype=bool))


def _events(lists: Sequence[NBest]) -> _Events:
    trees = [candidate.tree for each in lists for candidate in each.candidates]
    phrases = [tree for tree in trees if isinstance(tree, Phrase)]
    sentences = [tree for tree in trees if isinstance(tree, DependencySentence)]
    if phrases and sentences:
        raise ValueError("phrases in some lists, dependencies in others; make the features of each apart")
    return _of_phrases(phrases) if phrases else _of_dependencies(sentences)


def _of_dependencies(sentences: Sequence[DependencySentence]) -> _Events:
    """All words, and each sentence's root before them, are nodes 0, 1, ...; the last node is no word."""
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
    head, label, node = np.array(heads), np.array(tag), np.arange(len(heads))
    owner = np.append(np.repeat(np.arange(len(sizes)), sizes), -1)
    left, right = node[head > node], node[(head >= 0) & (head < node)]
    to_left, to_right = np.full(len(node), -1), np.full(len(node), -1)
    to_left[head[left]] = left  # of several dependants of one head, the last stays: the nearest
    to_right[head[right[::-1]]] = right[::-1]
    nodes, words = node[:-1], node[head >= 0]
    above = head[words]
    side = (above < words).astype(np.int64)
    names = tags.names
    return _together(
        _named("siblings", owner[nodes], [label[to_left[nodes]], label[nodes], label[to_right[nodes]]], [names] * 3),
        _named(
            "grandparent",
            owner[words],
            [side, label[words], label[above], label[head[above]]],
            [_SIDES, *[names] * 3],
        ),
    )


def _tags(sentence: DependencySentence) -> tuple[str, ...]:
    """The treebank's own tags, or the universal ones where there are no others."""
    return sentence.upos if all(tag == "_" for tag in sentence.xpos) else sentence.xpos


def _of_phrases(trees: Sequence[Phrase]) -> _Events:
    counted = _Rules()
    sizes = np.array([counted.add(tree) for tree in trees], dtype=np.int64).reshape(-1, 3)  # events of each group
    return _together(
        *(
            _Events(np.repeat(np.arange(len(trees)), size), np.array(found, dtype=np.int64), names)
            for size, found, names in zip(sizes.T, counted.found, counted.names(), strict=True)
        )
    )


class _Rules:
    """Rules, rules with the label above, and pairs of heads, as they are met in trees."""

    def __init__(self) -> None:
        self.found: tuple[list[int], list[int], list[int]] = ([], [], [])
        self._rules = Vocabulary[tuple[str, ...]]()  # a label, and those of its children
        self._above = Vocabulary[tuple[str, int]]()  # a label, and a rule
        self._heads = Vocabulary[tuple[int, int, str, str]]()  # a rule, a child, the head's tag and the child's
        self._head_of: list[int] = []  # the head child of each rule

    def add(self, tree: Phrase) -> tuple[int, int, int]:
        """Take in a tree; how many events of each group it has."""
        rules, above, heads = self.found
        before = len(rules), len(above), len(heads)
        done: list[tuple[str, int, str]] = []  # label, rule and head tag of what has no parent yet, leftmost last
        for node in reversed(list(tree.nodes())):
            if isinstance(node, str):
                continue
            if node.is_preterminal():
                done.append((node.label, -1, node.label))
                continue
            children = [done.pop() for _ in node.children]
            rule = self._rule(node.label, [label for label, _, _ in children])
            rules.append(rule)
            at = self._head_of[rule]
            tag = children[at][2]
            for i, (_, below, other) in enumerate(children):
                if below >= 0:
                    above.append(self._above.add((node.label, below)))
                if i != at:
                    heads.append(self._heads.add((rule, i, tag, other)))
            done.append((node.label, rule, tag))
        _, rule, _ = done.pop()
        if rule >= 0:
            above.append(self._above.add((_NONE, rule)))
        return len(rules) - before[0], len(above) - before[1], len(heads) - before[2]

    def names(self) -> tuple[list[str], list[str], list[str]]:
        """The features' names, of each group in the order of its numbers."""
        rules = self._rules.names
        pairs = []
        for rule, i, tag, other in self._heads:
            label, *children = rules[rule]
            head = self._head_of[rule]
            pairs.append(_name("heads", label, children[head], children[i], tag, other, _SIDES[head < i]))
        return (
            [_name("rule", *rule) for rule in rules],
            [_name("parent-rule", label, *rules[rule]) for label, rule in self._above],
            pairs,
        )

    def _rule(self, label: str, children: list[str]) -> int:
        rule = self._rules.add((label, *children))
        if rule == len(self._head_of):
            self._head_of.append(head_child(label, children))
        return rule


def _name(group: str, *parts: str) -> str:
    return f"{group}:{' '.join(parts)}"


def _named(group: str, candidate: IntArray, columns: list[IntArray], alphabets: list[Sequence[str]]) -> _Events:
    """The events (e,) whose parts are columns (e,) of places in alphabets."""
    sizes = [len(alphabet) for alphabet in alphabets]
    codes, event = np.unique(np.ravel_multi_index(columns, sizes), return_inverse=True)
    parts = zip(*(column.tolist() for column in np.unravel_index(codes, sizes)), strict=True)
    names = [_name(group, *(alphabet[i] for alphabet, i in zip(alphabets, row, strict=True))) for row in parts]
    return _Events(candidate, event, names)


def _together(*groups: _Events) -> _Events:
    first = np.cumsum([0, *(len(group.names) for group in groups)])
    return _Events(
        np.concatenate([group.candidate for group in groups]),
        np.concatenate([group.event + at for group, at in zip(groups, first, strict=False)]),
        [name for group in groups for name in group.names],
    )
