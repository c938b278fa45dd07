"""`spectral-latent parse`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import tee
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from spectral_latent.cli.answers import (
    Answers,
    OutputForm,
    answers_options,
    answers_to,
    end_if_complete,
    output_form,
)
from spectral_latent.cli.console import Console
from spectral_latent.cli.inputs import Input, InputSentence, format_options, read_sentences
from spectral_latent.cli.lists import CANDIDATES, load_models, models_option, users_errors
from spectral_latent.cli.models import load_parser, warn_of_unknown_tags, with_limits
from spectral_latent.cli.options import (
    jobs_option,
    json_option,
    non_projective_option,
    quiet_option,
)
from spectral_latent.cli.outputs import OutputFile, results

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel, Parse
    from spectral_latent.corpora import Format
    from spectral_latent.corpora.rows import Column
    from spectral_latent.dependency import DependencyModel, DependencyParse
    from spectral_latent.dependency.sentence import DependencySentence, TagColumn

__all__ = ["parse"]

_OF_MODEL = "  [default: the limit that the model has]"
_UPOS = 3  # the column of UPOS in CoNLL-U, from 0
_XPOS = 4
_NAME = re.compile(r"#\s*sent_id\s*=.*\S")  # the comment that names a sentence
_HEAD = 6  # the column of HEAD; DEPREL follows
_PHRASES: MappingProxyType[str, Column] = MappingProxyType(
    {"sent_id": "string", "rank": "integer", "tree": "string", "score": "number", "fallback": "boolean"}
)
_DEPENDENCIES: MappingProxyType[str, Column] = MappingProxyType(
    {
        "sent_id": "string",
        "rank": "integer",
        "words": "strings",
        "tags": "strings",
        "heads": "integers",
        "relations": "strings",
        "score": "number",
        "fallback": "boolean",
    }
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
    help="The largest number of trees for a sentence.",
)
@format_options
@non_projective_option
@click.option("--rerank", metavar="RERANKER", help="Choose among the parser's best trees by a reranker.")
@click.option(
    "--candidates",
    metavar="K",
    type=click.IntRange(min=1),
    help=f"The largest number of trees for a sentence that the reranker chooses among.  [default: {CANDIDATES}]",
)
@models_option
@click.option("--max-words", metavar="N", type=click.IntRange(min=1), help=f"The most words of a sentence.{_OF_MODEL}")
@click.option(
    "--seconds",
    metavar="S",
    type=click.FloatRange(min=0.0, min_open=True),
    help=f"The most CPU seconds for a sentence under one grammar, about.{_OF_MODEL}",
)
@click.option(
    "--memory",
    metavar="MB",
    type=click.IntRange(1, 1 << 24),
    help=f"The most megabytes for a sentence under one grammar, about.{_OF_MODEL}",
)
@click.option(
    "--html",
    "page",
    metavar="PAGE",
    type=OutputFile(),
    help="Draw the trees on a page for a browser, and print nothing.",
)
@json_option
@answers_options
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
    max_words: int | None,
    seconds: float | None,
    memory: int | None,
    page: Path | None,
    as_json: bool,
    output: Path | None,
    shard: tuple[int, int] | None,
    resume: bool,
    jobs: int,
    quiet: bool,
) -> None:
    """Parse the sentences of FILE or of standard input.

    FILE has one tokenised sentence a line, words with tags as in the/DT dog/NN, CoNLL-U, CoNLL-X, Malt-TAB, or trees in
    brackets, of which only the words and tags are used; or rows: objects in JSON lines, or rows of Parquet.  A row has
    words (or tokens), and tags if they are known; or text, which is raw; and sent_id (or id) if it has a name.

    With --text, FILE is raw text.  An empty line ends a sentence, other line ends are spaces.  Words are divided as in
    the corpus of the model: as in the Penn Treebank if it has the word n't.

    A constituency parser prints one tree in brackets for each sentence, and an empty line for an empty line.  Brackets
    in sentences may be written ( ) or -LRB- -RRB-; in trees they are written -LRB- -RRB-.  With --n-best above 1, it
    prints a block for each sentence: a line `score TAB tree` for each tree, the best tree first, and an empty line.

    A dependency parser prints CoNLL-U.  Of CoNLL-U or CoNLL-X, it fills the columns HEAD and DEPREL, and tags that are
    missing; heads that are there are not used, and all else stays as it is.  For other formats, sent_id is the number
    of the line, or of the sentence in raw text, Malt-TAB and brackets; empty lines have no output.  SpaceAfter=No marks
    words of raw text that no space follows.  Of rows, sent_id is the name or else the number; sentences of raw text
    have their number after it, as in 7.2.  Words without tags get the likeliest ones.  With --n-best above 1, it prints
    the trees of a sentence one after the other, each with the comments `# rank` and `# score`; the rank stands behind
    sent_id too, as in 7-2.

    The score is log |p|, the natural logarithm of the tree's estimated probability.  The first tree is the one with
    the largest expected number of right constituents or arcs, so that scores need not fall from tree to tree.

    With --json, each line is the list of trees of a sentence, as `rerank` reads lists in JSON: sent_id, and candidates
    with a tree in brackets, or heads and relations, and the score.  In Parquet there is a row for each tree.

    A sentence that the grammar cannot derive gets a flat tree, marked FALLBACK, with score -inf; a message gives the
    numbers of these sentences.  So does a sentence of more words than --max-words, or one that takes more time or
    memory than --seconds or --memory allow.

    With --html, the trees are drawn on a page that needs no network: phrases as trees, dependencies as arcs.

    With --rerank, trees are in the order of a reranker, made by `spectral-latent rerank train`.  The latent model that
    it knows by the name latent is MODEL, unless --model names another; give all others that it learned with.

    An output is written to FILE.part, and FILE.progress notes how far it goes.  The same command with --resume goes on
    where a killed one was; the file in the end is the same.  With --shard, the outputs of all parts one after the other
    are the output of the whole.

    With --jobs, sentences are read some hundreds ahead of what is printed.  Processes take seconds to start.

    \b
    Examples:
      echo "The cat sat on the mat." | spectral-latent parse wsj.safetensors --text
      spectral-latent parse wsj.safetensors sentences.txt --n-best 5 -o trees.txt
      spectral-latent parse wsj.safetensors sentences.txt --json
      spectral-latent parse wsj.safetensors long.txt --shard 1/2 --resume -o first.jsonl.gz
      spectral-latent parse deps.safetensors dev.conllu > parsed.conllu
    """
    if rerank is None and (candidates or models):
        raise click.UsageError(f"{'--candidates' if candidates else '--model'} goes with --rerank")
    if non_projective and (rerank is not None or n_best > 1):
        raise click.UsageError(f"--non-projective finds one tree; leave out {'--n-best' if n_best > 1 else '--rerank'}")
    if page is not None and (as_json or output or resume):
        raise click.UsageError("--html draws trees; leave out --json, --output and --resume")
    from spectral_latent.dependency import DependencyModel

    console = Console(quiet)
    end_if_complete(output, resume, console)
    form_of_answers = output_form(output, as_json)
    parser = with_limits(load_parser(model), max_words=max_words, seconds=seconds, megabytes=memory)
    given = read_sentences(file, form, parser.tokenisation, console)
    given = given.part(*shard) if shard else given
    search = _Search(n_best, not non_projective, candidates or CANDIDATES, rerank, models, jobs)
    is_dependency = isinstance(parser, DependencyModel)
    if non_projective and not is_dependency:
        raise click.UsageError(f"--non-projective is for dependency parsers, and {model} is not one")
    if page is not None:
        with results(page, [model, file]) as write:
            write(_page(parser, given, search, f"Trees of {'standard input' if file == '-' else Path(file).name}"))
        console.message(f"{page}: written")
        return
    columns = None if form_of_answers != "parquet" else _DEPENDENCIES if is_dependency else _PHRASES
    with answers_to(output, columns, [model, file], console, resume=resume) as answers:
        try:
            if isinstance(parser, DependencyModel):
                _write_dependencies(parser, given, search, form_of_answers, answers, console)
            else:
                _write_phrases(parser, given, search, form_of_answers, answers, console)
        finally:
            answers.report(given.unit, console)


class _Search(NamedTuple):
    """The way to find the trees of a sentence.

    n_best: the number of trees to find.
    projective: whether arcs must not cross.
    candidates: the number of trees that the reranker chooses among.
    reranker: the file of a reranker, if there is one.
    models: the latent models of the reranker, as given on the command line.
    jobs: the number of processes.
    """

    n_best: int
    projective: bool
    candidates: int
    reranker: str | None
    models: tuple[str, ...]
    jobs: int

    def parse(self, parser: Any, sentences: Iterable[Any]) -> Iterator[Sequence[Any]]:
        """Find the parses of each sentence.

        parser: a parser of phrases or of dependencies.
        sentences: what it parses.
        """
        if not self.projective:
            found = parser.parse_all(sentences, projective=False, jobs=self.jobs)
        elif self.reranker is None:
            found = parser.parse_all(sentences, self.n_best, jobs=self.jobs)
        else:
            from spectral_latent.reranking import Reranker

            reranker = Reranker.load(self.reranker, load_models(self.models), parser=parser)
            found = reranker.parse_all(parser, sentences, self.n_best, n_candidates=self.candidates, jobs=self.jobs)
        with users_errors():
            yield from found


def _page(parser: ConstituencyModel | DependencyModel, given: Input, search: _Search, title: str) -> str:
    """Draw the trees of sentences on a page, with a section for each sentence."""
    from spectral_latent.cli.page import page, picture, section
    from spectral_latent.dependency import DependencyModel

    is_dependency = isinstance(parser, DependencyModel)
    sentences, read = tee(sentence for sentence in given.sentences if sentence.forms)
    parsed = (sentence.sentence.without_tree() if is_dependency else sentence.words for sentence in read)
    sections = []
    for number, (sentence, parses) in enumerate(zip(sentences, search.parse(parser, parsed), strict=True), start=1):
        drawn = (
            picture(f"Tree {rank}{', FALLBACK' * parse.is_fallback}: log p = {parse.log:.2f}", parse._repr_svg_())
            for rank, parse in enumerate(parses, start=1)
        )
        sections.append(section(f"s{number}", f"{sentence.sent_id}: {' '.join(sentence.forms)}", *drawn))
    return page(title, sections)


def _write_phrases(
    parser: ConstituencyModel, given: Input, search: _Search, form: OutputForm, answers: Answers, console: Console
) -> None:
    """Write the trees of sentences in brackets, in JSON, or as rows."""
    sentences, read = tee(answers.rest_of(given.sentences))
    parses_of = search.parse(parser, (sentence.words for sentence in read))
    shown = console.beside_output.bar(parses_of, "Parsing", given.length, answers.sentences)
    for sentence, parses in zip(sentences, shown, strict=True):
        match form:
            case "text":
                text = _bracketed(parses, search.n_best)
            case "json":
                text = _json(parses, sentence)
            case "parquet":
                text = "".join(
                    _row(sentence, rank, parse, tree=parse.tree.bracketed()) for rank, parse in enumerate(parses, 1)
                )
        answers.add(sentence, text, any(parse.is_fallback for parse in parses))


def _bracketed(parses: Sequence[Parse], n_best: int) -> str:
    """Write the trees of a sentence: one tree, or a block of trees with scores."""
    if n_best == 1:
        return "".join(parse.tree.bracketed() for parse in parses) + "\n"
    return "".join(f"{parse.log:.6f}\t{parse.tree.bracketed()}\n" for parse in parses) + "\n"


def _json(parses: Sequence[Parse] | Sequence[DependencyParse], sentence: InputSentence) -> str:
    """Write the trees of a sentence as a line of JSON."""
    from spectral_latent.corpora.nbest_output import write_nbest
    from spectral_latent.reranking import parses_to_nbest

    return "".join(write_nbest([parses_to_nbest(parses, sentence.sent_id)], "json"))


def _row(sentence: InputSentence, rank: int, parse: Parse | DependencyParse, **columns: Any) -> str:
    """Write a tree of a sentence as the row of a table."""
    row = {"sent_id": sentence.sent_id, "rank": rank, **columns, "score": parse.log, "fallback": parse.is_fallback}
    return json.dumps(row) + "\n"


def _write_dependencies(
    parser: DependencyModel, given: Input, search: _Search, form: OutputForm, answers: Answers, console: Console
) -> None:
    """Write the trees of sentences in CoNLL-U, in JSON, or as rows."""
    with_words = (sentence for sentence in given.sentences if sentence.sentence.forms)
    sentences, read = tee(answers.rest_of(with_words))
    parses_of = search.parse(parser, (sentence.sentence.without_tree() for sentence in read))
    unknown_tags: Counter[str] = Counter()
    column = parser.options.tags
    try:
        shown = console.beside_output.bar(parses_of, "Parsing", given.length, answers.sentences)
        for sentence, parses in zip(sentences, shown, strict=True):
            unknown_tags.update(parser.unknown_tags(sentence.sentence))
            match form:
                case "text":
                    table = sentence if given.form == "conllu" else _in_conllu(sentence, column)
                    ranks = range(1, len(parses) + 1) if search.n_best > 1 else [None]
                    trees = zip(parses, ranks, strict=True)
                    text = "".join(_conllu(table, parse, column, rank) for parse, rank in trees)
                case "json":
                    text = _json(parses, sentence)
                case "parquet":
                    text = "".join(
                        _row(sentence, rank, parse, **_columns(parse.sentence, column))
                        for rank, parse in enumerate(parses, 1)
                    )
            answers.add(sentence, text, any(parse.is_fallback for parse in parses))
    finally:
        warn_of_unknown_tags(parser, unknown_tags, console)


def _columns(tree: DependencySentence, column: TagColumn) -> dict[str, Any]:
    """Collect the columns of a tree."""
    return {"words": tree.forms, "tags": tree.tags(column), "heads": tree.heads, "relations": tree.relations}


def _in_conllu(given: InputSentence, column: TagColumn) -> InputSentence:
    """Give a sentence lines in CoNLL-U, with its tags in one column."""
    from spectral_latent.corpora import to_conllu

    forms = given.forms
    text = "".join(f"{form} " if space else form for form, space in zip(forms, given.spaces, strict=True))
    comments = (f"sent_id = {given.sent_id}", f"text = {text.strip()}")
    blank = ("_",) * len(forms)
    sentence = given.sentence.without_tree()._replace(forms=tuple(forms), comments=comments, upos=blank, xpos=blank)
    sentence = sentence.with_tags(column, given.sentence.tags(column))
    lines = [f"{line}\n" for line in to_conllu(sentence).split("\n")[:-1]]
    places = tuple(range(len(comments), len(lines) - 1))
    for place, space in zip(places, given.spaces, strict=True):
        if not space:
            lines[place] = lines[place].removesuffix("_\n") + "SpaceAfter=No\n"
    return given._replace(lines=tuple(lines), places=places)


def _conllu(given: InputSentence, parse: DependencyParse, column: TagColumn, rank: int | None) -> str:
    """Write the lines of a sentence with heads, relations, and tags of a column where they were missing.

    given: the sentence, with its lines.
    parse: the tree.
    column: the column of the parser's tags.
    rank: the place of the tree among several of the sentence, which get names and scores; None for a single tree.

    >>> from spectral_latent.dependency import DependencyParse, DependencySentence
    >>> words = DependencySentence.of(["Yes"])
    >>> parse = DependencyParse(words.with_heads((0,)), sign=1, log=-0.5)
    >>> table = _in_conllu(InputSentence(words, 3), "upos")
    >>> print(_conllu(table, parse, "upos", rank=2).replace("\\t", " "), end="")
    # sent_id = 3-2
    # text = Yes
    # rank = 2
    # score = -0.500000
    1 Yes _ _ _ _ 0 _ _ _
    <BLANKLINE>
    """
    lines = list(given.lines)
    tree = parse.sentence
    at = _UPOS if column == "upos" else _XPOS
    for place, head, relation, tag in zip(
        given.places, tree.heads or (), tree.relations, getattr(tree, column), strict=True
    ):
        columns = lines[place].split("\t")
        columns[_HEAD : _HEAD + 2] = [str(head), relation]
        columns[at] = tag if columns[at] == "_" else columns[at]
        lines[place] = "\t".join(columns)

    comments = ["# FALLBACK\n"] if parse.is_fallback else []
    if rank is not None:
        names = [place for place, line in enumerate(lines) if _NAME.match(line)]
        for place in names:
            lines[place] = _NAME.sub(rf"\g<0>-{rank}", lines[place])
        name = [] if names else [f"# sent_id = {given.sent_id}-{rank}\n"]
        comments = [*name, f"# rank = {rank}\n", f"# score = {parse.log:.6f}\n", *comments]

    # comments stand before the first word, and the sentence ends with an empty line
    begin = next(at for at, line in enumerate(lines) if line.strip(" \r\n") and not line.startswith("#"))
    text = "".join([*lines[:begin], *comments, *lines[begin:]])
    if not text.endswith("\n"):
        text += "\n"
    return text if not lines[-1].strip(" \r\n") else f"{text}\n"
