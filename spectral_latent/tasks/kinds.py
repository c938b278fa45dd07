"""List the kinds of models: their classes, and what each task does with them; and load models of every kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from spectral_latent.tasks.evaluation import (
    Figures,
    Gold,
    evaluate_phrases,
    evaluate_sentences,
    evaluate_states,
    evaluate_tags,
)
from spectral_latent.tasks.inputs import (
    Input,
    InputSentence,
    partial_sentences,
    partial_trees,
    with_phrase_tags,
    with_sentence_tags,
)
from spectral_latent.tasks.taggers import LoadedTagger
from spectral_latent.tasks.training import train_anchors, train_constituency, train_dependency, train_tagger
from spectral_latent.tasks.writing import (
    conllu_text,
    given_sentence,
    given_words,
    phrase_text,
    phrases_to_score,
    sentences_to_score,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.automata import WeightedAutomaton
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.graphs import GraphModel
    from spectral_latent.reranking import Reranker
    from spectral_latent.sequence import LatentHMM, LatentTagger
    from spectral_latent.tokenisation import Tokenisation

    Model: TypeAlias = (
        AnchorHMM
        | ConstituencyModel
        | DependencyModel
        | LatentHMM
        | LatentTagger
        | GraphModel
        | Reranker
        | WeightedAutomaton
    )

__all__ = [
    "KINDS",
    "PARSERS",
    "Kind",
    "load",
    "load_model",
    "load_of_prefixes",
    "load_parser",
    "load_tagger",
    "make_model",
    "with_limits",
]

PARSERS = ("constituency", "dependency")


class Kind(NamedTuple):
    """A kind of model; what a task needs is None if the task is not for the kind.

    model: the name of the class.
    advice: what to use such a model with.
    command: the command of `train`, and the name of the kind in records.
    first: the command to try first with a model.
    known: the function that takes the tags of a sentence, and lists those that a parser does not know.
    item: the function from a sentence of an input to a sentence as the model takes it.
    partial: the reader of sentences whose trees are partly known.
    write: the writer of the trees of a sentence.
    to_score: the reader of trees to score.
    evaluate: the function that compares the model with gold annotation.
    by_states: the function that compares the states of the model with gold tags."""

    room: str
    model: str
    name: str
    advice: str
    command: str = ""
    train: Callable[..., Any] | None = None
    first: str = ""
    trees: Literal["brackets", "conllu"] | None = None
    known: Callable[[InputSentence, Any], InputSentence] | None = None
    item: Callable[[InputSentence], Any] = given_words
    partial: Callable[..., Input] | None = None
    write: Callable[..., str] | None = None
    to_score: Callable[..., Iterator[Any]] | None = None
    evaluate: Callable[[Any, Gold], Figures] | None = None
    by_states: Callable[[Any, Gold], Figures] | None = None


_ECHO = 'echo "The cat sat on the mat ." | spectral-latent'
_OF_PARSERS = "use it with `spectral-latent parse`, `score` or `evaluate`"
KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "constituency": Kind(
            "constituency",
            "ConstituencyModel",
            "a parser",
            _OF_PARSERS,
            command="constituency",
            train=train_constituency,
            first=f"{_ECHO} parse {{}}",
            trees="brackets",
            known=with_phrase_tags,
            partial=partial_trees,
            write=phrase_text,
            to_score=phrases_to_score,
            evaluate=evaluate_phrases,
        ),
        "dependency": Kind(
            "dependency",
            "DependencyModel",
            "a dependency parser",
            _OF_PARSERS,
            command="dependency",
            train=train_dependency,
            first=f"{_ECHO} parse {{}}",
            trees="conllu",
            known=with_sentence_tags,
            item=given_sentence,
            partial=partial_sentences,
            write=conllu_text,
            to_score=sentences_to_score,
            evaluate=evaluate_sentences,
        ),
        "tagger": Kind(
            "sequence",
            "LatentTagger",
            "a tagger",
            "use it with `spectral-latent tag`, `surprisal`, `inspect` or `evaluate`",
            command="tagger",
            train=train_tagger,
            first=f"{_ECHO} tag {{}}",
            evaluate=evaluate_tags,
        ),
        "anchors": Kind(
            "anchors",
            "AnchorHMM",
            "an anchor model",
            "use it with `spectral-latent tag`, `anchors`, `inspect --html`, `evaluate --unsupervised`, or if it "
            "has labels with `evaluate`",
            command="anchor",
            train=train_anchors,
            first="spectral-latent anchors {}",
            evaluate=evaluate_tags,
            by_states=evaluate_states,
        ),
        "hmm": Kind(
            "sequence",
            "LatentHMM",
            "a model of sequences without tags",
            "use it with `surprisal` or `evaluate --unsupervised`, or in Python",
            by_states=evaluate_states,
        ),
        "reranker": Kind(
            "reranking",
            "Reranker",
            "a reranker",
            "use it with `spectral-latent rerank`, or with `parse --rerank`",
        ),
        "automaton": Kind("automata", "WeightedAutomaton", "a weighted automaton", "use it in Python"),
        "tree": Kind("graphs", "GraphModel", "a model of trees given as graphs", "use it in Python"),
    }
)


def load(path: str | os.PathLike[str], *, max_bytes: int | None = None) -> Model:
    """Read a model of any kind from its file.

    path: a file that a model's `save` or the command `spectral-latent train` has written.
    max_bytes: the largest memory of the model's arrays, in bytes: 4 GB if not given.

    A reranker's file does not hold the latent models that it may need; with these, use `Reranker.load`.

    Raises ModelFileError if the file is not a whole model of this version, or a reranker that needs latent models.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spectral_latent import LatentTagger, load
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "tagger")
    ...     LatentTagger.train([[("dogs", "N"), ("bark", "V")]]).save(file)
    ...     load(file).tag(["dogs", "bark"])
    ['N', 'V']
    """
    from spectral_latent.files import MAX_BYTES, open_model

    with open_model(path, max_bytes=MAX_BYTES if max_bytes is None else max_bytes) as (arrays, settings):
        model: Model = make_model(arrays, settings)
        return model


def make_model(arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> Any:
    """Make a model from the contents of its file, which `open_model` reads; the kind decides the class."""
    from spectral_latent.files import ModelFileError

    kind = str(settings.get("kind"))
    if kind not in KINDS:
        raise ModelFileError(f"a model of the unknown kind {kind!r}; train it again")
    room = import_module(f"spectral_latent.{KINDS[kind].room}")
    return getattr(room, KINDS[kind].model).from_contents((arrays, settings))


def load_model(file: str, *kinds: str) -> Any:
    """Read a model of one of several kinds, the usual one first.

    kinds: the kinds of model that the task can use.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from spectral_latent import LatentTagger
    >>> with TemporaryDirectory() as folder:
    ...     file = str(Path(folder, "model"))
    ...     LatentTagger.train([[("dogs", "N"), ("bark", "V")]]).save(file)
    ...     load_model(file, "tagger").tags
    ['N', 'V']
    """
    from spectral_latent.files import ModelFileError, open_model

    with open_model(file) as (arrays, settings):
        kind = str(settings.get("kind"))
        if kind not in kinds:
            found = KINDS.get(kind, Kind("", "", f"a {kind} model", "train it again"))
            usual = [KINDS[each].name for each in kinds if each in (kinds[0], "constituency", "tagger")]
            raise ModelFileError(f"{found.name}, where {' or '.join(usual)} is needed; {found.advice}")
        return make_model(arrays, settings)


def load_parser(file: str) -> ConstituencyModel | DependencyModel:
    """Read a parser."""
    parser: ConstituencyModel | DependencyModel = load_model(file, *PARSERS)
    return parser


def load_of_prefixes(file: str) -> tuple[Any, Tokenisation]:
    """Read a model that has probabilities of prefixes, and its way to divide raw text into sentences and words."""
    from spectral_latent.files import ModelFileError
    from spectral_latent.tokenisation import Tokenisation

    model = load_model(file, *PARSERS, "tagger", "hmm")
    if model.kind != "hmm":
        return model, model.tokenisation
    known = model.observations.known
    if wrong := [word for word in known if not isinstance(word, str)]:
        raise ModelFileError(f"{file}: the observation {wrong[0]!r} is not a string; use the model in Python")
    return model, Tokenisation(frozenset(map(str, known)))


def load_tagger(file: str) -> LoadedTagger:
    """Read a tagger; the tags of an anchor model without labels are the names of its anchors."""
    model = load_model(file, "tagger", "anchors")
    if model.kind == "anchors" and model.labels is None:
        model = replace(model, labels=tuple(model.names))
    return LoadedTagger.of(model, file)


def with_limits(parser: ConstituencyModel | DependencyModel, **limits: Any) -> ConstituencyModel | DependencyModel:
    """Replace the limits of the time and memory of a sentence; None stands for the limit that the model has."""
    given = {name: limit for name, limit in limits.items() if limit is not None}
    return parser.with_limits(replace(parser.options.limits, **given)) if given else parser
