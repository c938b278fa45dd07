"""`spectral-latent surprisal`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from itertools import tee
from typing import TYPE_CHECKING, Any, Literal

import click

from spectral_latent.cli.answers import AnswerRequest, answer_options
from spectral_latent.cli.console import Console
from spectral_latent.cli.groups import Command
from spectral_latent.cli.inputs import Input, format_options, read_sentences
from spectral_latent.cli.lists import users_errors
from spectral_latent.cli.models import load_of_prefixes
from spectral_latent.cli.sentences import InputSentence

if TYPE_CHECKING:
    from spectral_latent.corpora import Format
    from spectral_latent.model import Surprisal

__all__ = ["surprisal"]

_HEADER = "sent_id\tnumber\tword\tseen\tsurprisal\tlexical\tsyntactic\tsentence\n"


@click.command(cls=Command)
@click.argument("model")
@click.argument("file", default="-")
@click.option(
    "--unit",
    type=click.Choice(["bits", "nats"]),
    default="bits",
    show_default=True,
    help="The unit of surprisal: logarithms to the base 2, or natural ones.",
)
@format_options
@answer_options
def surprisal(wanted: AnswerRequest, model: str, file: str, unit: Literal["bits", "nats"], form: Format | None) -> None:
    """Compute the surprisal of the words of FILE or of standard input.

    The surprisal of a word is -log p(word | words before it); p is summed over all trees and all continuations of the
    sentence.  MODEL is a parser or a tagger with probabilities, of any preset or estimator but spectral; or a model of
    sequences without tags, by any estimator.  FILE has the formats that `parse` reads.  A dependency parser uses the
    tags in FILE.

    The output is a table with a header, and tabs between its columns.  It has a line for each word: sent_id, number of
    the word, word, seen, surprisal, lexical, syntactic, and sentence.  sent_id is the name of the sentence in rows,
    else its number, or the number of its line.  An empty line has no output.  The syntactic part is the surprisal of
    the tags that the word may have; without tags, it is the surprisal of any further word.  The lexical part is the
    rest.  The column sentence is the surprisal of the whole sentence, all its words and its end.

    The column seen is false for a word that the training data do not have.  It has the surprisal of any unseen word of
    its spelling.  If no sentence begins with the words up to a word, the word has surprisal inf, and so have the words
    after it.  In a sentence beyond the limits of the model, all words have nan.

    With --json, each line is a sentence: sent_id, words, the lists seen, surprisal, lexical and syntactic, end, the
    surprisal of the end of the sentence, and sentence.  In JSON, null stands for inf and nan.

    \b
    Examples:
      echo "The horse raced past the barn fell ." | spectral-latent surprisal wsj.model
      spectral-latent surprisal wsj.model sentences.txt --unit nats -o surprisal.tsv
    """
    console = Console(wanted.quiet)
    reader, tokenisation = load_of_prefixes(model)
    given = read_sentences(file, form, tokenisation, console)
    with wanted.answers(given.unit, console) as answers, users_errors():
        found = _surprisals(reader, given, unit, wanted.jobs)
        for sentence, of_words in console.beside_output.bar(found, "Reading", given.length):
            if wanted.form == "json":
                text = _json(sentence, of_words)
            else:
                text = ("" if answers.sentences else _HEADER) + _table(sentence, of_words)
            answers.add(sentence, text)


def _surprisals(
    reader: Any,
    given: Input,
    unit: Literal["bits", "nats"],
    jobs: int,
) -> Iterator[tuple[InputSentence, Surprisal]]:
    """Compute the surprisal of each sentence; an empty line has none."""
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.model.batches import map_sentences

    with_words = (sentence for sentence in given.sentences if sentence.sentence.forms)
    sentences, read = tee(with_words)
    of_words: Iterable[Any] = (sentence.words for sentence in read)
    if isinstance(reader, DependencyModel):
        of_words = (sentence.sentence.without_tree() for sentence in read)
    found = map_sentences(type(reader).surprisal, reader, of_words, jobs, unit)
    return zip(sentences, found, strict=True)


def _rows(sentence: InputSentence, found: Surprisal) -> Iterator[tuple[Any, ...]]:
    """List the columns of each word."""
    columns = (found.seen.tolist(), found.total.tolist(), found.lexical.tolist(), found.syntactic.tolist())
    for number, (word, *of_word) in enumerate(zip(sentence.forms, *columns, strict=True), start=1):
        yield sentence.sent_id, number, word, *of_word, found.sentence


def _table(sentence: InputSentence, found: Surprisal) -> str:
    """Write a line for each word."""
    return "".join(
        f"{sent_id}\t{number}\t{word}\t{str(seen).lower()}\t" + "\t".join(f"{bits:.6f}" for bits in numbers) + "\n"
        for sent_id, number, word, seen, *numbers in _rows(sentence, found)
    )


def _json(sentence: InputSentence, found: Surprisal) -> str:
    """Write a sentence as a line of JSON, which has no infinite numbers."""

    def finite(numbers: Iterable[float]) -> list[float | None]:
        return [x if math.isfinite(x) else None for x in numbers]

    entry = {
        "sent_id": sentence.sent_id,
        "words": sentence.forms,
        "seen": found.seen.tolist(),
        "surprisal": finite(found.total.tolist()),
        "lexical": finite(found.lexical.tolist()),
        "syntactic": finite(found.syntactic.tolist()),
        "end": finite([found.end])[0],
        "sentence": finite([found.sentence])[0],
    }
    return json.dumps(entry, ensure_ascii=False) + "\n"
