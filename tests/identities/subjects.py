"""Models to be asked, and what each kind of model calls its inputs, its parts and its constraints."""

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any, NamedTuple

from spectral_latent.constituency import (
    Binarisation,
    ConstituencyModel,
    ConstituencyOptions,
    PhraseConstraints,
    list_constituents,
)
from spectral_latent.dependency import (
    Attachment,
    DependencyConstraints,
    DependencyModel,
    DependencyOptions,
    DependencySentence,
)
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence import LatentTagger, TaggerOptions
from tests.conformance.treebank import DEPENDENCIES, PHRASES, TAGGED

EM = EstimatorOptions("clusters-em", n_states=3, iterations=4)
SPECTRAL = EstimatorOptions("spectral", n_states=2)
SENTENCES = [
    ["he", "sees", "it"],
    ["the", "cat", "sleeps"],
    ["the", "zebra", "sleeps"],  # a word that was never seen
    ["she", "likes", "the", "dog"],
    ["it", "sleeps", "in", "the", "garden"],
    ["the", "dog", "sees", "a", "saw"],
]
Part = Hashable
Parts = dict[Part, float]


class Subject(NamedTuple):
    """A model, and how it is asked.

    make: trains the model.
    given: the input of words.
    parts: the parts of a tree, each of which has a posterior.
    posteriors: the posteriors of all parts that the trees of words may have.
    requiring: the constraints on n words that require a part.
    words: the words of a tree.
    """

    name: str
    make: Callable[[], Any]
    given: Callable[[Sequence[str]], Any]
    parts: Callable[[Any], set[Part]]
    posteriors: Callable[[Any, Sequence[str]], Parts]
    requiring: Callable[[Any, int], Any]
    words: Callable[[Any], list[str]]

    @property
    def model(self) -> Any:
        """The model, which is trained once."""
        return _made(self.make)


_made = cache(lambda make: make())


def _phrases(name: str, *options: ConstituencyOptions) -> Subject:
    return Subject(
        f"phrases, {name}",
        lambda: ConstituencyModel.train(PHRASES, list(options)),
        list,
        lambda tree: set(list_constituents(tree)),
        lambda model, words: model.posteriors(words),
        _require_constituent,
        lambda tree: list(tree.words()),
    )


def _require_constituent(part: Any, n: int) -> PhraseConstraints:
    if part.is_tag:
        return PhraseConstraints(tags={part.first: part.label})
    return PhraseConstraints([(part.first, part.end, part.label)])


def _arcs(name: str, *options: DependencyOptions) -> Subject:
    def posteriors(model: DependencyModel, words: Sequence[str]) -> Parts:
        matrix = model.posteriors(DependencySentence.of(words))
        return {
            (head, word + 1): float(matrix[head, word]) for head in range(len(words) + 1) for word in range(len(words))
        }

    return Subject(
        f"arcs, {name}",
        lambda: DependencyModel.train(DEPENDENCIES, list(options)),
        DependencySentence.of,
        lambda tree: {(head, word) for word, head in enumerate(tree.heads, start=1)},
        posteriors,
        lambda part, n: DependencyConstraints({part[1]: part[0]}),
        lambda tree: list(tree.forms),
    )


def _tags(name: str, options: TaggerOptions) -> Subject:
    def posteriors(model: LatentTagger, words: Sequence[str]) -> Parts:
        matrix = model.posteriors(words)
        return {(at, tag): float(matrix[at, k]) for at in range(len(words)) for k, tag in enumerate(model.tags)}

    return Subject(
        f"tags, {name}",
        lambda: LatentTagger.train(TAGGED, options),
        list,
        lambda tree: {(at, tag) for at, (_, tag) in enumerate(tree)},
        posteriors,
        lambda part, n: [part[1] if at == part[0] else None for at in range(n)],
        lambda tree: [word for word, _ in tree],
    )


SUBJECTS = [
    _phrases("EM", ConstituencyOptions(estimator=EM)),
    _phrases(
        "two members",
        *(ConstituencyOptions(estimator=EM, binarisation=Binarisation(name)) for name in ("first", "last")),
    ),
    _arcs("EM", DependencyOptions(estimator=EM)),
    _arcs("two members", DependencyOptions(estimator=EM), DependencyOptions(estimator=EM.with_settings(n_states=2))),
    _arcs("left children first", DependencyOptions(estimator=EM, attachment=Attachment("left"))),
    _tags("EM", TaggerOptions(EM)),
]
UNPRUNED = [
    _phrases("EM, no rows", ConstituencyOptions(estimator=EM, rows=0.0, threshold=0.0)),
    _phrases("spectral, no rows", ConstituencyOptions(estimator=SPECTRAL, rows=0.0, threshold=0.0)),
    _arcs("EM", DependencyOptions(estimator=EM, threshold=0.0)),
    _arcs("spectral", DependencyOptions(estimator=SPECTRAL, threshold=0.0)),
    _tags("EM", TaggerOptions(EM, threshold=0.0, beam=0.0)),
]
ROWS = _phrases("rows", ConstituencyOptions(estimator=EM, rows=0.1, threshold=0.0))
