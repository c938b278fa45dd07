"""Discontinuous constituents of Alpino against their definition: a phrase for each unbroken stretch of words."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.alpino import parse_alpino
from spectral_latent.constituency import Phrase
from spectral_latent.corpora import CorpusError

Spans = Counter[tuple[str, int, int]]  # label, first and last word, in words that are not punctuation
SHAPES = st.recursive(st.none(), lambda below: st.lists(below, min_size=1, max_size=3), max_leaves=9)


def stretches(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each unbroken run of numbers."""
    for _, run in groupby(enumerate(sorted(places)), key=lambda pair: pair[1] - pair[0]):
        numbers = [place for _, place in run]
        yield numbers[0], numbers[-1]


def annotated(sentence: ElementTree.Element) -> Spans:
    """The stretches of all constituents, by the words beneath them."""
    words = [node for node in sentence.iter("node") if "word" in node.attrib and node.attrib["pos"] != "punct"]
    order = sorted(words, key=lambda node: int(node.attrib["begin"]))
    rank = {node: at for at, node in enumerate(order)}
    return Counter(
        (node.attrib["cat"], first, last)
        for node in sentence.iter("node")
        if "cat" in node.attrib
        for first, last in stretches(rank[below] for below in node.iter("node") if below in rank)
    )


def read(tree: Phrase) -> Spans:
    """The spans of a tree's phrases, punctuation passed over."""
    spans: Spans = Counter()

    def walk(phrase: Phrase, first: int) -> int:
        if phrase.is_preterminal():
            return first + (phrase.label != "punct")
        after = first
        for child in phrase.children:
            assert isinstance(child, Phrase)
            after = walk(child, after)
        if after > first:
            spans[phrase.label, first, after - 1] += 1
        return after

    walk(tree, 0)
    return spans


@st.composite
def sentences(draw: st.DrawFn) -> ElementTree.Element:
    """A sentence whose words stand in any order, with punctuation beneath its root as in the treebank."""
    root = ElementTree.Element("node", cat="top")
    words: list[ElementTree.Element] = []

    def grow(shape: Any, parent: ElementTree.Element) -> None:
        if shape is None:
            words.append(ElementTree.SubElement(parent, "node", pos="noun", word=f"w{len(words)}"))
        else:
            node = ElementTree.SubElement(parent, "node", cat=draw(st.sampled_from(["np", "inf", "pp"])))
            for below in shape:
                grow(below, node)

    grow(draw(SHAPES), root)
    words += [ElementTree.SubElement(root, "node", pos="punct", word=",") for _ in range(draw(st.integers(0, 3)))]
    for place, node in zip(draw(st.permutations(range(len(words)))), words, strict=True):
        node.set("begin", str(place))
    sentence = ElementTree.Element("alpino_ds")
    sentence.append(root)
    return sentence


@given(sentences())
def test_a_phrase_for_every_stretch(sentence: ElementTree.Element) -> None:
    (tree,) = parse_alpino(f"<alpino>{ElementTree.tostring(sentence, encoding='unicode')}</alpino>")
    words = {int(node.attrib["begin"]): node.attrib["word"] for node in sentence.iter("node") if "word" in node.attrib}
    assert list(tree.words()) == [words[place] for place in sorted(words)]
    assert read(tree) == annotated(sentence)


@pytest.mark.parametrize(
    "text",
    ["<alpino><alpino_ds>", "(S (NN a))", "<a><alpino_ds/></a>", "<a><alpino_ds><node cat='top'/></alpino_ds></a>"],
)
def test_what_is_not_alpinos_is_an_error(text: str) -> None:
    with pytest.raises(CorpusError, match=r"alpino\.xml, after sentence \d: "):
        list(parse_alpino(text, "alpino.xml"))
