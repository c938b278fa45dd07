"""Annotated sentences at random, some words of which share a token, and a simple writer of CoNLL-U."""

from collections.abc import Sequence

from hypothesis import strategies as st

from spectral_latent.dependency import DependencySentence

# Anything but what divides lines and columns; a carriage return is kept within a column.
COLUMN = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\t\n\r"), min_size=1, max_size=6)
COMMENT = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=9).map(str.strip)


@st.composite
def sentences(draw: st.DrawFn) -> DependencySentence:
    """A sentence with heads that need not be a tree, or without heads."""
    size = draw(st.integers(1, 6))
    columns = [tuple(draw(st.lists(COLUMN, min_size=size, max_size=size))) for _ in range(6)]
    others = [st.integers(0, size).filter(lambda head, word=word: head != word) for word in range(1, size + 1)]
    heads = draw(st.none() | st.tuples(*others))
    ranges: list[tuple[int, int, str]] = []
    for first in range(1, size + 1):
        if first > (ranges[-1][1] if ranges else 0) and draw(st.booleans()):
            ranges.append((first, draw(st.integers(first, size)), draw(COLUMN)))
    comments = tuple(draw(st.lists(COMMENT, max_size=2)))
    return DependencySentence(*columns[:5], heads, columns[5], comments, tuple(ranges))


def lines_of(sentence: DependencySentence) -> list[str]:
    """The lines of the words alone."""
    heads = sentence.heads or ("_",) * len(sentence.forms)
    words = zip(*sentence[:5], heads, sentence.relations, strict=True)
    return ["\t".join(map(str, (number, *columns, "_", "_"))) for number, columns in enumerate(words, start=1)]


def written(sentences: list[DependencySentence]) -> str:
    lines: list[str] = []
    for sentence in sentences:
        lines += [f"# {comment}" for comment in sentence.comments]
        ranges = {first: f"{first}-{last}\t{form}" + 8 * "\t_" for first, last, form in sentence.ranges}
        for number, line in enumerate(lines_of(sentence), start=1):
            lines += [*filter(None, [ranges.get(number)]), line]
        lines.append("")
    return "".join(f"{line}\n" for line in lines)


def rows(*heads: object, relations: Sequence[str] = ()) -> str:
    """Write the words a, b, c ... with the tags A, B, C ... in CoNLL-U."""
    lines = []
    for at, (head, name) in enumerate(zip(heads, relations or "_" * len(heads), strict=True)):
        word = chr(ord("a") + at)
        tag = word.upper()
        lines.append(f"{at + 1}\t{word}\t_\t{tag}\t{tag}\t_\t{head}\t{name}\t_\t_\n")
    return "".join(lines)
