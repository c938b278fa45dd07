"""`spectral-latent inspect`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spectral_latent._texts import printable
from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.models import load_model
from spectral_latent.cli.options import json_option, number_option
from spectral_latent.cli.outputs import OutputFile, results
from spectral_latent.cli.sources import DEPENDENCY_SOURCES, SOURCES, TAGGED_SOURCES

if TYPE_CHECKING:
    from spectral_latent.inspection import Described, Direction, NamedOperators

    _Parts = Sequence[Described | Direction]

__all__ = ["inspect"]

_SHOWN = 10  # the number of symbols to show if the command line names none
_NAMED = 20  # the largest number of symbols that an error names
_KINDS = ("constituency", "dependency", "tagger", "tree")
_LISTS = ("words", "rules", "places")


@click.command(cls=Command, epilog=f"{SOURCES}\n\n{DEPENDENCY_SOURCES}\n\n{TAGGED_SOURCES}".replace("SOURCE", "GOLD"))
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
@number_option("--top", "N", "The most words, rules and places to show for each state.", default=6)
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
    """Show what the latent states or directions of a model stand for.

    The output has a paragraph for each symbol, the most frequent first, and in it the symbol's states, the most
    frequent first.  A state has its share of the symbol's nodes in percent; the words that it emits, the rules that it
    applies, and the places where it stands: the rules in which it is the child in brackets.  Each has its probability
    in the state.  The first ones are those that best distinguish the state from the other states of the symbol.  With
    --json, a line is the object of one state or direction.

    A model without probabilities, such as one of the preset spectral, has no states.  In their place stand the
    directions that singular value decompositions have found, the one with the largest singular value first, each with
    the words, rules and places that load most on it.  Loadings of opposite signs are opposites; the sign itself means
    nothing.

    The singular values of a symbol tell how many states it needs.  Files of older versions have none.

    A symbol @X is a part of a binarised phrase X; X|Y is an X whose only child is a Y.  If a parser has several
    grammars, the first one is shown.

    With --html, the states are shown on a page that needs no network, with all rules and a search of them.  If gold
    trees or tags are given, the page also has example phrases of the states of a constituency parser, labels that are
    confused, and the worst and the best sentences, with their trees.  Only the first 500 sentences of
    GOLD are read.

    The page of an anchor model has its anchors, and the gold tags of the words of each state.

    \b
    Examples:
      spectral-latent inspect wsj.model
      spectral-latent inspect wsj.model --symbol NP --symbol VBD --top 4
      spectral-latent inspect wsj.model nltk:treebank:dev --html report.html
    """
    if page is not None:
        if symbols or as_json:
            raise click.UsageError("--html shows all symbols; leave out --symbol and --json")
        _write_page(model, gold, top, page)
        return
    if gold:
        raise click.UsageError("GOLD is for the page; give --html REPORT")
    named = load_model(model, *_KINDS).named_operators
    unknown = [symbol for symbol in symbols if symbol not in named.symbols]
    if unknown:
        raise click.ClickException(f"{model}: no symbol {unknown[0]!r}; {_hint(unknown[0], named.symbols)}")
    try:
        described = _described(named, top)
        wanted = (parts for parts in described if parts[0].symbol in symbols)
        missing = dict.fromkeys(symbols)
        for parts in wanted if symbols else islice(described, _SHOWN):
            symbol = parts[0].symbol
            missing.pop(symbol, None)
            click.echo("\n".join(_objects(parts) if as_json else _paragraph(parts, named.spectrum(symbol))))
        if missing:
            raise click.ClickException(f"{model}: no tree has the symbol {next(iter(missing))!r}")
    except ValueError as error:
        raise click.ClickException(f"{model}: {error}") from None


def _described(named: NamedOperators, top: int) -> Iterator[_Parts]:
    """Describe the states of every symbol, or the directions of a model that has no states."""
    from spectral_latent.inspection import describe_directions, describe_states

    if named.operators.probabilities:
        return describe_states(named, top)
    return describe_directions(named, top)


def _hint(symbol: str, symbols: Sequence[str]) -> str:
    """Write the symbols that the user may have meant, or the first symbols of the model.

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
    with results(page) as write:
        write(report(loaded, f"What is inside {Path(model).name}", gold, top))
    Console(False).message(f"{page}: written")


def _ordered(parts: _Parts) -> Sequence[Described | Direction]:
    """Sort states by their shares, the largest first; directions stay as they are."""
    return sorted(parts, key=lambda part: -getattr(part, "share", 0.0))


def _objects(parts: _Parts) -> Iterator[str]:
    """Write each state or direction as a JSON object."""
    for part in _ordered(parts):
        lists = {name: dict(getattr(part, name)) for name in _LISTS}
        yield json.dumps({**part._asdict(), **lists}, ensure_ascii=False)


def _title(part: Described | Direction) -> str:
    """Write the number of a state with its share, or the number of a direction with its singular value."""
    from spectral_latent.inspection import Described

    if isinstance(part, Described):
        return f"state {part.state}, {100 * part.share:.1f} %"
    known = "" if part.singular_value is None else f", singular value {part.singular_value:.2f}"
    return f"direction {part.direction}{known}"


def _paragraph(parts: _Parts, spectrum: Sequence[float]) -> Iterator[str]:
    """Write the states or directions of a symbol.

    parts: the states or directions.
    spectrum: the singular values of the symbol, the largest first; empty if they are not known.

    >>> from spectral_latent.inspection import Described
    >>> noun = Described("NN", 0, 2.5, 1.0, [("dog", 0.5)], [], [("NP → DT [NN]", 1.0)])
    >>> for line in _paragraph([noun], [2.0, 0.25]):
    ...     print(line)
    NN: 1 state, 2.50 nodes in a tree
      singular values 2.00 0.25
      state 0, 100.0 %
        words   dog 0.500
        places  NP → DT [NN] 1.000
    <BLANKLINE>
    """
    from spectral_latent._options import counted
    from spectral_latent.inspection import Described

    unit = "state" if isinstance(parts[0], Described) else "direction"
    yield f"{printable(parts[0].symbol)}: {counted(len(parts), unit)}, {parts[0].frequency:.2f} nodes in a tree"
    if spectrum:
        yield f"  singular values {' '.join(f'{sigma:.2f}' for sigma in spectrum)}"
    for part in _ordered(parts):
        yield f"  {_title(part)}"
        for name in _LISTS:
            entries = getattr(part, name)
            if entries:
                yield f"    {name:<7} " + ", ".join(f"{printable(entry)} {number:.3f}" for entry, number in entries)
    yield ""
