"""`spectral-latent suggest`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.options import format_options, json_option, output_option, quiet_option
from spectral_latent.cli.outputs import results

if TYPE_CHECKING:
    from spectral_latent.corpora import Format

__all__ = ["suggest"]


@click.command(cls=Command)
@click.argument("model")
@click.argument("file", default="-")
@format_options
@click.option(
    "--rank",
    type=click.Choice(["errors", "entropy", "disagreement"]),
    is_flag=False,
    flag_value="errors",
    help="Write the least sure sentences first: by expected errors, entropy or disagreement of grammars.",
)
@json_option
@output_option
@quiet_option
def suggest(
    model: str, file: str, form: Format | None, rank: str | None, as_json: bool, output: Path | None, quiet: bool
) -> None:
    """Suggest trees for the sentences of FILE, with the posterior of each part.

    MODEL is a constituency parser.  In brackets, ? stands after a label whose posterior is below 0.9, and ?? below 0.5.
    A row of JSON has the tree, the posterior of each constituent (first word, word after the last, label, whether it is
    a tag), what would stand in its place, the expected number of errors, a bound of the entropy, and how far the
    grammars of MODEL disagree, in bits.

    \b
    Examples:
      echo "The cat sat on the mat ." | spectral-latent suggest wsj.model
      spectral-latent suggest wsj.model sentences.txt --rank --json -o suggested.jsonl"""
    from spectral_latent.constituency import suggest_trees
    from spectral_latent.tasks.inputs import FORMATS, read_sentences
    from spectral_latent.tasks.kinds import load_model

    console = Console(quiet)
    parser = load_model(model, "constituency")
    console.awaits(file, FORMATS[form or "tokens"].awaited)
    given = read_sentences(file, form, parser.tokenisation, console).without_tags(console)
    sentences = [each for each in given.sentences if each.words]
    found = list(zip(sentences, suggest_trees(parser, [each.words for each in sentences]), strict=True))
    if rank is not None:
        name = "expected_errors" if rank == "errors" else rank
        found.sort(key=lambda pair: -getattr(pair[1], name))
    with results(output) as write:
        for sentence, suggestion in found:
            if not as_json:
                write(suggestion.marked.bracketed() + "\n")
                continue
            row = {
                "name": sentence.sent_id,
                "words": sentence.words,
                "tree": suggestion.tree.bracketed(),
                **suggestion.rows(),
                "expected_errors": round(suggestion.expected_errors, 3),
                "entropy": round(suggestion.entropy, 3),
                "disagreement": round(suggestion.disagreement, 3),
                "fallback": suggestion.is_flat,
            }
            write(json.dumps(row, ensure_ascii=False) + "\n")
