"""Hold the parses of a sentence, as parsers of both kinds return them."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from spectral_latent.drawing import Html, captioned_html

__all__ = ["Parses"]


class _Drawn(Protocol):
    """A parse that can be drawn."""

    @property
    def sign(self) -> int:
        """The sign of its estimated probability."""

    @property
    def log(self) -> float:
        """log |p̂| of its estimated probability."""

    @property
    def is_fallback(self) -> bool:
        """Whether no grammar derives the sentence."""

    def _repr_svg_(self) -> str | None: ...


_Parse = TypeVar("_Parse", bound=_Drawn)


def _caption(rank: int, parse: _Drawn) -> str:
    """Name a parse by its rank, with its score if that was computed."""
    score = "" if np.isnan(parse.log) else f": log |p̂| = {parse.log:.2f}"
    return f"Tree {rank}{', FALLBACK' * parse.is_fallback}{score}"


class Parses(list[_Parse]):
    """The parses of a sentence, the best first: a list that notebooks draw, each parse under its score.

    >>> from spectral_latent.constituency import Parse, Phrase
    >>> parses = Parses([Parse(Phrase("UH", ("Yes",)), 1, -1.5)])
    >>> parses == list(parses), parses.drawings[0][0], "<svg" in parses._repr_html_()
    (True, 'Tree 1: log |p̂| = -1.50', True)
    """

    @property
    def drawings(self) -> list[tuple[str, str]]:
        """The caption of each parse, and its drawing as SVG."""
        return [(_caption(rank, parse), parse._repr_svg_() or "") for rank, parse in enumerate(self, start=1)]

    @property
    def shares(self) -> list[float]:
        """The share of each parse in the estimated probability of them all.

        A fallback has the share 0.  A single parse has the share 1.  If no estimate is positive, which is possible for
        spectral models, the first parse has the share 1.

        Raises ValueError if there are several parses whose probabilities were not computed.

        >>> from spectral_latent.constituency import Parse, Phrase
        >>> tree = Phrase("UH", ("Yes",))
        >>> [round(share, 2) for share in Parses([Parse(tree, 1, -1.0), Parse(tree, 1, -2.0)]).shares]
        [0.73, 0.27]
        """
        if len(self) == 1:
            return [float(not self[0].is_fallback)]
        if any(np.isnan(parse.log) for parse in self):
            raise ValueError("parses without probabilities have no shares; parse with scored=True")
        log = np.array([parse.log if parse.sign > 0 else -np.inf for parse in self])
        if np.isneginf(log).all():
            return [float(rank == 0 and not parse.is_fallback) for rank, parse in enumerate(self)]
        shares: list[float] = np.exp(log - np.logaddexp.reduce(log)).tolist()
        return shares

    def _repr_html_(self) -> Html:
        """Draw the parses, for notebooks."""
        return captioned_html(self.drawings)
