"""Write the report of a model as one page: its accuracy on gold annotation, its states with examples, its rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectral_latent.cli.page import Drawings, page
from spectral_latent.cli.sources import dependency_entries, gold_trees, tagged
from spectral_latent.inspection import describe_directions, describe_rules, describe_states

if TYPE_CHECKING:
    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.constituency import Changes, ConstituencyModel
    from spectral_latent.corpora import Format
    from spectral_latent.evaluation import GoldTree

# The largest numbers of each thing on a page.
_EXAMPLES = 4  # example phrases of a state
_MOST_SENTENCES = 500  # sentences of gold annotation that are read
_MOST_RULES = 3000  # rules
_MOST_PAIRS = 200  # pairs of confused labels
_CASES = 5  # sentences among the worst, and among the best
_LONGEST = 8  # words of an example phrase
_LENGTHS = range(5, 31)  # the numbers of words of sentences that are drawn
_SURE = 0.3  # the least posterior of an example

_Confused = Counter[tuple[str, str]]  # the number of times of each pair of a gold label and the model's
_Shares = list[tuple[str, str, int, float]]  # pairs with their numbers, and shares of all pairs with the first name


class _Case(NamedTuple):
    """A sentence with its score from 0 to 100, and a function that draws the gold tree beside the model's."""

    words: Sequence[str]
    score: float
    draw: Callable[[], Drawings]


