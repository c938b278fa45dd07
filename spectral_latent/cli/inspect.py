"""`spectral-latent inspect`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spectral_latent._texts import printable
from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.options import (
    BRACKETS,
    DEPENDENCY_SOURCES,
    SOURCES,
    TABLES,
    TAGGED_SOURCES,
    epilog_of,
    format_option,
    json_option,
    number_option,
    skip_bad_option,
)
from spectral_latent.cli.outputs import OutputFile, results

if TYPE_CHECKING:
    from spectral_latent.corpora import Format
    from spectral_latent.inspection import Described, Direction

    _Parts = Sequence[Described | Direction]

__all__ = ["inspect"]

_KINDS = ("constituency", "dependency", "tagger", "tree")
_LISTS = ("words", "rules", "places")


@click.command(cls=Command, epilog=epilog_of(SOURCES, DEPENDENCY_SOURCES, TAGGED_SOURCES, name="GOLD"))
@click.argument("model")
@click.argument("gold", metavar="[GOLD]...", nargs=-1)
@format_option(*BRACKETS, *TABLES, "tagged", of="files of GOLD")
@skip_bad_option
@click.option(
    "--symbol",
    "symbols",
    metavar="SYMBOL",
    multiple=True,
    help="A symbol to show, as the output writes it.  [default: the ten most frequent]",
)
@number_option("--top", "N", "The most words, rules and places to show for each state.", default=6)
@click.option(
    "--html",
    "page",
    metavar="REPORT",
    type=OutputFile(ending=".html", needs=("jinja2", "pages")),
    help="Write a page for a browser, in a file that ends in .html.",
)
@json_option
def inspect(
    model: str,
    gold: tuple[str, ...],
    form: Format | None,
    skip_bad: bool,
    symbols: tuple[str, ...],
    top: int,
    page: Path | None,
    as_json: bool,
) -> None:
    """Show what the latent states or directions of a model stand for.

    The output has a paragraph for each symbol with its states, the most frequent first: their shares of the symbol's
    nodes, and the words, rules and places that best distinguish each, with probabilities.  A model without
    probabilities has directions of singular value decompositions in their place.  See docs/states.md.

    With --html, the page has all symbols and rules; with GOLD, also the errors of the model and examples of phrases.

    \b
    Examples:
      spectral-latent inspect wsj.model
      spectral-latent inspect wsj.model --symbol NP --symbol VBD --top 4
      spectral-latent inspect wsj.model nltk:treebank:dev --html report.html"""
    if page is not None:
        if symbols or as_json:
            raise click.UsageError("--html shows all symbols; leave out --symbol and --json")
        _write_page(model, gold, form, skip_bad, top, page)
        return
    if gold or form or skip_bad:
        raise click.UsageError("GOLD is for the page; give --html REPORT")
    from spectral_latent.tasks import inspect as inspect_model
    from spectral_latent.tasks.kinds import load_model

    loaded = load_model(model, *_KINDS)
    try:
        for parts, spectrum in inspect_model(loaded, symbols, top):
            click.echo("\n".join(_objects(parts) if as_json else _paragraph(parts, spectrum)))
    except ValueError as error:
        raise click.ClickException(f"{model}: {error}") from None


def _write_page(model: str, gold: tuple[str, ...], form: Format | None, skip_bad: bool, top: int, page: Path) -> None:
    """Write the report of a model."""
    from spectral_latent.cli.report import report
    from spectral_latent.constituency import Changes
    from spectral_latent.tasks.kinds import load_model

    loaded = load_model(model, *_KINDS, "anchors")
    if gold and not hasattr(loaded, "tag") and not hasattr(loaded, "parse"):
        raise click.ClickException(f"{model}: a model of trees given as graphs cannot be compared with GOLD")
    if skip_bad and loaded.kind != "constituency":
        raise click.UsageError("--skip-bad is for trees in brackets")
    changes = Changes()
    with results(page) as write:
        write(report(loaded, f"What is inside {Path(model).name}", gold, top, form, skip_bad, changes))
    console = Console(False)
    console.table("Changed in the gold trees:", changes.table())
    console.message(f"{page}: written")


def _objects(parts: _Parts) -> Iterator[str]:
    """Write each state or direction as a JSON object."""
    for part in parts:
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
    """Write the states or directions of a symbol."""
    from spectral_latent._options import counted
    from spectral_latent.inspection import Described

    unit = "state" if isinstance(parts[0], Described) else "direction"
    yield f"{printable(parts[0].symbol)}: {counted(len(parts), unit)}, {parts[0].frequency:.2f} nodes in a tree"
    if spectrum:
        yield f"  singular values {' '.join(f'{sigma:.2f}' for sigma in spectrum)}"
    for part in parts:
        yield f"  {_title(part)}"
        for name in _LISTS:
            entries = getattr(part, name)
            if entries:
                yield f"    {name:<7} " + ", ".join(f"{printable(entry)} {number:.3f}" for entry, number in entries)
    yield ""
