"""Write the report of a model as one page: its symbols, states and rules, and its errors on gold annotation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from heapq import nlargest, nsmallest
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spectral_latent.cli.page import bars, fold, page, section, spectrum, table
from spectral_latent.cli.sources import dependency_entries, gold_trees, tagged
from spectral_latent.drawing import captioned_html, escaped
from spectral_latent.inspection import (
    Described,
    Direction,
    NamedOperators,
    describe_directions,
    describe_rules,
    describe_states,
)

if TYPE_CHECKING:
    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.evaluation import GoldTree
    from spectral_latent.sequence import LatentTagger

__all__ = ["report"]

# The largest numbers of each thing on a page.
_EXAMPLES = 4  # example phrases of a state
_MOST_SENTENCES = 500  # sentences of gold annotation that are read
_MOST_RULES = 3000  # rules
_MOST_PAIRS = 200  # pairs of confused labels
_CASES = 5  # sentences among the worst, and among the best
_LONGEST = 8  # words of an example phrase
_LENGTHS = range(5, 31)  # the numbers of words of sentences that are drawn
_SURE = 0.3  # the least posterior of an example

_Examples = dict[tuple[str, int], list[str]]
_Section = tuple[str, str, str]


class _Case(NamedTuple):
    """A sentence with its score from 0 to 100, and a function that draws its trees and posteriors as HTML."""

    words: Sequence[str]
    score: float
    draw: Callable[[], str]


class _Errors(NamedTuple):
    """The differences between a model's output and gold annotation.

    cases: the sentences with their scores and drawings.
    confused: the number of times that the model gave each label in the place of each gold label.
    measure: the format string of a score.
    """

    cases: list[_Case]
    confused: Counter[tuple[str, str]]
    measure: str


def _span_labels(tree: Any) -> dict[tuple[int, int, bool], list[str]]:
    """List the labels of each span of a tree; tags are listed apart from the labels of phrases."""
    from spectral_latent.constituency.constituents import constituents_of

    labels: dict[tuple[int, int, bool], list[str]] = defaultdict(list)
    for part in constituents_of(tree):
        labels[part.first, part.end, part.is_tag].append(part.label)
    return labels


def _phrase_errors(model: ConstituencyModel, gold: Sequence[GoldTree]) -> _Errors:
    """Parse the words of gold trees, and compare the labels of spans that both trees have."""
    from spectral_latent.constituency import clean
    from spectral_latent.evaluation import evaluate_parser, score_brackets

    cases = []
    confused: Counter[tuple[str, str]] = Counter()
    for tree, parse in zip(gold, evaluate_parser(model, gold).parses, strict=True):
        cleaned = clean(tree.tree, function_labels=model.functions is not None)
        assert cleaned is not None
        found = _span_labels(parse.tree)
        for span, labels in _span_labels(cleaned).items():
            confused.update(zip(labels, found.get(span, ()), strict=False))

        def draw(cleaned: Any = cleaned, parse: Any = parse, words: list[str] = tree.words) -> str:
            trees = [("Gold", cleaned._repr_svg_()), ("Model", parse._repr_svg_())]
            return captioned_html(trees) + model.draw_posteriors(words)

        cases.append(_Case(tree.words, score_brackets([(tree.tree, parse.tree)]).f1, draw))
    return _Errors(cases, confused, "F1 {:.1f}")


def _arc_errors(model: DependencyModel, gold: Sequence[Any]) -> _Errors:
    """Parse the words and tags of gold trees; compare heads, and compare the relations of words with the right head."""
    from spectral_latent.evaluation import evaluate_dependency_parser

    cases = []
    confused: Counter[tuple[str, str]] = Counter()
    for sentence, parse in zip(gold, evaluate_dependency_parser(model, gold).parses, strict=True):
        is_right = np.equal(sentence.heads or (), parse.tree.heads or ())
        pairs = zip(sentence.relations, parse.tree.relations, strict=True)
        confused.update(pair for pair, right in zip(pairs, is_right, strict=True) if right)

        def draw(sentence: Any = sentence, parse: Any = parse) -> str:
            arcs = [("Gold", sentence._repr_svg_()), ("Model", parse._repr_svg_())]
            return captioned_html(arcs) + model.draw_posteriors(sentence.without_tree())

        cases.append(_Case(sentence.forms, 100 * float(is_right.mean()), draw))
    return _Errors(cases, confused, "{:.1f} % of the heads are right")


def _tag_errors(model: LatentTagger, gold: Sequence[list[tuple[str, str]]]) -> _Errors:
    """Tag the words of gold sentences, and compare the tags."""
    sentences = [[word for word, _ in sentence] for sentence in gold]
    cases = []
    confused: Counter[tuple[str, str]] = Counter()
    for words, sentence, found in zip(sentences, gold, model.tag_all(sentences), strict=True):
        right = [tag for _, tag in sentence]
        confused.update(zip(right, found, strict=True))

        def draw(words: list[str] = words, right: list[str] = right, found: list[str] = found) -> str:
            tags = table("Tags", ["word", "gold", "model"], zip(words, right, found, strict=True))
            return tags + model.draw_posteriors(words)

        cases.append(_Case(words, 100 * float(np.mean(np.equal(right, found))), draw))
    return _Errors(cases, confused, "{:.1f} % of the tags are right")


def _examples(model: ConstituencyModel, sentences: Iterable[Sequence[str]]) -> _Examples:
    """Find the short phrases that are most likely in each state; each phrase is listed once."""
    from spectral_latent.inference import inside, marginals, outside

    member = model.members[0]
    found: dict[tuple[str, int], dict[str, float]] = defaultdict(dict)
    for words in sentences:
        charts = member.charts([words])
        operators = charts.grammar.latent
        forest, first, end = charts.joined()
        alpha = inside(operators, forest)
        beta = outside(operators, forest, alpha)
        # Multiply p(state | item) by the posterior of the item, for every item of the chart.
        states = np.maximum(alpha.vectors * beta.vectors, 0.0)
        states /= np.maximum(states.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        states *= np.clip(marginals(operators, forest, alpha, beta), 0.0, 1.0)[:, None]
        states[end - first > _LONGEST] = 0.0
        for item, state in np.argwhere(states > _SURE).tolist():
            phrases = found[member.symbols[forest.symbol[item]].name, state]
            text = " ".join(words[first[item] : end[item]])
            phrases[text] = max(phrases.get(text, 0.0), float(states[item, state]))
    return {key: nlargest(_EXAMPLES, phrases, key=lambda text: phrases[text]) for key, phrases in found.items()}


def _state(state: Described, examples: _Examples) -> str:
    """Write a state with its words, rules, places and examples."""
    lists = {"Words": state.words, "Rules": state.rules, "Places": state.places}
    parts = [table(name, [name.lower(), "probability"], entries) for name, entries in lists.items() if entries]
    phrases = examples.get((state.symbol, state.state), [])
    if phrases:
        parts.append("<p>Examples: " + ", ".join(f"<q>{escaped(phrase)}</q>" for phrase in phrases) + "</p>")
    words = ", ".join(escaped(word) for word, _ in state.words[:4]) or ", ".join(map(escaped, phrases[:2]))
    return fold(f"State {state.state}: {100 * state.share:.1f} % {bars([state.share])} {words}", *parts)


def _direction(direction: Direction) -> str:
    """Write a direction with its words, rules and places."""
    lists = {"Words": direction.words, "Rules": direction.rules, "Places": direction.places}
    parts = [table(name, [name.lower(), "loading"], entries) for name, entries in lists.items() if entries]
    sigma = "" if direction.singular_value is None else f", singular value {direction.singular_value:.2f}"
    ends = [(direction.words or direction.rules or direction.places)[at] for at in (0, -1)]
    opposites = " … ".join(escaped(name) for name, _ in dict.fromkeys(ends))
    return fold(f"Direction {direction.direction}{sigma}: {opposites}", *parts)


def _symbols_with_directions(named: NamedOperators, top: int) -> str:
    """Write all symbols with their directions, the most frequent first."""
    parts = []
    for directions in describe_directions(named, top):
        symbol = directions[0].symbol
        head = (
            f"<b>{escaped(symbol)}</b>: m = {len(directions)}; {directions[0].frequency:.2f} nodes in a tree "
            f"{spectrum(named.spectrum(symbol), len(directions))}"
        )
        parts.append(fold(head, *map(_direction, directions)))
    return "".join(parts)


def _symbols_with_states(named: NamedOperators, top: int, examples: _Examples) -> str:
    """Write all symbols with their states, the most frequent first."""
    parts = []
    for states in describe_states(named, top):
        shares = sorted((state.share for state in states), reverse=True)
        effective = float(np.exp(-sum(share * np.log(share) for share in shares if share > 0)))
        head = (
            f"<b>{escaped(states[0].symbol)}</b>: m = {len(states)}, as if {effective:.1f} of equal size; "
            f"{states[0].frequency:.2f} nodes in a tree {bars(shares)} "
            f"{spectrum(named.spectrum(states[0].symbol), len(states))}"
        )
        ordered = sorted(states, key=lambda state: -state.share)
        parts.append(fold(head, *(_state(state, examples) for state in ordered)))
    return "".join(parts)


def _error_sections(errors: _Errors) -> Iterable[_Section]:
    """Write the confusion of labels, and the worst and the best sentences."""
    wrong = [(pair, count) for pair, count in errors.confused.most_common() if pair[0] != pair[1]]
    totals: Counter[str] = Counter()
    for (label, _), count in errors.confused.items():
        totals[label] += count
    rows = [(gold, found, count, 100 * count / totals[gold]) for (gold, found), count in wrong[:_MOST_PAIRS]]
    columns = ["gold", "model", "times", "of the gold label, %"]
    yield section("confusion", "Confusion of labels", table("Labels taken for others", columns, rows, "confused"))
    drawn = [case for case in errors.cases if len(case.words) in _LENGTHS]
    worst = nsmallest(_CASES, drawn, key=lambda case: case.score)
    best = nlargest(_CASES, drawn, key=lambda case: (case.score, len(case.words)))
    for name, title, cases in (("worst", "Worst sentences", worst), ("best", "Best sentences", best)):
        parts = [
            fold(f"{errors.measure.format(case.score)}: {escaped(' '.join(case.words))}", case.draw()) for case in cases
        ]
        yield section(name, title, *parts)


def _errors(model: Any, gold: Sequence[str]) -> tuple[_Errors, _Examples]:
    """Compare a model with gold annotation."""
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.dependency import DependencyModel

    if isinstance(model, ConstituencyModel):
        trees = list(islice(gold_trees(gold), _MOST_SENTENCES))
        is_probability = model.named_operators.operators.probabilities
        examples = _examples(model, (tree.words for tree in trees)) if is_probability else {}
        return _phrase_errors(model, trees), examples
    if isinstance(model, DependencyModel):
        sentences = [entry.sentence for entry in islice(dependency_entries(gold), _MOST_SENTENCES)]
        return _arc_errors(model, sentences), {}
    return _tag_errors(model, list(islice(tagged(gold, None, model.tagset), _MOST_SENTENCES))), {}


def _anchor_sections(model: AnchorHMM, gold: Sequence[str], top: int) -> Iterable[_Section]:
    """Write the states of an anchor model, and the gold tags of the words in each state."""
    from spectral_latent.anchors.tables import anchor_rows

    rows = (
        (row.anchor, str(row.label or ""), 100 * row.share, ", ".join(f"{word} {p:.3f}" for word, p in row.words))
        for row in anchor_rows(model, top)
    )
    columns = ["anchor", "label", "share, %", "likeliest words"]
    yield section("symbols", "Anchors and their states", table("States", columns, rows))
    if gold:
        sentences = list(islice(tagged(gold, None), _MOST_SENTENCES))
        states = list(replace(model, labels=None).tag_all([word for word, _ in sentence] for sentence in sentences))
        met: Counter[tuple[int, str]] = Counter()
        for sentence, row in zip(sentences, states, strict=True):
            met.update(zip(row, (tag for _, tag in sentence), strict=True))
        anchors = list(model.anchors)
        totals = Counter(state for row in states for state in row)
        found = [
            (anchors[state], tag, count, 100 * count / totals[state])
            for (state, tag), count in met.most_common(_MOST_PAIRS)
        ]
        columns = ["anchor", "gold tag", "times", "of the state, %"]
        yield section("confusion", "Tags that states meet", table("Gold tags of each state", columns, found, "met"))


def _grammar_sections(model: Any, gold: Sequence[str], top: int) -> Iterable[_Section]:
    """Write the symbols, states and rules of a model, and its errors."""
    errors, examples = _errors(model, gold) if gold else (None, {})
    named = model.named_operators
    if named.operators.probabilities:
        note = (
            "Of each symbol: m, the number of its states; how many states of equal size would be as varied; and how "
            "many nodes of a tree have the symbol. The bar shows the share of each state. The upright bars are the "
            "singular values of the symbol, pale where they are not used."
        )
        states = _symbols_with_states(named, top, examples)
        yield section("symbols", "Symbols and their states", f"<p>{note}</p>{states}")
        rules = [(rule.name, rule.expected, rule.probability) for rule in describe_rules(named)[:_MOST_RULES]]
        columns = ["rule", "in a tree", "probability"]
        yield section("rules", "Rules", table("Rules, the most frequent first", columns, rules, "rule"))
    else:
        note = (
            "The model has no states, but directions of a latent space; the estimator recovered finds the states. "
            "Words, rules and places with loadings of opposite signs are opposites; the sign itself means nothing. "
            "The upright bars are the singular values of a symbol, pale where they are not used."
        )
        directions = _symbols_with_directions(named, top)
        yield section("symbols", "Symbols and their directions", f"<p>{note}</p>{directions}")
    if errors is not None:
        yield from _error_sections(errors)


def report(model: Any, title: str, gold: Sequence[str] = (), top: int = 6) -> str:
    """Write the report of a model.

    model: a parser, a tagger, an anchor model, or a model of trees given as graphs.
    title: the title of the page.
    gold: sources of gold annotation; none for a report without errors.
    top: the largest number of words, rules and places of a state.
    """
    from spectral_latent.anchors import AnchorHMM

    facts = ((name, str(value)) for name, value in model.summary.items())
    inside = (_anchor_sections if isinstance(model, AnchorHMM) else _grammar_sections)(model, gold, top)
    return page(title, [section("model", "The model", table("Facts", ["fact", "value"], facts)), *inside])