class _Accuracy(NamedTuple):
    """The accuracy of a model in words, the name of a sentence's score, all sentences, and labels taken for others."""

    lead: str
    measure: str
    cases: list[_Case]
    confused: _Confused

    @property
    def confusions(self) -> _Shares:
        """The most frequent pairs of different labels."""
        return _shares(self.confused, lambda right, found: right != found)

    @property
    def worst(self) -> list[_Case]:
        """The sentences with the lowest scores, at most half of all."""
        ranked = self._ranked()
        return ranked[: min(_CASES, len(ranked) // 2)]

    @property
    def best(self) -> list[_Case]:
        """The longest sentences with the highest scores, none of them among the worst."""
        ranked = self._ranked()
        return ranked[len(ranked) // 2 :][: -_CASES - 1 : -1]

    def _ranked(self) -> list[_Case]:
        drawn = (case for case in self.cases if len(case.words) in _LENGTHS)
        return sorted(drawn, key=lambda case: (case.score, len(case.words)))


def _shares(pairs: _Confused, shown: Callable[[str, str], bool] = lambda _first, _second: True) -> _Shares:
    """Compute the share of each pair among the pairs with the same first name, the most frequent pairs first."""
    totals: Counter[str] = Counter()
    for (first, _), count in pairs.items():
        totals[first] += count
    listed = (pair for pair in pairs.most_common() if shown(*pair[0]))
    return [(*pair, count, count / totals[pair[0]]) for pair, count in islice(listed, _MOST_PAIRS)]


def _beside(gold: Any, found: Any) -> Callable[[], Drawings]:
    """Draw a gold tree and a model's when they are asked for."""
    return lambda: [("Gold", gold._repr_svg_()), ("Model", found._repr_svg_())]


def _span_labels(tree: Any) -> dict[tuple[int, int, bool], list[str]]:
    """List the labels of each span of a tree; tags are listed apart from the labels of phrases."""
    from spectral_latent.constituency.tree import list_constituents

    labels: dict[tuple[int, int, bool], list[str]] = defaultdict(list)
    for part in list_constituents(tree):
        labels[part.first, part.end, part.is_tag].append(part.label)
    return labels


def _phrases(model: ConstituencyModel, gold: Iterable[GoldTree]) -> tuple[_Accuracy, list[list[str]]]:
    """Parse the words of gold trees, and compare the labels of spans that both trees have; also give the words."""
    from spectral_latent.constituency import clean
    from spectral_latent.evaluation import evaluate_parser, score_brackets

    trees = list(islice(gold, _MOST_SENTENCES))
    evaluation = evaluate_parser(model, trees)
    cases = []
    confused: _Confused = Counter()
    for tree, parse in zip(trees, evaluation.parses, strict=True):
        cleaned = clean(tree.tree, function_labels=model.functions is not None)
        assert cleaned is not None
        found = _span_labels(parse.tree)
        for span, labels in _span_labels(cleaned).items():
            confused.update(zip(labels, found.get(span, ()), strict=False))
        cases.append(_Case(tree.words, score_brackets([(tree.tree, parse.tree)]).f1, _beside(cleaned, parse)))
    f1, exact, tags = evaluation.score.f1, evaluation.score.exact, evaluation.score.tagging_accuracy
    lead = f"F1 {f1:.1f}; {exact:.1f} % of the trees and {tags:.1f} % of the tags are right"
    return _Accuracy(lead, "F1", cases, confused), [tree.words for tree in trees]


def _arcs(model: Any, gold: Iterable[str], form: Format | None) -> _Accuracy:
    """Parse the words and tags of gold trees; compare heads, and compare the relations of words with the right head."""
    from spectral_latent.evaluation import evaluate_dependency_parser

    sentences = [entry.sentence for entry in islice(dependency_entries(gold, form=form), _MOST_SENTENCES)]
    evaluation = evaluate_dependency_parser(model, sentences)
    cases = []
    confused: _Confused = Counter()
    for sentence, parse in zip(sentences, evaluation.parses, strict=True):
        is_right = np.equal(sentence.heads or (), parse.tree.heads or ())
        pairs = zip(sentence.relations, parse.tree.relations, strict=True)
        confused.update(pair for pair, right in zip(pairs, is_right, strict=True) if right)
        cases.append(_Case(sentence.forms, 100 * float(is_right.mean()), _beside(sentence, parse)))
    labelled = f", {evaluation.score.las:.1f} % with the right relation" if evaluation.has_relations else ""
    return _Accuracy(f"{evaluation.score.uas:.1f} % of the heads are right{labelled}", "heads, %", cases, confused)


def _tags(model: Any, gold: Iterable[str], form: Format | None) -> _Accuracy:
    """Tag the words of gold sentences, and compare the tags; wrong ones are told as in `dogs (NOUN, not VERB)`."""
    sentences = list(islice(tagged(gold, None, model.tagset, form=form), _MOST_SENTENCES))
    found_tags = model.tag_all([word for word, _ in sentence] for sentence in sentences)
    cases = []
    confused: _Confused = Counter()
    for sentence, tags in zip(sentences, found_tags, strict=True):
        told = []
        for (word, right), found in zip(sentence, tags, strict=True):
            confused[right, found] += 1
            told.append(word if right == found else f"{word} ({right}, not {found})")
        is_right = np.equal([right for _, right in sentence], tags)
        cases.append(_Case(told, 100 * float(is_right.mean()), list))
    rights = sum(count for (right, found), count in confused.items() if right == found)
    lead = f"{100 * rights / max(confused.total(), 1):.1f} % of the tags are right"
    return _Accuracy(lead, "tags, %", cases, confused)


def _examples(model: ConstituencyModel, sentences: Iterable[Sequence[str]]) -> dict[tuple[str, int], list[str]]:
    """Find the short phrases that are most likely in each state; each phrase is listed once."""
    from spectral_latent.inference import inside, marginals, outside, state_posteriors

    member = model.members[0]
    found: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for words in sentences:
        charts = member.charts([words])
        operators = charts.grammar.latent
        forest, first, end, _ = charts.joined()
        alpha = inside(operators, forest)
        beta = outside(operators, forest, alpha)
        # Multiply p(state | item) by the posterior of the item, for every item of the chart.
        states = state_posteriors(alpha, beta) * np.clip(marginals(operators, forest, alpha, beta), 0.0, 1.0)[:, None]
        states[end - first > _LONGEST] = 0.0
        for item, state in np.argwhere(states > _SURE).tolist():
            phrases = found[member.symbols[forest.symbol[item]].name, state]
            text = " ".join(words[first[item] : end[item]])
            phrases[text] = max(phrases.get(text, 0.0), float(states[item, state]))
    return {key: nlargest(_EXAMPLES, phrases, key=lambda text: phrases[text]) for key, phrases in found.items()}


def _of_anchors(model: AnchorHMM, gold: Sequence[str], top: int, form: Format | None) -> dict[str, Any]:
    """Describe the states of an anchor model, and the gold tags of the words in each state."""
    from spectral_latent.inspection.states import anchor_rows

    met: _Confused = Counter()
    if gold:
        sentences = list(islice(tagged(gold, None, form=form), _MOST_SENTENCES))
        states = replace(model, labels=None).tag_all([word for word, _ in sentence] for sentence in sentences)
        anchors = list(model.anchors)
        for sentence, row in zip(sentences, states, strict=True):
            met.update((anchors[state], tag) for state, (_, tag) in zip(row, sentence, strict=True))
    return {"anchors": anchor_rows(model, top), "met": _shares(met)}


def _of_grammar(model: Any, gold: Sequence[str], top: int, form: Format | None, changes: Changes) -> dict[str, Any]:
    """Describe the symbols and the rules of a model, and its accuracy."""
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.dependency import DependencyModel

    named = model.named_operators
    has_states = named.operators.probabilities
    parts: dict[str, Any] = {"examples": {}, "rules": describe_rules(named)[:_MOST_RULES] if has_states else []}
    if gold and isinstance(model, ConstituencyModel):
        parts["accuracy"], sentences = _phrases(model, gold_trees(gold, changes, form))
        parts["examples"] = _examples(model, sentences) if has_states else {}
    elif gold:
        parts["accuracy"] = (_arcs if isinstance(model, DependencyModel) else _tags)(model, gold, form)
    return parts | {"symbols": list((describe_states if has_states else describe_directions)(named, top))}


def report(
    model: Any,
    title: str,
    gold: Sequence[str] = (),
    top: int = 6,
    form: Format | None = None,
    changes: Changes | None = None,
) -> str:
    """Write the report of a parser, a tagger, an anchor model, or a model of trees given as graphs.

    Accuracy and examples need sources of gold annotation; a state has at most `top` words, rules and places."""
    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.constituency import Changes

    if isinstance(model, AnchorHMM):
        parts = _of_anchors(model, gold, top, form)
    else:
        parts = _of_grammar(model, gold, top, form, changes or Changes())
    return page(title, gold=gold, facts=model.summary, **parts)
