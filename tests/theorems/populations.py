"""Latent grammars of every structure with finitely many trees, and their whole populations by enumeration.

Every state has a level, and a rule leads to states of lower levels only: trees are finite, and all can be listed.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, reduce
from typing import NamedTuple

import numpy as np

from spectral_latent.estimation import (
    EstimatorOptions,
    FeatureColumns,
    Moments,
    Projection,
    Shard,
    inside_templates,
    outside_templates,
)
from spectral_latent.estimation._projections import ProjectedTrees
from spectral_latent.trees import SkeletalTrees
from tests.oracles import Lpcfg, Rule, Tree, columns, leaves, proper, random_lpcfg, spans


class Structure(NamedTuple):
    """levels[a][h] of the states of each symbol; rules by kind; the symbols that stand at roots."""

    levels: list[list[int]]
    rules: dict[str, list[Rule]]
    roots: list[int]


BRANCHING = [(0, 0, 1), (0, 1, 0), (1, 1, 0)]
STRUCTURES = {
    "binary trees": Structure(
        [[0, 0, 1, 2], [0, 0, 1]],
        {"leaf": [(0, 0), (0, 1), (1, 1), (1, 2)], "unary": [], "binary": BRANCHING},
        roots=[0, 1],
    ),
    "binary trees with unary rules": Structure(
        [[0, 0, 1, 2], [0, 1]],
        {"leaf": [(0, 0), (0, 1), (1, 1), (1, 2)], "unary": [(0, 1)], "binary": BRANCHING},
        roots=[0, 1],
    ),
    # two tags: 0, 1 the rest of a sequence from a word of this tag on; 2, 3 the word
    "chains": Structure(
        [[0, 1, 2], [0, 0, 1, 2], [-1, -1], [-1]],
        {
            "leaf": [(0, 0), (0, 1), (1, 1), (1, 2), (2, 0), (2, 1), (3, 1), (3, 2)],
            "unary": [],
            "binary": [(0, 2, 0), (0, 2, 1), (1, 3, 0), (1, 3, 1)],
        },
        roots=[0, 1],
    ),
    "chains with unary ends": Structure(
        [[0, 1, 2], [0, 0, 1, 2], [-1, -1], [-1, -1]],
        {
            "leaf": [(2, 0), (2, 1), (3, 1), (3, 2)],
            "unary": [(0, 2), (1, 3)],
            "binary": [(0, 2, 0), (0, 2, 1), (1, 3, 0), (1, 3, 1)],
        },
        roots=[0, 1],
    ),
    # 0: a head with its right dependants; 1: with all.  Right dependants first, the closest first; then the left ones.
    "dependency trees": Structure(
        [[0, 0, 2, 4], [1, 1, 3, 5]],
        {"leaf": [(0, 0), (0, 1)], "unary": [(1, 0)], "binary": [(0, 0, 1), (1, 1, 1)]},
        roots=[1],
    ),
}


def random_model(structure: Structure, rng: np.random.Generator) -> Lpcfg:
    """A proper L-PCFG in which rules lead to lower levels only."""
    levels = [np.array(of_symbol) for of_symbol in structure.levels]
    model = random_lpcfg(rng, [len(of_symbol) for of_symbol in levels], structure.rules)
    for kind in ("unary", "binary"):
        for (a, *below), array in model.of(kind).items():
            highest = reduce(np.maximum.outer, (levels[b] for b in below))
            array *= highest < levels[a].reshape(-1, *[1] * highest.ndim)
    for a, vector in enumerate(model.pi):
        vector *= a in structure.roots
    return proper(model)


class FullTree(NamedTuple):
    """An s-tree with a state for every node, in post-order."""

    tree: Tree
    states: tuple[int, ...]
    p: float


def full_trees(model: Lpcfg) -> Iterator[FullTree]:
    """All full trees of a model that has finitely many, with their probabilities (equation 2)."""

    @cache
    def under(a: int, h: int) -> list[FullTree]:
        found = [FullTree(rule, (h,), float(q[h])) for rule, q in model.q.items() if rule[0] == a and q[h] > 0]
        for (parent, *below), array in itertools.chain(model.u.items(), model.t.items()):
            for states in np.argwhere(array[h] > 0).tolist() if parent == a else ():
                for parts in itertools.product(*map(under, below, states)):
                    p = float(array[h, *states]) * math.prod(part.p for part in parts)
                    at = itertools.chain(*(part.states for part in parts), (h,))
                    found.append(FullTree((a, *(part.tree for part in parts)), tuple(at), p))
        return found

    for a, pi in enumerate(model.pi):
        for h in np.flatnonzero(pi).tolist():
            yield from (full._replace(p=full.p * float(pi[h])) for full in under(a, h))


@dataclass(frozen=True, eq=False)
class Population:
    """All trees of a model, by enumeration of their states.

    p: (T,) probabilities.  states: (N, M) p(tree, the node's state is h).
    """

    model: Lpcfg
    trees: list[Tree]
    p: np.ndarray
    states: np.ndarray
    skeletal: SkeletalTrees
    features: FeatureColumns

    @staticmethod
    def of(model: Lpcfg) -> Population:
        """The sums of p(r_1 ... r_N, h_1 ... h_N) over states, term by term."""
        states: dict[Tree, np.ndarray] = {}
        for full in full_trees(model):
            n = len(full.states)
            table = states.setdefault(full.tree, np.zeros((n, max(model.states))))
            table[range(n), full.states] += full.p
        trees = sorted(states, key=str)
        skeletal = columns(trees)
        features = FeatureColumns.of(inside_templates(skeletal), outside_templates(skeletal))
        p = np.array([states[tree][-1].sum() for tree in trees])
        return Population(model, trees, p, np.concatenate([states[tree] for tree in trees]), skeletal, features)

    @property
    def weights(self) -> np.ndarray:
        """(N,) how often each node occurs where the rarest tree occurs once."""
        return (self.p / self.p.min())[self.skeletal.tree]

    def projection(self, options: EstimatorOptions) -> Projection:
        """What `Projection.learn` finds where every tree occurs as often as its probability says."""
        return Projection.learn([self.shard], options)

    @property
    def shard(self) -> Shard:
        return Shard.of(self.skeletal, self.features, self.p / self.p.min())

    def projected(self, projection: Projection) -> ProjectedTrees:
        return projection.project(self.shard)

    def moments(self, projection: Projection) -> Moments:
        trees, y, z = self.projected(projection)
        return Moments.of_trees(trees, self.model.rules(), projection.states, y, z, self.weights)

    def sentences(self, n: int) -> dict[tuple[int, ...], list[int]]:
        """The n sentences with the most trees, and the numbers of these."""
        found = defaultdict[tuple[int, ...], list[int]](list)
        for number, tree in enumerate(self.trees):
            found[tuple(leaves(tree))].append(number)
        return dict(sorted(found.items(), key=lambda item: len(item[1]), reverse=True)[:n])

    def item_probability(self, numbers: list[int]) -> dict[tuple[int, int, int], float]:
        """μ(a, i, j): the summed probability of those of the trees given that contain each item."""
        found = defaultdict[tuple[int, int, int], float](float)
        for number in numbers:
            for item in spans(self.trees[number]):
                found[item] += float(self.p[number])
        return found


def with_twin(model: Lpcfg, a: int, h: int, share: float) -> Lpcfg:
    """The same distribution over trees with one more state of symbol a, which does as h does and takes its share."""

    def split(array: np.ndarray, axis: int) -> np.ndarray:
        last = np.moveaxis(array, axis, -1)
        ours = last * np.where(np.arange(last.shape[-1]) == h, 1.0 - share, 1.0)
        return np.moveaxis(np.concatenate([ours, last[..., [h]] * share], axis=-1), -1, axis)

    def extended(rule: Rule, array: np.ndarray) -> np.ndarray:
        for axis, b in enumerate(rule[1:], start=1):
            if array.ndim > 1 and b == a:
                array = split(array, axis)
        return np.concatenate([array, array[h : h + 1]]) if rule[0] == a else array

    tables = (
        {rule: extended(rule, array) for rule, array in model.of(kind).items()} for kind in ("leaf", "unary", "binary")
    )
    pi = [split(vector, 0) if b == a else vector for b, vector in enumerate(model.pi)]
    return Lpcfg([m + (b == a) for b, m in enumerate(model.states)], pi, *tables)
