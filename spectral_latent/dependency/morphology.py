"""Predict what a parser of raw text sees: sentences, words, tags, morphological features and lemmas.

A parser of raw text learns from columns as taggers predict them.  For training, each part of the treebank is tagged by
taggers of the other parts, so that its mistakes are those of new text.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from spectral_latent._options import counted
from spectral_latent.dependency.tree import BLANK, DependencySentence
from spectral_latent.estimation import Listener, silent
from spectral_latent.lexicon.lemmas import Lemmatiser
from spectral_latent.lexicon.segmentation import DividedText, Segmenter
from spectral_latent.model.parts import jackknife
from spectral_latent.sequence import LatentTagger, TaggerOptions
from spectral_latent.sequence import preset as tagger_preset

__all__ = [
    "COLUMNS",
    "divided_texts",
    "learn_lemmas",
    "learn_segmenter",
    "learn_taggers",
    "tag_anew",
    "with_columns",
]

COLUMNS = ("upos", "xpos", "feats")  # the columns that taggers may predict
_PARAGRAPH = 20  # sentences of a text to learn from, if the treebank marks no paragraphs
_FOLDS = 4  # the parts of a treebank that are tagged by taggers of the other parts


def learn_taggers(
    sentences: Sequence[DependencySentence],
    options: TaggerOptions | None = None,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[LatentTagger, ...]:
    """Learn a tagger of each column of tags or features that has more than one value.

    A sentence with a word that lacks a tag is left out, and a warning counts these sentences.

    sentences: the sentences of a treebank.
    options: the settings of the taggers; None for those of the preset `accurate`.
    """
    options = tagger_preset("accurate") if options is None else options
    taggers = []
    for column in COLUMNS:
        rows = [(each.forms, getattr(each, column)) for each in sentences]
        if len({value for _, values in rows for value in values}) < 2:
            continue
        whole = [(forms, values) for forms, values in rows if column == "feats" or BLANK not in values]
        if lacking := len(rows) - len(whole):
            warnings.warn(
                f"{counted(lacking, 'sentence')} of {len(rows)} lack the tag of a word in the column {column}; the "
                f"tagger of this column learns from the others",
                stacklevel=2,
            )
        if whole:
            pairs = [list(zip(forms, values, strict=True)) for forms, values in whole]
            tagger = LatentTagger.train(pairs, options, jobs=jobs, listener=listener)
            taggers.append(replace(tagger, tagset=column))
    return tuple(taggers)


def with_columns(sentences: Sequence[DependencySentence], taggers: Sequence[LatentTagger]) -> list[DependencySentence]:
    """Tag the words without a tag, and predict the features of sentences in which no word has any.

    sentences: the sentences.
    taggers: taggers, whose `tagset` is the name of their column.
    """
    found = list(sentences)
    for tagger in taggers:
        column = str(tagger.tagset)
        lacking = [at for at, each in enumerate(found) if _lacks(getattr(each, column), column)]
        for at, tags in zip(lacking, tagger.tag_all([found[at].forms for at in lacking]), strict=True):
            old: tuple[str, ...] = getattr(found[at], column)
            filled = tuple(str(new) if tag == BLANK else tag for tag, new in zip(old, tags, strict=True))
            found[at] = _replaced(found[at], column, filled)
    return found


def _replaced(sentence: DependencySentence, column: str, values: tuple[str, ...]) -> DependencySentence:
    """Replace a column of a sentence."""
    columns: dict[str, Any] = {column: values}
    return sentence._replace(**columns)


def _lacks(values: Sequence[str], column: str) -> bool:
    """Tell whether a sentence lacks values in a column; features are lacking if no word has any."""
    return set(values) == {BLANK} if column == "feats" else BLANK in values


def tag_anew(
    sentences: Sequence[DependencySentence], *, jobs: int | None = 1, listener: Listener = silent
) -> list[DependencySentence]:
    """Replace the tags and features of each sentence by those that taggers of other sentences predict.

    sentences: the sentences of a treebank.
    """
    options = tagger_preset("fast")
    found: dict[int, DependencySentence] = {}

    def learn(numbers: list[int], _weights: list[float]) -> tuple[LatentTagger, ...]:
        """Learn the taggers of some sentences."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the taggers of all sentences warn
            return learn_taggers([sentences[number] for number in numbers], options, jobs=jobs)

    for taggers, numbers, _ in jackknife([(number, 1.0) for number in range(len(sentences))], _FOLDS, learn, listener):
        blank = [sentences[number] for number in numbers]
        for tagger in taggers:
            blank = [_replaced(each, str(tagger.tagset), (BLANK,) * len(each.forms)) for each in blank]
        found |= zip(numbers, with_columns(blank, taggers), strict=True)
    return [found.get(number, sentence) for number, sentence in enumerate(sentences)]


def learn_lemmas(sentences: Sequence[DependencySentence]) -> Lemmatiser | None:
    """Learn lemmas from the words that have one; None if no word has a lemma.

    sentences: the sentences of a treebank.
    """
    words = [
        word
        for each in sentences
        if set(each.lemmas) != {BLANK}
        for word in zip(each.forms, each.upos, each.feats, each.lemmas, strict=True)
    ]
    return Lemmatiser.train(words) if words else None


def learn_segmenter(sentences: Sequence[DependencySentence]) -> Segmenter | None:
    """Learn to divide raw text from the comments `text` of a treebank; None, with a warning, if no sentence has one.

    Sentences whose text does not have their tokens are left out, and a warning counts them.

    sentences: the sentences of a treebank, in the order of the texts.
    """
    placed = [each for each in sentences if _places_of(each) is not None]
    if not placed:
        warnings.warn(
            "no sentence has a comment `# text = ...` with its tokens; raw text will be divided by rules", stacklevel=2
        )
        return None
    if lacking := len(sentences) - len(placed):
        warnings.warn(
            f"{counted(lacking, 'sentence')} of {len(sentences)} have no comment `# text = ...` with their tokens; the "
            f"division of raw text is learnt from the others",
            stacklevel=2,
        )
    return Segmenter.train(divided_texts(placed, _PARAGRAPH))


def divided_texts(sentences: Sequence[DependencySentence], most: int | None = None) -> list[DividedText]:
    """Make the paragraphs of a treebank, as the comments `text`, `newpar` and `newdoc` have them.

    Sentences are joined by a space if most tokens are followed by one.  The text of a sentence whose comments do not
    have it is its tokens with spaces between them.

    sentences: the sentences, in the order of the texts.
    most: the largest number of sentences of a paragraph; None for any number.

    >>> one = DependencySentence.of(["Dogs", "bark", "."])._replace(comments=("newpar", "text = Dogs bark."))
    >>> divided_texts([one, one._replace(comments=())])[0].text
    'Dogs bark. Dogs bark .'
    """
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
    named = (comment.partition("=") for comment in sentence.comments)
    text = next((value.strip() for name, _, value in named if name.strip() == "text"), "")
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
