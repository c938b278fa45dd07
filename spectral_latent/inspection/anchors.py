"""Show the states of an anchor model with their words, in a table and in a picture (Stratos et al. 2016, Tables 3, 4).

| here | formula | meaning |
| --- | --- | --- |
| `AnchorRow.words` | o(x \\| h) | the words that the state is likeliest to emit |
| `anchor_plane`, anchors | (v_h - v̄) W | the anchors' points v, projected on two principal directions W |
| `anchor_plane`, words | Σ_h p(h \\| x) (v_h - v̄) W | the points of words, which are mixtures of the anchors' points |
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from spectral_latent._texts import printable
from spectral_latent.trees import FloatArray

_ENDINGS = (".pdf", ".png", ".svg")


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


def anchor_plane(model: Any, top: int = 10) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Project anchors (m, 2) and likely words (2,) to the plane of the anchors' first two principal directions."""
    order = model.top_types(top)
    types = np.unique(order[np.take_along_axis(model.hidden.emission, order, axis=1) > 0.0])
    joint = model.hidden.emission[:, types].T * model.state_prior  # p(x, h)
    centred = model.anchor_points - model.anchor_points.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    plane = centred @ directions[:2].T
    # Choose the sign of each direction by its largest coordinate, so that pictures do not depend on the SVD.
    largest = np.take_along_axis(plane, np.abs(plane).argmax(axis=0)[None, :], axis=0)
    plane = np.pad(plane * np.where(largest < 0.0, -1.0, 1.0), ((0, 0), (0, 2 - plane.shape[1])))
    points = joint / joint.sum(axis=1, keepdims=True) @ plane
    return plane, {model.words[x]: point for x, point in zip(types.tolist(), points, strict=True)}


def draw_anchors(model: Any, path: str | os.PathLike[str], top: int = 30) -> None:
    """Draw `anchor_plane`: anchors with their names and labels, words as dots.

    The same model gives the same SVG.  Raises ImportError without matplotlib, and ValueError for another ending of the
    picture's name."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise ValueError(f"{os.fspath(path)}: name a picture that ends in {', '.join(_ENDINGS)}")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("pictures need matplotlib; run `pip install matplotlib`") from None
    anchors, words = anchor_plane(model, top)
    figure = Figure(figsize=(8.0, 8.0), layout="constrained")
    axes = figure.add_subplot()
    dots = np.reshape(list(words.values()), (-1, 2))
    axes.scatter(dots[:, 0], dots[:, 1], s=8, color="0.6", linewidths=0)
    axes.scatter(anchors[:, 0], anchors[:, 1], s=40, color="tab:red")
    for row, (x, y) in zip(anchor_rows(model, 0), anchors.tolist(), strict=True):
        name = printable(row.anchor) if row.label is None else f"{printable(row.anchor)} ({printable(str(row.label))})"
        axes.annotate(name, (x, y), (4, 4), textcoords="offset points", parse_math=False, fontsize=11)
    axes.set_axis_off()
    with matplotlib.rc_context({"svg.hashsalt": "spectral_latent", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # drawn as a box
        metadata = {"Date": None} if Path(path).suffix.lower() == ".svg" else None
        figure.savefig(path, dpi=150, metadata=metadata)
