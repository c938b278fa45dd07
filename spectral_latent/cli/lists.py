"""N-best lists that commands read, the gold trees of their sentences, and the latent models that look at them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from spectral_latent.cli.inputs import read_text
from spectral_latent.cli.models import load_parser
from spectral_latent.cli.sources import dependency_entries, gold_trees

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.corpora.nbest import NBestFormat
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.evaluation.candidates import CandidateScores
    from spectral_latent.reranking import NBest
    from spectral_latent.reranking.reranker import LatentModels

__all__ = [
    "CANDIDATES",
    "LISTS",
    "Lists",
    "load_models",
    "models_option",
    "read_lists",
    "scored",
    "sentences_option",
    "users_errors",
]

LISTS = """\b
LISTS is a file, or - for standard input, in one of these formats, which its first lines tell:
  blocks of BLLIP: a line `N NAME`, then N times a line of scores and a line with a tree,
  a line `score TAB tree` for each tree, and an empty line between sentences,
  CoNLL-U or CoNLL-X with comments # sent_id, the same for all trees of a sentence, and # score,
  lists of heads: a line `# sent_id = N`, then a line `rank TAB score TAB heads` for each tree,
  JSON lines, as in {"sent_id": "1", "candidates": [{"tree": "(S ...)", "score": -1.5}]}, or with "heads"."""
CANDIDATES = 50  # of a parser of this library, if nothing is said
_HAS_HEADS = ("heads", "conllu")
_NAMED = re.compile(r"([\w.-]+)=(.+)", re.DOTALL)

_Command = TypeVar("_Command", bound=Callable[..., Any])


def models_option(command: _Command) -> _Command:
    """The option `--model`."""
    return click.option(
        "--model",
        "models",
        metavar="[NAME=]FILE",
        multiple=True,
        help="A parser of this library whose opinion of each tree is a feature; repeat it for several, each with a "
        "name of its own. Without a name it is latent.",
    )(command)


def sentences_option(command: _Command) -> _Command:
    """The option `--sentences`."""
    return click.option(
        "--sentences",
        metavar="SOURCE",
        multiple=True,
        help="The sentences of lists of heads, with their tags: CoNLL-U or nltk:NAME; GOLD, if there is one and "
        "nothing is said.",
    )(command)


@contextmanager
def users_errors() -> Iterator[None]:
    """Make a message of a ValueError about what the user gave; other errors are left as they are."""
    try:
        yield
    except ValueError as error:
        raise click.ClickException(str(error)) from error


class Lists(NamedTuple):
    """N-best lists, the format that they came in, and whether they are of dependency trees."""

    lists: list[NBest]
    form: NBestFormat
    has_heads: bool


def read_lists(file: str, sentences: Iterable[str]) -> Lists:
    """The lists of a file, or of standard input for `-`; `sentences` are sources of those of heads.

    Raises CorpusError for what is no n-best list, and ClickException if there is none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "one.trees")
    ...     _ = file.write_text("-1.5\\t(NN run)\\n-2.0\\t(VB run)\\n")
    ...     found = read_lists(str(file), [])
    >>> [len(each) for each in found.lists], found.form, found.has_heads
    ([2], 'trees', False)
    """
    from spectral_latent.corpora.nbest import nbest_format, parse_nbest

    text, source = read_text(file)
    if not text.strip():
        raise click.ClickException(f"{source}: no n-best lists")
    form = nbest_format(text, source)
    has_heads = form in _HAS_HEADS or (form == "json" and '"heads"' in text)
    words = None
    if has_heads and form != "conllu" and (sources := tuple(sentences)):
        words = [entry.sentence for entry in dependency_entries(sources)]
    return Lists(list(parse_nbest(text, source, words, form)), form, has_heads)


def scored(found: Lists, gold: Sequence[str]) -> CandidateScores:
    """The candidates against the trees of gold sources.  Raises ClickException if they do not fit together."""
    from spectral_latent.evaluation.candidates import score_dependency_lists, score_phrase_lists

    with users_errors():
        if found.has_heads:
            return score_dependency_lists(found.lists, [entry.tree().sentence for entry in dependency_entries(gold)])
        return score_phrase_lists(found.lists, list(gold_trees(gold)))


def load_models(given: Iterable[str]) -> LatentModels:
    """The parsers of `--model`, by name.  Raises UsageError if a name is given twice, ModelFileError for no parser."""
    from spectral_latent.reranking.reranker import LATENT

    models: dict[str, ConstituencyModel | DependencyModel] = {}
    for each in given:
        named = None if Path(each).exists() else _NAMED.fullmatch(each)
        name, file = (named[1], named[2]) if named else (LATENT, each)
        if name in models:
            raise click.UsageError(f"--model {each}: there is a model named {name} already; give NAME=FILE")
        models[name] = load_parser(file)
    return models
