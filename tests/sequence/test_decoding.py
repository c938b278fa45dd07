"""Tags against the enumeration of all paths."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spectral_latent.sequence.decoding import TagCharts, likely_rules, tag_matrix
from spectral_latent.trees import FloatArray
from tests.sequence.hmms import TaggedModel, pair_marginals, random_tagged, tag_marginals

K, N = 3, 4
seeds = st.integers(0, 2**32 - 1)
strings = st.lists(st.integers(0, N - 1), min_size=1, max_size=5)


def unpruned(model: TaggedModel, rows: list[list[int]], coarse: TaggedModel | None = None) -> TagCharts:
    both = (coarse or model).operators(), model.operators()
    return TagCharts.prune(both, np.concatenate(rows), np.cumsum([0, *map(len, rows)]))


def posteriors(of: TagCharts) -> FloatArray:
    """(N, K)"""
    return tag_matrix(of.parts(), [range(n) for n in np.diff(of.start)], K)


def chain(weights: dict[tuple[int, ...], float], tags: tuple[int, ...]) -> float:
    """μ(1, t_1) Π μ(i, t_i, t_{i+1}) / μ(i, t_i); |μ| of pairs, and of single tags the sums of these."""
    if len(tags) == 1:
        single = np.abs(tag_marginals(weights, K)[0])
        return float(single[tags[0]] / single.sum())
    pairs = {key: abs(mu) for key, mu in pair_marginals(weights).items()}
    p = sum(pairs[0, tags[0], u] for u in range(K)) / sum(pairs[0, t, u] for t in range(K) for u in range(K))
    for i, (t, u) in enumerate(itertools.pairwise(tags)):
        p *= pairs[i, t, u] / sum(pairs[i, t, v] for v in range(K))
    return p


@settings(max_examples=30)
@given(seeds, strings, st.booleans())
def test_tags_with_states_have_the_marginals_of_all_paths(seed: int, x: list[int], proper: bool) -> None:
    model = random_tagged(np.random.default_rng(seed), K, 2, N, proper=proper)
    weights = model.paths(x)
    assume(abs(sum(weights.values())) > 1e-3 * sum(map(abs, weights.values())))
    of_x = unpruned(model, [x], random_tagged(np.random.default_rng(seed), K, 1, N))
    found = posteriors(of_x)
    expected = np.abs(tag_marginals(weights, K))
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), rtol=1e-7, atol=1e-9)
    scores = {tags: chain(weights, tags) for tags in weights}
    k_best = of_x.paths(5)
    np.testing.assert_allclose(
        [np.exp(log) for _, log in k_best], sorted(scores.values(), reverse=True)[:5], rtol=1e-6, atol=1e-12
    )
    for tags, log in k_best:
        assert scores[tuple(tags.tolist())] == pytest.approx(np.exp(log), rel=1e-6, abs=1e-12)


@settings(max_examples=30)
@given(seeds, strings, st.sampled_from([0.0, 1e-3, 0.2, 1.0]), st.sampled_from([0.0, 1e-3, 0.2, 1.0]))
def test_pruning_leaves_what_the_coarse_model_holds_likely(
    seed: int, x: list[int], beam: float, threshold: float
) -> None:
    coarse = random_tagged(np.random.default_rng(seed), K, 1, N)
    latent = random_tagged(np.random.default_rng(seed + 1), K, 2, N)
    prior = np.random.default_rng(seed).dirichlet(np.ones(K))
    likely = likely_rules(coarse.operators(), prior, beam)
    both = coarse.operators(), latent.operators()
    of_x = TagCharts.prune(both, np.array(x), np.array([0, len(x)]), likely=likely, threshold=threshold)
    joint = prior[:, None] * coarse.emission[:, :, 0]  # of tag and observation
    is_likely = joint >= beam * joint.max(axis=0)
    left = {
        tags: p for tags, p in coarse.paths(x).items() if all(is_likely[t, s] for t, s in zip(tags, x, strict=True))
    }
    mu = tag_marginals(left, K)
    keep = (mu >= threshold * mu.max(axis=1, keepdims=True)) & is_likely[:, x].T
    margin = np.abs(mu - threshold * mu.max(axis=1, keepdims=True))
    assume(threshold in (0.0, 1.0) or margin.min() > 1e-9)
    pruned = of_x.candidates
    candidates = set(zip(pruned.position.tolist(), pruned.tag.tolist(), strict=True))
    assert candidates == {(i, t) for i, t in zip(*np.nonzero(keep), strict=True)}
    weights = {tags: p for tags, p in latent.paths(x).items() if all((i, t) in candidates for i, t in enumerate(tags))}
    found = posteriors(of_x)
    np.testing.assert_allclose(found, tag_marginals(weights, K), atol=1e-9)
