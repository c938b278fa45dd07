"""Every verb of every model against another verb, and against the enumeration of all trees of a few words.

Settings are the default ones, so that charts are pruned as users' charts are.  The trees of an input are all that an
n-best list without an end has; their probabilities are those that `score` gives to trees that come from outside.
"""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from spectral_latent.model import Partial
from tests.conformance.treebank import WORDS
from tests.identities.subjects import ROWS, SENTENCES, SUBJECTS, UNPRUNED, Parts, Subject

MANY = 10_000
PRUNED = 2e-3  # nats that pruned charts may lose of log p, and posteriors may differ by
by_subject = pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
by_sentence = pytest.mark.parametrize("words", SENTENCES, ids=" ".join)


def enumerate_trees(subject: Subject, words: list[str], constraints: Any = None) -> tuple[list[Any], np.ndarray]:
    """List all trees of an input, and their probabilities; there are none if the model derives none."""
    parses = subject.model.parse_nbest(subject.given(words), MANY, constraints=constraints)
    trees = [parse.tree for parse in parses if not parse.is_fallback]
    weight = subject.model.score(trees)
    return trees, weight.sign * np.exp(weight.log)


def share_by_part(subject: Subject, trees: list[Any], p: np.ndarray) -> Parts:
    """Compute the share of the probability of all trees that the trees with each part have."""
    shares: Counter[Any] = Counter()
    for tree, share in zip(trees, p / p.sum(), strict=True):
        for part in subject.parts(tree):
            shares[part] += share
    return dict(shares)


@by_subject
@by_sentence
def test_trees_share_the_probability_of_their_input(subject: Subject, words: list[str]) -> None:
    """Σ p(tree) = p(words), and no tree is likelier than its input; pruned charts and lists lose a little."""
    _, p = enumerate_trees(subject, words)
    (log,) = subject.model.log_probabilities([subject.given(words)])
    assert np.log(p.sum()) == pytest.approx(log, abs=PRUNED)
    assert np.log(p.max()) <= log + PRUNED


@by_subject
@by_sentence
def test_posteriors_are_shares_of_the_trees_with_a_part(subject: Subject, words: list[str]) -> None:
    """μ(part) = Σ p(tree) / p(words) over the trees with the part; what no tree has is unlikely."""
    shares = share_by_part(subject, *enumerate_trees(subject, words))
    posteriors = subject.posteriors(subject.model, words)
    for part in {*shares, *posteriors}:
        assert posteriors.get(part, 0.0) == pytest.approx(shares.get(part, 0.0), abs=PRUNED), part


@by_subject
def test_parts_of_trees_have_their_posteriors(subject: Subject) -> None:
    """Of many trees at once as of each alone, and as of all parts of the input."""
    if subject.name.startswith("tags"):
        pytest.skip("taggers have the posteriors of all tags alone")
    model = subject.model
    trees = [parse.tree for words in SENTENCES for parse in model.parse_nbest(subject.given(words), 3)]
    found = model.part_posteriors(trees)
    for tree, row in zip(trees, found, strict=True):
        np.testing.assert_array_equal(row, model.part_posteriors([tree])[0])
        posteriors = subject.posteriors(model, subject.words(tree))
        expected = [posteriors.get(part, 0.0) for part in subject.parts(tree)]
        np.testing.assert_allclose(sorted(row), sorted(expected), atol=PRUNED)


def quotients(subject: Subject, words: list[str]) -> Parts:
    """Sum exp(score) / exp(log p) over the trees with each part."""
    trees, p = enumerate_trees(subject, words)
    (log,) = subject.model.log_probabilities([subject.given(words)])
    shares: Counter[Any] = Counter()
    for tree, each in zip(trees, p, strict=True):
        for part in subject.parts(tree):
            shares[part] += each / np.exp(log)
    return dict(shares)


@pytest.mark.parametrize("subject", UNPRUNED, ids=lambda subject: subject.name)
@by_sentence
def test_posteriors_scores_and_sums_are_one_model(subject: Subject, words: list[str]) -> None:
    """Without pruning they differ by rounding alone, but for unlikely tags, which are left out."""
    found, posteriors = quotients(subject, words), subject.posteriors(subject.model, words)
    bound = 1e-5 if subject.name.startswith("tags") else 1e-9
    for part in {*found, *posteriors}:
        assert posteriors.get(part, 0.0) == pytest.approx(found.get(part, 0.0), abs=bound), part


@by_sentence
def test_rows_of_children_only_add_to_the_scores_of_trees(words: list[str]) -> None:
    """Charts lack the derivations with rows, which `score` adds; at most a tenth of each phrase's probability."""
    found, posteriors = quotients(ROWS, words), ROWS.posteriors(ROWS.model, words)
    for part, posterior in posteriors.items():
        assert posterior <= found.get(part, 0.0) + 1e-9
    assert max(found.values()) < 1.1


@by_subject
@by_sentence
def test_surprisals_add_up_to_the_probability(subject: Subject, words: list[str]) -> None:
    """Charts of prefixes are pruned by themselves, so that the sum differs as much as a pruned chart does."""
    found = subject.model.surprisal(subject.given(words), "nats")
    (log,) = subject.model.log_probabilities([subject.given(words)])
    assert found.sentence == pytest.approx(-log, abs=PRUNED)
    np.testing.assert_allclose(found.total, found.lexical + found.syntactic, atol=1e-9)


