"""`spectral-latent inspect`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from spectral_latent.cli.models import load_model
from spectral_latent.cli.options import json_option

if TYPE_CHECKING:
    from spectral_latent.inspection import Described

__all__ = ["inspect"]

_SHOWN = 10  # symbols, if none is named
_KINDS = ("constituency", "dependency", "tagger", "tree")
_LISTS = ("words", "rules", "places")


@click.command()
@click.argument("model")
@click.option(
    "--symbol",
    "symbols",
    metavar="SYMBOL",
    multiple=True,
    help="A symbol whose states are shown, as the output writes it; repeat the option for several.  "
    f"[default: the {_SHOWN} most frequent symbols]",
)
@click.option(
    "--top",
    metavar="N",
    default=6,
    show_default=True,
    type=click.IntRange(min=1),
    help="The most words, rules and places to show for each state.",
)
@json_option
def inspect(model: str, symbols: tuple[str, ...], top: int, as_json: bool) -> None:
    """Show what the latent states of a model stand for.

    The output has a paragraph for each symbol, the most frequent first, and in it the symbol's states, the most
    frequent first.  A state has its share of the symbol's nodes in percent; the words that it emits, the rules that it
    applies, and the places where it stands: the rules in which it is the child in brackets.  Each has its probability
    in the state.  Those come first that tell the state from the other states of the symbol.  With --json, a line is the
    object of one state.

    A symbol @X is a part of a binarised phrase X; X|Y is an X whose only child is a Y.  Of a parser of several grammars
    the first is shown.

    \b
    Examples:
      spectral-latent inspect wsj.safetensors
      spectral-latent inspect wsj.safetensors --symbol NP --symbol VBD --top 4
    """
    from spectral_latent.inspection import describe_states

    named = load_model(model, *_KINDS).named_operators
    unknown = [symbol for symbol in symbols if symbol not in named.symbols]
    if unknown:
        some = ", ".join(named.symbols[:20])
        raise click.ClickException(f"{model}: no symbol {unknown[0]!r}; there are {some}, and others")
    try:
        described = describe_states(named, top)
        wanted = (states for states in described if states[0].symbol in symbols)
        missing = dict.fromkeys(symbols)
        for states in wanted if symbols else islice(described, _SHOWN):
            missing.pop(states[0].symbol, None)
            click.echo("\n".join(_objects(states) if as_json else _paragraph(states)))
        if missing:
            raise click.ClickException(f"{model}: no tree has the symbol {next(iter(missing))!r}")
    except ValueError as error:
        raise click.ClickException(f"{model}: {error}") from None


def _by_share(states: Iterable[Described]) -> list[Described]:
    return sorted(states, key=lambda state: -state.share)


def _objects(states: list[Described]) -> Iterator[str]:
    """Write each state as a JSON object."""
    for state in _by_share(states):
        lists = {name: dict(getattr(state, name)) for name in _LISTS}
        yield json.dumps({**state._asdict(), **lists}, ensure_ascii=False)


def _paragraph(states: list[Described]) -> Iterator[str]:
    """Write the states of a symbol.

    >>> from spectral_latent.inspection import Described
    >>> for line in _paragraph([Described("NN", 0, 2.5, 1.0, [("dog", 0.5)], [], [("NP → DT [NN]", 1.0)])]):
    ...     print(line)
    NN: 1 state, 2.50 nodes in a tree
      state 0, 100.0 %
        words   dog 0.500
        places  NP → DT [NN] 1.000
    <BLANKLINE>
    """
    from spectral_latent._options import counted

    yield f"{states[0].symbol}: {counted(len(states), 'state')}, {states[0].frequency:.2f} nodes in a tree"
    for state in _by_share(states):
        yield f"  state {state.state}, {100 * state.share:.1f} %"
        for name in _LISTS:
            entries = getattr(state, name)
            if entries:
                yield f"    {name:<7} " + ", ".join(f"{entry} {probability:.3f}" for entry, probability in entries)
    yield ""
