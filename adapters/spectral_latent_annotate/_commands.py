"""The commands `suggest`, `check`, `repair` and `annotate`."""

from __future__ import annotations

import errno
import json
import os
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from spectral_latent import ConstituencyModel
    from spectral_latent_annotate._project import Order

__all__ = ["main"]

_INTERRUPTED = 130  # the exit status that shells give for Ctrl-C
_COLUMNS = ("tree", "words", "label", "posterior", "instead", "of words", "posterior", "text")


class _Commands(click.Group):
    """A group that ends with a message, not a traceback, for errors that a user can put right."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning
            try:
                return super().invoke(ctx)
            except ValueError as error:
                from spectral_latent.corpora import CorpusError
                from spectral_latent.estimation import EstimationError
                from spectral_latent.files import ModelFileError

                if isinstance(error, CorpusError | EstimationError | ModelFileError):
                    raise click.ClickException(str(error)) from error
                raise
            except KeyboardInterrupt:
                click.echo("Interrupted", err=True)
                ctx.exit(_INTERRUPTED)
            except BrokenPipeError:
                raise
            except OSError as error:
                where = f"{error.filename}: " if error.filename else ""
                raise click.ClickException(f"{where}{error.strerror or error}") from error


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as one line."""
    click.echo(f"Warning: {message}", err=True)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Make a treebank, with a parser that learns from each of its trees.

    Exit status: 0 for success; 1 for data or models that cannot be used; 2 for a wrong command line."""


_output = click.option(
    "-o",
    "--output",
    metavar="OUT",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="The file to write, whole or not at all.  [default: standard output]",
)
_text = click.option("--text", "is_text", is_flag=True, help="The sentences are raw text, which is divided into words.")


def _load_parser(file: str) -> ConstituencyModel:
    """Read a constituency parser."""
    from spectral_latent import ConstituencyModel, load
    from spectral_latent.files import ModelFileError

    model = load(file)
    if not isinstance(model, ConstituencyModel):
        kind = type(model).__name__
        raise ModelFileError(f"{file}: a model of the class {kind}, where a constituency parser is needed")
    return model


def _read(file: str) -> tuple[str, str]:
    """Read a file, or standard input for `-`; return its text and its name."""
    from spectral_latent.corpora import decode, read_text

    if file != "-":
        return read_text(file), file
    return decode(sys.stdin.buffer.read(), "standard input"), "standard input"


def _count(number: int, thing: str) -> str:
    """Write a number of things: `1 tree`, `2 trees`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _read_sentences(file: str, is_text: bool, model: ConstituencyModel | None) -> list[list[str]]:
    """Read the sentences of a file: raw text, or the words of a sentence on each line."""
    from spectral_latent.corpora import plain_sentences, sniff_format
    from spectral_latent.tokenisation import Tokenisation

    text, source = _read(file)
    if is_text:
        tokenisation = Tokenisation(frozenset()) if model is None else model.tokenisation
        return [[token.word for token in tokens] for tokens in tokenisation.sentences(text)]
    sniff_format(source, text, "tokens")
    return list(filter(None, plain_sentences(text.split("\n"))))


def _write(lines: Iterable[str], output: Path | None, *read: str) -> None:
    """Print lines, or write them to a file, which is none of those that were read."""
    from spectral_latent.files import write_whole

    if output is None:
        for line in lines:
            click.echo(line)
        return
    if os.path.realpath(output) in map(os.path.realpath, read):
        raise click.ClickException(f"{output}: a file to read, which would be lost; name another output")
    write_whole(output, "".join(f"{line}\n" for line in lines).encode("utf-8"))


@main.command()
@click.argument("model")
@click.argument("files", metavar="[FILE]...", nargs=-1)
@_text
@click.option(
    "--rank",
    type=click.Choice(["errors", "entropy", "disagreement"]),
    is_flag=False,
    flag_value="errors",
    help="Write the least sure sentences first: by expected errors, entropy or disagreement of grammars.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, an object on each line.")
