"""`spectral-latent tag`."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Literal

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.options import AnswerRequest, answer_options, files_argument, format_options

if TYPE_CHECKING:
    from spectral_latent.corpora import Format

__all__ = ["tag"]

_SEPARATOR = re.compile(r"[/\s]")  # divides words from tags, and from other words


@click.command(cls=Command)
@click.argument("model")
@files_argument
@format_options
@click.option(
    "--column",
    type=click.Choice(["upos", "xpos"]),
    help="The column of CoNLL-U to fill.  [default: the column that the model was trained on, or else upos]",
)
@answer_options
def tag(
    wanted: AnswerRequest,
    model: str,
    files: tuple[str, ...],
    form: Format | None,
    column: Literal["upos", "xpos"] | None,
) -> None:
    """Tag the sentences of FILE or of standard input.

    FILE has a tokenised sentence on each line, or another format of docs/command_line.md; raw text needs --text.
    The output is lines of the/DT dog/NN, or for CoNLL-U the same tables with other tags.  For an anchor
    model, a tag is the label of an anchor, or the anchor in capitals if there are no labels.

    \b
    Examples:
      echo "The cat sat on the mat." | spectral-latent tag tagger.model --text
      spectral-latent tag tagger.model dev.conllu > tagged.conllu"""
    from spectral_latent.tasks.answers import tag as tag_sentences
    from spectral_latent.tasks.inputs import FORMATS, read_files, read_sentences
    from spectral_latent.tasks.kinds import load_tagger
    from spectral_latent.tasks.writing import tagged_text

    console = Console(wanted.quiet)
    tagger = load_tagger(model)
    for file in files:
        console.awaits(file, FORMATS[form or "tokens"].awaited)
    read = partial(read_sentences, form=form, tokenisation=tagger.model.tokenisation, watch=console)
    given = read_files(files, read)
    if column and given.form != "conllu":
        raise click.UsageError("--column is for CoNLL-U; give --format conllu if the input is CoNLL-U")
    strange = [name for name in tagger.tags if _SEPARATOR.search(name)]
    if strange and wanted.form == "text" and given.form != "conllu":
        console.message(f"The tag {strange[0]!r} has a slash or a space within; only CoNLL-U keeps such tags apart")
    filled = "xpos" if (column or tagger.column) == "xpos" else "upos"
    with wanted.answers(given, console) as answers:
        tagged = tag_sentences(tagger.model, given, wanted.jobs)
        for sentence, tags in console.beside_output.bar(tagged, "Tagging"):
            answers.add(sentence, tagged_text(sentence, tags, wanted.form, filled))
