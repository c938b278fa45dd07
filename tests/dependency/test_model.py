"""The dependency model from end to end."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.corpora import dependency_trees
from spectral_latent.dependency import (
    Attachment,
    DependencyModel,
    DependencyOptions,
    DependencySentence,
    HeadSymbol,
    prepare,
)
from spectral_latent.estimation import EstimationError, EstimatorOptions, estimate
from spectral_latent.evaluation import AttachmentScore, score_attachments
from spectral_latent.grammar import MarginalName
from spectral_latent.inference import SignedLog
from spectral_latent.lexicon import SpellingModel
from tests.dependency.trees import Heads, is_tree, projective_trees, random_tree
from tests.streams import Watch, make_shards

TREES = """
the/DT/2 dog/NN/3 sees/VBZ/0 a/DT/5 cat/NN/3 ././3
the/DT/2 dogs/NNS/3 see/VBP/0 cats/NNS/3 with/IN/3 telescopes/NNS/5 ././3
it/PRP/2 sleeps/VBZ/0 in/IN/2 the/DT/5 house/NN/3 of/IN/5 Mary/NNP/6 ././2
Mary/NNP/2 sleeps/VBZ/0 ././2
a/DT/2 hearing/NN/4 is/VBZ/4 scheduled/VBN/0 on/IN/2 it/PRP/5 today/NN/4 ././4
silence/NN/0
"""
CROSSING = 4  # "on it" hangs from the hearing


def read(text: str) -> list[DependencySentence]:
    """Trees of word/tag/head, one a line."""
    rows = [[token.split("/") for token in line.split()] for line in text.strip().splitlines()]
    return [
        DependencySentence.of([word for word, _, _ in row], [tag for _, tag, _ in row]).with_heads(
            tuple(int(head) for *_, head in row)
        )
        for row in rows
    ]


def plain(text: str) -> DependencySentence:
    """Words with tags, word/tag, or without."""
    tokens = [token.split("/") for token in text.split()]
    return DependencySentence.of([token[0] for token in tokens], [(*token, "_")[1] for token in tokens])


def numbers(weight: SignedLog) -> np.ndarray:
    return np.asarray(weight.sign * np.exp(weight.log))


@pytest.fixture(scope="module")
def trees() -> list[DependencySentence]:
    return read(TREES) * 5


@pytest.fixture(scope="module")
def model(trees: list[DependencySentence]) -> DependencyModel:
    return DependencyModel.train(trees, DependencyOptions(estimator=EstimatorOptions(n_states=4)))


def test_training_sentences_are_parsed_as_seen(model: DependencyModel, trees: list[DependencySentence]) -> None:
    for number, tree in enumerate(trees[:6]):
        parse = model.parse(tree)
        assert parse.tree.forms == tree.forms and parse.sign == 1
        assert parse.tree.is_projective()
        assert (parse.tree.heads == tree.heads) == (number != CROSSING)


# ---------------------------------------------------------------------------------------------------------------------
# Against the enumeration of all trees.  Random treebanks that have every rule and every word with every tag, so that no
# tree is left out of the forests.

WORDS = ["cat", "dog", "runs"]


def random_treebank(seed: int, n: int = 150) -> list[DependencySentence]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, n).tolist()
    return [
        DependencySentence.of(rng.choice(WORDS, size).tolist(), rng.choice(["A", "B"], size).tolist()).with_heads(
            random_tree(rng, size)
        )
        for size in sizes
    ]


UNPRUNED = DependencyOptions(threshold=0.0, beam=0.0, fragments=0.0, floor=None, estimator=EstimatorOptions(n_states=4))
VARIANTS = {
    "refined, left first": replace(UNPRUNED, attachment=Attachment("left")),
    "unrefined": replace(UNPRUNED, attachment=Attachment(symbols_have_tags=False)),
    "probabilities": replace(UNPRUNED, estimator=EstimatorOptions("clusters-em", n_states=3)),
}


@pytest.fixture(scope="module", params=VARIANTS)
def unpruned(request: pytest.FixtureRequest) -> DependencyModel:
    found = DependencyModel.train(random_treebank(0), VARIANTS[request.param])
    assert found.grammar.seen.all()
    return found


def signed(model: DependencyModel, name: MarginalName = "divided") -> DependencyModel:
    """The same model, whose posteriors keep their signs."""
    options = replace(model.options, marginals=name)
    return replace(model, members=(replace(model.grammar, options=options),))


def marginals_of(trees: Iterable[Heads], weights: Iterable[float], n: int) -> np.ndarray:
    mu = np.zeros((n + 1, n))
    for heads, weight in zip(trees, weights, strict=True):
        mu[heads, range(n)] += weight
    return mu


def sentence_of(rng: np.random.Generator, n: int) -> DependencySentence:
    """With a word never seen."""
    return DependencySentence.of(rng.choice([*WORDS, "unheard"], n).tolist(), rng.choice(["A", "B"], n).tolist())


def test_arc_marginals_and_totals_are_sums_of_scores(unpruned: DependencyModel) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 4, 5):
        sentence = sentence_of(rng, n)
        every = projective_trees(n)
        weights = numbers(unpruned.score(sentence.with_heads(heads) for heads in every))
        found, size = signed(unpruned).posteriors(sentence), np.abs(weights).sum()
        assert np.abs(found * weights.sum() - marginals_of(every, weights, n)).max() < 1e-10 * size
        np.testing.assert_array_equal(unpruned.posteriors(sentence), np.abs(found))
        undivided = signed(unpruned, "undivided").posteriors(sentence)
        np.testing.assert_array_equal(undivided, found * np.sign(weights.sum()))
        (log,) = unpruned.log_probabilities([sentence])
        assert np.exp(log) == pytest.approx(max(weights.sum(), 0.0), abs=1e-10 * size)
    assert unpruned.log_probabilities([]).shape == (0,)


def test_without_tags_marginals_are_sums_over_tags_too(unpruned: DependencyModel) -> None:
    rng = np.random.default_rng(2)
    for n in (1, 2, 3, 4):
        forms = rng.choice(WORDS, n).tolist()
        every = projective_trees(n)
        tags = (
            list(itertools.product("AB", repeat=n)) if unpruned.options.attachment.symbols_have_tags else [("_",) * n]
        )
        trees = [DependencySentence.of(forms, names).with_heads(heads) for heads in every for names in tags]
        weights = numbers(unpruned.score(trees)).reshape(len(every), len(tags)).sum(axis=1)
        found = signed(unpruned).posteriors(DependencySentence.of(forms))
        expected = marginals_of(every, weights, n)
        assert np.abs(found * weights.sum() - expected).max() < 1e-9 * np.abs(weights).sum()


def test_words_without_tags_get_the_likeliest() -> None:
    """By brute force over trees and tags; those given stay."""
    model, rng = DependencyModel.train(random_treebank(5), VARIANTS["probabilities"]), np.random.default_rng(5)
    for n in (1, 2, 3):
        forms = rng.choice(WORDS, n).tolist()
        every = list(itertools.product(projective_trees(n), itertools.product("AB", repeat=n)))
        trees = [DependencySentence.of(forms, names).with_heads(heads) for heads, names in every]
        for given_tags in ["_" * n, "A" + "_" * (n - 1)]:
            fits = [all(map(lambda g, t: g in ("_", t), given_tags, names)) for _, names in every]
            weights = numbers(model.score(trees)) * fits
            of_b = [sum(weights[[names[i] == "B" for _, names in every]]) for i in range(n)]
            expected = tuple("AB"[int(p > weights.sum() / 2)] for p in of_b)
            parse = model.parse(DependencySentence.of(forms, list(given_tags)))
            assert parse.tree.upos == expected
            assert parse.log == pytest.approx(model.score([parse.tree]).log[0])


def test_trees_of_many_sentences_have_the_posteriors_and_scores_that_each_has_alone(unpruned: DependencyModel) -> None:
    """More sentences than a batch has, and several trees of each, which need not follow each other."""
    rng = np.random.default_rng(8)
    sentences = [sentence_of(rng, n) for n in rng.integers(1, 5, 20)]
    trees = [each.with_heads(heads) for each in sentences for heads in projective_trees(len(each.forms))[:3]]
    trees = [trees[at] for at in rng.permutation(len(trees))]
    alone = [unpruned.part_posteriors([tree])[0].tolist() for tree in trees]
    assert [row.tolist() for row in unpruned.part_posteriors(trees)] == alone
    weights = [unpruned.score([tree]) for tree in trees]
    found = unpruned.score(trees)
    assert found.sign.tolist() == [int(weight.sign[0]) for weight in weights]
    np.testing.assert_allclose(found.log, [weight.log[0] for weight in weights], rtol=1e-12)


def test_posteriors_of_trees_are_under_their_own_tags(model: DependencyModel) -> None:
    """In any order, also where several words hang from the root; heads that are missing or no words are refused."""
    as_verb = plain("Mary/NNP house/VBZ ./.").with_heads((2, 0, 2))
    as_noun = plain("Mary/NNP house/NNP ./.").with_heads((0, 0, 2))
    one_by_one = [model.part_posteriors([tree])[0].tolist() for tree in (as_verb, as_noun)]
    assert one_by_one[0] != one_by_one[1]
    assert [row.tolist() for row in model.part_posteriors([as_verb, as_noun])] == one_by_one
    assert [row.tolist() for row in model.part_posteriors([as_noun, as_verb])] == one_by_one[::-1]
    with pytest.raises(EstimationError, match=r"sentence 2 .* has no heads"):
        model.part_posteriors([as_verb, as_noun.without_tree()])
    with pytest.raises(EstimationError, match="word 1: head 4 is neither 0 nor a word of it"):
        model.part_posteriors([as_verb.with_heads((4, 0, 2))])


def best(mu: np.ndarray, trees: Iterable[Heads]) -> tuple[float, Heads]:
    """Of the trees whose arcs all have a marginal, that of the largest sum."""
    weights = np.where(np.abs(mu) > 1e-8, np.abs(mu), -np.inf)
    return max((float(weights[heads, range(len(heads))].sum()), heads) for heads in trees)


@pytest.mark.parametrize("given_tags", [True, False])
def test_parses_are_the_trees_of_least_risk(unpruned: DependencyModel, given_tags: bool) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 3, 4):
        sentence = sentence_of(rng, n) if given_tags else DependencySentence.of(rng.choice(WORDS, n).tolist())
        mu = unpruned.posteriors(sentence)
        spanning = [heads for heads in itertools.product(range(n + 1), repeat=n) if is_tree(heads)]
        assert unpruned.parse(sentence).tree.heads == best(mu, projective_trees(n))[1]
        assert unpruned.parse(sentence, projective=False).tree.heads == best(mu, spanning)[1]
        found = [parse.tree.heads for parse in unpruned.parse_nbest(sentence, 6)]
        sums = [float(np.abs(mu)[heads, range(n)].sum()) for heads in found if heads is not None]
        assert found[0] == unpruned.parse(sentence).tree.heads
        assert len(set(found)) == len(found) == min(6, len(projective_trees(n)))
        assert sums == sorted(sums, reverse=True)


@pytest.mark.parametrize("name", ["absolute", "divided", "undivided"])
def test_marginals_are_taken_by_absolute_value_unless_asked_otherwise(name: MarginalName) -> None:
    """Where their signs count, arcs of negative marginals are in no tree."""
    noisy = EstimatorOptions(n_states=8, smoothing=None, scaling=None, cutoff=1e-4)
    model = DependencyModel.train(random_treebank(2), replace(UNPRUNED, marginals=name, estimator=noisy))
    rng, n_negative = np.random.default_rng(4), 0
    for _ in range(5):
        sentence = sentence_of(rng, 4)
        weights = model.posteriors(sentence)
        n_negative += np.count_nonzero(signed(model).posteriors(sentence) < -1e-8)
        possible = {heads for heads in projective_trees(4) if weights[heads, range(4)].min() > 1e-8}
        assert {parse.tree.heads for parse in model.parse_nbest(sentence, 100)} == possible
        assert model.parse(sentence).tree.heads == best(np.maximum(weights, 0.0), possible)[1]
        (row,) = model.part_posteriors([sentence.with_heads((0, 1, 2, 3))])
        assert row.tolist() == weights[range(4), range(4)].tolist()
    assert n_negative > 5


# ---------------------------------------------------------------------------------------------------------------------
# Scores


def test_trees_that_are_not_projective_are_learnt_from_and_scored(
    model: DependencyModel, trees: list[DependencySentence]
) -> None:
    crossing = trees[CROSSING]
    assert not crossing.is_projective()
    assert crossing.heads is not None
    straight = crossing.with_heads((2, 4, 4, 0, 4, 5, 4, 4))
    weight = model.score([crossing, straight])
    assert weight.sign.tolist() == [1, 1] and weight.log[0] > weight.log[1]
    assert model.parse(crossing).tree.is_projective()


def test_a_tree_with_a_tag_never_seen_has_weight_zero(model: DependencyModel) -> None:
    weight = model.score(read("\n".join(f"Mary/{tag}/2 sleeps/VBZ/0 ././2" for tag in ("NEW", "NNP", "_"))))
    np.testing.assert_array_equal(weight.sign, [0, 1, 0])


def test_arcs_never_seen_have_some_weight_unless_none_are_counted(trees: list[DependencySentence]) -> None:
    rare = read("Mary/NNP/2 sleeps/VBZ/0 Mary/NNP/2 ././2")
    for unseen, sign in ((0.5, 1), (0.0, 0)):
        (training,) = prepare(trees, [DependencyOptions(estimator=EstimatorOptions(n_states=2), unseen=unseen)])
        assert training.coarse.score(rare).sign.tolist() == [sign]


@pytest.mark.parametrize("attachment", [Attachment("left"), Attachment(symbols_have_tags=False)])
def test_rules_never_seen_are_counted_as_a_loop_over_nodes_counts_them(
    attachment: Attachment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts are of rules, of all shards; the loop looks at the label and side of every dependant."""
    make_shards(monkeypatch, 60, in_files=False)
    options = DependencyOptions(attachment=attachment, unseen=0.75)
    (training,) = prepare(random_treebank(3), [options])
    labels, found = training.coarse.symbols, training.treebank.priors.rules
    assert found is not None and len(training.treebank.shards) > 5
    counts: dict[str, Counter[HeadSymbol]] = {"left": Counter(), "right": Counter()}
    for sentence in random_treebank(3):
        for word, head in enumerate(sentence.heads or (), start=1):
            if head:
                tag = sentence.xpos[word - 1] if attachment.symbols_have_tags else ""
                counts["left" if word < head else "right"][HeadSymbol(tag, "complete")] += 1
    weights: dict[HeadSymbol, dict[tuple[HeadSymbol, ...], float]] = defaultdict(dict)
    for number in found.rules.binary.tolist():
        rule = tuple(labels[symbol] for symbol in number)
        side, dependant = ("left", rule[1]) if rule[1].role == "complete" else ("right", rule[2])
        assert dependant.role == "complete"
        weights[rule[0]][rule] = counts[side][dependant] / sum(counts[side].values())
    total = {parent: sum(of_parent.values()) for parent, of_parent in weights.items()}
    for number, count in zip(found.rules.binary.tolist(), found.binary.data.tolist(), strict=True):
        rule = tuple(labels[symbol] for symbol in number)
        assert count == pytest.approx(0.75 * weights[rule[0]][rule] / total[rule[0]])
    assert set(total) == {labels[a] for a in training.treebank.counts.rules.binary[:, 0].tolist()}


