"""Models of spans: features against names, the loss against finite differences, and parsers with and without them."""

from dataclasses import replace
from pathlib import Path

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
from spectral_latent.constituency.spans import SpanModel, span_choices
from spectral_latent.constituency.training import prepare
from spectral_latent.constituency.tree import ChainLabels
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.grammar.parser import estimate_again
from spectral_latent.lexicon.choices import Choices, choice_loss
from spectral_latent.model.parts import Parts
from spectral_latent.trees import IntArray
from tests.toy import toy_treebank

SPANS = SpanOptions(folds=2, penalty=1.0, iterations=5)
OPTIONS = ConstituencyOptions(EstimatorOptions("clusters-em", n_states=2, iterations=1), spans=SPANS)
LABELS = ChainLabels([("N",), ("V",), ("NP",), ("S", "NP")])


def random_parts(rng: np.random.Generator, n: int) -> Parts:
    """Draw constituents over n words, the tags N and V of each word among them."""
    rows = [(i, i + 1, tag) for i in range(n) for tag in (0, 1)]
    rows += [(i, j, chain) for i in range(n) for j in range(i + 2, n + 1) for chain in (2, 3) if rng.random() < 0.7]
    first, end, chain = np.array(rows).T
    chains = Parts(np.zeros_like(first), first, end, chain, rng.uniform(0.01, 0.49, len(rows)))
    return LABELS.split(chains).parts


def named_features(parts: Parts, words: list[str], row: int) -> list[tuple[object, ...]]:
    """Name some features of a constituent, in plain Python: in the order of the first templates, then of all words."""
    every = list(zip(LABELS.named(parts), parts.posterior.tolist(), strict=True))
    own, mu = every[row]
    tags: dict[int, str] = {}
    for other, _ in sorted(every, key=lambda pair: pair[1]):
        if other.is_tag:
            tags[other.first] = other.label
    best = max(p for other, p in every if (other.first, other.end, other.is_tag) == (own.first, own.end, own.is_tag))
    length = own.end - own.first
    size = length if length < 6 else 6 if length < 8 else 7 if length < 11 else 8
    odds = np.floor(1.5 * np.log(mu / (1 - mu)))
    who = (own.label, own.is_tag)

    def word(place: int) -> str | None:
        return words[place] if 0 <= place < len(words) else None

    of_tags = tuple(tags[at] for at in range(own.first, own.end)) if length <= 6 else None
    of_words = tuple(words[own.first : own.end]) if length <= 4 else None
    return [
        who,
        (*who, size),
        (*who, odds),
        (*who, odds, np.floor(np.log(best / (1 - best)))),
        (*who, own.first == 0, own.end == len(words)),
        (*who, of_tags, size),
        (*who, of_words, size),
        *((*who, word(place)) for place in (own.first - 1, own.first, own.end - 1, own.end)),
    ]


def every(parts: Parts) -> IntArray:
    return np.arange(len(parts.label))


def whole(words: list[str]) -> IntArray:
    """Where the only sentence begins and ends."""
    return np.array([0, len(words)])


def test_two_constituents_share_a_feature_if_and_only_if_its_name_is_the_same() -> None:
    rng = np.random.default_rng(0)
    words = ["a", "b", "a", "c", "b", "a", "a", "b", "c"]
    parts = random_parts(rng, len(words))
    buckets = span_choices(parts, LABELS, words, whole(words), every(parts)).buckets
    rows = [named_features(parts, words, row) for row in range(len(buckets))]
    for template in range(len(rows[0])):
        names = [row[template] for row in rows]
        numbers = buckets[:, template].tolist()
        assert len(set(numbers)) == len(set(names)) == len(set(zip(names, numbers, strict=True)))
        assert len(set(names)) > 1


def test_the_gradient_is_that_of_finite_differences() -> None:
    rng = np.random.default_rng(1)
    size = 12
    buckets = rng.integers(size, size=(30, 5)).astype(np.int32)
    examples = Choices.alone(buckets, rng.normal(size=30), rng.random(30) < 0.5, rng.uniform(0.5, 2.0, 30))
    point = rng.normal(size=size + 1)
    value, gradient = choice_loss(examples, point, penalty=0.7)
    # The loss again, from its definition.
    score = point[:-1][buckets].sum(axis=1) + point[-1] * examples.log
    p = 1 / (1 + np.exp(-score))
    expected = -examples.times @ np.log(np.where(examples.is_right, p, 1 - p)) + 0.35 * (point[:-1] ** 2).sum()
    assert value == pytest.approx(expected)
    for at in range(size + 1):
        step = np.zeros(size + 1)
        step[at] = 1e-5
        ahead, behind = (choice_loss(examples, point + sign * step, 0.7)[0] for sign in (1, -1))
        assert gradient[at] == pytest.approx((ahead - behind) / 2e-5, abs=1e-6)


