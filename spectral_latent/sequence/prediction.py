"""Predict observations: proper probabilities, event by event, from operators whose estimates may be negative.

| here | meaning |
| --- | --- |
| f_i, (K·M,) | the state before position i: the outside vectors of its spines, up to a factor |
| A_x, (K·M, K·M) | f_{i+1} = f_i A_x after the observation x, if the sequence goes on; A = Σ_x A_x |
| a, (K·M,) | the total weight of all continuations: a = A a + b, where b is the weight of an end at this position |
| event e = (x, last) | the observation of one position, and whether the position is the last |
| W, (K·M, 2n) | f_i · W_e / f_i · a = p̂(e \\| the events before); the columns of W add up to a |
| f̄ | the sum of f over all positions of an average sequence: f̄ = f_1 + Aᵀ f̄ |

An estimate p̂ may be negative or far too small.  Each estimate is therefore raised to at least ε q(e), where q(e) is
the event's probability in the coarse model, and all are divided by their sum.  If the estimate of the observed event
was raised, the state f_i cannot be trusted, and the average state f̄ replaces it before f_{i+1} is computed.  Therefore
every sequence has a positive probability, and the probabilities of all sequences add up to one.

Sequences advance together, one position at a time: their states are the rows of one matrix.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Generic, TypeVar

import numpy as np

from spectral_latent._compiled import TINY, by_python
from spectral_latent._options import AtLeast, Count, checked
from spectral_latent.inference import SignedLog
from spectral_latent.model import LatentTreeModel, Prefixes, Surprisal, Unit, entropies
from spectral_latent.model.parts import Analysis
from spectral_latent.operators import ObservableOperators
from spectral_latent.sequence.conversion import Sequences, check_sequence
from spectral_latent.sequence.decoding import best_tags, n_best_tags, tag_matrix, tag_parts
from spectral_latent.sequence.forests import TrellisBuilder
from spectral_latent.sequence.grammar import SequenceGrammar
from spectral_latent.trees import FloatArray, IntArray

GrammarKind = TypeVar("GrammarKind", bound=SequenceGrammar[Any, Any])
Input = TypeVar("Input")

_SEQUENCES = 1 << 9  # the number of sequences that advance together
_LEAST_WEIGHT = 1e-200  # a weight of all continuations by which states can be divided without overflow
_EVENTS = 1 << 7  # the number of events that are estimated at a time, so that estimates stay in the processor's cache


def _sizes(operators: ObservableOperators) -> tuple[int, int, int]:
    """Return the number of tags K, and the largest numbers of states: E of emissions, and M of spines."""
    n_tags = operators.n_symbols // 2
    return n_tags, int(operators.states[:n_tags].max()), int(operators.states[n_tags:].max())


def _sums_over_sequences(operators: ObservableOperators, n_terminals: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve the equations of a (K·M,), W (K·M, 2n) and f̄ (K·M,); ValueError if the mean sequence is infinitely long."""
    n_tags, width, m = _sizes(operators)
    leaf = np.zeros((n_tags, n_terminals, width))
    leaf[tuple(operators.rules.leaf.T)] = operators.leaf[:, :width]
    last = np.zeros((n_tags, m, width))
    last[operators.rules.unary[:, 1]] = operators.unary[:, :m, :width]
    emitted = leaf.sum(axis=1)
    # A sums the rules K+t → t K+u over observations.
    step = np.zeros((n_tags, m, n_tags, m))
    for (_, t, spine), tensor in zip(operators.rules.binary, operators.binary, strict=True):
        m_a, m_b, m_c = tensor.shape
        step[t, :m_a, spine - n_tags, :m_c] = tensor.apply_left(emitted[t, :m_b])
    matrix = step.reshape(n_tags * m, n_tags * m)
    if not np.abs(np.linalg.eigvals(matrix)).max(initial=0.0) < 1.0:
        raise ValueError("the model's sequences are infinitely long on average; train with fewer states")
    system = np.eye(n_tags * m) - matrix
    after = np.linalg.solve(system, np.einsum("tij,tj->ti", last, emitted).ravel())
    average = np.asarray(np.linalg.solve(system.T, operators.root[n_tags:, :m].ravel()), dtype=np.float64)
    # W applies these rules to an observation and to a, instead of the next spine; and the rules of last positions.
    going_on = np.zeros((n_tags, m, width))
    for (_, t, spine), tensor in zip(operators.rules.binary, operators.binary, strict=True):
        m_a, m_b, m_c = tensor.shape
        going_on[t, :m_a, :m_b] += tensor.apply_right(after.reshape(n_tags, m)[spine - n_tags, :m_c])
    events = [np.einsum("tij,txj->tix", part, leaf, optimize=True) for part in (going_on, last)]
    return after, np.concatenate(events, axis=2).reshape(n_tags * m, -1), average


