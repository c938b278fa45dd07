"""`spectral-latent parse`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import click

from spectral_latent.cli.answers import Answer, answers, asks_for_json, write_answers
from spectral_latent.cli.inputs import load_for
from spectral_latent.cli.options import (
    AsJson,
    Command,
    Count,
    Files,
    FromText,
    InputFormat,
    Jobs,
    Limit,
    Output,
    Value,
    function_for,
)
from spectral_latent.cli.outputs import OutputFile, message, results, users_errors
from spectral_latent.cli.sentences import InputSentence, read_partial_phrases, read_partial_sentences, read_sentences
from spectral_latent.kinds import usual_kind

if TYPE_CHECKING:
    from spectral_latent.model import Parses

_LIMITS = {"words": "max_words", "seconds": "seconds", "megabytes": "megabytes"}  # the fields of `Limits`
_PARTIAL: dict[str, Any] = {"constituency": read_partial_phrases, "dependency": read_partial_sentences}
# A page loads nothing, and runs no script.
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>:root{{color-scheme:light dark}}body{{margin:auto;max-width:75rem;padding:1rem;font:1rem/1.5 sans-serif}}</style>
</head><body><main><h1>{title}</h1>
{sentences}</main></body></html>
"""


class Asked(NamedTuple):
    """What is asked of a parser.

    n_best: the largest number of trees of a sentence; None for one, without its score.
    form: the form of answers; drawings are pairs of a caption and SVG.
    is_table: whether sentences come from CoNLL-U, whose lines are filled.
    reranker: the file of a reranker, if there is one."""

    n_best: int | None = None
    form: Literal["text", "json", "drawings"] = "text"
    is_table: bool = False
    reranker: str | None = None

    def answers(
        self,
        parser: Any,
        sentences: Sequence[InputSentence],
        items: Sequence[tuple[Any, Sequence[str]]],
        write: Callable[[InputSentence, Parses[Any]], str],
        **search: Any,
    ) -> list[Answer]:
        """Parse sentences, and write their trees.

        items: each sentence as the parser takes it, and its tags that the parser does not know.
        write: the writer of text; an empty line has no trees."""
        from spectral_latent.model import Parses

        given = [item for sentence, (item, _) in zip(sentences, items, strict=True) if sentence.sentence.forms]
        n_best = self.n_best or 1
        if self.reranker is not None:
            found = iter(_reranker(self.reranker, parser).parse_all(parser, given, n_best=n_best))
        else:
            is_scored = self.n_best is not None or self.form != "text"
            found = parser.parse_all(given, n_best, scored=is_scored, **search)
        written = []
        for sentence, (_, unknown) in zip(sentences, items, strict=True):
            parses = next(found) if sentence.sentence.forms else Parses()
            text: Any
            if self.form == "drawings":
                text = parses.drawings
            else:
                text = (write if self.form == "text" else _as_json)(sentence, parses)
            written.append(Answer(text, any(each.is_fallback for each in parses), unknown))
        return written


@lru_cache(maxsize=1)
def _reranker(file: str, parser: Any) -> Any:
    """Load a reranker of the trees of a parser, once in each process."""
    from spectral_latent.reranking import Reranker

    return Reranker.load(file, parser=parser)


def _as_json(sentence: InputSentence, parses: Parses[Any]) -> str:
    """Write the trees of a sentence as a line of JSON, which `rerank` reads."""
    from spectral_latent.reranking import parses_to_nbest, write_nbest

    return "".join(write_nbest([parses_to_nbest(parses, sentence.sent_id)]))


