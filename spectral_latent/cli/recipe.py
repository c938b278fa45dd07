"""`spectral-latent recipe`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from spectral_latent.cli.evaluate import evaluate
from spectral_latent.cli.groups import Commands
from spectral_latent.cli.options import jobs_option, quiet_option
from spectral_latent.cli.outputs import OutputFile
from spectral_latent.cli.train import train

__all__ = ["RECIPES", "CorpusSources", "Recipe", "recipe"]

_FOLDER = "FOLDER"  # in sources, this word stands for the folder of the corpus


class CorpusSources(NamedTuple):
    """A corpus that the user has or can get.

    name: the name of the corpus in messages.
    get: the way to get it.
    training: the sources to learn from.  A source in a folder begins with `FOLDER`, and may be a pattern of file names.
    held_out: the sources to evaluate on, in the same form.
    part: the name of what is evaluated on.
    """

    name: str
    get: str
    training: tuple[str, ...]
    held_out: tuple[str, ...]
    part: str = "dev"


class Recipe(NamedTuple):
    """Plan of a model: its corpus, the options of training, and the expected score.

    name: the name of the recipe.
    kind: the command of `train`, such as `tagger`.
    corpus: the corpus that the recipe needs.
    figure: the figure of `evaluate` that the recipe is for.
    expected: the value of the figure that was measured on the held-out part; None if nobody has measured it.
    seconds: the CPU seconds that training took; None if nobody has measured them.
    options: the options of the command of `train`.
    evaluation: the options of the command `evaluate`.
    """

    name: str
    kind: str
    corpus: CorpusSources
    figure: str
    expected: float | None = None
    seconds: int | None = None
    options: tuple[str, ...] = ()
    evaluation: tuple[str, ...] = ()

    @property
    def needs_folder(self) -> bool:
        """Whether the corpus is in a folder that the user names."""
        return self.corpus.training[0].startswith(_FOLDER)

    def commands(self, sources: Sequence[str], held_out: Sequence[str], output: str) -> tuple[list[str], list[str]]:
        """Write the two command lines of the recipe, without the name of the program.

        sources: the sources to learn from.
        held_out: the sources to evaluate on.
        output: the file of the model to write.
        """
        return (
            ["train", self.kind, *sources, "-o", output, *self.options],
            ["evaluate", output, *held_out, *self.evaluation],
        )


_TREEBANK = CorpusSources(
    "NLTK's sample of the Penn Treebank",
    "python -m nltk.downloader treebank",
    ("nltk:treebank:train",),
    ("nltk:treebank:dev",),
)
_BROWN = CorpusSources(
    "the Brown corpus of NLTK",
    "python -m nltk.downloader brown universal_tagset",
    ("nltk:brown:train",),
    ("nltk:brown:dev",),
)
_BROWN_TEXT = _BROWN._replace(training=("nltk:brown",), held_out=("nltk:brown",), part="all")  # its tags only evaluate
_UD = CorpusSources(
    "a treebank of Universal Dependencies (the expected figures are for English EWT)",
    "https://universaldependencies.org; FOLDER: one treebank, with *-train.conllu and *-dev.conllu",
    (f"{_FOLDER}/*-train.conllu",),
    (f"{_FOLDER}/*-dev.conllu",),
)
_CRAFT = CorpusSources(
    "the CRAFT corpus of biomedical articles, trees in brackets",
    "https://github.com/UCDenver-ccp/CRAFT; FOLDER: the trees in two folders, train and dev",
    (f"{_FOLDER}/train",),
    (f"{_FOLDER}/dev",),
)
_GUM = _CRAFT._replace(
    name="the GUM corpus, trees in brackets (silver: made by a parser from gold tags)",
    get="https://github.com/amir-zeldes/gum; FOLDER: the trees of its folder const in two folders, train and dev",
)
_PENN = CorpusSources(
    "the Penn Treebank of the LDC, sections 02 to 21 for training and 22 to evaluate on",
    "https://catalog.ldc.upenn.edu/LDC99T42, with a licence; FOLDER: the sections, folders 00 to 24",
    tuple(f"{_FOLDER}/{section:02}" for section in range(2, 22)),
    (f"{_FOLDER}/22",),
    "section 22",
)
_ACCURATE = ("--preset", "accurate")

RECIPES = {
    each.name: each
    for each in (
        Recipe("treebank", "constituency", _TREEBANK, "f1", 84.5, 9),
        Recipe("treebank-accurate", "constituency", _TREEBANK, "f1", 87.4, 100, _ACCURATE),
        Recipe("treebank-tagger", "tagger", _TREEBANK, "accuracy", 96.7, 8),
        Recipe("brown-tagger", "tagger", _BROWN, "accuracy", 98.1, 42, ("--column", "universal")),
        Recipe(
            "brown-anchors",
            "anchor",
            _BROWN_TEXT,
            "many_to_one",
            76.6,
            8,
            evaluation=("--unsupervised", "--column", "universal"),
        ),
        Recipe("ud-parser", "dependency", _UD, "las", 82.3, 32),
        Recipe("ud-tagger", "tagger", _UD, "accuracy", 94.6, 11),
        Recipe("craft", "constituency", _CRAFT, "f1", 82.3, 48),
        Recipe("gum", "constituency", _GUM, "f1"),
        Recipe("penn", "constituency", _PENN, "f1"),
        Recipe("penn-accurate", "constituency", _PENN, "f1", options=_ACCURATE),
    )
}


@click.group(cls=Commands)
def recipe() -> None:
    """Train models by name from corpora that are public or licensed.

    A recipe knows its corpus, how to get it, its parts for training and evaluation, and the options.

    \b
    Examples:
      spectral-latent recipe list
      spectral-latent recipe run treebank -o english.model
      spectral-latent recipe run ud-parser UD_English-EWT -o deps.model
    """


@recipe.command("list")
def list_recipes() -> None:
    """List all recipes.

    A line has the name, the kind of model, the expected score, the part of the corpus that it is measured on, and the
    corpus. Most recipes evaluate on dev, and leave the test part for a final measurement.

    \b
    Example:
      spectral-latent recipe list
    """
    for each in RECIPES.values():
        expected = "not measured" if each.expected is None else f"{each.figure} {each.expected:.1f}, {each.corpus.part}"
        click.echo(f"{each.name:<20}{each.kind:<14}{expected:<23}{each.corpus.name}")


_name_argument = click.argument("name", metavar="NAME", type=click.Choice(list(RECIPES)))


@recipe.command()
@_name_argument
def show(name: str) -> None:
    """Print the needs and the commands of a recipe.

    It needs a corpus, and tells how to get it. The commands do what `recipe run` does.

    \b
    Example:
      spectral-latent recipe show treebank
    """
    shown = RECIPES[name]
    lines = shown.commands(shown.corpus.training, shown.corpus.held_out, f"{name}.model")
    click.echo(f"needs:     {shown.corpus.name}")
    click.echo(f"get it:    {shown.corpus.get}")
    click.echo(f"expected:  {_expectation(shown)}")
    for line in lines:
        click.echo(f"command:   spectral-latent {' '.join(line)}")


@recipe.command()
@_name_argument
@click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "-o", "--output", metavar="MODEL", type=OutputFile(), help="The model file to write.  [default: NAME.model]"
)
@jobs_option
@quiet_option
def run(name: str, folder: Path | None, output: Path | None, jobs: int, quiet: bool) -> None:
    """Train and evaluate the model of a recipe.

    The last lines compare the score and the CPU seconds with the expected ones.

    FOLDER is the folder that holds the corpus; a recipe with a corpus of NLTK's needs none.

    \b
    Example:
      spectral-latent recipe run treebank -o english.model
    """
    chosen = RECIPES[name]
    corpus = chosen.corpus
    if chosen.needs_folder and folder is None:
        raise click.UsageError(f"{name} needs a FOLDER with {corpus.name}; get it from {corpus.get}")
    if folder is not None and not chosen.needs_folder:
        raise click.UsageError(f"{name} takes no FOLDER; it learns from {corpus.name}, which `{corpus.get}` installs")
    output = output or OutputFile().convert(f"{name}.model", None, None)
    training = _sources(corpus, corpus.training, folder)
    held_out = _sources(corpus, corpus.held_out, folder)
    (_, kind, *training_arguments), (_, *arguments) = chosen.commands(training, held_out, str(output))
    of_both = ["--quiet"] if quiet else []
    of_parsers = ["--jobs", str(jobs)] if kind in ("constituency", "dependency") else []

    start = time.process_time()
    train.commands[kind].main([*training_arguments, *of_both, *of_parsers], f"train {kind}", standalone_mode=False)
    seconds = time.process_time() - start
    figures = evaluate.main([*arguments, *of_both, *of_parsers], "evaluate", standalone_mode=False)
    click.echo(f"{'':<14}{'expected':>12}{'found':>10}")
    click.echo(f"{chosen.figure:<14}{_number(chosen.expected, 1):>12}{_number(figures[chosen.figure], 1):>10}")
    click.echo(f"{'CPU seconds':<14}{_number(chosen.seconds, 0):>12}{_number(seconds, 0):>10}")


def _sources(corpus: CorpusSources, sources: Sequence[str], folder: Path | None) -> list[str]:
    """Put the folder of the corpus into sources, and list the files of patterns.

    corpus: the corpus, for messages.
    sources: some sources of the corpus.
    folder: the folder that holds the corpus; None for a corpus of NLTK's.

    Raises ClickException for a source that does not exist.
    """
    if folder is None:
        return list(sources)
    paths: list[str] = []
    for source in sources:
        pattern = source.removeprefix(f"{_FOLDER}/")
        files = sorted(folder.glob(pattern))
        if not files:
            raise click.ClickException(
                f"{folder}: no {pattern} in this folder; give the folder with {corpus.name}; get it from {corpus.get}"
            )
        paths += map(str, files)
    return paths


def _expectation(shown: Recipe) -> str:
    """Write the expected score and seconds.

    >>> _expectation(RECIPES["penn"])
    'not measured'
    """
    if shown.expected is None:
        return "not measured"
    return f"{shown.figure} {shown.expected:.1f} on {shown.corpus.part}, after {shown.seconds} CPU seconds of training"


def _number(value: float | None, digits: int) -> str:
    """Write a number, or a dash for None.

    >>> _number(1.25, 1), _number(None, 1)
    ('1.2', '-')
    """
    return "-" if value is None else f"{value:.{digits}f}"
