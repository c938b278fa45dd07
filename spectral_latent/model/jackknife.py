"""Give standard errors to estimates: by models that were trained without one group of examples each.

| here | meaning |
| --- | --- |
| G | the number of groups, into which examples are divided at random |
| θ | an estimate of the model of all examples: a probability, a posterior, a surprisal, or any other number |
| θ_g | the estimate of the model without group g; θ̄ is their mean |
| s² = (G - 1) / G Σ_g (θ_g - θ̄)² | the squared standard error (Tukey 1958; Shao and Wu 1989 for groups) |
| b = (G - 1) (θ̄ - θ) | the bias, if it falls with the number n of examples (Quenouille 1956); 2 b if with √n |
| θ - b ± t √(s² + 4 b²) | the interval, with the quantile t of Student's distribution with G - 1 degrees of freedom |

Estimates must be smooth functions of the examples, and the same in every basis of the latent states.  So they are for
the method of moments with fixed numbers of states.  EM may reach another local optimum without a group, and a number of
states that is chosen may change; the errors then contain these differences, too.

The bias of smoothing falls with √n, and may be larger than s.  Subtracting b halves it, at the price of noise; the
interval allows for the other half and for this noise.  A bias that no number of examples removes, as that of
clusters, is in no interval.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent._options import Above, AtLeast, Below, checked
from spectral_latent.estimation import EstimationError, Estimator, Listener, silent
from spectral_latent.inference import SignedLog
from spectral_latent.model.parts import jackknife
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, IntArray

Model = TypeVar("Model")

_FEWEST = 10  # examples for each group
_LEAST_ROOTS = 2.0  # times C that the root of the number of examples must be, so that b is at least a third of a bias
_FEWEST_GROUPS = 3  # with a finite estimate, for an error


class Estimates(NamedTuple):
    """Estimates with their standard errors, arrays of one shape.

    value: the estimates of the model of all examples.
    error: their standard errors; NaN where fewer than three groups have a finite estimate.
    n_groups: the number of groups that each error is computed from.
    bias: b, the estimated bias of each value, which `interval` subtracts.
    caveats: what is to be known about the intervals; see also `is_sound`."""

    value: FloatArray
    error: FloatArray
    n_groups: IntArray
    bias: FloatArray
    caveats: tuple[str, ...] = ()

    @staticmethod
    def of(value: Any, of_parts: Sequence[Any]) -> Estimates:
        """Compute standard errors.

        of_parts: the estimates of each model that lacks a group; those that are not finite are left out."""
        whole = np.asarray(value, dtype=np.float64)
        parts = np.stack([np.asarray(part, dtype=np.float64) for part in of_parts])
        is_finite = np.isfinite(parts)
        n = is_finite.sum(axis=0)
        safe = np.where(is_finite, parts, 0.0)
        mean = safe.sum(axis=0) / np.maximum(n, 1)
        squares = np.where(is_finite, (safe - mean) ** 2, 0.0).sum(axis=0)
        error = np.sqrt(squares * (n - 1.0) / np.maximum(n, 1))
        known = (n >= _FEWEST_GROUPS) & np.isfinite(whole)
        with np.errstate(invalid="ignore"):
            bias = (n - 1.0) * (mean - whole)
        return Estimates(whole, np.where(known, error, np.nan), n, np.where(known, bias, np.nan))

    @staticmethod
    def of_weights(whole: SignedLog, of_parts: Sequence[SignedLog]) -> Estimates:
        """Compute standard errors of estimates p̂ as shares of their absolute values; each value is the sign of p̂.

        whole: the estimates of the model of all examples.
        of_parts: those of each model that lacks a group."""
        with np.errstate(invalid="ignore", over="ignore"):
            shares = [part.sign * np.exp(part.log - whole.log) for part in of_parts]
        return Estimates.of(np.where(np.isfinite(whole.log), whole.sign, np.nan), shares)

    def list_doubts(self, n_examples: int) -> Iterator[str]:
        """Say how many estimates of so many examples are not sound, and how many examples would do."""
        of_all = f"of {self.value.size} estimates"
        if biased := int((2.0 * np.abs(self.bias) >= self.error).sum()):
            yield f"{biased} {of_all} may have a bias as large as their error; smoothing has one, which None removes"
        with np.errstate(divide="ignore", invalid="ignore"):
            times = (2.0 * self.spread / np.abs(self.value)) ** 2
        times = times[(times >= 1.0) & np.isfinite(times)]
        if len(times):
            enough = f"{np.max(times) * n_examples:,.0f} examples"
            yield f"{len(times)} {of_all} are within two errors of zero; {enough} would do for all of them"

    @property
    def spread(self) -> FloatArray:
        """The errors √(s² + 4 b²), which allow for the bias."""
        return np.hypot(self.error, 2.0 * self.bias)

    def interval(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Compute the lower and the upper ends of intervals.

        level: the probability, about, that an interval covers the truth.

        >>> low, high = Estimates(np.array([1.0]), np.array([0.5]), np.array([20]), np.array([0.1])).interval()
        >>> low.round(2), high.round(2)
        (array([-0.23]), array([2.03]))
        """
        checked("level", level, Annotated[float, Above(0.0), Below(1.0)])
        t = scipy.special.stdtrit(np.maximum(self.n_groups - 1, 1), 0.5 + level / 2.0)
        centre = self.value - self.bias
        return centre - t * self.spread, centre + t * self.spread

    def is_sound(self) -> Any:
        """Tell which intervals of probabilities or surprisals may be trusted.

        Others are of estimates that lack a value without some group, whose bias may be as large as their error, or
        that are within two errors of zero, such as those of rules that few examples have."""
        is_complete = self.n_groups == np.max(self.n_groups, initial=_FEWEST_GROUPS)
        return is_complete & (2.0 * np.abs(self.bias) < self.error) & (np.abs(self.value) > 2.0 * self.spread)

    def is_zero(self, level: float = 0.95) -> Any:
        """Tell where the interval contains zero: an estimate p̂ < 0 there is zero within its error.

        level: as for `interval`."""
        low, high = self.interval(level)
        return (low <= 0.0) & (high >= 0.0)


