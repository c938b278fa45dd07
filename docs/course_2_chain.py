"""
Course 2: a hidden Markov chain
===============================

Coins that change while they are thrown.  The operators of :doc:`the mixture <course_1_coins>` do the same work, after
singular vectors have brought them to the size of the states (Hsu, Kakade and Zhang 2009).
"""

# %%
# The truth
# ---------
# Three states of the weather, of which we see one of five activities each day.  T[i, h] is the probability of state i
# after state h, O[x, h] that of activity x in state h.

import numpy as np

from spectral_latent import EstimatorOptions, LatentHMM
from spectral_latent.plotting import plot_matrices
from spectral_latent.sequence import HMMOptions

pi = np.array([0.5, 0.3, 0.2])
T = np.array([[0.8, 0.2, 0.1], [0.15, 0.6, 0.3], [0.05, 0.2, 0.6]])
O = np.array([[0.6, 0.1, 0.0], [0.3, 0.2, 0.1], [0.1, 0.4, 0.1], [0.0, 0.2, 0.3], [0.0, 0.1, 0.5]])

rng = np.random.default_rng(0)
n = 20_000
state = rng.choice(3, size=n, p=pi)
days = np.empty((n, 30), dtype=int)
for day in range(30):
    days[:, day] = (rng.random((n, 1)) > np.cumsum(O.T, axis=1)[state]).sum(axis=1)
    state = (rng.random((n, 1)) > np.cumsum(T.T, axis=1)[state]).sum(axis=1)

# %%
# Three days are enough
# ---------------------
# ``P1[x]``, ``P21[x, y]`` and ``P3x1[x]`` are shares of the first day, of the first two days, and of three days, where
# x is the activity of the day in the middle.  Past and future are independent given the state, so that P21 has rank
# three although it is five by five.

P1 = np.bincount(days[:, 0], minlength=5) / n
P21 = np.zeros((5, 5))
np.add.at(P21, (days[:, 1], days[:, 0]), 1 / n)
P3x1 = np.zeros((5, 5, 5))
np.add.at(P3x1, (days[:, 1], days[:, 2], days[:, 0]), 1 / n)

U, sigma, _ = np.linalg.svd(P21)
print("singular values of P21:", sigma.round(4), "noise is of size", (1 / np.sqrt(n)).round(4))
figure = plot_matrices({"P21": P21, "P3x1, x = 0": P3x1[0], "P3x1, x = 4": P3x1[4]})

# %%
# Operators of three states
# -------------------------
# The first three singular vectors span the columns of O: what the states can tell of an activity.  In their
# coordinates,
#
#     | B[x] = (Uᵀ P3x1[x]) (Uᵀ P21)⁺ = (Uᵀ O) T diag(O[x]) (Uᵀ O)⁻¹
#
# The middle of the right side is what a forward algorithm multiplies by: see activity x, then change the state.
# Around it stands the unknown basis Uᵀ O and its inverse, which cancel.

U = U[:, :3]
b1 = U.T @ P1
b_end = np.linalg.pinv(P21.T @ U) @ P1
B = np.array([U.T @ P3x1[x] @ np.linalg.pinv(U.T @ P21) for x in range(5)])
figure = plot_matrices({"U": U, "B[0]": B[0], "B[4]": B[4]})

# %%
# In the true basis they are what they should be, but for noise.

basis = U.T @ O
figure = plot_matrices({"G⁻¹ B[0] G": np.linalg.inv(basis) @ B[0] @ basis, "T diag(O[0])": T * O[0]})

# %%
# Probabilities
# -------------


def spectral(activities: tuple[int, ...]) -> float:
    """Estimate the probability of activities on the first days."""
    vector = b1
    for x in activities:
        vector = B[x] @ vector
    return float(b_end @ vector)


def forward(activities: tuple[int, ...]) -> float:
    """Compute the true probability by the forward algorithm."""
    vector = pi
    for x in activities:
        vector = T @ (O[x] * vector)
    return float(vector.sum())


asked = list(np.ndindex(5, 5, 5, 5))
estimates, truth = (np.array([p(activities) for activities in asked]) for p in (spectral, forward))
distance = float(np.abs(estimates - truth).sum())
print(f"Σ |p̂ - p| of all {len(asked)} sequences of four days: {distance:.3f}; {(estimates < 0).sum()} have p̂ < 0")

# %%
# A chain is a tree
# -----------------
# Each state has two children: the activity of its day, and the rest of the chain.  So a hidden Markov model is a latent
# tree model whose trees all branch to the right, and the library trains it by the same code as a grammar.  Its features
# are more days than the neighbours.  It also has a probability of the end after each day: here each diary ends with the
# probability 0.2 a day.

lengths = np.minimum(rng.geometric(0.2, size=5000), 30)
diaries = [row[:length].tolist() for row, length in zip(days, lengths, strict=False)]
options = HMMOptions(EstimatorOptions("moments-em", n_states=3), choose_states=False)
model = LatentHMM.train(diaries, options)
following = model.following([4, 4])
found = np.array([following[x] for x in range(5)])
found /= found.sum()
expected = np.array([forward((4, 4, x)) for x in range(5)]) / forward((4, 4))
print("the day after 4 and 4:", found.round(3), "the truth:", expected.round(3))
