"""A command for each paper, which makes its tables again on open data.

The library is imported within the commands, so that help and usage errors come at once.
"""

from __future__ import annotations

from math import log10
from pathlib import Path
from typing import Literal

import click

from spectral_latent.cli.command import CommandGroup
from spectral_latent.cli.outputs import OutputFile

__all__ = ["main"]

_STEPS = (
    "plain",
    "annotated",
    "out of the box",
    "+ absolute marginals",
    "+ scaling",
    "κ = 1",
    "+ smoothing",
    "simple features",
    "EM",
    "hybrid",
)
_METHODS = (
    "Baum-Welch",
    "log-linear",
    "Brown clusters",
    "anchor",
    "anchor + features",
    "true anchors",
    "anchor + Baum-Welch",
    "library",
    "library + features",
)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
def main() -> None:
    """Make the tables of a paper again, on open data, with the numbers of the paper beside what comes out.

    The data of the papers are not open, so that numbers can be compared with each other but not across.  Tables go to
    standard output, in Markdown.  Without options a command takes a minute or two, cohen2013 up to five; help names
    the options of the full tables.  SOURCE is a file, a folder, or a corpus of NLTK, as in `spectral-latent train
    --help`.
    """


@main.command(short_help="Exactness and 1/√M: the theorems of L-PCFGs.")
@click.option("--grammars", default=5, type=click.IntRange(min=1), help="How many random grammars for Theorem 2.")
@click.option(
    "--largest",
    metavar="TREES",
    default=31_623,
    type=click.IntRange(min=2_000),
    help="The largest sample for Theorem 3; the smallest has 1000 trees. In full 1000000.",
)
@click.option("--seeds", default=4, type=click.IntRange(min=1), help="Independent samples of each size.")
@click.option("--picture", type=OutputFile(needs=("matplotlib", "pictures")), help="Draw the errors to this file.")
def cohen2012(grammars: int, largest: int, seeds: int, picture: Path | None) -> None:
    """Theorems 2 and 3 of Cohen et al. (2012): exact estimates from populations, and errors that fall as 1/√M."""
    from benchmarks.papers.cohen2012 import draw_errors, draw_picture, print_consistency, print_exactness

    exponent = log10(largest) - 3
    n_steps = round(2 * exponent)  # each multiplies the sample by about √10
    sizes = [round(1_000 * 10 ** (exponent * i / n_steps)) for i in range(n_steps + 1)]
    print_exactness(grammars)
    found = draw_errors(sizes, seeds)
    print_consistency(sizes, found)
    if picture is not None:
        try:
            draw_picture(sizes, found, picture)
        except ImportError as error:
            raise click.ClickException(str(error)) from None
        click.echo(f"{picture}: written", err=True)


@main.command(short_help="F1 by steps and states, spectral and EM: the slides.")
@click.option("--train", metavar="SOURCE", default="nltk:treebank:train", help="Trees to learn from.")
@click.option("--evaluate", metavar="SOURCE", default="nltk:treebank:dev", help="Trees to parse.")
@click.option(
    "--n-states",
    metavar="M",
    multiple=True,
    default=(16,),
    type=click.IntRange(min=1),
    help="A number of states; repeat it. In full 1, 8, 16, 24 and 32.",
)
@click.option(
    "--step", "steps", multiple=True, default=_STEPS, type=click.Choice(_STEPS), help="Only this row; repeat it."
)
def cohen2013(train: str, evaluate: str, n_states: tuple[int, ...], steps: tuple[str, ...]) -> None:
    """Slides of Cohen et al. (2013): F1 by steps and by numbers of states, spectral and EM, with training times.

    Ten parsers are trained for one number of states, eight for each further one: three to five minutes of CPU time.
    """
    from benchmarks.papers.cohen2013 import print_steps

    print_steps(train, evaluate, steps, n_states)


