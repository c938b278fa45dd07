"""`spectral-latent info`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import click

from spectral_latent._names import alike, counted, printable
from spectral_latent.cli.inputs import load_for, record_of
from spectral_latent.cli.options import AsJson, Command, Count, Value
from spectral_latent.cli.outputs import message

if TYPE_CHECKING:
    from spectral_latent.inspection import Described

_json = partial(json.dumps, ensure_ascii=False)
_LISTS = ("words", "rules", "places")
_LISTED = 10  # the number of entries of a list on a line
_SYMBOLS = 10  # the number of symbols if none are named


def info(
    model: Annotated[str, Value(metavar="[MODEL]")] = "",
    *,
    states: bool = False,
    symbol: tuple[str, ...] = (),
    top: Count = 6,
    json_: AsJson = False,
) -> None:
    """List the models that come with the library, or show what is in a model file.

    Every command accepts a name in this list instead of a file.  For a MODEL, a table shows its kind, sizes,
    tags or anchors, options, and the record of `train`: the command, what was read, and the figures of --dev.

    --states shows what best distinguishes each state of a symbol, with probabilities; see docs/states.md.

    \b
    Example:
      spectral-latent info wsj.model --symbol NP --symbol VBD --top 4

    states: show the states of the ten most frequent symbols.
    symbol: show the states of this symbol, written as in the output.
    top: the most words, rules and places to show for each state."""
    if not model:
        if states or symbol:
            raise click.UsageError("--states is for a model; give MODEL")
        _list_ready_models(json_)
    elif states or symbol:
        _show_states(model, symbol, top, json_)
    else:
        description, summary = _descriptions(model)
        rows = (f"{printable(name):<12} {printable(text)}" for name, text in summary.items())
        click.echo(_json(description) if json_ else "\n".join(rows))


def _list_ready_models(as_json: bool) -> None:
    """Print a line or two for each model that this installation has."""
    from spectral_latent.ready import ready_models

    found = ready_models()
    if not found:
        message("This installation has no ready models.")
    for model in found:
        size = model.file.stat().st_size
        if as_json:
            click.echo(_json(model._asdict() | {"bytes": size}))
        else:
            click.echo(f"{model.name:<6} {model.language}: {model.about} ({size / 1e6:.1f} MB)")
            click.echo(f"       {model.sources}; {model.licence}")


def _descriptions(file: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Read the description of a model, and its summary."""
    from spectral_latent.files import open_model
    from spectral_latent.kinds import make_model
    from spectral_latent.ready import find_model, ready_models

    found = find_model(file)
    about = next((model.facts for model in ready_models() if model.file == found), {})
    record = record_of(file) or {}
    with open_model(file) as (arrays, settings):
        facts = {"library": settings["library"], "bytes": found.stat().st_size}
        if settings["kind"] == "reranker":
            # A reranker can be made only together with its latent models, which are in other files.
            sizes = counted(len(arrays["choice.weights"]), "feature")
            options = settings["choice"]["options"]
            own = {"kind": "reranker", "sizes": sizes, "options": options, "models": settings["models"]}
            summary = {name: _text(value) for name, value in own.items()}
        else:
            model = make_model(arrays, settings)
            own, summary = model.description, model.summary
            facts = {"fingerprint": model.fingerprint, **facts}
    further = {**facts, **record, **about}
    return {**own, **further}, summary | {name: _text(value) for name, value in further.items()}


def _text(value: Any) -> str:
    """Write a fact on a line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {each}" for name, each in value.items()) or "-"
    if isinstance(value, list):
        rest = f", and {len(value) - _LISTED} others" if len(value) > _LISTED else ""
        return ", ".join(map(_text, value[:_LISTED])) + rest
    return "-" if value is None else str(value)


# States


def _show_states(file: str, symbols: Sequence[str], top: int, as_json: bool) -> None:
    """Print the states of a model, or an object for each."""
    loaded = load_for(file)
    if loaded.kind == "anchors":
        if symbols:
            raise click.UsageError(f"--symbol is for grammars, and {file} is an anchor model; give --states")
        from spectral_latent.inspection import anchor_rows, anchor_table

        click.echo("\n".join(map(_json, anchor_rows(loaded, top))) if as_json else anchor_table(loaded, top))
        return
    try:
        for parts, spectrum in states_of_symbols(loaded, symbols, top):
            of_parts = ({**part._asdict(), **{name: dict(getattr(part, name)) for name in _LISTS}} for part in parts)
            click.echo("\n".join(map(_json, of_parts) if as_json else _paragraph(parts, spectrum)))
    except ValueError as error:
        raise click.ClickException(f"{file}: {error}") from None


def states_of_symbols(model: Any, symbols: Sequence[str], top: int) -> Iterator[tuple[list[Described], list[float]]]:
    """Describe the states of symbols, with the singular values of each symbol.

    The most frequent symbol comes first, and of a symbol the most frequent state; without symbols, the ten most
    frequent ones are described."""
    from spectral_latent.corpora import CorpusError
    from spectral_latent.inspection import describe_states

    named = model.named_operators
    for symbol in symbols:
        if symbol not in named.symbols:
            raise CorpusError(f"no symbol {symbol!r}; {alike(symbol, named.symbols)}")
    described = describe_states(named, top)
    missing = dict.fromkeys(symbols)
    wanted = (parts for parts in described if parts[0].symbol in symbols) if symbols else islice(described, _SYMBOLS)
    for parts in wanted:
        symbol = parts[0].symbol
        missing.pop(symbol, None)
        yield sorted(parts, key=lambda state: -state.share), named.spectrum(symbol)
    if missing:
        raise CorpusError(f"no tree has the symbol {next(iter(missing))!r}")


def _paragraph(states: Sequence[Described], spectrum: Sequence[float]) -> Iterator[str]:
    """Write the states of a symbol."""
    yield f"{printable(states[0].symbol)}: {counted(len(states), 'state')}, {states[0].frequency:.2f} nodes in a tree"
    if spectrum:
        yield f"  singular values {' '.join(f'{sigma:.2f}' for sigma in spectrum)}"
    for state in states:
        yield f"  state {state.state}, {100 * state.share:.1f} %"
        for name in _LISTS:
            if entries := getattr(state, name):
                yield f"    {name:<7} " + ", ".join(f"{printable(entry)} {number:.3f}" for entry, number in entries)
    yield ""


_KINDS = dict.fromkeys(("constituency", "dependency", "tagger", "tree", "anchors"), states_of_symbols)
COMMAND = Command(info, _KINDS)
