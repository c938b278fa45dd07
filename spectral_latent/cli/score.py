"""`spectral-latent score`."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spectral_latent.cli.answers import asks_for_json
from spectral_latent.cli.inputs import load_for
from spectral_latent.cli.options import AsJson, Command, Files, InputFormat, Jobs, Output, SkipBad, function_for
from spectral_latent.cli.outputs import bar, results, table
from spectral_latent.cli.sentences import read_text

_AT_ONCE = 100  # the number of trees that are scored at once


def score(
    model: str,
    files: Files = ("-",),
    *,
    format_: InputFormat = None,
    json_: AsJson = False,
    output: Output | None = None,
    jobs: Jobs = 1,
    **of_kind: Any,
) -> None:
    """Score the trees of FILE or of standard input.

    A constituency parser scores trees in brackets, a dependency parser trees in CoNLL-U or CoNLL-X.  The
    output has a line `log|p| TAB sign` for each tree: the natural logarithm of the absolute value of its estimated
    probability, and the sign of the estimate, 1, -1 or 0.  It is -inf (null in JSON) for a tree that the model does not
    derive, and nan (null in JSON) for a tree beyond the limit of words, with a warning.  JSON has the number
    of each tree, after the name of its file if there are several.

    \b
    Example:
      spectral-latent score wsj.model trees.mrg"""
    from spectral_latent.constituency import Changes
    from spectral_latent.model.batches import map_sentences

    parser = load_for(model)
    read = function_for(parser.kind, model, of_kind)
    changes = Changes()
    trees: list[Any] = []
    numbers: list[int | str] = []
    for file in files:
        of_file = list(read(file, changes, format_, **of_kind))
        trees += of_file
        numbers += [f"{Path(file).name}:{n}" if len(files) > 1 else n for n in range(1, len(of_file) + 1)]
    table("Changed in the trees:", changes.table())
    batches = [trees[first : first + _AT_ONCE] for first in range(0, len(trees), _AT_ONCE)]
    scores = map_sentences(type(parser).score, parser, batches, jobs)
    found = ((log, int(sign)) for each in scores for log, sign in zip(each.log.tolist(), each.sign, strict=True))
    as_json = asks_for_json(json_, output)
    with results(output) as write:
        shown = bar(found, "Scoring", len(trees), beside_output=True)
        for number, (log, sign) in zip(numbers, shown, strict=True):
            entry = {"tree": number, "log": log if math.isfinite(log) else None, "sign": sign}
            write(f"{json.dumps(entry)}\n" if as_json else f"{log:.6f}\t{sign}\n")


def read_phrases(file: str, changes: Any, form: Any, *, skip_bad: SkipBad = False) -> Iterator[Any]:
    """Read trees in brackets."""
    from spectral_latent.corpora.sources import phrases_of_text

    return phrases_of_text(*read_text(file), changes, form, skip_bad=skip_bad)


def read_sentences(file: str, changes: Any, form: Any) -> Iterator[Any]:
    """Read dependency trees with one root each."""
    from spectral_latent.corpora.sources import entries_of_text

    return (entry.rooted().sentence for entry in entries_of_text(*read_text(file), changes, form))


COMMAND = Command(score, {"constituency": read_phrases, "dependency": read_sentences})
