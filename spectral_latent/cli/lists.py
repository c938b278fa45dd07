"""Read n-best lists and latent models for commands, and score lists against gold trees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.inputs import read_text
from spectral_latent.cli.models import load_parser
from spectral_latent.cli.sources import dependency_entries, gold_trees

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.corpora.nbest import NBestFormat
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.evaluation.candidates import CandidateScores
    from spectral_latent.reranking import LatentModels, NBest

__all__ = [
    "CANDIDATES",
    "LISTS",
    "Lists",
    "load_models",
    "models_option",
    "read_lists",
    "score_lists",
    "users_errors",
]

LISTS = """\b
LISTS is a file, or - for standard input, in one of these formats, which its first lines tell:
  blocks of BLLIP: a line `N NAME`, then N times a line of scores and a line with a tree,
  a line `score TAB tree` for each tree, and an empty line between sentences,
  CoNLL-U or CoNLL-X with comments # sent_id, the same for all trees of a sentence, and # score; with # rank = 2, the
    rank may end the sent_id, as in 7-2,
  JSON lines, as in {"sent_id": "1", "candidates": [{"tree": "(S ...)", "score": -1.5}]},
    or {"sent_id": "1", "words": ["Stop", "!"], "candidates": [{"heads": [0, 1], "score": -1.5}]}."""
CANDIDATES = 50  # the value of `reranking.N_CANDIDATES`, which is not imported, so that help is quick
_NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)

models_option = click.option(
    "--model",
    "models",
    metavar="[NAME=]FILE",
    multiple=True,
    help="A parser of this library whose opinion of each tree is a feature; repeat it for several, each with a "
    "name of its own. Without a name it is latent.",
)


@contextmanager
def users_errors() -> Iterator[None]:
    """Turn a ValueError about the user's data into a message; other errors pass unchanged."""
    try:
        yield
    except ValueError as error:
        raise click.ClickException(str(error)) from error


class Lists(NamedTuple):
    """N-best lists, and the format of their file."""

    lists: list[NBest]
    form: NBestFormat

    @property
    def has_heads(self) -> bool:
        """Tell whether the candidates are dependency trees."""
        return any(nbest.has_heads for nbest in self.lists)


def read_lists(file: str, console: Console) -> Lists:
    """Read the lists of a file, or of standard input for `-`.

    file: the name of a file, or `-` for standard input.
    console: prints that lists are awaited on a terminal.

    Raises CorpusError for a file in none of the formats, and ClickException for an empty one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.trees")
    ...     _ = file.write_text("-1.5\\t(NN run)\\n-2.0\\t(VB run)\\n")
    ...     found = read_lists(str(file), Console(quiet=True))
    >>> [len(each) for each in found.lists], found.form, found.has_heads
    ([2], 'trees', False)
    """
    from spectral_latent.corpora.nbest import nbest_format, parse_nbest

    text, source = read_text(file, console)
    if not text.strip():
        raise click.ClickException(f"{source}: no n-best lists")
    form = nbest_format(text, source)
    return Lists(list(parse_nbest(text, source, form)), form)


def score_lists(given: Lists, gold: Sequence[str]) -> CandidateScores:
    """Score the candidates against the trees of gold sources.  Raises ClickException if they do not fit together.

    given: the n-best lists to score.
    gold: the sources of the right trees, as the command line names them.
    """
    from spectral_latent.evaluation.candidates import score_dependency_lists, score_phrase_lists

    with users_errors():
        if given.has_heads:
            return score_dependency_lists(given.lists, [entry.tree().sentence for entry in dependency_entries(gold)])
        return score_phrase_lists(given.lists, list(gold_trees(gold)))


def load_models(given: Iterable[str]) -> LatentModels:
    """Load the parsers of `--model`, by name.

    given: the values of `--model` on the command line: `FILE` or `NAME=FILE`.

    Raises UsageError if a name is given twice, and ModelFileError for a file that is not a parser.
    """
    from spectral_latent.reranking import LATENT

    models: dict[str, ConstituencyModel | DependencyModel] = {}
    for each in given:
        named = None if Path(each).exists() else _NAMED.fullmatch(each)
        name, file = (named[1], named[2]) if named else (LATENT, each)
        if name in models:
            raise click.UsageError(f"--model {each}: there is a model named {name} already; give NAME=FILE")
        models[name] = load_parser(file)
    return models
