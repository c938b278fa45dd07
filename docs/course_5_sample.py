"""
Course 5: what a sample leaves open
===================================

:doc:`The method in a hundred lines <course_4_grammar>` has trained a grammar.  Here are its matrices, the errors of
its estimates, the number of its states, and estimates below zero: all that a finite treebank leaves open.
"""

# %%
# The matrices of a symbol
# ------------------------
# A PP belongs to a noun or to a verb, which its symbol hides.  Ω says which insides meet which outsides; it has two
# singular values above the noise.  The mean of Y Zᵀ is the identity matrix.

from functools import partial

import course_4_grammar as page
import numpy as np

from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, Phrase, prepare
from spectral_latent.estimation import EM, Clusters, ProjectionOptions, Spectral, find_ranks
from spectral_latent.model import Jackknife
from spectral_latent.plotting import plot_matrices, plot_objectives

numbers = page.of_symbol["PP"]
inside, outside = (page.vectors([page.every_node[number][column] for number in numbers]) for column in (1, 2))
Y, Z = (np.array([of_node[number] for number in numbers]) for of_node in (page.Y, page.Z))
figure = plot_matrices({"Ω of PP": inside.T @ outside / len(numbers), "mean of Y Zᵀ": Y.T @ Z / len(numbers)})

# %%
# The operators of its rules, and of the words of P.  ``of`` and ``with`` point in different directions; ``in``, which
# both kinds have, lies between them.

C, c1 = page.spectral
figure = plot_matrices({"C(PP → P NP)": C["PP", "P", "NP"][:, :, 0]})
figure = plot_matrices({word: C["P", word] for word in ("of", "with", "in")})

# %%
# Errors
# ------
# The library trains the same grammar from the same trees.  Operators are means over trees, so that the model without a
# twentieth of the trees says how far the estimates are from the truth.  As long as every training finds the same number
# of states, the standard errors fall with the root of the number of trees, which is 3.9 from 200 to 3,000 trees.  Some
# of the errors below fall by much less or much more: a state of P is at the edge of what the cutoff keeps, and where it
# is lost, the estimate is off by more than its error tells.  So fix the states before you trust an interval.


def phrase(tree: tuple) -> Phrase:
    """Convert a tree of the page."""
    return Phrase(tree[0], tuple(part if isinstance(part, str) else phrase(part) for part in tree[1:]))


trees = [phrase(tree) for tree in page.treebank]
asked = [phrase(tree) for tree in page.unseen[:8]]
options = ConstituencyOptions(estimator=Spectral(n_states=2, smoothing=None))
train = partial(ConstituencyModel.train, options=options)
for n in (200, 3000):
    found = Jackknife(train, trees[:n]).estimate(lambda model: model.score(asked).log)
    print(f"{n} trees: log p̂ {found.value.round(2)}, standard errors {found.error.round(2)}")

# %%
# How many states?
# ----------------
# A singular value is never exactly zero in a sample.  Directions of the states also hold on trees that did not find
# them; those of noise don't.

(prepared,) = prepare(trees, [options])
ranks = find_ranks(prepared.treebank, ProjectionOptions(n_states=4))
for symbol, rank in zip(prepared.coarse.symbols, ranks.tolist(), strict=True):
    print(f"{symbol.last:4} {rank}")

# %%
# Below zero
# ----------
# p̂ is no probability: where a tree is rare, the sample small, or the states too many, noise turns its sign round.  Its
# interval then contains zero, so that it says no more than "rare".

for n, n_states in ((50, 4), (300, 4), (3000, 4), (300, 2)):
    many = ConstituencyOptions(estimator=Spectral(n_states=n_states, smoothing=None, cutoff=1e-9))
    score = ConstituencyModel.train(trees[:n], many).score([phrase(tree) for tree in page.unseen])
    share = np.mean(score.sign <= 0)
    print(f"{n} trees, {n_states} states: {share:.1%} of {len(page.unseen)} estimates are not positive")

# %%
# Probabilities, after all
# ------------------------
# The projections are where EM should begin: from clusters of them, it starts near the top, and its result is a grammar
# of probabilities, which a sample of any size makes.

estimator = EM(Clusters(n_states=2), iterations=8)
model = ConstituencyModel.train(trees, ConstituencyOptions(estimator=estimator))
axes = plot_objectives({"from clusters": model.objective})
