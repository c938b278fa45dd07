"""`spectral-latent surprisal`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.options import (
    AnswerRequest,
    answer_options,
    errors_options,
    files_argument,
    format_options,
    tell_of_fewer,
)

if TYPE_CHECKING:
    from spectral_latent.corpora import Format

__all__ = ["surprisal"]


@click.command(cls=Command)
@click.argument("model")
@files_argument
@click.option("--unit", type=click.Choice(["bits", "nats"]), default="bits", show_default=True, help="The unit.")
@errors_options
@format_options
@answer_options
def surprisal(
    wanted: AnswerRequest,
    model: str,
    files: tuple[str, ...],
    unit: Literal["bits", "nats"],
    errors: tuple[str, ...],
    groups: int,
    form: Format | None,
) -> None:
    """Compute the surprisal of the words of FILE or of standard input.

    The surprisal of a word is -log p(word | words before it), summed over all trees and continuations.  MODEL is a
    parser or tagger with probabilities, or a model of sequences without tags.  The output is a table with a header and
    tabs; docs/surprisal.md describes its columns.  --errors adds the column of standard errors.

    \b
    Examples:
      echo "The horse raced past the barn fell ." | spectral-latent surprisal wsj.model
      spectral-latent surprisal wsj.model sentences.txt --unit nats -o surprisal.tsv"""
    from spectral_latent.tasks.answers import surprisal as surprisal_of
    from spectral_latent.tasks.inputs import FORMATS, read_files, read_sentences
    from spectral_latent.tasks.kinds import load_of_prefixes
    from spectral_latent.tasks.verification import train_without_groups
    from spectral_latent.tasks.watch import users_errors
    from spectral_latent.tasks.writing import SURPRISAL_COLUMNS, surprisal_text, table_row

    console = Console(wanted.quiet)
    reader, tokenisation = load_of_prefixes(model)
    for file in files:
        console.awaits(file, FORMATS[form or "tokens"].awaited)
    given = read_files(files, partial(read_sentences, form=form, tokenisation=tokenisation, watch=console))
    if reader.kind != "dependency":
        given = given.without_tags(console)
    parts = train_without_groups(model, errors, groups, wanted.jobs, console) if errors else []
    head = table_row((*SURPRISAL_COLUMNS, *["error"] * bool(errors)))
    fewer = 0
    with wanted.answers(given, console) as answers, users_errors():
        found = surprisal_of(reader, given, unit, wanted.jobs, parts)
        for sentence, of_words, estimates in console.beside_output.bar(found, "Reading"):
            header = "" if answers.sentences or wanted.form == "json" else head
            if estimates is not None:
                fewer += int((estimates.n_groups < groups).sum())
            of_errors = None if estimates is None else estimates.error
            answers.add(sentence, header + surprisal_text(sentence, of_words, wanted.form, of_errors))
    tell_of_fewer(console, fewer, "word", groups, "surprisal")
