"""Convert the Alpino Treebank of Dutch, which NLTK has as XML, to brackets: train.mrg, dev.mrg, test.mrg of a folder.

    python -m nltk.downloader alpino
    python -m benchmarks.alpino $SPECTRAL_LATENT_DATA/treebanks/alpino

Sentence n, from 1, is in dev if n mod 10 = 8, in test if n mod 10 = 9, and otherwise in train, as in `nltk:NAME:train`.
"""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

from benchmarks._measure import command_line
from spectral_latent.constituency import Phrase
from spectral_latent.corpora import CorpusError

__all__ = ["parse_alpino"]

PARTS = {8: "dev", 9: "test"}

_Block = tuple[int, int, Phrase]  # the place of the first word, the place after the last word, the phrase


def parse_alpino(text: str, source: str = "<string>") -> Iterator[Phrase]:
    """Read the trees of a text in Alpino's XML; the labels are the attributes `cat` and `pos`.

    The treebank keeps punctuation outside all constituents; here it is moved into the lowest constituent around it.  A
    constituent that is still discontinuous is split into phrases of the same label, one for each unbroken sequence of
    its words (Boyd 2007, Discontinuity Revisited).  A node that has only an index, which mentions a constituent for the
    second time, is dropped.

    Raises `CorpusError`, which names `source` and the place, for text that is not XML, a node without one of
    these attributes, and a sentence with missing words.

    >>> tree, = parse_alpino('''<alpino><alpino_ds><node cat="top">
    ...     <node cat="np"><node begin="0" pos="noun" word="huis"/><node begin="2" pos="adj" word="groot"/></node>
    ...     <node begin="1" pos="verb" word="is"/>
    ... </node></alpino_ds></alpino>''')
    >>> print(tree.bracketed())
    (top (np (noun huis)) (verb is) (np (adj groot)))
    """
    number = 0
    try:
        for _, element in ElementTree.iterparse(StringIO(text)):
            if element.tag == "alpino_ds":
                number += 1
                yield _phrase(element)
                element.clear()
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise CorpusError(f"{source}, after sentence {number}: not Alpino's XML ({error}); restore the file") from error


def _phrase(sentence: ElementTree.Element) -> Phrase:
    """Make the tree of a sentence, from the last node to the first."""
    nodes = list(sentence.iter("node"))
    words = {node: _word(node) for node in nodes if "word" in node.attrib}
    # The punctuation that is in no constituent so far, by its place.
    loose = {block[0]: block for block in words.values() if _is_punctuation(block)}
    done: list[list[_Block]] = []  # the blocks of subtrees whose parents are still to come
    for node in reversed(nodes):
        below = [block for _ in node.findall("node") for block in done.pop()]
        if node is nodes[0]:  # the root takes the punctuation that filled no gap
            below += loose.values()
        if block := words.get(node):
            done.append([] if _is_punctuation(block) else [block])
        else:  # a node that only mentions another one has nothing below, and no blocks
            done.append([_constituent(node.attrib["cat"], run) for run in _runs(below, loose)])
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


def main() -> None:
    """Write the parts."""
    from nltk.corpus import alpino

    parser = command_line(__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    parts: dict[str, list[str]] = {"train": [], "dev": [], "test": []}
    for number, tree in enumerate(parse_alpino(alpino.raw(), "alpino.xml"), start=1):
        parts[PARTS.get(number % 10, "train")].append(tree.bracketed())
    for name, trees in parts.items():
        (folder / f"{name}.mrg").write_text("\n".join(trees) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
