"""Judge the tags of words by a log-linear model of the words and tags around them.

The tags of a word that a hidden Markov model finds likely are a choice, as `lexicon.choices` learns them.  The features
see the words on both sides, beginnings and endings, shapes, and the likely tags on both sides (Ratnaparkhi 1996;
Toutanova et al. 2003).

| values | meaning |
| --- | --- |
| `candidate` | the tag that is judged; all features have it |
| `word` ... `beginning 3` | attributes of the word |
| `opens` | whether the word opens a sentence |
| `tag`, `tag-1`, ... | the likeliest tag of the word, and of a word up to two places away |
| `lower-1`, `ending 3+1`, ... | attributes of words up to two places away |
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from spectral_latent.lexicon.buckets import HashArray, Templates, hash_features, hash_name, list_names, pad_words
from spectral_latent.lexicon.choices import ChoiceModel, Choices
from spectral_latent.lexicon.spelling import character_classes, without_runs
from spectral_latent.model.parts import Parts
from spectral_latent.trees import IntArray

_STEPS = (-2, -1, 1, 2)
_ENDINGS, _BEGINNINGS = range(1, 6), range(1, 4)
_OF_WORD = (
    *("word", "lower", "shape"),
    *(f"ending {length}" for length in _ENDINGS),
    *(f"beginning {length}" for length in _BEGINNINGS),
)
_NEAR = ("lower", "ending 3", "shape", "tag")  # attributes of words nearby
_TEMPLATES: Templates = (
    *((name,) for name in _OF_WORD),
    ("shape", "opens"),
    ("ending 3", "shape"),
    ("beginning 3", "ending 3"),
    *((f"lower{step:+}",) for step in _STEPS),
    *(("lower", f"lower{step:+}") for step in (-1, 1)),
    *(("ending 3", f"lower{step:+}") for step in (-1, 1)),
    *(("ending 3", f"ending 3{step:+}") for step in (-1, 1)),
    *((f"ending 3{step:+}",) for step in (-1, 1)),
    ("lower-2", "lower-1"),
    ("lower+1", "lower+2"),
    ("lower-1", "lower+1"),
    ("lower-1", "lower", "lower+1"),
    ("shape-1", "shape", "shape+1"),
    ("tag",),
    *(("tag", name) for name in ("lower", "ending 2", "ending 3", "ending 4")),
    *(("tag", f"{name}{step:+}") for name in ("tag", "lower", "ending 3") for step in (-1, 1)),
    ("tag-1", "tag", "tag+1"),
    ("tag-2", "tag-1", "tag"),
    ("tag", "tag+1", "tag+2"),
    ("tag-1", "ending 3"),
    ("tag-1", "lower"),
    ("tag+1", "lower"),
)
_NAMES = frozenset(list_names(_TEMPLATES))


@lru_cache(1 << 16)
def _attributes(word: str) -> tuple[int, ...]:
    """Hash the attributes of a word that `_OF_WORD` names."""
    lower = word.lower()
    parts = [lower[-length:] for length in _ENDINGS] + [lower[:length] for length in _BEGINNINGS]
    return tuple(map(hash_name, (word, lower, without_runs(character_classes(word)), *parts)))


class TagEvidence(NamedTuple):
    """What tags are judged by: the N words of T sentences.

    tags: the names of the K tags.
    least: tags with a smaller posterior keep it."""

    sentences: Sequence[Sequence[str]]
    tags: Sequence[Hashable]
    least: float


class TagChoices(NamedTuple):
    """The likely tags of N words.

    best: (N,) the likeliest tag of each word.
    word: (W,) the words with several likely tags.
    row: (n,) their likely tags, which are the candidates: rows of the parts.
    tag: (n,) the numbers of these tags.
    choices: the choices among them."""

    best: IntArray
    word: IntArray
    row: IntArray
    tag: IntArray
    choices: Choices

    @staticmethod
    def of(parts: Parts, evidence: TagEvidence, right: IntArray | None = None) -> TagChoices:
        """List the likely tags of words, with their features.

        right: (N,) the right tag of each word; None if it is not known."""
        sentences, tags, least = evidence
        first = np.cumsum([0, *map(len, sentences)])
        place = first[parts.sentence] + parts.begin - 1
        # Of equally likely tags of a word, the first one is the best.
        order = np.lexsort((-parts.posterior, place))
        opens = np.diff(place[order], prepend=-1) > 0
        best = np.zeros(first[-1], dtype=np.int64)
        best[place[order[opens]]] = parts.label[order[opens]]
        likely = np.flatnonzero(parts.posterior > least)
        count = np.bincount(place[likely], minlength=len(best))
        row = likely[count[place[likely]] > 1]
        word = np.flatnonzero(count > 1)
        start = np.cumsum([0, *count[word]])
        tag = parts.label[row]
        of_word = np.repeat(np.arange(len(word)), count[word])
        name = np.array([hash_name(str(each)) for each in tags], dtype=np.uint64)
        columns = {key: column[of_word] for key, column in _columns(sentences, name[best], word).items()}
        log = np.log(parts.posterior[row])
        is_right = np.zeros(len(row), dtype=np.bool_) if right is None else right[place[row]] == tag
        choices = Choices(hash_features(_TEMPLATES, name[tag], columns), log, is_right, np.ones(len(word)), start)
        return TagChoices(best, word, row, tag, choices)

    def judged_best(self, model: TagModel) -> IntArray:
        """Find the best tag of each word, (N,), under a model."""
        best = self.best.copy()
        if len(self.word):
            size = np.diff(self.choices.start)
            # Sort the candidates of each word by rising share; the last one is the best.
            order = np.lexsort((model.share(self.choices), np.repeat(np.arange(len(size)), size)))
            best[self.word] = self.tag[order[self.choices.start[1:] - 1]]
        return best


def _columns(sentences: Sequence[Sequence[str]], tag: HashArray, judged: IntArray) -> dict[str, HashArray]:
    """List the values that templates name, (W,) each, of some of N words.

    tag: (N,) the hash of the likeliest tag of each word.
    judged: (W,) the words."""
    start = np.cumsum([0, *map(len, sentences)])
    own = np.array([_attributes(word) for sentence in sentences for word in sentence], dtype=np.uint64)
    own = own.reshape(start[-1], len(_OF_WORD))
    opens = np.zeros(len(own), dtype=np.uint64)
    opens[start[:-1][np.diff(start) > 0]] = 1
    sentence = np.repeat(np.arange(len(sentences)), np.diff(start))[judged]
    columns = {**dict(zip(_OF_WORD, own[judged].T, strict=True)), "opens": opens[judged], "tag": tag[judged]}
    for name in _NEAR:
        padded, shift = pad_words(tag if name == "tag" else own[:, _OF_WORD.index(name)], start)
        at = judged + shift[sentence]
        columns |= {f"{name}{step:+}": padded[at + step] for step in _STEPS if f"{name}{step:+}" in _NAMES}
    return columns


@dataclass(frozen=True, eq=False)
class TagModel(ChoiceModel):
    """A log-linear model of the tags of words."""

    noun: ClassVar[str] = "tags"

    def judge(self, parts: Parts, evidence: TagEvidence) -> Parts:
        """Replace the posteriors of the likely tags of each word; their sum stays as it is."""
        found = TagChoices.of(parts, evidence)
        if not len(found.word):
            return parts
        start = found.choices.start
        mass = np.add.reduceat(parts.posterior[found.row], start[:-1])
        posterior = parts.posterior.copy()
        posterior[found.row] = self.share(found.choices) * np.repeat(mass, np.diff(start))
        return parts._replace(posterior=posterior)