@dataclass(frozen=True, eq=False)
class Predictor:
    """Compute probabilities of events, which are at least ε times those of a coarse model.

    Event x is observation x before the last position, event n + x is observation x at the last position.

    after: (K·M,) the vector a.
    weights: (K·M, 2n) the matrix W.
    average: (K·M,) the average state f̄.
    least: (2n,) the least probability ε q(e) of each event."""

    operators: ObservableOperators
    builder: TrellisBuilder
    after: FloatArray
    weights: FloatArray
    average: FloatArray
    least: FloatArray

    @staticmethod
    def of(operators: ObservableOperators, coarse: ObservableOperators, n_terminals: int, floor: float) -> Predictor:
        """Make a predictor with ε = floor.  Raises ValueError if sequences are infinitely long on average."""
        _, weights, average = _sums_over_sequences(coarse, n_terminals)
        q = average @ weights
        builder = TrellisBuilder(operators.rules, operators.n_symbols // 2)
        least = floor * q / max(q.sum(), TINY)
        return Predictor(operators, builder, *_sums_over_sequences(operators, n_terminals), least)

    @property
    def n_terminals(self) -> int:
        """The number of terminals, n."""
        return len(self.least) // 2

    @cached_property
    def _steps(self) -> FloatArray:
        """(K, M·E, K·M) for each tag t, the rules K+t → t K+u: from its spine and emission to the spines of all u."""
        operators = self.operators
        n_tags, width, m = _sizes(operators)
        steps = np.zeros((n_tags, m, width, n_tags, m))
        for (_, t, spine), tensor in zip(operators.rules.binary, operators.binary, strict=True):
            m_a, m_b, m_c = tensor.shape
            steps[t, :m_a, :m_b, spine - n_tags, :m_c] = tensor.to_dense()
        return steps.reshape(n_tags, m * width, n_tags * m)

    def _first(self, n: int) -> FloatArray:
        """Repeat f_1 for n sequences, (n, K·M)."""
        n_tags, _, m = _sizes(self.operators)
        return np.tile(self.operators.root[n_tags:, :m].ravel(), (n, 1))

    def _scale(self, state: FloatArray) -> FloatArray:
        """Divide states (T, K·M) by the weights of all their continuations; zero if a weight is not well above zero."""
        total = (state @ self.after)[:, None]
        return np.asarray(np.divide(state, total, out=np.zeros_like(state), where=total > _LEAST_WEIGHT))

    def _raise_estimates(self, scaled: FloatArray, events: slice = slice(None)) -> FloatArray:
        """Estimate events (T, n') in scaled states (T, K·M), and raise the estimates to their least values."""
        estimates: FloatArray = scaled @ self.weights[:, events]
        return np.maximum(estimates, self.least[events], out=estimates)

    def _estimate(self, scaled: FloatArray, event: IntArray) -> FloatArray:
        """Compute p̂ of one event (T,) of each sequence, (T,), in scaled states (T, K·M)."""
        return np.asarray(np.einsum("ti,it->t", scaled, self.weights[:, event]))

    def _probability(self, scaled: FloatArray, estimate: FloatArray, event: IntArray) -> FloatArray:
        """Compute the probability (T,) of one event of each sequence; zero if all events have probability zero.

        scaled: (T, K·M) the scaled states.
        estimate: (T,) the estimates p̂ of the events.
        event: (T,) the event of each sequence."""
        total = np.zeros(len(scaled))
        for first in range(0, len(self.least), _EVENTS):
            total += self._raise_estimates(scaled, slice(first, first + _EVENTS)).sum(axis=1)
        own = np.maximum(estimate, self.least[event])
        return np.divide(own, total, out=np.zeros_like(own), where=total > 0)

    def _next(self, state: FloatArray, estimate: FloatArray, event: IntArray) -> FloatArray:
        """Compute f_{i+1} of each sequence, (T, K·M), up to a factor; state: (T, K·M), estimate: (T,), event: (T,)."""
        was_raised = estimate <= self.least[event]
        state = np.where(was_raised[:, None], self.average, state)
        n_tags, width, m = _sizes(self.operators)
        before = state.reshape(len(state), n_tags, m)
        # For each tag, apply its rules to the spines and emissions of all sequences whose observation may have it.
        candidates = self.builder.candidates(event)
        position = candidates.position
        after = np.zeros_like(state)
        for t in np.unique(candidates.tag):
            has_tag = candidates.tag == t
            rows = position[has_tag]
            emission = self.operators.leaf[candidates.rule[has_tag], :width]
            pairs = before[rows, t, :, None] * emission[:, None, :]  # (n, M, E)
            after[rows] += pairs.reshape(len(rows), -1) @ self._steps[t]
        return np.asarray(after / np.maximum(np.abs(after).max(axis=1, keepdims=True), TINY))

    def _check_observed(self, row: IntArray) -> None:
        """Raise ValueError if an observation of a sequence (k,) is missing: events are of observations."""
        for place in np.flatnonzero(row >= self.n_terminals)[:1].tolist():
            raise ValueError(
                f"observation {place + 1} is missing (None); `score` sums over what it may be, and the states "
                f"of `tagger` take it into account"
            )

    def log_probabilities(self, rows: Sequence[IntArray]) -> FloatArray:
        """Compute the natural logarithms (T,) of the probabilities of sequences; all are finite if ε > 0."""
        for row in rows:
            self._check_observed(row)
        log = np.zeros(len(rows))
        # Sort by length, so that sequences of similar length advance together.
        order = sorted(range(len(rows)), key=lambda number: len(rows[number]))
        for first in range(0, len(rows), _SEQUENCES):
            numbers = order[first : first + _SEQUENCES]
            log[numbers] = self._log_probabilities([rows[number] for number in numbers])
        return log

    def _log_probabilities(self, rows: Sequence[IntArray]) -> FloatArray:
        """Compute the logarithms (T,) of the probabilities of sequences that advance together."""
        length = np.array([len(row) for row in rows], dtype=np.int64)
        start = np.cumsum(length) - length
        terminal = np.concatenate([np.zeros(0, dtype=np.int64), *rows])
        log = np.zeros(len(rows))
        state = self._first(len(rows))
        for i in range(length.max(initial=0)):
            reading = np.flatnonzero(length > i)
            is_last = length[reading] == i + 1
            event = terminal[start[reading] + i] + self.n_terminals * is_last
            scaled = self._scale(state[reading])
            estimate = self._estimate(scaled, event)
            with np.errstate(divide="ignore"):
                log[reading] += np.log(self._probability(scaled, estimate, event))
            going_on = reading[~is_last]
            state[going_on] = self._next(state[going_on], estimate[~is_last], event[~is_last])
        return log

    def events(self, row: IntArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Give the state (1, K·M) after each prefix of k observations, and the probabilities (2n,) of all events there.

        row: (k,) the terminals of the sequence."""
        self._check_observed(row)
        state = self._first(1)
        for i in range(len(row) + 1):
            scaled = self._scale(state)
            (raised,) = self._raise_estimates(scaled)
            total = raised.sum()
            yield state, raised / total if total > 0 else raised
            if i < len(row):
                event = row[i : i + 1]
                state = self._next(state, self._estimate(scaled, event), event)

    def next_observations(self, row: IntArray) -> Iterator[FloatArray]:
        """Compute the probabilities (n + 1,) of the n terminals, and of the end, after each prefix of k observations.

        row: (k,) the terminals of the sequence."""
        n = self.n_terminals
        end = 0.0
        for i, (_, p) in enumerate(self.events(row)):
            yield np.append((1.0 - end) * (p[:n] + p[n:]), end)
            if i < len(row):
                # Whether this observation is the last is open until another one follows.
                end = p[n + row[i]] / max(p[row[i]] + p[n + row[i]], TINY)

    def _share(self, state: FloatArray, terminal: IntArray) -> float:
        """Compute the probability, given a state (1, K·M), that the next tag is one that the terminal (1,) may have."""
        if self.builder.n_tags == 1:
            return 1.0
        weight = (state * self.after).reshape(self.builder.n_tags, -1).sum(axis=1)
        return float(weight[self.builder.candidates(terminal).tag].sum() / max(weight.sum(), TINY))

    def prefixes(self, row: IntArray) -> Prefixes:
        """Compute the probabilities of all prefixes of a sequence of n observations; row: (n,)."""
        n = len(row)
        words = np.zeros(n + 1)
        tags = np.zeros(n)
        going_on = 0.0  # log p of the observations so far, and that another one follows
        ending = -np.inf
        with np.errstate(divide="ignore"):
            for i, (state, p) in zip(range(n), self.events(row), strict=False):
                here, last = p[row[i]], p[row[i] + self.n_terminals]
                words[i + 1] = going_on + np.log(here + last)
                tags[i] = going_on + np.log(self._share(state, row[i : i + 1]))
                ending = going_on + np.log(last)
                going_on += np.log(here)
        return Prefixes(words, tags, float(ending))

    def sample(
        self, n: int, n_known: int, rng: np.random.Generator, length: int | None, max_length: int
    ) -> list[list[int]]:
        """Draw sequences of terminals 0 ... n_known - 1, event by event."""
        checked("length", length, Count | None)
        checked("rng", rng, np.random.Generator)
        n_terminals = self.n_terminals
        known = np.tile(np.arange(n_terminals) < n_known, 2)
        is_last = np.arange(2 * n_terminals) >= n_terminals
        state = self._first(n)
        drawn: list[list[int]] = [[] for _ in range(n)]
        growing = drawn  # the sequences that have not ended
        while growing:
            if len(growing[0]) == max_length:
                raise ValueError(f"a sampled sequence has more than {max_length} observations; raise max_nodes")
            scaled = self._scale(state)
            p = self._raise_estimates(scaled) * known
            if length is not None:
                p *= is_last == (len(growing[0]) + 1 == length)
            # Draw an event of each sequence: the first whose cumulative weight exceeds a random share of the total.
            ends = np.cumsum(p, axis=1)
            if not (ends[:, -1] > 0).all():
                raise ValueError("no such sequence of observations that were seen has a positive probability")
            event = np.minimum((ends <= rng.random((len(p), 1)) * ends[:, -1:]).sum(axis=1), 2 * n_terminals - 1)
            for prefix, e in zip(growing, event.tolist(), strict=True):
                prefix.append(e % n_terminals)
            goes_on = ~is_last[event]
            growing = [prefix for prefix, going in zip(growing, goes_on.tolist(), strict=True) if going]
            going_on = event[goes_on]
            state = self._next(state[goes_on], self._estimate(scaled[goes_on], going_on), going_on)
        return drawn


END = None  # the event after the last observation of a sequence


class SequenceModel(LatentTreeModel[GrammarKind, Input, list[Any]], Generic[GrammarKind, Input]):
    """Base of models of sequences, which also predict their observations one by one.

    The tree of a sequence is the sequence itself, with the tags that have the largest posteriors if there are tags;
    `parse_nbest` finds those with the largest sums of posteriors.  An empty sequence has one tree, which is empty.
    `score` sums over what a missing observation (None) may be."""

    def checked(self, given: Any, **settings: Any) -> Input:
        """Check the observations of a sequence."""
        check_sequence(given)
        return super().checked(given)

    def _observed(self, given: Input) -> Sequence[Any]:
        """List the observations of a checked input."""
        observations: Any = given
        return observations  # type: ignore[no-any-return]

    def _work(self, inputs: Sequence[Input]) -> float:
        return self._work_of(map(self._observed, inputs))

    def _work_of(self, rows: Iterable[Sized]) -> float:
        """Multiply the number of observations by the number of states, as `by_python` counts work."""
        return float(self.grammar.operators.states.max(initial=1) * sum(map(len, rows)))

    def analyse(self, inputs: Sequence[Input]) -> Analysis[Input]:
        """Take the first three steps for the sequences that are not empty; others have no parts."""
        full = np.flatnonzero([len(self._observed(given)) > 0 for given in inputs])
        if len(full) == len(inputs) > 0:
            return super().analyse(inputs)
        if not len(full):
            none = np.zeros(0, dtype=np.int64)
            nothing = tag_parts(np.zeros(1, dtype=np.int64), none, none, np.zeros(0))
            return Analysis(inputs, (), (), nothing, nothing)
        found = super().analyse([inputs[at] for at in full.tolist()])
        parts, judged = (each._replace(sentence=full[each.sentence]) for each in (found.parts, found.judged))
        return found._replace(inputs=inputs, parts=parts, judged=judged)

    def assemble(self, analysis: Analysis[Input], n_best: int = 1) -> Analysis[Input]:
        """Find up to `n_best` sequences of tags with the largest sums of posteriors."""
        rows = [self._observed(given) for given in analysis.inputs]
        if n_best == 1:
            best = np.split(best_tags(analysis.judged), np.cumsum([len(row) for row in rows])[:-1])
            pairs = zip(rows, best, strict=True)
            return analysis._replace(trees=[[self.grammar.joined(row, tags)] for row, tags in pairs])
        trees = []
        for at, observed in enumerate(rows):
            posteriors = tag_matrix(analysis.judged.of_sentence(at), [observed], self.grammar.n_tags)
            trees.append([self.grammar.joined(observed, tags) for tags in n_best_tags(posteriors, n_best)])
        return analysis._replace(trees=trees)

    def _weigh(self, trees: list[list[Any]]) -> SignedLog:
        with by_python(self._work_of(trees)):
            return around_empty(trees, super()._weigh) if self.grammar.has_tags else self._sum(trees)

    def name_parts(self, analysis: Analysis[Input]) -> list[str]:
        """Write the observations of a sequence with their tags."""
        observed = self._observed(analysis.inputs[0]) if len(analysis.inputs) else ()
        tags = [self.grammar.tags[label] for label in analysis.parts.label.tolist()]
        words = [str(observed[at]) for at in (analysis.parts.begin - 1).tolist()]
        return [word if tag is None else f"{word} {tag}" for word, tag in zip(words, tags, strict=True)]

    def write(self, tree: list[Any]) -> str:
        """Write the observations of a sequence, with `/` before their tags."""
        return " ".join("/".join(map(str, each)) if self.grammar.has_tags else str(each) for each in tree)

    @property
    @abstractmethod
    def _floor(self) -> float:
        """ε of `prediction`, for operators that are not probabilities."""

    @property
    def _empty(self) -> float:
        """The probability of the empty sequence; 0 for sentences with tags."""
        return 0.0

    @property
    def _estimates(self) -> tuple[float, float]:
        """p̂ of the empty sequence, and the factor of p̂ of all others, whose grammar has no empty sequence."""
        return self._empty, 1.0 - self._empty

    def _terminals(self, sequence: Sequence[Any]) -> IntArray:
        """Look up the terminals of a sequence."""
        terminals: IntArray = self.grammar.observations.terminals_of(sequence)
        return terminals

    @cached_property
    def _predictor(self) -> Predictor:
        coarse, latent = self.grammar.proper
        floor = 0.0 if latent.probabilities else self._floor
        return Predictor.of(latent, coarse, self.grammar.observations.n_terminals, floor)

    def _sum(self, sequences: Iterable[Any]) -> SignedLog:
        """Estimate p̂ of each of T sequences, as sign and log; a tagger sums over all sequences of tags."""
        rows = list(map(self._terminals, sequences))
        with by_python(self._work_of(rows)):
            return around_empty(
                rows, lambda full: self.grammar.trellises(Sequences.of(full)).weight(), *self._estimates
            )

    def log_probabilities(self, sequences: Iterable[Sequence[Any]]) -> FloatArray:
        """Compute the natural logarithms (T,) of proper probabilities of sequences.

        A tagger sums over all sequences of tags.  A word that was never seen is replaced by its signature.  Estimates
        that may be negative are turned into probabilities as described in `prediction`.  The logarithm of an empty
        sequence is -inf unless some were learnt from; a sentence with tags is never empty."""
        if self.grammar.latent.probabilities:
            return self._sum(sequences).log
        rows = list(map(self._terminals, sequences))
        return around_empty(rows, self._predicted, self._empty, 1.0 - self._empty).log

    def _predicted(self, rows: Sequence[IntArray]) -> SignedLog:
        """Compute the probabilities of sequences of terminals that are not empty, given that they are not."""
        return SignedLog(np.ones(len(rows), dtype=np.int64), self._predictor.log_probabilities(rows))

    def surprisal(self, sequence: Sequence[Any], unit: Unit = "bits") -> Surprisal:
        """Compute the surprisal of each observation after those before it, and its lexical and syntactic parts.

        Without tags, the syntactic part is the surprisal of any further observation.  Estimates that may be negative
        are turned into probabilities as described in `prediction`; this is not possible with tags.

        sequence: the observations; of an empty sequence, there is only the surprisal of its end.

        Raises ValueError for another unit, and for a tagger whose estimates may be negative."""
        row = self._terminals(sequence)
        if not self.grammar.latent.probabilities and self.grammar.n_tags > 1:
            raise ValueError(
                "the tagger's estimates may be negative, so that prefixes have no probabilities; train with the preset "
                "'fast' or 'accurate', or with another estimator than 'spectral'"
            )
        seen = row < len(self.grammar.observations.known)
        if not len(row):
            of_none = Prefixes(np.zeros(1), np.zeros(0), log_of(self._empty))
            return of_none.surprisal(unit, seen)
        found = self._predictor.prefixes(row).surprisal(unit, seen)
        for column in (found.total, found.syntactic):
            column[0] -= log_of(1.0 - self._empty) / (np.log(2.0) if unit == "bits" else 1.0)
        return found

    def entropy(self, sequence: Sequence[Any], unit: Unit = "bits") -> FloatArray:
        """Compute the entropy (n + 1,) of the next event after each prefix of n observations: an observation or the
        end.

        All unseen observations count as one observation; unseen words count as one word for each signature.

        sequence: the observations; there may be none.

        Raises ValueError for another unit.
        """
        found = entropies(np.stack(list(self._predictor.next_observations(self._terminals(sequence)))), unit)
        if empty := self._empty:  # whether the sequence is empty is decided first
            found[0] = (1.0 - empty) * found[0] + entropies(np.array([[empty, 1.0 - empty]]), unit)[0]
        return found

    def following(self, prefix: Sequence[Any]) -> dict[Hashable, float]:
        """Predict the event after a prefix: the probability of each observation and of `END`, likeliest first.

        The observations are those seen in training.  The probabilities and that of all unseen observations sum to 1.

        prefix: the observations so far; there may be none."""
        terminal = self._terminals(prefix)
        last = deque(self._predictor.next_observations(terminal), maxlen=1).pop()
        names: list[Hashable] = list(self.grammar.observations.known)
        probability = dict(zip(names, last.tolist(), strict=False))
        if len(terminal):
            probability[END] = float(last[-1])
        elif empty := self._empty:
            probability = {x: (1.0 - empty) * p for x, p in probability.items()} | {END: empty}
        return dict(sorted(probability.items(), key=lambda pair: -pair[1]))

    def sample(
        self, n: int, rng: np.random.Generator, max_nodes: int = 20_000, *, length: int | None = None
    ) -> list[list[Any]]:
        """Draw sequences of observations seen in training: each observation from the distribution of `following`.

        max_nodes: the largest number of nodes of an s-tree, which has two for each observation.
        length: the length of every sequence, at least 1; None for any length within `max_nodes`.

        Raises ValueError if a sequence of any length grows beyond `max_nodes` nodes."""
        known = self.grammar.observations.known
        longest = checked("max_nodes", max_nodes, Count) // 2
        is_full = np.ones(checked("n", n, Annotated[int, AtLeast(0)]), dtype=bool)
        if self._empty and length is None:
            is_full = checked("rng", rng, np.random.Generator).random(n) >= self._empty
        n_full = int(is_full.sum())
        drawn = iter(self._predictor.sample(n_full, len(known), rng, length, longest if length is None else length))
        return [[known[x] for x in next(drawn)] if full else [] for full in is_full]


def around_empty(
    rows: Sequence[Any], weigh: Callable[[list[Any]], SignedLog], empty: float = 0.0, going_on: float = 1.0
) -> SignedLog:
    """Weigh rows that are not empty, times the share `going_on` of such rows; the weight of others is `empty`."""
    is_full = np.array([len(row) > 0 for row in rows], dtype=bool)
    sign = np.full(len(rows), np.sign(empty), dtype=np.int64)
    log = np.full(len(rows), log_of(abs(empty)))
    if is_full.any():
        found = weigh([row for row in rows if len(row)])
        sign[is_full] = found.sign
        log[is_full] = found.log + log_of(going_on)
    return SignedLog(sign, log)


def log_of(p: float) -> float:
    """Compute a natural logarithm; -inf for numbers that are not above zero."""
    return float(np.log(p)) if p > 0.0 else -np.inf
