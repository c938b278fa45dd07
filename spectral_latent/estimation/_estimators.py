"""Estimate operators: each estimator is an object, which holds its settings and has a method `fit`.

Every estimator except the spectral one begins with counts of rules with latent states.  The counts come from clusters,
from anchors, from tensor decompositions, or from a random start.  They are turned into probabilities, or expectation
maximisation starts from them.

An estimator may be written anywhere: a frozen dataclass below `Estimator`, whose `fit` returns an `Estimate`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import chain
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from spectral_latent._compiled import by_python
from spectral_latent._names import EstimatorName
from spectral_latent._options import AtLeast, Below, Options, checked
from spectral_latent.estimation._moments import (
    LeafMoments,
    Moments,
    Priors,
    moments_from_counts,
    operators_from_moments,
)
from spectral_latent.estimation._parallel import parallel_map
from spectral_latent.estimation._projections import Projection, ProjectionOptions, StateOptions, states_for
from spectral_latent.estimation._recovery import pivot_counts, recover_counts
from spectral_latent.estimation._treebank import Treebank, TreebankShard
from spectral_latent.estimation.clustering import RULES_OF_TASK, NodeClusters, cluster_counts
from spectral_latent.estimation.em import expectation, random_counts, run_em, state_prior, towards_mean
from spectral_latent.estimation.progress import EstimationError, Listener, silent
from spectral_latent.estimation.ranks import find_ranks
from spectral_latent.files.operators import round_digits
from spectral_latent.operators import Counts, ObservableOperators, Tensor, Tensors, low_rank_tensor
from spectral_latent.trees import FloatArray, Rules

_LARGEST = 1e12  # no sound estimate comes near; beyond it a singular value was divided by that should not have been
_OBJECTIVE_DIGITS = 32  # binary digits of the stored objective
_START = 0.01  # the least share of the mean over states at the start of EM, so that no tree has probability zero


class Estimate(NamedTuple):
    """The result of an estimator.

    objective: the objective of EM at the start and after each iteration; empty for estimators without EM."""

    operators: ObservableOperators
    objective: tuple[float, ...] = ()

    @property
    def rounded_objective(self) -> tuple[float, ...]:
        """The objective, rounded to digits that are the same on all kinds of processors."""
        return tuple(round_digits(np.array(self.objective), _OBJECTIVE_DIGITS).tolist())


def relative_frequencies(counts: Counts, priors: Priors | None = None) -> ObservableOperators:
    """Compute the coarse PCFG of a treebank, which has one state a symbol, from its counts.

    priors: additions for trees that the treebank lacks; none if not given.

    Raises EstimationError if there are no trees.

    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1, -1, 0], right=[-1, -1, 1], terminal=[5, 6, -1], root=[2])
    >>> operators = relative_frequencies(Counts.of_trees(trees))
    >>> operators.leaf.ravel().round(3), operators.binary[0].to_dense().ravel().round(3)
    (array([0.333, 0.333]), array([0.333]))
    """
    if not counts.n_trees:
        raise EstimationError("no trees to learn from")
    return mix_with_mean(counts, counts, 0.0, priors)


def mix_with_mean(counts: Counts, observed: Counts, share: float, priors: Priors | None = None) -> ObservableOperators:
    """Estimate probabilities from counts of rules with their states, and mix those of each state with their mean.

    This is simpler than the smoothing of slide 25, and faster, because factored tensors keep their number of terms.

    share: the share of the mean over the states of a symbol.
    priors: additions for trees that the treebank lacks; those for rules need one state a symbol; none if not given."""
    priors = priors or Priors()
    of_states = counts.sums()
    n = np.where(observed.symbol > 0.0, observed.symbol, 1.0)[:, None]
    nodes = n if priors.rules is None else n + priors.rules.sums()
    z = np.divide(n, of_states, out=np.zeros_like(of_states), where=of_states > 0.0)
    rules = counts.rules
    leaf = counts.leaf * z[rules.leaf[:, 0]]
    leaf_rules = rules.leaf
    if priors.leaves is not None:
        moments = LeafMoments(rules.leaf, observed.leaf[:, 0], leaf, observed.symbol, of_states * z)
        leaf_rules, leaf = priors.leaves(moments)
    table = replace(counts, rules=Rules(rules.leaf[:0], rules.unary, rules.binary), leaf=counts.leaf[:0])
    if priors.rules is not None:
        table = table.merge(priors.rules)
    table = table.scale(z / nodes)
    root = counts.root + priors.fragments * of_states / observed.symbol.sum()
    rows = (root / (observed.n_trees + priors.fragments), table.leaf, table.unary, table.binary)
    mixed = ObservableOperators(table.rules, table.states, *rows, probabilities=True)
    if share > 0.0:
        mixed = towards_mean(mixed, share)
    return mixed.with_leaf_rules(leaf_rules, leaf / nodes[leaf_rules[:, 0]])


def _moments_of(shard: TreebankShard, projection: Projection, rules: Rules) -> Moments:
    """Sum the projections of the nodes of a shard."""
    trees, y, z = projection.project(shard)
    return Moments.of_trees(trees, rules, projection.states, y, z, shard.weight[trees.tree])


def spectral_moments(treebank: Treebank, projection: Projection, jobs: int | None = 1) -> Moments:
    """Sum the moments of all nodes of a treebank (long paper, Figure 7, step 2).

    projection: the maps from features to projections.

    >>> from spectral_latent.estimation import FeatureColumns, Shard
    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0], left=[-1, -1], right=[-1, -1], terminal=[5, 6], root=[0, 1])
    >>> same = np.zeros((2, 1), dtype=int)
    >>> treebank = Treebank.of([Shard.of(trees, FeatureColumns(same, same))])
    >>> projection = Projection.learn(treebank.shards, Spectral(scaling=None))
    >>> spectral_moments(treebank, projection).inside
    array([[2., 2.]])
    """
    moments_of_shards = parallel_map(_moments_of, treebank.shards, jobs, projection, treebank.counts.rules)
    return reduce(Moments.__add__, moments_of_shards)


def _reduce(tensors: Sequence[Tensor], rank: int) -> list[Tensor]:
    """Reduce some tensors to at most `rank` terms."""
    return [low_rank_tensor(tensor, rank) for tensor in tensors]


def low_rank_operators(operators: ObservableOperators, rank: int, jobs: int | None = 1) -> ObservableOperators:
    """Reduce every tensor as `low_rank_tensor` does; probabilities still sum to one."""
    tensors = operators.binary
    parts = [tensors[at : at + RULES_OF_TASK] for at in range(0, len(tensors), RULES_OF_TASK)]
    reduced = chain.from_iterable(parallel_map(_reduce, parts, jobs, rank))
    return replace(operators, binary=Tensors.of(reduced))


@dataclass(frozen=True)
class Estimator(Options, ABC):
    """Base of all estimators: the settings are fields, and `fit` estimates operators.

    probabilities: whether the operators are probabilities; else they have a basis of their own, and p̂ may be negative.
    """

    kinds: ClassVar[dict[str, type[Options]]] = {}
    probabilities: ClassVar[bool] = True

    @abstractmethod
    def fit(self, treebank: Treebank, *, jobs: int | None = 1, listener: Listener = silent) -> Estimate:
        """Estimate operators; they do not depend on the number of jobs, nor on joblib's engine.

        Raises EstimationError if the data do not support the estimate."""

    @property
    def states(self) -> Estimator:
        """The estimator that finds the states: this one, or the start of EM."""
        return self

    def setting_names(self) -> set[str]:
        """List the names of the settings of this estimator and of its start."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        inner = (part.setting_names() for part in parts.values() if isinstance(part, Estimator))
        return parts.keys() | set().union(*inner)

    def with_settings(self, **settings: Any) -> Self:
        """Change settings of this estimator and of its start; what neither has is ignored.

        >>> EM(Clusters(), iterations=2).with_settings(n_states=4, iterations=3)
        EM(start=Clusters(n_states=4), iterations=3)
        """
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        inner = {name: part.with_settings(**settings) for name, part in parts.items() if isinstance(part, Estimator)}
        return replace(self, **inner | {name: value for name, value in settings.items() if name in parts})


