"""The commands `suggest`, `check`, `repair` and `annotate`."""

import errno
import json
from pathlib import Path
from typing import Annotated, Literal

import click

from spectral_latent.cli import (
    SOURCES,
    AsJson,
    Command,
    CommandGroup,
    Count,
    Files,
    FromText,
    InputFormat,
    Jobs,
    Output,
    SkipBad,
    SourceFormat,
    Sources,
    Value,
    asks_for_json,
    counted,
    load_for,
    message,
    of_each,
    read_sentences,
    read_text,
    results,
    table,
    tell_of_tags,
)

_COLUMNS = ("tree", "words", "label", "posterior", "instead", "of words", "posterior", "text")


def suggest(
    model: str,
    files: Files = ("-",),
    *,
    format_: InputFormat = None,
    text: FromText = False,
    rank: bool = False,
    json_: AsJson = False,
    output: Output | None = None,
) -> None:
    """Suggest trees for the sentences of FILE or of standard input, with the posterior of each part.

    MODEL is a constituency parser.  In brackets, ? stands after a label whose posterior is below 0.9, and ?? below 0.5.
    A row of JSON has the number of the sentence, after the name of its file if there are several, the tree, the
    posterior of each constituent (first word, word after the last, label, whether it is a tag), what would stand in its
    place, and the expected number of errors.

    \b
    Examples:
      echo "The cat sat on the mat ." | spectral-latent-annotate suggest wsj.model
      spectral-latent-annotate suggest wsj.model sentences.txt --rank --json -o suggested.jsonl

    rank: write the sentences with the most expected errors first."""
    from spectral_latent_annotate._suggestions import suggest_trees

    if rank and "errors" in files and not Path("errors").exists():
        raise click.UsageError("--rank is by expected errors, and takes no value; leave out `errors`")
    parser = load_for(model, "constituency")
    given = tell_of_tags(read_sentences(files, "text" if text else format_, parser.tokenisation))
    sentences = [sentence for sentence in given.sentences if sentence.sentence.forms]
    suggestions = suggest_trees(parser, [sentence.words for sentence in sentences])
    found = list(zip(sentences, suggestions, strict=True))
    if rank:
        found.sort(key=lambda pair: -pair[1].expected_errors)
    as_json = asks_for_json(json_, output)
    with results(output) as write:
        for sentence, suggestion in found:
            row = {"number": sentence.number, **suggestion.row()} if as_json else {}
            write(f"{json.dumps(row, ensure_ascii=False) if as_json else suggestion.marked.bracketed()}\n")
    message(f"{given.source}: {counted(len(found), 'tree')}")


def check(
    sources: Sources,
    *,
    format_: SourceFormat = None,
    skip_bad: SkipBad = False,
    folds: Annotated[int, Value(type=click.IntRange(2), metavar="N")] = 4,
    first: Count = 100,
    jobs: Jobs = 1,
    output: Output | None = None,
) -> None:
    """List the labels of trees that the rest of the trees makes unlikely.

    The output is a table with a header and tabs, the most doubtful label first: the number of the tree, from 1, the
    words of the constituent, its label and posterior, and the likeliest constituent that would stand in its place.

    \b
    Examples:
      spectral-latent-annotate check trees.mrg
      spectral-latent-annotate check sections/ --first 20 -o doubts.tsv

    folds: the number of parts that are judged by a parser of the others.
    first: the largest number of labels to list."""
    from spectral_latent.constituency import Changes, tagged_words
    from spectral_latent.corpora import constituency_trees
    from spectral_latent.estimation import shown
    from spectral_latent_annotate._suggestions import check_trees

    changes = Changes()
    trees = list(of_each(constituency_trees, sources, changes=changes, form=format_, skip_bad=skip_bad))
    table("Changed in the trees:", changes.table())
    with shown(None) as listener:
        doubts = check_trees(trees, n_folds=folds, jobs=jobs, listener=listener)
    with results(output) as write:
        write("\t".join(_COLUMNS) + "\n")
        for doubt in doubts[:first]:
            words = [word for _, word in tagged_words(trees[doubt.tree])]
            part, (instead, p) = doubt.constituent, doubt.instead
            cells = (str(doubt.tree + 1), f"{part.first + 1}-{part.end}", part.label, f"{doubt.posterior:.3f}")
            other = (instead.label, f"{instead.first + 1}-{instead.end}", f"{p:.3f}")
            write("\t".join((*cells, *other, " ".join(words[part.first : part.end]))) + "\n")
    message(f"{counted(len(doubts), 'doubtful label')} in {counted(len(trees), 'tree')}")


