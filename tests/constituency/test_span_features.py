"""Features of the constituents around a span and in it, against names in plain Python."""

import numpy as np

from spectral_latent.constituency.spans import _TEMPLATES, span_choices
from spectral_latent.constituency.tree import ChainLabels
from spectral_latent.model.parts import Parts

LABELS = ChainLabels([("N",), ("V",), ("A",), ("NP",), ("S", "VP")])
WORDS = ["walks", "looks", "Walks", "walked", "looks", "talked"]
TEMPLATES = {
    ("parent", "ends of parent"),
    ("left", "right"),
    ("first part", "last part"),
    ("same span",),
    ("word before last part", "word at last part"),
    ("word first", "word after first part"),
    ("tag first", "word at last part"),
    ("ending first",),
    ("form first",),
    ("tag first", "tag last"),
}


def drawn_parts(rng: np.random.Generator) -> Parts:
    """Draw constituents, about half of them likely."""
    n = len(WORDS)
    rows = [(i, i + 1, tag) for i in range(n) for tag in (0, 1, 2)]
    rows += [(i, j, chain) for i in range(n) for j in range(i + 2, n + 1) for chain in (3, 4) if rng.random() < 0.6]
    first, end, chain = np.array(rows).T
    chains = Parts(np.zeros_like(first), first, end, chain, rng.uniform(0.05, 0.95, len(rows)))
    return LABELS.split(chains).parts


def named_values(parts: Parts, row: int) -> dict[str, object]:
    """The values of a constituent that the templates above ask for."""
    every = list(zip(LABELS.named(parts), parts.posterior.tolist(), strict=True))
    own, _ = every[row]
    i, j = own.first, own.end
    likely = sorted((c for c, p in every if p > 0.5), key=lambda c: c.end - c.first)
    tags = {c.first: c.label for c, _ in sorted(every, key=lambda pair: pair[1]) if c.is_tag}  # the likeliest stays

    def of(several: list[object]) -> object:
        return several[-1] if several else None

    parents = [c for c in likely if c.first <= i and j <= c.end and c.end - c.first > j - i]
    last = [c for c in likely if c.end == j and c.first > i]
    first = [c for c in likely if c.first == i and c.end < j]
    parent = parents[0] if parents else None
    return {
        "label": (own.label, own.is_tag),
        "parent": parent and (parent.label, parent.is_tag),
        "ends of parent": parent and (parent.first == i, parent.end == j),
        "left": of([(c.label, c.is_tag) for c in likely if c.end == i]),
        "right": of([(c.label, c.is_tag) for c in likely if c.first == j]),
        "first part": of([(c.label, c.is_tag) for c in first]),
        "last part": of([(c.label, c.is_tag) for c in last]),
        "same span": of([(c.label, c.is_tag) for c in likely if (c.first, c.end) == (i, j) and c != own]),
        "word before last part": WORDS[last[-1].first - 1] if last else None,
        "word at last part": WORDS[last[-1].first] if last else None,
        "word after first part": WORDS[first[-1].end] if first else None,
        "word first": WORDS[i],
        "tag first": tags[i],
        "tag last": tags[j - 1],
        "ending first": WORDS[i][-2:],
        "form first": (WORDS[i][0].isupper(), WORDS[i][-3:]),
    }


def test_two_constituents_share_a_feature_if_and_only_if_its_values_are_the_same() -> None:
    assert len(set(_TEMPLATES)) == len(_TEMPLATES)
    parts = drawn_parts(np.random.default_rng(0))
    start = np.array([0, len(WORDS)])
    buckets = span_choices(parts, LABELS, WORDS, start, np.arange(len(parts.label))).buckets
    rows = [named_values(parts, row) for row in range(len(buckets))]
    assert set(_TEMPLATES) >= TEMPLATES
    for number, template in enumerate(_TEMPLATES):
        if template in TEMPLATES:
            names = [(row["label"], *(row[name] for name in template)) for row in rows]
            found = buckets[:, number].tolist()
            assert len(set(found)) == len(set(names)) == len(set(zip(names, found, strict=True))) > 3
