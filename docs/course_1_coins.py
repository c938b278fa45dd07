"""
Course 1: a mixture of two coins
================================

The smallest model with a hidden state, and the fact on which everything else rests: two views that are independent
given the state have a matrix whose rank is the number of states.

The course has five parts: this one, :doc:`a chain <course_2_chain>`, :doc:`a tree <course_3_tree>`, :doc:`a grammar
<course_4_grammar>` and :doc:`what a sample leaves open <course_5_sample>`.  Each runs in a minute at
most, as ``python docs/course_1_coins.py`` or as a notebook.
"""

# %%
# What is hidden
# --------------
# A bag has two kinds of coins: 60 % of them show heads with probability 0.8, the others with probability 0.3.  We draw
# a coin, throw it three times, and put it back.  We see the throws of 10,000 coins, 0 for tails and 1 for heads, but
# never which kind a coin was.  Can the two probabilities be found?

import numpy as np

from spectral_latent.model import Jackknife
from spectral_latent.plotting import plot_matrices

share = np.array([0.6, 0.4])
heads = np.array([0.8, 0.3])

rng = np.random.default_rng(0)
kind = rng.choice(2, size=10_000, p=share)
throws = (rng.random((10_000, 3)) < heads[kind][:, None]).astype(int)

# %%
# Two throws: a matrix of rank two
# --------------------------------
# ``pairs[i, j]`` is the share of coins whose first throw is i and whose second is j.  If all coins were alike, the
# throws would be independent, and the matrix would be a product of two vectors: its rank would be one.  With two kinds
# it is a sum of two such products, because the throws are independent *given the kind*:
#
#     | pairs = Σ_h share[h] · O[:, h] O[:, h]ᵀ,  where column h of O has the probabilities of kind h
#
# Its second singular value is what the kinds differ in.

O = np.stack([1 - heads, heads])
pairs = np.zeros((2, 2))
np.add.at(pairs, (throws[:, 0], throws[:, 1]), 1 / len(throws))
if_alike = np.outer(pairs.sum(axis=1), pairs.sum(axis=0))
print("singular values:", np.linalg.svd(pairs)[1].round(3), "if all were alike:", np.linalg.svd(if_alike)[1].round(3))
figure = plot_matrices({"pairs": pairs, "if alike": if_alike, "their difference": pairs - if_alike})

# %%
# The third throw: operators
# --------------------------
# Two throws say that there are at least two kinds, but not which: O diag(share) Oᵀ has other factors, too.  The third
# throw decides.  ``with_heads`` counts only coins whose third throw is heads.  That multiplies each kind by its
# probability of heads:
#
#     | with_heads = O diag(share · heads) Oᵀ,  so that  with_heads · pairs⁻¹ = O diag(heads) O⁻¹
#
# The product on the left can be computed from what we see.  It is the *operator* of heads: its eigenvalues are the
# probabilities that we look for, whatever O is.

with_heads = np.zeros((2, 2))
third = throws[:, 2] == 1
np.add.at(with_heads, (throws[third, 0], throws[third, 1]), 1 / len(throws))
operator = with_heads @ np.linalg.inv(pairs)
figure = plot_matrices({"with heads": with_heads, "operator": operator})
print("eigenvalues:", np.sort(np.linalg.eigvals(operator)).round(3), "the truth:", np.sort(heads))

# %%
# Without eigenvalues
# -------------------
# For the probability of throws, nobody needs the kinds at all.  Operators are multiplied in the order of throws; O and
# O⁻¹ cancel between them.  Four heads in a row, which no coin has shown us, are probable with Σ share · heads⁴.

first = pairs.sum(axis=1)  # O share
four_heads = float(np.ones(2) @ np.linalg.matrix_power(operator, 4) @ first)
print(f"four heads: {four_heads:.4f}, the truth: {share @ heads**4:.4f}")

# %%
# How sure?
# ---------
# Everything was computed from means over coins.  So it has standard errors: leave out a twentieth of the coins, compute
# again, and see by how much the result changes.  EM, which guesses kinds again and again, may end in another place each
# time; then no such errors say how far it is from the truth.


def eigenvalues(some: list[np.ndarray]) -> np.ndarray:
    """Estimate the probabilities of heads from some coins."""
    first, second, third = np.array(some).T
    pairs, with_heads = (np.zeros((2, 2)) for _ in range(2))
    np.add.at(pairs, (first, second), 1.0)
    np.add.at(with_heads, (first, second), third)
    return np.sort(np.linalg.eigvals(with_heads @ np.linalg.inv(pairs)).real)


found = Jackknife(eigenvalues, throws).estimate(lambda values: values)
low, high = found.interval(0.95)
for value, least, most, truth in zip(found.value, low, high, np.sort(heads), strict=True):
    print(f"{value:.3f}, 95 % interval {least:.3f} to {most:.3f}, the truth {truth}")
