"""Hold the latent tree model: one or more estimated grammars of a formalism, and all that follows from them.

A formalism is a class of members.  It answers four questions; everything else is written once, here.

| question | method |
| --- | --- |
| Which derivations may an input have? | `Member.forest` |
| Which derivations have given trees? | `Member.forest_of` |
| What does decoding maximise? | `Member.gains`: the posterior of each item, unless the formalism says otherwise |
| Which object is a derivation? | `Member.output` |
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import Any, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np

from spectral_latent._compiled import check_column
from spectral_latent._options import Count, ShortRepr, checked, counted
from spectral_latent.files import StoredModel
from spectral_latent.inference import (
    SignedLog,
    inside,
    marginals,
    n_best_derivations,
    outside,
    sample_trees,
    total_weight,
)
from spectral_latent.inference.inside_outside import root_sums, trusted_inside
from spectral_latent.inspection import NamedOperators
from spectral_latent.model.batches import batches_of, map_batches
from spectral_latent.model.parses import Parse, Parses, Partial, check_kind
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest, IntArray, SkeletalTrees

__all__ = ["LatentTreeModel", "Member", "WeighedForest"]

Input = TypeVar("Input")
Tree = TypeVar("Tree")


class WeighedForest(NamedTuple):
    """A forest of derivations, and the operators that weigh them.

    operators: operators over the rules of the forest.
    forest: the derivations, with a component for each of C inputs or trees.
    log_factor: (C,) the logarithm of a factor of all derivations of a component; 0 for none.
    factors: (I,) the factor of each item, for every derivation that has the item; None if all are 1.
    tree: (K,) the number of the tree of each of K roots, where trees share items, so that they are one component.
    trusted: whether the library built the forest with rules of these operators, so that it needs no further check.
    """

    operators: ObservableOperators
    forest: Forest
    log_factor: FloatArray | float = 0.0
    factors: FloatArray | None = None
    tree: IntArray | None = None
    trusted: bool = False

    def weight(self) -> SignedLog:
        """Sum the weights of the derivations of each component, or of each tree if trees share items."""
        of_tree = self.forest if self.tree is None else self.forest._replace(component=self.tree)
        if self.trusted:
            inner = trusted_inside(self.operators, self.forest, self.factors)
            sign, log = SignedLog.from_scaled(*root_sums(self.operators, of_tree, inner))
        else:
            sign, log = total_weight(self.operators, of_tree, inside(self.operators, self.forest, self.factors))
        return SignedLog(sign, log + self.log_factor)

    def marginals(self) -> FloatArray:
        """Compute the posterior of each item, (I,)."""
        inner = inside(self.operators, self.forest, self.factors)
        outer = outside(self.operators, self.forest, inner, self.factors)
        return marginals(self.operators, self.forest, inner, outer, self.factors)


class Member(ShortRepr, Generic[Input, Tree]):
    """Base of estimated grammars: the operators of one latent tree model, and the meaning of its symbols.

    A member is a frozen dataclass.  Its fields are the names that the symbols and terminals stand for, and at least

    options: the settings of training and use.
    latent: the latent operators.
    objective: the objective of EM at the start and after each iteration; empty for an estimator without EM.
    """

    options: Any
    latent: Any
    objective: tuple[float, ...]

    @property
    def sizes(self) -> str:
        """The numbers of symbols and states."""
        states = counted(int(self.operators.states.max()), "state")
        return f"{counted(self.operators.n_symbols, 'symbol')} of up to {states}"

    @property
    def operators(self) -> ObservableOperators:
        """The latent operators."""
        operators: ObservableOperators = self.latent
        return operators

    @property
    def probabilities(self) -> bool:
        """Whether the operators are probabilities."""
        return self.operators.probabilities

    def with_operators(self, operators: ObservableOperators, objective: tuple[float, ...] = ()) -> Self:
        """Replace the latent operators by others over the same rules.

        operators: operators over the rules of the latent operators.
        objective: the objective of the EM that made them; empty for other operators.
        """
        member: Any = self
        changed: Self = replace(member, latent=operators, objective=objective)
        return changed

    @abstractmethod
    def forest(self, inputs: Sequence[Input]) -> WeighedForest:
        """Build the forest of all derivations that inputs may have, with a component for each input.

        inputs: one or more inputs.
        """

    @abstractmethod
    def forest_of(self, trees: Sequence[Tree]) -> WeighedForest:
        """Build the forest of the derivations of given trees, with a component for each tree.

        trees: one or more trees.
        """

    def score(self, trees: Sequence[Tree]) -> SignedLog:
        """Estimate p̂ of T trees.

        trees: the trees.
        """
        return self._answer("forest_of", trees).weight()

    @abstractmethod
    def output(self, tree: SkeletalTrees, given: Input | None = None) -> Tree:
        """Convert one s-tree back to a tree of the formalism.

        tree: an s-tree over the symbols and terminals of the operators.
        given: the input that the s-tree derives; None for a tree that was drawn.
        """

    def drawn(self, tree: SkeletalTrees, states: IntArray) -> Tree:
        """Convert an s-tree that was drawn to a tree of the formalism.

        tree: an s-tree of N nodes.
        states: (N,) the latent state of each node.
        """
        return self.output(tree)

    def gains(self, weighed: WeighedForest) -> FloatArray:
        """Compute the gain (E,) of each edge; decoding finds the derivations with the largest sums of gains.

        weighed: the forest of one or more inputs, with E edges.
        """
        return np.abs(weighed.marginals())[weighed.forest.item]

    def _answer(self, question: Literal["forest", "forest_of"], given: Sequence[Any]) -> WeighedForest:
        """Answer a question about inputs or trees, and check that the forest has a component for each of them."""
        name = f"{type(self).__name__}.{question}"
        weighed: Any = getattr(self, question)(given)
        if not isinstance(weighed, WeighedForest):
            raise TypeError(f"{name} must return a WeighedForest, not {weighed!r:.60}")
        for part, kind in ((weighed.operators, ObservableOperators), (weighed.forest, Forest)):
            if not isinstance(part, kind):
                raise TypeError(f"{name} must return a WeighedForest with a {kind.__name__}, not {part!r:.60}")
        of_tree = weighed.forest if weighed.tree is None else weighed.forest._replace(component=weighed.tree)
        if of_tree.n_components != len(given):
            what = "inputs" if question == "forest" else "trees"
            raise ValueError(
                f"{name} must return a forest with one component for each of the {len(given)} {what}, "
                f"not {of_tree.n_components}"
            )
        return weighed

    def _checked_gains(self, weighed: WeighedForest) -> FloatArray:
        """Compute the gain (E,) of each edge, and check that all are finite."""
        gains = self.gains(weighed)
        name = f"{type(self).__name__}.gains"
        check_column(f"the numbers of {name}", gains, (weighed.forest.n_edges,), np.float64)
        if not np.isfinite(gains).all():
            raise ValueError(f"{name} must return finite numbers")
        return gains

    @property
    def named_operators(self) -> NamedOperators:
        """The operators, with names of symbols and terminals; see `inspection`.  The names are numbers by default."""
        operators = self.operators
        n_terminals = int(operators.rules.leaf[:, 1].max(initial=-1)) + 1
        return NamedOperators(operators, list(map(str, range(operators.n_symbols))), list(map(str, range(n_terminals))))

    @property
    def n_known(self) -> int | None:
        """The number of terminals that may be drawn, which come first; None for all."""
        return None

    @cached_property
    def drawn_operators(self) -> ObservableOperators:
        """The operators from which trees are drawn: without leaf rules of terminals that have no name of their own."""
        operators = self.operators
        if self.n_known is None or not self.probabilities:
            return operators
        is_known = operators.rules.leaf[:, 1] < self.n_known
        known = operators.with_leaf_rules(operators.rules.leaf[is_known], operators.leaf[is_known])
        return ObservableOperators.probabilities_of(known)


MemberKind = TypeVar("MemberKind", bound=Member[Any, Any])


class LatentTreeModel(StoredModel, Generic[MemberKind, Input, Tree]):
    """Base of all latent tree models: trees of any formalism, whose nodes have latent states.

    A model has one or more members.  Probabilities are means over the members.

    members: the members; their options are alike where the model uses those of the first member.
    """

    members: tuple[MemberKind, ...]

    @property
    def sizes(self) -> str:
        """The number of members, and the sizes of the first one."""
        several = f"{len(self.members)} grammars, the first with " if len(self.members) > 1 else ""
        return f"{several}{self.members[0].sizes}"

    @property
    def grammar(self) -> MemberKind:
        """The member of a model that has only one.  Raises ValueError if there are several."""
        (grammar,) = self.members
        return grammar

    @property
    def options(self) -> Any:
        """The options of the first member."""
        return self.members[0].options

    @property
    def objective(self) -> tuple[float, ...]:
        """The objective of EM of the first member, by iteration; empty for an estimator without EM."""
        return self.members[0].objective

    @property
    def named_operators(self) -> NamedOperators:
        """The operators of the first member, with names of symbols and terminals; see `inspection`."""
        return self.members[0].named_operators

    def with_members(self, change: Callable[[MemberKind], MemberKind]) -> Self:
        """Replace each member.

        change: the function that makes the new member of an old one.
        """
        model: Any = self
        changed: Self = replace(model, members=tuple(map(change, self.members)))
        return changed

    def with_operators(self, operators: ObservableOperators, objective: tuple[float, ...] = ()) -> Self:
        """Replace the latent operators of a model with one member by others over the same rules.

        operators: operators over the rules of the latent operators.
        objective: the objective of the EM that made the operators, by iteration; empty without EM.
        Raises ValueError if the model has several members.
        """
        check_kind(operators, ObservableOperators)
        changed = self.grammar.with_operators(operators, objective)
        return self.with_members(lambda _: changed)

    def _input(self, given: Any) -> Input:
        """Check an input, and bring it to the form that members take; every question about inputs begins here."""
        if isinstance(given, Partial):
            raise TypeError(f"the trees of a {type(self).__name__} take no constraints; give the input alone")
        checked_input: Input = given
        return checked_input

    def _inputs(self, several: Iterable[Any]) -> Iterator[Input]:
        """Check inputs one by one, and name the number of one that is refused."""
        for number, given in enumerate(several, start=1):
            try:
                yield self._input(given)
            except (TypeError, ValueError) as error:
                raise type(error)(f"input {number}: {error}") from None

    def _trees(self, trees: Iterable[Any]) -> list[Tree]:
        """Check trees, and bring them to the form that members take."""
        return list(trees)

    def _weigh(self, trees: list[Tree]) -> SignedLog:
        """Compute p̂ of checked trees; there is at least one."""
        return SignedLog.mean([member.score(trees) for member in self.members])

    def _sum(self, inputs: list[Input]) -> SignedLog:
        """Sum p̂ over the trees of each of several checked inputs."""
        return SignedLog.mean([member._answer("forest", inputs).weight() for member in self.members])

    def _check_settings(self, n_best: int) -> None:
        """Raise ValueError or TypeError for settings of `parse_all` that the formalism does not have."""
        checked("n_best", n_best, Count)

    def _parses(self, inputs: list[Input], n_best: int, *args: Any, **settings: Any) -> list[Parses[Tree]]:
        """Find the best trees of each of several checked inputs.

        Without parts that members have in common, only one member can decode.
        """
        member = self.grammar
        weighed = member._answer("forest", inputs)
        forest = weighed.forest
        found = n_best_derivations(forest, member._checked_gains(weighed), n_best)
        trees = [derivation.tree(forest, weighed.operators.rules) for derivation in found]
        outputs = [member.output(tree, inputs[at]) for tree, at in zip(trees, found.component.tolist(), strict=True)]
        parses: list[Parses[Tree]] = [Parses() for _ in inputs]
        if outputs:
            weight = self._weigh(outputs)
            weighed_trees = map(Parse, outputs, weight.sign.tolist(), weight.log.tolist())
            for at, parse in zip(found.component.tolist(), weighed_trees, strict=True):
                parses[at].append(parse)
        return parses

    def score(self, trees: Iterable[Any]) -> SignedLog:
        """Estimate the probabilities p̂ of T trees with their terminals, as sign and log: the mean over the members.

        trees: the trees.
        """
        given = self._trees(trees)
        return self._weigh(given) if given else SignedLog.unknown(0)

    def log_probabilities(self, inputs: Iterable[Any]) -> FloatArray:
        """Compute the natural logarithms (T,) of the estimated probabilities of inputs: the mean over the members.

        The probability under a member is the sum of `score` over the derivations in its forest of the input.  Where
        the forest is pruned, probabilities are therefore lower bounds; the class says what is left out.  The logarithm
        is -inf if the estimate is not above zero, which is possible for spectral models.

        inputs: the inputs.
        """
        sums = [self._sum(batch).log_if_positive for batch in batches_of(self._inputs(inputs))]
        return np.concatenate(sums) if sums else np.zeros(0)

    def parse(self, given: Any, *, constraints: Any = None, **settings: Any) -> Parse[Tree]:
        """Find the tree of an input with the largest gain: the first that `parse_nbest` finds.

        given: the input.
        constraints: what is known of its tree, for formalisms with constraints; None for nothing.
        settings: further settings of the formalism, which the class names.
        Raises ValueError if the formalism has no tree for the input.
        """
        parses = self.parse_nbest(given, 1, constraints=constraints, **settings)
        if not parses:
            raise ValueError("the model has no tree for this input")
        return parses[0]

    def parse_nbest(self, given: Any, n_best: int, *, constraints: Any = None, **settings: Any) -> Parses[Tree]:
        """Find up to `n_best` different trees of an input, by falling gain.

        given: the input.
        constraints: what is known of its tree; p̂ of a tree does not depend on it.
        settings: further settings of the formalism.
        Raises ValueError if n_best < 1, or if the input or the constraints do not fit the model.
        """
        self._check_settings(n_best, **settings)
        known = given if constraints is None else Partial(given, constraints)
        (parses,) = self._parses([self._input(known)], n_best, **settings)
        return parses

    def parse_all(
        self, inputs: Iterable[Any], n_best: int = 1, *, jobs: int | None = 1, **settings: Any
    ) -> Iterator[Parses[Tree]]:
        """Find up to `n_best` trees of each input, in order, as `parse_nbest` does.

        Inputs are read and answered in batches, which takes less time than one by one.

        inputs: the inputs; `Partial` joins one to constraints on its tree.
        jobs: the number of processes; see `model.batches.map_batches`.
        settings: further settings of the formalism.
        Raises ValueError, before an input is read, if n_best < 1 or for settings that do not fit.
        """
        self._check_settings(n_best, **settings)
        return map_batches(_parses_of, self, self._inputs(inputs), jobs, n_best, settings)

    def sample(self, n: int, rng: np.random.Generator, max_nodes: int = 10_000) -> list[Tree]:
        """Draw n independent trees, each from a member that is drawn at random.

        n: the number of trees.
        max_nodes: the largest number of nodes of an s-tree.
        Raises ValueError if the operators are not probabilities, or if an s-tree grows beyond `max_nodes` nodes.
        """
        checked("rng", rng, np.random.Generator)
        drawn: list[tuple[int, Tree]] = []
        of_tree = rng.integers(len(self.members), size=checked("n", n, Count))
        for number, member in enumerate(self.members):
            # Each member draws its trees together; `places` puts them back among those of the others.
            places = np.flatnonzero(of_tree == number)
            trees, states = sample_trees(member.drawn_operators, len(places), rng, max_nodes)
            of_each = np.split(states, trees.root + 1)
            drawn += zip(places.tolist(), map(member.drawn, trees.separate(), of_each[:-1]), strict=True)
        return [tree for _, tree in sorted(drawn, key=itemgetter(0))]


def _parses_of(
    model: LatentTreeModel[Any, Any, Any], inputs: list[Any], n_best: int, settings: dict[str, Any]
) -> list[Parses[Any]]:
    """Find the best trees of each checked input of a batch."""
    return model._parses(inputs, n_best, **settings)
