"""A function becomes a command: its parameters are arguments and options, and its docstring is the help."""

from typing import Annotated, Any, Literal

import click
import pytest
from click.testing import CliRunner, Result

from spectral_latent.cli.options import Command, Count, Value


def called(*arguments: str) -> tuple[Result, list[dict[str, Any]]]:
    """Run the command of a function with parameters of all kinds; return the result, and what the function is given."""
    calls: list[dict[str, Any]] = []

    def move(
        first: str,
        others: tuple[str, ...] = (),
        *,
        way: Literal["up", "down"] = "up",
        n_steps: Count = 3,
        from_: str | None = None,
        loud: bool = False,
        each: tuple[str, ...] = (),
        must: Annotated[int, Value("What is needed.", click.INT)],
    ) -> None:
        """Move things.

        way: the direction, which is told
            on two lines.
        from_: the beginning."""
        calls.append(locals())

    return CliRunner().invoke(Command(move, sources=("THING of any kind.",)), arguments), calls


def test_parameters_are_arguments_and_options() -> None:
    default = {
        "first": "a",
        "others": (),
        "way": "up",
        "n_steps": 3,
        "from_": None,
        "loud": False,
        "each": (),
        "must": 1,
    }
    _, (given,) = called("a", "--must", "1")
    assert {name: given[name] for name in default} == default
    options = ("--way", "down", "--n-steps", "1", "--from", "x", "--loud", "--each", "p", "--each", "q")
    _, (given,) = called("a", "b", "c", "--must", "-1", *options)
    assert [given[name] for name in default] == ["a", ("b", "c"), "down", 1, "x", True, ("p", "q"), -1]


@pytest.mark.parametrize("wrong", ["", "a", "--must 1", "a --must x", "a --must 1 --n-steps 0", "a --must 1 --way x"])
def test_what_is_lacking_or_out_of_range_is_refused(wrong: str) -> None:
    result, calls = called(*wrong.split())
    assert (result.exit_code, calls) == (2, [])


def test_the_docstring_is_the_help() -> None:
    text = " ".join(called("--help")[0].output.split())
    for part in (
        "FIRST [OTHERS]... Move things. Options:",
        "--way [up|down] The direction, which is told on two lines. [default: up]",
        "--n-steps N [default: 3; x>=1]",
        "--from FROM The beginning.",
        "--must INTEGER What is needed. [required]",
        "-q, --quiet Print no messages or progress bars.",
        "THING of any kind.",
    ):
        assert part in text
    assert text.count("[default") == 2
