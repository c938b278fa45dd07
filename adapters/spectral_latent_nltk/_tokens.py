"""Checks of the sentences that NLTK's users give, and the base of taggers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from nltk.tag.sequential import SequentialBackoffTagger

from spectral_latent.tokenisation import Tokenisation

__all__ = ["BatchTagger", "Tag", "each", "pairs_of", "text_of", "texts_of", "tokens_of", "words_of"]

Tag = Hashable
_CHUNK = 1000  # sentences that are read before they are tagged together


def tokens_of(sentence: Iterable[str]) -> list[str]:
    """List the tokens of a sentence.  Raises TypeError for a string, and for a token that is not a string.

    sentence: tokens.

    >>> tokens_of(token for token in ("It", "rains"))
    ['It', 'rains']
    """
    if isinstance(sentence, str):
        raise TypeError(
            f"expected a list of tokens, got the string {sentence!r:.60}; split it, as nltk.word_tokenize does, or "
            f"call parse_text or raw_parse of a parser"
        )
    tokens = list(sentence)
    for token in tokens:
        if not isinstance(token, str):
            raise TypeError(f"expected tokens that are strings, got {token!r:.60}; give the words alone, without tags")
    return tokens


def text_of(text: str) -> str:
    """Return a raw text.  Raises TypeError for anything but a string.

    >>> text_of("It rains.")
    'It rains.'
    """
    if not isinstance(text, str):
        raise TypeError(f"expected a string of raw text, got {text!r:.60}; for a list of tokens, call parse")
    return text


def texts_of(sentences: Iterable[str]) -> Iterable[str]:
    """Return the raw texts of sentences.  Raises TypeError for a single string.

    >>> texts_of(["It rains."])
    ['It rains.']
    """
    if isinstance(sentences, str | bytes):
        raise TypeError(f"expected an iterable of sentences, got {sentences!r:.60}; for a text, call parse_text")
    return sentences


def words_of(tokenisation: Tokenisation, sentence: str) -> list[str]:
    """Divide a sentence of raw text into words.

    >>> words_of(Tokenisation(frozenset()), "It rains.")
    ['It', 'rains', '.']
    """
    return [token.word for token in tokenisation.words(text_of(sentence))]


def pairs_of(sentence: Iterable[tuple[str, Tag]]) -> list[tuple[str, Tag]]:
    """List the tokens of a sentence with their tags.  Raises TypeError for anything but pairs of a word and a tag.

    sentence: pairs of a word and its tag.

    >>> pairs_of([("It", "PRP"), ["rains", None]])
    [('It', 'PRP'), ('rains', None)]
    """
    if isinstance(sentence, str | bytes):
        raise TypeError(f"expected a list of pairs of a word and its tag, got {sentence!r:.60}")
    pairs = list(sentence)
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError(f"expected pairs of a word and its tag, got {pair!r:.60}")
        try:
            hash(pair[1])
        except TypeError:
            raise TypeError(f"expected a tag that can be hashed, got {pair[1]!r:.60}") from None
    return [(word, tag) for word, tag in pairs]


def each(sentences: Iterable[Any], read: Callable[[Any], list[Any]]) -> Iterator[list[Any]]:
    """Read sentences one by one.  Raises TypeError with the number of the sentence that `read` refuses.

    sentences: the sentences.
    read: the function that reads one of them.

    >>> list(each([["It", "rains"]], tokens_of))
    [['It', 'rains']]
    """
    if isinstance(sentences, str | bytes):
        raise TypeError(f"expected an iterable of sentences, got {sentences!r:.60}")
    for number, sentence in enumerate(sentences, start=1):
        try:
            yield read(sentence)
        except TypeError as error:
            raise TypeError(f"sentence {number}: {error}") from None


class BatchTagger(SequentialBackoffTagger):
    """NLTK's `TaggerI` over a model that tags many sentences together; it may be the last of a chain of taggers.

    A tagger of NLTK's with `backoff=` asks this one for the tags that it does not know itself.  This one knows a tag
    for every token, so that it needs no other behind it.
    """

    _latest: tuple[list[str], list[Any]] = ([], [])  # the sentence that was tagged last for a chain, and its tags

    @property
    def _taggers(self) -> list[SequentialBackoffTagger]:
        """The chain of taggers that begins here, as NLTK's taggers ask for it."""
        return [self]

    def choose_tag(self, tokens: Sequence[str], index: int, history: Sequence[Any]) -> Any:
        """Find the tag of one token of a sentence, given the whole sentence.

        tokens: the tokens of the sentence.
        index: the place of the token, from 0.
        history: the tags of the tokens before it, which are not looked at.
        """
        latest, tags = self._latest
        if latest != list(tokens):
            tags = [tag for _, tag in self.tag(tokens)]
            self._latest = (list(tokens), tags)  # one assignment, so that threads never see half of it
        return tags[index]

    @abstractmethod
    def _tags_of(self, sentences: list[list[str]]) -> Iterable[Iterable[Any]]:
        """Find the tags of each sentence."""

    def tag(self, tokens: Iterable[str]) -> list[tuple[str, Any]]:
        """Find the likeliest tag of each token, given the whole sentence, and return the tokens with their tags.

        tokens: the tokens of a sentence.

        Raises TypeError for a sentence that is not made of strings.
        """
        return self.tag_sents([tokens])[0]

    def tag_sents(self, sentences: Iterable[Iterable[str]]) -> list[list[tuple[str, Any]]]:
        """Tag sentences as `tag` does, but many together, which is faster.

        sentences: any iterable, read once; each sentence is a list of tokens.

        Raises TypeError at the first sentence that is not made of strings; what follows it is not read.
        """
        return list(self._tagged(map(tokens_of, sentences)))

    def _tagged(self, sentences: Iterator[list[str]]) -> Iterator[list[tuple[str, Any]]]:
        while chunk := list(islice(sentences, _CHUNK)):
            for tokens, tags in zip(chunk, self._tags_of(chunk), strict=True):
                yield list(zip(tokens, tags, strict=True))
