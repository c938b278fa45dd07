"""`spectral-latent evaluate`."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from spectral_latent.cli.inputs import SOURCES, treebank
from spectral_latent.cli.notes import Notes, quiet_option

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel, Parse, Phrase
    from spectral_latent.evaluation import BracketScores

__all__ = ["Evaluation", "evaluate", "evaluation"]


class Evaluation(NamedTuple):
    """The parses of gold trees' sentences, their scores, and the CPU seconds that they took."""

    parses: list[Parse]
    scores: BracketScores
    seconds: float

    @property
    def fallbacks(self) -> int:
        """How many sentences the grammar could not derive."""
        return sum(parse.is_fallback for parse in self.parses)


def evaluation(model: ConstituencyModel, gold: Sequence[Phrase], notes: Notes) -> Evaluation:
    """Parse and score the sentences of gold trees.

    One of them is parsed before the clock starts, so that what is done once is not counted.

    >>> from spectral_latent.corpora.embedded import embedded_treebank, embedded_truth
    >>> evaluation(embedded_truth(), embedded_treebank(20), Notes(quiet=True)).scores.sentences
    20
    """
    from spectral_latent.constituency import clean
    from spectral_latent.evaluation import score_brackets

    sentences = [list(cleaned.words()) for tree in gold if (cleaned := clean(tree))]
    model.parse(sentences[0])
    start = time.process_time()
    parses = [model.parse(words) for words in notes.progress(sentences, "Parsing")]
    seconds = time.process_time() - start
    scores = score_brackets(zip(gold, (parse.tree for parse in parses), strict=True))
    return Evaluation(parses, scores, seconds)


@click.command(epilog=SOURCES.replace("SOURCE", "GOLD"))
@click.argument("model")
@click.argument("gold", metavar="GOLD...", nargs=-1, required=True)
@click.option(
    "--max-length",
    metavar="N",
    type=click.IntRange(min=1),
    help="Leave out sentences of more words than that, punctuation included.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@quiet_option
def evaluate(model: str, gold: tuple[str, ...], max_length: int | None, as_json: bool, quiet: bool) -> None:
    """Parse the sentences of gold trees and compare.

    Prints precision, recall, F1, exact match and tagging accuracy in percent, as EVALB computes them with
    COLLINS.prm; the number of sentences; how many of them the grammar could not derive (fallbacks); and how many
    were parsed in a second of CPU time.
    """
    from spectral_latent.constituency import ConstituencyModel

    notes = Notes(quiet)
    parser = ConstituencyModel.load(model)
    trees = [tree for tree in notes.progress(treebank(gold), "Reading trees") if _is_short(tree, max_length)]
    if not trees:
        limit = "" if max_length is None else f" of at most {max_length} words"
        raise click.ClickException(f"{' '.join(gold)}: no trees{limit} to evaluate on")
    result = evaluation(parser, trees, notes)
    if result.scores.errors:
        notes.say(f"{result.scores.errors} sentences do not count: without punctuation, by their tags, words differ")
    figures = _figures(result)
    if as_json:
        click.echo(json.dumps(figures))
    else:
        for name, value in figures.items():
            click.echo(
                f"{name.replace('_', ' '):<24}{value:>8.2f}" if isinstance(value, float) else f"{name:<24}{value:>5}"
            )


def _is_short(tree: Phrase, max_length: int | None) -> bool:
    from spectral_latent.constituency import clean

    cleaned = clean(tree)
    return max_length is None or cleaned is None or len(list(cleaned.words())) <= max_length


def _figures(result: Evaluation) -> dict[str, float | int]:
    scores = result.scores
    return {
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "exact": scores.exact,
        "tagging_accuracy": scores.tagging_accuracy,
        "sentences": scores.sentences,
        "fallbacks": result.fallbacks,
        "sentences_per_second": len(result.parses) / max(result.seconds, 1e-9),
    }
