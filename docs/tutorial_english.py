"""
An English parser
=================

The model ``en`` comes with the library.  Run this page with ``python docs/tutorial_english.py``, or as a notebook.
"""

# %%
# Trees
# -----
# Raw text goes in; each sentence has its best parses, here one.

from spectral_latent import load
from spectral_latent.inspection import describe_states

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
for part, p in sorted(posteriors, key=lambda pair: -pair[1]):
    print(f"{p:.2f} {part.label:5} {' '.join(words[part.first : part.end])}")

# %%
# What are the states?
# --------------------
# Nobody annotated them: the model has found that verbs in the past tense are not all alike.

states = next(each for each in describe_states(model.named_operators, 8) if each[0].symbol == "VBD")
for state in sorted(states, key=lambda state: -state.share)[:4]:
    print(f"{100 * state.share:3.0f} %  {' '.join(word for word, _ in state.words)}")
