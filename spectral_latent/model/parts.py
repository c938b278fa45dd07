"""Hold the parts that trees consist of, with posteriors, and the records between the steps of `model.latent_tree`.

| part | begin | end | label |
| --- | --- | --- | --- |
| constituent | its first word, from 0 | the word after its last one | its chain of labels, or one of these labels |
| arc | its head, from 1; 0 is the root | its dependent, from 1 | its relation; 0 before relations are judged |
| tag of a word | the word, from 1 | the same word | the tag |

The members of a model find parts, `average` takes the mean of their posteriors, judges re-weigh parts, and decoding
assembles the trees with the best parts.  What judges learn from is held out from the members by `jackknife`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from spectral_latent._options import counted
from spectral_latent.estimation import Listener, Progress, silent
from spectral_latent.inference import SignedLog, inside, marginals, outside, tree_weights
from spectral_latent.inference.inside_outside import trusted_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray, Rules

Evidence = TypeVar("Evidence", contravariant=True)
Input = TypeVar("Input")
Tree = TypeVar("Tree")
Model = TypeVar("Model")


class Parts(NamedTuple):
    """P parts that the trees of sentences may have.

    sentence: (P,) the number of the sentence.
    begin, end: (P,) the place among the words of the sentence.
    label: (P,) the number of the label.
    posterior: (P,) the posterior, or what a judge replaced it by."""

    sentence: IntArray
    begin: IntArray
    end: IntArray
    label: IntArray
    posterior: FloatArray

    def take(self, which: IntArray | BoolArray | slice) -> Parts:
        """Take some of the parts, by their numbers or by a mask (P,)."""
        sentence, begin, end, label, posterior = self
        return Parts(sentence[which], begin[which], end[which], label[which], posterior[which])

    def of_sentence(self, sentence: int) -> Parts:
        """Take the parts of one sentence, which gets the number 0; the parts must be sorted by sentence."""
        parts = self.take(slice(*np.searchsorted(self.sentence, (sentence, sentence + 1))))
        return parts._replace(sentence=np.zeros_like(parts.sentence))

    @staticmethod
    def join(of_sentences: Sequence[Parts]) -> Parts:
        """Join the parts of T sentences, which get the numbers 0 ... T - 1."""
        numbered = [parts._replace(sentence=np.full_like(parts.label, at)) for at, parts in enumerate(of_sentences)]
        return Parts(*map(np.concatenate, zip(*numbered, strict=True)))

    def merge(self) -> Parts:
        """Join parts with the same place and label, and add their posteriors; sort by sentence, place and label."""
        given = np.stack(self[:4], axis=1)
        rows, which = Rules.distinct(given)
        if rows is given:
            return self
        sentence, begin, end, label = np.ascontiguousarray(rows.T)
        posterior = np.bincount(which, self.posterior, minlength=len(rows)).astype(float)
        return Parts(sentence, begin, end, label, posterior)

    def find(self, others: Parts) -> IntArray:
        """Find the row (n,) of each of n other parts; -1 for a part that is absent, or whose label is -1.

        The rows must be different and sorted, as `merge` returns them."""
        return Rules.find(np.stack(self[:4], axis=1), np.stack(others[:4], axis=1))


def average(of_members: Sequence[Parts], n_members: IntArray) -> Parts:
    """Average the posteriors of several members; a part has posterior zero under a member that does not find it.

    The result is sorted as by `Parts.merge`.

    n_members: (T,) the number of members that derive each of T sentences."""
    if len(of_members) == 1:  # which derives every sentence that it finds parts in
        return of_members[0].merge()
    every = Parts(*map(np.concatenate, zip(*of_members, strict=True)))
    return every._replace(posterior=every.posterior / n_members[every.sentence]).merge()


class Judge(Protocol[Evidence]):
    """A model that re-weighs parts by what the members do not see."""

    def judge(self, parts: Parts, evidence: Evidence) -> Parts:
        """Replace the posteriors of parts, or their labels."""


def jackknife(
    weighted: Sequence[tuple[Tree, float]],
    n_folds: int,
    learn: Callable[[list[Tree], list[float]], Model],
    listener: Listener = silent,
    *,
    folds: Sequence[int] | None = None,
    stage: str = "folds",
) -> Iterator[tuple[Model, list[Tree], list[float]]]:
    """Yield for each fold a model that learnt from the other folds, and the trees of the fold with their weights.

    Tree i is in fold i modulo the number of folds.  A single tree has no folds, because no other tree is left to learn
    from.

    n_folds: the number of folds; fewer if there are fewer trees.
    folds: the fold of each tree, in place of its number modulo the number of folds.
    stage: the name of the work, which the listener is told.

    >>> for model, held_out, weights in jackknife([("a", 1.0), ("b", 1.0), ("c", 2.0)], 2, lambda trees, _: trees):
    ...     print(model, held_out, weights)
    ['b'] ['a', 'c'] [1.0, 2.0]
    ['a', 'c'] ['b'] [1.0]
    """
    n_folds = min(n_folds, len(weighted))
    fold_of = [at % n_folds for at in range(len(weighted))] if folds is None else folds
    listener(Progress(stage, 0, n_folds))
    for fold in range(n_folds if n_folds > 1 else 0):
        rest = [pair for pair, own in zip(weighted, fold_of, strict=True) if own != fold]
        held_out = [pair for pair, own in zip(weighted, fold_of, strict=True) if own == fold]
        # Do not keep the model here: its memory is free as soon as the caller drops it.
        yield (
            learn([tree for tree, _ in rest], [weight for _, weight in rest]),
            [tree for tree, _ in held_out],
            [weight for _, weight in held_out],
        )
        listener(Progress(stage, fold + 1, n_folds))


class WeighedForest(NamedTuple):
    """A forest of derivations, and the operators that weigh them.

    forest: the derivations, with a component for each of C inputs or trees.
    log_factor: (C,) the logarithm of a factor of all derivations of a component; 0 for none.
    factors: (I,) the factor of each item, for every derivation that has the item; None if all are 1.
    trusted: whether the library built the forest with rules of these operators, so that it needs no further check.
    The components of such a forest may share items; they have weights, but no marginals."""

    operators: ObservableOperators
    forest: Forest
    log_factor: FloatArray | float = 0.0
    factors: FloatArray | None = None
    trusted: bool = False

    def weight(self) -> SignedLog:
        """Sum the weights of the derivations of each component."""
        compute = trusted_weights if self.trusted else tree_weights
        sign, log = compute(self.operators, self.forest, self.factors)
        return SignedLog(sign, log + self.log_factor)

    def marginals(self) -> FloatArray:
        """Compute the posterior of each item, (I,)."""
        inner = inside(self.operators, self.forest, self.factors)
        outer = outside(self.operators, self.forest, inner, self.factors)
        return marginals(self.operators, self.forest, inner, outer, self.factors)


class Found(NamedTuple):
    """What a member finds in T inputs.

    parts: the parts that their trees may have, with posteriors.
    is_derived: (T,) whether the member derives each input; there are no parts of others.
    weighed: a forest of E edges, if trees are assembled of the derivations in it.
    edges: the part of each of these edges.
    more: what the later steps of the formalism need besides."""

    parts: Parts
    is_derived: BoolArray
    weighed: WeighedForest | None = None
    edges: Parts | None = None
    more: Any = None

    def renumbered(self, numbers: IntArray) -> Found:
        """Replace the numbers of labels.

        numbers: (L,) the new number of each label."""
        every = np.append(numbers, -1)
        edges = None if self.edges is None else self.edges._replace(label=every[self.edges.label])
        return self._replace(parts=self.parts._replace(label=every[self.parts.label]), edges=edges)


class Analysis(NamedTuple, Generic[Input]):
    """What a model finds in T inputs, step by step.

    found: what each member finds in them; all members number labels alike.
    parts: the parts, with the mean of their posteriors over the members that derive an input.
    judged: the same parts, with the posteriors that the judges replaced these by.
    evidence: what judges and assembly need besides, if the formalism collects it with the parts.
    trees: the trees of each input, by falling gain.
    assembled: what the last step needs of these trees besides, if the formalism collects it with them."""

    inputs: Sequence[Input]
    charts: Sequence[Any]
    found: Sequence[Found]
    parts: Parts
    judged: Parts
    evidence: Any = None
    trees: Sequence[Sequence[Any]] = ()
    assembled: Any = None

    @property
    def n_members(self) -> IntArray:
        """The number of members that derive each input, (T,)."""
        return np.asarray(np.sum([each.is_derived for each in self.found], axis=0))


def explain(analysis: Analysis[Any], charts: Sequence[Forest], names: Sequence[str], least: float) -> str:
    """Write what the first three steps found in one input: a line for each chart and for each likely part."""
    lines = []
    for number, (forest, found) in enumerate(zip(charts, analysis.found, strict=True), start=1):
        sizes = f"{counted(forest.n_items, 'item')}, {counted(forest.n_edges, 'edge')}"
        lines.append(f"chart of grammar {number}: {sizes}{'' if found.is_derived[0] else ', without a tree'}")
    before, after = analysis.parts.posterior, analysis.judged.posterior
    shown = np.flatnonzero(np.maximum(before, after) >= least)
    shown = shown[np.argsort(-after[shown], kind="stable")]
    lines.append(f"{len(shown)} likely parts of {len(before)}: posterior, judgement, part")
    lines += [f"{before[row]:9.4f} {after[row]:9.4f}  {names[row]}" for row in shown.tolist()]
    return "\n".join(lines)
