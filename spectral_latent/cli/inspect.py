"""`spectral-latent inspect`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.models import load_model
from spectral_latent.cli.options import json_option
from spectral_latent.cli.outputs import OutputFile, results
from spectral_latent.cli.sources import DEPENDENCY_SOURCES, SOURCES, TAGGED_SOURCES

if TYPE_CHECKING:
    from spectral_latent.inspection import Described

__all__ = ["inspect"]

_SHOWN = 10  # symbols, if none is named
_NAMED = 20  # symbols that an error names
_KINDS = ("constituency", "dependency", "tagger", "tree")
_LISTS = ("words", "rules", "places")


@click.command(epilog=f"{SOURCES}\n\n{DEPENDENCY_SOURCES}\n\n{TAGGED_SOURCES}".replace("SOURCE", "GOLD"))
@click.argument("model")
@click.argument("gold", metavar="[GOLD]...", nargs=-1)
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
@click.option(
    "--html",
    "page",
    metavar="REPORT",
    type=OutputFile(),
    help="Write a page for a browser with all symbols and rules, and with the errors on GOLD.",
)
@json_option
def inspect(
    model: str, gold: tuple[str, ...], symbols: tuple[str, ...], top: int, page: Path | None, as_json: bool
) -> None:
    """Show what the latent states of a model stand for.

    The output has a paragraph for each symbol, the most frequent first, and in it the symbol's states, the most
    frequent first.  A state has its share of the symbol's nodes in percent; the words that it emits, the rules that it
    applies, and the places where it stands: the rules in which it is the child in brackets.  Each has its probability
    in the state.  Those come first that tell the state from the other states of the symbol.  With --json, a line is the
    object of one state.

    A symbol @X is a part of a binarised phrase X; X|Y is an X whose only child is a Y.  Of a parser of several grammars
    the first is shown.

    With --html, the states and all else go to a page that needs no network: also the rules, with a search, and, if gold
    trees or tags are given, example phrases of the states of a parser of phrases, labels that are taken for others, and
    the worst and the best sentences, with their trees and posteriors.  Of GOLD the first 500 sentences are read.

    The page of an anchor model has its anchors, and the gold tags that each state meets.

    \b
    Examples:
      spectral-latent inspect wsj.safetensors
      spectral-latent inspect wsj.safetensors --symbol NP --symbol VBD --top 4
      spectral-latent inspect wsj.safetensors nltk:treebank:dev --html report.html
    """
    if page is not None:
        if symbols or as_json:
            raise click.UsageError("--html shows all symbols; leave out --symbol and --json")
        _write_page(model, gold, top, page)
        return
    if gold:
        raise click.UsageError("GOLD is for the page; give --html REPORT")
    from spectral_latent.inspection import describe_states

    named = load_model(model, *_KINDS).named_operators
    unknown = [symbol for symbol in symbols if symbol not in named.symbols]
    if unknown:
        raise click.ClickException(f"{model}: no symbol {unknown[0]!r}; {_hint(unknown[0], named.symbols)}")
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


def _hint(symbol: str, symbols: Sequence[str]) -> str:
    """Write which symbols a model has, of which the user may have meant one.

    symbol: the symbol that the model does not have.
    symbols: the symbols of the model.

    >>> _hint("vbd", ["NP", "VBD"]), _hint("XYZ", ["NP", "VBD"])
    ('did you mean VBD?', 'there are NP, VBD')
    """
    alike = [each for each in symbols if each.casefold() == symbol.casefold()] or get_close_matches(symbol, symbols)
    if alike:
        return f"did you mean {' or '.join(alike)}?"
    others = ", and others" if len(symbols) > _NAMED else ""
    return f"there are {', '.join(symbols[:_NAMED])}{others}"


def _write_page(model: str, gold: tuple[str, ...], top: int, page: Path) -> None:
    """Write the report of a model."""
    from spectral_latent.cli.report import report

    loaded = load_model(model, *_KINDS, "anchors")
    if gold and not hasattr(loaded, "tag") and not hasattr(loaded, "parse"):
        raise click.ClickException(f"{model}: a model of trees given as graphs cannot be compared with GOLD")
    with results(page, [model, *gold]) as write:
        write(report(loaded, f"What is inside {Path(model).name}", gold, top))
    Console(False).message(f"{page}: written")


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
