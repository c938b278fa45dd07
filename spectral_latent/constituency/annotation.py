"""Help those who make treebanks: suggest trees, find what is likely wrong in them, and mend broken ones.

`suggest_trees` parses, and says how sure the parser is of each part.  `check_trees` finds the labels and tags that
models of the rest of a treebank find unlikely.  `repair` reads a bracket string that may be broken, flat, partly wrong
or short of words, and finds the tree over the given words that agrees best with both the string and the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import numpy as np

from spectral_latent._options import Count, checked
from spectral_latent.constituency.belief import believe
from spectral_latent.constituency.cleaning import base_label, cleaned
from spectral_latent.constituency.constraints import PartialPhrase, unknown_phrase
from spectral_latent.constituency.grammar import PhraseEvidence
from spectral_latent.constituency.model import FALLBACK, ConstituencyModel
from spectral_latent.constituency.options import ConstituencyOptions
from spectral_latent.constituency.tree import Constituent, Phrase, list_constituents
from spectral_latent.estimation import Listener, silent
from spectral_latent.model import check_kind, check_sentences
from spectral_latent.model.analysis import Analysis
from spectral_latent.model.batches import batches_of
from spectral_latent.model.parts import Parts, jackknife
from spectral_latent.model.surprisal import entropies
from spectral_latent.trees import FloatArray

__all__ = [
    "UNKNOWN_TAG",
    "Doubt",
    "Repair",
    "Suggestion",
    "check_trees",
    "read_brackets",
    "repair",
    "repair_all",
    "suggest_trees",
    "with_given",
]

UNKNOWN_TAG = "X"
"""The tag of all words before there is a parser."""

_TOGETHER = 100  # strings that are mended together
_UNLIKELY = 5e-3  # the posterior of given constituents that the charts lack

_TOKEN = re.compile(r"[()]|[^\s()]+")


class Doubt(NamedTuple):
    """A label of a treebank that the rest of the treebank makes unlikely.

    tree: the number of the tree, from 0.
    constituent: the labelled constituent, or the tag of a word.
    instead: the likeliest constituent that the tree lacks and that cannot stand beside it, with its posterior."""

    tree: int
    constituent: Constituent
    posterior: float
    instead: tuple[Constituent, float]


class Repair(NamedTuple):
    """A mended tree.

    tree: the tree, over exactly the given words.
    given: the constituents that were read in the bracket string.
    dropped: constituents of the bracket string that the tree does not have.
    added: constituents of the tree that the bracket string does not have."""

    tree: Phrase
    given: list[Constituent]
    dropped: list[Constituent]
    added: list[Constituent]


class Suggestion(NamedTuple):
    """A tree that a parser suggests.

    parts: the posterior of each of its constituents, tags included, in the order of `list_constituents`; function
        labels are left out.
    alternatives: what would stand in the place of a constituent, the likeliest first, with posteriors of at least 0.05.
    is_flat: whether no grammar derives the sentence, so that the tree is flat.
    disagreement: how far the grammars of the parser differ, in bits; see `_disagreements`."""

    tree: Phrase
    parts: dict[Constituent, float]
    alternatives: dict[Constituent, list[tuple[Constituent, float]]]
    is_flat: bool
    disagreement: float = 0.0

    @property
    def expected_errors(self) -> float:
        """The expected number of constituents and tags of the tree that are wrong."""
        return float(sum(1.0 - min(p, 1.0) for p in self.parts.values()))

    @property
    def marked(self) -> Phrase:
        """The tree, with ? after labels whose posterior is below 0.9, and ?? below 0.5."""
        at = 0

        def mark(phrase: Phrase) -> Phrase:
            nonlocal at
            first = at
            if phrase.is_preterminal():
                at += 1
            children = tuple([mark(child) if isinstance(child, Phrase) else child for child in phrase.children])
            part = _plain(Constituent(first, at, phrase.label, phrase.is_preterminal()))
            p = self.parts.get(part, 0.0)
            return Phrase(phrase.label + "?" * ((p < _SURE) + (p < _LIKELY)), children)

        return mark(self.tree)

    def rows(self, most: int | None = None) -> dict[str, list[list[Any]]]:
        """List the parts and their alternatives as JSON has them: first word, end, label, whether a tag, posterior.

        most: the largest number of alternatives of a part; None for all."""

        def row(part: Constituent, p: float) -> list[Any]:
            return [*part, round(p, 4)]

        return {
            "parts": [row(*pair) for pair in self.parts.items()],
            "alternatives": [
                [*part, [row(*pair) for pair in several[:most]]] for part, several in self.alternatives.items()
            ],
        }

    @property
    def entropy(self) -> float:
        """A bound of the entropy of the tree, in bits: the sum of those of its constituents and their alternatives."""
        others = {part: p for several in self.alternatives.values() for part, p in several}
        return float(_entropies(np.array([*self.parts.values(), *others.values()])).sum())


_SURE, _LIKELY = 0.9, 0.5  # posteriors below which a label is marked
_LEAST = 0.05  # the smallest posterior of an alternative


def suggest_trees(model: ConstituencyModel | None, sentences: Iterable[Sequence[str]]) -> list[Suggestion]:
    """Suggest a tree for each sentence, with the posteriors of its parts and their alternatives.

    model: the parser; None for flat trees, in which nothing is sure.
    Raises ValueError for a sentence without words, and TypeError for a string in place of one.

    >>> from spectral_latent.corpora.embedded import embedded_treebank
    >>> model = ConstituencyModel.train(embedded_treebank(60))
    >>> (found,) = suggest_trees(model, ["the dog saw a cat".split()])
    >>> found.tree.label, len(found.parts) == len(set(list_constituents(found.tree)))
    ('S', True)
    """
    if model is not None:
        check_kind(model, ConstituencyModel)
    given = list(check_sentences(sentences))
    if not all(map(len, given)):
        raise ValueError(f"sentence {[len(words) for words in given].index(0) + 1} has no words")
    if model is None:
        return [_flat_suggestion(words) for words in given]
    return [found for batch in batches_of(given) for found in _suggest(model, batch)]


def _suggest(model: ConstituencyModel, sentences: Sequence[Sequence[str]]) -> list[Suggestion]:
    """Suggest the trees of a batch, whose charts are made once."""
    inputs = [unknown_phrase(words) for words in sentences]
    analysis = model.analyse(inputs)
    disagreements = _disagreements(analysis.evidence, len(sentences))
    suggestions = []
    for at, (parse,) in enumerate(model.parses(analysis, scored=False)):
        of_sentence = analysis.judged.of_sentence(at)
        posteriors = dict(zip(model.labels.named(of_sentence), of_sentence.posterior.tolist(), strict=True))
        found = list(dict.fromkeys(map(_plain, list_constituents(parse.tree))))
        alternatives = _alternatives(posteriors, found, _LEAST)
        of_tree = {part: posteriors.get(part, 0.0) for part in found}
        suggestions.append(Suggestion(parse.tree, of_tree, alternatives, parse.is_fallback, float(disagreements[at])))
    return suggestions


def _entropies(p: FloatArray) -> FloatArray:
    """Compute the entropy (n,) of each of n events of probabilities p, in bits."""
    safe = np.clip(p, 0.0, 1.0)
    return entropies(np.stack([safe, 1.0 - safe], axis=1), "bits")


def _disagreements(evidence: PhraseEvidence, n_sentences: int) -> FloatArray:
    """Measure how far grammars differ on each sentence: what a constituent says of the grammar that has drawn it.

    That is the entropy of each labelled constituent's mean posterior, less the mean of the entropies of its posteriors,
    summed over constituents: 0 for one grammar, and for grammars that agree, however unsure they are."""
    if len(evidence.items) == 1:
        return np.zeros(n_sentences)
    parts = evidence.labelled.parts.merge()  # in the order by which parts are found
    of_grammars = np.zeros((len(evidence.items), len(parts.label)))
    for number, items in enumerate(evidence.items):
        own = evidence.labels.split(items.constituents().merge()).parts
        row = parts.find(own)
        of_grammars[number, row[row >= 0]] = own.posterior[row >= 0]
    gain = _entropies(of_grammars.mean(axis=0)) - np.mean(list(map(_entropies, of_grammars)), axis=0)
    return np.asarray(np.bincount(parts.sentence, gain, minlength=n_sentences), dtype=np.float64)


def _plain(part: Constituent) -> Constituent:
    """Leave out the function labels of a constituent."""
    return part if part.is_tag else part._replace(label=base_label(part.label))


def _flat_suggestion(words: Sequence[str]) -> Suggestion:
    """Suggest a flat tree, in which nothing is sure."""
    tree = Phrase(FALLBACK, tuple(Phrase(UNKNOWN_TAG, (word,)) for word in words))
    return Suggestion(tree, dict.fromkeys(list_constituents(tree), 0.0), {}, True)


class _Open(NamedTuple):
    """An open bracket: its label, the places of the words inside, and whether it has no bracket inside."""

    label: str
    inside: list[int]
    is_lowest: bool


def check_trees(
    trees: Iterable[Phrase],
    options: ConstituencyOptions | Sequence[ConstituencyOptions] | None = None,
    n_folds: int = 4,
    *,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> list[Doubt]:
    """List the doubtful labels of a treebank, the most doubtful first, as models of other parts of it judge them.

    A label is doubtful if its posterior is below that of another constituent that cannot stand beside it.  The order is
    that of the difference of both.

    trees: the treebank, in which function labels and traces are ignored.
    options: the settings of the parsers, as `ConstituencyModel.train` takes them.
    n_folds: the number of parts; each is judged by a parser of the other parts.
    Raises EstimationError as `ConstituencyModel.train` does.

    >>> def tree(noun, verb): return Phrase("S", (Phrase("NN", (noun,)), Phrase("VB", (verb,))))
    >>> trees = [tree(noun, verb) for noun in ("dogs", "cats", "birds") for verb in ("bark", "sleep")] * 9
    >>> wrong = Phrase("S", (Phrase("VB", ("dogs",)), Phrase("VB", ("sleep",))))
    >>> doubt = check_trees([*trees, wrong])[0]
    >>> doubt.tree, doubt.constituent.label, doubt.instead[0].label
    (54, 'VB', 'NN')
    """
    checked("n_folds", n_folds, Count)
    clean = list(enumerate(cleaned(list(trees))))

    def learn(numbered: list[Any], _weights: list[float]) -> ConstituencyModel:
        """Train the parser of the other parts."""
        return ConstituencyModel.train([tree for _, tree in numbered], options, jobs=jobs)

    doubts: list[Doubt] = []
    for model, held_out, _ in jackknife([(each, 1.0) for each in clean], n_folds, learn, listener):
        for number, tree in held_out:
            doubts += _doubts_of(model, number, tree)
    return sorted(doubts, key=lambda doubt: (doubt.posterior - doubt.instead[1], doubt.tree))


def _doubts_of(model: ConstituencyModel, number: int, tree: Phrase) -> list[Doubt]:
    """List the labels of a tree that are less likely than what would stand in their place."""
    posteriors = model.posteriors(list(tree.words()))
    if not posteriors:
        return []
    likeliest = _alternatives(posteriors, list(dict.fromkeys(list_constituents(tree))))
    doubts = (Doubt(number, part, posteriors.get(part, 0.0), instead) for part, (instead, *_) in likeliest.items())
    return [doubt for doubt in doubts if doubt.instead[1] > doubt.posterior]


def _alternatives(
    posteriors: Mapping[Constituent, float], found: Sequence[Constituent], least: float = -np.inf
) -> dict[Constituent, list[tuple[Constituent, float]]]:
    """List what would stand in the place of each constituent of a tree, the likeliest first, if there is anything."""
    in_tree = set(found)
    others = sorted(
        ((part, p) for part, p in posteriors.items() if p >= least and part not in in_tree),
        key=lambda pair: (-pair[1], pair[0]),
    )
    instead = {part: [other for other in others if _excludes(part, other[0])] for part in found}
    return {part: several for part, several in instead.items() if several}


def _excludes(part: Constituent, other: Constituent) -> bool:
    """Tell whether another constituent would stand in the place of one of a tree: it crosses it, or relabels it."""
    if (part.first, part.end) == (other.first, other.end):
        return True
    crosses = part.first < other.first < part.end < other.end or other.first < part.first < other.end < part.end
    # Of all constituents of the tree that the other one crosses, the one that shares an end with it is in its place.
    return crosses and (part.first == other.first or part.end == other.end)


def repair(model: ConstituencyModel, words: Sequence[str], brackets: str) -> Repair:
    """Mend a bracket string; see `repair_all`.

    words: the words of the sentence, which the tree has.
    brackets: the string, such as `(S (NP the dog (VP barks)`.
    Raises ValueError if there is no word.

    >>> from spectral_latent.corpora.embedded import embedded_treebank
    >>> model = ConstituencyModel.train(embedded_treebank(60))
    >>> mended = repair(model, "the dog saw a cat".split(), "(S (NP the dog (VP saw (NP a")
    >>> list(mended.tree.words())
    ['the', 'dog', 'saw', 'a', 'cat']
    """
    (mended,) = repair_all(model, [(words, brackets)])
    return mended


def repair_all(model: ConstituencyModel, pairs: Iterable[tuple[Sequence[str], str]]) -> Iterator[Repair]:
    """Mend bracket strings: find the trees over the words that agree best with them and with the grammar.

    Each constituent is weighed by its posterior and by whether its string has it, as far as the strings seem reliable
    (`belief`): strings that are mended together, about a hundred, are taken to come from one source.  Brackets without
    a partner and words that are not in the sentence are passed over.

    pairs: the words of each sentence, which the tree has, and its string.
    Raises ValueError if a sentence has no word."""
    check_kind(model, ConstituencyModel)
    tags = set(model.members[0].tags)
    for batch in batches_of(pairs, _TOGETHER):
        inputs = [model.checked(words) for words, _ in batch]
        for _, brackets in batch:
            if not isinstance(brackets, str):
                raise TypeError(f"brackets are a string, not {brackets!r:.60}")
        given = [read_brackets(brackets, words, tags) for words, brackets in batch]
        analysis = model.judge_parts(with_given(model, model.find_parts(inputs, model.chart(inputs)), given))
        analysis = analysis._replace(judged=_believed(model.labels.named(analysis.judged), analysis.judged, given))
        for (parse,), of_string in zip(model.parses(analysis, scored=False), given, strict=True):
            found = list_constituents(parse.tree)
            dropped = [part for part in dict.fromkeys(of_string) if part not in set(found)]
            added = [part for part in dict.fromkeys(found) if part not in set(of_string)]
            yield Repair(parse.tree, of_string, dropped, added)


def with_given(
    model: ConstituencyModel, analysis: Analysis[PartialPhrase], given: Sequence[Sequence[Constituent]]
) -> Analysis[PartialPhrase]:
    """Add the constituents that are given for sentences to those of the charts, as far as trees of the treebank have
    their chains of labels.

    A chain has the labels of a span together, or else, over several words, each alone.
    """
    number = model.part_names
    rows: list[tuple[int, int, int, int]] = []
    for at, of_sentence in enumerate(given):
        labels: dict[tuple[int, int], tuple[str, ...]] = {}
        for part in of_sentence:  # inner ones are given first
            span = (part.first, part.end)
            labels[span] = (part.label, *labels.get(span, ()))
        for (begin, stop), together in labels.items():
            alone: list[tuple[str, ...]] = [(name,) for name in together] if stop - begin > 1 else []
            several = [together] if together in number else alone
            rows += [(at, begin, stop, number[each]) for each in several if each in number]
    sentence, first, end, label = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    unlikely = Parts(sentence, first, end, label, np.full(len(rows), _UNLIKELY))
    both = zip(analysis.evidence.chains, unlikely, strict=True)
    return model.with_chains(analysis, Parts(*map(np.concatenate, both)).merge())


def _believed(named: Sequence[Constituent], parts: Parts, given: Sequence[Sequence[Constituent]]) -> Parts:
    """Weigh the posteriors of parts against the constituents that are given for the sentences; brackets and tags

    apart."""
    wanted = {(at, *part) for at, of_sentence in enumerate(given) for part in of_sentence}
    is_given = np.array([(at, *part) in wanted for at, part in zip(parts.sentence.tolist(), named, strict=True)])
    is_tag = np.array([part.is_tag for part in named], dtype=np.bool_)
    posterior = parts.posterior.copy()
    for which in map(np.flatnonzero, (is_tag, ~is_tag)):
        posterior[which] = believe(posterior[which], is_given[which])
    return parts._replace(posterior=posterior)


def read_brackets(brackets: str, words: Sequence[str], tags: Container[str]) -> list[Constituent]:
    """Read the labelled constituents of a bracket string that may be broken, over the words of a sentence.

    brackets: the string; the words in it are matched with the words of the sentence, in order.
    tags: the labels that are tags if they stand before a single word.

    >>> [tuple(each) for each in read_brackets("(S (NP (NN dogs)) barks))", ["dogs", "barks"], {"NN"})]
    [(0, 1, 'NN', True), (0, 1, 'NP', False), (0, 2, 'S', False)]
    """
    tokens = _TOKEN.findall(brackets)
    atoms = [at for at, token in enumerate(tokens) if token not in "()" and (at == 0 or tokens[at - 1] != "(")]
    matcher = SequenceMatcher(None, [tokens[at] for at in atoms], list(words), autojunk=False)
    place = {
        atoms[block.a + step]: block.b + step for block in matcher.get_matching_blocks() for step in range(block.size)
    }
    found: list[Constituent] = []
    open_ones: list[_Open] = []

    def close() -> None:
        """Close the innermost bracket."""
        label, inside, is_lowest = open_ones.pop()
        if inside and label:
            is_tag = is_lowest and len(inside) == 1 and label in tags
            found.append(Constituent(min(inside), max(inside) + 1, label if is_tag else base_label(label), is_tag))
        if open_ones:
            open_ones[-1] = open_ones[-1]._replace(inside=open_ones[-1].inside + inside, is_lowest=False)

    for at, token in enumerate(tokens):
        if token == "(":
            follows = tokens[at + 1] if at + 1 < len(tokens) else "("
            open_ones.append(_Open("" if follows in "()" else follows, [], True))
        elif token == ")":
            if open_ones:
                close()
        elif at in place and open_ones:
            open_ones[-1].inside.append(place[at])
    while open_ones:
        close()
    return found
