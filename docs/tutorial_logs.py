"""
Log lines, words without tags, and a picture of an automaton
============================================================

Three uses of sequence models: unusual sessions in a log, parts of speech of a language without a tagger, and an
automaton for Graphviz.  Run this page with ``python docs/tutorial_logs.py``, or as a notebook.
"""

# %%
# Log lines are sequences
# -----------------------
# A session of a service is a sequence of kinds of lines.  Here sessions are drawn, so that it is known which of them
# are wrong: one in fifty skips the login, or repeats a failed request without an end.  With a log of your own, group
# the lines by session, and replace numbers and names so that lines of one kind are equal, as ``kind`` does.

import re

import numpy as np

from spectral_latent import AnchorHMM, WeightedAutomaton, load
from spectral_latent.anchors import AnchorOptions
from spectral_latent_nltk import phrase_to_nltk

rng = np.random.default_rng(0)


def session() -> tuple[list[str], bool]:
    """Draw the lines of a session, and tell whether it is wrong."""
    user, wrong = int(rng.integers(1000)), rng.random() < 0.02
    skips_login = wrong and rng.random() < 0.5
    lines = [f"connect from 10.0.0.{rng.integers(256)}"] + [f"login user={user}"] * (not skips_login)
    for _ in range(1 + rng.poisson(3)):
        lines += [f"GET /item/{rng.integers(9999)} 200"] if rng.random() < 0.8 else [f"PUT /item/{user} 500", "retry"]
    if wrong and not skips_login:
        lines += [f"PUT /item/{user} 500"] * 4
    return [*lines, f"logout user={user}", "disconnect"], wrong


def kind(line: str) -> str:
    """Take the numbers out of a line, but for the status of a request."""
    return re.sub(r"(?<=[=./])\d+", "#", line)


sessions, is_wrong = zip(*(session() for _ in range(2000)), strict=True)
events = [[kind(line) for line in lines] for lines in sessions]
print(sorted({event for row in events for event in row}))

# %%
# Unusual sessions
# ----------------
# The automaton is learnt from the log as it is, with the wrong sessions in it.  A session is as unusual as its most
# surprising event, and that event tells what is wrong.

automaton = WeightedAutomaton.train(events)
print(automaton)
surprise = [automaton.surprisal(row).total for row in events]
unusual = sorted(range(len(events)), key=lambda number: -surprise[number].max())
found = unusual[: sum(is_wrong)]
precision = np.mean([is_wrong[number] for number in found])
print(f"{sum(is_wrong)} wrong sessions; of as many most unusual ones, {precision:.0%} are wrong")
for number in found[:3]:
    at = int(surprise[number].argmax())
    print(f"session {number}, line {at + 1}: {sessions[number][at]!r} has {surprise[number][at]:.1f} bits")

# %%
# What follows
# ------------
# The likeliest events after a beginning; None is the end.

following = automaton.following(["connect from 10.#.#.#", "login user=#"])
print({event: round(p, 2) for event, p in following.items() if p > 0.01})

# %%
# Parts of speech from bare words
# -------------------------------
# Only words are given; the trees are drawn from the ready model ``toy``, and their tags are used to look at the result.

tagged = [phrase_to_nltk(tree).pos() for tree in load("toy").sample(2000, rng)]
words = [[word for word, _ in sentence] for sentence in tagged]
induced = AnchorHMM.train(words, AnchorOptions(8))
states = list(induced.tag_all(words))
for state in sorted({state for row in states for state in row}, key=str):
    members = [
        word
        for row, tags in zip(words, states, strict=True)
        for word, tag in zip(row, tags, strict=True)
        if tag == state
    ]
    print(state, sorted(set(members), key=lambda word: -members.count(word))[:6])
