"""`spectral-latent repair`."""

from __future__ import annotations

from pathlib import Path

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.options import output_option, quiet_option
from spectral_latent.cli.outputs import results

__all__ = ["repair"]


@click.command(cls=Command)
@click.argument("model")
@click.argument("file", default="-")
@output_option
@quiet_option
def repair(model: str, file: str, output: Path | None, quiet: bool) -> None:
    """Mend broken bracket strings.

    Each line of FILE has the words of a sentence, a tab, and a bracket string that may be broken, flat or partly wrong.
    The tree over exactly these words that agrees best with the string and with MODEL, a constituency parser, is
    printed.

    \b
    Examples:
      printf 'dogs see it\\t(S (NP dogs (VP see it\\n' | spectral-latent repair wsj.model
      spectral-latent repair wsj.model broken.tsv -o mended.mrg"""
    from spectral_latent.constituency import repair_all
    from spectral_latent.corpora import CorpusError
    from spectral_latent.tasks.inputs import read_text
    from spectral_latent.tasks.kinds import load_model

    console = Console(quiet)
    parser = load_model(model, "constituency")
    console.awaits(file, "words, a tab and a bracket string on each line")
    text, source = read_text(file)
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        words, tab, brackets = line.partition("\t")
        if not tab or not words.split():
            raise CorpusError(f"{source}:{number}: a line has the words, a tab and a bracket string")
        pairs.append((words.split(), brackets))
    n_changed = n_all = 0
    with results(output) as write:
        for mended in repair_all(parser, pairs):
            write(mended.tree.bracketed() + "\n")
            n_all += 1
            n_changed += bool(mended.dropped or mended.added)
    console.message(f"{n_all} trees, of which {n_changed} differ from their strings")
