"""The relations of a dependency tree: a log-linear classifier of its arcs, once the tree is known.

| here | meaning |
| --- | --- |
| place | words are numbered through all sentences; before each sentence is the place of its root, and one ends it all |
| d, g | places of a dependant and of its governor |
| column | one integer per arc: an attribute (tag, word, ...) of a place near the arc, or a property of the arc |
| template | a tuple of columns; it fires one feature at every arc, named by their values |
| n_f | arcs of the treebank with feature f; its value is n_f^(−1/4) where it fires |
| W, P(a \\| arc) | `weights` (F, K), with the values multiplied in; see `lexicon.log_linear` |

Places have the number 0 in all attributes if no word is there, so that what is missing needs no case of its own.  The
values stand between two evils: with indicators the optimum is far away for L-BFGS, because features are as different
as their counts, and with n_f^(−1/2), which makes them alike, the penalty leaves nothing of frequent features.

Relations in a second stage, by features of arcs, siblings, context and children: McDonald, Lerman and Pereira (2006),
Multilingual dependency analysis with a two-stage discriminative parser, section 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from spectral_latent.lexicon.log_linear import Float32Array, log_linear_weights, log_softmax
from spectral_latent.trees import BoolArray, FloatArray, IntArray, Vocabulary

__all__ = ["RelationModel", "RelationOptions", "TaggedTree"]

_BLANK = "_"
_MOST = 3  # children on one side; more are not told apart
_FARTHEST = 7  # distance by magnitude

# a column is `property` of the arc, or `attribute.place`; see `_properties`, `_attributes` and `_places`
_TEMPLATES = tuple(
    tuple(line.split())
    for line in """
    """.strip().splitlines()
)


@dataclass(frozen=True)
class RelationOptions:
    """How the classifier is trained.

    penalty: λ.
    iterations: of L-BFGS at most.
    least: features that fewer arcs have are left out.
    """

    penalty: float = 0.05
    iterations: int = 12
    least: int = 3


class TaggedTree(NamedTuple):
    """What relations are told from; heads as in `DependencySentence`, at most one of them 0 at a time."""

    words: Sequence[str]
    tags: Sequence[str]
    heads: Sequence[int]


class _Column(NamedTuple):
    """Values (n,) from 0 to size - 1."""

    value: IntArray
    size: int
