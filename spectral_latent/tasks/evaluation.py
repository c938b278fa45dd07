"""Compare the output of models with gold trees or gold tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from spectral_latent.tasks.sources import dependency_entries, gold_trees, tagged, universal
from spectral_latent.tasks.taggers import LoadedTagger, states_of
from spectral_latent.tasks.watch import RequestError, Watch

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.corpora import Format
    from spectral_latent.dependency import DependencyModel

__all__ = [
    "Figures",
    "Gold",
    "evaluate_phrases",
    "evaluate_sentences",
    "evaluate_states",
    "evaluate_tags",
    "warn_of_unknown_tags",
]

Figures = dict[str, float | int | None]
_T = TypeVar("_T")
_MOST = 10  # tags that a message lists
_NAMED = 5  # tags that a warning names


class Gold(NamedTuple):
    """The gold trees or tags, and the way to compare a model with them.

    watch: shows messages and progress.
    max_length: the largest number of words in a sentence; None for any number.
    column: the column of the tags; None for the column of training.
    universal: whether to map gold tags to universal ones.
    perplexity: whether to compute the perplexity, too.
    non_projective: whether the arcs of parses may cross.
    origin: what a dependency parser is given: words with their tags, words alone, or text, which it divides; all
    columns are scored in the last two cases.
    jobs: the number of processes.
    form: the format of the sources; None to guess it.
    skip_bad: whether to leave out trees in brackets that cannot be read, and count them."""

    file: str
    sources: tuple[str, ...]
    watch: Watch
    max_length: int | None = None
    column: str | None = None
    universal: bool = False
    perplexity: bool = False
    non_projective: bool = False
    origin: Literal["tags", "words", "text"] = "tags"
    jobs: int = 1
    form: Format | None = None
    skip_bad: bool = False

    def _refuse(self, kind: str, *names: str) -> None:
        """Raise RequestError for an option that is not for a kind of model."""
        for name in names:
            if getattr(self, name) != self._field_defaults[name]:
                option = "--from" if name == "origin" else f"--{name.replace('_', '-')}"
                needed, found = _NEEDED[name], f"{self.file} is {kind}"
                raise RequestError(f"{option} is for {needed}, and {found}")

    def _read(self, read: Callable[..., Iterable[_T]], kind: str, length: Callable[[_T], int]) -> list[_T]:
        """Read the examples that are not too long.  Raises CorpusError if there is none."""
        from spectral_latent.constituency import Changes
        from spectral_latent.corpora import CorpusError

        changes = Changes()
        shown = self.watch.bar(read(self.sources, changes=changes, form=self.form), f"Reading {kind}")
        examples = [example for example in shown if self.max_length is None or length(example) <= self.max_length]
        self.watch.table(f"Changed in the gold {kind}:", changes.table())
        if not examples:
            of_at_most = "" if self.max_length is None else f" of at most {self.max_length} words"
            raise CorpusError(f"{' '.join(self.sources)}: no {kind}{of_at_most} to evaluate on")
        return examples

    def _tagged(self, default: str | None = None) -> list[list[tuple[str, str]]]:
        """Read tagged sentences, with the tags of a default column where a source has it."""
        read = universal if self.universal else partial(tagged, column=self.column, default=default)
        return self._read(read, "sentences", len)

    def _with_perplexity(self, figures: Figures, model: Any, sentences: Iterable[Any], lengths: list[int]) -> Figures:
        """Add the perplexity of a model on sentences without trees or tags, if it is wanted."""
        if not self.perplexity:
            return figures
        from spectral_latent.evaluation import Perplexity

        found = Perplexity.of(model.log_probabilities(self.watch.bar(sentences, "Perplexity")), lengths)
        return {**figures, "perplexity": found.value, "impossible": found.impossible}


_NEEDED = {
    "non_projective": "dependency parsers",
    "origin": "dependency parsers",
    "jobs": "parsers",
    "column": "taggers",
    "universal": "taggers",
    "skip_bad": "constituency parsers",
}


def evaluate_phrases(parser: ConstituencyModel, given: Gold) -> Figures:
    """Compare the parses of sentences with gold trees in brackets."""
    from spectral_latent.evaluation import evaluate_parser

    given._refuse("a parser", "column", "universal")
    given._refuse("not one", "non_projective", "origin")
    gold = given._read(partial(gold_trees, skip_bad=given.skip_bad), "trees", lambda tree: len(tree.words))
    evaluation = evaluate_parser(parser, gold, jobs=given.jobs, progress=partial(given.watch.bar, label="Parsing"))
    scores = evaluation.score
    if scores.errors:
        given.watch.message(
            f"{scores.errors} of {scores.sentences} sentences are left out, as in EVALB: a word is punctuation in the "
            f"gold tree but not in the parse, or the reverse"
        )
    words = [tree.words for tree in gold]
    figures: Figures = {
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        **({} if evaluation.function_score is None else {"f1_with_functions": evaluation.function_score.f1}),
        "exact": scores.exact,
        "tagging_accuracy": scores.tagging_accuracy,
        "sentences": scores.sentences,
        "fallbacks": evaluation.fallbacks,
        "sentences_per_second": evaluation.sentences_per_second,
    }
    return given._with_perplexity(figures, parser, words, list(map(len, words)))


def evaluate_sentences(parser: DependencyModel, given: Gold) -> Figures:
    """Compare the parses of sentences with gold dependency trees."""
    from spectral_latent.evaluation import evaluate_columns, evaluate_dependency_parser

    given._refuse("a parser", "column", "universal")
    given._refuse("a dependency parser", "skip_bad")

    def read(*given: Any, **options: Any) -> Iterable[Any]:
        return (entry.sentence for entry in dependency_entries(*given, **options))

    gold = given._read(read, "trees", lambda sentence: len(sentence.forms))
    options: Any = {
        "projective": not given.non_projective,
        "jobs": given.jobs,
        "progress": partial(given.watch.bar, label="Parsing"),
    }
    if given.origin != "tags":
        found = evaluate_columns(parser, gold, origin=given.origin, **options)
        figures: Figures = {
            **found.score,
            "sentences": len(gold),
            "fallbacks": found.fallbacks,
            "sentences_per_second": found.sentences_per_second,
        }
        return given._with_perplexity(figures, parser, gold, [len(sentence.forms) for sentence in gold])
    evaluation = evaluate_dependency_parser(parser, gold, **options)
    unknown_tags = Counter(tag for sentence in gold for tag in parser.unknown_tags(sentence))
    warn_of_unknown_tags(parser, unknown_tags, given.watch)
    score = evaluation.score
    figures = {
        "uas": score.uas,
        "las": score.las if evaluation.has_relations else None,
        "las_universal": score.las_universal if evaluation.has_relations else None,
        "uas_no_punctuation": score.uas_no_punctuation,
        "las_no_punctuation": score.las_no_punctuation if evaluation.has_relations else None,
        "complete": score.complete,
        "nonpositive_share": evaluation.nonpositive_share,
        "sentences": score.sentences,
        "fallbacks": evaluation.fallbacks,
        "sentences_per_second": evaluation.sentences_per_second,
    }
    return given._with_perplexity(figures, parser, gold, [len(sentence.forms) for sentence in gold])


def warn_of_unknown_tags(parser: ConstituencyModel | DependencyModel, unknown: Counter[str], watch: Watch) -> None:
    """Give a warning if words have tags that a parser does not know."""
    if unknown:
        from spectral_latent._options import counted

        own = ", ".join(parser.tags[:_NAMED])
        names = ", ".join(name for name, _ in unknown.most_common(_NAMED))
        column = f"{parser.options.tags} " if parser.kind == "dependency" else ""
        watch.message(
            f"Warning: the parser does not know the tags of {counted(unknown.total(), 'word')}, such as {names}, and "
            f"leaves them open; it learned {column}tags such as {own}"
        )


def evaluate_tags(model: Any, given: Gold) -> Figures:
    """Compare the tags that a tagger finds with gold tags."""
    from spectral_latent.evaluation import evaluate_tagger

    given._refuse("not one", "non_projective", "origin", "jobs", "skip_bad")
    tagger = LoadedTagger.of(model, given.file)
    gold = given._tagged(tagger.column)
    known = {word for sentence in gold for word, _ in sentence if tagger.knows(word)}
    evaluation = evaluate_tagger(model.tag_all, gold, known, progress=partial(given.watch.bar, label="Tagging"))
    unknown_tags = Counter(tag for sentence in gold for _, tag in sentence)
    for tag in tagger.tags:
        unknown_tags.pop(tag, None)
    if unknown_tags:
        given.watch.message(
            f"The tagger does not have these gold tags, which all count as errors: {_counts(unknown_tags)}; "
            f"for another tag set give --column, or --universal"
        )
    score = evaluation.score
    words = [[word for word, _ in sentence] for sentence in gold]
    figures: Figures = {
        "accuracy": score.accuracy,
        "unknown_accuracy": score.unknown_accuracy,
        "known_accuracy": score.known_accuracy,
        "sentences": len(gold),
        "tokens": score.tokens,
        "unknown_tokens": score.unknown,
        "tokens_per_second": evaluation.tokens_per_second,
    }
    return given._with_perplexity(figures, model, words, list(map(len, words)))


def evaluate_states(model: Any, given: Gold) -> Figures:
    """Compare states that have no names with gold tags."""
    from spectral_latent.evaluation import evaluate_tagger, many_to_one, one_to_one, v_measure

    given._refuse("not one", "non_projective", "origin", "jobs", "skip_bad")
    find = states_of(model, given.file)
    gold = given._tagged()
    evaluation = evaluate_tagger(find, gold, (), progress=partial(given.watch.bar, label="Tagging"))
    tags = [tag for sentence in gold for _, tag in sentence]
    states = list(chain.from_iterable(evaluation.tags))
    figures: Figures = {
        "many_to_one": many_to_one(tags, states),
        "one_to_one": one_to_one(tags, states),
        "v_measure": v_measure(tags, states),
        "sentences": len(gold),
        "tokens": len(tags),
        "tokens_per_second": evaluation.tokens_per_second,
    }
    words = [[word for word, _ in sentence] for sentence in gold]
    return given._with_perplexity(figures, model, words, list(map(len, words)))


def _counts(tags: Counter[str]) -> str:
    """List the most frequent tags, each with its count."""
    first = ", ".join(f"{tag} ({count})" for tag, count in tags.most_common(_MOST))
    return first + (f", and {len(tags) - _MOST} more" if len(tags) > _MOST else "")
