"""Find the lemmas of words by edit scripts, which are learnt for words and for their last letters.

An edit script cuts letters from both ends of a word and puts others there: `sees` loses s, `mice` loses -ice and gets
-ouse.  A word that was seen has the script that it had most often with its tag; another word has that of the longest
known ending.  Endings are learnt with the tag alone, and with the tag and the morphological features.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Annotated

from spectral_latent.files import TEXT, Axes, Index, are_distinct, are_one_line
from spectral_latent.trees import IntArray, Vocabulary

_LONGEST = 7  # the number of last letters in the longest ending
_WHOLE = "^"  # stands before a whole word
_LONGEST_SCRIPT = 200  # characters
_CUT = "\t"  # divides the parts of a script and of a key; no word and no tag of CoNLL-U has it

_LETTERS = f"[^{_CUT}]*"
_SCRIPT = re.compile(f"={_CUT}{_LETTERS}|[ls]{_CUT}[0-9]+{_CUT}{_LETTERS}{_CUT}[0-9]+{_CUT}{_LETTERS}")


def _is_script(text: str) -> bool:
    """Tell whether a text is an edit script, of up to 200 characters and without line breaks."""
    is_short = len(text) <= _LONGEST_SCRIPT
    return is_short and bool(_SCRIPT.fullmatch(text)) and are_one_line(text.split(_CUT))


def _script_of(word: str, lemma: str) -> str:
    """Make the edit script from a word to its lemma, around their longest common part."""
    is_lower = lemma == lemma.lower()
    start = word.lower() if is_lower else word
    matcher = SequenceMatcher(None, start, lemma, autojunk=False)
    at, there, length = matcher.find_longest_match()
    if not length:
        return f"={_CUT}{lemma}"
    end = len(start) - at - length
    return _CUT.join(("l" if is_lower else "s", str(at), lemma[:there], str(end), lemma[there + length :]))


def _apply(script: str, word: str) -> str | None:
    """Apply an edit script to a word; None if the word is too short."""
    case, *rest = script.split(_CUT)
    if case == "=":
        return rest[0]
    start = word.lower() if case == "l" else word
    front, back = int(rest[0]), int(rest[2])
    if front + back > len(start):
        return None
    return rest[1] + start[front : len(start) - back] + rest[3]


def _endings(word: str) -> list[str]:
    """List the endings of a word in lower case, the shortest first."""
    lower = word.lower()
    return [lower[len(lower) - length :] for length in range(min(_LONGEST, len(lower)) + 1)]


@dataclass(frozen=True, eq=False, repr=False)
class Lemmatiser:
    """The edit scripts of words and of endings.

    keys: a tag, with morphological features or without, and a whole word or an ending.
    script: (P,) the number of the script of each key.
    Raises ValueError if a script is none."""

    keys: Annotated[Vocabulary[str], Axes("P"), TEXT]
    script: Annotated[IntArray, Axes("P"), Index("S")]
    scripts: Annotated[list[str], Axes("S"), are_distinct]

    def __post_init__(self) -> None:
        if wrong := [script for script in self.scripts if not _is_script(script)]:
            raise ValueError(f"scripts must be edit scripts, not {wrong[0]!r:.60}")

    @cached_property
    def _found(self) -> dict[str, str]:
        return {key: self.scripts[script] for key, script in zip(self.keys, self.script.tolist(), strict=True)}

    @staticmethod
    def train(words: Iterable[tuple[str, str, str, str]]) -> Lemmatiser:
        """Learn from words with lemmas, but no edit scripts of more than 200 characters or with line breaks."""
        types: dict[tuple[str, str, str], Counter[str]] = defaultdict(Counter)
        for (word, tag, features, lemma), times in Counter(words).items():
            if _is_script(script := _script_of(word, lemma)):
                types[word, tag, features][script] += times
        # Count the scripts of whole words, and how many words with each ending usually have each script.
        of_words: dict[str, Counter[str]] = defaultdict(Counter)
        of_endings: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for (word, tag, features), scripts in types.items():
            for key in _whole_keys(word, tag, features):
                of_words[key].update(scripts)
            (usual, _), *_ = scripts.most_common(1)
            for ending in _endings(word):
                of_endings[tag, ending][usual] += 1
                of_endings[f"{tag} {features}", ending][usual] += 1
        # Keep what is looked up last first, and only where it changes what the others say.
        kept: dict[str, str] = {}
        for tag, ending in sorted(of_endings, key=lambda key: (len(key[1]), key)):
            best = _commonest(of_endings[tag, ending])
            shorter = (f"{tag}{_CUT}{ending[at:]}" for at in range(1, len(ending) + 1))
            if best != next((kept[key] for key in shorter if key in kept), None):
                kept[f"{tag}{_CUT}{ending}"] = best
        for word, tag, features in types:
            for key in reversed(_whole_keys(word, tag, features)):
                best = _commonest(of_words[key])
                if key not in kept and _lookup(kept, word, tag, features) != best:
                    kept[key] = best
        names = sorted(set(kept.values()))
        return Lemmatiser(Vocabulary(kept), Vocabulary(names).numbers(kept.values()), names)

    def lemma(self, word: str, tag: str, features: str) -> str:
        """Find the lemma of a word; the word itself if no script fits."""
        script = _lookup(self._found, word, tag, features)
        found = None if script is None else _apply(script, word)
        return found or word

    def lemmas(self, words: Sequence[str], tags: Sequence[str], features: Sequence[str]) -> tuple[str, ...]:
        """Find the lemma of each word of a sentence."""
        return tuple(map(self.lemma, words, tags, features))


def _whole_keys(word: str, tag: str, features: str) -> list[str]:
    """List the keys of a whole word, in the order in which they are looked up."""
    return [
        f"{tag} {features}{_CUT}{_WHOLE}{word}",
        f"{tag}{_CUT}{_WHOLE}{word}",
        f"{tag}{_CUT}{_WHOLE}{word.lower()}",
    ]


def _commonest(scripts: Counter[str]) -> str:
    """Find the commonest script, the first in the alphabet of equals."""
    return min(scripts, key=lambda script: (-scripts[script], script))


def _lookup(scripts: dict[str, str], word: str, tag: str, features: str) -> str | None:
    """Find the script of a word: as a whole, or by its longest ending, with features before without them."""
    for key in _whole_keys(word, tag, features):
        if key in scripts:
            return scripts[key]
    for ending in reversed(_endings(word)):
        for key in (f"{tag} {features}{_CUT}{ending}", f"{tag}{_CUT}{ending}"):
            if key in scripts:
                return scripts[key]
    return None
