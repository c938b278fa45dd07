"""Ask a model about sentences in batches, by one process or several, and write the answers as they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spectral_latent._names import counted
from spectral_latent.cli.outputs import bar, message, results, users_errors
from spectral_latent.cli.sentences import Input, InputSentence
from spectral_latent.kinds import usual_kind

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.dependency import DependencyModel

_FIRST = 20  # the largest number of fallbacks whose numbers are told
_NAMED = 5  # the largest number of tags that a warning names
_LINES = ("tokens", "tagged", "json")  # the formats whose lines are sentences
_JSON = (".jsonl", ".ndjson")  # the endings of JSON lines


class Answer(NamedTuple):
    """What a model answers to a sentence.

    is_fallback: whether a tree of the answer is a fallback.
    unknown: the tags of the sentence that the parser does not know."""

    text: Any
    is_fallback: bool = False
    unknown: Sequence[str] = ()


def asks_for_json(json: bool, output: Path | None) -> bool:
    """Tell whether answers are JSON, which `--json` and the ending of the file's name tell."""
    return json or (output is not None and output.name.lower().removesuffix(".gz").endswith(_JSON))


def answers(
    ask: Callable[[Any, list[InputSentence]], list[Answer]],
    model: Any,
    given: Input,
    jobs: int,
    label: str,
    at_once: int = 32,
) -> Iterator[tuple[InputSentence, Answer]]:
    """Ask a model about each sentence; at the end, tell of fallbacks and of tags that it does not know.

    One process never waits for a pipe with sentences that it could answer, because the writer may wait for the answers.
    The processes that ask also write, because to send what they find would take longer.

    ask: the function from a model and sentences to answers, which other processes can import.
    at_once: the largest number of sentences that are asked about together."""
    from spectral_latent.model.batches import batches_of, map_batches

    kept, read = tee(given.sentences)
    unknown: Counter[str] = Counter()
    fallbacks: list[int | str] = []
    found: Iterator[Answer]
    if jobs == 1:
        found = (answer for batch in batches_of(read, at_once, given.waits) for answer in ask(model, batch))
    else:
        found = map_batches(ask, model, read, jobs)
    try:
        with users_errors():
            for sentence, answer in bar(zip(kept, found, strict=True), label, beside_output=True):
                unknown.update(answer.unknown)
                if answer.is_fallback:
                    fallbacks.append(sentence.number)
                yield sentence, answer
    finally:
        if fallbacks:
            unit = "line" if given.form in _LINES else "sentence"
            rest = f" and {len(fallbacks) - _FIRST:,} more" if len(fallbacks) > _FIRST else ""
            message(
                f"The model finds no tree; the output has a flat one, marked FALLBACK: {unit} "
                f"{', '.join(map(str, fallbacks[:_FIRST]))}{rest}"
            )
        if unknown:
            warn_of_unknown_tags(model, unknown)


def write_answers(
    given: Input, found: Iterable[tuple[InputSentence, Answer]], output: Path | None, header: str = ""
) -> None:
    """Write the answers of an input, to standard output or to a file, which appears whole or not at all.

    header: the names of columns, which stand before the first answer if there is one."""
    n_sentences = n_words = n_fallbacks = 0
    with results(output) as write:
        for sentence, answer in found:
            n_sentences += 1
            n_words += len(sentence.sentence.forms)
            n_fallbacks += answer.is_fallback
            write(header + answer.text)
            header = ""
    if not n_sentences:
        message(f"{given.source}: no sentences")
    if output is not None:
        counts = [counted(n_sentences, "sentence"), counted(n_words, "word")]
        message(f"{output}: {', '.join(counts + [counted(n_fallbacks, 'fallback')] * bool(n_fallbacks))}")


def warn_of_unknown_tags(parser: ConstituencyModel | DependencyModel, unknown: Counter[str]) -> None:
    """Give a warning if words have tags that a parser does not know."""
    if unknown:
        own = ", ".join(parser.tags[:_NAMED])
        names = ", ".join(name for name, _ in unknown.most_common(_NAMED))
        column = f"{parser.options.tags} " if usual_kind(parser.kind) == "dependency" else ""
        message(
            f"Warning: the parser does not know the tags of {counted(unknown.total(), 'word')}, such as {names}, and "
            f"ignores them; it learned {f'{column}tags such as {own}' if own else 'no tags'}"
        )
