"""`spectral-latent surprisal`."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from io import StringIO
from typing import Any, Literal

from spectral_latent.cli.answers import Answer, answers, asks_for_json, write_answers
from spectral_latent.cli.models import load_for
from spectral_latent.cli.options import AnswersFile, AsJson, Command, Files, FromText, InputFormat, Jobs, function_for
from spectral_latent.cli.sentences import Input, InputSentence, read_sentences, tell_of_tags

__all__ = ["COMMAND"]

_COLUMNS = ("sent_id", "number", "word", "seen", "surprisal", "lexical", "syntactic", "sentence")


def surprisal(
    model: str,
    files: Files = ("-",),
    *,
    unit: Literal["bits", "nats"] = "bits",
    format_: InputFormat = None,
    text: FromText = False,
    json_: AsJson = False,
    output: AnswersFile | None = None,
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

    unit: bits, or nats, which are 1.44 bits."""
    loaded = load_for(model)
    read = function_for(loaded.kind, model, {})
    given = _whole(read(loaded, model, files, "text" if text else format_))
    ask = partial(_surprisal, unit=unit, has_tags=loaded.kind == "dependency", as_json=asks_for_json(json_, output))
    found = answers(ask, loaded, given, jobs, "Reading")
    if not asks_for_json(json_, output):
        found = _with_header(found)
    write_answers(given, found, output)


def read_words(model: Any, _file: str, files: Sequence[str], form: Any) -> Input:
    """Read the words of sentences."""
    return tell_of_tags(read_sentences(files, form, model.tokenisation))


def read_tagged(model: Any, _file: str, files: Sequence[str], form: Any) -> Input:
    """Read words with their tags."""
    return read_sentences(files, form, model.tokenisation)


def read_observations(model: Any, file: str, files: Sequence[str], form: Any) -> Input:
    """Read words for a model that may have learnt from anything; it has no way of its own to divide raw text."""
    from spectral_latent.files import ModelFileError
    from spectral_latent.tokenisation import Tokenisation

    known = model.observations.known
    if wrong := [word for word in known if not isinstance(word, str)]:
        raise ModelFileError(f"{file}: the observation {wrong[0]!r} is not a string; use the model in Python")
    return tell_of_tags(read_sentences(files, form, Tokenisation(frozenset(known))))


def _whole(given: Input) -> Input:
    """Leave out sentences without words."""
    return given._replace(sentences=(each for each in given.sentences if each.sentence.forms))


def _with_header(found: Iterable[tuple[InputSentence, Answer]]) -> Iterator[tuple[InputSentence, Answer]]:
    """Write the names of columns before the first answer."""
    header = _row(_COLUMNS)
    for sentence, answer in found:
        yield sentence, answer._replace(text=header + answer.text)
        header = ""


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


def _row(cells: Iterable[object]) -> str:
    """Write a row of a table with tabs, quoted as the `csv` module, pandas and R read it."""
    row = StringIO()
    csv.writer(row, dialect="excel-tab", lineterminator="\n").writerow(cells)
    return row.getvalue()


_KINDS = {"constituency": read_words, "dependency": read_tagged, "tagger": read_words, "hmm": read_observations}
COMMAND = Command(surprisal, _KINDS)