class Jackknife(Generic[Model]):
    """A model, and those that lack one group of its examples each.

    train: trains a model on a list of examples; the same list gives the same model.
    examples: the examples, which are kept in memory.
    n_groups: the number of groups; errors of more groups are more precise.
    seed: the seed by which examples are divided.

    Raises EstimationError for fewer than ten examples for each group.

    >>> from spectral_latent import LatentHMM, EstimatorOptions
    >>> from spectral_latent.sequence import HMMOptions
    >>> options = HMMOptions(EstimatorOptions("spectral", n_states=1), choose_states=False, floor=1e-9)
    >>> jackknife = Jackknife(lambda rows: LatentHMM.train(rows, options), ["a"] * 300 + ["b"] * 100)
    >>> found = jackknife.estimate(lambda model: np.exp(model.log_probabilities(["a"])))
    >>> found.value.round(2), found.error.round(2)  # about the root of p (1 - p) / 400
    (array([0.75]), array([0.02]))
    """

    def __init__(
        self,
        train: Callable[[list[Any]], Model],
        examples: Iterable[Any],
        n_groups: int = 20,
        *,
        seed: int = 0,
        listener: Listener = silent,
    ) -> None:
        checked("n_groups", n_groups, Annotated[int, AtLeast(2)])
        every = list(examples)
        group = divide(len(every), n_groups, seed).tolist()
        self.whole = train(every)
        weighted = [(example, 1.0) for example in every]
        parts = jackknife(weighted, n_groups, lambda some, _: train(some), listener, folds=group, stage="groups")
        self.parts = [part for part, *_ in parts]
        self._n_examples = len(every)
        self.caveats = tuple(_caveats(self.whole, self.parts, self._n_examples))

    def score(self, trees: Iterable[Any]) -> Estimates:
        """Estimate p̂ of trees with standard errors, as shares of |p̂|; see `Estimates.of_weights`."""
        given = list(trees)
        models: list[Any] = [self.whole, *self.parts]
        whole, *of_parts = [model.score(given) for model in models]
        return self._with_caveats(Estimates.of_weights(whole, of_parts))

    def estimate(self, f: Callable[[Model], Any]) -> Estimates:
        """Compute estimates, and their standard errors.

        f: computes numbers of any shape from a model, such as `lambda model: model.score(trees).log`.

        Groups without which an estimate is not finite are left out of its error, with a warning: for example, a rule
        that only trees of this group have."""
        found = self._with_caveats(Estimates.of(f(self.whole), [f(part) for part in self.parts]))
        lost = int((found.n_groups < len(self.parts)).sum())
        if lost and np.isfinite(found.value).any():
            warnings.warn(
                f"{lost} of {found.value.size} estimates are not finite without some groups, which their errors leave "
                f"out",
                stacklevel=2,
            )
        return found

    def _with_caveats(self, found: Estimates) -> Estimates:
        """Add what is to be known about these models and these estimates."""
        return found._replace(caveats=(*self.caveats, *found.list_doubts(self._n_examples)))


def _caveats(whole: Any, parts: Sequence[Any], n_examples: int) -> Iterator[str]:
    """Say what the errors of models do not show; models of other libraries have no caveats."""
    members = getattr(whole, "members", None) or [whole]
    estimators = [getattr(getattr(member, "options", None), "estimator", None) for member in members]
    if any(isinstance(estimator, Estimator) and estimator.probabilities for estimator in estimators):
        yield "errors are of the estimate, not of its bias: clusters and EM have one that more examples do not remove"
    smoothing = max((getattr(estimator, "smoothing", None) or 0.0 for estimator in estimators), default=0.0)
    if n_examples < (enough := (_LEAST_ROOTS * smoothing) ** 2):
        yield (
            f"smoothing by {smoothing:g} is strong for {n_examples} examples, and its bias larger than it seems; "
            f"{enough:,.0f} examples would do, or no smoothing"
        )
    states = [[count.tolist() for count in _states_of(model)] for model in (whole, *parts)]
    if changed := sum(some != states[0] for some in states):
        yield (
            f"numbers of states differ without {changed} of {len(parts)} groups, because a singular value is near the "
            f"cutoff; fix them by `n_states` and `cutoff`"
        )


def _states_of(model: Any) -> Iterator[IntArray]:
    """List the numbers of states (S,) of each member, as far as a model has any."""
    for member in getattr(model, "members", None) or [model]:
        operators = getattr(member, "operators", member)
        if isinstance(operators, ObservableOperators):
            yield operators.states


def divide(n: int, n_groups: int, seed: int = 0) -> IntArray:
    """Divide n examples at random into groups of equal size, and return the group (n,) of each."""
    if n < _FEWEST * n_groups:
        raise EstimationError(
            f"{n} examples are too few for errors by {n_groups} groups; give {_FEWEST * n_groups}, "
            f"or ask for at most {max(n // _FEWEST, 2)} groups"
        )
    return np.random.default_rng(seed).permutation(np.arange(n) % n_groups)