@main.command(short_help="Dependency trees reranked by observable operators.")
@click.option("--train", metavar="SOURCE", default="nltk:dependency_treebank:train", help="Trees to learn from.")
@click.option("--evaluate", metavar="SOURCE", default="nltk:dependency_treebank:dev", help="Trees to score.")
@click.option("--tags", default="xpos", type=click.Choice(["upos", "xpos"]), help="The column that is observed.")
@click.option(
    "--n-states",
    metavar="K",
    multiple=True,
    default=(10,),
    type=click.IntRange(min=1),
    help="Dimensions of embeddings, and states of the library's models; repeat it. In full 10 and 16.",
)
@click.option("--n-best", default=20, type=click.IntRange(min=1), help="Trees of each sentence; in full 50.")
@click.option(
    "--table",
    "tables",
    multiple=True,
    default=("1", "scores"),
    type=click.Choice(["1", "scores"]),
    help="Only this table; repeat it. Table 1 reranks, the other one has p̂ of gold trees by estimator.",
)
def dhillon2012(
    train: str,
    evaluate: str,
    tags: Literal["upos", "xpos"],
    n_states: tuple[int, ...],
    n_best: int,
    tables: tuple[str, ...],
) -> None:
    """Table 1 of Dhillon et al. (2012), and scores of trees, by observable operators, as printed and corrected.

    The reranker learns from the lists of the training trees, which parsers make that learnt from other trees.
    """
    from benchmarks.papers.dhillon2012 import print_scores, read_treebank
    from benchmarks.papers.reranked import print_reranking

    treebank, gold = read_treebank(train, evaluate, tags)
    if "1" in tables:
        print_reranking(treebank, gold, n_states, n_best)
    if "scores" in tables:
        print_scores(treebank, gold, n_states, n_best)


@main.command(short_help="Parts of speech from words alone: anchors and rivals.")
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@click.option(
    "--table",
    "tables",
    multiple=True,
    default=("1", "2", "5"),
    type=click.Choice(["1", "2", "5", "7"]),
    help="Only this table; repeat it. Table 2 has the likelihoods of Table 6, Table 7 the corpus's own tags.",
)
@click.option("--n-states", default=12, type=click.IntRange(min=1), help="The most parts of speech.")
@click.option("--seeds", default=1, type=click.IntRange(min=1), help="Runs of random methods; in full 10.")
@click.option(
    "--iterations", default=30, type=click.IntRange(min=1), help="Of Baum-Welch and log-linear models; in full 1000."
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    default=_METHODS,
    type=click.Choice(_METHODS),
    help="Only this row of Tables 2 and 7; repeat it.",
)
@click.option(
    "--smoothing",
    metavar="κ",
    default=0.0,
    type=click.FloatRange(min=0.0),
    help="Tokens added to counts by the paper's anchor models; the authors' program adds 10.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    help="Of EM for the transitions of the paper's anchor models; the authors' program makes 1.  [default: as many as "
    "convergence takes]",
)
def stratos2016(
    sources: tuple[str, ...],
    tables: tuple[str, ...],
    n_states: int,
    seeds: int,
    iterations: int,
    methods: tuple[str, ...],
    smoothing: float,
    steps: int | None,
) -> None:
    """Tables 1, 2, 5, 6 and 7 of Stratos et al. (2016): parts of speech from words alone.

    SOURCE is a corpus with tags; without one, NLTK's treebank sample.
    """
    from benchmarks.papers.stratos2016 import (
        HULLS,
        METHODS,
        Setting,
        TaggedCorpus,
        print_assumptions,
        print_methods,
    )

    corpora = [TaggedCorpus.read(source) for source in sources or ("nltk:treebank",)]
    setting = Setting(n_states, iterations, smoothing=smoothing, steps=steps)
    chosen = {name: METHODS[name] for name in methods}
    if "1" in tables:
        click.echo("Table 1: anchor models without spelling, by the construction of the hull.")
        print_methods(corpora, HULLS, setting, seeds)
    if "2" in tables:
        click.echo("Tables 2 and 6: accuracy and likelihood, by method.")
        print_methods(corpora, chosen, setting, seeds)
    if "5" in tables:
        click.echo("Table 5: tags with anchors, and words with a single tag.")
        print_assumptions(corpora)
    if "7" in tables:
        click.echo("Table 7: accuracy by the corpus's own tags, with as many states.")
        fine = [TaggedCorpus.read(source, fine=True) for source in sources or ("nltk:treebank",)]
        print_methods(fine, chosen, setting, seeds, fine=True)