@by_subject
@by_sentence
def test_n_best_lists_are_sorted_distinct_and_begin_alike(subject: Subject, words: list[str]) -> None:
    """A shorter list begins the longer one; the order is that of the expected number of right parts."""
    model, given = subject.model, subject.given(words)
    parses = model.parse_nbest(given, MANY)
    trees = [parse.tree for parse in parses]
    assert len(set(map(str, trees))) == len(trees)
    assert [subject.words(tree) for tree in trees] == [words] * len(trees)
    posteriors = subject.posteriors(model, words)
    gains = [sum(posteriors.get(part, 0.0) for part in subject.parts(tree)) for tree in trees]
    assert gains == sorted(gains, reverse=True) or subject.name.startswith("phrases")  # which weigh labels, too
    for k in (1, 2):
        assert [parse.tree for parse in model.parse_nbest(given, k)] == trees[:k]
    weight = model.score(trees)
    np.testing.assert_allclose([parse.log for parse in parses], weight.log, rtol=1e-6)


@by_subject
def test_one_is_many(subject: Subject) -> None:
    """Every verb that parses gives the same trees with the same probabilities, alone and together."""
    model, inputs = subject.model, [subject.given(words) for words in SENTENCES]
    alone = [model.parse(given) for given in inputs]
    for parses in (
        [model.parse_nbest(given, 1)[0] for given in inputs],
        [parses[0] for parses in model.parse_all(inputs)],
        [parses[0] for parses in model.parse_all(iter(inputs), 2)],
    ):
        assert [parse.tree for parse in parses] == [parse.tree for parse in alone]
        np.testing.assert_allclose([parse.log for parse in parses], [parse.log for parse in alone], rtol=1e-9)
    for without_score, (best, *_) in zip(model.parse_all(inputs, scored=False), model.parse_all(inputs), strict=True):
        assert without_score[0].tree == best.tree and np.isnan(without_score[0].log)
    together = model.log_probabilities(inputs)
    np.testing.assert_allclose([model.log_probabilities([given])[0] for given in inputs], together, rtol=1e-9)


@by_subject
@by_sentence
def test_constraints_filter_the_trees(subject: Subject, words: list[str]) -> None:
    """With a required part, the trees are those that have it, in charts that are pruned by default."""
    trees, p = enumerate_trees(subject, words)
    for part in sorted(share_by_part(subject, trees, p), key=str):
        constraints = subject.requiring(part, len(words))
        found, q = enumerate_trees(subject, words, constraints)
        wanted = {str(tree): share for tree, share in zip(trees, p, strict=True) if part in subject.parts(tree)}
        assert all(part in subject.parts(tree) for tree in found), part
        assert set(map(str, found)) >= {tree for tree, share in wanted.items() if share > PRUNED * p.sum()}, part
        assert q.sum() == pytest.approx(sum(wanted.values()), rel=PRUNED), part
        assert part in subject.parts(subject.model.parse(subject.given(words), constraints=constraints).tree)


@by_subject
def test_samples_have_the_probabilities_of_inputs(subject: Subject) -> None:
    """All words are known; of 800 samples, the shares of short inputs differ from p by at most 4.5 standard errors."""
    n = 800
    drawn = subject.model.sample(n, np.random.default_rng(3))
    counts = Counter(tuple(subject.words(tree)) for tree in drawn)
    assert {word for words in counts for word in words} <= {word for words in WORDS.values() for word in words}
    common = [words for words, count in counts.most_common(8) if len(words) <= 5]
    logs = subject.model.log_probabilities([subject.given(words) for words in common])
    for words, log in zip(common, logs, strict=True):
        p = np.exp(log)
        assert abs(counts[words] / n - p) <= 4.5 * np.sqrt(p / n), words


@by_subject
def test_two_members_are_averaged(subject: Subject) -> None:
    """p of a model is the mean of the p of its members, of inputs and of trees."""
    model = subject.model
    inputs = [subject.given(words) for words in SENTENCES]
    alone = [type(model)((member,)) for member in model.members] if len(model.members) > 1 else [model]
    trees = [model.parse(given).tree for given in inputs]
    for verb in (lambda each: each.log_probabilities(inputs), lambda each: each.score(trees).log):
        mean = np.logaddexp.reduce([verb(each) for each in alone]) - np.log(len(alone))
        np.testing.assert_allclose(verb(model), mean, rtol=1e-9)


@by_subject
def test_an_input_of_a_partial_is_that_of_its_constraints(subject: Subject) -> None:
    """A `Partial` and the argument `constraints` are one thing."""
    if subject.name.startswith("tags"):
        pytest.skip("taggers take constraints as an argument alone")
    words = SENTENCES[0]
    part = sorted(subject.parts(subject.model.parse(subject.given(words)).tree), key=str)[0]
    constraints = subject.requiring(part, len(words))
    of_partial = subject.model.parse(Partial(subject.given(words), constraints))
    assert of_partial == subject.model.parse(subject.given(words), constraints=constraints)
