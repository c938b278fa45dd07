"""Make tables and pictures of anchor models: the states with their words (Stratos et al. 2016, Tables 3 and 4).

| here | formula | meaning |
| --- | --- | --- |
| `AnchorRow.words` | o(x \\| h) | the words that the state is likeliest to emit |
| `AnchorPlane.anchor_points` | (v_h - v̄) W | the anchors' points v, projected on two principal directions W |
| `AnchorPlane.points` | Σ_h p(h \\| x) (v_h - v̄) W | the points of words, which are mixtures of the anchors' points |
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spectral_latent._texts import printable
from spectral_latent.anchors.model import AnchorHMM
from spectral_latent.plotting import needs_matplotlib
from spectral_latent.trees import FloatArray

__all__ = ["AnchorPlane", "AnchorRow", "anchor_names", "anchor_plane", "anchor_rows", "anchor_table", "draw_anchors"]

_ENDINGS = (".pdf", ".png", ".svg")


class AnchorRow(NamedTuple):
    """A state of a model.

    state: the number of the state.
    anchor: the word that no other state emits.
    label: the state's tag; None before anchors are labelled.
    share: the share of the state among all tokens, between 0 and 1.
    words: the words that the state is likeliest to emit, with o(x | h).
    """

    state: int
    anchor: str
    label: Hashable | None
    share: float
    words: list[tuple[str, float]]


class AnchorPlane(NamedTuple):
    """Anchors and words as points in a plane.

    anchor_points: (m, 2) the points of the anchors.
    words: n words that states are likeliest to emit.
    points: (n, 2) the points of these words.
    """

    anchor_points: FloatArray
    words: list[str]
    points: FloatArray


def anchor_names(model: AnchorHMM) -> list[str]:
    """Name each state by its anchor in capitals, or by its unchanged anchor if two names would be the same.

    >>> anchor_names(AnchorHMM.train([["It", "rains"], ["it", "snows"]] * 3))
    ['IT', 'RAINS']
    """
    capitals = [word.upper() for word in model.anchors]
    return capitals if len(set(capitals)) == len(capitals) else list(model.anchors)


def anchor_rows(model: AnchorHMM, top: int = 10) -> list[AnchorRow]:
    """List the states in their order.

    >>> [row.anchor for row in anchor_rows(AnchorHMM.train([["It", "rains"], ["it", "snows"]] * 3))]
    ['it', 'rains']
    """
    labels: tuple[Hashable, ...] = model.labels or (None,) * model.n_states
    columns = zip(model.anchors, labels, model.state_prior.tolist(), model.top_words(top), strict=True)
    return [AnchorRow(state, *column) for state, column in enumerate(columns)]


def anchor_table(model: AnchorHMM, top: int = 10) -> str:
    """Format the states as lines of text, with shares in percent, and with labels if there are any.

    >>> print(anchor_table(AnchorHMM.train([["It", "rains"], ["it", "snows"]] * 3).label({"it": "N", "rains": "V"})))
    state  anchor  label  share  top words
        0  it      N       50.0  it 1.000
        1  rains   V       50.0  rains 0.500, snows 0.500
    """
    rows = [("state", "anchor", "label", "share", "top words")]
    for row in anchor_rows(model, top):
        words = ", ".join(f"{printable(word)} {p:.3f}" for word, p in row.words if p >= 0.0005)
        label = "" if model.labels is None else printable(str(row.label))
        rows.append((str(row.state), printable(row.anchor), label, f"{100 * row.share:.1f}", words))
    if model.labels is None:
        rows = [(state, anchor, "", share, words) for state, anchor, _, share, words in rows]
    anchors, labels = (max(len(row[i]) for row in rows) for i in (1, 2))
    labels += 2 if labels else 0
    return "\n".join(
        f"{state:>5}  {anchor:<{anchors}}  {label:<{labels}}{share:>5}  {words}".rstrip()
        for state, anchor, label, share, words in rows
    )


def anchor_plane(model: AnchorHMM, top: int = 10) -> AnchorPlane:
    """Project anchors and likely words to the plane of the anchors' first two principal directions.

    >>> plane = anchor_plane(AnchorHMM.train([["It", "rains"], ["it", "snows"]] * 3))
    >>> plane.anchor_points.shape, plane.words, plane.points.shape
    ((2, 2), ['it', 'rains', 'snows'], (3, 2))
    """
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
    return AnchorPlane(plane, [model.words[x] for x in types.tolist()], points)


def draw_anchors(model: AnchorHMM, path: str | os.PathLike[str], top: int = 30) -> None:
    """Draw `anchor_plane`: anchors with their names and labels, words as dots.

    The same model gives the same SVG.  Raises ImportError without matplotlib, and ValueError for another ending of the
    picture's name.
    """
    if Path(path).suffix.lower() not in _ENDINGS:
        raise ValueError(f"{os.fspath(path)}: name a picture that ends in {', '.join(_ENDINGS)}")
    with needs_matplotlib():
        import matplotlib
        from matplotlib.figure import Figure

    plane = anchor_plane(model, top)
    figure = Figure(figsize=(8.0, 8.0), layout="constrained")
    axes = figure.add_subplot()
    axes.scatter(plane.points[:, 0], plane.points[:, 1], s=8, color="0.6", linewidths=0)
    axes.scatter(plane.anchor_points[:, 0], plane.anchor_points[:, 1], s=40, color="tab:red")
    for row, (x, y) in zip(anchor_rows(model, 0), plane.anchor_points.tolist(), strict=True):
        name = printable(row.anchor) if row.label is None else f"{printable(row.anchor)} ({printable(str(row.label))})"
        axes.annotate(name, (x, y), (4, 4), textcoords="offset points", parse_math=False, fontsize=11)
    axes.set_axis_off()
    with matplotlib.rc_context({"svg.hashsalt": "spectral_latent", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # drawn as a box
        metadata = {"Date": None} if Path(path).suffix.lower() == ".svg" else None
        figure.savefig(path, dpi=150, metadata=metadata)
