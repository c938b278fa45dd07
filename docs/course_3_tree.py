"""
Course 3: a latent tree
=======================

Chains have a past and a future; a node of a tree has an inside and an outside.  The matrix of the two has the rank of
the states again, which even tells which tree it is.
"""

# %%
# The truth
# ---------
# Four cousins are seen, and their two parents and one grandparent are not.  All three have one of two states, which
# a child mostly shares with its parent.  A cousin is seen as one of three things, by its parent's state.

import numpy as np

from spectral_latent.plotting import plot_matrices

root = np.array([0.5, 0.5])
passes = np.array([[0.9, 0.2], [0.1, 0.8]])  # p(state of a parent | state of the grandparent)
seen = np.array([[0.7, 0.1], [0.2, 0.3], [0.1, 0.6]])  # p(thing | state of the parent)

p = np.einsum("g,lg,rg,al,bl,cr,dr->abcd", root, passes, passes, seen, seen, seen, seen)  # of all 81 outcomes
rng = np.random.default_rng(0)
n = 100_000
counts = rng.multinomial(n, p.ravel()).reshape(p.shape) / n

# %%
# Inside and outside
# ------------------
# Cut the tree above the left parent: inside are the cousins a and b, outside c and d.  Given the parent's state they
# are independent.  Ω has a row for each of the nine insides and a column for each of the nine outsides, and its rank is
# two.

omega = counts.reshape(9, 9)
other = counts.transpose(0, 2, 1, 3).reshape(9, 9)  # a and c against b and d
spectra = {"a b | c d": np.linalg.svd(omega)[1], "a c | b d": np.linalg.svd(other)[1]}
for cut, values in spectra.items():
    print(cut, values.round(4))
figure = plot_matrices({"Ω, a b | c d": omega, "a c | b d": other})

# %%
# No edge of the tree parts a and c from b and d: two paths cross that cut, and the rank is four.  So ranks tell trees
# apart without a look at states.  The third singular value of the true cut is noise, that of the wrong one is not.
#
# Projections
# -----------
# The singular vectors keep of nine numbers the two that tell states apart.  The mean of the product of both projections
# is the identity matrix, as :doc:`the hundred lines <course_4_grammar>` explain.

U, sigma, Vt = np.linalg.svd(omega)
y = U[:, :2]  # of each inside, a row
z = Vt[:2].T / sigma[:2]  # of each outside
print(np.einsum("io,ik,ol->kl", omega, y, z).round(12))
figure = plot_matrices({"U": U[:, :2], "singular values": sigma, "Vᵀ": Vt[:2]})

# %%
# Operators of rules
# ------------------
# The left parent has the rule "a thing and a thing": its operator is the mean of z ⊗ the two things.  The grandparent's
# is a mean over the insides of its children, each in its own coordinates.

pair = np.einsum("io,ok->ik", omega, z).T.reshape(2, 3, 3)  # C(parent → thing thing)
y_right = np.linalg.svd(omega.T)[0][:, :2]
z_right = np.linalg.pinv(y_right.T @ omega.T).reshape(9, 2)
pair_right = np.einsum("io,ok->ik", omega.T, z_right).T.reshape(2, 3, 3)
top = np.einsum("io,ik,ol->kl", omega, y, y_right)  # C(grandparent → parent parent)

estimate = np.einsum("kl,kab,lcd->abcd", top, pair, pair_right)
print(f"Σ |p̂ - p|: {np.abs(estimate - p).sum():.4f}; of the shares of the sample: {np.abs(counts - p).sum():.4f}")

# %%
# Two states are few numbers, so that the product of operators is nearer to the truth than the table of counts from
# which they were computed.  Each slice of an operator is a sum over states in the unknown basis.

figure = plot_matrices({"top": top, "pair, first": pair[0], "pair, second": pair[1]})

# %%
# What comes next
# ---------------
# Here all trees have one shape, and each node its own operators.  A grammar has trees of any shape, and nodes of one
# symbol share their operators: :doc:`the method in a hundred lines <course_4_grammar>`.
