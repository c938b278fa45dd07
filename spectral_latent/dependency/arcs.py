"""Judge the arcs of dependency trees by a log-linear model of the words at their ends and around them.

| here | meaning |
| --- | --- |
| d, g | a word, and a word or the root that may be its head |
| μ(g, d) | the posterior of the arc under the grammars |
| φ(g, d) | its features: words, tags, endings and beginnings of d, of g and of words around them; see `_TEMPLATES` |
| P(g \\| d) ∝ exp(s log μ(g, d) + w·φ(g, d)) | the probability that g is the head of d, among the likely heads of d |

The heads of a word are a choice, as `lexicon.choices` learns them.  The rules of a grammar depend on the tags of a head
and of one dependant.  The features also use words, what stands between them, and the likely heads, children and
siblings of both (McDonald and Pereira 2006; Koo and Collins 2010).
With s = 1 and w = 0, P(g | d) is μ(g, d).  Judgements are probabilities of each head alone; the decoder finds the tree
with the largest sum.  The sentences to learn from must be new to the grammars, as for spans of phrases.

| values | meaning |
| --- | --- |
| `side` ... `between` | the side of the head, classes of distance, odds and rank, and the tags between the two words |
| `word d`, `tag g+1`, ... | an attribute of the dependant, of the head, or of a word up to two places away from them |
| `other`, `features` | the tag of the other column of a word, and its morphological features |
| `tag head of g`, ... | an attribute of a word that is likely to be near in the tree, given the likeliest heads |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import ClassVar, NamedTuple

import numpy as np

from spectral_latent.dependency.conversion import require_heads
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.dependency.tree import DependencySentence
from spectral_latent.lexicon import signatures
from spectral_latent.lexicon.buckets import (
    HashArray,
    Templates,
    class_of,
    hash_features,
    hash_name,
    list_names,
    mix,
    pad_words,
)
from spectral_latent.lexicon.choices import ChoiceModel, Choices
from spectral_latent.model.parts import Parts
from spectral_latent.trees import FloatArray, IntArray, ranges

_ROOT = 7  # the hash of every attribute of the root
_KINDS = ("word", "lower", "tag", "other", "features", "form", "ending", "beginning")  # attributes of a word
_STEPS = ("", "-1", "+1", "-2", "+2")  # places near a word
_NEAR = (  # words that are likely to be near in the tree
    "head of g",
    "best head",
    "first child",
    "last child",
    "inner sibling",
    "outer sibling",
    "first of g",
    "last of g",
    "head of best",
)
_TEMPLATES: Templates = (  # the values of each feature, besides the side
    ("distance",),
    ("odds",),
    ("rank", "odds"),
    ("odds", "behind"),
    *((f"{kind} {word}",) for kind in ("word", "tag", "other", "ending", "form") for word in "gd"),
    *(("distance", f"{kind} {word}") for kind in ("word", "tag") for word in "gd"),
    *(
        (f"{kind} g", f"{other} d")
        for kind in ("word", "tag", "other", "ending")
        for other in ("word", "tag", "other", "ending")
        if (kind, other) != ("ending", "ending")
    ),
    ("distance", "tag g", "tag d"),
    ("distance", "other g", "other d"),
    ("features g", "features d"),
    ("features g", "tag d"),
    ("features d", "tag g"),
    ("features d", "ending g"),
    ("between", "tag g", "tag d"),
    ("same between", "tag g", "tag d"),
    *(("tag g", "tag d", f"tag {word}{step}") for word in "gd" for step in _STEPS[1:]),
    *(("tag g", "tag d", f"tag g{step}", f"tag d{other}") for step in _STEPS[1:3] for other in _STEPS[1:3]),
    *(("tag d", f"word {word}{step}") for word in "gd" for step in _STEPS[1:3]),
    *(("word d", f"tag d{step}") for step in _STEPS[1:3]),
    ("beginning g", "tag d"),
    ("beginning d", "tag g"),
    *(("tag g", "tag d", f"tag {near}") for near in _NEAR),
    *(("tag g", "word d", f"tag {near}") for near in _NEAR if near not in ("best head", "head of best")),
    *(("word g", "tag d", f"tag {near}") for near in _NEAR if near not in ("best head", "head of best")),
    *(("tag d", "word g", f"word {near}") for near in _NEAR[2:6]),
    *(("tag d", "tag g", f"word {near}") for near in _NEAR[:6]),
    *(("word d", "word g", f"word {near}") for near in _NEAR[2:4]),
    ("tag g", "tag d", "tag best head", "rank"),
    ("word d", "word best head", "rank"),
    ("tag g", "tag d", "tag first child", "tag last child"),
    ("tag g", "tag d", "tag inner sibling", "tag outer sibling"),
    ("tag g", "tag d", "tag head of g", "tag inner sibling"),
)
_NAMES = frozenset(list_names(_TEMPLATES))
_DISTANCES = np.array([2, 3, 4, 5, 7, 10, 15])  # the least distance of each class, after the first class
_CLASSES = 1.5  # classes of odds to each nat
_MOST = 12  # the number of classes of odds


class ArcEvidence(NamedTuple):
    """What arcs are judged by: the N words of T sentences.

    others: the tag of each word in the other column of tags.
    start: (T + 1,) the first word of each sentence, and N.
    least: arcs with a smaller posterior keep it."""

    words: Sequence[str]
    tags: Sequence[str]
    others: Sequence[str]
    features: Sequence[str]
    start: IntArray
    least: float = 0.0

    @staticmethod
    def of(sentences: Sequence[DependencySentence], options: DependencyOptions) -> ArcEvidence:
        """Join the columns of sentences."""
        other = "xpos" if options.tags == "upos" else "upos"
        columns = [
            (options.words_of(each), options.tags_of(each), getattr(each, other), each.feats) for each in sentences
        ]
        for number, of_sentence in enumerate(columns, start=1):
            if len({*map(len, of_sentence)}) > 1:
                counts = ", ".join(map(str, map(len, of_sentence)))
                raise ValueError(
                    f"sentence {number} has {counts} words, tags, other tags and features; give each word one"
                )
        words, tags, others, features = (list(chain.from_iterable(each)) for each in zip(*columns, strict=True))
        start = np.cumsum([0, *(len(each.forms) for each in sentences)])
        least = 0.0 if options.arcs is None else options.arcs.least
        return ArcEvidence(words, tags, others, features, start, least)


def arcs_of(trees: Sequence[DependencySentence]) -> Parts:
    """List the arcs of trees, sorted by tree and word, with posteriors of 1."""
    for number, tree in enumerate(trees, start=1):
        require_heads(tree, number)
    length = np.array([len(tree.forms) for tree in trees], dtype=np.int64)
    tree_of = np.repeat(np.arange(len(length)), length)
    head = np.array([head for tree in trees for head in tree.heads or ()], dtype=np.int64)
    word = np.arange(1, len(head) + 1) - (np.cumsum(length) - length)[tree_of]
    return Parts(tree_of, head, word, np.zeros_like(head), np.ones(len(head)))


@lru_cache(1 << 16)
def _hashes_of_word(word: str) -> tuple[int, ...]:
    """Hash a word, in lower case, too, its finest signature, its last three letters, and its first three."""
    lower = word.lower()
    return tuple(map(hash_name, (word, lower, repr(signatures(word)[0]), lower[-3:], lower[:3])))


def _near(head: IntArray, g: IntArray, d: IntArray) -> IntArray:
    """Find the words that are likely to be near arcs, (9, n), as `_NEAR` names them; -1 for the root, -2 for none.

    head: (N,) the likeliest head of each word; -1 for the root, -2 for none.
    g, d: (n,) the head, -1 for the root, and the dependant of each arc."""
    children = np.argsort(head, kind="stable")  # of the root, of the first word, and so on
    parent = head[children]

    def child(place: IntArray, of: IntArray) -> IntArray:
        """Look up children (n,), if they are of the given words."""
        is_child = np.append(parent, -3)[place] == of  # a place before the first, or after the last, is of no child
        return np.where(is_child & (of >= 0), np.append(children, 0)[place], -2)

    first, last = np.searchsorted(parent, d, "left"), np.searchsorted(parent, d, "right") - 1
    start, end = np.searchsorted(parent, g, "left"), np.searchsorted(parent, g, "right") - 1
    head_of = np.append(head, [-2, -2])  # also of the root, and of no word
    # Among the children of the head, the dependant itself may have a place.
    place = np.searchsorted(parent * len(head) + children, g * len(head) + d)
    before, after = child(place - 1, g), child(place + (head[d] == g), g)
    inner, outer = np.where(d < g, [after, before], [before, after])
    left, right = (child(at + (child(at, g) == d) * step, g) for at, step in ((start, 1), (end, -1)))
    found = np.stack(
        [head_of[g], head[d], child(first, d), child(last, d), inner, outer, left, right, head_of[head[d]]]
    )
    # Children of the dependant and of the head, and inner siblings, stand on the side that their names say.
    sides = ((2, found[2] < d), (3, found[3] > d), (4, (inner < g) == (d < g)), (6, left < g), (7, right > g))
    for row, is_there in sides:
        found[row, ~is_there] = -2
    return found


def _between(tag: HashArray, g: IntArray, d: IntArray) -> HashArray:
    """Hash the set of tags between the words of arcs, and whether it has the tag of either, (n, 2).

    tag: (N,) the hash of the tag of each word."""
    order = np.argsort(tag, kind="stable")
    same = np.flatnonzero(np.diff(tag[order]) == 0)
    before = np.full(len(tag), -1)  # the last place before each word with the same tag
    before[order[same + 1]] = order[same]
    first, end = np.minimum(g, d) + 1, np.where(g < 0, 0, np.maximum(g, d))
    k, arc = ranges(first, np.maximum(first, end))
    # Add the hashes of all different tags, so that their order does not matter.
    is_new = before[k] < first[arc]
    found = np.zeros((len(g), 2), dtype=np.uint64)
    np.add.at(found[:, 0], arc[is_new], mix(np.uint64(1), tag[k[is_new]]))
    found[:, 1] = 4 * (end > first)
    for bit, of in ((1, g), (2, d)):
        found[np.unique(arc[tag[k] == tag[of[arc]]]), 1] += np.uint64(bit)
    return found


def arc_columns(
    arcs: Parts, log: FloatArray, evidence: ArcEvidence, names: frozenset[str]
) -> tuple[HashArray, dict[str, HashArray]]:
    """Compute the side of the head of n arcs, (n,), and the values that templates name, (n,) each.

    log: (n,) the logarithms of their posteriors."""
    start = evidence.start
    first = start[arcs.sentence]
    g = np.where(arcs.begin == 0, -1, arcs.begin - 1 + first)
    d = arcs.end - 1 + first
    # Find the likeliest head of each word, and the rank of each arc among those to the same word.
    order = np.lexsort((-log, d))
    opens = np.append(True, d[order][1:] != d[order][:-1])
    head = np.full(len(evidence.words), -2)
    most = np.zeros(len(evidence.words))
    head[d[order[opens]]] = g[order[opens]]
    most[d[order[opens]]] = log[order[opens]]
    place = np.arange(len(d))
    rank = np.empty(len(d), dtype=np.int64)
    rank[order] = place - np.maximum.accumulate(np.where(opens, place, 0))
    of_words = np.array([_hashes_of_word(word) for word in evidence.words], dtype=np.uint64).reshape(-1, 5)
    word, lower, form, ending, beginning = of_words.T
    tag, other, features = np.array([[*map(hash_name, column)] for column in evidence[1:4]], dtype=np.uint64)
    side = np.where(g < 0, 0, np.where(g < d, 1, 2)).astype(np.uint64)
    columns = {
        "distance": np.where(g < 0, 0, np.searchsorted(_DISTANCES, np.abs(g - d), side="right") + 1),
        "odds": class_of(np.minimum(log, 0.0) * _CLASSES, _MOST),
        "behind": class_of((log - most[d]) * _CLASSES, _MOST),
        "rank": np.minimum(rank, 4),
    }
    if {"between", "same between"} & names:
        columns["between"], columns["same between"] = _between(tag, g, d).T
    atoms = dict(zip(_KINDS, (word, lower, tag, other, features, form, ending, beginning), strict=True))
    for kind, atom in atoms.items():
        padded, shift = pad_words(atom, start)
        for step in _STEPS:
            of_dependant, of_head = f"{kind} d{step}", f"{kind} g{step}"
            if of_dependant in names:
                columns[of_dependant] = padded[d + shift[arcs.sentence] + int(step or 0)]
            if of_head in names:
                near_head = padded[g + shift[arcs.sentence] + int(step or 0)]
                columns[of_head] = np.where(g < 0, np.uint64(_ROOT), near_head)
    places = _near(head, g, d)
    for kind in _KINDS:
        atom = np.append(atoms[kind], np.array([0, _ROOT], dtype=np.uint64))
        for near, at in zip(_NEAR, places, strict=True):
            if f"{kind} {near}" in names:
                columns[f"{kind} {near}"] = atom[at]
    return side, columns


def arc_choices(arcs: Parts, evidence: ArcEvidence, heads: Sequence[int] | None = None) -> Choices:
    """Compute the features of n arcs, as a choice among the heads of each word."""
    log = np.log(arcs.posterior)
    word = arcs.end - 1 + evidence.start[arcs.sentence]
    is_right = np.zeros(len(log), dtype=np.bool_) if heads is None else arcs.begin == np.asarray(heads)[word]
    start = np.flatnonzero(np.diff(word, prepend=-1, append=len(evidence.words)))
    buckets = hash_features(_TEMPLATES, *arc_columns(arcs, log, evidence, _NAMES))
    return Choices(buckets, log, is_right, np.ones(len(start) - 1), start)


@dataclass(frozen=True, eq=False)
class ArcModel(ChoiceModel):
    """A log-linear model of the heads of words.

    slope, weights: see `ChoiceModel`.

    >>> arcs = Parts(*np.array([[0, 0], [2, 0], [1, 2], [0, 0]]), np.array([1.0, 1.0]))
    >>> evidence = ArcEvidence(["Dogs", "bark"], ["N", "V"], ["NNS", "VBP"], ["_", "_"], np.array([0, 2]))
    >>> ArcModel.plain().judge(arcs, evidence).posterior
    array([1., 1.])
    """

    noun: ClassVar[str] = "arcs"

    def judge(self, parts: Parts, evidence: ArcEvidence) -> Parts:
        """Replace the posteriors of the likely arcs to each word; their sum stays as it is."""
        likely = np.flatnonzero(parts.posterior > evidence.least)
        likely = likely[np.lexsort((parts.end[likely], parts.sentence[likely]))]
        if not len(likely):
            return parts
        choices = arc_choices(parts.take(likely), evidence)
        mass = np.add.reduceat(parts.posterior[likely], choices.start[:-1])
        posterior = parts.posterior.copy()
        posterior[likely] = self.share(choices) * np.repeat(mass, np.diff(choices.start))
        return parts._replace(posterior=posterior)
