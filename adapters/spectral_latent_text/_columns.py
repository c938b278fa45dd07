"""Learn what a pipeline finds before it parses, sentences and words, tags, features and lemmas, and fill columns.

A pipeline's parser learns from columns as taggers predict them.  For training, each part of the treebank is tagged by
models of the other parts, so that its mistakes are those of new text.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from spectral_latent.dependency import BLANK, DependencySentence
from spectral_latent.estimation import Listener, Progress, silent
from spectral_latent.model import Partial
from spectral_latent.sequence import LatentTagger, TaggerOptions, preset, train_and_tag
from spectral_latent.trees import FloatArray, IntArray
from spectral_latent_text._lemmas import Lemmatiser
from spectral_latent_text._segmentation import Segmenter

COLUMNS = ("upos", "xpos", "feats")  # the columns that taggers may predict
_MOST_VALUES = 400  # of a column that a tagger learns
_LEAST_EXPECTED = 3e-3  # of pairs of a word and its features
_LEAST = 1e-3  # ε, which is added to posteriors
_PARAGRAPH = 20  # sentences of a text to learn from, if the treebank marks no paragraphs


def learn_columns(
    sentences: Sequence[DependencySentence],
    options: TaggerOptions | None = None,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> tuple[tuple[LatentTagger, ...], list[DependencySentence]]:
    """Learn a tagger of each column of tags or features that has more than one value; columns that are equal share one.

    Also returns the sentences with these columns as models of other sentences predict them.  A sentence with a word
    that lacks a tag is not learnt from, and a warning counts these sentences."""
    options = preset("accurate") if options is None else options
    taggers: dict[tuple[tuple[str, ...], ...], LatentTagger] = {}
    anew = list(sentences)
    for number, column in enumerate(COLUMNS, start=1):
        rows = tuple(_column(each, column) for each in sentences)
        n_values = len({value for values in rows for value in values})
        if n_values < 2:
            continue
        whole = [at for at, values in enumerate(rows) if column == "feats" or BLANK not in values]
        if lacking := len(rows) - len(whole):
            warnings.warn(
                f"{lacking} of {len(rows)} sentences lack the tag of a word in the column {column}; the tagger of this "
                f"column learns from the others",
                stacklevel=2,
            )
        if rows in taggers:
            tagger = replace(taggers[rows], tagset=f"{taggers[rows].tagset} {column}")
            values = [_column(each, str(taggers[rows].tagset)) for each in anew]
        elif whole:
            listener(Progress(f"tagger of {column.upper()}, {n_values} values,", number, len(COLUMNS)))
            learnable = _with_frequent_values([rows[at] for at in whole], column)
            pairs = [list(zip(sentences[at].forms, row, strict=True)) for at, row in zip(whole, learnable, strict=True)]
            settings = _for_features(options) if column == "feats" else options
            learnt, tags = train_and_tag(pairs, settings, jobs=jobs, listener=listener)
            tagger = replace(learnt, tagset=column)
            found = dict(zip(whole, map(tuple, tags), strict=True))
            others = tagger.tag_all([each.forms for at, each in enumerate(sentences) if at not in found])
            values = [tuple(map(str, found[at] if at in found else next(others))) for at in range(len(rows))]
        else:
            continue
        taggers[rows] = tagger
        anew = [_with_column(each, column, tags) for each, tags in zip(anew, values, strict=True)]
    return tuple(taggers.values()), anew


def _for_features(options: TaggerOptions) -> TaggerOptions:
    """Change the options of a tagger for hundreds of sets of features, which divide parts of speech as states would."""
    lexicon = replace(options.lexicon, min_expected=max(options.lexicon.min_expected, _LEAST_EXPECTED))
    return replace(options, estimator=options.estimator.with_settings(n_states=1), lexicon=lexicon, compact=True)


def _with_frequent_values(rows: Sequence[tuple[str, ...]], column: str) -> list[tuple[str, ...]]:
    """Replace the rarest values of a column by frequent ones that share most of their parts, if it has too many.

    The time and the memory of training grow with the square of the number of values."""
    times = Counter(value for row in rows for value in row)
    if len(times) <= _MOST_VALUES:
        return list(rows)
    frequent = [value for value, _ in times.most_common(_MOST_VALUES)]
    parts = [frozenset(value.split("|")) for value in frequent]
    stands_for: dict[str, str] = {}
    for value in times:
        own = frozenset(value.split("|"))
        shares = [len(own & other) / len(own | other) for other in parts]
        stands_for[value] = frequent[shares.index(max(shares))]
    rare = sum(n for value, n in times.items() if stands_for[value] != value)
    warnings.warn(
        f"the column {column} has {len(times)} values; the tagger learns the {_MOST_VALUES} most frequent ones, and in "
        f"place of the others, of {100 * rare / times.total():.1f} % of the words, the most similar of these",
        stacklevel=3,
    )
    return [tuple(map(stands_for.__getitem__, row)) for row in rows]


def count_readings(sentences: Sequence[DependencySentence], taggers: Sequence[LatentTagger]) -> IntArray | None:
    """List the tags that words have together: the number of the tag of each of C taggers, and how often, (R, C + 1).

    Words with a tag that its tagger lacks are left out.  None if there are no others."""
    rows: list[list[int]] = []
    for tagger in taggers:
        number = {tag: number for number, tag in enumerate(tagger.tags)}
        column = str(tagger.tagset).split()[0]
        rows.append([number.get(tag, -1) for each in sentences for tag in _column(each, column)])
    whole = [reading for reading in zip(*rows, strict=True) if -1 not in reading]
    return np.column_stack(np.unique(whole, axis=0, return_counts=True)) if whole else None


def best_readings(readings: IntArray, posteriors: Sequence[FloatArray]) -> IntArray:
    """Find the tags (C, N) of each word with the largest Π (p + ε) · (n / Π n_tag)^½, where p are posteriors.

    readings: (R, C + 1) the tags that words have together, and how often, n; their tags have the sums n_tag.
    posteriors: (N, K) for each tagger."""
    *columns, times = readings.T
    score: FloatArray = np.log(times) / 2
    for column, of_tags in zip(columns, posteriors, strict=True):
        of_tag = np.bincount(column, times)[column]
        score = score + np.log(of_tags + _LEAST)[:, column] - np.log(of_tag) / 2
    return np.stack(columns)[:, score.argmax(axis=1)]


def with_columns(
    sentences: Sequence[DependencySentence], taggers: Sequence[LatentTagger], readings: IntArray | None
) -> list[DependencySentence]:
    """Tag the words without a tag, and predict the features of sentences in which no word has any.

    readings: the tags that words may have together; None for any."""
    found = list(sentences)
    columns = [str(tagger.tagset).split() for tagger in taggers]
    names = [name for of_tagger in columns for name in of_tagger]
    lacking = [at for at, each in enumerate(found) if any(_lacks(_column(each, name), name) for name in names)]
    if not lacking:
        return found
    some = [found[at] for at in lacking]
    posteriors = [_posteriors(tagger, of_tagger[0], some) for tagger, of_tagger in zip(taggers, columns, strict=True)]
    if readings is None:
        numbers = np.stack([each.argmax(axis=1) for each in posteriors])
    else:
        numbers = best_readings(readings, posteriors)
    for tagger, of_tagger, row in zip(taggers, columns, numbers.tolist(), strict=True):
        tags = iter([str(tagger.tags[number]) for number in row])
        for at in lacking:
            new = list(islice(tags, len(found[at].forms)))
            for column in of_tagger:
                old = _column(found[at], column)
                if _lacks(old, column):
                    filled = (other if tag == BLANK else tag for tag, other in zip(old, new, strict=True))
                    found[at] = _with_column(found[at], column, tuple(filled))
    return found


def _posteriors(tagger: LatentTagger, column: str, sentences: Sequence[DependencySentence]) -> FloatArray:
    """Compute the posteriors (N, K) of the tags of words, under the tags that sentences have."""
    names = set(tagger.tags)
    given: list[Partial[Sequence[str], Any]] = []
    for each in sentences:
        tags = _column(each, column)
        fixed = names - {BLANK} if _lacks(tags, column) else names
        known = [tag if tag in fixed else None for tag in tags]
        given.append(Partial(each.forms, known if any(known) else None))
    parts = tagger.analyse(given).judged
    before = np.cumsum([-1, *(len(each.forms) for each in sentences)])
    posteriors = np.zeros((before[-1] + 1, len(tagger.tags)))
    posteriors[before[parts.sentence] + parts.begin, parts.label] = parts.posterior
    return posteriors


def _column(sentence: DependencySentence, column: str) -> tuple[str, ...]:
    """Take a column of a sentence."""
    values: tuple[str, ...] = getattr(sentence, column)
    return values


def _with_column(sentence: DependencySentence, column: str, values: tuple[str, ...]) -> DependencySentence:
    """Replace a column of a sentence."""
    columns: dict[str, Any] = {column: values}
    return sentence._replace(**columns)


def _lacks(values: Sequence[str], column: str) -> bool:
    """Tell whether a sentence lacks values in a column; features are lacking if no word has any."""
    return set(values) == {BLANK} if column == "feats" else BLANK in values


def learn_lemmas(sentences: Sequence[DependencySentence]) -> Lemmatiser | None:
    """Learn lemmas from the words that have one; None if no word has a lemma."""
    words = [
        word
        for each in sentences
        if set(each.lemmas) != {BLANK}
        for word in zip(each.forms, each.upos, each.feats, each.lemmas, strict=True)
    ]
    return Lemmatiser.train(words) if words else None


def learn_segmenter(sentences: Sequence[DependencySentence]) -> Segmenter | None:
    """Learn to divide raw text from the comments `text` of a treebank; None, with a warning, if no sentence has one.

    Sentences whose text does not have their tokens are left out, and a warning counts them."""
    from spectral_latent.corpora import divided_texts, has_text

    placed = list(filter(has_text, sentences))
    if not placed:
        warnings.warn(
            "no sentence has a comment `# text = ...` with its tokens; raw text will be divided by rules", stacklevel=2
        )
        return None
    if lacking := len(sentences) - len(placed):
        warnings.warn(
            f"{lacking} of {len(sentences)} sentences have no comment `# text = ...` with their tokens; the division "
            f"of raw text is learnt from the others",
            stacklevel=2,
        )
    return Segmenter.train(divided_texts(placed, _PARAGRAPH))
