"""Recover the states of symbols from spectral moments: by pivots, or by tensor decompositions.

Pivots (Cohen and Collins 2014) are found as anchors (Arora et al. 2013; Stratos et al. 2016).  The estimator assumes
that every state has a pivot: an inside feature that occurs in no other state of its symbol.

| here | papers | meaning |
| --- | --- | --- |
| Vᵀψ = σ ∘ z | Vᵀψ(o) | the outside tree of a node in m dimensions |
| `rows[i]` | Ω_i (Stratos et al., equation 3) | E[Vᵀψ \\| inside feature i] = Σ_h p(h \\| i) E[Vᵀψ \\| h] |
| `mixtures[i]` | O_i (Proposition 4.1) | p(h \\| i); the corners of the rows' hull are the rows of pivots |
| `corners` | Θ (Proposition 4.1); (K^a)ᵀ (long paper) | E[Vᵀψ \\| h], a row per state |
| `gamma[h]` | π̄_h (Stratos et al., equation 4); γ^a_h (long paper) | p(h \\| a) = Σ_i p(h \\| i) p(i) |
| `x` | (G^a)⁻¹ y | from Σ^a = G^a diag(γ) (K^a)ᵀ (long paper, equation 19), and Σ^a = diag(σ) |
| `w` | (K^a)⁻¹ Vᵀψ | coordinates with respect to the corners; E[x \\| h] = E[w \\| h] = e_h |
| Σ w ⊗ x₂ ⊗ x₃ | - | the expected count of a rule with each choice of states |

The pivots determine the matrix G^a, which the spectral estimator leaves unknown.  In the basis of the states, moments
are the expected counts that EM computes by inference; pivots need no inference, and no start from which to climb.  Both
x and w are linear maps of the projections, so that the moments can be mapped without a pass over the trees.

The rows need no pass over the trees, either.  With Ω̂ = U σ Vᵀ and the scales s_i of slide 23, E[Vᵀψ | inside feature
i] is U_i ∘ σ times n / (count_i s_i).

Tensor decompositions (Anandkumar et al. 2012, 2014) need no pivots.  The unknown basis G^a is unique if the grammar is
that of the ACL version of the paper: given the rule and the state of a node, the states of its children are
independent.

| here | papers | meaning |
| --- | --- | --- |
| `basis` | G^a; O of Anandkumar et al. | E[y \\| h], a column for each state |
| Z | (G^a)⁻¹, rows times 1 / γ_h | E[z \\| h]: the cross-covariance E[y zᵀ] = G diag(γ) Z is the identity |
| T^r | D^{a→b c} | Σ z ⊗ y₂⁺ ⊗ y₃⁺ over the nodes with rule r = Σ_h n_rh Z_h ⊗ E[y₂⁺ \\| r, h] ⊗ E[y₃⁺ \\| r, h] |
| `first`, `second`, `third` | - | the factors of T^r; the first is the same for all rules of a symbol |
| z̄ · G_h = 1 | - | the length of a column, because z̄ = Σ_h γ_h Z_h |
| γ = G⁻¹ ȳ | π | because ȳ = G γ |
| x = G⁻¹ y, w = diag(γ) Gᵀ z | - | E[x \\| h] = E[w \\| h] = e_h; the maps of pivots |

Two contractions of a T^r with vectors v and v' are Zᵀ D A and Zᵀ D' A with diagonal matrices D and D'.  The columns of
Zᵀ are therefore the eigenvectors of the first contraction times the pseudo-inverse of the second.  This is exact for a
population.  On a sample, several pairs of contractions give starts; from each, all rules are fitted together by least
squares, and the best fit is taken.

A symbol without a binary rule has no third view.  The means of its y given the states of its parents are in the convex
hull of its columns G_h.  The corners of these means are the columns if every state of the symbol is the only one below
some state of a parent, as it is for the emissions of a chain.  A symbol for which both steps fail gets the states of
its pivots.
"""

import logging
from functools import reduce
from typing import NamedTuple

import numpy as np

