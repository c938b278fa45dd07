"""Climb by EM from several starts together, and keep the best of them.

EM ends in a local optimum.  That of a single start may be hundreds of nats below those of others, whether the start is
drawn at random or recovered from moments.  Therefore starts run together, in rounds of 1, 2, 3 and up to 6 iterations.
After each, a start is given up if 2.5 times its last gain would not bring it to the best one.  A judge, such as the
likelihood of held-out data, is asked every ten iterations, and decides when a start ends, and which one is kept.

Each iteration moves beyond the parameters that EM finds, further each time, as long as the objective rises: adaptive
overrelaxed EM (Salakhutdinov and Roweis 2003), which needs a half or a third of the iterations.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

from spectral_latent._compiled import TINY
from spectral_latent.estimation.progress import Listener, Progress, silent
from spectral_latent.trees import FloatArray

_ROUND = 6  # the most iterations after which starts are compared
_JUDGED = 10  # iterations after which a judge compares them
_AHEAD = 2.5  # times what a start gained in a round, it may yet gain
_PATIENCE = 3  # rounds that a judge finds worse than an earlier one, before a start ends
_STRIDE = 1.3  # the factor by which the steps of EM grow
_LARGEST = 300.0  # of the logarithm of a number before it is normalised
_NEAR = 1.0  # nats below the best start

Model = TypeVar("Model")
Statistics = TypeVar("Statistics")


class Learner(Protocol[Model, Statistics]):
    """The steps of EM for a kind of model, over given data."""

    def expect(self, model: Model) -> tuple[Statistics, float]:
        """Compute expected counts and the objective: the E-step."""

    def maximise(self, statistics: Statistics, model: Model) -> Model:
        """Make the model under which expected counts are likeliest: the M-step; `model` is the one of the counts."""

    def beyond(self, before: Model, after: Model, stride: float) -> Model:
        """Take the step of EM from one model to the next `stride` times as far (`beyond`), or stay where it ends."""
        return after


def has_converged(objective: Sequence[float], least: float) -> bool:
    """Tell whether the last two iterations gained less than `least` each, and the last no more than the one before.

    If states are nearly alike at the start, they become different slowly at first and then faster.  Therefore EM does
    not stop while small gains grow."""
    if len(objective) < 3:
        return False
    before, last = np.diff(objective[-3:])
    return bool(last <= before < least)


def beyond(before: FloatArray, after: FloatArray, stride: float) -> FloatArray:
    """Multiply the logarithms of a step between probabilities, of any shape, by `stride`; sums are not one then."""
    log = np.log(np.maximum(after, TINY))
    step = np.where(before > 0.0, log - np.log(np.maximum(before, TINY)), 0.0)
    return np.where(after > 0.0, np.exp(np.minimum(log + (stride - 1.0) * step, _LARGEST)), 0.0)


class Ascent(Generic[Model, Statistics]):
    """A start of EM, and how far it has come.

    grows: whether steps grow as long as they raise the objective; otherwise each is the step of EM itself.

    `model` is the model that it has reached, with its `statistics`; `objective` has the objective at the start and
    after each iteration that raised it, and `n_iterations` counts all iterations.  Of the models that `look` was asked
    to look at, `best` is the best, and `value` tells how good it is."""

    def __init__(self, learner: Learner[Model, Statistics], start: Model, *, grows: bool = False) -> None:
        self._learner = learner
        self._growth = _STRIDE if grows else 1.0
        self._stride = 1.0
        self.model = start
        self.statistics, objective = learner.expect(start)
        self.objective = [objective]
        self.n_iterations = 0
        self.has_ended = False
        self.best: Model
        self.value = -np.inf
        self._n_worse = 0

    def climb(self, iterations: int, least: float) -> None:
        """Go on for some iterations, or until two in a row gain less than `least` each; see `has_converged`."""
        for _ in range(iterations):
            if self.has_ended:
                return
            self.n_iterations += 1
            found = self._learner.maximise(self.statistics, self.model)
            if self._stride > 1.0:
                found = self._learner.beyond(self.model, found, self._stride)
            else:
                # A step of EM never goes down, so that nothing of the step before is kept: it may be large.
                self.model = found
                del self.statistics
            statistics, objective = self._learner.expect(found)
            if self._stride > 1.0 and not objective >= self.objective[-1]:
                self._stride = 1.0  # too far: the next step is a step of EM
                continue
            self.model = found
            self.statistics = statistics
            self.objective.append(objective)
            self._stride *= self._growth
            self.has_ended = has_converged(self.objective, least)

    def look(self, judge: Callable[[Model], float] | None) -> None:
        """Compare the model with those looked at before, by the objective, or by a judge who also tells when to end."""
        value = self.objective[-1] if judge is None else judge(self.model)
        if value > self.value or judge is None:
            self.best = self.model
            self.value = value
            self._n_worse = 0
        else:
            self._n_worse += 1
            self.has_ended |= self._n_worse == _PATIENCE

    def climb_to_end(self, iterations: int, least: float, listener: Listener = silent) -> None:
        """Go on until it has ended, or has made so many iterations in all, and tell the listener of each."""
        listener(Progress("EM", self.n_iterations, iterations, self.objective[-1]))
        while self.n_iterations < iterations and not self.has_ended:
            self.climb(1, least)
            listener(Progress("EM", self.n_iterations, iterations, self.objective[-1]))


def n_near(reached: Sequence[float]) -> int:
    """Count the starts that came within 1 nat of the best."""
    return sum(objective >= max(reached) - _NEAR for objective in reached)


def climb_together(
    learner: Learner[Model, Statistics],
    starts: Iterable[Model],
    iterations: int,
    least: float,
    listener: Listener = silent,
    judge: Callable[[Model], float] | None = None,
) -> tuple[Model, tuple[float, ...], tuple[float, ...]]:
    """Run EM from several starts until each has ended or is given up, and keep the best; see this module.

    Returns the best model; the objective at its start and after each iteration; and what each start reached: its
    objective, or the value of its best model to the judge."""
    ascents = [Ascent(learner, start, grows=True) for start in starts]
    if len(ascents) == 1 and judge is None:
        ascents[0].climb_to_end(iterations, least, listener)
    for ascent in ascents:
        ascent.look(judge)
    going = [ascent for ascent in ascents if not ascent.has_ended]
    n_done = max(ascent.n_iterations for ascent in ascents)
    size = 0
    while going and n_done < iterations:
        size = min(size + 1, _ROUND) if judge is None else _JUDGED
        n_done = min(n_done + size, iterations)
        hopes = []  # the objectives that starts may yet come to
        for ascent in going:
            before = ascent.objective[-1]
            ascent.climb(n_done - ascent.n_iterations, least)
            ascent.look(judge)
            hopes.append(ascent.objective[-1] + _AHEAD * (ascent.objective[-1] - before))
        most = max(ascent.objective[-1] for ascent in ascents)
        listener(Progress("EM", n_done, iterations, most))
        going = [ascent for ascent, hope in zip(going, hopes, strict=True) if hope >= most and not ascent.has_ended]
    first = max(ascents, key=lambda ascent: ascent.value)
    return first.best, tuple(first.objective), tuple(ascent.value for ascent in ascents)