@dataclass(frozen=True)
class Spectral(ProjectionOptions, Estimator):
    """Operators from moments by singular value decompositions (long paper, Figure 7).

    tested: whether each symbol has as many states as `find_ranks` finds in these trees, in place of the cutoff.  That
    takes twenty times as long."""

    later: ClassVar[frozenset[str]] = frozenset({"tested"})
    tested: bool = False
    probabilities: ClassVar[bool] = False

    def fit(self, treebank: Treebank, *, jobs: int | None = 1, listener: Listener = silent) -> Estimate:
        """Estimate operators in the basis of the projections.

        Raises EstimationError if a parameter is so large that a singular value must be wrong."""
        options = replace(self, cutoff=0.0) if self.tested else self
        projection = Projection.learn(treebank.shards, options, jobs, listener)
        moments = spectral_moments(treebank, projection, jobs)
        if self.tested:
            moments = moments.truncate(find_ranks(treebank, self, jobs=jobs, listener=listener))
        operators = operators_from_moments(moments, self.smoothing, treebank.priors)
        packed = operators.packed
        sizes = [np.abs(array).max(initial=0.0) for array in (packed.root, packed.leaf, packed.unary, packed.data)]
        if not (largest := float(np.max(sizes))) < _LARGEST:
            raise EstimationError(f"a parameter reached {largest:.1e}; raise `cutoff` or lower `n_states`")
        return Estimate(replace(operators, singular_values=projection.singular_values))