from spectral_latent._compiled import TINY
from spectral_latent.estimation._moments import Moments, operators_from_moments
from spectral_latent.estimation._projections import Projection, ProjectionOptions
from spectral_latent.estimation.simplex import anchors, convex_weights
from spectral_latent.operators import Counts, Tensor, Tensors
from spectral_latent.trees import FloatArray

_log = logging.getLogger(__name__)

_STARTS = 4  # pairs of contractions that are tried
_TRIAL = 60  # updates of all factors from each start
_ROUNDS = 400  # the largest number of updates from the best start
_SETTLED = 1e-7  # the updates end when a round lowers the error by less than this share
_RIDGE = 1e-12  # a relative number, added to systems of equations that may be singular
_MOST_NEGATIVE = 0.25  # if negative shares γ_h sum to more than this, the basis is not one of states


class StateMaps(NamedTuple):
    """The maps of a symbol from its projections to the basis of its states."""

    gamma: FloatArray  # (k,) shares of the states
    inside: FloatArray  # (k, m) x = inside · y
    outside: FloatArray  # (k, m) w = outside · z


def feature_rows(projection: Projection, a: int, scaling: float | None) -> FloatArray:
    """Compute E[Vᵀψ | inside feature i] of every feature of symbol a, (d, m)."""
    evidence = projection.evidence[a]
    maps = projection.maps[a]
    scale, _ = evidence.scales(scaling)
    to_rows = evidence.n / (evidence.inside_count * scale**2)
    return np.asarray(maps.to_y * maps.sigma * to_rows[:, None])  # to_y holds s_i U_i


def fit_corners(
    rows: FloatArray, count: FloatArray, most: int, *, least: float, cutoff: float
) -> tuple[FloatArray, FloatArray]:
    """Find up to `most` corners among rows (d, m), of which each was observed `count` (d,) times, and fit them.

    Returns the corners (k, m), and their weights (d, k) in the mixtures that are nearest to the rows."""
    anchor_rows = anchors(rows, count, most, least=least, cutoff=cutoff)
    mixtures = convex_weights(rows, rows[anchor_rows])
    root = np.sqrt(count)[:, None]
    corners = np.linalg.lstsq(root * mixtures, root * rows)[0]  # arg min of Σ_i count_i ‖rows_i - mixtures_i corners‖²
    return np.asarray(corners), mixtures


def state_maps(projection: Projection, a: int, options: ProjectionOptions) -> StateMaps:
    """Find the pivots of symbol a, and from them the basis of its states.

    The symbol has a state for each pivot whose row differs: the distance of the row from the span of the rows before
    must exceed `cutoff` times the first distance.  Pivots are searched among the features of at least √n / 2 nodes:
    with growing n, rarer features become candidates, but the errors of their rows still vanish."""
    evidence = projection.evidence[a]
    sigma = projection.maps[a].sigma
    count = evidence.inside_count
    rows = feature_rows(projection, a, options.scaling)
    least = np.sqrt(evidence.n) / 2
    corners, mixtures = fit_corners(rows, count, len(sigma), least=least, cutoff=options.cutoff_for(evidence.n))
    gamma = count @ mixtures
    gamma = gamma / gamma.sum()
    inside = gamma[:, None] * corners / np.maximum(sigma, TINY)
    return StateMaps(gamma, inside, np.linalg.pinv(corners).T * sigma)


def _counts(estimates: FloatArray, totals: FloatArray, independent: FloatArray) -> FloatArray:
    """Clip estimated counts (R, ...) at zero and scale them to totals (R,); if none is positive, take γ⊗γ⊗γ."""
    positive = np.maximum(estimates, 0.0)
    axes = tuple(range(1, positive.ndim))
    lost = positive.sum(axis=axes, keepdims=True) <= TINY
    positive = np.where(lost, independent, positive)
    return np.asarray(positive * (totals.reshape(lost.shape) / positive.sum(axis=axes, keepdims=True)))


