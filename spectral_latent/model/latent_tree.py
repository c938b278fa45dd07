"""Hold the latent tree model: one or more estimated grammars of a formalism, and all that follows from them.

Trees are found in five steps.  A formalism answers one question at each of them; `LatentTreeModel` asks the questions,
in batches, of all members.  `model.parts` holds the records between the steps.

| step | question | who answers |
| --- | --- | --- |
| chart | Which derivations may an input have? | `Member.chart` |
| parts | Which parts do its trees consist of, how likely? | `Member.parts`; by default, the edges of charts |
| judge | How likely are they by what the members do not see? | `LatentTreeModel.judges`; by default, there are none |
| assemble | Which trees consist of the best parts? | `LatentTreeModel.assemble`; by default, derivations |
| score | Which derivations have given trees? | `Member.forest_of` |

`Member.output` makes a tree of a derivation, and `LatentTreeModel.fallback` one where there is no derivation.
"""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from spectral_latent._compiled import by_python, check_column
from spectral_latent._options import AtLeast, Count, ShortRepr, checked, counted
from spectral_latent.files import StoredModel
from spectral_latent.inference import SignedLog, n_best_derivations, sample_trees
from spectral_latent.inference.inside_outside import item_component
from spectral_latent.inspection import NamedOperators
from spectral_latent.model.batches import batches_of, map_batches
from spectral_latent.model.parses import Parse, Parses, Partial, check_kind
from spectral_latent.model.parts import Analysis, Found, Judge, Parts, WeighedForest, average, explain
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import FloatArray, Forest, IntArray, SkeletalTrees, Vocabulary

Input = TypeVar("Input")
Tree = TypeVar("Tree")


