"""
A garden path, word by word
===========================

The surprisal of a word is -log2 of its probability after the words before it, summed over all trees.  Run this page
with ``python docs/tutorial_surprisal.py``, or as a notebook.  The plot needs matplotlib.
"""

# %%
# Two sentences
# -------------
# *the war* may be what they won, or what ended.  Without a comma, only *ended* tells.

from matplotlib import pyplot

from spectral_latent import load

model = load("en")
sentences = {
    "garden path": "After they won the war ended .".split(),
    "with a comma": "After they won , the war ended .".split(),
}
found = {name: model.surprisal(words) for name, words in sentences.items()}
for name, words in sentences.items():
    for word, bits in zip(words, found[name].total, strict=True):
        print(f"{name:13} {word:6} {bits:5.1f}")

# %%
# The curve
# ---------
# Both end with the same words, so that their curves are laid over each other from the right.

figure, axes = pyplot.subplots()
for name, words in sentences.items():
    axes.plot(range(-len(words), 0), found[name].total, marker="o", label=name)
axes.set_xticks(range(-8, 0), sentences["with a comma"])
axes.set_ylabel("surprisal (bits)")
axes.legend()

# %%
# Words that were never seen
# --------------------------
# An unseen word is known by its spelling alone: its surprisal is that of its signature, and does not compare with that
# of seen words.  ``seen`` tells which is which, so that a study can leave such words out, or model them apart.

odd = "The dog chased the zorblatt .".split()
surprisal = model.surprisal(odd)
for word, bits, seen in zip(odd, surprisal.total, surprisal.seen, strict=True):
    print(f"{word:9} {bits:5.1f} {'' if seen else 'unseen'}")
