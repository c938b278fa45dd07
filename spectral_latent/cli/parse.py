"""`spectral-latent parse`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import tee
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from spectral_latent.cli.answer_options import AnswerRequest, answer_options
from spectral_latent.cli.answers import Answers
from spectral_latent.cli.conllu import filled_conllu, in_conllu
from spectral_latent.cli.console import Console
from spectral_latent.cli.inputs import Input, format_options, read_sentences
from spectral_latent.cli.lists import CANDIDATES, load_models, models_option, users_errors
from spectral_latent.cli.models import load_parser, warn_of_unknown_tags, with_limits
from spectral_latent.cli.options import non_projective_option, number_option
from spectral_latent.cli.outputs import OutputFile, OutputForm, results
from spectral_latent.cli.partial import known_tree, read_partial
from spectral_latent.cli.pictures import DrawnSentence, PictureFile, page_of_sentences, write_pictures
from spectral_latent.cli.sentences import InputSentence

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel, Parse
    from spectral_latent.corpora import Format
    from spectral_latent.corpora.rows import Column
    from spectral_latent.dependency import DependencyModel, DependencyParse
    from spectral_latent.dependency.sentence import DependencySentence, TagColumn
    from spectral_latent.grammar import Parses

__all__ = ["parse"]

_OF_MODEL = "  [default: the limit that the model has]"
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
@number_option("--n-best", "K", "The largest number of trees for a sentence.", default=1)
@format_options
@click.option(
    "--partial",
    is_flag=True,
    help="The trees of FILE are partly known: find trees with the brackets, tags, heads and relations that are there.",
)
@non_projective_option
@click.option("--rerank", metavar="RERANKER", help="Choose among the parser's best trees by a reranker.")
@number_option(
    "--candidates",
    "K",
    f"The largest number of trees for a sentence that the reranker chooses among.  [default: {CANDIDATES}]",
)
@models_option
@number_option("--max-words", "N", f"The most words of a sentence.{_OF_MODEL}")
@click.option(
    "--seconds",
    metavar="S",
    type=click.FloatRange(min=0.0, min_open=True),
    help=f"The most CPU seconds for a sentence under one grammar, about.{_OF_MODEL}",
)
@number_option(
    "--memory", "MB", f"The most megabytes for a sentence under one grammar, about.{_OF_MODEL}", most=1 << 24
)
@click.option(
    "--html",
    "page",
    metavar="PAGE",
    type=OutputFile(),
    help="Draw the trees on a page for a browser, and print nothing.",
)
@click.option(
    "--svg",
    "picture",
    metavar="PICTURE",
    type=PictureFile(),
    help="Draw the trees as SVG, and print nothing.  A name that ends in .svg is a file with all trees one below the "
    "other; another is a folder, which gets a file for each tree.",
)
@answer_options
def parse(
    wanted: AnswerRequest,
    model: str,
    file: str,
    n_best: int,
    form: Format | None,
    partial: bool,
    non_projective: bool,
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

    FILE has one tokenised sentence a line, words with tags as in the/DT dog/NN, CoNLL-U, CoNLL-X, Malt-TAB, or trees in
    brackets, of which only the words and tags are used; or rows: objects in JSON lines, or rows of Parquet.  A row has
    words (or tokens), and tags if they are known; or text, which is raw; and sent_id (or id) if it has a name.

    With --text, FILE is raw text.  An empty line ends a sentence, other line ends are spaces.  Words are divided as in
    the corpus of the model: as in the Penn Treebank if it has the word n't.

    With --partial, FILE has what is known of each tree, and the parser finds the rest.  For a constituency parser, each
    line is a sentence with brackets around some words: She saw (NP the (NN man)) ( with a telescope ) .  A label stands
    directly after its bracket; over one word it may be a tag.  A bracket with ! is forbidden: (!PP with a telescope) is
    no PP, and (! with a telescope) is no constituent.  A tree over several lines is one sentence; it may be flat where
    nothing is known.  For a dependency parser, FILE is CoNLL-U or CoNLL-X with _ in the columns HEAD and DEPREL where
    they are not known; relations that are known change no head.  A HEAD with ! is forbidden: !3 is any head but 3, and
    !3|5 any but 3 and 5.  All sentences are checked before the first is parsed.

    A constituency parser prints one tree in brackets for each sentence, and an empty line for an empty line.  Brackets
    in sentences may be written ( ) or -LRB- -RRB-; in trees they are written -LRB- -RRB-.  With --n-best above 1, it
    prints a block for each sentence: a line `score TAB tree` for each tree, the best tree first, and an empty line.

    A dependency parser prints CoNLL-U.  Of CoNLL-U or CoNLL-X, it fills the columns HEAD and DEPREL, and tags that are
    missing.  Heads in FILE are ignored, and all other columns stay as they are.  For other formats, sent_id is the
    number of the line, or of the sentence in raw text, Malt-TAB and brackets; empty lines have no output.
    SpaceAfter=No marks words of raw text that no space follows.  For rows, sent_id is the name, or else the number;
    sentences of raw text have their number after it, as in 7.2.  Words without tags get the likeliest ones.  With
    --n-best above 1, it prints the trees of a sentence one after the other, each with the comments `# rank` and
    `# score`; the rank is also added to sent_id, as in 7-2.

    The score is log |p|, the natural logarithm of the tree's estimated probability.  The first tree is the one with
    the largest expected number of right constituents or arcs, so that scores need not fall from tree to tree.

    With --json, each line is the list of trees of a sentence, as `rerank` reads lists in JSON: sent_id, and candidates
    with a tree in brackets, or heads and relations, and the score.  The list of an empty line is empty.  In Parquet
    there is a row for each tree.

    A sentence that the grammar cannot derive gets a flat tree, marked FALLBACK, with score -inf; a message gives the
    numbers of these sentences.  A sentence with more words than --max-words gets such a tree, too, and so does one that
    takes more time or memory than --seconds or --memory allow.  With --partial, the tree is flat except for the parts
    that are known.

    With --html, the trees are drawn on a page that needs no network: phrases as trees, dependencies as arcs.  With
    --svg, they are pictures for other pages and for papers.  In a folder, 1.svg is the tree of the first sentence that
    has words; with --n-best above 1, 1-2.svg is its second tree.  With --shard, give each part a folder of its own.

    With --rerank, trees are in the order of a reranker, made by `spectral-latent rerank train`.  Its latent model with
    the name latent is MODEL, unless --model names another; give all other latent models of its training by --model.

    While the command runs, its output is in FILE.part, and FILE.progress notes how far it has come.  If it is killed,
    the same command with --resume goes on from there, and makes the same file.  The outputs of all parts of --shard,
    joined in their order, are the output of the whole.

    With --jobs above 1, some hundreds of sentences are read before the first tree is printed, and the processes take
    seconds to start.

    \b
    Examples:
      echo "The cat sat on the mat." | spectral-latent parse wsj.safetensors --text
      spectral-latent parse wsj.safetensors sentences.txt --n-best 5 -o trees.txt
      spectral-latent parse wsj.safetensors sentences.txt --json
      spectral-latent parse wsj.safetensors long.txt --shard 1/2 --resume -o first.jsonl.gz
      spectral-latent parse deps.safetensors dev.conllu > parsed.conllu
      echo "She saw (NP the man with a telescope) ." | spectral-latent parse wsj.safetensors --partial
      spectral-latent parse wsj.safetensors sentences.txt --svg trees/
    """
    if rerank is None and (candidates or models):
        raise click.UsageError(f"{'--candidates' if candidates else '--model'} goes with --rerank")
    if non_projective and (rerank is not None or n_best > 1):
        raise click.UsageError(f"--non-projective finds one tree; leave out {'--n-best' if n_best > 1 else '--rerank'}")
    if partial and (rerank is not None or form is not None):
        raise click.UsageError(f"--partial goes without {'--rerank' if rerank else '--format and --text'}")
    if page is not None and picture is not None:
        raise click.UsageError("--html and --svg both draw the trees; leave out one of them")
    if (page or picture) and (wanted.as_json or wanted.output or wanted.resume):
        name = "--html" if page else "--svg"
        raise click.UsageError(f"{name} draws trees; leave out --json, --output and --resume")
    from spectral_latent.dependency import DependencyModel

    console = wanted.begin()
    form_of_answers = wanted.form
    parser = with_limits(load_parser(model), max_words=max_words, seconds=seconds, megabytes=memory)
    if partial:
        given = read_partial(file, parser, console, projective=not non_projective)
    else:
        given = read_sentences(file, form, parser.tokenisation, console)
    given = wanted.part_of(given)
    # The answer to a line may be awaited before the next is written.
    one_by_one = wanted.jobs == 1 and given.length is None
    scored = n_best > 1 or form_of_answers != "text" or page is not None or picture is not None
    search = _Search(
        n_best, not non_projective, scored, candidates or CANDIDATES, rerank, models, wanted.jobs, one_by_one
    )
    is_dependency = isinstance(parser, DependencyModel)
    if non_projective and not is_dependency:
        raise click.UsageError(f"--non-projective is for dependency parsers, and {model} is not one")
    if page or picture:
        drawn = _drawn(given, search, parser)
        if picture is not None:
            write_pictures(drawn, picture, [model, file])
        elif page is not None:
            title = f"Trees of {'standard input' if file == '-' else Path(file).name}"
            with results(page, [model, file]) as write:
                write(page_of_sentences(title, drawn))
        console.message(f"{page or picture}: written")
        return
    columns = _DEPENDENCIES if is_dependency else _PHRASES
    with wanted.answers(columns, [model, file], console) as answers:
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
    scored: whether the scores of trees are shown.
    candidates: the number of trees that the reranker chooses among.
    reranker: the file of a reranker, if there is one.
    models: the latent models of the reranker, as given on the command line.
    jobs: the number of processes.
    one_by_one: whether a sentence is parsed before the next is read.
    """

    n_best: int
    projective: bool
    scored: bool
    candidates: int
    reranker: str | None
    models: tuple[str, ...]
    jobs: int
    one_by_one: bool

    def parse(self, parser: Any, given: Iterable[InputSentence]) -> Iterator[Parses[Any]]:
        """Find the parses of each sentence.

        parser: a parser of phrases or of dependencies.
        given: the sentences.
        """
        from spectral_latent.dependency import DependencyModel

        is_dependency = isinstance(parser, DependencyModel)
        sentences = (known_tree(sentence, is_dependency) for sentence in given)
        parse_all: Callable[[Iterable[Any]], Iterator[Parses[Any]]]
        if not self.projective:
            parse_all = partial(parser.parse_all, projective=False, scored=self.scored, jobs=self.jobs)
        elif self.reranker is None:
            parse_all = partial(parser.parse_all, n_best=self.n_best, scored=self.scored, jobs=self.jobs)
        else:
            from spectral_latent.reranking import Reranker

            reranker = Reranker.load(self.reranker, load_models(self.models), parser=parser)
            parse_all = partial(
                reranker.parse_all, parser, n_best=self.n_best, n_candidates=self.candidates, jobs=self.jobs
            )
        parts: Iterable[Iterable[Any]] = ([sentence] for sentence in sentences) if self.one_by_one else [sentences]
        with users_errors():
            for part in parts:
                yield from parse_all(part)


def _drawn(given: Input, search: _Search, parser: ConstituencyModel | DependencyModel) -> Iterator[DrawnSentence]:
    """Find the trees of the sentences that have words, and draw them."""
    sentences, read = tee(sentence for sentence in given.sentences if sentence.forms)
    for sentence, parses in zip(sentences, search.parse(parser, read), strict=True):
        yield DrawnSentence(f"{sentence.sent_id}: {' '.join(sentence.forms)}", parses.drawings)


def _write_phrases(
    parser: ConstituencyModel, given: Input, search: _Search, form: OutputForm, answers: Answers, console: Console
) -> None:
    """Write the trees of sentences in brackets, in JSON, or as rows."""
    sentences, read = tee(answers.rest_of(given.sentences))
    parses_of = search.parse(parser, read)
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
    sentences, read = tee(answers.rest_of(given.sentences))
    parses_of = search.parse(parser, read)
    unknown_tags: Counter[str] = Counter()
    column = parser.options.tags
    try:
        shown = console.beside_output.bar(parses_of, "Parsing", given.length, answers.sentences)
        for sentence, parses in zip(sentences, shown, strict=True):
            unknown_tags.update(parser.unknown_tags(sentence.sentence))
            match form:
                case "text":
                    text = _conllu(sentence, given.form, parses, column, search.n_best)
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


def _conllu(
    sentence: InputSentence, form: Format, parses: Sequence[DependencyParse], column: TagColumn, n_best: int
) -> str:
    """Write the trees of a sentence in CoNLL-U, with their ranks if several were asked for."""
    if not parses:
        return ""
    table = sentence if form == "conllu" else in_conllu(sentence, column)
    ranked = enumerate(parses, start=1)
    return "".join(filled_conllu(table, parse, column, rank if n_best > 1 else None) for rank, parse in ranked)


def _columns(tree: DependencySentence, column: TagColumn) -> dict[str, Any]:
    """Collect the columns of a tree."""
    return {"words": tree.forms, "tags": tree.tags(column), "heads": tree.heads, "relations": tree.relations}
