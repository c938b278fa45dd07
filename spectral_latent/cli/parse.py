"""`spectral-latent parse`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from spectral_latent.cli.answers import AnswerRequest, Answers, answer_options
from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.inputs import Input, format_options, read_sentences
from spectral_latent.cli.lists import CANDIDATES, load_models, models_option, users_errors
from spectral_latent.cli.models import load_parser, warn_of_unknown_tags, with_limits
from spectral_latent.cli.options import non_projective_option, number_option
from spectral_latent.cli.outputs import OutputFile, OutputForm, results
from spectral_latent.cli.page import DrawnSentence, page_of_sentences
from spectral_latent.cli.partial import known_tree, read_partial
from spectral_latent.cli.pictures import PictureFile, write_picture
from spectral_latent.cli.sentences import InputSentence
from spectral_latent.cli.tree_texts import dependency_text, drawings_of, phrase_text

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.corpora import Format
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.model import Parses
    from spectral_latent.reranking import Reranker

__all__ = ["parse"]

_Answer = TypeVar("_Answer")

_OF_MODEL = "  [default: the limit that the model has]"


@click.command(cls=Command)
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
@number_option("--max-words", "N", f"The largest number of words of a sentence.{_OF_MODEL}")
@click.option(
    "--seconds",
    metavar="S",
    type=click.FloatRange(min=0.0, min_open=True),
    help=f"The approximate limit of CPU seconds for a sentence under one grammar.{_OF_MODEL}",
)
@number_option(
    "--memory", "MB", f"The approximate limit of megabytes for a sentence under one grammar.{_OF_MODEL}", most=1 << 24
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
    help="Draw the trees one below the other in a file that ends in .svg, and print nothing.",
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
    brackets, of which only the words and tags are used; or objects in JSON lines.  A row has
    words (or tokens), and tags if they are known; or it has text, which is raw.  The name of the row, if it has one, is
    in sent_id (or id).

    With --text, FILE is raw text.  An empty line ends a sentence, other line ends are spaces.  Words are divided as in
    the corpus of the model: as in the Penn Treebank if it has the word n't.

    With --partial, FILE has what is known of each tree, and the parser finds the rest.  For a constituency parser, each
    line is a sentence with brackets around some words: She saw (NP the (NN man)) ( with a telescope ) .  A label stands
    directly after its bracket; over one word it may be a tag.  A bracket with ! is forbidden: (!PP with a telescope) is
    not a PP, and (! with a telescope) is not a constituent.  A tree over several lines is one sentence; it may be flat
    where nothing is known.  For a dependency parser, FILE is CoNLL-U or CoNLL-X with _ for each HEAD and DEPREL that is
    not known; relations that are known change no head.  A HEAD with ! is forbidden: !3 is any head but 3, and !3|5 any
    head but 3 and 5.  All sentences are checked before the first is parsed.

    A constituency parser prints one tree in brackets for each sentence, and an empty line for an empty line.  Brackets
    in sentences may be written ( ) or -LRB- -RRB-; in trees they are written -LRB- -RRB-.  With --n-best above 1, it
    prints a block for each sentence: a line `score TAB tree` for each tree, the best tree first, and an empty line.

    A dependency parser prints CoNLL-U.  If FILE is CoNLL-U or CoNLL-X, the parser fills the columns HEAD and DEPREL,
    and adds missing tags.  Heads in FILE are ignored, and all other columns stay as they are.  For other formats,
    sent_id is the number of the line, or of the sentence in raw text, Malt-TAB and brackets; empty lines have no
    output.  For rows, sent_id is the name of the row, or else its number; if its text is raw, the number of the
    sentence follows, as in 7.2.  SpaceAfter=No marks words of raw text that no space follows.  Words without tags get
    the likeliest tags.  With --n-best above 1, the parser prints the trees of a sentence one after the other, each with
    the comments `# rank` and `# score`; the rank is also added to sent_id, as in 7-2.

    The score is log |p|, the natural logarithm of the absolute value of the tree's estimated probability.  The first
    tree has the largest expected number of right constituents or arcs; scores may therefore rise from tree to tree.

    With --json, each line is the list of trees of a sentence, in the form that `rerank` reads.  It has sent_id and the
    candidates; a candidate has a tree in brackets, or heads and relations, and a score.  The list of an empty line is
    empty.

    A sentence that the grammar cannot derive gets a flat tree, marked FALLBACK, with score -inf; a message gives the
    numbers of these sentences.  A sentence beyond the limits --max-words, --seconds or --memory gets such a tree, too.
    With --partial, the tree is flat except for the parts that are known.

    With --html, the trees are drawn on a page that needs no network: phrases as trees, dependencies as arcs.  With
    --svg, they are a picture for other pages and for papers.

    With --rerank, trees are in the order of a reranker, made by `spectral-latent rerank train`.  The reranker's latent
    model named latent is MODEL, unless --model names another one; give all its other latent models by --model.

    With --jobs above 1, some hundreds of sentences are read before the first tree is printed, and the processes take
    seconds to start.

    \b
    Examples:
      echo "The cat sat on the mat." | spectral-latent parse wsj.model --text
      spectral-latent parse wsj.model sentences.txt --n-best 5 -o trees.txt
      spectral-latent parse wsj.model sentences.txt --json
      spectral-latent parse deps.model dev.conllu > parsed.conllu
      echo "She saw (NP the man with a telescope) ." | spectral-latent parse wsj.model --partial
      spectral-latent parse wsj.model sentences.txt --svg trees.svg
    """
    if rerank is None and (candidates or models):
        raise click.UsageError(f"{'--candidates' if candidates else '--model'} goes with --rerank")
    if non_projective and (rerank is not None or n_best > 1):
        raise click.UsageError(f"--non-projective finds one tree; leave out {'--n-best' if n_best > 1 else '--rerank'}")
    if partial and (rerank is not None or form is not None):
        raise click.UsageError(f"--partial goes without {'--rerank' if rerank else '--format and --text'}")
    if page is not None and picture is not None:
        raise click.UsageError("--html and --svg both draw the trees; leave out one of them")
    if (page or picture) and (wanted.as_json or wanted.output):
        name = "--html" if page else "--svg"
        raise click.UsageError(f"{name} draws trees; leave out --json and --output")
    from spectral_latent.dependency import DependencyModel

    console = Console(wanted.quiet)
    form_of_answers = wanted.form
    parser = with_limits(load_parser(model), max_words=max_words, seconds=seconds, megabytes=memory)
    if partial:
        given = read_partial(file, parser, console, projective=not non_projective)
    else:
        given = read_sentences(file, form, parser.tokenisation, console)
    # The writer of a pipe may wait for the answer to a line before it writes the next line.
    one_by_one = wanted.jobs == 1 and given.length is None
    scored = n_best > 1 or form_of_answers != "text" or page is not None or picture is not None
    search = _Search(n_best, not non_projective, scored, candidates or CANDIDATES, rerank, models)
    work = _Work(parser, search, wanted.jobs, one_by_one)
    is_dependency = isinstance(parser, DependencyModel)
    if non_projective and not is_dependency:
        raise click.UsageError(f"--non-projective is for dependency parsers, and {model} is not one")
    if page or picture:
        drawn = _drawn(given, work)
        if picture is not None:
            write_picture(drawn, picture)
        elif page is not None:
            title = f"Trees of {'standard input' if file == '-' else Path(file).name}"
            with results(page) as write:
                write(page_of_sentences(title, drawn))
        console.message(f"{page or picture}: written")
        return
    with wanted.answers(given.unit, console) as answers:
        _write_answers(given, work, form_of_answers, answers, console)


