"""`spectral-latent tag`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from spectral_latent.cli.inputs import Piece, pieces
from spectral_latent.cli.models import load
from spectral_latent.cli.notes import Notes, quiet_option

if TYPE_CHECKING:
    from spectral_latent.dependency import DependencySentence

__all__ = ["tag"]

_LINE = re.compile(rb"\n")
_EMPTY_LINE = re.compile(rb"^ *\r?\n", re.MULTILINE)
_BETWEEN = re.compile(r"[/\s]")  # what divides words from tags, and from other words
_PLACES = {"upos": 3, "universal": 3, "xpos": 4}  # of the columns for tags in a line of CoNLL-U, from 0

_Tag = Callable[[list[list[str]]], list[list[str]]]
_Write = Callable[[Piece, _Tag], str]


@click.command()
@click.argument("model")
@click.argument("file", default="-")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "conllu"]),
    help="What FILE is; if nothing is said, conllu for a name that ends in .conllu, .conll or .conllx, and text "
    "for any other.",
)
@click.option(
    "--column",
    type=click.Choice(["upos", "xpos"]),
    help="The column of CoNLL-U to fill; if nothing is said, that of training, or upos.",
)
@quiet_option
def tag(
    model: str, file: str, form: Literal["text", "conllu"] | None, column: Literal["upos", "xpos"] | None, quiet: bool
) -> None:
    """Tag tokenised sentences, one per line of FILE or of standard input.

    Line by line, the output is the words with their tags, as in the/DT dog/NN, and an empty line for an empty one.
    The last slash divides word and tag; words may have others.

    Sentences in CoNLL-U are given back in CoNLL-U, with the tag of each word in the column UPOS, or XPOS with
    --column xpos here or in training, and all else as it stands.

    Of an anchor model, a tag is the label of its anchor, or the anchor in capitals if there are no labels.

    What comes through a pipe is tagged as it comes.
    """
    from spectral_latent.corpora.conllu import CONLLU

    is_conllu = form == "conllu" or (form is None and Path(file).suffix.lower() in CONLLU)
    if column and not is_conllu:
        raise click.UsageError("--column goes with CoNLL-U; give --format conllu")
    loaded, notes = load(model), Notes(quiet)
    tagger = loaded.tagger(with_names=True)
    strange = [name for name in tagger.tags if _BETWEEN.search(str(name))]
    if strange and not is_conllu:
        notes.say(f"The tag {strange[0]!r} has a slash or a space within; words and tags stay apart in CoNLL-U only")
    place = _PLACES.get(column or loaded.column or "upos", _PLACES["upos"])
    write: _Write = partial(_conllu, column=place) if is_conllu else _text
    parts = pieces(file, _EMPTY_LINE, _sentences) if is_conllu else pieces(file, _LINE)
    for part in Notes(quiet or sys.stdout.isatty()).progress(parts, "Tagging"):
        click.echo(write(part, tagger.tag), nl=False)


def _text(piece: Piece, tag: _Tag) -> str:
    """The lines of a text, with a slash and a tag after each word.

    >>> _text(Piece("speech", 1, "dogs  bark\\n\\nand/or"), lambda rows: [["X"] * len(row) for row in rows])
    'dogs/X bark/X\\n\\nand/or/X\\n'
    """
    from spectral_latent.corpora import plain_sentences

    sentences = list(plain_sentences(piece.text.removesuffix("\n").split("\n")))
    rows = (map("/".join, zip(*pair, strict=True)) for pair in zip(sentences, tag(sentences), strict=True))
    return "".join(" ".join(row) + "\n" for row in rows)


def _conllu(piece: Piece, tag: _Tag, column: int) -> str:
    """The lines of CoNLL-U, with the tag of each word in a column."""
    lines = piece.text.split("\n")
    sentences = _sentences(piece)
    tags = tag([list(sentence.forms) for sentence, _ in sentences])
    for (_, numbers), found in zip(sentences, tags, strict=True):
        for number, name in zip(numbers, found, strict=True):
            columns = lines[number - piece.line].split("\t")
            lines[number - piece.line] = "\t".join([*columns[:column], name, *columns[column + 1 :]])
    return "\n".join(lines)


def _sentences(piece: Piece) -> list[tuple[DependencySentence, list[int]]]:
    """The sentences of CoNLL-U with the numbers of their words' lines in the whole text; none if all are comments."""
    from spectral_latent.corpora.conllu import parse_with_lines

    if all(line.startswith("#") or not line.strip(" \r") for line in piece.text.split("\n")):
        return []
    return list(parse_with_lines(piece.text, piece.source, piece.line))
