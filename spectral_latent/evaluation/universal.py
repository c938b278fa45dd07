"""Score the division of text and all columns as the CoNLL 2018 shared task did (Zeman et al. 2018, section 4).

Tokens, sentences and words are compared by their places among the characters that are not white space.  Columns are
compared for words that are aligned: those with the same place; within a token of several words, on either side, the
longest common subsequence of the words.

`las_universal` is the LAS of the task, in which relations count without their subtypes, the part from a colon on;
`las` compares whole relations.  Features count only if they are universal.  CLAS, MLAS and BLEX count words with
content relations, without subtypes; MLAS also asks for the tags and features of a word and of its function words, BLEX
for its lemma.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from spectral_latent.dependency import DependencySentence

_CONTENT = """nsubj obj iobj csubj ccomp xcomp obl vocative expl dislocated advcl advmod discourse nmod appos nummod acl
    amod conj fixed flat compound list parataxis orphan goeswith reparandum root dep"""
_FUNCTION = "aux cop mark det clf case cc"
_FEATURES = """PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree VerbForm Mood Tense
    Aspect Voice Evident Polarity Person Polite"""
_CONTENT_RELATIONS, _FUNCTION_RELATIONS, _UNIVERSAL = map(frozenset, map(str.split, (_CONTENT, _FUNCTION, _FEATURES)))


_ROOT, _UNALIGNED = -1, -2  # in place of the numbers of gold words
_Function = tuple[int, str, str, str]


class _Word(NamedTuple):
    """What counts of a word: its place, its columns, and the function words below it with their numbers."""

    form: str
    first: int
    end: int
    is_part: bool
    upos: str
    xpos: str
    features: str
    lemma: str
    head: int
    relation: str
    whole_relation: str
    functions: tuple[_Function, ...]


class _Document(NamedTuple):
    """The words of a text, numbered from 0, and the places of its tokens and sentences."""

    characters: str
    tokens: set[tuple[int, int]]
    sentences: set[tuple[int, int]]
    words: list[_Word]


def _read(sentences: Iterable[DependencySentence]) -> _Document:
    """Find the places of all words, and number their heads."""
    found = _Document("", set(), set(), [])
    characters: list[str] = []
    place = 0
    for sentence in sentences:
        opens = place
        before = len(found.words)
        heads = sentence.heads or ()
        ranges = {first: (last, form) for first, last, form in sentence.ranges}
        relations = [name.partition(":")[0] for name in sentence.relations]
        features = [
            "|".join(each for each in sorted(column.split("|")) if each.partition("=")[0] in _UNIVERSAL)
            for column in sentence.feats
        ]
        functions: list[list[_Function]] = [[] for _ in range(len(heads) + 1)]
        for word, head in enumerate(heads):
            if head and relations[word] in _FUNCTION_RELATIONS:
                functions[head].append((before + word, relations[word], sentence.upos[word], features[word]))
        last = 0  # of the words of the latest token
        first = 0
        for word, head in enumerate(heads, start=1):
            if word > last:
                last, form = ranges.get(word, (word, sentence.forms[word - 1]))
                first = place
                characters.append("".join(form.split()))
                place += len(characters[-1])
                is_part = word in ranges
                found.tokens.add((first, place))
            at = word - 1
            found.words.append(
                _Word(
                    sentence.forms[at].lower(),
                    *(first, place, is_part),
                    *(sentence.upos[at], sentence.xpos[at], features[at], sentence.lemmas[at]),
                    *(before + head - 1 if head else _ROOT, relations[at], sentence.relations[at]),
                    tuple(functions[word]),
                )
            )
        found.sentences.add((opens, place))
    return found._replace(characters="".join(characters))


def _align(gold: Sequence[_Word], found: Sequence[_Word]) -> list[tuple[int, int]]:
    """Pair the numbers of gold words with those of the same words of another division of the text."""
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(gold) and j < len(found):
        one, other = gold[i], found[j]
        if one.is_part or other.is_part:
            # Collect the words up to an end that no token of several words crosses, on either side.
            if not other.is_part and other.first < one.first:
                j += 1
            elif not one.is_part and one.first < other.first:
                i += 1
            begin = i, j
            end = one.end if one.is_part else other.end
            while True:
                next_gold, next_found = _starts_before(gold, i, end), _starts_before(found, j, end)
                if not (next_gold or next_found):
                    break
                if i < len(gold) and (j == len(found) or gold[i].first <= found[j].first):
                    end = max(end, gold[i].end) if gold[i].is_part else end
                    i += 1
                else:
                    end = max(end, found[j].end) if found[j].is_part else end
                    j += 1
            pairs += [(begin[0] + at, begin[1] + to) for at, to in _common(gold[begin[0] : i], found[begin[1] : j])]
        elif one[1:3] == other[1:3]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif one.first <= other.first:
            i += 1
        else:
            j += 1
    return pairs


def _starts_before(words: Sequence[_Word], at: int, end: int) -> bool:
    """Tell whether a word belongs to a part of the text up to an end: it begins before, or it does not go beyond."""
    return at < len(words) and (words[at].first < end if words[at].is_part else words[at].end <= end)


def _common(one: Sequence[_Word], other: Sequence[_Word]) -> list[tuple[int, int]]:
    """Find a longest common subsequence of words by their forms."""
    length = np.zeros((len(one) + 1, len(other) + 1), dtype=np.int64)  # of what begins at each pair
    for i in reversed(range(len(one))):
        for j in reversed(range(len(other))):
            is_equal = one[i].form == other[j].form
            length[i, j] = length[i + 1, j + 1] + 1 if is_equal else max(length[i + 1, j], length[i, j + 1])
    pairs = []
    i = j = 0
    while i < len(one) and j < len(other):
        if one[i].form == other[j].form:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif length[i, j] == length[i + 1, j]:
            i += 1
        else:
            j += 1
    return pairs


_METRICS: dict[str, tuple[Callable[[_Word], object], bool]] = {  # what must be the same, and whether of content alone
    "words_f1": (lambda _: True, False),
    "upos": (lambda word: word.upos, False),
    "xpos": (lambda word: word.xpos, False),
    "ufeats": (lambda word: word.features, False),
    "alltags": (lambda word: (word.upos, word.xpos, word.features), False),
    "lemmas": (lambda word: word.lemma, False),
    "uas": (lambda word: word.head, False),
    "las": (lambda word: (word.head, word.whole_relation), False),
    "las_universal": (lambda word: (word.head, word.relation), False),
    "clas": (lambda word: (word.head, word.relation), True),
    "mlas": (lambda word: (word.head, word.relation, word.upos, word.features, word.functions), True),
    "blex": (lambda word: (word.head, word.relation, word.lemma), True),
}


def score_columns(gold: Iterable[DependencySentence], predicted: Iterable[DependencySentence]) -> dict[str, float]:
    """Compute F1 in percent of each metric, from tokens to BLEX; 0 if there is nothing that counts.

    predicted: trees of the same text, which may be divided into other sentences and words.

    Raises ValueError if the texts differ in other characters than white space.

    >>> words = DependencySentence.of(["Dogs", "bark"], ["NOUN", "VERB"]).with_heads((2, 0), ("nsubj", "root"))
    >>> scores = score_columns([words], [words.with_heads((2, 0), ("nsubj:pass", "root"))])
    >>> scores["uas"], scores["las"], scores["las_universal"]
    (100.0, 50.0, 100.0)
    """
    one, other = _read(gold), _read(predicted)
    if one.characters != other.characters:
        place = next(at for at, pair in enumerate(zip_longest(one.characters, other.characters)) if len(set(pair)) > 1)
        texts = " and ".join(repr(each.characters[max(place - 10, 0) : place + 10]) for each in (one, other))
        raise ValueError(f"the texts of gold and prediction differ: {texts}; parse the text of the gold trees")
    pairs = _align(one.words, other.words)
    gold_of = {found: number for number, found in pairs} | {_ROOT: _ROOT}
    aligned = []
    for number, found in pairs:
        word, same = one.words[number], other.words[found]
        # Number the words around the other word as the gold words are numbered; without a gold lemma, any is right.
        functions = tuple((gold_of.get(each[0], _UNALIGNED), *each[1:]) for each in same.functions)
        lemma = word.lemma if word.lemma == "_" else same.lemma
        head = gold_of.get(same.head, _UNALIGNED)
        aligned.append((word, same._replace(head=head, functions=functions, lemma=lemma)))
    scores = {
        "tokens_f1": _f1(len(one.tokens & other.tokens), len(one.tokens), len(other.tokens)),
        "sentences_f1": _f1(len(one.sentences & other.sentences), len(one.sentences), len(other.sentences)),
    }
    for name, (value, is_of_content) in _METRICS.items():
        counted = [
            [not is_of_content or word.relation in _CONTENT_RELATIONS for word in words]
            for words in (one.words, other.words, [word for word, _ in aligned])
        ]
        right = sum(
            counts and value(word) == value(same) for counts, (word, same) in zip(counted[2], aligned, strict=True)
        )
        scores[name] = _f1(right, sum(counted[0]), sum(counted[1]))
    return scores


def _f1(right: int, gold: int, predicted: int) -> float:
    """Compute F1 in percent; 0 if there is nothing."""
    return 200.0 * right / (gold + predicted) if gold + predicted else 0.0