class _Search(NamedTuple):
    """The way to find the trees of a sentence.

    n_best: the number of trees to find.
    projective: whether arcs must not cross.
    scored: whether the scores of trees are shown.
    candidates: the number of trees that the reranker chooses among.
    reranker: the file of a reranker, if there is one.
    models: the latent models of the reranker, as given on the command line.
    """

    n_best: int
    projective: bool
    scored: bool
    candidates: int
    reranker: str | None
    models: tuple[str, ...]

    def parse(self, parser: Any, given: Iterable[InputSentence]) -> Iterator[Parses[Any]]:
        """Find the parses of each sentence.

        parser: a parser of phrases or of dependencies.
        given: the sentences of the input.
        """
        from spectral_latent.dependency import DependencyModel

        is_dependency = isinstance(parser, DependencyModel)
        sentences: Iterator[Any] = (known_tree(sentence, is_dependency) for sentence in given)
        if self.reranker is not None:
            reranker = _reranker(self.reranker, self.models, parser)
            return reranker.parse_all(parser, sentences, n_best=self.n_best, n_candidates=self.candidates)
        options = {} if self.projective else {"projective": False}
        found: Iterator[Parses[Any]] = parser.parse_all(sentences, self.n_best, scored=self.scored, **options)
        return found


@lru_cache(maxsize=1)
def _reranker(file: str, models: tuple[str, ...], parser: Any) -> Reranker:
    """Load a reranker and its latent models, once in each process."""
    from spectral_latent.reranking import Reranker

    return Reranker.load(file, load_models(models), parser=parser)


