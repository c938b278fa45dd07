"""Hold weighted automata: functions of strings with real values, which need not be probabilities."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy

from spectral_latent._compiled import TINY, check_column
from spectral_latent._options import AtLeast, AtMost, Count, checked, counted, given_or
from spectral_latent._threads import on_one_thread
from spectral_latent.automata.choice import AutomatonOptions, choose_automaton, train_automaton
from spectral_latent.automata.hankel import Factorisation, Hankel, balance, forward_factor
from spectral_latent.estimation import EstimationError, n_near
from spectral_latent.files import Axes
from spectral_latent.model import check_kind
from spectral_latent.operators import ObservableOperators, Tensor, Tensors
from spectral_latent.sequence import Alphabet, LatentHMM, SequenceGrammar, SequenceModel, rows_of, untagged_rules
from spectral_latent.trees import FloatArray, Vocabulary

_ROUNDING = 1e-9  # the largest difference of sums of probabilities from one
_LIMITS = (AtLeast(-1e50), AtMost(1e50))  # of the numbers in a file, so that products are finite


@dataclass(frozen=True, eq=False, repr=False)
class WeightedAutomaton(SequenceModel[SequenceGrammar[Any, Alphabet], Sequence[Hashable]]):
    """A function of strings, f(x_1 ... x_n) = α A_{x_1} ... A_{x_n} β; calling the automaton computes it.

    If f is a distribution, or nearly so, the automaton predicts as other models of sequences do, and the empty string
    is a string like others.

    initial: (m,) the vector α, before the first symbol.
    step: (n, m, m) the matrix A_x of each symbol.
    final: (m,) the vector β, after the last symbol.
    options: the settings of training; None for an automaton that was not trained.
    unseen: the weight of symbols that are not among the n: their matrix is this number times Σ_x A_x.  Training sets it
        by Good and Turing, so that no string has probability zero for a new symbol alone; it is zero otherwise.
    reached: the log-likelihood of the held-out strings, of all if none were held out, that each start of EM reached
        with the chosen settings.

    >>> automaton = WeightedAutomaton.of_function(lambda x: 0.5 ** len(x), "ab", [()], [()])
    >>> automaton.sizes, round(automaton("abba"), 6)
    ('1 state, 2 symbols', 0.0625)
    """

    kind: ClassVar[str] = "automaton"
    later: ClassVar[frozenset[str]] = frozenset({"unseen", "reached"})

    observations: Alphabet
    initial: Annotated[FloatArray, Axes("m"), *_LIMITS]
    step: Annotated[FloatArray, Axes("n", "m", "m"), *_LIMITS]
    final: Annotated[FloatArray, Axes("m"), *_LIMITS]
    options: AutomatonOptions | None = None
    unseen: Annotated[float, AtLeast(0.0), AtMost(1e50)] = 0.0
    reached: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        m = np.size(self.initial)
        n = len(self.observations.known)
        if not m or not n:
            raise ValueError("an automaton needs a state and a symbol")
        for name, shape in {"initial": (m,), "step": (n, m, m), "final": (m,)}.items():
            check_column(f"the numbers `{name}`", getattr(self, name), shape, np.float64)

    @property
    def n_states(self) -> int:
        """The number of states, m."""
        return len(self.initial)

    @property
    def n_near(self) -> int:
        """The number of starts of EM that came within 1 nat of the best."""
        return n_near(self.reached)

    @property
    def sizes(self) -> str:
        """The sizes of the automaton."""
        return f"{counted(self.n_states, 'state')}, {counted(len(self.observations.known), 'symbol')}"

    @staticmethod
    def train(strings: Iterable[Iterable[Hashable]], options: AutomatonOptions | None = None) -> WeightedAutomaton:
        """Learn the distribution of strings from a sample; some of the strings may be empty.

        The number of states and the estimator are chosen by held-out strings, unless the options have a number of
        states; the logger `spectral_latent.automata.choice` tells what was tried.

        strings: the strings, each of any hashable symbols.
        options: the settings of training; None for `AutomatonOptions()`.

        Raises EstimationError if there are no symbols, or if a symbol is not hashable.

        >>> automaton = WeightedAutomaton.train(["ab", "", "ab", "abab"], AutomatonOptions(n_states=2))
        >>> [round(automaton(string), 2) for string in ("ab", "ba")]
        [0.24, 0.0]
        """
        options = given_or(AutomatonOptions(), options)
        names: Vocabulary[Hashable] = Vocabulary()
        rows = [tuple(map(names.add, string)) for string in rows_of(strings)]
        if not len(names):
            raise EstimationError("no symbols to learn from")
        alphabet = Alphabet(names.names)
        counts = np.bincount(np.fromiter(chain.from_iterable(rows), dtype=np.int64)).astype(np.float64)
        unseen = Alphabet.unseen_tokens(counts) / float(counts.sum())

        def make(
            numbers: Factorisation, options: AutomatonOptions, reached: tuple[float, ...] = ()
        ) -> WeightedAutomaton:
            step = numbers.step / (1.0 + unseen)
            return WeightedAutomaton(alphabet, numbers.initial, step, numbers.final, options, unseen, reached)

        if options.n_states is not None:
            numbers, reached = train_automaton(rows, len(names), options)
            return make(numbers, options, reached)

        def likelihoods(numbers: Factorisation, held_out: Sequence[tuple[int, ...]]) -> FloatArray:
            try:
                automaton = make(numbers, options)
                return automaton.log_probabilities([[names.names[x] for x in row] for row in held_out])
            except ValueError:  # strings of this automaton are infinitely long on average
                return np.full(len(held_out), -np.inf)

        return make(*choose_automaton(rows, len(names), options, likelihoods))

    @staticmethod
    @on_one_thread()
    def of_function(
        f: Callable[[tuple[Any, ...]], float],
        symbols: Iterable[Hashable],
        prefixes: Iterable[Sequence[Hashable]],
        suffixes: Iterable[Sequence[Hashable]],
        n_states: int | None = None,
    ) -> WeightedAutomaton:
        """Learn any function of strings from its values: a black box, such as a neural network.

        The automaton is the function itself if its Hankel matrix has no larger rank than the block that is asked for.

        f: the function, which is called once for each of the strings u v and u x v.
        prefixes: strings u, such as `strings_up_to` lists; the empty string is added.
        suffixes: strings v; the empty string is added.
        n_states: the number of states; None for the rank of the block.

        Raises ValueError for a string with a symbol that is not among `symbols`, for a value that is not finite, and if
        all values are zero.

        >>> from spectral_latent.automata import strings_up_to
        >>> count = WeightedAutomaton.of_function(lambda x: x.count("a"), "ab", strings_up_to("ab", 1), ["a"])
        >>> count.n_states, round(count("abbabab"), 6)
        (2, 3.0)
        """
        names: Vocabulary[Hashable] = Vocabulary(symbols)
        known = names.names
        rows, columns = (
            list(dict.fromkeys([(), *(tuple(names.numbers(string).tolist()) for string in strings)]))
            for strings in (prefixes, suffixes)
        )
        if any(-1 in string for string in [*rows, *columns]):
            raise ValueError("a prefix or a suffix has a symbol that is not among the symbols")
        # The block H needs the values of u v, and the block H_x needs those of u x v.
        middles = [(), *((x,) for x in range(len(known)))]
        strings = {(*u, *x, *v) for u in rows for x in middles for v in columns}
        values = {string: float(f(tuple(known[x] for x in string))) for string in sorted(strings)}
        if not np.isfinite(list(values.values())).all():
            raise ValueError("the function has a value that is not finite")
        if not any(values.values()):
            raise ValueError("the function is zero for all strings that it was asked for")
        numbers = Hankel.of(values, (rows, columns), len(known)).factorise(n_states)
        return WeightedAutomaton(Alphabet(known), *numbers)

    @staticmethod
    def of_hmm(model: LatentHMM) -> WeightedAutomaton:
        """Write a latent hidden Markov model as an automaton, which has one more state, for the end.

        model: a model of any estimator; the probability of symbols that it has not seen is left out."""
        check_kind(model, LatentHMM)
        _, latent = model.grammar.proper
        (spine,) = latent.binary
        emission, m = latent.states.tolist()
        known = model.observations.known
        leaf = np.zeros((model.observations.n_terminals, emission))
        leaf[latent.rules.leaf[:, 1]] = latent.leaf[:, :emission]
        # A_x leads from a state to the next one, and in its last column to the end after x.
        step = np.zeros((len(known), m + 1, m + 1))
        step[:, :m, :m] = np.einsum("iek,xe->xik", spine.to_dense(), leaf[: len(known)])
        step[:, :m, m] = leaf[: len(known)] @ latent.unary[0, :m, :emission].T
        ended = np.eye(m + 1)[m]
        initial = np.append((1.0 - model.empty) * latent.root[1, :m], model.empty)
        return WeightedAutomaton(Alphabet(known), initial, step, ended)

    def __call__(self, string: Iterable[Hashable]) -> float:
        """Compute f of a string, which may be empty.  Raises ValueError if a symbol is missing (None)."""
        forward = self.initial
        for x in self.observations.terminals_of(list(string)).tolist():
            if x > len(self.step):
                raise ValueError("a symbol of the string is missing (None); `score` sums over what it may be")
            forward = forward @ (self.step[x] if x < len(self.step) else self._unseen_step)
        return float(forward @ self.final)

    @cached_property
    def _unseen_step(self) -> FloatArray:
        """(m, m) the matrix of symbols that are not among the n."""
        return np.asarray(self.unseen * self.step.sum(axis=0))

    @cached_property
    def is_probabilistic(self) -> bool:
        """Whether the numbers are probabilities: of the first state, and of each state's next steps and end."""
        sums = np.append((self.step.sum(axis=0) + self._unseen_step).sum(axis=1) + self.final, self.initial.sum())
        is_positive = all((numbers >= 0.0).all() for numbers in (self.initial, self.step, self.final))
        return bool(is_positive and np.abs(sums - 1.0).max() < _ROUNDING)

    @cached_property
    def _empty(self) -> float:
        """The probability of the empty string, which is at least ε of the options if the automaton was trained."""
        least = 0.0 if self.options is None or self.is_probabilistic else self._floor / (len(self.step) + 1)
        return float(np.clip(self(()), least, 1.0))

    @cached_property
    def grammar(self) -> SequenceGrammar[Any, Alphabet]:
        """The function as operators over the s-trees of sequences that are not empty; see `sequence.conversion`.

        With the matrices A_x as rows, (n, m²) = Q R: Q has the vectors of the symbols, R the tensor of the spine.  The
        numbers of a probabilistic automaton are probabilities given that the string is not empty, with Q = 1.  The
        coarse model has all symbols that are known, and the end, equally likely."""
        n, m = self.step.shape[:2]
        # Symbols that are known and those that are not share what a place emits.
        step = self.step * (1.0 + self.unseen)
        initial, ending = self.initial, np.einsum("xhk,k->xh", step, self.final)
        if self.is_probabilistic:
            # The spine's state is that of a place where the string goes on.
            going_on = 1.0 - self.final
            initial = initial * going_on / max(1.0 - self._empty, TINY)
            share = np.divide(1.0, going_on, out=np.zeros(m), where=going_on > 0.0)
            symbols, ending = np.eye(n), ending * share
            spine = (step * going_on * share[:, None]).reshape(n, m, m)
            last = ending.T
        else:
            symbols, spine = np.linalg.qr(step.reshape(n, m * m))
            spine = spine.reshape(-1, m, m)
            last = (spine @ self.final).T
        r = len(spine)
        rules = untagged_rules(n + 1)  # the last leaf rule is that of unknown symbols
        width = max(m, r)
        leaf = np.zeros((n + 1, width))
        leaf[:n, :r] = symbols
        leaf[n, :r] = self.unseen * symbols.sum(axis=0)
        leaf /= 1.0 + self.unseen
        root = np.zeros((2, width))
        root[1, :m] = initial
        unary = np.zeros((1, width, width))
        unary[0, :m, :r] = last
        binary = Tensors.of([Tensor.of_dense(spine.transpose(1, 0, 2))])
        states = np.array([r, m])
        latent = ObservableOperators(rules, states, root, leaf, unary, binary, probabilities=self.is_probabilistic)
        coarse = ObservableOperators(
            rules,
            states=np.ones(2, dtype=np.int64),
            root=np.array([[0.0], [1.0]]),
            leaf=(np.append(np.full(n, 1.0 / n), self.unseen) / (1.0 + self.unseen))[:, None],
            unary=np.full((1, 1, 1), 1.0 / (n + 1)),
            binary=Tensors.scalars(np.array([n / (n + 1)])),
            probabilities=True,
        )
        return SequenceGrammar(self.options, [None], self.observations, np.ones(1), coarse, latent)

    @property
    def members(self) -> tuple[SequenceGrammar[Any, Alphabet], ...]:  # type: ignore[override]
        """The automaton as the only member of a model."""
        return (self.grammar,)

    @property
    def _estimates(self) -> tuple[float, float]:
        return self(()), max(1.0 - self._empty, 0.0) if self.is_probabilistic else 1.0

    @property
    def _floor(self) -> float:
        return (self.options or AutomatonOptions()).floor

    @cached_property
    def _balanced(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        return balance(Factorisation(self.initial, self.step, self.final))

    @property
    def singular_values(self) -> FloatArray:
        """The singular values of the Hankel matrix H[u, v] = f(u v) of all strings, the largest first.

        Raises ValueError if the sum of f(x)² over all strings is infinite."""
        return self._balanced[0]

    def minimise(self, n_states: int | None = None) -> WeightedAutomaton:
        """Make an automaton of fewer states: a singular value automaton (Balle, Panangaden and Precup 2015), truncated.

        With s the singular values, m̂ the states that are kept, and |x| the length of a string,

            Σ_x (f(x) - f̂(x))² / (|x| + 1) ≤ Σ_(i > m̂) s_i² ≤ Σ_x (f(x) - g(x))² (|x| + 1),

        where g is any automaton of m̂ states.  docs/mathematics.md proves it.

        n_states: the number of states to keep; None for the minimal automaton: all singular values above zero.

        Raises ValueError if the sum of f(x)² over all strings is infinite.

        >>> twice = WeightedAutomaton(Alphabet("a"), np.array([0.5, 0.5]), 0.5 * np.eye(2)[None], np.ones(2))
        >>> twice.minimise()
        <WeightedAutomaton: 1 state, 1 symbol>
        """
        n_states = len(self.singular_values) if n_states is None else n_states
        checked("n_states", n_states, Count)
        _, left, right = self._balanced
        left, right = left[:n_states], right[:, :n_states]
        initial, final = self.initial @ right, left @ self.final
        return replace(self, initial=initial, step=left @ self.step @ right, final=final, reached=())

    def distance(self, other: WeightedAutomaton) -> float:
        """Compute the root of the sum of (f(x) - g(x))² over all strings.

        other: an automaton g over the same symbols, in any order.

        Raises ValueError if the symbols differ, or if the sum is infinite.

        >>> half, third = (WeightedAutomaton(Alphabet("a"), np.ones(1), np.full((1, 1, 1), p), np.ones(1))
        ...     for p in (1 / 2, 1 / 3))
        >>> round(half.distance(third) ** 2, 6), round(4 / 3 + 9 / 8 - 2 * 6 / 5, 6)
        (0.058333, 0.058333)
        """
        check_kind(other, WeightedAutomaton)
        known = self.observations.known
        numbers = other.observations.terminals_of(known)
        if len(other.step) != len(known) or (numbers >= len(known)).any():
            raise ValueError("the automata have different symbols")
        difference = Factorisation(  # f - g has the states of both automata
            initial=np.concatenate([self.initial, -other.initial]),
            step=np.stack([scipy.linalg.block_diag(f, g) for f, g in zip(self.step, other.step[numbers], strict=True)]),
            final=np.concatenate([self.final, other.final]),
        )
        return float(np.linalg.norm(forward_factor(difference) @ difference.final))
