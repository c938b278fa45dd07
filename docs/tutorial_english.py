"""
An English parser, in pictures
==============================

The model ``en`` comes with the library.  Run this page with ``python docs/tutorial_english.py``, or as a notebook.  The
plots need matplotlib.
"""

# %%
# Trees
# -----
# Raw text goes in; each sentence has its best parses, here one.

import matplotlib.pyplot as plt
import numpy as np

from spectral_latent import ConstituencyModel, EstimatorOptions, load
from spectral_latent.constituency import ConstituencyOptions
from spectral_latent.inspection import describe_states
from spectral_latent.plotting import plot_objectives, plot_spectra

model = load("en")
(parses,) = model.parse_text("My dog ate the sandwich that I made.")
parses

# %%
# An ambiguous sentence
# ---------------------
# Who has the telescope?  The two best trees, and their shares of the probability.

words = "I saw the man with the telescope .".split()
readings = model.parse_nbest(words, 2)
for parse, share in zip(readings, readings.shares, strict=True):
    print(f"{share:.2f} {parse.tree.bracketed()}")
readings

# %%
# How sure is the parser?
# -----------------------
# The posterior of every phrase, summed over all trees.  *the man with the telescope* and *saw the man* exclude each
# other.

posteriors = [(part, p) for part, p in model.posteriors(words).items() if p > 0.05 and not part.is_tag]
posteriors.sort(key=lambda pair: pair[1])
names = [f"{part.label}: {' '.join(words[part.first : part.end])}" for part, _ in posteriors]
figure, axes = plt.subplots(layout="constrained")
bars = axes.barh(names, [p for _, p in posteriors])
axes.set_xlabel("posterior probability")

# %%
# What are the states?
# --------------------
# Nobody annotated them: the model has found that verbs in the past tense are not all alike.

states = next(each for each in describe_states(model.named_operators, 8) if each[0].symbol == "VBD")
for state in sorted(states, key=lambda state: -state.share)[:4]:
    print(f"{100 * state.share:3.0f} %  {' '.join(word for word, _ in state.words)}")

# %%
# How many states does a symbol need?
# -----------------------------------
# Singular values say how many directions of a symbol stand out, here in a parser of a hundred trees.  Hollow markers
# stand beyond the states that the model uses.

trees = load("toy").sample(100, np.random.default_rng(0))  # of a made-up language
small = ConstituencyModel.train(trees)
spectra = plot_spectra(small.named_operators, ["NP", "VP", "NN"])

# %%
# How far does EM climb?
# ----------------------
# The objective after each iteration, above that of the start.  A few iterations from a good start gain nearly all.

traces = {}
for estimator in ("clusters-em", "moments-em"):
    options = ConstituencyOptions(estimator=EstimatorOptions(estimator, n_states=4, iterations=5))
    traces[estimator] = ConstituencyModel.train(trees, options).members[0].objective
objectives = plot_objectives(traces)
