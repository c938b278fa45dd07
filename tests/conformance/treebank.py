"""Draw a small treebank of a random grammar: the same sentences as phrases, as dependency trees and with tags."""

from typing import NamedTuple

import numpy as np

from spectral_latent.constituency import Phrase
from spectral_latent.dependency import DependencySentence

WORDS = {
    "PRP": ["he", "she", "it"],
    "DT": ["the", "a"],
    "NN": ["cat", "dog", "house", "saw", "tree", "garden", "door", "Paris", "bird", "river", "runner", "stone", "hill"],
    "VBZ": ["sees", "likes", "saw", "sleeps", "paints", "runs", "hides", "counts"],
    "IN": ["with", "in"],
}  # the words of each tag, by falling frequency


class _Part(NamedTuple):
    """A part of a sentence, as a phrase and with heads.

    phrase: the phrase.
    head: the place of the head word, counted from the first word of the part.
    heads: the place of the head of each word; -1 for the head word.
    """

    phrase: Phrase
    head: int
    heads: tuple[int, ...]


def _joined(label: str, parts: list[_Part], head: int) -> _Part:
    """Put parts side by side under a label; the head word of part number `head` is the head of the other head words."""
    # The head word of every part but `head` has no head in its part, and now gets the top word of the whole.
    start = np.cumsum([0, *(len(part.heads) for part in parts)]).tolist()
    top = start[head] + parts[head].head
    heads = [
        top if above < 0 and begin + place != top else (above + begin if above >= 0 else -1)
        for begin, part in zip(start, parts, strict=False)
        for place, above in enumerate(part.heads)
    ]
    return _Part(Phrase(label, tuple(part.phrase for part in parts)), top, tuple(heads))


class _Grammar:
    """Draw sentences whose subjects are pronouns more often than their objects, so that states can be found."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def word(self, tag: str) -> _Part:
        choices = WORDS[tag]
        weights = 1.0 / np.arange(1, len(choices) + 1)
        return _Part(Phrase(tag, (str(self.rng.choice(choices, p=weights / weights.sum())),)), 0, (-1,))

    def noun_phrase(self, pronoun: float, attribute: float) -> _Part:
        if self.rng.random() < pronoun:
            return _joined("NP", [self.word("PRP")], 0)
        noun = _joined("NP", [self.word("DT"), self.word("NN")], 1)
        if self.rng.random() < attribute:
            return _joined("NP", [noun, self.prepositional_phrase()], 0)
        return noun

    def prepositional_phrase(self) -> _Part:
        return _joined("PP", [self.word("IN"), self.noun_phrase(0.1, 0.2)], 0)

    def sentence(self) -> _Part:
        verb = [self.word("VBZ")]
        if self.rng.random() < 0.7:
            verb.append(self.noun_phrase(0.1, 0.4))
        for _ in range(self.rng.geometric(0.6) - 1):
            verb.append(self.prepositional_phrase())
        return _joined("S", [self.noun_phrase(0.7, 0.1), _joined("VP", verb, 0)], 1)


PARTS = [_Grammar(seed).sentence() for seed in range(100)]
PHRASES = [part.phrase for part in PARTS]
SENTENCES = [list(phrase.words()) for phrase in PHRASES]
NOT_EMPTY = [SENTENCES[0], ["dogs"], *SENTENCES[:10]]  # one is a single word
SEVERAL = [*NOT_EMPTY, []]


def _tags(phrase: Phrase) -> list[str]:
    if isinstance(phrase.children[0], str):
        return [phrase.label]
    return [tag for child in phrase.children if isinstance(child, Phrase) for tag in _tags(child)]


TAGS = [_tags(phrase) for phrase in PHRASES]
TAGGED = [list(zip(words, tags, strict=True)) for words, tags in zip(SENTENCES, TAGS, strict=True)]
DEPENDENCIES = [
    DependencySentence.of(words, tags).with_heads(
        tuple(above + 1 for above in part.heads), tuple("root" if above < 0 else "dep" for above in part.heads)
    )
    for words, tags, part in zip(SENTENCES, TAGS, PARTS, strict=True)
]