@_output
def suggest(
    model: str, files: tuple[str, ...], is_text: bool, rank: str | None, as_json: bool, output: Path | None
) -> None:
    """Suggest trees for the sentences of FILE, or of standard input, with the posterior of each part.

    MODEL is a constituency parser, and FILE has the words of a sentence on each line, or raw text.  In brackets, ?
    stands after a label whose posterior is below 0.9, and ?? below 0.5.  A row of JSON has the number of the sentence,
    after the name of its file if there are several, the tree, the posterior of
    each constituent (first word, word after the last, label, whether it is a tag), what would stand in its place, the
    expected number of errors, a bound of the entropy, and how far the grammars of MODEL disagree, in bits.

    \b
    Examples:
      echo "The cat sat on the mat ." | spectral-latent-annotate suggest wsj.model
      spectral-latent-annotate suggest wsj.model sentences.txt --rank --json -o suggested.jsonl"""
    from spectral_latent_annotate._suggestions import suggest_trees

    parser = _load_parser(model)
    numbers: list[int | str] = []
    sentences = []
    for file in files or ("-",):
        read = _read_sentences(file, is_text, parser)
        numbers.extend(n if len(files) < 2 else f"{file}:{n}" for n in range(1, len(read) + 1))
        sentences += read
    found = list(zip(numbers, suggest_trees(parser, sentences), strict=True))
    if rank is not None:
        name = "expected_errors" if rank == "errors" else rank
        found.sort(key=lambda pair: -getattr(pair[1], name))
    lines = (
        json.dumps({"number": number, **each.row()}, ensure_ascii=False) if as_json else each.marked.bracketed()
        for number, each in found
    )
    _write(lines, output, model, *files)
    click.echo(_count(len(found), "tree"), err=True)


@main.command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    type=click.Choice(["brackets", "penn", "historical"]),
    help="The format of files of SOURCE.  [default: as name or trees show]",
)
@click.option("--skip-bad", is_flag=True, help="Leave out trees in brackets that cannot be read, and count them.")
@click.option(
    "--folds",
    metavar="N",
    default=4,
    show_default=True,
    type=click.IntRange(2),
    help="The number of parts that are judged by a parser of the others.",
)
@click.option(
    "--first",
    metavar="N",
    default=100,
    show_default=True,
    type=click.IntRange(1),
    help="The largest number of labels to list.",
)
@click.option(
    "--jobs", metavar="N", default=1, show_default=True, type=click.IntRange(1), help="The number of threads."
)
@_output
def check(
    sources: tuple[str, ...], form: Any, skip_bad: bool, folds: int, first: int, jobs: int, output: Path | None
) -> None:
    """List the labels of trees that the rest of the trees makes unlikely.

    Each SOURCE is a treebank of phrases: a file, a folder, or nltk:NAME.  The output is a table with a header and tabs,
    the most doubtful label first: the number of the tree, from 1, the words of the constituent, its label and
    posterior, and the likeliest constituent that would stand in its place.

    \b
    Examples:
      spectral-latent-annotate check trees.mrg
      spectral-latent-annotate check sections/ --first 20 -o doubts.tsv"""
    from spectral_latent.constituency import Changes, tagged_words
    from spectral_latent.corpora import constituency_trees
    from spectral_latent.estimation import shown
    from spectral_latent_annotate._doubts import check_trees

    changes = Changes()
    trees = [tree for source in sources for tree in constituency_trees(source, changes, form, skip_bad=skip_bad)]
    if table := changes.table():
        click.echo(f"Changed in the trees:\n{table}", err=True)
    with shown(None) as listener:
        doubts = check_trees(trees, n_folds=folds, jobs=jobs, listener=listener)
    rows = [_COLUMNS]
    for doubt in doubts[:first]:
        words = [word for _, word in tagged_words(trees[doubt.tree])]
        part, (instead, p) = doubt.constituent, doubt.instead
        cells = (str(doubt.tree + 1), f"{part.first + 1}-{part.end}", part.label, f"{doubt.posterior:.3f}")
        other = (instead.label, f"{instead.first + 1}-{instead.end}", f"{p:.3f}")
        rows.append((*cells, *other, " ".join(words[part.first : part.end])))
    _write(map("\t".join, rows), output, *sources)
    click.echo(f"{_count(len(doubts), 'doubtful label')} in {_count(len(trees), 'tree')}", err=True)


