"""What a treebank tells of the spelling of its words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spectral_latent.estimation import Tally
from spectral_latent.lexicon import SpellingModel
from spectral_latent.trees import IntArray

__all__ = ["spelling_of"]


def spelling_of(words: Sequence[str], tally: Tally, tag_of_symbol: IntArray, n_tags: int) -> SpellingModel:
    """Learn which tags go with which spellings, from counts of leaf rules.

    words: the terminals.  tag_of_symbol: (S,) the tag of each symbol over words.

    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 1, 2], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[0, 1, -1], root=[2])
    >>> model = spelling_of(["dogs", "barked"], Tally.of(trees), tag_of_symbol=np.array([0, 1, -1]), n_tags=2)
    >>> model.posterior(["cats", "barks"]).shape
    (2, 2)
    """
    counts = np.stack([tally.leaf - tally.opening, tally.opening])
    opens, rule = np.nonzero(counts)
    symbol, word = tally.rules.leaf[rule].T
    return SpellingModel.train(words, word, tag_of_symbol[symbol], counts[opens, rule], opens == 1, n_tags)
