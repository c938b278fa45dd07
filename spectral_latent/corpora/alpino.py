"""Read the Alpino Treebank of Dutch: dependency structures in XML, whose constituents may be discontinuous."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from xml.etree import ElementTree

from spectral_latent.constituency.cleaning import Changes
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.corpora.text import CorpusError

__all__ = ["parse_alpino"]

_Block = tuple[int, int, Phrase]  # the place of the first word, the place after the last word, the phrase


def parse_alpino(text: str, source: str = "<string>", changes: Changes | None = None) -> Iterator[Phrase]:
    """Read the trees of a text in Alpino's XML; the labels are the attributes `cat` and `pos`.

    The treebank keeps punctuation outside all constituents; here it is moved into the lowest constituent around it.  A
    constituent that is still discontinuous is split into phrases of the same label, one for each unbroken sequence of
    its words (Boyd 2007, Discontinuity Revisited).  A node that has only an index, which mentions a constituent for the
    second time, is dropped.

    text: the XML.

    Raises `CorpusError`, which names `source` and the place, for text that is not XML, a node without one of
    these attributes, and a sentence with missing words.

    >>> tree, = parse_alpino('''<alpino><alpino_ds><node cat="top">
    ...     <node cat="np"><node begin="0" pos="noun" word="huis"/><node begin="2" pos="adj" word="groot"/></node>
    ...     <node begin="1" pos="verb" word="is"/>
    ... </node></alpino_ds></alpino>''')
    >>> print(tree.bracketed())
    (top (np (noun huis)) (verb is) (np (adj groot)))
    """
    changes = Changes() if changes is None else changes
    number = 0
    try:
        for _, element in ElementTree.iterparse(StringIO(text)):
            if element.tag == "alpino_ds":
                number += 1
                yield _phrase(element, changes)
                element.clear()
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise CorpusError(f"{source}, after sentence {number}: not Alpino's XML ({error}); restore the file") from error


def _phrase(sentence: ElementTree.Element, changes: Changes) -> Phrase:
    """Make the tree of a sentence, from the last node to the first."""
    nodes = list(sentence.iter("node"))
    words = {node: _word(node) for node in nodes if "word" in node.attrib}
    # The punctuation that is in no constituent so far, by its place.
    loose = {block[0]: block for block in words.values() if _is_punctuation(block)}
    if loose:
        changes.counts["punctuation marks moved into constituents"] += len(loose)
    done: list[list[_Block]] = []  # the blocks of subtrees whose parents are still to come
    for node in reversed(nodes):
        below = [block for _ in node.findall("node") for block in done.pop()]
        if node is nodes[0]:  # the root takes the punctuation that filled no gap
            below += loose.values()
        if block := words.get(node):
            done.append([] if _is_punctuation(block) else [block])
        else:  # a node that only mentions another one has nothing below, and no blocks
            runs = _runs(below, loose)
            done.append([_constituent(node.attrib["cat"], run) for run in runs])
            if len(runs) != 1:
                kind = "discontinuous constituents divided" if runs else "second mentions of constituents removed"
                changes.counts[kind] += 1
    ((_, _, phrase),) = done.pop()
    return phrase


def _word(node: ElementTree.Element) -> _Block:
    """Make the block of a word."""
    begin = int(node.attrib["begin"])
    return begin, begin + 1, Phrase(node.attrib["pos"], (node.attrib["word"],))


def _is_punctuation(block: _Block) -> bool:
    """Tell whether a block is a punctuation mark."""
    return block[2].label == "punct"


def _constituent(label: str, run: list[_Block]) -> _Block:
    """Put blocks without gaps under a label."""
    return run[0][0], run[-1][1], Phrase(label, tuple(phrase for _, _, phrase in run))


def _runs(blocks: list[_Block], loose: dict[int, _Block]) -> list[list[_Block]]:
    """Divide blocks into groups without gaps; loose punctuation fills a gap."""
    runs: list[list[_Block]] = []
    for block in sorted(blocks, key=lambda block: block[0]):
        gap = range(runs[-1][-1][1], block[0]) if runs else range(0)
        if runs and all(place in loose for place in gap):
            runs[-1] += [*(loose.pop(place) for place in gap), block]
        else:
            runs.append([block])
    return runs