class Member(ShortRepr, Generic[Input, Tree]):
    """Base of estimated grammars: the operators of one latent tree model, and the meaning of its symbols.

    A member is a frozen dataclass.  Its fields are the names that the symbols and terminals stand for, the operators
    `latent`, and at least

    objective: the objective of EM at the start and after each iteration; empty for an estimator without EM."""

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

        objective: the objective of the EM that made them; empty for other operators."""
        member: Any = self
        changed: Self = replace(member, latent=operators, objective=objective)
        return changed

    @abstractmethod
    def chart(self, inputs: Sequence[Input]) -> Any:
        """Find the derivations that inputs may have: a `WeighedForest` with a component for each input.

        A formalism with another kind of charts makes a forest of them in `forest`."""

    def forest(self, charts: Any) -> WeighedForest:
        """Make the forest of charts, with a component for each input, whose weight is p̂ of the input."""
        weighed: WeighedForest = charts
        return weighed

    @property
    def part_names(self) -> Sequence[Any]:
        """The names of the labels of parts, by which the members of a model have parts in common; by default none."""
        return ()

    def parts(self, inputs: Sequence[Input], charts: Any) -> Found:
        """Find the parts that the trees of inputs may have; by default the edges of their charts, with `gains`."""
        weighed = self._weighed("chart", self.forest(charts), inputs)
        gains = self._checked_gains(weighed)
        item = weighed.forest.item
        edges = Parts(item_component(weighed.forest)[item], item, item, np.arange(len(item)), gains)
        return Found(edges, np.ones(len(inputs), dtype=np.bool_), weighed, edges)

    @abstractmethod
    def forest_of(self, trees: Sequence[Tree]) -> WeighedForest:
        """Build the forest of the derivations of given trees, with a component for each tree."""

    def score(self, trees: Sequence[Tree]) -> SignedLog:
        """Estimate p̂ of T trees."""
        return self._weighed("forest_of", self.forest_of(trees), trees).weight()

    def weigh(self, inputs: Sequence[Input]) -> SignedLog:
        """Sum p̂ over the derivations that inputs have in their charts."""
        return self._weighed("chart", self.forest(self.chart(inputs)), inputs).weight()

    @abstractmethod
    def output(self, tree: SkeletalTrees, given: Input | None = None) -> Tree:
        """Convert one s-tree back to a tree of the formalism.

        given: the input that the s-tree derives; None for a tree that was drawn."""

    def drawn(self, tree: SkeletalTrees, states: IntArray) -> Tree:
        """Convert an s-tree that was drawn to a tree of the formalism.

        states: (N,) the latent state of each node."""
        return self.output(tree)

    def gains(self, weighed: WeighedForest) -> FloatArray:
        """Compute the gain (E,) of each edge, which is its posterior as a part; by default that of its item.

        weighed: the forest of one or more inputs, with E edges."""
        return np.abs(weighed.marginals())[weighed.forest.item]

    def _weighed(self, question: str, weighed: Any, given: Sequence[Any]) -> WeighedForest:
        """Check that the answer to a question is a forest with a component for each of the given inputs or trees."""
        name = f"{type(self).__name__}.{question}"
        if not isinstance(weighed, WeighedForest):
            raise TypeError(f"{name} must return a WeighedForest, not {weighed!r:.60}")
        for part, kind in ((weighed.operators, ObservableOperators), (weighed.forest, Forest)):
            if not isinstance(part, kind):
                raise TypeError(f"{name} must return a WeighedForest with a {kind.__name__}, not {part!r:.60}")
        if weighed.forest.n_components != len(given):
            what = "inputs" if question == "chart" else "trees"
            raise ValueError(
                f"{name} must return a forest with one component for each of the {len(given)} {what}, "
                f"not {weighed.forest.n_components}"
            )
        checked_forest: WeighedForest = weighed
        return checked_forest

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

    members: the members; their options are alike where the model uses those of the first member."""

    several: ClassVar[type[list[Any]]] = list  # the list of the parses of several inputs

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
        """Replace each member."""
        model: Any = self
        changed: Self = replace(model, members=tuple(map(change, self.members)))
        return changed

    def with_operators(self, operators: ObservableOperators, objective: tuple[float, ...] = ()) -> Self:
        """Replace the latent operators of a model with one member by others over the same rules.

        objective: the objective of the EM that made the operators, by iteration; empty without EM.
        Raises ValueError if the model has several members."""
        check_kind(operators, ObservableOperators)
        changed = self.grammar.with_operators(operators, objective)
        return self.with_members(lambda _: changed)

    def checked(self, given: Any, **settings: Any) -> Input:
        """Check an input with its constraints, and bring it to the form that members take; every question about inputs
        begins here.

        given: the input, or a `Partial`.
        settings: the settings of `parse_all` on which it depends whether constraints fit.
        Raises TypeError or ValueError for an input, or constraints, that do not fit the model.
        """
        if isinstance(given, Partial):
            raise TypeError(f"the trees of a {type(self).__name__} take no constraints; give the input alone")
        checked_input: Input = given
        return checked_input

    def _inputs(self, several: Iterable[Any], **settings: Any) -> Iterator[Input]:
        """Check inputs one by one, and name the number of one that is refused."""
        for number, given in enumerate(several, start=1):
            try:
                yield self.checked(given, **settings)
            except (TypeError, ValueError) as error:
                raise type(error)(f"input {number}: {error}") from None

    def _trees(self, trees: Iterable[Any]) -> list[Tree]:
        """Check trees, and bring them to the form that members take."""
        return list(trees)

    def _weigh(self, trees: list[Tree]) -> SignedLog:
        """Compute p̂ of checked trees; there is at least one."""
        return SignedLog.mean([member.score(trees) for member in self.members])

    def _work(self, inputs: Sequence[Input]) -> float:
        """Estimate the work of inputs for each member, as `by_python` counts it; by default, it is never short."""
        return np.inf

    def _block(self, inputs: Sequence[Input], times: float = 1.0) -> AbstractContextManager[None]:
        """Open a block that Python runs by itself if inputs are short; it takes `times` the work of a parse."""
        return by_python(times * len(self.members) * self._work(inputs))

    def _sum(self, inputs: list[Input]) -> SignedLog:
        """Sum p̂ over the trees of each of several checked inputs."""
        return SignedLog.mean([member.weigh(inputs) for member in self.members])

    def _check_settings(self, n_best: int, *, scored: bool = True) -> None:
        """Raise ValueError or TypeError for settings of `parse_all` that the formalism does not have."""
        checked("n_best", n_best, Count)
        checked("scored", scored, bool)

    def chart(self, inputs: Sequence[Input]) -> list[Any]:
        """Take the first step: let each member find the derivations that inputs may have."""
        return [member.chart(inputs) for member in self.members]

    @cached_property
    def part_names(self) -> Vocabulary[Any]:
        """The names of the labels of parts, of all members."""
        return Vocabulary(name for member in self.members for name in member.part_names)

    @cached_property
    def _part_numbers(self) -> list[IntArray]:
        """The numbers of each member's labels of parts among those of all members."""
        return [self.part_names.numbers(member.part_names) for member in self.members]

    def find_parts(self, inputs: Sequence[Input], charts: Sequence[Any]) -> Analysis[Input]:
        """Take the second step: find the parts of trees, with their mean posteriors under the members that derive them.

        Raises ValueError if there are not as many charts as members, or members have no parts in common."""
        if len(charts) != len(self.members):
            raise ValueError(f"there must be charts of each of the {len(self.members)} members, not of {len(charts)}")
        if len(charts) > 1 and not len(self.part_names):
            raise ValueError(f"the members of a {type(self).__name__} have no parts in common; give it one member")
        found: list[Found] = []
        for member, of_member, numbers in zip(self.members, charts, self._part_numbers, strict=True):
            alone = member.parts(inputs, of_member)
            if not isinstance(alone, Found):
                raise TypeError(f"{type(member).__name__}.parts must return a Found, not {alone!r:.60}")
            if alone.is_derived.shape != (len(inputs),):
                raise ValueError(
                    f"{type(member).__name__}.parts must tell of each of the {len(inputs)} inputs whether it is "
                    f"derived, not of {len(alone.is_derived)}"
                )
            found.append(alone.renumbered(numbers) if len(charts) > 1 else alone)
        of_members, are_derived, *_ = zip(*found, strict=True)
        parts = average(of_members, sum(are_derived))
        return Analysis(inputs, charts, found, parts, parts)

    @property
    def judges(self) -> Sequence[Judge[Any]]:
        """The judges of parts, in the order in which they judge."""
        return ()

    def evidence(self, analysis: Analysis[Input]) -> Any:
        """Collect what the judges know of the inputs beside the parts; by default the record itself."""
        return analysis

    def judge_parts(self, analysis: Analysis[Input]) -> Analysis[Input]:
        """Take the third step: let the judges re-weigh the parts."""
        parts = analysis.parts
        if judges := self.judges:
            evidence = self.evidence(analysis)
            for judge in judges:
                parts = judge.judge(parts, evidence)
        return analysis._replace(judged=parts)

    def analyse(self, inputs: Sequence[Input]) -> Analysis[Input]:
        """Take the first three steps: chart, parts and judge.

        inputs: one or more inputs, in the form that members take."""
        with self._block(inputs):
            return self.judge_parts(self.find_parts(inputs, self.chart(inputs)))

    def assemble(self, analysis: Analysis[Input], n_best: int = 1) -> Analysis[Input]:
        """Take the fourth step: find up to `n_best` different trees of each input, by falling gain.

        By default, they are the derivations in the charts of all members with the largest sums of the posteriors of
        their edges' parts."""
        candidates: list[list[tuple[float, Tree]]] = [[] for _ in analysis.inputs]
        gain = np.append(analysis.judged.posterior, 0.0)
        for member, found in zip(self.members, analysis.found, strict=True):
            weighed = found.weighed
            if weighed is None or found.edges is None:
                raise ValueError(f"{type(member).__name__}.parts names no edges; assemble trees of its parts")
            derivations = n_best_derivations(weighed.forest, gain[analysis.judged.find(found.edges)], n_best)
            for at, derivation in zip(derivations.component.tolist(), derivations, strict=True):
                if found.is_derived[at]:
                    tree = member.output(derivation.tree(weighed.forest, weighed.operators.rules), analysis.inputs[at])
                    if all(tree != other for _, other in candidates[at]):
                        candidates[at].append((derivation.score, tree))
        best = (sorted(of_input, key=lambda pair: -pair[0])[:n_best] for of_input in candidates)
        return analysis._replace(trees=[[tree for _, tree in of_input] for of_input in best])

    def score_trees(self, analysis: Analysis[Input]) -> SignedLog:
        """Take the fifth step: estimate p̂ of the trees of all inputs, one after the other; there is at least one."""
        return self._weigh(list(chain.from_iterable(analysis.trees)))

    def fallback(self, analysis: Analysis[Input], at: int) -> Tree | None:
        """Make a tree of an input that no member derives; None if it has no tree."""
        return None

    def parses(
        self, analysis: Analysis[Input], n_best: int = 1, *, scored: bool = True, **settings: Any
    ) -> list[Parses[Tree]]:
        """Take the last two steps: assemble the trees of inputs, and score them.

        scored: whether to compute p̂ of trees."""
        analysis = self.assemble(analysis, n_best, **settings)
        is_scored = scored and any(analysis.trees)
        weight = self.score_trees(analysis) if is_scored else SignedLog.unknown(sum(map(len, analysis.trees)))
        sign, log = iter(weight.sign.tolist()), iter(weight.log.tolist())
        parses: list[Parses[Tree]] = self.several()
        for at, of_input in enumerate(analysis.trees):
            found = Parses(map(Parse, of_input, sign, log))
            if not found and (flat := self.fallback(analysis, at)) is not None:
                found.append(Parse(flat, 0, -np.inf, is_fallback=True))
            parses.append(found)
        return parses

    def _input_of(self, tree: Tree, number: int) -> tuple[Hashable, Input]:
        """Take the input of a tree, given its number, with a key that trees of equal inputs have in common."""
        raise TypeError(f"the trees of a {type(self).__name__} have no parts with posteriors")

    def _posteriors_of(self, analysis: Analysis[Input], trees: Sequence[Sequence[Tree]]) -> list[FloatArray]:
        """List the posteriors of the parts of the checked trees of all inputs, one tree after the other."""
        raise TypeError(f"the trees of a {type(self).__name__} have no parts with posteriors")

    def part_posteriors(self, trees: Iterable[Any]) -> list[FloatArray]:
        """Compute the posteriors of the parts of trees, as they are judged: one array for each tree.

        The parts of phrases are labelled constituents, tags included, in the order of `list_constituents`; those of
        dependency trees are the arcs to each word.

        trees: the trees.  What is the same for all trees of an input is computed once.
        Raises EstimationError if a tree has no word, or not one head for each word."""
        places: dict[Hashable, list[int]] = {}
        inputs: list[tuple[Hashable, Input]] = []
        given = self._trees(trees)
        for place, tree in enumerate(given):
            key, of_tree = self._input_of(tree, place + 1)
            if key not in places:
                inputs.append((key, of_tree))
            places.setdefault(key, []).append(place)
        posteriors = [np.zeros(0)] * len(given)
        for batch in batches_of(inputs):
            analysis = self.analyse([self.checked(of_tree) for _, of_tree in batch])
            several = [[given[place] for place in places[key]] for key, _ in batch]
            rows = chain.from_iterable(places[key] for key, _ in batch)
            for place, row in zip(rows, self._posteriors_of(analysis, several), strict=True):
                posteriors[place] = row
        return posteriors

    def name_parts(self, analysis: Analysis[Input]) -> list[str]:
        """Write the parts of one input as people read them; by default the symbols of edges."""
        symbol = self.grammar.forest(analysis.charts[0]).forest.symbol
        names = self.named_operators.symbols
        return [names[number] for number in symbol[analysis.parts.begin].tolist()]

    def explain(self, given: Any, *, constraints: Any = None, least: float = 0.01) -> str:
        """Write what each step finds in an input: the sizes of charts, the likely parts, how they are judged, the tree.

        constraints: what is known of its tree; None for nothing.
        least: the least posterior, before or after judging, of a part that is shown."""
        checked("least", least, Annotated[float, AtLeast(0.0)])
        known = given if constraints is None else Partial(given, constraints)
        inputs = [self.checked(known)]
        with self._block(inputs):
            analysis = self.analyse(inputs)
            sizes = [self.members[at].forest(charts).forest for at, charts in enumerate(analysis.charts)]
            (parses,) = self.parses(analysis)
        steps = explain(analysis, sizes, self.name_parts(analysis), least)
        return "\n".join([steps, *(f"{parse.caption(1)}\n{self.write(parse.tree)}" for parse in parses)])

    def write(self, tree: Tree) -> str:
        """Write a tree as people read it."""
        return str(tree)

    def score(self, trees: Iterable[Any]) -> SignedLog:
        """Estimate the probabilities p̂ of T trees with their terminals, as sign and log: the mean over the members."""
        given = self._trees(trees)
        return self._weigh(given) if given else SignedLog.unknown(0)

    def log_probabilities(self, inputs: Iterable[Any]) -> FloatArray:
        """Compute the natural logarithms (T,) of the estimated probabilities of inputs: the mean over the members.

        The probability under a member is the sum of `score` over the derivations in its forest of the input.  Where
        the forest is pruned, probabilities are therefore lower bounds; the class says what is left out.  The logarithm
        is -inf if the estimate is not above zero, which is possible for spectral models."""
        sums = [np.zeros(0)]
        for batch in batches_of(self._inputs(inputs)):
            with self._block(batch):
                sums.append(self._sum(batch).log_if_positive)
        return np.concatenate(sums)

    def parse(self, given: Any, *, constraints: Any = None, **settings: Any) -> Parse[Tree]:
        """Find the tree of an input with the largest gain: the first that `parse_nbest` finds.

        constraints: what is known of its tree, for formalisms with constraints; None for nothing.
        settings: further settings of the formalism, which the class names.
        Raises ValueError if the formalism has no tree for the input."""
        if settings:
            self._check_settings(1, **settings)
        known = given if constraints is None else Partial(given, constraints)
        (parses,) = _parses_of(self, [self.checked(known, **settings)], 1, settings)
        if not parses:
            raise ValueError("the model has no tree for this input")
        return parses[0]

    def parse_nbest(self, given: Any, n_best: int, *, constraints: Any = None, **settings: Any) -> Parses[Tree]:
        """Find up to `n_best` different trees of an input, by falling gain.

        constraints: what is known of its tree; p̂ of a tree does not depend on it.
        Raises ValueError if n_best < 1, or if the input or the constraints do not fit the model."""
        self._check_settings(n_best, **settings)
        known = given if constraints is None else Partial(given, constraints)
        return _parses_of(self, [self.checked(known, **settings)], n_best, settings)[0]

    def parse_all(
        self, inputs: Iterable[Any], n_best: int = 1, *, jobs: int | None = 1, **settings: Any
    ) -> Iterator[Parses[Tree]]:
        """Find up to `n_best` trees of each input, in order, as `parse_nbest` does.

        Inputs are read and answered in batches, which takes less time than one by one.

        inputs: the inputs; `Partial` joins one to constraints on its tree.
        jobs: the number of processes; see `model.batches.map_batches`.
        Raises ValueError, before an input is read, if n_best < 1 or for settings that do not fit."""
        self._check_settings(n_best, **settings)
        return map_batches(_parses_of, self, self._inputs(inputs, **settings), jobs, n_best, settings)

    def sample(self, n: int, rng: np.random.Generator, max_nodes: int = 10_000) -> list[Tree]:
        """Draw n independent trees, each from a member that is drawn at random.

        max_nodes: the largest number of nodes of an s-tree.
        Raises ValueError if the operators are not probabilities, or if an s-tree grows beyond `max_nodes` nodes."""
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
    with model._block(inputs, n_best):
        return model.parses(model.analyse(inputs), n_best, **settings)