def counts_of_states(moments: Moments, maps: list[StateMaps], smoothing: float | None = None) -> Counts:
    """Estimate the expected counts of all rules with their states.

    The count of a rule is known.  Sampling errors make some of its counts with states negative; these are set to zero.
    """
    states = np.array([len(of_symbol.gamma) for of_symbol in maps], dtype=np.int64)
    mapped = moments.transform_projections(
        states, [of_symbol.inside for of_symbol in maps], [of_symbol.outside for of_symbol in maps]
    )
    estimated = operators_from_moments(mapped, smoothing)  # in proportion to the counts of each rule
    rules = moments.rules
    gamma = np.zeros((len(states), int(states.max())))
    for a, of_symbol in enumerate(maps):
        gamma[a, : states[a]] = of_symbol.gamma

    def binary(tensor: Tensor, moment: Tensor, rule: list[int]) -> Tensor:
        """Make the counts (m_a, m_b, m_c) of a rule from the estimates of the counts and the moments of the rule."""
        occurs = moment.to_dense()[None, 0, 0, 0]
        independent: FloatArray = reduce(np.multiply.outer, (maps[a].gamma for a in rule))
        return Tensor.of_dense(_counts(tensor.to_dense()[None], occurs, independent)[0])

    a, b = rules.unary.T
    tensors = zip(estimated.binary, moments.binary, rules.binary.tolist(), strict=True)
    return Counts(
        rules,
        states,
        root=_counts(estimated.root, moments.root[:, 0], gamma),
        leaf=_counts(estimated.leaf, moments.leaf[:, 0], gamma[rules.leaf[:, 0]]),
        unary=_counts(estimated.unary, moments.unary[:, 0, 0], gamma[a, :, None] * gamma[b, None, :]),
        binary=Tensors.of(binary(tensor, moment, rule) for tensor, moment, rule in tensors),
    )


def pivot_counts(moments: Moments, projection: Projection, options: ProjectionOptions) -> Counts:
    """Estimate the expected counts of all rules with the states that pivots determine; see `state_maps`."""
    return counts_of_states(moments, [state_maps(projection, a, options) for a in range(len(projection.maps))])


class _Fit(NamedTuple):
    """Factors of R tensors in k terms, with the same first factor for all, and the error Σ ‖T - T̂‖² / Σ ‖T‖²."""

    first: FloatArray  # (k, m)
    second: FloatArray  # (R, k, J)
    third: FloatArray  # (R, k, K)
    error: float


def _solve(gram: FloatArray, right: FloatArray) -> FloatArray:
    """Solve gram · X = right for stacks of symmetric matrices (..., k, k) and right-hand sides (..., k, n)."""
    raised = gram.copy()
    diagonal = np.einsum("...ii->...i", raised)  # a view
    diagonal += _RIDGE * diagonal.sum(axis=-1, keepdims=True) + TINY
    return np.asarray(np.linalg.solve(raised, right))


def _inner(rows: FloatArray) -> FloatArray:
    """Compute the inner products of the rows of stacked matrices (..., k, n)."""
    return np.asarray(rows @ rows.mT)


def _update(tensors: FloatArray, second: FloatArray, third: FloatArray) -> _Fit:
    """Fit each factor of tensors (R, m, J, K) in turn to the others, (R, k, J) or (R, k, K), by least squares."""
    n_rules, m, width, _ = tensors.shape
    flat = tensors.reshape(n_rules, m * width, -1)
    contracted = (flat @ third.mT).reshape(n_rules, m, width, -1)  # (R, m, J, k)
    of_third = _inner(third)
    # The first factor is that of all tensors: its equations are sums over them.
    gram = (_inner(second) * of_third).sum(axis=0)
    first = _solve(gram, np.einsum("rijh,rhj->hi", contracted, second))
    first /= np.maximum(np.sqrt(np.einsum("hi,hi->h", first, first)), TINY)[:, None]
    # The other factors are those of one tensor each, so that their equations are solved in a stack.
    of_first = _inner(first)
    second = _solve(of_first * of_third, np.einsum("rijh,hi->rhj", contracted, first))
    gram = of_first * _inner(second)
    right = (first[:, :, None] * second[:, :, None, :]).reshape(n_rules, -1, m * width) @ flat
    third = _solve(gram, right)
    # ‖T - T̂‖² = ‖T‖² - 2 ⟨T, T̂⟩ + ‖T̂‖²
    norm = float(np.vdot(tensors, tensors))
    rest = norm - 2.0 * float(np.vdot(right, third)) + float(np.vdot(gram, _inner(third)))
    return _Fit(first, second, third, rest / max(norm, TINY))