@dataclass(frozen=True)
class CountsEstimator(StateOptions, Estimator):
    """Base of estimators that count rules with latent states.  EM may start from them.

    rank: the largest number of terms of a binary rule's tensor, which is then smaller and faster but less exact; None
    for tensors as estimated.  See `operators.low_rank`."""

    rank: Annotated[int, AtLeast(1)] | None = None

    @abstractmethod
    def count(self, treebank: Treebank, jobs: int | None, listener: Listener) -> tuple[Counts, FloatArray | None]:
        """Count the rules of a treebank with their states, and return the singular values (S, K) that found these."""

    def smooth(
        self, counts: Counts, observed: Counts, priors: Priors | None = None, jobs: int | None = 1
    ) -> ObservableOperators:
        """Make smoothed probabilities from counts (slide 25), whose tensors have at most `rank` terms.

        priors: additions for trees that the treebank lacks; none if not given."""
        moments = moments_from_counts(counts, observed)
        del counts  # large, and often not needed any more
        operators = operators_from_moments(moments, self.smoothing, priors)
        del moments
        if self.rank is not None:
            operators = low_rank_operators(operators, self.rank, jobs)
        return ObservableOperators.probabilities_of(operators)

    def fit(self, treebank: Treebank, *, jobs: int | None = 1, listener: Listener = silent) -> Estimate:
        """Estimate probabilities from counts of rules with their states."""
        counts, sigma = self.count(treebank, jobs, listener)
        operators = self.smooth(counts, treebank.counts, treebank.priors, jobs)
        return Estimate(replace(operators, singular_values=sigma))


@dataclass(frozen=True)
class Clusters(CountsEstimator, ProjectionOptions):
    """States are clusters of the projections of nodes, which are cut across their principal directions."""

    def find(self, treebank: Treebank, jobs: int | None, listener: Listener) -> NodeClusters:
        """Find the clusters of nodes."""
        return NodeClusters.learn(treebank, Projection.learn(treebank.shards, self, jobs, listener), jobs)

    def count(self, treebank: Treebank, jobs: int | None, listener: Listener) -> tuple[Counts, FloatArray | None]:
        """Count rules with clusters of nodes as states."""
        clusters = self.find(treebank, jobs, listener)
        return cluster_counts(treebank, clusters, self.rank, jobs), clusters.projection.singular_values