def test_training_finds_the_least_loss() -> None:
    rng = np.random.default_rng(2)
    words = ["a", "b", "c", "d"]
    parts = random_parts(rng, len(words))
    examples = span_choices(parts, LABELS, words, whole(words), every(parts), rng.random(len(parts.label)) < 0.5)
    model = SpanModel.train([examples], SpanOptions(penalty=0.5, iterations=500))
    _, gradient = choice_loss(examples, np.append(model.weights, model.slope), 0.5)
    assert abs(gradient).max() < 0.01  # weights are rounded to 11 binary digits
    assert model.share(examples)[examples.is_right].mean() > 0.7


def attachment(noun: str, at: str, to_verb: bool) -> Phrase:
    """Make a tree with a prepositional phrase that belongs to the verb or to the noun before it."""

    def leaf(tag: str, word: str) -> Phrase:
        return Phrase(tag, (word,))

    modifier = Phrase("PP", (leaf("IN", "with"), leaf("NN", noun)))
    seen = Phrase("NP", (leaf("NN", at),))
    inside = (seen, modifier) if to_verb else (Phrase("NP", (seen, modifier)),)
    return Phrase("S", (Phrase("NP", (leaf("PRP", "she"),)), Phrase("VP", (leaf("VBD", "saw"), *inside))))


def test_the_model_of_spans_sees_words_that_a_plain_grammar_cannot_see() -> None:
    objects = [f"thing{number}" for number in range(12)]
    trees = [attachment(noun, at, noun == "glasses") for at in objects for noun in ("glasses", "spots")]
    plain = replace(OPTIONS, estimator=EstimatorOptions("clustering", n_states=1), spans=None)
    right = {}
    for name, options in (("grammar", plain), ("spans", replace(plain, spans=SpanOptions(penalty=0.1)))):
        model = ConstituencyModel.train(trees, options)
        right[name] = sum(model.parse(list(tree.words())).tree == tree for tree in trees)
    assert right == {"grammar": 12, "spans": 24}


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


def test_trees_of_small_weight_have_a_derivation_in_every_fold(trees: list[Phrase]) -> None:
    odd = Phrase("S", (Phrase("NEW", ("the",)), Phrase("NEW", ("of",))))
    model = ConstituencyModel.train([*trees[:20], odd], OPTIONS, weights=[1.0] * 20 + [1e-6])
    assert model.score([odd]).sign == [1]


def test_a_tree_that_stands_for_two_counts_as_two() -> None:
    rng = np.random.default_rng(5)
    words = ["a", "b", "c"]
    parts = random_parts(rng, len(words))
    examples = span_choices(parts, LABELS, words, whole(words), every(parts), rng.random(len(parts.label)) < 0.5)
    point = rng.normal(size=(1 << 18) + 1)
    once, gradient = choice_loss(Choices.join([examples, examples]), point, 1.0)
    twice, other = choice_loss(examples.to_learn_from(2.0), point, 1.0)
    assert once == pytest.approx(twice)
    np.testing.assert_allclose(gradient, other, atol=1e-9)


def test_a_model_of_spans_serves_other_grammars(parser: ConstituencyModel, trees: list[Phrase], tmp_path: Path) -> None:
    """With the settings of their options, and after a file."""
    plain = ConstituencyModel.train(trees, replace(OPTIONS, spans=None))
    other = ConstituencyModel.train(trees, OPTIONS, spans=parser.spans)
    assert other.spans is parser.spans
    words = ["the", "dog", "sees", "a", "cat"]
    posteriors = with_spans(plain, parser.spans, SPANS).posteriors(words)
    assert other.posteriors(words) == posteriors != plain.posteriors(words)
    other.save(tmp_path / "model")
    assert ConstituencyModel.load(tmp_path / "model").posteriors(words) == posteriors


def test_wrong_settings_and_files_are_refused(parser: ConstituencyModel) -> None:
    with pytest.raises(ValueError, match="must have the same spans, not None and SpanOptions"):
        ConstituencyModel.train([], [replace(OPTIONS, spans=None), OPTIONS])
    with pytest.raises(ValueError, match="folds must be an integer of at least 2, not 1"):
        SpanOptions(folds=1)
    with pytest.raises(ValueError, match="the options have no `spans`"):
        ConstituencyModel.train([], replace(OPTIONS, spans=None), spans=parser.spans)
    for model, options in ((parser.spans, None), (None, SPANS)):
        with pytest.raises(ValueError, match="has a model of spans if its options have `spans`, and only then"):
            with_spans(parser, model, options)
    arrays, settings = parser.contents()
    with pytest.raises(ValueError, match=r"the array spans\.weights"):
        ConstituencyModel.from_contents((arrays | {"spans.weights": np.zeros(3)}, settings))
    with pytest.raises(ValueError, match=r"weights of a model of spans have shape \(3,\)"):
        SpanModel(1.0, np.zeros(3))
