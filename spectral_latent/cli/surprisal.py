"""`spectral-latent surprisal`."""

import csv
import json
import math
from collections.abc import Iterable, Sequence
from functools import partial
from io import StringIO
from typing import Any, Literal

import click

from spectral_latent.cli.answers import Answer, answers, asks_for_json, write_answers
from spectral_latent.cli.inputs import load_for
from spectral_latent.cli.options import AsJson, Command, Files, FromText, InputFormat, Jobs, Output, function_for
from spectral_latent.cli.outputs import bar, results, users_errors
from spectral_latent.cli.sentences import Input, InputSentence, read_sentences, read_text, tell_of_tags
from spectral_latent.kinds import usual_kind

_COLUMNS = ("sent_id", "number", "word", "seen", "surprisal", "lexical", "syntactic", "sentence")


def surprisal(
    model: str,
    files: Files = ("-",),
    *,
    unit: Literal["bits", "nats"] = "bits",
    items: str | None = None,
    by: tuple[str, ...] = (),
    format_: InputFormat = None,
    text: FromText = False,
    json_: AsJson = False,
    output: Output | None = None,
    jobs: Jobs = 1,
) -> None:
    """Compute the surprisal of the words of FILE or of standard input.

    The surprisal of a word is -log p(word | words before it), summed over all trees and continuations.  MODEL is a
    parser or tagger with probabilities, or a hidden Markov model.  The output is a table with a header and tabs;
    docs/surprisal.md describes its columns.

    \b
    Examples:
      echo "The horse raced past the barn fell ." | spectral-latent surprisal wsj.model
      spectral-latent surprisal wsj.model sentences.txt --unit nats -o surprisal.tsv
      spectral-latent surprisal en items.csv --items text --by item --by condition

    unit: bits, or nats, which are 1.44 bits.
    items: the text column of FILE, a CSV or TSV: sentences, or regions of them if --by is given; rows come back with
      characters, words, unseen words and sums.
    by: a column that is the same in all regions of a sentence."""
    if wrong := items is None and [file for file in files if file.lower().endswith((".csv", ".tsv"))]:
        raise click.UsageError(f"{wrong[0]} is a table; name its column of text by --items")
    if (items is None and by) or (items is not None and (format_ or text)):
        raise click.UsageError("--by needs --items, and --format and --text conflict with it")
    loaded = load_for(model)
    read = function_for(loaded.kind, model, {})
    as_json = asks_for_json(json_, output)
    if items is not None:
        _write_items(loaded, model, files, items, by, unit, as_json, output)
        return
    given = read(loaded, model, files, "text" if text else format_)
    given = given._replace(sentences=(each for each in given.sentences if each.sentence.forms))
    ask = partial(_surprisal, unit=unit, has_tags=usual_kind(loaded.kind) == "dependency", as_json=as_json)
    header = "" if as_json else _row(_COLUMNS)
    write_answers(given, answers(ask, loaded, given, jobs, "Reading"), output, header)


def _write_items(
    model: Any, file: str, files: Sequence[str], column: str, by: Sequence[str], unit: Any, as_json: bool, output: Any
) -> None:
    """Write the rows of tables with the sums of surprisal over their regions."""
    from spectral_latent.corpora import parse_table
    from spectral_latent.dependency import DependencySentence
    from spectral_latent.model import surprisal_of_regions

    def ask(words: list[str]) -> Any:
        """Compute the surprisal of words, which have no tags."""
        return model.surprisal(DependencySentence.of(words) if usual_kind(model.kind) == "dependency" else words, unit)

    names: list[str] = []
    with results(output) as write:
        for each in files:
            text, source = read_text(each)
            separator, rows = parse_table(text, source)
            with users_errors(f"{source}: "):
                found = surprisal_of_regions(rows, column, ask, _tokenisation(model, file), by)
                for row in bar(found, "Reading", beside_output=output is None):
                    if as_json:
                        cells = {name: finite(x) if isinstance(x, float) else x for name, x in row.items()}
                        write(json.dumps(cells, ensure_ascii=False) + "\n")
                        continue
                    if not names:
                        names = list(row)
                        write(_row(names, separator))
                    elif names != list(row):
                        raise ValueError("columns that differ from the first table's; give tables with the same")
                    write(_row([f"{x:.6f}" if isinstance(x, float) else x for x in row.values()], separator))


def read_words(model: Any, file: str, files: Sequence[str], form: Any) -> Input:
    """Read the words of sentences, and with a dependency parser their tags."""
    given = read_sentences(files, form, _tokenisation(model, file))
    return given if usual_kind(model.kind) == "dependency" else tell_of_tags(given)


def _tokenisation(model: Any, file: str) -> Any:
    """Find the way to divide raw text, of which a hidden Markov model knows only its observations."""
    if model.kind != "hmm":
        return model.tokenisation
    from spectral_latent.files import ModelFileError
    from spectral_latent.tokenisation import Tokenisation

    known = model.observations.known
    if wrong := [word for word in known if not isinstance(word, str)]:
        raise ModelFileError(f"{file}: the observation {wrong[0]!r} is not a string; use the model in Python")
    return Tokenisation(frozenset(known))


def _surprisal(model: Any, sentences: list[InputSentence], unit: str, has_tags: bool, as_json: bool) -> list[Answer]:
    """Write a row for each word of each sentence, or a line of JSON for each sentence."""
    given = (each.sentence.without_tree() if has_tags else each.words for each in sentences)
    write = _as_json if as_json else _as_rows
    found = (model.surprisal(each, unit) for each in given)
    return [Answer(write(sentence, each)) for sentence, each in zip(sentences, found, strict=True)]


def _as_rows(sentence: InputSentence, found: Any) -> str:
    """Write a row for each word."""
    columns = (found.total, found.lexical, found.syntactic, [found.sentence] * len(found.total))
    rows = zip(sentence.forms, found.seen.tolist(), *columns, strict=True)
    return "".join(
        _row((sentence.sent_id, number, word, str(seen).lower(), *(f"{bits:.6f}" for bits in numbers)))
        for number, (word, seen, *numbers) in enumerate(rows, start=1)
    )


def _as_json(sentence: InputSentence, found: Any) -> str:
    """Write an object for a sentence, with null for numbers that are not finite."""
    columns = {"surprisal": found.total, "lexical": found.lexical, "syntactic": found.syntactic}
    entry = {
        "sent_id": sentence.sent_id,
        "words": sentence.forms,
        "seen": found.seen.tolist(),
        **{name: [finite(number) for number in column.tolist()] for name, column in columns.items()},
        "end": finite(found.end),
        "sentence": finite(found.sentence),
    }
    return json.dumps(entry, ensure_ascii=False) + "\n"


def finite(number: float) -> float | None:
    """Return a number as JSON has it, which has no infinite numbers."""
    return number if math.isfinite(number) else None


def _row(cells: Iterable[object], separator: str = "\t") -> str:
    """Write a row of a table, quoted as the `csv` module, pandas and R read it."""
    row = StringIO()
    csv.writer(row, delimiter=separator, lineterminator="\n").writerow(cells)
    return row.getvalue()


COMMAND = Command(surprisal, dict.fromkeys(("constituency", "dependency", "tagger", "hmm"), read_words))
