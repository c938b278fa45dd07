"""Drawings of trees and arcs are well-formed, complete, readable, and safe for all words."""

import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.constituency import Phrase
from spectral_latent.corpora import parse_brackets
from spectral_latent.dependency import DependencySentence
from spectral_latent.drawing import arcs_svg, tree_svg
from spectral_latent.model import Parse

NAMESPACE = "{http://www.w3.org/2000/svg}"
words = st.text(min_size=1, max_size=8)
phrases = st.recursive(
    st.builds(lambda tag, word: Phrase(tag, (word,)), words, words),
    lambda below: st.builds(
        lambda label, parts: Phrase(label, tuple(parts)), words, st.lists(below, min_size=1, max_size=4)
    ),
    max_leaves=12,
)


def texts(picture: str) -> list[tuple[float, float, str]]:
    """List the texts of a drawing, each with the place of its middle and its line."""
    root = ElementTree.fromstring(picture)
    assert root.tag == f"{NAMESPACE}svg"
    return [(float(x.get("x", "")), float(x.get("y", "")), x.text or "") for x in root.iter(f"{NAMESPACE}text")]


def width_of(text: str) -> float:
    """Estimate a width from below: letters are half as wide as high, and those of Chinese twice as wide."""
    return sum(14.0 if unicodedata.east_asian_width(letter) in "WF" else 7.0 for letter in text)


def shown(text: str) -> str:
    """Replace what XML 1.0 cannot have."""
    return "".join(
        "\ufffd" if unicodedata.category(letter) in ("Cc", "Cs") or letter in "\ufffe\uffff" else letter
        for letter in text
    )


@given(phrases)
@settings(max_examples=60)
def test_every_name_is_drawn_once_and_none_over_another(tree: Phrase) -> None:
    picture = tree._repr_svg_()
    found = texts(picture)
    names = [node if isinstance(node, str) else node.label for node in tree.nodes()]
    assert sorted(text for *_, text in found) == sorted(map(shown, names))
    width, height = (float(value) for value in re.findall(r' (?:width|height)="(\d+)"', picture))
    for line in {y for _, y, _ in found}:
        row = sorted((x - width_of(text) / 2, x + width_of(text) / 2) for x, y, text in found if y == line)
        assert all(end <= start + 1e-6 for (_, end), (start, _) in pairwise(row))
        assert row[0][0] >= -1
        assert row[-1][1] <= width + 1
        assert line <= height
    assert "class=" not in picture.partition("<text")[2]  # all letters are large


def test_lines_lead_from_parents_to_their_children() -> None:
    (tree,) = parse_brackets("(S (NP (DT the) (JJ old) (NN dog)) (VP (VB barks) (ADV loudly)))")
    picture = tree._repr_svg_()
    found = {text: (x, y) for x, y, text in texts(picture)}
    at = {place: text for text, place in found.items()}
    edges = []
    for ends in re.findall(r'<path d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)"', picture):
        x, y, to_x, to_y = map(float, ends)  # from just below a name to just above another one
        assert y < to_y
        edges.append((at[x, y - 5], at[to_x, to_y + 14]))
    children = [
        (node.label, child if isinstance(child, str) else child.label)
        for node in tree.nodes()
        if isinstance(node, Phrase)
        for child in node.children
    ]
    assert sorted(edges) == sorted(children)
    assert found["the"][0] < found["old"][0] < found["dog"][0] < found["barks"][0]
    width, height = (float(value) for value in re.findall(r' (?:width|height)="(\d+)"', picture))
    assert width < 9.5 * len("theolddogbarksloudly") + 20 * 5 and height < 45 * 4  # a line fits on a page


def test_hostile_words_are_text() -> None:
    word = "</title><script>alert(1)</script>"
    tree = Phrase("<script>", (Phrase('"&', (f"{word}\x00\ud800\ufffe\uffff",)),))
    picture = tree._repr_svg_()
    assert "<script" not in picture
    assert [text for *_, text in texts(picture)] == [
        "<script>",
        '"&',
        "</title><script>alert(1)</script>" + 4 * "\ufffd",
    ]


def test_deep_trees_are_drawn() -> None:
    tree = Phrase("A", ("a",))
    for _ in range(5000):
        tree = Phrase("A", (tree,))
    assert tree._repr_svg_().count("<text") == 5002


@given(st.integers(1, 12), st.data())
@settings(max_examples=60)
def test_every_arc_is_drawn_once_and_longer_arcs_are_higher(n: int, data: st.DataObject) -> None:
    heads = [data.draw(st.sampled_from([head for head in range(n + 1) if head != word])) for word in range(1, n + 1)]
    forms = data.draw(st.lists(words, min_size=n, max_size=n))
    picture = arcs_svg(forms, ["T"] * n, heads, [f"r{word}" for word in range(n)])
    found = texts(picture)
    assert sorted(text for *_, text in found) == sorted(
        [*map(shown, forms), *["T"] * n, *(f"r{word}" for word in range(n))]
    )
    assert picture.count("<text") - picture.partition("<text")[2].count('class="s"') == n  # words are large
    height = {text: y for _, y, text in found if re.fullmatch(r"r\d+", text) and text not in forms}
    spans = {word: {word + 1, head} for word, head in enumerate(heads) if head}
    for one, ends in spans.items():
        for other, others in spans.items():
            is_within = min(others) >= min(ends) and max(others) <= max(ends) and others != ends
            if is_within and f"r{one}" in height and f"r{other}" in height:
                assert height[f"r{one}"] < height[f"r{other}"]


def test_sentences_draw_their_arcs_if_they_have_heads() -> None:
    sentence = DependencySentence.of(["Dogs", "bark"], ["NNS", "VBP"])
    assert sentence._repr_svg_() is None
    parsed = sentence.with_heads((2, 0), ("nsubj", "root"))
    picture = Parse(parsed, 1, -1.0)._repr_svg_()
    assert picture == parsed._repr_svg_()
    at = {text: x for x, _, text in texts(picture or "")}
    assert at["Dogs"] < at["nsubj"] < at["bark"]
    assert "<title>Dogs: nsubj of bark, bark: root of the root</title>" in (picture or "")


def test_what_is_no_tree_is_not_drawn() -> None:
    with pytest.raises(ValueError, match="without nodes"):
        tree_svg([], [], "")
    with pytest.raises(ValueError, match="word 2 has the head 3, and there are 2 words"):
        arcs_svg(["a", "b"], ["A", "B"], [0, 3], ["r", "r"])
    assert arcs_svg(["a"], ["A"], [1], ["self"]).count("<text") == 3
    assert np.isfinite([x for x, *_ in texts(tree_svg(["A"], [0], "A"))]).all()
