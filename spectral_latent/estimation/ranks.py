"""Test how many states each symbol has, by singular directions that hold on trees that did not find them.

| here | meaning |
| --- | --- |
| G | the number of groups, into which trees are divided at random |
| y, z | projections with the singular vectors and values of the other groups, on the nodes of one; see `_projections` |
| r_ig = mean of y_i z_i in group g | estimates u_iᵀ Ω v_i / σ_i: near 1 for a direction of the states, 0 for noise |
| r_i, s_i | the mean of r_ig over the groups, and its standard error |

Ω has the rank of the states (long paper, Lemma 1).  The number of states is the number of leading directions with
r_i > t s_i, with the quantile t of Student's distribution.
"""

from dataclasses import replace
from typing import Annotated, NamedTuple

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent._options import Above, Below, checked
from spectral_latent.estimation._features import FeatureColumns
from spectral_latent.estimation._projections import Projection, ProjectionOptions, states_for
from spectral_latent.estimation._treebank import Treebank, TreebankShard
from spectral_latent.estimation.progress import Listener, LoweredStates, Progress, silent
from spectral_latent.trees import FloatArray, IntArray, SkeletalTrees

_GROUPS = 20


class _Part(NamedTuple):
    """A shard with other weights of its trees."""

    shard: TreebankShard
    weight: FloatArray

    @property
    def trees(self) -> SkeletalTrees:
        """The trees."""
        return self.shard.trees

    @property
    def features(self) -> FeatureColumns:
        """The features of the nodes."""
        return self.shard.features


def find_ranks(
    treebank: Treebank,
    options: ProjectionOptions | None = None,
    level: float = 1e-4,
    seed: int = 0,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> IntArray:
    """Test the number of states of each symbol, (S,); at least 1, and at most `n_states` of the options.

    The listener is told which symbols have fewer states than their nodes support, and how many times as many trees
    would show one more, if its mean and error are as they seem.

    options: the settings of the projections; the cutoff is not used.
    level: the probability, about, that a direction of noise passes.
    seed: the seed of the groups of trees."""
    checked("level", level, Annotated[float, Above(0.0), Below(0.5)])
    options = replace(options or ProjectionOptions(), cutoff=0.0)
    rng = np.random.default_rng(seed)
    groups = [rng.permutation(np.arange(len(shard.weight)) % _GROUPS) for shard in treebank.shards]
    shape = (len(treebank.counts.symbol), options.n_states)
    products, n = np.zeros((_GROUPS, *shape)), np.zeros((_GROUPS, shape[0]))
    for g in range(_GROUPS):
        parted = list(zip(treebank.shards, groups, strict=True))
        others = [_Part(shard, np.where(group != g, shard.weight, 0.0)) for shard, group in parted]
        projection = Projection.learn(others, options, jobs)
        for shard, group in parted:
            trees, y, z = projection.project(shard)
            weight = np.where(group == g, shard.weight, 0.0)[trees.tree]
            np.add.at(products[g, :, : y.shape[1]], trees.symbol, y * z * weight[:, None])
            np.add.at(n[g], trees.symbol, weight)
    total = np.maximum(n.sum(axis=0), 1.0)[:, None]
    mean = products.sum(axis=0) / total
    deviation = products - n[:, :, None] * mean
    error = np.sqrt((deviation**2).sum(axis=0) * _GROUPS / (_GROUPS - 1)) / total
    least = scipy.stats.t.ppf(1.0 - level, _GROUPS - 1) * np.maximum(error, np.finfo(float).tiny)
    passes = mean > least
    leading: IntArray = np.where(passes.all(axis=1), passes.shape[1], passes.argmin(axis=1))
    found = np.maximum(leading, 1)
    lowered = []
    for a, (count, kept) in enumerate(zip(treebank.counts.symbol.tolist(), found.tolist(), strict=True)):
        if kept < (supported := states_for(count, options.n_states)):
            times = float(least[a, kept] / mean[a, kept]) ** 2 if mean[a, kept] > 0.0 else np.inf
            lowered.append(LoweredStates(a, supported, kept, times))
    listener(Progress("ranks", 1, 1, lowered=tuple(lowered)))
    return found
