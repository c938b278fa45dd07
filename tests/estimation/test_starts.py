"""Starts of EM that climb together, on hills whose heights are known."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pytest

from spectral_latent.estimation.starts import climb_together, n_near


class Climber(NamedTuple):
    """A place on a hill: each iteration leaves a share of the way to the top."""

    top: float
    share: float
    left: float


class Hills:
    """The steps of climbers, which are counted by their tops."""

    def __init__(self) -> None:
        self.n_steps: Counter[float] = Counter()

    def expect(self, model: Climber) -> tuple[Climber, float]:
        return model, model.top - model.left

    def maximise(self, statistics: Climber, model: Climber) -> Climber:
        self.n_steps[model.top] += 1
        return model._replace(left=model.left * model.share)

    def beyond(self, before: Climber, after: Climber, stride: float) -> Climber:
        return after


def test_the_highest_top_is_found_and_starts_that_fall_behind_are_given_up() -> None:
    """The slow climber passes the quick ones late; the low one has no hope after ten iterations."""
    hills = Hills()
    starts = [Climber(5.0, 0.3, 9.0), Climber(10.0, 0.93, 40.0), Climber(-200.0, 0.5, 9.0), Climber(9.5, 0.5, 9.0)]
    best, objective, reached = climb_together(hills, starts, 1000, 1e-6)
    assert best.top == 10.0 and objective[-1] == max(reached) == reached[1] == pytest.approx(10.0, abs=1e-4)
    assert list(objective) == sorted(objective)
    assert hills.n_steps[-200.0] == 10 < hills.n_steps[10.0]
    assert reached[2] == pytest.approx(-200.0, abs=0.1)
    assert n_near(reached) == 2


@pytest.mark.parametrize("iterations", [0, 7, 25])
def test_no_start_makes_more_iterations_than_it_may(iterations: int) -> None:
    hills = Hills()
    best, objective, _ = climb_together(hills, [Climber(1.0, 0.99, 1.0), Climber(1.5, 0.99, 1.0)], iterations, 0.0)
    assert hills.n_steps[1.5] == iterations == len(objective) - 1
    assert best.top == 1.5


def test_a_judge_keeps_the_model_that_it_prefers_and_ends_a_start() -> None:
    """The judge likes to be half a unit below any top; it is asked every ten iterations."""
    hills = Hills()
    asked: list[float] = []

    def judge(model: Climber) -> float:
        asked.append(model.left)
        return -abs(model.left - 0.5)

    best, _, reached = climb_together(hills, [Climber(3.0, 0.9, 8.0)], 1000, 0.0, judge=judge)
    assert best.left == min(asked, key=lambda left: abs(left - 0.5))
    assert reached == (-abs(best.left - 0.5),)
    assert hills.n_steps[3.0] == 10 * (len(asked) - 1) < 100
    assert asked.index(best.left) == len(asked) - 4  # three later models were no better
