"""`spectral-latent tag`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.inputs import Input, InputSentence, format_options, read_sentences
from spectral_latent.cli.models import Tagger, load_tagger
from spectral_latent.cli.options import json_option, quiet_option, results_option
from spectral_latent.cli.outputs import results

if TYPE_CHECKING:
    from spectral_latent.corpora import Format

__all__ = ["tag"]

_SEPARATOR = re.compile(r"[/\s]")  # divides words from tags, and from other words
_UPOS = 3  # the column of UPOS in CoNLL-U, from 0
_XPOS = 4
_MALT_TAG = 1  # the column of TAG in Malt-TAB


@click.command()
@click.argument("model")
@click.argument("file", default="-")
@format_options
@click.option(
    "--column",
    type=click.Choice(["upos", "xpos"]),
    help="The column of CoNLL-U to fill.  [default: the column that the model was trained on, or else upos]",
)
@json_option
@results_option
@quiet_option
def tag(
    model: str,
    file: str,
    form: Format | None,
    column: Literal["upos", "xpos"] | None,
    as_json: bool,
    output: Path | None,
    quiet: bool,
) -> None:
    """Tag the sentences of FILE or of standard input.

    FILE has one tokenised sentence a line, words with tags as in the/DT dog/NN, CoNLL-U, CoNLL-X, Malt-TAB, or trees in
    brackets; tags that are there are not used.

    With --text, FILE is raw text.  An empty line ends a sentence, other line ends are spaces.  Words are divided as in
    the corpus of the model: as in the Penn Treebank if it has the word n't.

    The output has a line for each sentence with words and tags, as in the/DT dog/NN, and an empty line for an empty
    line.  The last slash divides word and tag, because a word may contain slashes.

    Tables are given back as tables: the tag of each word replaces the column UPOS of CoNLL-U, or XPOS with --column
    xpos here or in training, or the column TAG of Malt-TAB, and all else stays as it is.

    With --json, each line is a sentence: sent_id, words and tags.

    For an anchor model, a tag is the label of an anchor, or the anchor in capitals if there are no labels.

    Input from a pipe is tagged as it comes.

    \b
    Examples:
      echo "The cat sat on the mat." | spectral-latent tag english.tagger --text
      spectral-latent tag english.tagger dev.conllu > tagged.conllu
    """
    console = Console(quiet)
    tagger = load_tagger(model)
    given = read_sentences(file, form, tagger.tokenisation, console)
    if column and given.form != "conllu":
        raise click.UsageError("--column is for CoNLL-U; give --format conllu if the input is CoNLL-U")
    is_table = given.form in ("conllu", "malt-tab")
    strange = [name for name in tagger.tags if _SEPARATOR.search(name)]
    if strange and not (is_table or as_json):
        console.message(f"The tag {strange[0]!r} has a slash or a space within; only CoNLL-U keeps such tags apart")
    place = _MALT_TAG if given.form == "malt-tab" else _XPOS if (column or tagger.column) == "xpos" else _UPOS
    with results(output, [model, file]) as write:
        for text in console.beside_output.bar(_tagged(given, tagger, place, as_json), "Tagging", given.length):
            write(text)


def _tagged(given: Input, tagger: Tagger, column: int, as_json: bool) -> Iterator[str]:
    """Write each sentence with its tags: in a table if it stands in one, else on a line; or in JSON."""
    for batch in given.batches:
        sentences = list(batch)
        for sentence, tags in zip(sentences, tagger.tag([each.words for each in sentences]), strict=True):
            if as_json:
                yield from [_json(sentence, tags)] if tags else []
            else:
                yield _table(sentence, tags, column) if sentence.lines else _line(sentence, tags)


def _json(sentence: InputSentence, tags: list[str]) -> str:
    """Write a sentence as a line of JSON."""
    entry = {"sent_id": str(sentence.number), "words": sentence.forms, "tags": tags}
    return json.dumps(entry, ensure_ascii=False) + "\n"


def _line(sentence: InputSentence, tags: list[str]) -> str:
    """Write a sentence as a line, with a slash and a tag after each word."""
    return " ".join(map("/".join, zip(sentence.forms, tags, strict=True))) + "\n"


def _table(sentence: InputSentence, tags: list[str], column: int) -> str:
    """Write the lines of a sentence, with the tag of each word in a column."""
    lines = list(sentence.lines)
    for place, name in zip(sentence.places, tags, strict=True):
        columns = lines[place].split("\t")
        columns[column] = name
        lines[place] = "\t".join(columns)
    return "".join(lines)
