"""Models of spans: features against names, the loss against finite differences, and parsers with and without them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from spectral_latent.constituency import (
    Binarisation,
    ConstituencyModel,
    ConstituencyOptions,
    Constituent,
    Phrase,
    PhraseGrammar,
    SpanOptions,
)
from spectral_latent.constituency.spans import _TEMPLATES, SpanModel, span_choices
from spectral_latent.constituency.training import prepare
from spectral_latent.constituency.tree import ChainLabels, list_constituents
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.grammar.parser import estimate_again
from spectral_latent.lexicon import signatures
from spectral_latent.lexicon.choices import choice_loss
from spectral_latent.model.parts import Parts
from spectral_latent.trees import IntArray
from tests.toy import toy_treebank

SPANS = SpanOptions(folds=2, penalty=1.0, iterations=5)
OPTIONS = ConstituencyOptions(EstimatorOptions("clusters-em", n_states=2, iterations=1), spans=SPANS)
LABELS = ChainLabels([("N",), ("V",), ("NP",), ("S", "NP")])


def random_parts(rng: np.random.Generator, n: int) -> Parts:
    """Draw constituents over n words, the tags N and V of each word among them, about half of them likely."""
    rows = [(i, i + 1, tag) for i in range(n) for tag in (0, 1)]
    rows += [(i, j, chain) for i in range(n) for j in range(i + 2, n + 1) for chain in (2, 3) if rng.random() < 0.6]
    first, end, chain = np.array(rows).T
    parts = LABELS.split(Parts(np.zeros_like(first), first, end, chain, np.ones(len(rows)))).parts
    return parts._replace(posterior=rng.uniform(0.05, 0.95, len(parts.label)))


def named_values(parts: Parts, words: list[str], row: int) -> dict[str, object]:
    """Name all values of a constituent that templates ask for, in plain Python."""
    every = list(zip(LABELS.named(parts), parts.posterior.tolist(), strict=True))
    own, mu = every[row]
    i, j = own.first, own.end
    tags = {c.first: c.label for c, _ in sorted(every, key=lambda pair: pair[1]) if c.is_tag}  # the likeliest stays
    kinds: dict[str, Callable[[int], str]] = {
        "word": lambda at: words[at],
        "tag": lambda at: tags[at],
        "form": lambda at: signatures(words[at])[0],
        "ending": lambda at: words[at].lower()[-2:],
    }
    # Likely constituents, short ones first: the first one around the span is its parent, the longest ones are parts.
    likely = sorted((c for c, p in every if p > 0.5), key=lambda c: c.end - c.first)
    parent = next((c for c in likely if c.first <= i and j <= c.end and c.end - c.first > j - i), None)
    around = {
        "parent": [parent],
        "left": [c for c in likely if c.end == i],
        "right": [c for c in likely if c.first == j],
        "first part": [c for c in likely if c.first == i and c.end < j],
        "last part": [c for c in likely if c.end == j and c.first > i],
        "same span": [c for c in likely if (c.first, c.end) == (i, j) and c != own],
    }
    found = {name: ([None, *several])[-1] for name, several in around.items()}
    first, last = found["first part"], found["last part"]
    places = {
        **{"second before": i - 2, "before": i - 1, "first": i, "second": i + 1},
        **{"last but one": j - 2, "last": j - 1, "after": j, "second after": j + 1},
        "before last part": last.first - 1 if last else -1,
        "at last part": last.first if last else -1,
        "after first part": first.end if first else -1,
    }
    best = max(p for c, p in every if (c.first, c.end, c.is_tag) == (i, j, own.is_tag))
    return {
        **{name: c and (c.label, c.is_tag) for name, c in found.items()},
        **{
            f"{kind} {place}": ask(at) if 0 <= at < len(words) else None
            for place, at in places.items()
            for kind, ask in kinds.items()
        },
        "label": (own.label, own.is_tag),
        "length": next(n for n, least in enumerate([2, 3, 4, 5, 6, 8, 11, 99]) if j - i < least),
        "odds": np.floor(1.5 * np.log(mu / (1 - mu))),
        "best odds": np.floor(np.log(best / (1 - best))),
        "edges": (i == 0, j == len(words)),
        "tags": tuple(tags[at] for at in range(i, j)) if j - i <= 6 else None,
        "words": tuple(words[i:j]) if j - i <= 4 else None,
        "ends of parent": parent and (parent.first == i, parent.end == j),
    }


def every(parts: Parts) -> IntArray:
    return np.arange(len(parts.label))


def whole(words: list[str]) -> IntArray:
    """Where the only sentence begins and ends."""
    return np.array([0, len(words)])


def test_two_constituents_share_a_feature_if_and_only_if_its_values_are_the_same() -> None:
    """Of a few dozen names, at most one pair shares a bucket by chance."""
    words = ["walks", "looks", "Walks", "walked", "a", "looks", "talked", "a", "Walks"]
    parts = random_parts(np.random.default_rng(0), len(words))
    buckets = span_choices(parts, LABELS, words, whole(words), every(parts)).buckets
    rows = [named_values(parts, words, row) for row in range(len(buckets))]
    for template, numbers in zip(_TEMPLATES, buckets.T.tolist(), strict=True):
        names = [(row["label"], *(row[name] for name in template)) for row in rows]
        n_names = len(set(names))
        assert len(set(zip(names, numbers, strict=True))) == n_names > 3, template
        assert len(set(numbers)) >= n_names - 1, template


def test_templates_treat_both_ends_of_a_span_alike() -> None:
    """Of pairs of words and tags around and at the ends."""
    mirror = {"before": "after", "first": "last", "after": "before", "last": "first"}
    pairs = {
        frozenset(tuple(value.split()) for value in template)
        for template in _TEMPLATES
        if len(template) == 2 and all(value.split()[0] in ("word", "tag") for value in template)
        if all(value.split(maxsplit=1)[1] in mirror for value in template)
    }
    assert {frozenset((kind, mirror[place]) for kind, place in pair) for pair in pairs} == pairs
    assert len(set(_TEMPLATES)) == len(_TEMPLATES)


def test_training_finds_the_least_loss() -> None:
    rng = np.random.default_rng(2)
    words = ["a", "b", "c", "d"]
    parts = random_parts(rng, len(words))
    examples = span_choices(parts, LABELS, words, whole(words), every(parts), rng.random(len(parts.label)) < 0.5)
    model = SpanModel.train([examples], SpanOptions(penalty=0.5, iterations=500))
    _, gradient = choice_loss(examples, np.append(model.weights, model.slope), 0.5)
    assert abs(gradient).max() < 0.01  # weights are rounded to 11 binary digits
    assert model.share(examples)[examples.is_right].mean() > 0.7


@pytest.fixture(scope="module")
def trees() -> list[Phrase]:
    return list(toy_treebank(60))


@pytest.fixture(scope="module")
def parser(trees: list[Phrase]) -> ConstituencyModel:
    return ConstituencyModel.train(trees, [OPTIONS, replace(OPTIONS, binarisation=Binarisation("last"))])


def with_spans(parser: ConstituencyModel, spans: SpanModel | None, options: SpanOptions | None) -> ConstituencyModel:
    """Replace the model of spans, and the settings of all grammars for it."""

    def with_options(member: PhraseGrammar) -> PhraseGrammar:
        return replace(member, options=replace(member.options, spans=options))

    return replace(parser, members=tuple(map(with_options, parser.members)), spans=spans)


def test_constituents_below_the_least_posterior_keep_it(parser: ConstituencyModel, trees: list[Phrase]) -> None:
    words = list(trees[3].words())
    before = with_spans(parser, None, None).posteriors(words)
    after = with_spans(parser, SpanModel(2.0, np.ones(1 << 18)), SpanOptions(least=0.5, step=0.0)).posteriors(words)
    assert min(before.values()) < 0.5 < max(before.values())
    assert all(p > 0.999 if before[part] > 0.5 else p == before[part] for part, p in after.items())


def test_posteriors_are_those_of_the_model_of_spans(parser: ConstituencyModel, trees: list[Phrase]) -> None:
    words = list(trees[3].words())
    before = with_spans(parser, None, None).posteriors(words)
    after = parser.posteriors(words)
    assert parser.spans is not None
    assert before.keys() == after.keys() and before != after
    assert all(0.0 <= p <= 1.0 for p in after.values())
    plain = with_spans(parser, SpanModel.plain(), replace(SPANS, step=0.0)).posteriors(words)
    assert plain == pytest.approx(before, abs=2e-6)
    root = Constituent(0, len(words), trees[3].label, False)
    assert parser.part_posteriors([trees[3]])[0][-1] == after.get(root, 0.0)


def test_examples_are_the_likely_constituents_of_which_those_of_the_tree_are_right(
    parser: ConstituencyModel, trees: list[Phrase]
) -> None:
    options = SpanOptions(least=0.01)
    plain = with_spans(parser, None, None)
    for tree, examples in zip(trees[:10], parser.choices(trees[:10], options), strict=True):
        likely = {part for part, p in plain.posteriors(list(tree.words())).items() if p >= 0.01}
        of_tree = {part for part in likely if part in set(list_constituents(tree))}
        assert (len(examples.is_right), examples.is_right.sum()) == (len(likely), len(of_tree))


def test_grammars_that_lack_a_fold_know_nothing_of_its_rules_and_words(trees: list[Phrase]) -> None:
    options = ConstituencyOptions(EstimatorOptions("clusters-em", n_states=2))
    (whole,) = ConstituencyModel.train(trees, options).members
    odd = Phrase("S", (Phrase("NEW", ("unheard-of",)), Phrase("NEW", ("of",))))
    (larger,) = ConstituencyModel.train([*trees, odd], options).members
    (rest,) = prepare(trees, [options])
    for start in (whole, larger):
        member = estimate_again(rest, start)
        assert member.symbols == whole.symbols
        assert member.lexicon.words == whole.lexicon.words
        assert member.operators.rules.equals(whole.operators.rules)
        assert (ConstituencyModel((member,)).score(trees[:5]).sign == 1).all()
    assert larger.lexicon.words != whole.lexicon.words