def test_floored_scores_are_positive_where_the_coarse_grammar_has_the_tree() -> None:
    """Of random trees, some of which have negative estimates."""
    every, signs = random_treebank(1), []
    for floor in (0.01, None):
        options = DependencyOptions(estimator=EstimatorOptions(n_states=8, smoothing=None), floor=floor)
        (training,) = prepare(random_treebank(0), [options])
        signs.append(training.estimate().score(every).sign)
    np.testing.assert_array_equal(signs[0], training.coarse.score(every).sign)
    assert (signs[0] >= 0).all() and (signs[1] < 0).any()


# ---------------------------------------------------------------------------------------------------------------------
# Words and tags


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["the", "dog", "(", "Zürich", "東京", "3.14", "\x00", "a b", "_"]),
            st.sampled_from(["DT", "NN", "VBZ", "_", "NEW"]),
        ),
        min_size=1,
        max_size=7,
    )
)
def test_every_sentence_gets_a_projective_tree_over_its_words(
    model: DependencyModel, tokens: list[tuple[str, str]]
) -> None:
    """Words seen or not, with tags seen or not, or with tags that they never had."""
    sentence = DependencySentence.of([word for word, _ in tokens], [tag for _, tag in tokens])
    for parse in (model.parse(sentence), *model.parse_nbest(sentence, 3)):
        assert parse.tree.forms == sentence.forms
        for tag, found in zip(sentence.upos, parse.tree.upos, strict=True):
            assert found == tag if tag != "_" else found in model.grammar.tags
        assert parse.tree.is_projective() and len(parse.tree.roots) == 1
        assert not parse.is_fallback
    assert is_tree(model.parse(sentence, projective=False).tree.heads or ())