@main.command()
@click.argument("model")
@click.argument("file", default="-")
@_output
def repair(model: str, file: str, output: Path | None) -> None:
    """Mend broken bracket strings.

    Each line of FILE has the words of a sentence, a tab, and a bracket string that may be broken, flat or partly wrong.
    The tree over exactly these words that agrees best with the string and with MODEL, a constituency parser, is
    printed.

    \b
    Examples:
      printf 'dogs see it\\t(S (NP dogs (VP see it\\n' | spectral-latent-annotate repair wsj.model
      spectral-latent-annotate repair wsj.model broken.tsv -o mended.mrg"""
    from spectral_latent.corpora import CorpusError
    from spectral_latent_annotate._repairs import repair_all

    parser = _load_parser(model)
    text, source = _read(file)
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        words, tab, brackets = line.partition("\t")
        if not tab or not words.split():
            raise CorpusError(f"{source}, line {number}: a line has the words, a tab and a bracket string")
        pairs.append((words.split(), brackets))
    mended = list(repair_all(parser, pairs))
    _write((each.tree.bracketed() for each in mended), output, model, file)
    n_changed = sum(bool(each.dropped or each.added) for each in mended)
    click.echo(f"{_count(len(mended), 'tree')}; {n_changed:,} not as in the brackets", err=True)


@main.command()
@click.argument("trees")
@click.argument("file", metavar="[TEXT]", required=False)
@_text
@click.option(
    "--preset",
    default="fast",
    show_default=True,
    type=click.Choice(["fast", "accurate", "best"]),
    help="The settings of the parser.",
)
@click.option(
    "--functions/--no-functions",
    default=None,
    help="Whether to learn and suggest function labels, too; by default, if TREES has some.",
)
@click.option(
    "--order",
    type=click.Choice(["file", "surest", "unsure"]),
    default="file",
    show_default=True,
    help="The next sentence: the next of TEXT, or, of the first 150 that wait, that with the most or the fewest words "
    "for an expected error.",
)
@click.option("--annotator", metavar="NAME", default="", help="The name that the history has for accepted trees.")
@click.option("--compare", metavar="OTHER", help="The trees of another annotator, whose agreement is shown.")
@click.option(
    "--port",
    metavar="N",
    default=8017,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The port of the page; 0 for any free one.",
)
def annotate(
    trees: str,
    file: str | None,
    is_text: bool,
    preset: Any,
    functions: bool | None,
    order: Order,
    annotator: str,
    compare: str | None,
    port: int,
) -> None:
    """Correct trees on a local page, with a parser that learns from each.

    TREES is a file of bracketed trees, which may be absent; accepted trees are written to it at once, and all other
    text of it stays as it is.  TEXT has the sentences that wait for trees: a tokenised sentence on each line, or raw
    text with --text.  TREES.history keeps what every accepted tree replaced.  The address of the page has a token,
    without which nobody is answered; SPECTRAL_LATENT_TOKEN sets it.  docs/annotation.md shows the page.

    \b
    Examples:
      spectral-latent-annotate annotate trees.mrg sentences.txt
      spectral-latent-annotate annotate saga.psd saga.txt --text --order surest --annotator anna"""
    from spectral_latent.constituency import preset as preset_of
    from spectral_latent_annotate._project import BusyError, Project
    from spectral_latent_annotate._server import serve

    sentences = [] if file is None else _read_sentences(file, is_text, None)
    try:
        project = Project(trees, sentences, preset_of(preset), annotator, functions)
        server = serve(project, port, other=compare, order=order)
    except ImportError as error:
        raise click.ClickException(
            f"{error.name} is missing; run `pip install 'spectral-latent[annotate]'`, or `pip install {error.name}`"
        ) from None
    except (BusyError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    except (OSError, SystemExit) as error:
        if isinstance(error, OSError) and error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        raise click.ClickException(f"the port {port} is in use; choose another one, as by --port {port + 1}") from None
    for message in project.messages():
        click.echo(message, err=True)
    if order != "file":
        project.rank()
    click.echo(
        f"{_count(project.n_done, 'tree')}, {_count(len(project.items) - project.n_done, 'sentence')} to do", err=True
    )
    click.echo(f"{server.address}  (Ctrl-C ends; everything accepted is saved)")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        project.close()
