"""Score all columns of CoNLL-U as the CoNLL 2018 shared task did (Zeman et al. 2018, section 4), on gold words.

Relations count without their subtypes, and features only if they are universal.  CLAS, MLAS and BLEX count words with
content relations; MLAS also asks for the tags and features of a word and of its function words, BLEX for its lemma.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from spectral_latent.dependency import DependencySentence

__all__ = ["score_columns"]

_CONTENT = """nsubj obj iobj csubj ccomp xcomp obl vocative expl dislocated advcl advmod discourse nmod appos nummod acl
    amod conj fixed flat compound list parataxis orphan goeswith reparandum root dep"""
_FUNCTION = "aux cop mark det clf case cc"
_FEATURES = """PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree VerbForm Mood Tense
    Aspect Voice Evident Polarity Person Polite"""
_CONTENT_RELATIONS, _FUNCTION_RELATIONS, _UNIVERSAL = map(frozenset, map(str.split, (_CONTENT, _FUNCTION, _FEATURES)))


class _Word(NamedTuple):
    """What counts of a word: its columns, and the function words below it with their places."""

    upos: str
    xpos: str
    features: str
    lemma: str
    head: int
    relation: str
    functions: tuple[tuple[int, str, str, str], ...]


def _words(sentence: DependencySentence, lemmas: tuple[str, ...]) -> list[_Word]:
    """List the words of a sentence; a word whose gold lemma is blank has a blank lemma."""
    heads = sentence.heads or ()
    relation = [name.partition(":")[0] for name in sentence.relations]
    features = [
        "|".join(sorted(each for each in column.split("|") if each.partition("=")[0] in _UNIVERSAL))
        for column in sentence.feats
    ]
    functions: list[list[tuple[int, str, str, str]]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads):
        if relation[word] in _FUNCTION_RELATIONS and head:
            functions[head].append((word, relation[word], sentence.upos[word], features[word]))
    return [
        _Word(
            sentence.upos[word],
            sentence.xpos[word],
            features[word],
            "_" if lemmas[word] == "_" else sentence.lemmas[word],
            heads[word],
            relation[word],
            tuple(functions[word + 1]),
        )
        for word in range(len(heads))
    ]


_METRICS: dict[str, tuple[Callable[[_Word], object], bool]] = {  # what must be the same, and whether of content alone
    "upos": (lambda word: word.upos, False),
    "xpos": (lambda word: word.xpos, False),
    "ufeats": (lambda word: word.features, False),
    "alltags": (lambda word: word[:3], False),
    "lemmas": (lambda word: word.lemma, False),
    "uas": (lambda word: word.head, False),
    "las": (lambda word: (word.head, word.relation), False),
    "clas": (lambda word: (word.head, word.relation), True),
    "mlas": (lambda word: (word.head, word.relation, word.upos, word.features, word.functions), True),
    "blex": (lambda word: (word.head, word.relation, word.lemma), True),
}


def score_columns(gold: Iterable[DependencySentence], predicted: Iterable[DependencySentence]) -> dict[str, float]:
    """Compute F1 in percent of each metric, from UPOS to BLEX; 0 if there are no words that count.

    gold: the gold trees.
    predicted: trees of the same words, in the same order.

    Raises ValueError if there are not as many predicted trees as gold trees, or if a sentence has other words in both.

    >>> words = DependencySentence.of(["Dogs", "bark"], ["NOUN", "VERB"]).with_heads((2, 0), ("nsubj", "root"))
    >>> scores = score_columns([words], [words.with_heads((2, 0), ("obj", "root"))])
    >>> scores["uas"], scores["las"], scores["clas"]
    (100.0, 50.0, 50.0)
    """
    pairs: list[tuple[_Word, _Word]] = []
    for number, (one, other) in enumerate(zip(gold, predicted, strict=True), start=1):
        if one.forms != other.forms:
            raise ValueError(f"the words of sentence {number} differ in gold and prediction; parse the gold words")
        pairs += zip(_words(one, one.lemmas), _words(other, one.lemmas), strict=True)
    scores = {}
    for name, (value, is_of_content) in _METRICS.items():
        counted = [[not is_of_content or word.relation in _CONTENT_RELATIONS for word in pair] for pair in pairs]
        right = sum(
            counts[0] and value(one) == value(other) for counts, (one, other) in zip(counted, pairs, strict=True)
        )
        total = sum(map(sum, counted))
        scores[name] = 200.0 * right / total if total else 0.0
    return scores
