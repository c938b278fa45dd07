"""`spectral-latent annotate`."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Literal

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.options import format_options, number_option, quiet_option
from spectral_latent.cli.outputs import require

if TYPE_CHECKING:
    from spectral_latent._names import ConstituencyPresetName
    from spectral_latent.corpora import Format

__all__ = ["annotate"]


@click.command()
@click.argument("trees")
@click.argument("file", metavar="[TEXT]", required=False)
@format_options
@click.option(
    "--preset",
    default="fast",
    show_default=True,
    type=click.Choice(["fast", "accurate", "best"]),
    help="The settings of the parser.",
)
@click.option(
    "--functions/--no-functions",
    default=None,
    help="Whether to learn and suggest function labels, too; by default, if TREES has some.",
)
@click.option(
    "--order",
    type=click.Choice(["file", "surest", "unsure"]),
    default="file",
    show_default=True,
    help="The next sentence: the next of TEXT, or, of the first 150 that wait, that with the most or the fewest words "
    "for an expected error.",
)
@click.option("--annotator", metavar="NAME", default="", help="The name that the history has for accepted trees.")
@click.option("--compare", metavar="OTHER", help="The trees of another annotator, whose agreement is shown.")
@number_option("--port", "N", "The port of the page; 0 for any free one.", default=8017, least=0, most=65535)
@quiet_option
def annotate(
    trees: str,
    file: str | None,
    form: Format | None,
    preset: ConstituencyPresetName,
    functions: bool | None,
    order: Literal["file", "surest", "unsure"],
    annotator: str,
    compare: str | None,
    port: int,
    quiet: bool,
) -> None:
    """Correct trees on a local page, with a parser that learns from each.

    TREES is a file of bracketed trees, which may be absent; accepted trees are written to it at once, and all other
    text of it stays as it is.  TEXT has the sentences that wait for trees: raw text with --text, or a tokenised
    sentence on each line.  TREES.history keeps what every accepted tree replaced.  The address of the page has a token,
    without which nobody is answered; SPECTRAL_LATENT_TOKEN sets it.  docs/guide/annotation.md shows the page.

    \b
    Examples:
      spectral-latent annotate trees.mrg sentences.txt
      spectral-latent annotate saga.psd saga.txt --text --order surest --annotator anna"""
    from spectral_latent.constituency import preset as preset_of
    from spectral_latent.correction import BusyError, Project, serve
    from spectral_latent.tasks.inputs import read_sentences
    from spectral_latent.tokenisation import Tokenisation

    require("flask", "annotate")
    console = Console(quiet)
    sentences: list[list[str]] = []
    if file is not None:
        given = read_sentences(file, form, Tokenisation(frozenset()), console).without_tags(console)
        sentences = [each.words for each in given.sentences]
    try:
        project = Project(trees, sentences, preset_of(preset), annotator, functions)
    except (BusyError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    try:
        server = serve(project, port, other=compare, order=order)
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    except (OSError, SystemExit) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise click.ClickException(f"the port {port} is in use; choose another one, as by --port {port + 1}") from None
    if project.cut_off:
        console.message(
            f"Warning: the history ended in half a line, which was cut off; its tree was not accepted: "
            f"{project.cut_off!r:.200}"
        )
    if project.restored:
        console.message(f"Trees of the history that {trees} lacked, and that were put back: {project.restored}")
    if project.passed_over:
        places = ", ".join(map(str, project.passed_over[:5]))
        console.message(
            f"Warning: trees of the history that were not put back, since another program has changed {trees}: "
            f"{len(project.passed_over)}; see {project.history}, line {places}"
        )
    if order != "file":
        project.rank()
    waiting = len(project.items) - project.n_done
    console.message(f"{project.n_done} sentences have trees, {waiting} wait")
    click.echo(f"{server.address}  (Ctrl-C ends; everything accepted is saved)")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        project.close()