def parse_phrases(parser: Any, sentences: Sequence[InputSentence], asked: Asked) -> list[Answer]:
    """Find the trees of phrases of each sentence; the tags that it has are obeyed."""
    from spectral_latent.constituency import PhraseConstraints
    from spectral_latent.model import Partial

    items: list[tuple[Any, Sequence[str]]] = []
    for sentence in sentences:
        given = sentence.constraints or (PhraseConstraints(tags=sentence.tags) if sentence.tags else None)
        known, unknown = (None, ()) if given is None else parser.known(given)
        items.append((sentence.words if known is None else Partial(sentence.sentence.forms, known), unknown))

    def write(_: InputSentence, parses: Parses[Any]) -> str:
        """Write a tree in brackets, or a list of trees with scores."""
        if asked.n_best is None:
            lines = "".join(each.tree.bracketed() for each in parses)
        else:
            lines = "".join(f"{each.log:.6f}\t{each.tree.bracketed()}\n" for each in parses)
        return lines + "\n"

    return asked.answers(parser, sentences, items, write)


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

    items: list[tuple[Any, Sequence[str]]] = []
    for sentence in sentences:
        bare = sentence.sentence.without_tree()
        item = bare if sentence.constraints is None else Partial(bare, sentence.constraints)
        items.append((item, parser.unknown_tags(sentence.sentence) if bare.forms else ()))

    def write(sentence: InputSentence, parses: Parses[Any]) -> str:
        """Write the lines of a table with the heads, or with each tree of a list."""
        posteriors = parser.part_posteriors([each.tree for each in parses]) if confidence else []
        column = None if asked.is_table else parser.options.tags
        return conllu_text(sentence, parses, column, asked.n_best is not None, posteriors)

    return asked.answers(parser, sentences, items, write, **({"projective": False} if non_projective else {}))


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
    html: Annotated[Path | None, Value(type=OutputFile(ending=".html"), metavar="PAGE")] = None,
    json_: AsJson = False,
    output: Output | None = None,
    jobs: Jobs = 1,
    **of_kind: Any,
) -> None:
    """Parse the sentences of FILE or of standard input.

    FILE has one tokenised sentence per line, or another format of docs/command_line.md; raw text needs --text.
    A constituency parser prints a tree in brackets for each sentence, a dependency parser CoNLL-U.  Tags in FILE are
    obeyed.

    \b
    Examples:
      echo "The cat sat on the mat." | spectral-latent parse en --text
      spectral-latent parse wsj.model sentences.txt --n-best 5 -o trees.txt
      echo "She saw (NP the man with a telescope) ." | spectral-latent parse wsj.model --partial

    n_best: list up to N trees of each sentence, with scores.
    partial_: the trees of FILE are partly known: complete them.
    rerank: choose among the 50 best trees with the reranker in this file.
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
            raise click.UsageError(f"{first} conflicts with {next(name for name, value in others.items() if value)}")
    parser = load_for(model)
    if limit:
        parser = _with_limits(parser, limit)
    function = function_for(parser.kind, model, of_kind)
    if partial_:
        given = _PARTIAL[usual_kind(parser.kind)](files, form, parser, **of_kind)
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
    names = ("standard input" if file == "-" else Path(file).name for file in files)
    trees = (
        (f"{sentence.sent_id}: {' '.join(sentence.forms)}", each.text)
        for sentence, each in found
        if sentence.sentence.forms
    )
    with results(html) as write:
        write(_page(f"Trees of {', '.join(names)}", trees))
    message(f"{html}: written")


def _page(title: str, sentences: Iterable[tuple[str, Iterable[tuple[str, str]]]]) -> str:
    """Write a page of HTML with a heading for each sentence, and its drawings under their captions."""
    from spectral_latent.drawing import captioned_html, escaped

    parts = (f"<h2>{escaped(heading)}</h2>{captioned_html(drawings)}\n" for heading, drawings in sentences)
    return _PAGE.format(title=escaped(title), sentences="".join(parts))


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
        return parser.with_limits(replace(parser.options.limits, **given))
    except ValueError as error:
        raise click.UsageError(f"--limit: {error}") from None


COMMAND = Command(parse, {"constituency": parse_phrases, "dependency": parse_arcs})
