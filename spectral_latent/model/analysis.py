"""Hold what is found in inputs on the way to their trees: the records between the steps of `model.latent_tree`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from spectral_latent._options import counted
from spectral_latent.inference import SignedLog, inside, marginals, outside, tree_weights
from spectral_latent.inference.inside_outside import trusted_weights
from spectral_latent.model.parts import Parts
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import BoolArray, FloatArray, Forest, IntArray

Input = TypeVar("Input")


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
