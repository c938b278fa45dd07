"""
Hidden Markov models by moments and by EM
=========================================

Strings of a known hidden Markov model, and three models trained on them: by moments, which need no start; by EM from
random starts; and by EM from the states that moments have found, joined by random starts.  Run this page with
``python docs/tutorial_sequences.py``, or as a notebook.
"""

# %%
# The truth
# ---------
# Three states, four observations, and a probability of the end in each state.

import numpy as np

from spectral_latent import EstimatorOptions, LatentHMM
from spectral_latent.sequence import HMMOptions

rng = np.random.default_rng(0)
initial = np.array([0.8, 0.1, 0.1])
transition = np.array([[0.1, 0.7, 0.0], [0.1, 0.1, 0.6], [0.5, 0.1, 0.2]])  # what is left of each row is the end
emission = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.05, 0.05, 0.1, 0.8]])


def draw() -> list[int]:
    """Draw a string."""
    state, string = rng.choice(3, p=initial), []
    while state < 3:
        string.append(int(rng.choice(4, p=emission[state])))
        state = rng.choice(4, p=[*transition[state], 1.0 - transition[state].sum()])
    return string


def log_probability(string: list[int]) -> float:
    """Sum over the paths of the truth."""
    forward = initial * emission[:, string[0]]
    for symbol in string[1:]:
        forward = forward @ transition * emission[:, symbol]
    return float(np.log(forward @ (1.0 - transition.sum(axis=1))))


train, test = [draw() for _ in range(5000)], [draw() for _ in range(1000)]
perplexity = {"truth": np.exp(-np.mean([log_probability(string) for string in test]))}

# %%
# Three models
# ------------
# The perplexity of held-out strings; the truth cannot be beaten but by chance.

for name in ("moments", "em", "moments-em"):
    options = HMMOptions(EstimatorOptions(name, n_states=3), choose_states=False)
    model = LatentHMM.train(train, options)
    perplexity[name] = np.exp(-np.mean(model.log_probabilities(test)))
for name, value in perplexity.items():
    print(f"{name:10} {value:.3f}")

print(f"{model.n_near} of {len(model.reached)} starts of EM came within 1 nat of the best")

# %%
# The next observation
# --------------------
# After 0 the second state is likely, and with it observation 1.  None is the end.

following = model.following([0])
print(following)
