"""Mend bracket strings that may be broken, flat, partly wrong or short of words.

The constituents that a string gives are weighed against those that the grammar finds:

| here | meaning |
| --- | --- |
| p | the posterior of a constituent under the grammar |
| R | the probability that a right constituent is given |
| F | the probability that a wrong one of the grammar's candidates is given |
| q = p R / (p R + (1 - p) F) | the probability that a given constituent is right; of others, with 1 - R and 1 - F |

R and F ≤ R are estimated for all sentences together by EM, with q as expected counts, and pseudo-counts for few ones.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

import numpy as np

from spectral_latent.constituency import (
    ConstituencyModel,
    Constituent,
    PartialPhrase,
    Phrase,
    base_label,
    list_constituents,
)
from spectral_latent.model import Analysis, Parts, check_kind
from spectral_latent.trees import BoolArray, FloatArray

_TOGETHER = 100  # strings that are mended together
_UNLIKELY = 5e-3  # the posterior of given constituents that the charts lack
_RIGHT, _WRONG = (4.0, 5.0), (0.3, 30.0)  # pseudo-counts of given ones among right and among wrong ones
_ITERATIONS = 10
_TOKEN = re.compile(r"[()]|[^\s()]+")


class Repair(NamedTuple):
    """A mended tree, over exactly the given words.

    given: the constituents that were read in the bracket string.
    dropped: constituents of the bracket string that the tree does not have.
    added: constituents of the tree that the bracket string does not have."""

    tree: Phrase
    given: list[Constituent]
    dropped: list[Constituent]
    added: list[Constituent]


def repair(model: ConstituencyModel, words: Sequence[str], brackets: str) -> Repair:
    """Mend a bracket string; see `repair_all`.

    Raises ValueError if there is no word.

    >>> from spectral_latent import load
    >>> model = ConstituencyModel.train(load("toy").sample(60, np.random.default_rng(0)))
    >>> mended = repair(model, "the dog saw a cat".split(), "(S (NP the dog (VP saw (NP a")
    >>> list(mended.tree.words())
    ['the', 'dog', 'saw', 'a', 'cat']
    """
    (mended,) = repair_all(model, [(words, brackets)])
    return mended


def repair_all(model: ConstituencyModel, pairs: Iterable[tuple[Sequence[str], str]]) -> Iterator[Repair]:
    """Mend bracket strings: find the trees over the words that agree best with them and with the grammar.

    Each constituent is weighed by its posterior and by whether its string has it, as far as the strings seem reliable
    (`believe`): strings that are mended together, about a hundred, are taken to come from one source.  Brackets without
    a partner and words that are not in the sentence are passed over.

    pairs: the words of each sentence, which the tree has, and its string.
    Raises ValueError if a sentence has no word."""
    check_kind(model, ConstituencyModel)
    tags = set(model.members[0].tags)
    waiting = iter(pairs)
    while batch := list(islice(waiting, _TOGETHER)):
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
    """Weigh the posteriors of parts against the given constituents; brackets and tags apart."""
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
    open_ones: list[tuple[str, list[int]]] = []  # the label of each open bracket, and the places of the words inside
    is_lowest = False  # whether the innermost open bracket has no bracket inside

    def close() -> None:
        """Close the innermost bracket."""
        nonlocal is_lowest
        label, inside = open_ones.pop()
        if inside and label:
            is_tag = is_lowest and len(inside) == 1 and label in tags
            found.append(Constituent(min(inside), max(inside) + 1, label if is_tag else base_label(label), is_tag))
        if open_ones:
            open_ones[-1][1].extend(inside)
        is_lowest = False

    for at, token in enumerate(tokens):
        if token == "(":
            follows = tokens[at + 1] if at + 1 < len(tokens) else "("
            open_ones.append(("" if follows in "()" else follows, []))
            is_lowest = True
        elif token == ")":
            if open_ones:
                close()
        elif at in place and open_ones:
            open_ones[-1][1].append(place[at])
    while open_ones:
        close()
    return found


def believe(posterior: FloatArray, is_given: BoolArray) -> FloatArray:
    """Compute q (n,) of candidates, given their posteriors (n,) and whether each is given (n,)."""
    p = np.clip(posterior, 0.0, 1.0)
    right, wrong = _RIGHT[0] / _RIGHT[1], _WRONG[0] / _WRONG[1]
    q = p
    for _ in range(_ITERATIONS):
        if_right = p * np.where(is_given, right, 1.0 - right)
        if_wrong = (1.0 - p) * np.where(is_given, wrong, 1.0 - wrong)
        q = np.divide(if_right, if_right + if_wrong, out=np.zeros_like(p), where=if_right > 0.0)
        right = (q[is_given].sum() + _RIGHT[0]) / (q.sum() + _RIGHT[1])
        wrong = min(((1.0 - q)[is_given].sum() + _WRONG[0]) / ((1.0 - q).sum() + _WRONG[1]), right)
    return np.asarray(q)
