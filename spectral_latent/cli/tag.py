"""`spectral-latent tag`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice, tee
from typing import TYPE_CHECKING, Literal

import click

from spectral_latent.cli.answers import AnswerRequest, answer_options
from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.inputs import Input, format_options, read_sentences
from spectral_latent.cli.models import LoadedTagger, load_tagger
from spectral_latent.cli.sentences import InputSentence

if TYPE_CHECKING:
    from spectral_latent.corpora import Format

__all__ = ["tag"]

_SEPARATOR = re.compile(r"[/\s]")  # divides words from tags, and from other words
_UPOS = 3  # the column of UPOS in CoNLL-U, from 0
_XPOS = 4
_MALT_TAG = 1  # the column of TAG in Malt-TAB
_BATCH = 32  # sentences that are tagged at once in a process of their own
_MOST = 256  # sentences that are tagged at once in this process


@click.command(cls=Command)
@click.argument("model")
@click.argument("file", default="-")
@format_options
@click.option(
    "--column",
    type=click.Choice(["upos", "xpos"]),
    help="The column of CoNLL-U to fill.  [default: the column that the model was trained on, or else upos]",
)
@answer_options
def tag(
    wanted: AnswerRequest, model: str, file: str, form: Format | None, column: Literal["upos", "xpos"] | None
) -> None:
    """Tag the sentences of FILE or of standard input.

    FILE has one tokenised sentence a line, words with tags as in the/DT dog/NN, CoNLL-U, CoNLL-X, Malt-TAB, or trees in
    brackets; or objects in JSON lines.  A row has words (or tokens), or text, which is raw;
    and its name in sent_id (or id), if it has one.  Tags in FILE are ignored.

    With --text, FILE is raw text.  An empty line ends a sentence, other line ends are spaces.  Words are divided as in
    the corpus of the model: as in the Penn Treebank if it has the word n't.

    The output has a line for each sentence with words and tags, as in the/DT dog/NN, and an empty line for an empty
    line.  The last slash divides word and tag, because a word may contain slashes.

    Tables are given back as tables: the tag of each word replaces the column UPOS of CoNLL-U, or XPOS with --column
    xpos here or in training, or the column TAG of Malt-TAB, and all other columns stay as they are.

    With --json, each line is a sentence: sent_id, words and tags.  An empty line
    is a sentence without words, whose lists are empty.

    For an anchor model, a tag is the label of an anchor, or the anchor in capitals if there are no labels.

    Each line from a pipe is tagged when it arrives, unless --jobs is above 1.

    \b
    Examples:
      echo "The cat sat on the mat." | spectral-latent tag tagger.model --text
      spectral-latent tag tagger.model dev.conllu > tagged.conllu
    """
    console = Console(wanted.quiet)
    is_text = wanted.form == "text"
    tagger = load_tagger(model)
    given = read_sentences(file, form, tagger.model.tokenisation, console)
    if column and given.form != "conllu":
        raise click.UsageError("--column is for CoNLL-U; give --format conllu if the input is CoNLL-U")
    is_table = given.form in ("conllu", "malt-tab")
    strange = [name for name in tagger.tags if _SEPARATOR.search(name)]
    if strange and is_text and not is_table:
        console.message(f"The tag {strange[0]!r} has a slash or a space within; only CoNLL-U keeps such tags apart")
    place = _MALT_TAG if given.form == "malt-tab" else _XPOS if (column or tagger.column) == "xpos" else _UPOS
    with wanted.answers(given.unit, console) as answers:
        tagged = _tagged(given, tagger, wanted.jobs)
        for sentence, tags in console.beside_output.bar(tagged, "Tagging", given.length):
            if is_text:
                text = _table(sentence, tags, place) if sentence.lines else _line(sentence, tags)
            else:
                text = _json(sentence, tags) if sentence.is_whole else ""
            answers.add(sentence, text)


def _tagged(given: Input, tagger: LoadedTagger, jobs: int) -> Iterator[tuple[InputSentence, list[str]]]:
    """Find the tags of each sentence."""
    batches, read = tee(_batches(given, _MOST if jobs == 1 else _BATCH))
    tags_of = tagger.tag_all(([each.words for each in batch] for batch in read), jobs)
    for batch, tags in zip(batches, tags_of, strict=True):
        yield from zip(batch, tags, strict=True)


def _batches(given: Input, most: int) -> Iterator[list[InputSentence]]:
    """Divide the sentences into batches; a batch never waits for more lines of a pipe."""
    for batch in given.batches:
        rest = iter(batch)
        while sentences := list(islice(rest, most)):
            yield sentences


def _json(sentence: InputSentence, tags: list[str]) -> str:
    """Write a sentence as a line of JSON."""
    entry = {"sent_id": sentence.sent_id, "words": sentence.forms, "tags": tags}
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