_Write = Callable[[InputSentence, "Parses[Any]"], _Answer]


def _answers_of(
    parser: Any, sentences: Sequence[InputSentence], search: _Search, write: _Write[_Answer]
) -> list[tuple[_Answer, bool]]:
    """Find and write the trees of each sentence, and tell whether one of these trees is a fallback."""
    found = zip(sentences, search.parse(parser, sentences), strict=True)
    return [(write(sentence, parses), any(parse.is_fallback for parse in parses)) for sentence, parses in found]


class _Work(NamedTuple):
    """The parser, its way to find trees, and the division of sentences among processes.

    one_by_one: whether a sentence is parsed before the next sentence is read.
    """

    parser: ConstituencyModel | DependencyModel
    search: _Search
    jobs: int
    one_by_one: bool

    def answers(
        self, sentences: Iterable[InputSentence], write: _Write[_Answer]
    ) -> Iterator[tuple[InputSentence, _Answer, bool]]:
        """Find and write the trees of each sentence, and tell whether one of these trees is a fallback.

        The processes that parse also write the trees, because to send the parses would take longer.

        sentences: the sentences to parse.
        write: a function from a sentence and its parses to an answer, which other processes can import.
        """
        from spectral_latent.model.batches import BATCH_SIZE, map_batches

        kept, read = tee(sentences)
        size = 1 if self.one_by_one else BATCH_SIZE
        with users_errors():
            if self.search.reranker is not None:
                _reranker(self.search.reranker, self.search.models, self.parser)  # refused before reading
            found = map_batches(_answers_of, self.parser, read, self.jobs, self.search, write, size=size)
            for sentence, (answer, is_fallback) in zip(kept, found, strict=True):
                yield sentence, answer, is_fallback


def _drawn(given: Input, work: _Work) -> Iterator[DrawnSentence]:
    """Find the trees of the sentences that have words, and draw them."""
    for sentence, drawings, _ in work.answers((each for each in given.sentences if each.forms), drawings_of):
        yield DrawnSentence(f"{sentence.sent_id}: {' '.join(sentence.forms)}", drawings)


def _write_answers(given: Input, work: _Work, form: OutputForm, answers: Answers, console: Console) -> None:
    """Write the trees of sentences as text or in JSON."""
    from spectral_latent.dependency import DependencyModel

    parser = work.parser
    n_best = work.search.n_best
    unknown_tags: Counter[str] = Counter()
    write: _Write[str]
    if isinstance(parser, DependencyModel):
        write = partial(dependency_text, form=form, given=given.form, column=parser.options.tags, n_best=n_best)
    else:
        write = partial(phrase_text, form=form, n_best=n_best)
    try:
        found = work.answers(given.sentences, write)
        shown = console.beside_output.bar(found, "Parsing", given.length)
        for sentence, text, is_fallback in shown:
            if isinstance(parser, DependencyModel):
                unknown_tags.update(parser.unknown_tags(sentence.sentence))
            answers.add(sentence, text, is_fallback)
    finally:
        if isinstance(parser, DependencyModel):
            warn_of_unknown_tags(parser, unknown_tags, console)
