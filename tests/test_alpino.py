"""Discontinuous constituents of Alpino become a phrase for each unbroken stretch of their words."""

import pytest

from benchmarks.alpino import parse_alpino
from spectral_latent.corpora import CorpusError

CROSSING = """
<alpino><alpino_ds><node cat="top">
  <node cat="smain">
    <node begin="1" pos="verb" word="heeft"/>
    <node cat="ppart"><node begin="0" pos="noun" word="Dat"/><node begin="4" pos="verb" word="gezien"/></node>
    <node begin="2" pos="pron" word="zij"/>
  </node>
  <node begin="3" pos="punct" word=","/>
  <node begin="5" pos="punct" word="."/>
</node></alpino_ds></alpino>
"""


def test_a_phrase_for_every_stretch() -> None:
    (tree,) = parse_alpino(CROSSING)
    assert tree.bracketed() == (
        "(top (smain (ppart (noun Dat)) (verb heeft) (pron zij) (punct ,) (ppart (verb gezien))) (punct .))"
    )


@pytest.mark.parametrize(
    "text",
    ["<alpino><alpino_ds>", "(S (NN a))", "<a><alpino_ds/></a>", "<a><alpino_ds><node cat='top'/></alpino_ds></a>"],
)
def test_what_is_not_alpinos_is_an_error(text: str) -> None:
    with pytest.raises(CorpusError, match=r"alpino\.xml, after sentence \d: "):
        list(parse_alpino(text, "alpino.xml"))
