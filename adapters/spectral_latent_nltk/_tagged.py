"""Show tagged sentences, NLTK's lists of pairs, in notebooks."""

from __future__ import annotations

from typing import Any

from spectral_latent.drawing import Html, tagged_html

__all__ = ["TaggedSentence"]


class TaggedSentence(list[tuple[str, Any]]):
    """The tokens of a sentence with their tags: a list that notebooks show with each tag below its token.

    >>> sentence = TaggedSentence([("dogs", "NNS")])
    >>> sentence == [("dogs", "NNS")], "<ruby>dogs<rt>NNS</rt></ruby>" in sentence._repr_html_()
    (True, True)
    """

    def _repr_html_(self) -> Html:
        """Write the tokens with their tags, for notebooks."""
        return tagged_html([token for token, _ in self], [str(tag) for _, tag in self])
