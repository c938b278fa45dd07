"""Divide raw text into sentences and words, as in the corpus of a model.

The words of the corpus tell how it was tokenised, so that a model needs to remember nothing else.

White space divides words.  Marks at both ends of a word become words of their own, but a stop within a sentence stays
with its word; equal marks in a row, such as `...`, become one word.  A word of the corpus, such as `etc.`, is not
divided, nor is a character that several code points make, such as a flag (a grapheme cluster).  Dashes, quotation
marks, and other marks before a letter divide a word that is no address, such as
`him--and` and `one,two`.  The part of a word that ends or begins with an apostrophe, such as `l'` or `'s`, is a word if
the corpus has it, as are `n't`, and both parts of `can` + `not` if the corpus has no `cannot`.  Text in a script
without spaces is divided into the longest words that the corpus has, from left to right.

A sentence ends with `.`, `!`, `?`, `…` or their like if white space and no lower-case letter follow.  It does not end
with a single letter and a stop, nor with a word that the corpus has with its stop, such as `Mr.`.  In all cases a
sentence ends with the other characters of Unicode's property Sentence_Terminal, such as `。`, `।` and `؟`, unless they
stand between digits, and before an empty line.  Properties and clusters are those of the version of Unicode that the
package `regex` has.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import regex

__all__ = ["MARKS", "Token", "Tokenisation", "check_text", "clusters", "is_final"]

_PARAGRAPH_END = re.compile(r"\n[^\S\n]*\n")
_OPENING = "\"'`“‘„«‹([{"
_CLOSING = ")]}»›”’.,;:!?…"
_STOPS = ".!?…․‼‽⁇⁈⁉⸮⸼⹓⹔⹠⹡"  # of scripts with capitals, also within words and numbers
_ENDS = rf"[\p{{Sentence_Terminal}}--[{_STOPS}]]"  # these end sentences in all cases
_SENTENCE_END = (
    rf"[{_STOPS}]+[\"'”’»›)\]}}]*\s+(?=[{re.escape(_OPENING)}]*(\S))"
    rf"|{_ENDS}+(?!(?<=\d{_ENDS})\d)[”’»›」』）)\]}}]*(?:[\"'](?=\s|$))*\s*"
)
_KEYCAP = "\u20e3"
_LAST_WORD = re.compile(rf"[^\s{re.escape(_OPENING)}]+\.(?=\s)")
_INITIAL = re.compile(r"(?:\w\.)+")
_APOSTROPHE = re.compile(r"(?<=\w)[’'](?=\w)")
_NOT = re.compile(r"(?<=\w)(?:n[’']|(?<=can)no)t$", re.IGNORECASE)
_ENGLISH_PARTS = ("'s", "'d", "'m", "'ll", "'re", "'ve")  # words of a corpus that has `n't`, however small
_ADDRESS = re.compile(r"://|@|^www\.|\w\.\w+/", re.IGNORECASE)
# Marks within a word that divide it: they become words of their own, but for an amount such as `US$5`.
_INNER_MARK = re.compile(r"--+|[—–]|\.\.+|…|[\"“”„«»]|[,;:!?](?=[^\W\d])")
_CLOSED = re.compile(r"\w(?:\(\w*\)|\[\w*\]|\{\w*\})$")  # as in `tree(s)`
_AMOUNT = re.compile(r"(?<=[$£€¥])(?=\d)")
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Thai to Han
_UNKNOWN_PIECE = rf"(?:(?![{_UNSPACED}])\w\p{{M}}*)+|\X"
_ENOUGH = 20  # words that show whether a text is in the language of the corpus
_LONGEST = 20  # characters of the longest word that is looked for in a script without spaces
MARKS = (
    *(("-LRB-", "("), ("-RRB-", ")"), ("-LSB-", "["), ("-RSB-", "]"), ("-LCB-", "{"), ("-RCB-", "}")),
    *(("``", "“"), ("''", "”"), ("`", "‘"), ("...", "…"), ("--", "—", "–")),
)  # the spellings of one mark; treebanks write the first
_SPELLINGS = {other: marks[0] for marks in MARKS for other in marks[1:]}
# Parts of a line that a tokeniser would have divided, such as `growth,` and `didn't`; in the last one also `go.`
_UNTOKENISED = rf".*\w[,;!?]|\w+n['’]t|.*(?:{_ENDS}|[，、]).+|.+(?:{_ENDS}|[，、])|[{_UNSPACED}]{{8,}}"
_UNTOKENISED_LAST = re.compile(r".*\w\w\.")


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    """Compile a pattern when it is first used; `regex`, which knows the properties of Unicode, takes long to import."""
    import regex

    return regex.compile(pattern, regex.V1)


class Token(NamedTuple):
    """A word of a text.

    word: the word as the corpus writes it, such as `-LRB-`.
    form: the word as it stands in the text, such as `(`.
    first: the index of the first character of the word in the text.
    part: the number of the word within its token, from 1, if the token has several words; otherwise 0."""

    word: str
    form: str
    first: int
    part: int = 0

    @property
    def shown(self) -> str:
        """The word as a list of words shows it: as in the text, unless the text has several words in one."""
        return self.word if self.part else self.form

    @property
    def end(self) -> int:
        """The index after the last character of the word, or of the token that it is part of."""
        return self.first + len(self.form)


@dataclass(frozen=True, eq=False)
class Tokenisation:
    """The way to divide text into sentences and words, as the words of a corpus show it."""

    known: frozenset[str]

    def sentences(self, text: str) -> Iterator[list[Token]]:
        """Divide a text into sentences of at least one word."""
        check_text(text)
        for paragraph, end in _between(text, [match.end() for match in _PARAGRAPH_END.finditer(text)]):
            for first, last in self._sentence_spans(text[paragraph:end]):
                if tokens := self._tokens(text, paragraph + first, paragraph + last):
                    yield tokens

    def words(self, sentence: str) -> list[Token]:
        """Divide one sentence into words."""
        check_text(sentence)
        return self._tokens(sentence, 0, len(sentence))

    def is_raw(self, words: Sequence[str]) -> bool:
        """Tell whether a line is clearly text that was not tokenised, as words such as `growth,` and `didn't` show."""
        unknown = [word for word in words if not self._has(word)]
        if any(_compiled(_UNTOKENISED).fullmatch(word) for word in unknown):
            return True
        # The last of several words is unknown exactly if it is also the last unknown word.
        return words[-1:] == unknown[-1:] != [] and bool(_UNTOKENISED_LAST.fullmatch(words[-1]))

    def warns_of(self, sentences: Iterable[Sequence[str]]) -> str | None:
        """Return a warning if over half of the words of a text were never seen; None if there are too few to tell.

        Before there is a model, no words are known, and nothing can be told."""
        words = [word for sentence in sentences for word in sentence if word.isalpha()]
        unseen = sum(not self._has(word) for word in words)
        if not self.known or len(words) < _ENOUGH or 2 * unseen <= len(words):
            return None
        return f"{unseen} of {len(words)} words were never seen in training; is the text in the language of the model?"

    def _has(self, word: str) -> bool:
        """Tell whether the corpus has a word, in this spelling or in lower case."""
        return word in self.known or word.lower() in self.known

    def _sentence_spans(self, text: str) -> Iterable[tuple[int, int]]:
        """Find the first index and the end of each sentence of a paragraph."""
        ends = (match.end() for match in _compiled(_SENTENCE_END).finditer(text) if self._ends_sentence(text, match))
        return _between(text, list(ends))

    def _ends_sentence(self, text: str, stop: regex.Match[str]) -> bool:
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
        starts = []
        start = first
        forms = list(self._pieces(text[first:end]))
        for form in forms:
            while text[start].isspace():
                start += 1
            starts.append(start)
            start += len(form)
        has_space = [
            after > at + len(form) for form, (at, after) in zip(forms, pairwise([*starts, end + 1]), strict=True)
        ]
        return list(map(Token, self.spelt(forms, has_space), forms, starts))

    def spelt(self, forms: Sequence[str], has_space: Sequence[bool]) -> list[str]:
        """Write the words of a sentence as the corpus writes them, such as brackets and quotation marks."""
        words = []
        is_open = False  # whether a straight quotation mark waits for its partner
        for at, form in enumerate(forms):
            written = _SPELLINGS.get(form, form.replace("’", "'"))
            if form == '"':
                may_open = at == 0 or has_space[at - 1] or forms[at - 1][-1:] in _OPENING
                may_close = at == len(forms) - 1 or has_space[at] or forms[at + 1][:1] in _CLOSING
                is_open = not is_open if may_open == may_close else may_open
                written = "``" if is_open else "''"
            words.append(written if not self._has(form) and self._has(written) else form)
        return words

    def _pieces(self, text: str) -> Iterator[str]:
        """Divide a sentence into words."""
        parts = text.split()
        for number, word in enumerate(parts, start=1):
            closing: list[str] = []
            while word and _is_mark(mark := clusters(word)[0]) and not self._has(word):
                rest = re.sub(rf"^(?:{re.escape(mark)})+", "", word)
                yield word[: len(word) - len(rest)]
                word = rest
            while word and _is_mark(mark := clusters(word)[-1]) and not self._has(word):
                rest = re.sub(rf"(?:{re.escape(mark)})+$", "", word)
                is_inner = word[-1] == "." and word[-2:-1] != "." and number < len(parts)
                if rest and (is_inner or _CLOSED.search(word)):
                    break
                closing.append(word[len(rest) :])
                word = rest
            yield from self._inner_words(word)
            yield from reversed(closing)

    def _inner_words(self, word: str) -> Iterator[str]:
        """Divide a word without marks at its ends."""
        if _compiled(f"[{_UNSPACED}]").search(word):
            yield from [word] if self._has(word) else self._longest_words(word)
            return
        inside = set(range(1, len(word))) - _cluster_ends(word)
        pieces = [word[first:end] for first, end in _between(word, sorted(set(self._all_cuts(word)) - inside))]
        # A corpus may have a few words such as `it's` that are not divided, beside many that are.
        is_joined = _APOSTROPHE.search(word) and all(self._has(piece.replace("’", "'")) for piece in pieces)
        yield from pieces if is_joined or not self._has(word) else [word]

    def _all_cuts(self, word: str) -> Iterator[int]:
        """Find where a word is cut."""
        if _ADDRESS.search(word):
            return
        for mark in _INNER_MARK.finditer(word):
            yield from mark.span()
        yield from (cut.start() for cut in _AMOUNT.finditer(word))
        for cut in _NOT.finditer(word):
            if self._has(cut[0].replace("’", "'")):
                yield cut.start()
        for mark in _APOSTROPHE.finditer(word):
            yield from self._cuts(word, mark)

    def _cuts(self, word: str, mark: re.Match[str]) -> Iterator[int]:
        """Find where a word is cut at an apostrophe: after `l'`, or before `'s`."""
        if self._has(word[: mark.end()].replace("’", "'")):
            yield mark.end()
        else:
            part = word[mark.start() :].replace("’", "'")
            if self._has(part) or (part.lower() in _ENGLISH_PARTS and "n't" in self.known):
                yield mark.start()

    def _longest_words(self, text: str) -> Iterator[str]:
        """Divide text of a script without spaces into the longest words that the corpus has, from left to right."""
        first = 0
        whole = _cluster_ends(text)
        while first < len(text):
            ends = range(min(first + _LONGEST, len(text)), first, -1)
            end = next((end for end in ends if end in whole and text[first:end] in self.known), None)
            if end is None:
                end = first + len(_compiled(_UNKNOWN_PIECE).match(text, first)[0])
            yield text[first:end]
            first = end


def check_text(text: object) -> None:
    """Raise TypeError for anything but a string."""
    if not isinstance(text, str):
        raise TypeError(f"a raw text is a string, not {text!r:.60}; words that are divided need no tokenisation")


def is_final(character: str) -> bool:
    """Tell whether a character ends a sentence."""
    return _compiled(r"[\p{Sentence_Terminal}…]").match(character) is not None


def clusters(text: str) -> list[str]:
    """List the characters of a text as readers count them: Unicode's extended grapheme clusters."""
    return list(text) if text.isascii() else _compiled(r"\X").findall(text)


def _cluster_ends(text: str) -> set[int]:
    """List where the clusters of a text end."""
    return set(accumulate(map(len, clusters(text))))


def _is_mark(cluster: str) -> bool:
    """Tell whether a cluster is a punctuation mark or a symbol."""
    return unicodedata.category(cluster[0])[0] in "PS" or _KEYCAP in cluster


def _between(text: str, ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """List the parts of a text that lie between the given ends, without empty parts."""
    return ((first, end) for first, end in pairwise([0, *ends, len(text)]) if first < end)
