"""`spectral-latent parse`."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.options import (
    CANDIDATES,
    AnswerRequest,
    answer_options,
    files_argument,
    format_options,
    models_option,
    non_projective_option,
    number_option,
)
from spectral_latent.cli.outputs import OutputFile, results
from spectral_latent.cli.page import DrawnSentence, page_of_sentences
from spectral_latent.cli.pictures import write_picture

if TYPE_CHECKING:
    from spectral_latent.corpora import Format
    from spectral_latent.tasks.inputs import InputSentence

__all__ = ["parse"]


@click.command(cls=Command)
@click.argument("model")
@files_argument
@number_option("--n-best", "K", "List up to K trees of each sentence, with scores.")
@format_options
@click.option("--partial", "is_partial", is_flag=True, help="The trees of FILE are partly known: complete them.")
@non_projective_option
@click.option("--confidence", is_flag=True, help="Write HeadProb in the column MISC.")
@click.option("--rerank", metavar="RERANKER", help="Choose among the best trees by a reranker.")
@number_option("--candidates", "K", f"The largest number of trees to choose among.  [default: {CANDIDATES}]")
@models_option
@number_option("--max-words", "N", "The largest number of words of a sentence.  [default: as in MODEL]")
@click.option(
    "--seconds",
    metavar="S",
    type=click.FloatRange(min=0.0, min_open=True),
    help="The limit of CPU seconds for a sentence.  [default: as in MODEL]",
)
@number_option("--memory", "MB", "The limit of megabytes for a sentence.  [default: as in MODEL]", most=1 << 24)
@click.option(
    "--html",
    "page",
    metavar="PAGE",
    type=OutputFile(ending=".html", needs=("jinja2", "pages")),
    help="Draw the trees on a page that ends in .html.",
)
@click.option(
    "--svg",
    "picture",
    metavar="PICTURE",
    type=OutputFile(ending=".svg"),
    help="Draw the trees in a file that ends in .svg.",
)
@answer_options
def parse(
    wanted: AnswerRequest,
    model: str,
    files: tuple[str, ...],
    n_best: int | None,
    form: Format | None,
    is_partial: bool,
    non_projective: bool,
    confidence: bool,
    rerank: str | None,
    candidates: int | None,
    models: tuple[str, ...],
    max_words: int | None,
    seconds: float | None,
    memory: int | None,
    page: Path | None,
    picture: Path | None,
) -> None:
    """Parse the sentences of FILE or of standard input.

    FILE has a tokenised sentence on each line, or another format of docs/command_line.md; raw text needs --text.
    A constituency parser prints a tree in brackets for each sentence, a dependency parser CoNLL-U.  Tags that FILE has
    are obeyed.

    \b
    Examples:
      echo "The cat sat on the mat." | spectral-latent parse en --text
      spectral-latent parse wsj.model sentences.txt --n-best 5 -o trees.txt
      echo "She saw (NP the man with a telescope) ." | spectral-latent parse wsj.model --partial"""
    _check(wanted, **click.get_current_context().params)
    from spectral_latent.tasks.answers import Search
    from spectral_latent.tasks.answers import parse as parse_sentences
    from spectral_latent.tasks.evaluation import warn_of_unknown_tags
    from spectral_latent.tasks.inputs import FORMATS, is_pipe, read_files, read_sentences
    from spectral_latent.tasks.kinds import KINDS, load_parser, with_limits
    from spectral_latent.tasks.writing import drawings_of

    console = Console(wanted.quiet)
    parser: Any = with_limits(load_parser(model), max_words=max_words, seconds=seconds, megabytes=memory)
    kind = KINDS[parser.kind]
    is_dependency = kind.trees == "conllu"
    if non_projective and not is_dependency:
        raise click.UsageError(f"--non-projective is for dependency parsers, and {model} is not one")
    if confidence and not is_dependency:
        raise click.UsageError(
            f"--confidence is for dependency parsers, and {model} is not one; --json has the probability of a tree"
        )
    assert kind.partial and kind.write and kind.trees and kind.known  # of all parsers
    if is_partial:
        for file in files:
            console.awaits(file, FORMATS[kind.trees].awaited)
        given = read_files(files, partial(kind.partial, model=parser, projective=not non_projective, form=form))
    else:
        for file in files:
            console.awaits(file, FORMATS[form or "tokens"].awaited)
        read = partial(read_sentences, form=form, tokenisation=parser.tokenisation, watch=console)
        given = read_files(files, read)
    unknown_tags: Counter[str] = Counter()
    with_tags = kind.known

    def with_known_tags(sentence: InputSentence) -> InputSentence:
        """Take the tags of a sentence, and count those that the parser does not know."""
        found = with_tags(sentence, parser)
        unknown_tags.update(found.unknown)
        return found

    given = given.map(with_known_tags)
    # The writer of a pipe may wait for the answer to a line before it writes the next line.
    one_by_one = wanted.jobs == 1 and not is_partial and any(map(is_pipe, files))
    scored = n_best is not None or wanted.form != "text" or page is not None or picture is not None
    search = Search(n_best or 1, not non_projective, scored, confidence, candidates or CANDIDATES, rerank, models)
    ask = partial(parse_sentences, parser, search=search, jobs=wanted.jobs, one_by_one=one_by_one)
    if page or picture:
        drawn = (
            DrawnSentence(f"{sentence.sent_id}: {' '.join(sentence.forms)}", drawings)
            for sentence, drawings, _ in ask((each for each in given.sentences if each.forms), write=drawings_of)
        )
        if picture is not None:
            write_picture(drawn, picture)
        elif page is not None:
            title = f"Trees of {', '.join('standard input' if file == '-' else Path(file).name for file in files)}"
            with results(page) as write_page:
                write_page(page_of_sentences(title, drawn))
        console.message(f"{page or picture}: written")
        warn_of_unknown_tags(parser, unknown_tags, console)
        return
    column = parser.options.tags if is_dependency else None
    write = partial(kind.write, form=wanted.form, given=given.form, column=column, is_list=n_best is not None)
    # Comments after the last sentence stay in CoNLL-U.
    sentences = given.parts if is_dependency and wanted.form == "text" else given.sentences
    try:
        with wanted.answers(given, console) as answers:
            for sentence, text, is_fallback in console.beside_output.bar(ask(sentences, write=write), "Parsing"):
                answers.add(sentence, text, is_fallback)
    finally:
        warn_of_unknown_tags(parser, unknown_tags, console)


def _check(wanted: AnswerRequest, **given: Any) -> None:
    """Raise UsageError for options that do not go together."""
    several, rerank = (given["n_best"] or 1) > 1, given["rerank"]
    if not rerank and (given["candidates"] or given["models"]):
        raise click.UsageError(f"{'--candidates' if given['candidates'] else '--model'} goes with --rerank")
    if given["non_projective"] and (rerank or several):
        raise click.UsageError(f"--non-projective finds one tree; leave out {'--n-best' if several else '--rerank'}")
    if given["is_partial"] and (rerank or given["form"] == "text"):
        raise click.UsageError(f"--partial goes without {'--rerank' if rerank else '--text'}")
    if given["page"] and given["picture"]:
        raise click.UsageError("--html and --svg both draw the trees; leave out one of them")
    if given["confidence"] and (wanted.as_json or given["page"] or given["picture"]):
        raise click.UsageError("--confidence goes with CoNLL-U; leave out --json, --html and --svg")
    if (given["page"] or given["picture"]) and (wanted.as_json or wanted.output):
        raise click.UsageError(f"{'--html' if given['page'] else '--svg'} draws trees; leave out --json and --output")