def tagged(columns: dict[str, str]) -> DependencySentence:
    sentence = DependencySentence.of(["a", "b"]).with_heads((2, 0))
    return sentence._replace(**{name: tuple(tags.split()) for name, tags in columns.items()})


def test_the_first_word_opens_a_sentence_wherever_its_leaf_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spelling is told; crossing arcs put leaves in another order than words."""
    train, told = SpellingModel.train, list[tuple[str, bool]]()

    def spy(words: list[str], terminal: Any, symbol: Any, counts: Any, opens: Any, n_symbols: int) -> SpellingModel:
        told.extend((words[x], bool(first)) for x, first in zip(terminal, opens, strict=True))
        return train(words, terminal, symbol, counts, opens, n_symbols)

    monkeypatch.setattr(SpellingModel, "train", spy)
    DependencyModel.train(read("a/X/3 b/X/4 c/X/4 d/X/0\ne/X/2 f/X/0"))
    assert sorted(told) == [("a", True), ("b", False), ("c", False), ("d", False), ("e", True), ("f", False)]
    assert [word for word, _ in told][:4] != ["a", "b", "c", "d"]


def test_the_other_column_of_tags_is_used_where_one_is_blank() -> None:
    model = DependencyModel.train([tagged({"upos": "X Y"})] * 3)
    assert model.options.tags == "upos" and model.grammar.tags == ["X", "Y"]
    both = tagged({"upos": "X Y", "xpos": "V W"})
    assert DependencyModel.train([both]).grammar.tags == ["X", "Y"]
    assert DependencyModel.train([both], DependencyOptions(tags="xpos")).grammar.tags == ["V", "W"]
    assert DependencyModel.train([tagged({"xpos": "V W"})]).options.tags == "xpos"
    nothing = DependencyModel.train([tagged({})] * 3)
    assert nothing.grammar.tags == ["_"] and nothing.parse(tagged({})).sign == 1


@pytest.mark.parametrize(
    ("rows", "column", "tags", "gaps"),
    [
        ([{"upos": "X Y", "xpos": "V W"}, {"upos": "X _", "xpos": "V W"}], "upos", "W X Y", 1),
        ([{}, {"upos": "Y _", "xpos": "V W"}], "upos", "W X Y", 3),
        ([{"xpos": "V W"}, {"upos": "A B", "xpos": "V _"}], "xpos", "B V W", 1),
    ],
)
def test_the_first_tags_decide_the_column_and_gaps_are_filled(
    rows: list[dict[str, str]], column: str, tags: str, gaps: int
) -> None:
    """From the other column, or with X; also if the treebank is read only once."""
    with pytest.warns(UserWarning, match=rf"words without an {column} tag: {gaps} of 4, such as") as caught:
        model = DependencyModel.train(tagged(row) for row in rows)
    assert (len(caught), model.options.tags, model.grammar.tags) == (1, column, tags.split())


def test_a_word_is_parsed_with_the_tag_that_it_was_learned_with() -> None:
    """A gap in the column is filled from the other column in parsing and in scores as in training."""
    gap = tagged({"upos": "X _", "xpos": "V W"})
    with pytest.warns(UserWarning, match="1 of 4"):
        model = DependencyModel.train([tagged({"upos": "X Y", "xpos": "V W"}), gap])
    assert model.unknown_tags(gap) == []
    assert model.score([gap]).sign == [1]
    assert model.log_probabilities([gap]) == pytest.approx(model.log_probabilities([tagged({"upos": "X W"})]))
    assert model.parse(gap.without_tree()).tree.upos == ("X", "W")


def test_tags_may_take_the_place_of_words(trees: list[DependencySentence]) -> None:
    model = DependencyModel.train(trees, DependencyOptions(words="upos"))
    one, other = plain("the/DT dog/NN sees/VBZ a/DT cat/NN"), plain("these/DT are/NN other/VBZ words/DT here/NN")
    np.testing.assert_array_equal(model.posteriors(one), model.posteriors(other))
    assert model.parse(other).tree.heads == (2, 3, 0, 5, 3)
    assert model.score([model.parse(other).tree]).sign.tolist() == [1]


# ---------------------------------------------------------------------------------------------------------------------
# Edges


def test_a_sentence_beyond_the_grammar_is_a_marked_flat_tree() -> None:
    alone = DependencyModel.train(read("yes/UH/0\nno/UH/0"))
    assert alone.parse(plain("yes/UH")).tree.heads == (0,)
    for parse in (
        alone.parse(plain("yes/UH no/UH yes")),
        alone.parse(plain("yes no yes"), projective=False),
        alone.parse_nbest(plain("yes/UH no/UH yes/UH"), 4)[0],
    ):
        assert parse.is_fallback and (parse.sign, parse.log) == (0, -np.inf)
        assert parse.tree.heads == (0, 1, 1)
    assert not alone.posteriors(plain("yes no")).any()
    assert [row.tolist() for row in alone.part_posteriors(read("yes/UH/0 no/UH/1"))] == [[0.0, 0.0]]


def test_long_sentences_neither_under_nor_overflow(model: DependencyModel) -> None:
    long = plain("the/DT dog/NN sees/VBZ " + " ".join(f"a/DT new{i}/NN of/IN" for i in range(82)) + " Mary/NNP")
    assert len(long.forms) == 250
    parse = model.parse(long)
    assert parse.tree.is_projective() and not parse.is_fallback
    assert parse.sign == 1 and np.isfinite(parse.log) and parse.log < -700
    mu = model.posteriors(long)
    np.testing.assert_allclose(mu.sum(axis=0), 1.0, atol=1e-8)


def test_all_crossing_trees_are_parsed_as_each_one(model: DependencyModel, trees: list[DependencySentence]) -> None:
    sentences = [*(tree.without_tree() for tree in trees[:6]), plain("the dog sleeps"), plain("x/?? y/??")]
    together = model.parse_all(sentences, projective=False, jobs=2)
    assert [first for first, *_ in together] == [model.parse(each, projective=False) for each in sentences]
    with pytest.raises(ValueError, match=r"n_best must be 1 .* not 2"):
        model.parse_all(sentences, 2, projective=False)


def test_bad_requests_are_refused(model: DependencyModel) -> None:
    for call in (model.posteriors, lambda sentence: model.parse_nbest(sentence, 2)):
        with pytest.raises(ValueError, match="empty sentence"):
            call(DependencySentence.of([]))
    for heads, message in ((None, "has no heads"), ((2, 1), "cycle"), ((0, 3), "head 3 is"), ((0, 0), "2 roots")):
        with pytest.raises(EstimationError, match=rf"sentence 2 \(a b\).* {message}"):
            DependencyModel.train([tagged({}), tagged({}).with_heads(heads)])
        with pytest.raises(EstimationError, match=message):
            model.score([tagged({}).with_heads(heads)])


# ---------------------------------------------------------------------------------------------------------------------
# Files and processes


def test_a_treebank_that_is_read_is_not_held(trees: list[DependencySentence], monkeypatch: pytest.MonkeyPatch) -> None:
    """But for a shard of it, and the first sentence."""
    watch = Watch()
    make_shards(monkeypatch, 60, in_files=False)
    model = DependencyModel.train(watch.stream(trees * 4), DependencyOptions(estimator=EstimatorOptions(n_states=2)))
    assert watch.read == 4 * len(trees) and watch.most <= 10
    assert model.score(trees[:1]).sign.tolist() == [1]


def test_errors_number_sentences_of_all_shards(
    trees: list[DependencySentence], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_shards(monkeypatch, 40, in_files=False)
    broken = [*trees[:20], trees[0].with_heads((2, 1, 0, 5, 3, 3)), *trees]
    with pytest.raises(EstimationError, match=r"sentence 21 \(the dog sees a cat \.\): its heads make a cycle"):
        DependencyModel.train(iter(broken))


# ---------------------------------------------------------------------------------------------------------------------
# A treebank


def parsed(model: DependencyModel, gold: list[DependencySentence]) -> AttachmentScore:
    """Score the parses of every fourth sentence, whose tags are given."""
    parses = model.parse_all(tree.without_tree() for tree in gold[::4])
    return score_attachments(gold[::4], [parse.tree for parse, *_ in parses])


@pytest.mark.corpus
def test_treebank_sample_dev_floor(require_corpus: Callable[[str], Any]) -> None:
    """Guards the attachment of words without labels, which this treebank lacks; measured 85.6 and 87.5.

    0.7 % of the trees have a head that was never seen to have its children on such sides; the plain grammar lacks them.
    """
    require_corpus("dependency_treebank")
    (training,) = prepare(dependency_trees("nltk:dependency_treebank:train"), [DependencyOptions()])
    dev = list(dependency_trees("nltk:dependency_treebank:dev"))
    spectral, em = (
        DependencyModel((training.coarse.with_operators(estimate(training.treebank, options).operators),))
        for options in (EstimatorOptions(), EstimatorOptions("clusters-em", smoothing=5.0))
    )
    weight, least = spectral.score(dev), training.coarse.score(dev)
    assert np.mean(weight.sign <= 0) <= 0.01
    both = (weight.sign > 0) & (least.sign > 0)
    assert weight.log[both].sum() > least.log[both].sum()
    assert parsed(spectral, dev).uas_no_punctuation >= 85.2
    assert parsed(em, dev).uas_no_punctuation >= 87.1


def test_english_web_treebank_dev_floor(shared_file: Callable[[str], Path]) -> None:
    """Guards attachment with labels, by default options from the first 2,000 sentences; measured 80.3 and 77.2."""
    train, dev = (dependency_trees(shared_file(f"ud/en_ewt/en_ewt-ud-{part}.conllu")) for part in ("train", "dev"))
    found = parsed(DependencyModel.train(itertools.islice(train, 2000)), list(dev))
    assert found.uas >= 79.8
    assert found.las >= 76.7
