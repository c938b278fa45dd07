"""Number the terminals of a model of language: the words of its training data, and signatures for all other words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Annotated

import numpy as np

from spectral_latent._options import AtLeast, AtMost, Options
from spectral_latent.files import Distinct, Text
from spectral_latent.lexicon.signatures import DEPTH, Signature, signatures
from spectral_latent.lexicon.spelling import SpellingModel
from spectral_latent.trees import BoolArray, IntArray, Vocabulary

__all__ = ["Lexicon", "LexiconOptions"]

_REMEMBERED = 50_000  # the number of words whose signature is kept

# Treebanks spell one mark in several ways: an unseen spelling takes the first of the others that was seen.
_MARKS = (
    *(("(", "-LRB-"), (")", "-RRB-"), ("[", "-LSB-"), ("]", "-RSB-"), ("{", "-LCB-"), ("}", "-RCB-")),
    *(("``", "“", '"'), ("''", "”", '"'), ("`", "‘", "'"), ("'", "’"), ("--", "—", "–", "-"), ("...", "…")),
)
_OTHER_SPELLINGS = {mark: [other for other in marks if other != mark] for marks in reversed(_MARKS) for mark in marks}


@dataclass(frozen=True)
class LexiconOptions(Options):
    """Strengths of the lexicon's back-offs, in tokens; `smoothing` has the formulas.

    rare_count: the largest number of occurrences of a rare word.  Rare words contribute to the statistics of their
    signatures, and are smoothed by these statistics.
    back_off_strength: K, the weight of a coarser signature in a finer one.
    signature_strength: B, the weight of a signature in a rare word that has it.
    tag_strength: C, the weight of a tag's distribution over words in the distribution of each symbol with this tag.
    mean_strength: the weight of a symbol's mean z in the smoothed mean z of a rule; the rule's own weight is √n.
    min_expected: pairs of a symbol and a word or signature are left out if their expected count is smaller.
    """

    rare_count: Annotated[int, AtLeast(0)] = 10
    back_off_strength: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 2.0
    signature_strength: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 1.0
    tag_strength: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 100.0
    mean_strength: Annotated[float, AtLeast(0.0), AtMost(1e9)] = 1.0
    min_expected: Annotated[float, AtLeast(0.0)] = 3e-4


@dataclass(frozen=True, eq=False, repr=False)
class Lexicon:
    """The terminals of a treebank: 0 ... W-1 are words, the rest are the signatures of these words.

    words: the words seen in training.
    spelling: a model that predicts the tags of words from their spelling; None if there is no such model.

    >>> lexicon = Lexicon(["trading", "the"])
    >>> lexicon.terminals_of(["The", "walking"]).tolist(), lexicon.terminals.names[3]
    ([1, 3], ('x', 'ing'))
    """

    words: Annotated[list[str], Text(), Distinct()]
    spelling: SpellingModel | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", list(dict.fromkeys(self.words)))

    @cached_property
    def terminals(self) -> Vocabulary[str | Signature]:
        """The words and signatures, with their numbers."""
        of_words = chain.from_iterable(map(signatures, self.words))
        return Vocabulary(chain(self.words, [()], of_words))

    @cached_property
    def _signatures(self) -> dict[str, int]:
        """The terminals of signatures of words that were looked up."""
        return {}

    def terminals_of(self, words: Sequence[str], first: Collection[int] = (0,)) -> IntArray:
        """Look up the terminal of each word: the word if it is known, or the finest signature that a known word shares.

        An unknown word that opens a sentence is looked up in lower case, and an unknown bracket, quotation mark, dash
        or apostrophe, such as `-LRB-`, “ or the one in n’t, in its other spellings.

        words: the n words of one or more sentences; the result is (n,).
        first: the places of the words that open a sentence.
        """
        terminals = self.terminals.numbers(words)
        for at in np.flatnonzero(terminals < 0).tolist():
            terminals[at] = self.terminal(words[at], opens=at in first)
        return terminals

    def are_known(self, words: Sequence[str]) -> BoolArray:
        """Tell which of the n words of a sentence (n,) were seen in training, as `terminals_of` looks them up.

        >>> Lexicon(["trading", "the"]).are_known(["The", "walking"])
        array([ True, False])
        """
        return self.terminals_of(words) < len(self.words)

    @property
    def known(self) -> list[str]:
        """The words seen in training, which are the names of the first terminals."""
        return self.words

    @property
    def n_terminals(self) -> int:
        """The number of words and signatures."""
        return len(self.terminals)

    @property
    def terminal_names(self) -> list[str]:
        """The words, and the signatures in angle brackets, in the order of their terminals.

        >>> Lexicon(["a"]).terminal_names
        ['a', '<>', '<x a>', '<x>']
        """
        return [name if isinstance(name, str) else f"<{' '.join(name)}>" for name in self.terminals.names]

    @property
    def unknown(self) -> int:
        """The terminal of the signature that all words share."""
        return self.terminals[()]

    def terminal(self, word: str, *, opens: bool = False) -> int:
        """Look up the terminal of a word.

        word: the word.
        opens: whether the word is the first word of a sentence.
        """
        terminal = self.terminals.get(word)
        if terminal < 0 and opens:
            terminal = self.terminals.get(word.lower())
        others = _OTHER_SPELLINGS.get(word) or ([word.replace("’", "'")] if "’" in word else [])
        while terminal < 0 and others:
            terminal = self.terminals.get(others[0])
            others = others[1:]
        return terminal if terminal >= 0 else self.signature(word)

    def signature(self, word: str) -> int:
        """Look up the finest signature that a word shares with a known word.

        word: the word, known or not.
        """
        terminal = self._signatures.get(word)
        if terminal is None:
            terminal = next(self.terminals[signature] for signature in signatures(word) if signature in self.terminals)
            if len(self._signatures) < _REMEMBERED:
                self._signatures[word] = terminal
        return terminal

    def signature_chains(self) -> IntArray:
        """List the signatures of each terminal, coarsest first, as terminals (T, DEPTH); -1 beyond the finest.

        A signature's chain ends with itself.
        """
        chains = np.full((len(self.terminals), DEPTH), -1, dtype=np.int64)
        for terminal, word in enumerate(self.words):
            levels = [self.terminals[signature] for signature in reversed(signatures(word))]
            chains[terminal, : len(levels)] = levels
            for level, signature in enumerate(levels, start=1):
                chains[signature, :level] = levels[:level]
        return chains
