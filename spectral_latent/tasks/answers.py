"""Answer sentence by sentence: parse, tag, compute surprisal, and score trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import tee
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from spectral_latent.tasks.inputs import Input, InputSentence
from spectral_latent.tasks.kinds import KINDS
from spectral_latent.tasks.reranking import load_reranker
from spectral_latent.tasks.watch import users_errors
from spectral_latent.tasks.writing import Score

if TYPE_CHECKING:
    from spectral_latent.model import Estimates, Parses, Surprisal
    from spectral_latent.reranking import Reranker

__all__ = ["Search", "parse", "score", "surprisal", "tag"]

_Answer = TypeVar("_Answer")
_Write = Callable[..., _Answer]  # of a sentence and its parses

_SCORED = 100  # the number of trees that are scored at once
_TAGGED = 256  # sentences that are tagged at once in this process
_OF_PROCESS = 32  # sentences that are tagged at once in a process of their own


class Search(NamedTuple):
    """The way to find the trees of a sentence.

    projective: whether arcs must not cross.
    scored: whether the scores of trees are shown.
    confident: whether the posteriors of arcs are written.
    candidates: the number of trees that the reranker chooses among.
    reranker: the file of a reranker, if there is one.
    models: the latent models of the reranker, by `FILE` or `NAME=FILE`."""

    n_best: int = 1
    projective: bool = True
    scored: bool = False
    confident: bool = False
    candidates: int = 50
    reranker: str | None = None
    models: tuple[str, ...] = ()

    def _parses(self, parser: Any, given: Iterable[InputSentence]) -> Iterator[Parses[Any]]:
        """Find the parses of each sentence."""
        sentences = map(KINDS[parser.kind].item, given)
        if self.reranker is not None:
            reranker = self._load(parser)
            return reranker.parse_all(parser, sentences, n_best=self.n_best, n_candidates=self.candidates)
        options = {} if self.projective else {"projective": False}
        found: Iterator[Parses[Any]] = parser.parse_all(sentences, self.n_best, scored=self.scored, **options)
        return found

    def _load(self, parser: Any) -> Reranker:
        """Load the reranker and its latent models, once in each process."""
        return _reranker(str(self.reranker), self.models, parser)


@lru_cache(maxsize=1)
def _reranker(file: str, models: tuple[str, ...], parser: Any) -> Reranker:
    """Load a reranker and its latent models."""
    return load_reranker(file, models, parser)


def parse(
    parser: Any,
    sentences: Iterable[InputSentence],
    search: Search,
    write: _Write[_Answer],
    jobs: int = 1,
    one_by_one: bool = False,
) -> Iterator[tuple[InputSentence, _Answer, bool]]:
    """Find and write the trees of each sentence, and tell whether one of these trees is a fallback.

    The processes that parse also write the trees, because to send the parses would take longer.  One by one, a sentence
    is parsed before the next is read.

    write: a function from a sentence and its parses to an answer, which other processes can import.
    jobs: the number of processes.
    one_by_one: whether to read a sentence only when its answer is asked for."""
    from spectral_latent.model.batches import BATCH_SIZE, map_batches

    kept, read = tee(sentences)
    with users_errors():
        if search.reranker is not None:
            search._load(parser)  # refused before reading
        size = 1 if one_by_one else BATCH_SIZE
        found = map_batches(_answers_of, parser, read, jobs, search, write, size=size)
        for sentence, (answer, is_fallback) in zip(kept, found, strict=True):
            yield sentence, answer, is_fallback


def _answers_of(
    parser: Any, sentences: Sequence[InputSentence], search: Search, write: _Write[_Answer]
) -> list[tuple[_Answer, bool]]:
    """Find and write the trees of each sentence, and tell whether one of these trees is a fallback."""
    from spectral_latent.model import Parses

    answers = []
    found = iter(search._parses(parser, [sentence for sentence in sentences if sentence.sentence.forms]))
    for sentence in sentences:
        parses = next(found) if sentence.sentence.forms else Parses()  # an empty line has no trees
        shown = {"posteriors": parser.part_posteriors([each.tree for each in parses])} if search.confident else {}
        answers.append((write(sentence, parses, **shown), any(each.is_fallback for each in parses)))
    return answers


def tag(model: Any, given: Input, jobs: int = 1) -> Iterator[tuple[InputSentence, list[str]]]:
    """Find the tags of each sentence; a batch never waits for more lines of a pipe.

    given: the input; comments after the last sentence of a table come, too.
    jobs: the number of processes, which does not change the tags."""
    from spectral_latent.model.batches import batches_of, map_sentences

    most = _TAGGED if jobs == 1 else _OF_PROCESS
    kept, read = tee(part for batch in given.batches for part in batches_of(batch, most))
    words = ([each.words for each in part] for part in read)
    found = map_sentences(_tags_of, model, words, jobs)
    for part, tags in zip(kept, found, strict=True):
        yield from zip(part, tags, strict=True)


def _tags_of(model: Any, sentences: list[list[str]]) -> list[list[str]]:
    """Find the tags of sentences."""
    return list(model.tag_all(sentences))


def surprisal(
    model: Any, given: Input, unit: Literal["bits", "nats"] = "bits", jobs: int = 1, parts: Sequence[Any] = ()
) -> Iterator[tuple[InputSentence, Surprisal, Estimates | None]]:
    """Compute the surprisal of each sentence; an empty line has none.

    model: a model that has probabilities of prefixes.
    jobs: the number of processes.
    parts: models that lack a group of examples each, for the standard errors of the surprisal of words."""
    from spectral_latent.model import Estimates
    from spectral_latent.model.batches import map_sentences

    kept, *read = tee((sentence for sentence in given.sentences if sentence.sentence.forms), 2 + len(parts))
    found = (
        map_sentences(type(each).surprisal, each, map(KINDS[each.kind].item, sentences), jobs, unit)
        for each, sentences in zip((model, *parts), read, strict=True)
    )
    for sentence, whole, *others in zip(kept, *found, strict=True):
        yield sentence, whole, Estimates.of(whole.total, [each.total for each in others]) if others else None


def score(parser: Any, trees: Sequence[Any], jobs: int = 1, parts: Sequence[Any] = ()) -> Iterator[Score]:
    """Score each tree.

    trees: trees of the parser's formalism.
    jobs: the number of processes.
    parts: parsers that lack a group of examples each, for standard errors."""
    from spectral_latent.model import Estimates
    from spectral_latent.model.batches import map_sentences

    batches = [trees[first : first + _SCORED] for first in range(0, len(trees), _SCORED)]
    found = (map_sentences(type(each).score, each, batches, jobs) for each in (parser, *parts))
    for whole, *others in zip(*found, strict=True):
        if not others:
            yield from map(Score, whole.log.tolist(), whole.sign.tolist())
            continue
        errors = Estimates.of_weights(whole, others)
        columns = (whole.log, whole.sign, errors.error, errors.is_zero(), errors.n_groups)
        yield from map(Score, *(column.tolist() for column in columns))