def _start(tensors: FloatArray, first: FloatArray) -> _Fit:
    """Fit the other factors of tensors (R, m, J, K) roughly to a first factor (m, m), and update all factors once.

    Σ_h Z_h ⊗ W_h = T has the solution W = Z⁻¹ᵀ T; the best rank-one approximation of each W_h gives the other factors.
    """
    slices = np.tensordot(np.linalg.pinv(first).T, tensors, axes=(1, 1)).swapaxes(0, 1)
    u, size, vt = np.linalg.svd(slices, full_matrices=False)
    return _update(tensors, u[..., 0] * size[..., :1], vt[..., 0, :])


def _fit(tensors: FloatArray, fit: _Fit, rounds: int) -> _Fit:
    """Update all factors of tensors (n, m, m, m) for at most `rounds` rounds: alternating least squares.

    The step of round n is multiplied by n^(1/3) (Bro 1997), unless this increases the error."""
    before = fit
    for number in range(1, rounds + 1):
        reach = number ** (1 / 3)
        second = fit.second + reach * (fit.second - before.second)
        third = fit.third + reach * (fit.third - before.third)
        trial = _update(tensors, second, third)
        if not trial.error < fit.error:
            trial = _update(tensors, fit.second, fit.third)
        before = fit
        fit = trial
        if before.error - fit.error <= _SETTLED * fit.error:
            break
    return fit