@dataclass(frozen=True)
class Anchors(CountsEstimator, ProjectionOptions):
    """States are determined by anchors, inside features that only one state has; see `_recovery`."""

    def count(self, treebank: Treebank, jobs: int | None, listener: Listener) -> tuple[Counts, FloatArray | None]:
        """Estimate counts of rules with the states that anchors determine."""
        projection = Projection.learn(treebank.shards, self, jobs, listener)
        counts = pivot_counts(spectral_moments(treebank, projection, jobs), projection, self)
        return counts, projection.singular_values


@dataclass(frozen=True)
class Decomposition(CountsEstimator, ProjectionOptions):
    """States are determined by tensor decompositions of the moments; see `_recovery`."""

    def count(self, treebank: Treebank, jobs: int | None, listener: Listener) -> tuple[Counts, FloatArray | None]:
        """Compute expected counts of rules with the states of tensor decompositions, in one pass over the trees.

        The decompositions give probabilities with errors, and some of them were set to zero; counting in the treebank
        corrects them."""
        projection = Projection.learn(treebank.shards, self, jobs, listener)
        counts = recover_counts(spectral_moments(treebank, projection, jobs), projection, self)
        vanishing = 1.0 / (1.0 + float(np.sqrt(treebank.counts.symbol.sum())))  # so that no tree has probability zero
        start = towards_mean(ObservableOperators.probabilities_of(counts), vanishing)
        return expectation(treebank.shards, start, jobs).counts(), projection.singular_values


@dataclass(frozen=True)
class Random(CountsEstimator):
    """States are split at random."""

    def count(self, treebank: Treebank, jobs: int | None, listener: Listener) -> tuple[Counts, FloatArray | None]:
        """Split the counts of rules among states at random."""
        observed = treebank.counts
        states = np.array([states_for(count, self.n_states) for count in observed.symbol.tolist()], dtype=np.int64)
        return random_counts(observed, states, self.rank, self.seed), None


@dataclass(frozen=True)
class EM(Estimator):
    """Expectation maximisation from the states of another estimator; see `em`.

    start: the estimator of the first states, whose smoothing and rank also hold for the result.
    iterations: the largest number of iterations.  Clusters, anchors and decompositions are near the result of EM, so
    that five are nearly enough.  From random states, let `tolerance` end EM.
    tolerance: EM stops when its objective per tree rises by less than this number in two iterations, and the second
    rise is not larger than the first.
    state_smoothing: the share of the mean over a symbol's states in the probabilities of a state of average frequency;
    see `em.state_prior`."""

    start: CountsEstimator = Clusters()
    iterations: Annotated[int, AtLeast(0)] = 5
    tolerance: Annotated[float, AtLeast(0.0)] = 1e-3
    state_smoothing: Annotated[float, AtLeast(0.0), Below(1.0)] = 0.01

    @property
    def states(self) -> CountsEstimator:
        """The estimator that finds the states."""
        return self.start

    def fit(self, treebank: Treebank, *, jobs: int | None = 1, listener: Listener = silent) -> Estimate:
        """Estimate probabilities from the expected counts at the end of EM.

        EM begins with the probabilities of the start, after a small share of the mean over states is mixed in."""
        counts, sigma = self.start.count(treebank, jobs, listener)
        operators = self.start.smooth(counts, treebank.counts, jobs=jobs)
        del counts  # tables are large: keep only those that EM needs
        start = towards_mean(operators, max(self.state_smoothing, _START))
        prior = state_prior(operators, treebank.counts, self.state_smoothing)
        del operators
        ascent = run_em(treebank.shards, start, self.iterations, self.tolerance, prior, jobs=jobs, listener=listener)
        del start, prior
        expected = ascent.statistics.counts()
        objective = tuple(ascent.objective)
        del ascent
        operators = self.start.smooth(expected, treebank.counts, treebank.priors, jobs)
        return Estimate(replace(operators, singular_values=sigma), objective)


ESTIMATORS: Mapping[EstimatorName, Estimator] = MappingProxyType(
    {
        "spectral": Spectral(),
        "clustering": Clusters(),
        "em": EM(Random(), iterations=1000),
        "clusters-em": EM(Clusters()),
        "anchors": Anchors(),
        "anchors-em": EM(Anchors()),
        "moments": Decomposition(),
        "moments-em": EM(Decomposition()),
    }
)  # the estimators by the names that the command line gives them


