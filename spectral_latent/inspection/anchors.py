"""List the states of an anchor model with their words (Stratos et al. 2016, Table 3)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from spectral_latent._texts import printable


class AnchorRow(NamedTuple):
    """A state of a model.

    anchor: the word that no other state emits.
    label: the state's tag; None before anchors are labelled.
    share: the share of the state among all tokens, between 0 and 1.
    words: the words that the state is likeliest to emit, with o(x | h)."""

    state: int
    anchor: str
    label: Hashable | None
    share: float
    words: list[tuple[str, float]]


def anchor_rows(model: Any, top: int = 10) -> list[AnchorRow]:
    """List the states of an `AnchorHMM` in their order."""
    labels = model.labels or (None,) * model.n_states
    columns = zip(model.anchors, labels, model.state_prior.tolist(), model.top_words(top), strict=True)
    return [AnchorRow(state, *column) for state, column in enumerate(columns)]


def anchor_table(model: Any, top: int = 10) -> str:
    """Format the states as lines of text, with shares in percent, and with labels if there are any."""
    rows = [("state", "anchor", "" if model.labels is None else "label", "share", "top words")]
    for row in anchor_rows(model, top):
        words = ", ".join(f"{printable(word)} {p:.3f}" for word, p in row.words if p >= 0.0005)
        label = "" if model.labels is None else printable(str(row.label))
        rows.append((str(row.state), printable(row.anchor), label, f"{100 * row.share:.1f}", words))
    anchors, labels = (max(len(row[i]) for row in rows) for i in (1, 2))
    labels += 2 if labels else 0
    return "\n".join(
        f"{state:>5}  {anchor:<{anchors}}  {label:<{labels}}{share:>5}  {words}".rstrip()
        for state, anchor, label, share, words in rows
    )