def _eigenvectors(tensor: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Diagonalise two random contractions of the last leg of a tensor (m, J, K) together: Z (m, m), by rows."""
    contracted = tensor @ rng.normal(size=(tensor.shape[2], 2))
    _, vectors = np.linalg.eig(contracted[:, :, 0] @ np.linalg.pinv(contracted[:, :, 1]))
    # Replace a complex pair of eigenvectors by its real and imaginary parts, which span the same plane.
    turned = np.where(vectors.imag.sum(axis=0) < 0, vectors.imag, vectors.real)
    return np.asarray(turned.T)


def common_factor(tensors: FloatArray, seed: int = 0) -> FloatArray:
    """Find the common factor (m, m) of the decompositions of several tensors into m rank-one terms.

    Its rows have length one; their order and signs are arbitrary.

    tensors: (R, m, J, K) with T^r = Σ_h first_h ⊗ second_rh ⊗ third_rh."""
    rng = np.random.default_rng(seed)
    # If all m terms differ on a leg, it has m singular values above zero: try tensors with the largest m-th value
    # first.
    m = tensors.shape[1]
    sides = [side for tensor in tensors for side in (tensor, tensor.transpose(0, 2, 1))]
    least = [
        np.linalg.svd(side.transpose(1, 0, 2).reshape(side.shape[1], -1), compute_uv=False)[:m].min() for side in sides
    ]
    clearest = np.resize(np.argsort(least)[::-1], _STARTS)
    starts = (_start(tensors, _eigenvectors(sides[number], rng)) for number in clearest)
    best = min((_fit(tensors, start, _TRIAL) for start in starts), key=lambda fit: fit.error)
    return _fit(tensors, best, _ROUNDS).first


def _maps(basis: FloatArray, moments: Moments, a: int) -> StateMaps | None:
    """Make the maps of symbol a from its basis (m, m), with columns of any length; None if shares are too negative."""
    z, y = moments.means_of(a, a)
    length = z @ basis
    if not np.isfinite(basis).all() or (np.abs(length) <= TINY).any():
        return None
    basis = basis / length
    inside = np.linalg.pinv(basis)
    shares = inside @ y
    if -shares[shares < 0].sum() > _MOST_NEGATIVE * np.abs(shares.sum()):
        return None
    gamma = np.maximum(convex_weights(y[None], basis.T)[0], 1.0 / moments.count[a])
    gamma = gamma / gamma.sum()
    return StateMaps(gamma, np.asarray(inside), gamma[:, None] * basis.T)


def _from_rules(moments: Moments, projection: Projection, a: int, options: ProjectionOptions) -> StateMaps | None:
    """Recover the states of symbol a from its binary rules; None if they do not determine them.

    Each T^r is divided by √n, so that the errors of all rules have the same size.  Rare directions have large errors in
    z and small errors in y.  Therefore z is multiplied by √σ, and y is divided by the fourth root of σ.  Rules with
    fewer than √n(a) / 2 nodes are left out."""
    root_sigma = np.sqrt(projection.maps[a].sigma)
    width = int(moments.states.max()) + 1
    tensors = []
    for r, (parent, left, right) in enumerate(moments.rules.binary.tolist()):
        if parent != a:
            continue
        moment = moments.binary[r].to_dense()
        count = moment[0, 0, 0]
        if count < np.sqrt(moments.count[a]) / 2:
            continue
        scaled = moment[1:] * (root_sigma / np.sqrt(count))[:, None, None]
        scaled[:, 1:] /= projection.maps[left].sigma[:, None] ** 0.25
        scaled[:, :, 1:] /= projection.maps[right].sigma ** 0.25
        padded = np.zeros((len(root_sigma), width, width))
        padded[:, : scaled.shape[1], : scaled.shape[2]] = scaled
        tensors.append(padded)
    if not tensors:
        return None
    first = common_factor(np.array(tensors), options.seed)
    return _maps(root_sigma[:, None] * np.linalg.pinv(first), moments, a)


def _from_parents(
    moments: Moments, parents: dict[int, StateMaps], a: int, options: ProjectionOptions
) -> StateMaps | None:
    """Recover the states of symbol a from the means of its y given its parents' states; None if they are too few."""
    m = int(moments.states[a])
    sums = [np.zeros((0, m + 1))]
    for r, (parent, child) in enumerate(moments.rules.unary.tolist()):
        if child == a and parent in parents:
            sums.append(parents[parent].outside @ moments.unary[r][1 : moments.states[parent] + 1, : m + 1])
    for r, (parent, left, right) in enumerate(moments.rules.binary.tolist()):
        if parent in parents and a in (left, right):
            moment = moments.binary[r].to_dense()
            pairs = ([moment[1:, :, 0]] if left == a else []) + ([moment[1:, 0, :]] if right == a else [])
            sums += [parents[parent].outside @ pair for pair in pairs]
    points = np.concatenate(sums)
    least = np.sqrt(moments.count[a]) / 2
    points = points[points[:, 0] >= least]
    if len(points) < m:
        return None
    means = points[:, 1:] / points[:, :1]
    cutoff = options.cutoff_for(moments.count[a])
    corners, _ = fit_corners(means, points[:, 0], m, least=least, cutoff=cutoff)
    return _maps(corners.T, moments, a) if len(corners) == m else None


def recover_maps(moments: Moments, projection: Projection, options: ProjectionOptions) -> list[StateMaps]:
    """Recover the states of every symbol: from its binary rules, from its parents if it has none, or from pivots.

    At level INFO, the log is told how many symbols get the states of pivots."""
    branching = set(moments.rules.binary[:, 0].tolist())
    recovered: dict[int, StateMaps] = {}
    for a in sorted(branching):
        if (maps := _from_rules(moments, projection, a, options)) is not None:
            recovered[a] = maps
    parents = dict(recovered)
    for a in sorted(set(range(moments.n_symbols)) - branching):
        if (maps := _from_parents(moments, parents, a, options)) is not None:
            recovered[a] = maps
    others = sorted(set(range(moments.n_symbols)) - recovered.keys())
    share = moments.count[others].sum() / moments.count.sum()
    _log.info(
        "%d of %d symbols, %.0f %% of the nodes, begin from pivots: rules are rare, or negative shares exceed 0.25",
        len(others),
        moments.n_symbols,
        100.0 * share,
    )
    return [recovered[a] if a in recovered else state_maps(projection, a, options) for a in range(moments.n_symbols)]


def recover_counts(moments: Moments, projection: Projection, options: ProjectionOptions) -> Counts:
    """Estimate the expected counts of all rules with recovered states; see `recover_maps`."""
    return counts_of_states(moments, recover_maps(moments, projection, options), options.smoothing)
