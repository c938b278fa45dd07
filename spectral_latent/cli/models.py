"""Read models from files, for the commands that use them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from spectral_latent.cli.console import Console

if TYPE_CHECKING:
    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.sequence import LatentTagger
    from spectral_latent.tokenisation import Tokenisation

__all__ = [
    "PARSERS",
    "LoadedTagger",
    "load_model",
    "load_of_prefixes",
    "load_parser",
    "load_states",
    "load_tagger",
    "warn_of_unknown_tags",
    "with_limits",
]

PARSERS = ("constituency", "dependency")
_NAMED = 5  # the largest number of tags that a warning names

# For each kind of model: its name in messages, and the advice if the command needs another kind.
_KINDS = {
    "constituency": ("a parser", "use it with `spectral-latent parse`, `score` or `evaluate`"),
    "dependency": ("a dependency parser", "use it with `spectral-latent parse`, `score` or `evaluate`"),
    "tagger": ("a tagger", "use it with `spectral-latent tag` or `evaluate`"),
    "hmm": ("a model of sequences without tags", "use it with `surprisal` or `evaluate --unsupervised`, or in Python"),
    "anchors": (
        "an anchor model",
        "use it with `spectral-latent tag`, `anchors` or `evaluate --unsupervised`; with labels, which `anchors` gives "
        "it, it is a tagger",
    ),
    "automaton": ("a weighted automaton", "use it in Python"),
    "reranker": ("a reranker", "use it with `spectral-latent rerank`, or with `parse --rerank`"),
    "tree": ("a model of trees given as graphs", "use it in Python"),
}


def load_model(file: str, *kinds: str) -> Any:
    """Read a model; the file is read once.

    file: the file of the model.
    kinds: the kinds of model that the command can use, the usual one first.

    Raises ModelFileError for a file that is not a whole model, and for a model of another kind.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spectral_latent import LatentTagger
    >>> with TemporaryDirectory() as folder:
    ...     file = str(Path(folder, "model"))
    ...     LatentTagger.train([[("dogs", "N"), ("bark", "V")]]).save(file)
    ...     load_model(file, "tagger").tags
    ['N', 'V']
    """
    from spectral_latent._load import make_model
    from spectral_latent.files import ModelFileError, opened_model

    with opened_model(file) as (arrays, settings):
        kind = str(settings.get("kind"))
        if kind not in kinds:
            name, remedy = _KINDS.get(kind, (f"a {kind} model", "train it again"))
            raise ModelFileError(f"{name}, where {_KINDS[kinds[0]][0]} is needed; {remedy}")
        return make_model(arrays, settings)


def load_parser(file: str) -> ConstituencyModel | DependencyModel:
    """Read a parser; errors are as for `load_model`.

    file: the file of the model.
    """
    parser: ConstituencyModel | DependencyModel = load_model(file, *PARSERS)
    return parser


def load_of_prefixes(file: str) -> tuple[Any, Tokenisation]:
    """Read a model that has probabilities of prefixes: a parser, a tagger, or a model of sequences of words.

    file: the file of the model.

    Returns the model, and the way to divide raw text into its sentences and words.

    Raises ModelFileError as `load_model`, and for a model of sequences whose observations are not strings.
    """
    from spectral_latent.files import ModelFileError
    from spectral_latent.sequence import LatentHMM
    from spectral_latent.tokenisation import Tokenisation

    model = load_model(file, *PARSERS, "tagger", "hmm")
    if not isinstance(model, LatentHMM):
        return model, model.tokenisation
    known = model.observations.known
    if wrong := [word for word in known if not isinstance(word, str)]:
        raise ModelFileError(f"{file}: the observation {wrong[0]!r} is not a string; use the model in Python")
    return model, Tokenisation(frozenset(map(str, known)))


def warn_of_unknown_tags(parser: DependencyModel, unknown: Counter[str], console: Console) -> None:
    """Print a warning if words have tags that a parser does not know.

    parser: the loaded parser.
    unknown: the number of words with each tag that the parser does not know.
    console: prints the warning.
    """
    if unknown:
        own = ", ".join(parser.grammar.tags[:_NAMED])
        names = ", ".join(name for name, _ in unknown.most_common(_NAMED))
        console.message(
            f"Warning: the parser does not know the tags of {unknown.total()} words, such as {names}, and does not use "
            f"them; it learned {parser.options.tags} tags such as {own}"
        )


def with_limits(parser: ConstituencyModel | DependencyModel, **limits: Any) -> ConstituencyModel | DependencyModel:
    """Replace the limits of the time and memory of a sentence.

    parser: the loaded parser.
    limits: values of fields of `grammar.Limits`; None for the value that the model has.
    """
    given = {name: limit for name, limit in limits.items() if limit is not None}
    return parser.with_limits(replace(parser.options.limits, **given)) if given else parser


class LoadedTagger(NamedTuple):
    """A tagger whose tags are strings.

    model: the tagger itself, or an anchor model with labels.
    tags: all tags that the tagger knows.
    knows: the function that tells whether a word was in the training data.
    column: the column of the tags in the training data; None if it is not known.
    """

    model: LatentTagger | AnchorHMM
    tags: list[str]
    knows: Callable[[str], bool]
    column: str | None = None

    def tag_all(self, batches: Iterable[list[list[str]]], jobs: int) -> Iterator[list[list[str]]]:
        """Find the tags of the sentences of each batch, in order.

        batches: sentences that are tagged at once.
        jobs: the number of processes, which does not change the tags.
        """
        from spectral_latent.model.batches import map_sentences

        return map_sentences(_tags_of, self.model, batches, jobs)

    @staticmethod
    def of(model: LatentTagger | AnchorHMM, file: str) -> LoadedTagger:
        """Make a tagger of a model.

        model: a tagger, or an anchor model with labels.
        file: the file of the model, for messages.

        Raises ModelFileError for a model without labels, and for a tag that is not a string.
        """
        from spectral_latent.anchors import AnchorHMM
        from spectral_latent.files import ModelFileError

        if isinstance(model, AnchorHMM):
            if model.labels is None:
                raise ModelFileError(
                    f"{file}: an anchor model without labels, where a tagger is needed; use it with `evaluate "
                    f"--unsupervised`, or give it labels with `spectral-latent anchors`"
                )
            words = frozenset(model.words)
            tags: Any = list(model.labels)
            tagger = LoadedTagger(model, tags, lambda word: word.lower() in words)
        else:
            tags = model.tags
            tagger = LoadedTagger(model, tags, frozenset(model.observations.known).__contains__, model.tagset)
        if wrong := [tag for tag in tagger.tags if not isinstance(tag, str)]:
            raise ModelFileError(f"{file}: the tag {wrong[0]!r} is not a string; use the model in Python")
        return tagger


def _tags_of(model: LatentTagger | AnchorHMM, sentences: list[list[str]]) -> list[list[str]]:
    """Find the tags of sentences."""
    return list(model.tag_all(sentences))


def load_tagger(file: str) -> LoadedTagger:
    """Read a tagger; the tags of an anchor model without labels are the names of its anchors.

    file: the file of the model.

    Raises ModelFileError as `load_model`, and for a tag that is not a string.
    """
    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.anchors.model import anchor_names

    model = load_model(file, "tagger", "anchors")
    if isinstance(model, AnchorHMM) and model.labels is None:
        model = replace(model, labels=tuple(anchor_names(model)))
    return LoadedTagger.of(model, file)


def load_states(file: str) -> Callable[[list[list[str]]], list[list[str]]]:
    """Read a model with states, and return the function that finds the states of sentences, as texts of numbers.

    file: the file of the model.

    Raises ModelFileError as `load_model`, and for a model without states.
    """
    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.files import ModelFileError

    model: Any = load_model(file, "hmm", "anchors")
    if isinstance(model, AnchorHMM):
        states = replace(model, labels=None).tag_all
    else:
        try:
            states = model.tagger.tag_all
        except ValueError as error:
            raise ModelFileError(f"{file}: {error}") from None
    return lambda sentences: [[str(state) for state in row] for row in states(sentences)]
