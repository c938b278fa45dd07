"""`spectral-latent parse`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from spectral_latent.cli.answers import Answer, answers, asks_for_json, users_errors, write_answers
from spectral_latent.cli.console import message
from spectral_latent.cli.models import load_for
from spectral_latent.cli.options import (
    AnswersFile,
    AsJson,
    Command,
    Count,
    Files,
    FromText,
    InputFormat,
    Jobs,
    Limit,
    Page,
    function_for,
)
from spectral_latent.cli.outputs import results
from spectral_latent.cli.sentences import InputSentence, read_partial_phrases, read_partial_sentences, read_sentences

if TYPE_CHECKING:
    from spectral_latent.model import Parses

__all__ = ["COMMAND"]

_LIMITS = {"words": "max_words", "seconds": "seconds", "megabytes": "megabytes"}  # the fields of `Limits`
_PARTIAL: dict[str, Any] = {"constituency": read_partial_phrases, "dependency": read_partial_sentences}


class Asked(NamedTuple):
    """What is asked of a parser.

    n_best: the largest number of trees of a sentence; None for one, without its score.
    answer: the form of answers; drawings are pairs of a caption and SVG.
    is_table: whether sentences come from CoNLL-U, whose lines are filled.
    reranker: the file of a reranker, if there is one."""

    n_best: int | None = None
    answer: Literal["text", "json", "drawings"] = "text"
    is_table: bool = False
    reranker: str | None = None

    def parses(self, parser: Any, sentences: Sequence[Any], **options: Any) -> Iterator[Parses[Any]]:
        """Find the parses of sentences, in the form in which the parser takes them."""
        if self.reranker is not None:
            reranker = _reranker(self.reranker, parser)
            return reranker.parse_all(parser, sentences, n_best=self.n_best or 1)  # type: ignore[no-any-return]
        is_scored = self.n_best is not None or self.answer != "text"
        found: Iterator[Parses[Any]] = parser.parse_all(sentences, self.n_best or 1, scored=is_scored, **options)
        return found


@lru_cache(maxsize=1)
def _reranker(file: str, parser: Any) -> Any:
    """Load a reranker of the trees of a parser, once in each process."""
    from spectral_latent.reranking import Reranker

    return Reranker.load(file, parser=parser)


def parse_phrases(parser: Any, sentences: Sequence[InputSentence], asked: Asked) -> list[Answer]:
    """Find the trees of phrases of each sentence; the tags that it has are obeyed."""
    from spectral_latent.constituency import PhraseConstraints
    from spectral_latent.model import Partial

    items: list[Any] = []
    unknown: list[list[str]] = []
    for sentence in sentences:
        tags = sentence.tags if sentence.constraints is None else {}
        given = sentence.constraints or (PhraseConstraints(tags=tags) if tags else None)
        known, strange = (None, []) if given is None else parser.known(given)
        unknown.append(strange)
        if sentence.sentence.forms:
            items.append(sentence.words if known is None else Partial(sentence.sentence.forms, known))
    found = asked.parses(parser, items)
    written = []
    for sentence, strange in zip(sentences, unknown, strict=True):
        parses = next(found) if sentence.sentence.forms else ()  # an empty line has no trees
        if asked.answer != "text":
            text: Any = _as_json(sentence, parses) if asked.answer == "json" else getattr(parses, "drawings", ())
        elif asked.n_best is None:
            text = "".join(each.tree.bracketed() for each in parses) + "\n" * sentence.is_whole
        else:
            lines = [f"{each.log:.6f}\t{each.tree.bracketed()}\n" for each in parses]
            text = "".join(lines) + "\n" * sentence.is_whole
        written.append(Answer(text, any(each.is_fallback for each in parses), strange))
    return written


def parse_arcs(
    parser: Any,
    sentences: Sequence[InputSentence],
    asked: Asked,
    *,
    non_projective: bool = False,
    confidence: bool = False,
) -> list[Answer]:
    """Find the dependency trees of each sentence.

    non_projective: find trees whose arcs may cross.
    confidence: write HeadProb, the posterior of each arc, in the column MISC."""
    from spectral_latent.cli.conllu import conllu_text
    from spectral_latent.model import Partial

    items: list[Any] = []
    for sentence in sentences:
        bare = sentence.sentence.without_tree()
        if bare.forms:
            items.append(bare if sentence.constraints is None else Partial(bare, sentence.constraints))
    found = asked.parses(parser, items, **({"projective": False} if non_projective else {}))
    written = []
    for sentence in sentences:
        parses: Any = next(found) if sentence.sentence.forms else ()
        if asked.answer == "json":
            text: Any = _as_json(sentence, parses)
        elif asked.answer == "drawings":
            text = getattr(parses, "drawings", ())
        else:
            posteriors = parser.part_posteriors([each.tree for each in parses]) if confidence else []
            column = None if asked.is_table else parser.options.tags
            text = conllu_text(sentence, parses, column, asked.n_best is not None, posteriors)
        strange = parser.unknown_tags(sentence.sentence) if sentence.sentence.forms else ()
        written.append(Answer(text, any(each.is_fallback for each in parses), strange))
    return written


def _as_json(sentence: InputSentence, parses: Any) -> str:
    """Write the trees of a sentence as a line of JSON, which `rerank` reads; comments after a table are left out."""
    if not sentence.is_whole:
        return ""
    from spectral_latent.model import Parses
    from spectral_latent.reranking import parses_to_nbest, write_nbest

    return "".join(write_nbest([parses_to_nbest(parses or Parses(), sentence.sent_id)], "json"))


def parse(
    model: str,
    files: Files = ("-",),
    *,
    n_best: Count | None = None,
    format_: InputFormat = None,
    text: FromText = False,
    partial_: bool = False,
    rerank: str | None = None,
    limit: Limit = (),
    html: Page | None = None,
    json_: AsJson = False,
    output: AnswersFile | None = None,
    jobs: Jobs = 1,
    **of_kind: Any,
) -> None:
    """Parse the sentences of FILE or of standard input.

    FILE has a tokenised sentence on each line, or another format of docs/command_line.md; raw text needs --text.
    A constituency parser prints a tree in brackets for each sentence, a dependency parser CoNLL-U.  Tags that FILE has
    are obeyed.

    \b
    Examples:
      echo "The cat sat on the mat." | spectral-latent parse en --text
      spectral-latent parse wsj.model sentences.txt --n-best 5 -o trees.txt
      echo "She saw (NP the man with a telescope) ." | spectral-latent parse wsj.model --partial

    n_best: list up to N trees of each sentence, with scores.
    partial_: the trees of FILE are partly known: complete them.
    rerank: choose among the 50 best trees by the reranker of this file.
    html: draw the trees on a page that ends in .html."""
    form = "text" if text else format_
    as_json = asks_for_json(json_, output)
    for first, others in (
        ("--partial" if partial_ else "", {"--text": form == "text", "--rerank": rerank}),
        ("--html" if html else "", {"--json": json_, "--output": output, "--confidence": of_kind.get("confidence")}),
        ("--json" if as_json else "", {"--confidence": of_kind.get("confidence")}),
        (
            "--non-projective" if "non_projective" in of_kind else "",
            {"--rerank": rerank, "--n-best": (n_best or 1) > 1},
        ),
    ):
        if first and any(others.values()):
            raise click.UsageError(f"{first} goes without {next(name for name, value in others.items() if value)}")
    parser = _with_limits(load_for(model), limit)
    function = function_for(parser.kind, model, of_kind)
    if partial_:
        given = _PARTIAL[parser.kind](files, form, parser, **of_kind)
    else:
        given = read_sentences(files, form, parser.tokenisation)
    if rerank is not None:
        with users_errors():
            _reranker(rerank, parser)  # refused before reading
    answer: Any = "drawings" if html else "json" if as_json else "text"
    ask = partial(function, asked=Asked(n_best, answer, given.form == "conllu", rerank), **of_kind)
    found = answers(ask, parser, given, jobs, "Parsing")
    if html is None:
        write_answers(given, found, output)
        return
    from spectral_latent.cli.page import DrawnSentence, page_of_sentences

    drawn = (
        DrawnSentence(f"{sentence.sent_id}: {' '.join(sentence.forms)}", each.text)
        for sentence, each in found
        if sentence.sentence.forms
    )
    names = ("standard input" if file == "-" else Path(file).name for file in files)
    with results(html) as write:
        write(page_of_sentences(f"Trees of {', '.join(names)}", drawn))
    message(f"{html}: written")


def _with_limits(parser: Any, limits: Sequence[str]) -> Any:
    """Replace the limits of a sentence by those that are given as NAME=N.  Raises UsageError for others."""
    given: dict[str, Any] = {}
    for each in limits:
        name, _, number = each.partition("=")
        try:
            given[_LIMITS[name]] = float(number) if name == "seconds" else int(number)
        except (KeyError, ValueError):
            raise click.UsageError(f"--limit {each}: give words=N, seconds=N or megabytes=N, with a number") from None
    try:
        return parser.with_limits(replace(parser.options.limits, **given)) if given else parser
    except ValueError as error:
        raise click.UsageError(f"--limit: {error}") from None


COMMAND = Command(parse, {"constituency": parse_phrases, "dependency": parse_arcs})
