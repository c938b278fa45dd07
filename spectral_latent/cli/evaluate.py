"""`spectral-latent evaluate`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import click

from spectral_latent.cli.inputs import SOURCES, TAGGED_SOURCES, column_option, gold_trees, tagged, universal
from spectral_latent.cli.models import Tagger, load
from spectral_latent.cli.notes import Notes, quiet_option
from spectral_latent.cli.outputs import Figures, figures_table
from spectral_latent.cli.parse import jobs_option, non_projective_option
from spectral_latent.cli.tables import DEPENDENCY_SOURCES, dependency_entries

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.dependency import DependencyModel

__all__ = ["evaluate"]

_Gold = list[list[tuple[str, str]]]


@click.command(epilog=f"{SOURCES}\n\n{DEPENDENCY_SOURCES}\n\n{TAGGED_SOURCES}".replace("SOURCE", "GOLD"))
@click.argument("model")
@click.argument("gold", metavar="GOLD...", nargs=-1, required=True)
@click.option(
    "--max-length",
    metavar="N",
    type=click.IntRange(min=1),
    help="Leave out sentences of more words than that, punctuation included.",
)
@column_option
@click.option("--universal", "is_universal", is_flag=True, help="Make the twelve universal tags of UPOS, or of NLTK's.")
@click.option("--unsupervised", is_flag=True, help="Compare states that have no names with gold tags.")
@non_projective_option
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@quiet_option
def evaluate(
    model: str,
    gold: tuple[str, ...],
    max_length: int | None,
    column: str | None,
    is_universal: bool,
    unsupervised: bool,
    non_projective: bool,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Parse the sentences of gold trees, or tag those of gold taggings, and compare.

    Of a parser: precision, recall, F1, exact match and tagging accuracy in percent, as EVALB computes them with
    COLLINS.prm; the number of sentences; how many of them the grammar could not derive (fallbacks); and how many
    were parsed in a second of CPU time, whichever process spent it.

    Of a dependency parser: how many words have the right head (uas), and the right relation to it (las), in percent,
    of all words and of those that are not punctuation; how many sentences have all heads right (complete), and how
    many gold trees the model gives a probability that is not positive (nonpositive share), in percent; sentences,
    fallbacks and sentences in a second as above.  Tags are those of GOLD.  There is no las if GOLD or MODEL has no
    relations.

    Of a tagger: accuracy in percent, on all words, on those that it was not trained on (unknown) and on the others
    (known); the number of sentences, words (tokens) and unknown words; and how many words were tagged in a second of
    CPU time.  The gold tags are those of the column that was named in training, where GOLD has it, unless --column
    names another.

    Of states found without tags, with --unsupervised: accuracy in percent if each state has the tag that it meets most
    often (many to one) and if every tag goes to one state at most (one to one), and the V-measure; sentences and
    words.  Models are those of `train anchor`, and hidden Markov models without tags.
    """
    notes = Notes(quiet)
    loaded = load(model)
    if non_projective and not loaded.is_dependency_parser:
        raise click.UsageError(f"--non-projective is for dependency parsers, and {model} is none")
    if jobs > 1 and not loaded.is_parser:
        raise click.UsageError(f"--jobs is for parsers, and {model} is none")
    if column is not None and is_universal:
        raise click.UsageError("--universal chooses the column; leave out --column")
    read = partial(_tagged, gold, column, is_universal, max_length, notes)
    if unsupervised:
        figures = _of_states(loaded.states(), read(), notes)
    elif not loaded.is_parser:
        figures = _of_tagger(loaded.tagger(), read(loaded.column), notes)
    elif column is not None or is_universal:
        raise click.UsageError(
            f"{'--universal' if is_universal else '--column'} is for taggers, and {model} is a parser"
        )
    elif loaded.is_dependency_parser:
        figures = _of_dependency_parser(loaded.dependency_parser(), gold, max_length, not non_projective, jobs, notes)
    else:
        figures = _of_parser(loaded.phrase_parser(), gold, max_length, jobs, notes)
    click.echo(json.dumps(figures) if as_json else figures_table(figures))


