"""Describe what the latent states or directions of a model stand for, symbol by symbol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spectral_latent.inspection import Described, Direction

    Parts = Sequence[Described | Direction]

__all__ = ["inspect"]

_SHOWN = 10  # the number of symbols if none are named
_NAMED = 20  # the largest number of symbols that an error names


def inspect(model: Any, symbols: Sequence[str] = (), top: int = 6) -> Iterator[tuple[Parts, Sequence[float]]]:
    """Describe the states of symbols, or the directions of a model without probabilities, with singular values.

    The most frequent symbol comes first, and of a symbol the most frequent state.

    model: a model with named operators.
    symbols: the symbols; none for the most frequent ones.
    top: the largest number of words, rules and places of a state."""
    from spectral_latent.corpora import CorpusError
    from spectral_latent.inspection import describe_directions, describe_states

    named = model.named_operators
    for symbol in symbols:
        if symbol not in named.symbols:
            raise CorpusError(f"no symbol {symbol!r}; {_hint(symbol, named.symbols)}")
    describe: Callable[..., Iterator[Parts]] = describe_states if named.operators.probabilities else describe_directions
    described = describe(named, top)
    wanted = (parts for parts in described if parts[0].symbol in symbols)
    missing = dict.fromkeys(symbols)
    for parts in wanted if symbols else islice(described, _SHOWN):
        symbol = parts[0].symbol
        missing.pop(symbol, None)
        yield sorted(parts, key=lambda part: -getattr(part, "share", 0.0)), named.spectrum(symbol)
    if missing:
        raise CorpusError(f"no tree has the symbol {next(iter(missing))!r}")


def _hint(symbol: str, symbols: Sequence[str]) -> str:
    """Write the symbols that the user may have meant, or the first symbols of the model."""
    alike = [each for each in symbols if each.casefold() == symbol.casefold()] or get_close_matches(symbol, symbols)
    if alike:
        return f"did you mean {' or '.join(alike)}?"
    others = ", and others" if len(symbols) > _NAMED else ""
    return f"there are {', '.join(symbols[:_NAMED])}{others}"
