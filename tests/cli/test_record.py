"""What a training tells while it runs."""

import math

import click
import pytest

from spectral_latent.cli.record import Run
from spectral_latent.estimation.progress import LoweredStates, Progress


@pytest.mark.parametrize(("times", "told"), [((2.0, 40.0, 3.0), "About 36 trees"), ((math.inf, 2.0, math.inf), "")])
def test_the_number_of_trees_is_told_that_would_show_one_more_state_of_half_the_symbols(
    times: tuple[float, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run(["some"], "constituency")
    trees, _ = run.examples("trees", lambda _source, changes: ["tree"] * 12)
    lowered = tuple(LoweredStates(symbol, 5, 2, each) for symbol, each in enumerate(times))
    with click.Context(click.Command("train")):
        assert len(list(trees)) == 12 and run.counted == "12 trees"
        run.listener(Progress("projections", 1, 1, lowered=lowered))
    printed = capsys.readouterr().err
    assert "Fewer states for 3 symbols" in printed and (told in printed if told else "About" not in printed)