def _of_parser(
    parser: ConstituencyModel, sources: tuple[str, ...], limit: int | None, jobs: int, notes: Notes
) -> Figures:
    from spectral_latent.evaluation import evaluate_parser

    trees = notes.progress(gold_trees(sources), "Reading trees")
    gold = [tree for tree in trees if limit is None or len(tree.words) <= limit]
    _require(gold, "trees", sources, limit)
    found = evaluate_parser(parser, gold, jobs=jobs, progress=partial(notes.progress, label="Parsing"))
    scores = found.scores
    if scores.errors:
        notes.say(f"{scores.errors} sentences do not count: without punctuation, by their tags, words differ")
    return {
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "exact": scores.exact,
        "tagging_accuracy": scores.tagging_accuracy,
        "sentences": scores.sentences,
        "fallbacks": found.fallbacks,
        "sentences_per_second": found.sentences_per_second,
    }


def _of_dependency_parser(
    parser: DependencyModel, sources: tuple[str, ...], limit: int | None, projective: bool, jobs: int, notes: Notes
) -> Figures:
    from spectral_latent.evaluation import evaluate_dependency_parser

    sentences = (entry.sentence for entry in notes.progress(dependency_entries(sources), "Reading trees"))
    gold = [sentence for sentence in sentences if limit is None or len(sentence.forms) <= limit]
    _require(gold, "trees", sources, limit)
    found = evaluate_dependency_parser(
        parser, gold, projective=projective, jobs=jobs, progress=partial(notes.progress, label="Parsing")
    )
    score = found.score
    return {
        "uas": score.uas,
        "las": score.las if found.has_relations else None,
        "uas_no_punctuation": score.uas_no_punctuation,
        "las_no_punctuation": score.las_no_punctuation if found.has_relations else None,
        "complete": score.complete,
        "nonpositive_share": found.nonpositive_share,
        "sentences": score.sentences,
        "fallbacks": found.fallbacks,
        "sentences_per_second": found.sentences_per_second,
    }


def _tagged(
    sources: tuple[str, ...],
    column: str | None,
    is_universal: bool,
    limit: int | None,
    notes: Notes,
    default: str | None = None,
) -> _Gold:
    """Gold sentences of at most so many words."""
    found = universal(sources) if is_universal else tagged(sources, column, default)
    sentences = notes.progress(found, "Reading sentences")
    gold = [sentence for sentence in sentences if limit is None or len(sentence) <= limit]
    _require(gold, "sentences", sources, limit)
    return gold


def _of_states(model: Tagger, gold: _Gold, notes: Notes) -> Figures:
    from spectral_latent.evaluation import evaluate_tagger, many_to_one, one_to_one, v_measure

    found = evaluate_tagger(model.tag, gold, (), progress=partial(notes.progress, label="Tagging"))
    tags, states = [tag for sentence in gold for _, tag in sentence], list(chain.from_iterable(found.tags))
    return {
        "many_to_one": many_to_one(tags, states),
        "one_to_one": one_to_one(tags, states),
        "v_measure": v_measure(tags, states),
        "sentences": len(gold),
        "tokens": len(tags),
        "tokens_per_second": found.tokens_per_second,
    }


def _of_tagger(tagger: Tagger, gold: _Gold, notes: Notes) -> Figures:
    from spectral_latent.evaluation import evaluate_tagger

    known = {word for sentence in gold for word, _ in sentence if tagger.knows(word)}
    found = evaluate_tagger(tagger.tag, gold, known, progress=partial(notes.progress, label="Tagging"))
    new = Counter(tag for sentence in gold for _, tag in sentence)
    for tag in tagger.tags:
        new.pop(tag, None)
    if new:
        notes.say(f"Tags that the tagger does not have, and so gets wrong: {_counts(new)}")
    score = found.score
    return {
        "accuracy": score.accuracy,
        "unknown_accuracy": score.unknown_accuracy,
        "known_accuracy": score.known_accuracy,
        "sentences": len(gold),
        "tokens": score.tokens,
        "unknown_tokens": score.unknown,
        "tokens_per_second": found.tokens_per_second,
    }


def _require(gold: Sequence[object], kind: str, sources: Iterable[str], limit: int | None) -> None:
    """Raise ClickException if there is nothing."""
    if not gold:
        of_at_most = "" if limit is None else f" of at most {limit} words"
        raise click.ClickException(f"{' '.join(sources)}: no {kind}{of_at_most} to evaluate on")


def _counts(tags: Counter[str]) -> str:
    """The most frequent, each with its count.

    >>> _counts(Counter("aab"))
    'a (2), b (1)'
    """
    most = 10
    first = ", ".join(f"{tag} ({count})" for tag, count in tags.most_common(most))
    return first + (f", and {len(tags) - most} more" if len(tags) > most else "")
