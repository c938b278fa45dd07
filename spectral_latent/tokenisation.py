"""Divide raw text into sentences and words, as in the corpus of a model.

The words of the corpus tell how it was tokenised, so that a model needs to remember nothing else:

| the corpus has | a sentence is divided by |
| --- | --- |
| the word `n't` | NLTK's `NLTKWordTokenizer`, the rules of the Penn Treebank, which need no data |
| no word `n't` | the rule of this module |

By the rule of this module, white space divides words.  Marks at both ends of a word become words of their own; equal
marks in a row, such as `...`, become one word.  A word of the corpus, such as `etc.`, is not divided.  The part of a
word that ends or begins with an apostrophe, such as `l'` or `'s`, is a word if the corpus has it.  Text in a script
without spaces is divided into the longest words that the corpus has, from left to right.

English sentences are found by NLTK's Punkt if its data are installed (`python -m nltk.downloader punkt_tab`).
Otherwise a sentence ends with `.`, `!`, `?` or `…` if white space and no lower-case letter follow.  It does not end
with a single letter and a stop, nor with a word that the corpus has with its stop, such as `Mr.`.  In all cases a
sentence ends with `。`, `！` or `？`, and before an empty line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from nltk.tokenize import PunktTokenizer

__all__ = ["MARKS", "Token", "Tokenisation"]

_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n")
_OPENING = "\"'`“‘„«‹([{"
_SENTENCE_END = re.compile(rf"[.!?…]+[\"'”’»›)\]}}]*\s+(?=[{re.escape(_OPENING)}]*(\S))|[。！？]+[”’」』）]*\s*")
_LAST_WORD = re.compile(rf"[^\s{re.escape(_OPENING)}]+\.(?=\s)")
_INITIAL = re.compile(r"\w\.")
_APOSTROPHE = re.compile(r"(?<=\w)[’'](?=\w)")
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Thai to Han
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")
_UNKNOWN_PIECE = re.compile(rf"(?:(?![{_UNSPACED}])\w)+|.", re.DOTALL)
_ENOUGH = 20  # words that show whether a text is in the language of the corpus
_LONGEST = 20  # characters of the longest word that is looked for in a script without spaces
MARKS = (
    *(("-LRB-", "("), ("-RRB-", ")"), ("-LSB-", "["), ("-RSB-", "]"), ("-LCB-", "{"), ("-RCB-", "}")),
    *(("``", "“"), ("''", "”"), ("`", "‘"), ("...", "…"), ("--", "—", "–")),
)  # the spellings of one mark; treebanks write the first
_SPELLINGS = {other: marks[0] for marks in MARKS for other in marks[1:]}
# Parts of a line that a tokeniser would have divided, such as `growth,` and `didn't`; in the last one also `go.`
_UNTOKENISED = re.compile(rf".*\w[,;!?]|\w+n['’]t|.*[。！？，、].+|.+[。！？，、]|[{_UNSPACED}]{{8,}}")
_UNTOKENISED_LAST = re.compile(r".*\w\w\.")


class Token(NamedTuple):
    """A word of a text.

    word: the word as the corpus writes it, such as `-LRB-`.
    form: the word as it stands in the text, such as `(`.
    first: the index of the first character of the word in the text.
    """

    word: str
    form: str
    first: int

    @property
    def end(self) -> int:
        """Return the index after the last character of the word."""
        return self.first + len(self.form)


@dataclass(frozen=True, eq=False)
class Tokenisation:
    """The way to divide text into sentences and words, as the words of a corpus show it.

    known: the words of the corpus.

    >>> english = Tokenisation(frozenset(["n't", "``", "''", "-LRB-", "-RRB-", "Mr."]))
    >>> [token.word for token in english.words('Mr. Dow (55) didn\\'t say "No".')]
    ['Mr.', 'Dow', '-LRB-', '55', '-RRB-', 'did', "n't", 'say', '``', 'No', "''", '.']
    >>> french = Tokenisation(frozenset(["l'"]))
    >>> [[token.form for token in sentence] for sentence in french.sentences("C'est l'homme. Oui...")]
    [["C'est", "l'", 'homme', '.'], ['Oui', '...']]
    """

    known: frozenset[str]

    def sentences(self, text: str) -> Iterator[list[Token]]:
        """Divide a text into sentences of at least one word.

        text: the text; an empty line ends a sentence, and another line end is a space.

        Raises TypeError for anything but a string.
        """
        _check_text(text)
        for paragraph, end in _between(text, [match.end() for match in _PARAGRAPH_END.finditer(text)]):
            for first, last in self._sentence_spans(text[paragraph:end]):
                if tokens := self._tokens(text, paragraph + first, paragraph + last):
                    yield tokens

    def words(self, sentence: str) -> list[Token]:
        """Divide one sentence into words.

        sentence: the text of the sentence, which is not divided into several.

        Raises TypeError for anything but a string.
        """
        _check_text(sentence)
        return self._tokens(sentence, 0, len(sentence))

    def is_raw(self, words: Sequence[str]) -> bool:
        """Tell whether a line is clearly text that was not tokenised, as words such as `growth,` and `didn't` show.

        words: the parts of the line between spaces.

        >>> english = Tokenisation(frozenset(["n't", "Mr."]))
        >>> [english.is_raw(line.split()) for line in ("I did n't .", "I didn't .", "We go.", "Ask Mr. X .")]
        [False, True, True, False]
        """
        unknown = [word for word in words if not self._has(word)]
        if any(map(_UNTOKENISED.fullmatch, unknown)):
            return True
        # The last of several words is unknown exactly if it is also the last unknown word.
        return words[-1:] == unknown[-1:] != [] and bool(_UNTOKENISED_LAST.fullmatch(words[-1]))

    def warns_of(self, sentences: Iterable[Sequence[str]]) -> str | None:
        """Return a warning if over half of the words of a text were never seen, and it has enough words to tell.

        sentences: the words of each sentence.

        >>> english = Tokenisation(frozenset(["the", "dog", "barks"]))
        >>> english.warns_of([["the", "dog", "barks"]] * 9), english.warns_of([["der", "Hund", "bellt"]] * 9)
        (None, '27 of 27 words were never seen in training; is the text in the language of the model?')
        """
        words = [word for sentence in sentences for word in sentence if word.isalpha()]
        unseen = sum(not self._has(word) for word in words)
        if len(words) < _ENOUGH or 2 * unseen <= len(words):
            return None
        return f"{unseen} of {len(words)} words were never seen in training; is the text in the language of the model?"

    def _has(self, word: str) -> bool:
        """Tell whether the corpus has a word, in this spelling or in lower case."""
        return word in self.known or word.lower() in self.known

    @property
    def _is_english(self) -> bool:
        return "n't" in self.known

    @cached_property
    def _punkt(self) -> PunktTokenizer | None:
        """Load NLTK's splitter of English sentences; None where its data are not installed."""
        from nltk.tokenize import PunktTokenizer

        try:
            return PunktTokenizer("english")
        except LookupError:
            return None

    def _sentence_spans(self, text: str) -> Iterable[tuple[int, int]]:
        """Find the first index and the end of each sentence of a paragraph."""
        if self._is_english and self._punkt:
            return list(self._punkt.span_tokenize(text))
        ends = (match.end() for match in _SENTENCE_END.finditer(text) if self._ends_sentence(text, match))
        return _between(text, list(ends))

    def _ends_sentence(self, text: str, stop: re.Match[str]) -> bool:
        """Tell whether a mark such as a full stop ends a sentence here."""
        if stop[1] is None:
            return True
        if stop[1].islower():
            return False
        before = max(text.rfind(space, 0, stop.start()) for space in " \t\n")
        word = _LAST_WORD.search(text, before + 1, stop.end())
        return word is None or not (_INITIAL.fullmatch(word[0]) or self._has(word[0]))

    def _tokens(self, text: str, first: int, end: int) -> list[Token]:
        """Divide a part of a text into words."""
        part = text[first:end]
        pieces = _treebank_words(part) if self._is_english else self._own_words(part)
        tokens = []
        start = first
        for piece in pieces:
            while text[start].isspace():
                start += 1
            form = text[start : start + len(piece)]
            opens = start == first or text[start - 1].isspace() or text[start - 1] in _OPENING
            tokens.append(Token(self._spelt(form, opens), form, start))
            start += len(piece)
        return tokens

    def _spelt(self, form: str, opens: bool) -> str:
        """Write a word as the corpus writes it."""
        straight = "``" if opens else "''"
        written = straight if form == '"' else _SPELLINGS.get(form, form.replace("’", "'"))
        return written if not self._has(form) and self._has(written) else form

    def _own_words(self, text: str) -> Iterator[str]:
        """Divide a sentence into words by the rule of this module."""
        for word in text.split():
            closing: list[str] = []
            while word and _is_mark(word[0]) and not self._has(word):
                rest = word.lstrip(word[0])
                yield word[: len(word) - len(rest)]
                word = rest
            while word and _is_mark(word[-1]) and not self._has(word):
                rest = word.rstrip(word[-1])
                closing.append(word[len(rest) :])
                word = rest
            yield from self._inner_words(word)
            yield from reversed(closing)

    def _inner_words(self, word: str) -> Iterator[str]:
        """Divide a word without marks at its ends."""
        if self._has(word):
            yield word
        elif _UNSPACED_LETTER.search(word):
            yield from self._longest_words(word)
        else:
            cuts = (cut for mark in _APOSTROPHE.finditer(word) for cut in self._cuts(word, mark))
            yield from (word[first:end] for first, end in _between(word, sorted(set(cuts))))

    def _cuts(self, word: str, mark: re.Match[str]) -> Iterator[int]:
        """Find where a word is cut at an apostrophe: after `l'`, or before `'s`."""
        if self._has(word[: mark.end()].replace("’", "'")):
            yield mark.end()
        elif self._has(word[mark.start() :].replace("’", "'")):
            yield mark.start()

    def _longest_words(self, text: str) -> Iterator[str]:
        """Divide text of a script without spaces into the longest words that the corpus has, from left to right."""
        first = 0
        while first < len(text):
            ends = range(min(first + _LONGEST, len(text)), first, -1)
            end = next((end for end in ends if text[first:end] in self.known), None)
            if end is None:
                end = first + len(_UNKNOWN_PIECE.match(text, first)[0])  # type: ignore[index]
            yield text[first:end]
            first = end


def _check_text(text: object) -> None:
    """Raise TypeError for anything but a string."""
    if not isinstance(text, str):
        raise TypeError(f"a raw text is a string, not {text!r:.60}; words that are divided need no tokenisation")


def _treebank_words(text: str) -> Iterator[str]:
    """Divide a sentence into words by NLTK's rules, with quotation marks as they stand in the text."""
    from nltk.tokenize import NLTKWordTokenizer

    # The tokeniser changes quotation marks, so that the pieces are cut from the text by the lengths of its words.
    rest = text
    plain = _APOSTROPHE.sub("'", text).replace("…", " … ")
    for word in NLTKWordTokenizer().tokenize(plain):
        rest = rest.lstrip()
        piece = rest[:1] if rest.startswith('"') else rest[: len(word)]
        yield piece
        rest = rest[len(piece) :]


def _is_mark(character: str) -> bool:
    """Tell whether a character is a punctuation mark or a symbol."""
    return unicodedata.category(character)[0] in "PS"


def _between(text: str, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """List the parts of a text that lie between the given ends, without empty parts."""
    return ((first, end) for first, end in pairwise([0, *ends, len(text)]) if first < end)