def repair(model: str, file: Annotated[str, Value(metavar="[FILE]")] = "-", *, output: Output | None = None) -> None:
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

    parser = load_for(model, "constituency")
    text, source = read_text(file)
    pairs = []
    for number, line in enumerate(text.splitlines(), start=1):
        words, tab, brackets = line.partition("\t")
        if not tab or not words.split():
            raise CorpusError(f"{source}, line {number}: a line has the words, a tab and a bracket string")
        pairs.append((words.split(), brackets))
    n_changed = 0
    with results(output) as write:
        for each in repair_all(parser, pairs):
            n_changed += bool(each.dropped or each.added)
            write(f"{each.tree.bracketed()}\n")
    message(f"{counted(len(pairs), 'tree')}; {n_changed:,} not as in the brackets")


def annotate(
    trees: str,
    file: Annotated[str, Value(metavar="[TEXT]")] = "",
    *,
    text: FromText = False,
    preset: Literal["fast", "accurate", "best"] = "fast",
    functions: Annotated[bool | None, Value(names=("--functions/--no-functions",))] = None,
    order: Literal["file", "surest", "unsure"] = "file",
    annotator: Annotated[str | None, Value(metavar="NAME")] = None,
    compare: Annotated[str | None, Value(metavar="OTHER")] = None,
    port: Annotated[int, Value(type=click.IntRange(0, 65535), metavar="N")] = 8017,
) -> None:
    """Correct trees on a local page, with a parser that learns from each.

    TREES is a file of bracketed trees, which need not exist; accepted trees are written to it at once, and all other
    text of it stays as it is.  TEXT has the sentences that wait for trees: one tokenised sentence per line, or raw
    text with --text.  TREES.history keeps what every accepted tree replaced.  The address of the page has a token,
    which every request needs; SPECTRAL_LATENT_TOKEN sets it.  docs/annotation.md shows the page.

    \b
    Examples:
      spectral-latent-annotate annotate trees.mrg sentences.txt
      spectral-latent-annotate annotate saga.psd saga.txt --text --order surest --annotator anna

    preset: how the parser is trained, as in `spectral-latent train constituency`.
    functions: whether to learn and suggest function labels, too; by default, if TREES has some.
    order: the next sentence: the next of TEXT, or, of the first 150 that wait, the one with the most or the fewest
        words per expected error.
    annotator: your name, for the history of accepted trees.
    compare: show the agreement with the trees of another annotator.
    port: the port of the page; 0 for any free one."""
    from spectral_latent.constituency import preset as preset_of
    from spectral_latent_annotate._history import BusyError
    from spectral_latent_annotate._project import Project

    try:
        from spectral_latent_annotate._server import serve

        project = Project(trees, _sentences(file, text), preset_of(preset), annotator or "", functions)
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
    for line in project.messages():
        message(line)
    if order != "file":
        project.rank()
    message(f"{counted(project.n_done, 'tree')}, {counted(len(project.items) - project.n_done, 'sentence')} to do")
    click.echo(f"{server.address}  (Ctrl-C ends; everything accepted is saved)")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        project.close()


def _sentences(file: str, is_text: bool) -> list[list[str]]:
    """Read the words of the sentences that wait for trees: those of tokenised lines, or of raw text."""
    from spectral_latent.tokenisation import Tokenisation

    if not file:
        return []
    given = read_sentences([file], "text" if is_text else "tokens", Tokenisation(frozenset()))
    return [sentence.words for sentence in given.sentences if sentence.sentence.forms]


main = CommandGroup(
    "spectral-latent-annotate",
    help="""Make a treebank, with a parser that learns from each of its trees.

    Exit status: 0 for success; 1 for data or models that cannot be used; 2 for a wrong command line.""",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
main.add_command(Command(suggest))
main.add_command(Command(check, sources=(f"SOURCE {SOURCES}",)))
main.add_command(Command(repair))
main.add_command(Command(annotate))
