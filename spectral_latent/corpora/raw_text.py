"""Find the raw text of a treebank, and the places of its tokens, by the comments of CoNLL-U."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from spectral_latent.corpora.conllu import comment_value
from spectral_latent.dependency import DependencySentence


class DividedText(NamedTuple):
    """A text with its tokens.

    text: the text, in which an empty line ends a paragraph.
    tokens: the first character and the end of each token, and its words.
    last: the index of the last token of each sentence."""

    text: str
    tokens: list[tuple[int, int, tuple[str, ...]]]
    last: list[int]


def has_text(sentence: DependencySentence) -> bool:
    """Tell whether the comment `text` of a sentence has all its tokens, and nothing else but white space."""
    return _places_of(sentence) is not None


def divided_texts(sentences: Sequence[DependencySentence], most: int | None = None) -> list[DividedText]:
    """Make the paragraphs of a treebank, as the comments `text`, `newpar` and `newdoc` have them.

    Sentences are joined by a space if most tokens are followed by one.  The text of a sentence whose comments do not
    have it is its tokens with spaces between them.

    most: the largest number of sentences of a paragraph; None for any number."""
    found = [_places_of(each) or _places_of(_with_text(each)) or ("", []) for each in sentences]
    spaces = [one[1] < other[0] for _, tokens in found for one, other in pairwise(tokens)]
    between = " " if 2 * sum(spaces) >= len(spaces) else ""
    paragraphs: list[DividedText] = []
    for sentence, (text, tokens) in zip(sentences, found, strict=True):
        opens = any(comment.startswith(("newpar", "newdoc")) for comment in sentence.comments)
        if opens or not paragraphs or len(paragraphs[-1].last) == most:
            paragraphs.append(DividedText("", [], []))
        before, placed, last = paragraphs[-1]
        start = before + between if before else ""
        placed += [(len(start) + first, len(start) + end, words) for first, end, words in tokens]
        last.append(len(placed) - 1)
        paragraphs[-1] = DividedText(start + text, placed, last)
    return paragraphs


def _places_of(sentence: DependencySentence) -> tuple[str, list[tuple[int, int, tuple[str, ...]]]] | None:
    """Find the text of a sentence, and the places of its tokens in it; None if the text does not have them."""
    text = comment_value(sentence, "text") or ""
    tokens = []
    place = 0
    for form, words in _tokens_of(sentence):
        first = text.find(form, place)
        if first < 0 or text[place:first].strip():
            return None
        place = first + len(form)
        tokens.append((first, place, words))
    return None if text[place:].strip() or not tokens else (text, tokens)


def _tokens_of(sentence: DependencySentence) -> Iterator[tuple[str, tuple[str, ...]]]:
    """List the tokens of a sentence with their words."""
    ranges = {first: (last, form) for first, last, form in sentence.ranges}
    word = 1
    while word <= len(sentence.forms):
        last, form = ranges.get(word, (word, sentence.forms[word - 1]))
        yield form, sentence.forms[word - 1 : last]
        word = last + 1


def _with_text(sentence: DependencySentence) -> DependencySentence:
    """Give a sentence the text of its tokens with spaces between them."""
    return sentence._replace(comments=(f"text = {' '.join(form for form, _ in _tokens_of(sentence))}",))
