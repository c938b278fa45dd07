"""Find the relations of the arcs of known trees: a choice among the relations that such arcs have had.

| here | meaning |
| --- | --- |
| d, g | a word and its head, which may be the root |
| ends | the tags of d and g, and the side of g: 0 for the root, 1 left of d, 2 right of d |
| n(a, ends) | how often arcs with these ends had the relation a in training |
| μ(a \\| ends) = (n(a, ends) + κ μ(a \\| d, side)) / (n(ends) + κ) | its share, backed off to that with any tag of g |
| φ(a, ends) | features: a and the side, with values of `arcs`; see `_TEMPLATES` |
| P(a \\| arc) ∝ μ(a \\| ends)^s exp(w·φ) | the probability of a among the relations with more than a small share |

The shares μ(a | d, side) are backed off in the same way to those of all arcs from the root, or of all others.  So an
arc from the root has only relations that such arcs had, unless there were none.  The likely heads of `arcs` are here
the heads of the tree.

The prediction of relations in a second stage, from the arc, its neighbours, siblings and children, is that of McDonald,
Lerman and Pereira (2006), Multilingual dependency analysis with a two-stage discriminative parser, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Annotated, ClassVar

import numpy as np

from spectral_latent._compiled import check_range
from spectral_latent._options import AtLeast
from spectral_latent.dependency.arcs import ArcEvidence, arc_columns, arcs_of
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.dependency.tree import BLANK, DependencySentence
from spectral_latent.files import TEXT, Axes, are_distinct, are_one_line, are_sorted
from spectral_latent.lexicon.buckets import N_BUCKETS, Templates, hash_features, list_names
from spectral_latent.lexicon.choices import ChoiceModel, Choices, learn
from spectral_latent.model.parts import Parts
from spectral_latent.trees import FloatArray, IntArray, Rules, Vocabulary, ranges

_BUCKETS = 2 * N_BUCKETS
_BACK = 2.0  # κ
_SPREAD = 0x9E3779B1  # an odd number, whose multiples by the numbers of relations are different buckets
_LEAST = 3e-3  # relations are candidates whose share is more than this part of the largest one
_PENALTY = 0.25  # λ of `choices`
_ITERATIONS = 40  # of L-BFGS
_BATCH = 1000  # sentences whose features are computed at once
_TEMPLATES: Templates = tuple(
    tuple(template.split(", "))
    for template in (
        "tag d, tag g",
        "tag d, tag g, distance",
        "tag d, tag g, tag first child",
        "tag d, tag g, tag last child",
        "tag d, tag g, tag inner sibling",
        "tag d, tag g, lower inner sibling",
        "tag d, tag g, lower first of g",
        "tag d, tag d-1",
        "tag d, tag d+1",
        "tag d, lower g",
        "tag d, ending g",
        "lower d, tag g",
        "ending d, tag g",
        "tag d, tag d-1, tag d-2",
        "tag d, tag g, tag head of g",
        "tag d, tag g, lower first child",
        "tag d, lower g, tag first child",
        "lower d",
        "other d, other g",
        "other d, tag g",
        "tag d, other g",
        "features d, tag g",
        "features d, features g",
        "tag d, features g",
        "features d, ending g",
        "ending d, ending g",
        "beginning d, tag g",
        "tag d, beginning g",
        "lower d-1, tag d",
        "lower d+1, tag d",
        "lower d, tag d-1",
        "lower d, tag d+1",
        "features d, other g",
        "features d, lower g",
        "features d, tag d-1",
        "features d, tag first child",
        "tag d, tag g, features first child",
        "tag d, lower first child",
        "tag d, lower first child, lower g",
        "tag d, tag g, lower last child",
        "lower d, tag first child",
        "tag d, ending g, lower first child",
        "tag d, tag g, tag first child, tag last child",
        "tag d",
        "other d",
        "features d",
        "distance",
        "ending d",
        "beginning d",
        "form d, tag g",
    )
)
_NAMES = frozenset(list_names(_TEMPLATES))


@dataclass(frozen=True, eq=False, repr=False)
class RelationModel(ChoiceModel):
    """A log-linear model of the relations of arcs, P(a | arc), in known trees.

    slope, weights: see `ChoiceModel`.
    ends: (F, 3) the ends of arcs that occurred, as numbers of tags, with the number after the last tag for the root.
    counts: (F, K) n(a, ends), the number of arcs with each relation.
    Raises ValueError if there are no relations, or the ends are of unknown tags.

    >>> trees = [DependencySentence.of(["dogs", "chase", "cats"], ["N", "V", "N"])] * 2
    >>> trees = [tree.with_heads((2, 0, 2), ("nsubj", "root", "obj")) for tree in trees]
    >>> model = RelationModel.learn_from(trees, DependencyOptions())
    >>> mice = DependencySentence.of(["mice", "sleep"], ["N", "V"]).with_heads((2, 0))
    >>> judged = model.judge(arcs_of([mice]), ArcEvidence.of([mice], DependencyOptions()))
    >>> [model.names[label] for label in judged.label]
    ['nsubj', 'root']
    """

    noun: ClassVar[str] = "relations"
    n_buckets: ClassVar[int] = _BUCKETS

    weights: Annotated[FloatArray, Axes(_BUCKETS)]
    names: Annotated[list[str], Axes("K"), are_distinct, are_one_line]
    tags: Annotated[Vocabulary[str], TEXT]
    ends: Annotated[IntArray, Axes("F", 3), are_sorted, AtLeast(0)]
    counts: Annotated[FloatArray, Axes("F", "K"), AtLeast(0.0)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.names:
            raise ValueError("a model of relations needs the name of a relation")
        check_range("tags of dependants", self.ends[:, 0], 0, len(self.tags))
        check_range("tags of heads", self.ends[:, 1], 0, len(self.tags) + 1)
        check_range("sides", self.ends[:, 2], 0, 3)

    @staticmethod
    def learn_from(
        trees: Sequence[DependencySentence], options: DependencyOptions, *, weights: Sequence[float] | None = None
    ) -> RelationModel | None:
        """Learn from arcs whose relation is not `_`; return None if there are no such arcs.

        trees: the sentences, with heads and relations.
        options: the settings of the grammars, which name the columns of words and tags.
        weights: the weight of each sentence; 1 if not given.
        Raises ValueError if a sentence has not one tag, one head and one relation for each word."""
        for number, tree in enumerate(trees, start=1):
            if len(tree.relations) != len(tree.forms):
                counts = f"{len(tree.forms)} words and {len(tree.relations)} relations"
                raise ValueError(f"sentence {number} has {counts}; give each word one, or `_`")
        every = list(chain.from_iterable(tree.relations for tree in trees))
        names = sorted({*every} - {BLANK})
        if not names:
            return None
        arcs, evidence = arcs_of(trees), ArcEvidence.of(trees, options)
        label = Vocabulary(names).numbers(every)
        times = np.ones(len(trees)) if weights is None else np.asarray(weights, dtype=float)
        annotated = label >= 0
        tags = Vocabulary(evidence.tags)
        ends, place = Rules.distinct(_ends(tags, arcs, evidence)[annotated])
        counted = np.zeros((len(ends), len(names)))
        np.add.at(counted, (place, label[annotated]), times[arcs.sentence[annotated]])
        model = RelationModel(1.0, np.zeros(_BUCKETS), names, tags, ends, counted)
        examples = []
        for first in range(0, len(trees), _BATCH):
            batch = trees[first : first + _BATCH]
            own = slice(*evidence.start[[first, first + len(batch)]])
            choices, labels = model._choices(arcs_of(batch), ArcEvidence.of(batch, options))
            is_right = choices.of_candidates(label[own]) == labels
            right = choices._replace(is_right=is_right, times=times[arcs.sentence[own]])
            examples.append(right.to_learn_from(1.0))
        joined = Choices.join(examples)
        if not len(joined.log):
            return model
        slope, learnt = learn(joined, _BUCKETS, _PENALTY, _ITERATIONS)
        return replace(model, slope=slope, weights=learnt)

    @cached_property
    def _shares(self) -> tuple[FloatArray, FloatArray]:
        """Compute μ(a | ends) of the ends that occurred, (F, K), and μ(a | d, side) of each tag, (tags + 1, 3, K).

        The last row of the latter is for unknown tags."""
        word, _, side = self.ends.T
        of_kind = np.zeros((2, len(self.names)))
        np.add.at(of_kind, np.minimum(side, 1), self.counts)
        of_kind[~of_kind.any(axis=1)] = 1.0
        of_kind /= of_kind.sum(axis=1, keepdims=True)
        of_side = np.zeros((len(self.tags) + 1, 3, len(self.names)))
        np.add.at(of_side, (word, side), self.counts)
        of_side = _back_off(of_side, of_kind[[0, 1, 1]])
        return _back_off(self.counts, of_side[word, side]), of_side

    def _choices(self, arcs: Parts, evidence: ArcEvidence) -> tuple[Choices, IntArray]:
        """Compute the features of the relations that n arcs may have, and the numbers of these relations, (N,)."""
        ends, which = Rules.distinct(_ends(self.tags, arcs, evidence))
        place = Rules.find(self.ends, ends)
        of_ends, of_side = self._shares
        share = np.where((place >= 0)[:, None], of_ends[place], of_side[ends[:, 0], ends[:, 2]])
        # List the candidates of each distinct row of ends, then those of each arc.
        row, label = np.nonzero(share > _LEAST * share.max(axis=1, keepdims=True))
        log = np.log(share[row, label])
        start = np.searchsorted(row, np.arange(len(ends) + 1))
        candidate, arc = ranges(start[which], start[which + 1])
        label = label[candidate]
        columns = arc_columns(arcs, np.zeros(len(which)), evidence, _NAMES)
        buckets = hash_features(_TEMPLATES, *columns, _BUCKETS)
        of_label = (label * _SPREAD % _BUCKETS).astype(np.int32)
        start = np.searchsorted(arc, np.arange(len(which) + 1))
        is_right = np.zeros(len(arc), dtype=np.bool_)
        return Choices(buckets[arc] ^ of_label[:, None], log[candidate], is_right, np.ones(len(which)), start), label

    def judge(self, parts: Parts, evidence: ArcEvidence) -> Parts:
        """Give the arcs of trees their likeliest relations, as labels, and multiply the posteriors by P(a | arc).

        parts: the arcs to all words of trees, sorted by tree and word, as `arcs_of` lists them."""
        choices, label = self._choices(parts, evidence)
        share = self.share(choices)
        order = np.lexsort((share, choices.of_candidates(np.arange(len(parts.end)))))
        best = order[choices.start[1:] - 1]
        return parts._replace(label=label[best], posterior=parts.posterior * share[best])


def _ends(tags: Vocabulary[str], arcs: Parts, evidence: ArcEvidence) -> IntArray:
    """Find the ends of n arcs, (n, 3); unknown tags are -1."""
    first = evidence.start[arcs.sentence]
    # Put the tag of the root after those of the words.
    tag = np.append(tags.numbers(evidence.tags), len(tags))
    head = np.where(arcs.begin == 0, -1, arcs.begin - 1 + first)
    side = np.where(arcs.begin == 0, 0, np.where(arcs.begin < arcs.end, 1, 2))
    return np.stack([tag[arcs.end - 1 + first], tag[head], side], axis=1)


def _back_off(counts: FloatArray, shares: FloatArray) -> FloatArray:
    """Divide counts (..., K) by their sums, after κ more counts in proportion to shares (..., K)."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.asarray((counts + _BACK * shares) / (total + _BACK))
