"""`spectral-latent parse`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import tee
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from spectral_latent.cli.inputs import sentences
from spectral_latent.cli.lists import CANDIDATES, load_models, models_option, users_errors
from spectral_latent.cli.models import load
from spectral_latent.cli.notes import Notes, quiet_option
from spectral_latent.cli.tables import FORMATS, Format, tables

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel, Parse
    from spectral_latent.dependency import DependencyModel

__all__ = ["jobs_option", "non_projective_option", "parse"]

_T = TypeVar("_T")

non_projective_option = click.option(
    "--non-projective", is_flag=True, help="Find dependency trees whose arcs may cross."
)
jobs_option = click.option(
    "--jobs",
    metavar="N",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Processes that parse; the trees do not depend on it.",
)


@click.command()
@click.argument("model")
@click.argument("file", default="-")
@click.option(
    "--n-best",
    metavar="K",
    default=1,
    show_default=True,
    type=click.IntRange(min=1),
    help="Trees per sentence, at most.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="What FILE is, for a dependency parser; if nothing is said, its name or its first line tells.",
)
@non_projective_option
@click.option("--rerank", metavar="RERANKER", help="Choose among the parser's best trees by a reranker.")
@click.option(
    "--candidates",
    metavar="K",
    type=click.IntRange(min=1),
    help=f"How many trees per sentence it chooses among, at most.  [default: {CANDIDATES}]",
)
@models_option
@jobs_option
@quiet_option
def parse(
    model: str,
    file: str,
    n_best: int,
    form: Format | None,
    non_projective: bool,
    rerank: str | None,
    candidates: int | None,
    models: tuple[str, ...],
    jobs: int,
    quiet: bool,
) -> None:
    """Parse tokenised sentences, one per line of FILE or of standard input.

    Line by line, the output is one tree in brackets for each sentence, and an empty line for an empty one.  Brackets
    in sentences may be written ( ) or -LRB- -RRB-; in trees they are written -LRB- -RRB-.

    With --n-best above 1, the output is one block for each sentence: a line `score TAB tree` for each tree, the best
    first, and an empty line that ends the block.  The score is log |p|, the natural logarithm of the tree's estimated
    probability; the best tree is the one with the most constituents that are expected to be right, so the scores
    need not fall.

    A sentence that the grammar cannot derive gets a flat tree labelled FALLBACK, with score -inf; the numbers of
    such lines are told on standard error.

    Of a dependency parser, the output is CoNLL-U.  Sentences may have tags, as in the/DT dog/NN, or be in CoNLL-U,
    CoNLL-X or Malt-TAB.  Of the first two, HEAD, DEPREL and missing tags are filled, and all else stays as it is; heads
    that are there are not looked at.  Otherwise, sent_id is the number of the sentence's line, and empty lines have no
    output.  Words without tags get the likeliest ones.  With --n-best above 1, each sentence has as many trees one
    after the other, with a comment `# score` each: log |p| of the tree with words and tags.  A fallback has a comment
    `# FALLBACK`.

    With --rerank, trees are in the order of a reranker, made by `spectral-latent rerank train`.  The latent model that
    it knows by the name latent is MODEL, unless --model names another; give all others that it learnt with.

    With --jobs, sentences are read some hundreds ahead of what is written.  The start of processes takes seconds.
    """
    notes = Notes(quiet)
    if rerank is None and (candidates or models):
        raise click.UsageError(f"{'--candidates' if candidates else '--model'} goes with --rerank")
    if rerank is not None and non_projective:
        raise click.UsageError("--non-projective finds one tree; leave out --rerank")
    search = _Search(n_best, candidates or CANDIDATES, rerank, models, jobs)
    loaded = load(model)
    if loaded.is_dependency_parser:
        _dependencies(loaded.dependency_parser(), file, search, form, non_projective, notes)
    elif form or non_projective:
        given = "--format" if form else "--non-projective"
        raise click.UsageError(f"{given} is for dependency parsers, and {model} is none")
    else:
        _phrases(loaded.phrase_parser(), file, search, notes)


class _Search(NamedTuple):
    """How many trees there are to be, how many are looked at for them, who chooses, and on how many processes."""

    n_best: int
    candidates: int
    reranker: str | None
    models: tuple[str, ...]
    jobs: int

    def of(self, parser: Any, sentences: Iterable[Any]) -> Iterator[Sequence[Any]]:
        """The parses of each sentence."""
        if self.reranker is None:
            found = parser.parse_all(sentences, self.n_best, jobs=self.jobs)
        else:
            from spectral_latent.reranking import all_best_parses, load_reranker

            reranker = load_reranker(self.reranker, parser, load_models(self.models))
            found = all_best_parses(parser, sentences, self.n_best, reranker, self.candidates, jobs=self.jobs)
        with users_errors():
            yield from found


def _phrases(parser: ConstituencyModel, file: str, search: _Search, notes: Notes) -> None:
    lines = sentences(file) if file == "-" else list(sentences(file))
    fallbacks: list[int] = []
    try:
        for number, parses in enumerate(_progress(search.of(parser, lines), lines, notes), start=1):
            fallbacks += [number for parse in parses if parse.is_fallback]
            click.echo(_written(parses, search.n_best))
    finally:
        _tell(fallbacks, "labelled FALLBACK: line", notes)


def _written(parses: Sequence[Parse], n_best: int) -> str:
    """The one tree, or a block of scored trees."""
    if n_best == 1:
        return "".join(parse.tree.bracketed() for parse in parses)
    return "".join(f"{parse.log:.6f}\t{parse.tree.bracketed()}\n" for parse in parses)


def _dependencies(
    parser: DependencyModel, file: str, search: _Search, form: Format | None, non_projective: bool, notes: Notes
) -> None:
    if non_projective and search.n_best > 1:
        raise click.UsageError("--non-projective finds one tree; leave out --n-best")
    given = tables(file, form) if file == "-" else list(tables(file, form))
    found, read = tee(given)
    words = (table.sentence for table in read)
    parses_of = (
        parser.parse_all(words, projective=False, jobs=search.jobs) if non_projective else search.of(parser, words)
    )
    fallbacks: list[int] = []
    try:
        for table, parses in zip(found, _progress(parses_of, given, notes), strict=True):
            fallbacks += [table.number for parse in parses if parse.is_fallback]
            click.echo("".join(table.parsed(parse, with_score=search.n_best > 1) for parse in parses), nl=False)
    finally:
        _tell(fallbacks, "marked FALLBACK: sentence", notes)


def _progress(found: Iterable[_T], given: Iterable[Any], notes: Notes) -> Iterable[_T]:
    """What is found of the given sentences, with a bar where that is not written to a terminal."""
    length = len(given) if isinstance(given, list) else None
    return Notes(notes.quiet or sys.stdout.isatty()).progress(found, "Parsing", length)


def _tell(fallbacks: Sequence[int], where: str, notes: Notes) -> None:
    if fallbacks:
        notes.say(f"No parse, but a flat tree {where} {', '.join(map(str, fallbacks))}")
