"""`spectral-latent evaluate`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.models import PARSERS, LoadedTagger, load_model, load_states, warn_of_unknown_tags
from spectral_latent.cli.options import (
    column_option,
    jobs_option,
    json_option,
    non_projective_option,
    number_option,
    quiet_option,
)
from spectral_latent.cli.outputs import Figures, figures_table
from spectral_latent.cli.sources import (
    DEPENDENCY_SOURCES,
    SOURCES,
    TAGGED_SOURCES,
    dependency_entries,
    gold_trees,
    tagged,
    universal,
)

if TYPE_CHECKING:
    from spectral_latent.constituency import Changes, ConstituencyModel
    from spectral_latent.dependency import DependencyModel

__all__ = ["evaluate"]

_T = TypeVar("_T")
_Gold = list[list[tuple[str, str]]]
_MOST = 10  # tags that a message lists


@click.command(epilog=f"{SOURCES}\n\n{DEPENDENCY_SOURCES}\n\n{TAGGED_SOURCES}".replace("SOURCE", "GOLD"))
@click.argument("model")
@click.argument("gold", metavar="GOLD...", nargs=-1, required=True)
@number_option(
    "--max-length", "N", "Leave out sentences of more than N words, punctuation included.  [default: all sentences]"
)
@column_option
@click.option(
    "--universal",
    "is_universal",
    is_flag=True,
    help="Map gold tags to the twelve universal ones.",
)
@click.option(
    "--perplexity",
    "with_perplexity",
    is_flag=True,
    help="Also compute the perplexity per word, which takes about as long as parsing or tagging.",
)
@click.option("--unsupervised", is_flag=True, help="Compare states that have no names with gold tags.")
@non_projective_option
@jobs_option
@json_option
@quiet_option
def evaluate(
    model: str,
    gold: tuple[str, ...],
    max_length: int | None,
    column: str | None,
    is_universal: bool,
    with_perplexity: bool,
    unsupervised: bool,
    non_projective: bool,
    jobs: int,
    as_json: bool,
    quiet: bool,
) -> Figures:
    """Compare the output of a model with gold trees or gold tags.

    For a constituency parser: precision, recall, F1, exact match and tagging accuracy in percent, as EVALB computes
    them with COLLINS.prm; F1 of labels with their function labels (f1 with functions), if the model has them; the
    number of sentences; the number of sentences that the grammar could not derive (fallbacks); and the number of
    sentences parsed in a second of CPU time, on all processes together.

    For a dependency parser, in percent: the words with the right head (uas), and with the right head and relation
    (las), of all words and of all words but punctuation; the sentences with all heads right (complete); and the gold
    trees whose estimated probability is not positive (nonpositive share).  Sentences, fallbacks and sentences in a
    second are as above.  The parser is given the tags of GOLD.  There is no las if GOLD or MODEL has no relations.

    For a tagger: accuracy in percent, on all words, on words that were not in its training data (unknown) and on the
    others (known); the number of sentences, words (tokens) and unknown words; and the number of words tagged in a
    second of CPU time.

    With --unsupervised, for models of `train anchor` and hidden Markov models without tags: accuracy in percent if each
    state gets the most frequent gold tag of its words (many to one) and if each tag goes to at most one state (one to
    one), and the V-measure; the number of sentences and words.

    With --perplexity: exp(-log p / words) of the sentences without their trees, and without their tags unless MODEL is
    a dependency parser; and the number of sentences whose estimated probability is not above zero (impossible), which
    the perplexity leaves out.  A word that was never seen counts as its signature.  Perplexities of models with
    different vocabularies can therefore not be compared.

    \b
    Examples:
      spectral-latent evaluate wsj.model nltk:treebank:dev
      spectral-latent evaluate tagger.model dev.conllu --json
    """
    if column is not None and is_universal:
        raise click.UsageError("--universal chooses the column; leave out --column")
    if with_perplexity and unsupervised:
        raise click.UsageError("--perplexity is for parsers and taggers; leave out --unsupervised")
    from spectral_latent.constituency import Changes, ConstituencyModel
    from spectral_latent.dependency import DependencyModel

    console = Console(quiet)
    loaded: Any = load_states(model) if unsupervised else load_model(model, "tagger", "anchors", *PARSERS)
    if non_projective and not isinstance(loaded, DependencyModel):
        raise click.UsageError(f"--non-projective is for dependency parsers, and {model} is not one")
    if jobs > 1 and not isinstance(loaded, ConstituencyModel | DependencyModel):
        raise click.UsageError(f"--jobs is for parsers, and {model} is not one")
    if (column or is_universal) and isinstance(loaded, ConstituencyModel | DependencyModel):
        option = "--universal" if is_universal else "--column"
        raise click.UsageError(f"{option} is for taggers, and {model} is a parser")

    sources = _Sources(gold, max_length, console, Changes())
    if isinstance(loaded, ConstituencyModel):
        figures = _evaluate_parser(loaded, sources, jobs, with_perplexity)
    elif isinstance(loaded, DependencyModel):
        figures = _evaluate_dependency_parser(loaded, sources, not non_projective, jobs, with_perplexity)
    elif unsupervised:
        figures = _evaluate_states(loaded, sources.tagged(column, is_universal), console)
    else:
        tagger = LoadedTagger.of(loaded, model)
        gold_tags = sources.tagged(column, is_universal, tagger.column)
        figures = _evaluate_tagger(tagger, gold_tags, console, loaded if with_perplexity else None)
    click.echo(json.dumps(figures) if as_json else figures_table(figures))
    return figures


class _Sources(NamedTuple):
    """The sources of gold trees or tags.

    names: the names of the sources on the command line.
    limit: the largest number of words in a sentence; None for any number.
    console: shows progress bars, and the changes.
    changes: the changes that readers count.
    """

    names: tuple[str, ...]
    limit: int | None
    console: Console
    changes: Changes

    def read(self, examples: Iterable[_T], kind: str, length: Callable[[_T], int]) -> list[_T]:
        """Read the examples that are not too long.  Raises ClickException if there is none.

        examples: all examples in the sources.
        kind: the name of the examples.
        length: the function that counts the words of an example.
        """
        shown = self.console.bar(examples, f"Reading {kind}")
        examples_of_length = [example for example in shown if self.limit is None or length(example) <= self.limit]
        self.console.table(f"Changed in the gold {kind}:", self.changes.table())
        if not examples_of_length:
            of_at_most = "" if self.limit is None else f" of at most {self.limit} words"
            raise click.ClickException(f"{' '.join(self.names)}: no {kind}{of_at_most} to evaluate on")
        return examples_of_length

    def tagged(self, column: str | None, is_universal: bool, default: str | None = None) -> _Gold:
        """Read tagged sentences.

        column: the column of the tags, if the command line names one.
        is_universal: whether to map the tags to universal ones.
        default: the column of sources that have it; None for upos.
        """
        if is_universal:
            return self.read(universal(self.names, self.changes), "sentences", len)
        return self.read(tagged(self.names, column, default, self.changes), "sentences", len)


def _perplexity(model: Any, sentences: Iterable[Any], lengths: list[int], console: Console) -> Figures:
    """Compute the perplexity of a model on sentences without trees or tags.

    model: a model that has the method `log_probabilities`.
    sentences: the sentences, as that method takes them.
    lengths: the number of words of each sentence.
    console: shows the progress bar.
    """
    from spectral_latent.evaluation import Perplexity

    perplexity = Perplexity.of(model.log_probabilities(console.bar(sentences, "Perplexity")), lengths)
    return {"perplexity": perplexity.value, "impossible": perplexity.impossible}


def _evaluate_parser(parser: ConstituencyModel, sources: _Sources, jobs: int, with_perplexity: bool) -> Figures:
    """Compare the parses of sentences with gold trees in brackets."""
    from spectral_latent.evaluation import evaluate_parser

    gold = sources.read(gold_trees(sources.names, sources.changes), "trees", lambda tree: len(tree.words))
    evaluation = evaluate_parser(parser, gold, jobs=jobs, progress=partial(sources.console.bar, label="Parsing"))
    scores = evaluation.score
    if scores.errors:
        sources.console.message(
            f"{scores.errors} of {scores.sentences} sentences are left out, as in EVALB: a word is punctuation in the "
            f"gold tree but not in the parse, or the reverse"
        )
    words = [tree.words for tree in gold]
    return {
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        **({} if evaluation.function_score is None else {"f1_with_functions": evaluation.function_score.f1}),
        "exact": scores.exact,
        "tagging_accuracy": scores.tagging_accuracy,
        "sentences": scores.sentences,
        "fallbacks": evaluation.fallbacks,
        "sentences_per_second": evaluation.sentences_per_second,
        **(_perplexity(parser, words, list(map(len, words)), sources.console) if with_perplexity else {}),
    }


def _evaluate_dependency_parser(
    parser: DependencyModel, sources: _Sources, projective: bool, jobs: int, with_perplexity: bool
) -> Figures:
    """Compare the parses of sentences with gold dependency trees."""
    from spectral_latent.evaluation import evaluate_dependency_parser

    sentences = (entry.sentence for entry in dependency_entries(sources.names, sources.changes))
    gold = sources.read(sentences, "trees", lambda sentence: len(sentence.forms))
    evaluation = evaluate_dependency_parser(
        parser,
        gold,
        projective=projective,
        jobs=jobs,
        progress=partial(sources.console.bar, label="Parsing"),
    )
    unknown_tags = Counter(tag for sentence in gold for tag in parser.unknown_tags(sentence))
    warn_of_unknown_tags(parser, unknown_tags, sources.console)
    score = evaluation.score
    lengths = [len(sentence.forms) for sentence in gold]
    return {
        "uas": score.uas,
        "las": score.las if evaluation.has_relations else None,
        "uas_no_punctuation": score.uas_no_punctuation,
        "las_no_punctuation": score.las_no_punctuation if evaluation.has_relations else None,
        "complete": score.complete,
        "nonpositive_share": evaluation.nonpositive_share,
        "sentences": score.sentences,
        "fallbacks": evaluation.fallbacks,
        "sentences_per_second": evaluation.sentences_per_second,
        **(_perplexity(parser, gold, lengths, sources.console) if with_perplexity else {}),
    }


def _evaluate_states(tag: Callable[[list[list[str]]], list[list[str]]], gold: _Gold, console: Console) -> Figures:
    """Compare states with gold tags."""
    from spectral_latent.evaluation import evaluate_tagger, many_to_one, one_to_one, v_measure

    evaluation = evaluate_tagger(tag, gold, (), progress=partial(console.bar, label="Tagging"))
    tags = [tag for sentence in gold for _, tag in sentence]
    states = list(chain.from_iterable(evaluation.tags))
    return {
        "many_to_one": many_to_one(tags, states),
        "one_to_one": one_to_one(tags, states),
        "v_measure": v_measure(tags, states),
        "sentences": len(gold),
        "tokens": len(tags),
        "tokens_per_second": evaluation.tokens_per_second,
    }


def _evaluate_tagger(tagger: LoadedTagger, gold: _Gold, console: Console, model: Any) -> Figures:
    """Compare the tags that a tagger finds with gold tags.

    tagger: the tagger to evaluate.
    gold: the sentences with the right tags.
    console: prints messages.
    model: the model of the tagger, if its perplexity is wanted; else None.
    """
    from spectral_latent.evaluation import evaluate_tagger

    known = {word for sentence in gold for word, _ in sentence if tagger.knows(word)}
    evaluation = evaluate_tagger(tagger.model.tag_all, gold, known, progress=partial(console.bar, label="Tagging"))
    unknown_tags = Counter(tag for sentence in gold for _, tag in sentence)
    for tag in tagger.tags:
        unknown_tags.pop(tag, None)
    if unknown_tags:
        console.message(
            f"The tagger does not have these gold tags, which all count as errors: {_counts(unknown_tags)}; "
            f"for another tag set give --column, or --universal"
        )
    score = evaluation.score
    words = [[word for word, _ in sentence] for sentence in gold]
    return {
        "accuracy": score.accuracy,
        "unknown_accuracy": score.unknown_accuracy,
        "known_accuracy": score.known_accuracy,
        "sentences": len(gold),
        "tokens": score.tokens,
        "unknown_tokens": score.unknown,
        "tokens_per_second": evaluation.tokens_per_second,
        **(_perplexity(model, words, list(map(len, words)), console) if model is not None else {}),
    }


def _counts(tags: Counter[str]) -> str:
    """List the most frequent tags, each with its count.

    >>> _counts(Counter("aab"))
    'a (2), b (1)'
    """
    first = ", ".join(f"{tag} ({count})" for tag, count in tags.most_common(_MOST))
    return first + (f", and {len(tags) - _MOST} more" if len(tags) > _MOST else "")
