"""Trees drawn from the ready model `toy`."""

from functools import cache

import numpy as np

from spectral_latent import ConstituencyModel
from spectral_latent.constituency import Phrase, PhraseGrammar
from spectral_latent.inference import sample_trees


@cache
def toy_grammar() -> PhraseGrammar:
    """Return the grammar that the trees are drawn from; its `operators` are true probabilities."""
    (grammar,) = ConstituencyModel.load("toy").members
    return grammar


def toy_treebank(n_trees: int = 2000, seed: int = 0) -> list[Phrase]:
    trees = sample_trees(toy_grammar().operators, n_trees, np.random.default_rng(seed)).trees
    return list(map(toy_grammar().output, trees.separate()))
