"""
Pictures of parses and models
=============================

What a notebook shows, and what can be plotted, of the ready model of English and of a small one that is trained here.
Run it with ``python docs/tutorial_pictures.py``, or copy its parts into a notebook.  The plots need matplotlib.
"""

# %%
# Trees
# -----
# The best parses of an ambiguous sentence, each under the logarithm of its probability.

import matplotlib.pyplot as plt
import numpy as np

from spectral_latent import ConstituencyModel, EstimatorOptions, load
from spectral_latent.constituency import ConstituencyOptions
from spectral_latent.plotting import plot_objectives, plot_spectra

english = load("en")
words = "She saw the man with a telescope .".split()
parses = english.parse_nbest(words, 2)
parses

# %%
# How sure is the parser?
# -----------------------
# The posterior probabilities of phrases: those that cannot both be in a tree share the probability.

posteriors = [(part, p) for part, p in english.posteriors(words).items() if p > 0.05 and not part.is_tag]
posteriors.sort(key=lambda pair: pair[1])
names = [f"{part.label}: {' '.join(words[part.first : part.end])}" for part, _ in posteriors]
figure, axes = plt.subplots(layout="constrained")
bars = axes.barh(names, [p for _, p in posteriors])
axes.set_xlabel("posterior probability")

# %%
# How many states does a symbol need?
# -----------------------------------
# Singular values say how many directions of a symbol stand out.  Hollow markers stand beyond the states that the model
# uses.

trees = load("toy").sample(100, np.random.default_rng(0))  # of a made-up language
model = ConstituencyModel.train(trees)
spectra = plot_spectra(model.named_operators, ["NP", "VP", "NN"])

# %%
# How far does EM climb?
# ----------------------
# The objective after each iteration, above that of the start.  A few iterations from a good start gain nearly all.

traces = {}
for estimator in ("clusters-em", "moments-em"):
    options = ConstituencyOptions(estimator=EstimatorOptions(estimator, n_states=4, iterations=5))
    traces[estimator] = ConstituencyModel.train(trees, options).members[0].objective
objectives = plot_objectives(traces)