def EstimatorOptions(estimator: str = "spectral", n_states: int | None = None, **settings: Any) -> Estimator:
    """Make an estimator by its name on the command line, with some of its settings.

    n_states: the largest number of states of a symbol; the estimator's default if not given.
    settings: other settings of the estimator or of its start.
    Raises ValueError for an unknown name, and for a value that a setting refuses; TypeError for a setting that the
    estimator does not have.

    >>> EstimatorOptions("clusters-em", n_states=24, iterations=2)
    EM(start=Clusters(n_states=24), iterations=2)
    """
    name: EstimatorName = checked("estimator", estimator, EstimatorName)
    chosen = ESTIMATORS[name]
    if unknown := sorted(settings.keys() - chosen.setting_names()):
        known = ", ".join(sorted(chosen.setting_names()))
        raise TypeError(f"the estimator {name} has no setting {unknown[0]}; it has {known}")
    return chosen.with_settings(**({} if n_states is None else {"n_states": n_states}), **settings)


def estimate(
    treebank: Treebank, estimator: Estimator | None = None, *, jobs: int | None = 1, listener: Listener = silent
) -> Estimate:
    """Estimate observable operators.

    estimator: the estimator; `Spectral()` if not given.
    Raises EstimationError if the data do not support the estimate, and TypeError for an estimator whose `fit` returns
    something else than an `Estimate`.

    >>> from spectral_latent.estimation import FeatureColumns, Shard
    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1] * 3, right=[-1] * 3, terminal=[5, 5, 6], root=[0, 1, 2])
    >>> same = np.zeros((3, 1), dtype=int)
    >>> treebank = Treebank.of([Shard.of(trees, FeatureColumns(same, same))])
    >>> estimate(treebank, Spectral(scaling=None)).operators.leaf.round(3)
    array([[0.667],
           [0.333]])
    """
    chosen: Estimator = checked("estimator", estimator, Estimator | None) or Spectral()
    nodes = treebank.shards[0].trees.n_nodes if len(treebank.shards) == 1 else np.inf
    with by_python(1.5 * nodes * (1 + getattr(chosen, "iterations", 0))):  # a node and a pass take as long as 1.5
        found: Any = chosen.fit(treebank, jobs=jobs, listener=listener)
    promise = f"{type(chosen).__name__}.fit must return an Estimate"
    if not isinstance(found, Estimate):
        raise TypeError(f"{promise}, not {found!r:.60}")
    if not isinstance(found.operators, ObservableOperators):
        raise TypeError(f"{promise} of ObservableOperators, not of {found.operators!r:.60}")
    return found


def reestimate(
    treebank: Treebank, operators: ObservableOperators, estimator: Estimator, *, jobs: int | None = 1
) -> ObservableOperators:
    """Estimate operators from the expected counts under other operators: one iteration of EM, with smoothing.

    treebank: the trees; their features are not used.
    operators: probabilities over the rules of the treebank.
    estimator: the estimator whose smoothing and rank the result has.
    Raises EstimationError if a tree has probability zero.

    >>> from spectral_latent.estimation import FeatureColumns, Shard
    >>> from spectral_latent.trees import SkeletalTrees
    >>> trees = SkeletalTrees.of([0, 0, 0], left=[-1] * 3, right=[-1] * 3, terminal=[5, 5, 6], root=[0, 1, 2])
    >>> treebank = Treebank.of([Shard.of(trees, FeatureColumns(*np.zeros((2, 3, 0), dtype=int)))])
    >>> reestimate(treebank, relative_frequencies(treebank.counts), Clusters(smoothing=None)).leaf.round(3)
    array([[0.667],
           [0.333]])
    """
    states = estimator.states if isinstance(estimator.states, CountsEstimator) else Clusters()
    expected = expectation(treebank.shards, start_again(operators), jobs)
    return states.smooth(expected.counts(), treebank.counts, treebank.priors, jobs)


def start_again(operators: ObservableOperators) -> ObservableOperators:
    """Make the probabilities from which `reestimate` starts: no tree whose rules they have is impossible."""
    return towards_mean(operators, _START)
