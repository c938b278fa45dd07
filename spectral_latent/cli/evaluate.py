"""`spectral-latent evaluate`."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import click

from spectral_latent.cli.answers import warn_of_unknown_tags
from spectral_latent.cli.inputs import load_for, of_each, universal
from spectral_latent.cli.options import (
    DEPENDENCY_SOURCES,
    PARTS,
    SOURCES,
    TAGGED_SOURCES,
    AsJson,
    Command,
    Count,
    Jobs,
    SkipBad,
    SourceFormat,
    Value,
    function_for,
)
from spectral_latent.cli.outputs import bar, figures_table, message, table
from spectral_latent.cli.tag import tags_of, with_tags_of_words

Figures: TypeAlias = dict[str, float | int | None]
Column: TypeAlias = Annotated[
    Literal["upos", "xpos", "universal"] | None,
    Value("The column of CoNLL-U with the tags, or universal tags.  [default: that of training]"),
]
_T = TypeVar("_T")
_MOST = 10  # tags that a message lists


@dataclass
class Gold:
    """Gold annotation to compare a model with.

    file: the name of the model in messages.
    max_length: the largest number of words of a sentence; None for any number.
    form: the format of the sources; None to guess it."""

    file: str
    sources: Sequence[str]
    max_length: int | None = None
    form: Any = None

    def read(self, read: Callable[..., Iterable[_T]], kind: str, length: Callable[[_T], int]) -> list[_T]:
        """Read the examples that are not too long.  Raises CorpusError if there is none."""
        from spectral_latent.constituency import Changes
        from spectral_latent.corpora import CorpusError

        changes = Changes()
        shown = bar(of_each(read, self.sources, changes=changes, form=self.form), f"Reading {kind}")
        examples = [example for example in shown if self.max_length is None or length(example) <= self.max_length]
        table(f"Changed in the gold {kind}:", changes.table())
        if not examples:
            of_at_most = "" if self.max_length is None else f" of at most {self.max_length} words"
            raise CorpusError(f"{' '.join(self.sources)}: no {kind}{of_at_most} to evaluate on")
        return examples

    def tagged(self, column: str | None, default: str | None = None) -> list[list[tuple[str, str]]]:
        """Read tagged sentences, with the tags of a default column where a source has it."""
        from spectral_latent.corpora import tagged_sentences

        of_column = partial(tagged_sentences, column=column, default=default)
        return self.read(universal if column == "universal" else of_column, "sentences", len)


def evaluate(
    model: str,
    gold: Annotated[tuple[str, ...], Value(metavar="GOLD...")],
    *,
    format_: SourceFormat = None,
    max_length: Count | None = None,
    perplexity: bool = False,
    json_: AsJson = False,
    **of_kind: Any,
) -> None:
    """Compare the output of a model with gold trees or gold tags.

    A constituency parser gets precision, recall and F1 as EVALB counts them, a dependency parser attachment scores, and
    a tagger accuracies, in percent; the states of a model without labels are compared with gold tags.
    docs/command_line.md explains all figures.

    \b
    Examples:
      spectral-latent evaluate wsj.model nltk:treebank:dev
      spectral-latent evaluate tagger.model dev.conllu --json

    max_length: leave out sentences of more than N words.
    perplexity: also compute the perplexity per word."""
    loaded = load_for(model)
    figures, sentences = function_for(loaded.kind, model, of_kind)(
        loaded, Gold(model, gold, max_length, format_), **of_kind
    )
    if perplexity:
        from spectral_latent.evaluation import measure_perplexity

        lengths = [len(getattr(each, "forms", each)) for each in sentences]
        found = measure_perplexity(loaded.log_probabilities(bar(sentences, "Perplexity")), lengths)
        figures |= zip(("perplexity", "impossible"), found, strict=True)
    click.echo(json.dumps(figures) if json_ else figures_table(figures))


# Each kind has a function that gives figures, and the sentences without trees or tags.


def evaluate_phrases(
    parser: Any, given: Gold, *, skip_bad: SkipBad = False, jobs: Jobs = 1
) -> tuple[Figures, Sequence[Any]]:
    """Compare the parses of sentences with gold trees in brackets."""
    from spectral_latent.corpora import constituency_trees
    from spectral_latent.evaluation import evaluate_parser
    from spectral_latent.reranking import words_of

    gold = given.read(partial(constituency_trees, skip_bad=skip_bad), "trees", lambda tree: len(words_of(tree)))
    evaluation = evaluate_parser(parser, gold, jobs=jobs, progress=partial(bar, label="Parsing"))
    scores = evaluation.score
    if scores.errors:
        message(
            f"{scores.errors} of {scores.sentences} sentences are left out, as in EVALB: a word is punctuation in the "
            f"gold tree but not in the parse, or the reverse"
        )
    figures = _named(scores, "precision", "recall", "f1")
    if evaluation.function_score is not None:
        figures["f1_with_functions"] = evaluation.function_score.f1
    figures |= _named(scores, "exact", "tagging_accuracy", "sentences")
    return figures | _named(evaluation, "fallbacks", "sentences_per_second"), list(map(words_of, gold))


def _named(scores: Any, *names: str) -> Figures:
    """Take figures by their names."""
    return {name: getattr(scores, name) for name in names}


def evaluate_arcs(
    parser: Any,
    given: Gold,
    *,
    from_: Literal["tags", "words", "text"] = "tags",
    non_projective: bool = False,
    jobs: Jobs = 1,
) -> tuple[Figures, Sequence[Any]]:
    """Compare the parses of sentences with gold dependency trees.

    from_: what a dependency parser is given; without tags, all columns are scored.
    non_projective: find trees whose arcs may cross."""
    from spectral_latent.corpora import dependency_trees
    from spectral_latent.evaluation import evaluate_columns, evaluate_dependency_parser

    gold = given.read(dependency_trees, "trees", lambda sentence: len(sentence.forms))
    options: Any = {"projective": not non_projective, "jobs": jobs, "progress": partial(bar, label="Parsing")}
    found: Any
    if from_ != "tags":
        found = evaluate_columns(parser, gold, origin=from_, **options)
        figures: Figures = {**found.score, "sentences": len(gold)}
    else:
        found = evaluate_dependency_parser(parser, gold, **options)
        warn_of_unknown_tags(parser, Counter(tag for sentence in gold for tag in parser.unknown_tags(sentence)))
        names = ("uas", "las", "las_universal", "uas_no_punctuation", "las_no_punctuation", "complete")
        figures = _named(found.score, *names)
        if not found.has_relations:
            figures |= {name: None for name in names if name.startswith("las")}
        figures |= _named(found.score, "sentences")
    return figures | _named(found, "fallbacks", "sentences_per_second"), gold


def evaluate_tags(model: Any, given: Gold, *, column: Column = None) -> tuple[Figures, Sequence[Any]]:
    """Compare the tags that a tagger finds with gold tags."""
    from spectral_latent.evaluation import evaluate_tagger

    with_tags_of_words(model, given.file)
    if model.kind == "anchors":
        known, default = set(model.words), None
    else:
        known, default = set(model.observations.known), model.tagset
    gold = given.tagged(column, default)
    words = {word for sentence in gold for word, _ in sentence}
    known = {word for word in words if (word.lower() if model.kind == "anchors" else word) in known}
    evaluation = evaluate_tagger(model.tag_all, gold, known, progress=partial(bar, label="Tagging"))
    own = set(tags_of(model))
    strange = Counter(tag for sentence in gold for _, tag in sentence if tag not in own)
    if strange:
        first = ", ".join(f"{tag} ({count})" for tag, count in strange.most_common(_MOST))
        more = f", and {len(strange) - _MOST} more" if len(strange) > _MOST else ""
        message(
            f"The tagger does not have these gold tags, which all count as errors: {first}{more}; for another tag set "
            f"give --column"
        )
    figures = _named(evaluation.score, "accuracy", "unknown_accuracy", "known_accuracy")
    figures |= {"sentences": len(gold), "tokens": evaluation.score.tokens, "unknown_tokens": evaluation.score.unknown}
    return figures | _named(evaluation, "tokens_per_second"), [[word for word, _ in sentence] for sentence in gold]


def evaluate_anchors(model: Any, given: Gold, *, column: Column = None) -> tuple[Figures, Sequence[Any]]:
    """Compare the labels of an anchor model with gold tags, or its states if they have no labels."""
    return (evaluate_states if model.labels is None else evaluate_tags)(model, given, column=column)


def evaluate_states(model: Any, given: Gold, *, column: Column = None) -> tuple[Figures, Sequence[Any]]:
    """Compare states that have no names with gold tags."""
    from spectral_latent.evaluation import evaluate_tagger, many_to_one, one_to_one, v_measure
    from spectral_latent.files import ModelFileError

    try:
        states = replace(model, labels=None).tag_all if model.kind == "anchors" else model.tagger.tag_all
    except ValueError as error:
        raise ModelFileError(f"{given.file}: {error}") from None

    def find(sentences: list[list[str]]) -> list[list[str]]:
        return [[str(state) for state in row] for row in states(sentences)]

    gold = given.tagged(column)
    evaluation = evaluate_tagger(find, gold, (), progress=partial(bar, label="Tagging"))
    tags = [tag for sentence in gold for _, tag in sentence]
    found = list(chain.from_iterable(evaluation.tags))
    figures: Figures = {each.__name__: each(tags, found) for each in (many_to_one, one_to_one, v_measure)}
    figures |= {"sentences": len(gold), "tokens": len(tags)}
    return figures | _named(evaluation, "tokens_per_second"), [[word for word, _ in sentence] for sentence in gold]


KINDS: dict[str, Callable[..., tuple[Figures, Sequence[Any]]]] = {
    "tagger": evaluate_tags,
    "constituency": evaluate_phrases,
    "dependency": evaluate_arcs,
    "anchors": evaluate_anchors,
    "hmm": evaluate_states,
}
COMMAND = Command(
    evaluate, KINDS, sources=(f"GOLD {SOURCES}", f"GOLD {DEPENDENCY_SOURCES}", f"GOLD {TAGGED_SOURCES}", PARTS)
)
