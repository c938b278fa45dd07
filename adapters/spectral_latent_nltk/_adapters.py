"""Hold what the adapters share: checks of input, options, model files, and methods of NLTK's parsers and taggers."""

import math
import os
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, Generic, Self, TypeVar

from nltk.parse.api import ParserI
from nltk.tag.sequential import SequentialBackoffTagger

from spectral_latent import constituency, dependency, load
from spectral_latent.files import ModelFileError
from spectral_latent.model import Surprisal, Unit, check_words
from spectral_latent.reranking import Reranker


def choose_options(of_preset: Callable[[Any], Any], preset: str | None, options: Any, n_states: int | None) -> Any:
    """Choose the options of a preset, or those that are given, one or several, with a largest number of states."""
    if options is None:
        options = of_preset(preset or "fast")
    elif preset is not None:
        raise ValueError(f"preset={preset!r} chooses the options; give a preset or options, not both")
    if n_states is None:
        return options
    if isinstance(options, Sequence):
        return [choose_options(of_preset, None, each, n_states) for each in options]
    return replace(options, estimator=options.estimator.with_settings(n_states=n_states))


Tag = Hashable


# Checks of input


def tokens_of(sentence: Iterable[str]) -> list[str]:
    """List the tokens of a sentence.  Raises TypeError for a string, and for a token that is not a string."""
    tokens: Any = sentence if isinstance(sentence, Collection) else list(sentence)
    return list(check_words(tokens))


_CHUNK = 1000  # sentences that are read before they are tagged together
_Sentence = TypeVar("_Sentence")
_Tree = TypeVar("_Tree")
_Parse = TypeVar("_Parse")


# Bases of the adapters


class ModelAdapter:
    """Base of adapters, objects with NLTK's interfaces that hold a model of this library.

    models: the classes of the models that an adapter may hold."""

    models: ClassVar[tuple[type, ...]]

    def __init__(self, model: Any) -> None:
        if not isinstance(model, self.models):
            name = type(self).__name__
            expected = " or ".join(kind.__name__ for kind in self.models)
            raise TypeError(
                f"{name} is made of a {expected}, not of {type(model).__name__} {model!r:.60}; learn one from examples "
                f"with {name}.train, or read one from a file with {name}.load"
            )
        self.model: Any = model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, whole or not at all.

        Raises ValueError if a tag is not made of strings, numbers and tuples."""
        self.model.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that `save` has written.

        Raises ModelFileError, a ValueError, for a file that is not a whole model of a kind that this class holds; it is
        also a FileNotFoundError for a file that does not exist."""
        model = load(path)
        if not isinstance(model, cls.models):
            adapters = (each for base in ModelAdapter.__subclasses__() for each in base.__subclasses__())
            reader = next((f"{each.__name__}.load" for each in adapters if isinstance(model, each.models)), None)
            remedy = f"load it with {reader or 'spectral_latent.load'}"
            raise ModelFileError(f"{path}: {cls.__name__} cannot use a model of the kind {model.kind!r}; {remedy}")
        return cls(model)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.model.sizes}>"

    def _repr_html_(self) -> str:
        """Write the summary of the model as a table, which notebooks show."""
        return str(self.model._repr_html_())


class ParserAdapter(ModelAdapter, ParserI, Generic[_Sentence, _Tree, _Parse]):
    """NLTK's `ParserI` over a parser of this library; may be shared between threads.

    A sentence that has tokens gets at least one parse over exactly these.  An empty sentence gets none: an empty
    iterator, or None from `parse_one`."""

    @abstractmethod
    def _sentences(self, sents: Iterable[_Sentence]) -> Iterator[Any]:
        """Convert sentences to those of the model, one by one.  Raises TypeError for an object that is not a
        sentence."""

    @staticmethod
    @abstractmethod
    def _tree(tree: _Tree, /) -> Any:
        """Convert a treebank tree to a tree of the model.  Raises TypeError or ValueError for an object that is not a
        tree."""

    @staticmethod
    @abstractmethod
    def _parse(parse: Any, /) -> _Parse:
        """Convert a parse of the model to a tree of NLTK's."""

    def parse(
        self,
        sent: _Sentence,
        n_best: int = 1,
        rerank: Reranker | None = None,
        *,
        constraints: constituency.PhraseConstraints | dependency.DependencyConstraints | None = None,
    ) -> Iterator[_Parse]:
        """Find up to `n_best` different parses of a tokenised sentence, the best first.

        The best parse has the largest expected number of right constituents or heads; log probabilities may therefore
        rise from parse to parse.  `parse_one` and `parse_all` take the same arguments as this method; `parse_sents`
        takes `n_best` and `rerank`.

        rerank: a reranker, which chooses among the parser's best 50 parses; None for the parser's own order.
        constraints: the constraints on the tree of the sentence, `constituency.PhraseConstraints` or
        `dependency.DependencyConstraints`; None for no constraints.

        Raises TypeError for an object that is not a sentence; ValueError for n_best < 1, for constraints that do not
        fit the sentence and the parser, and for constraints on an empty sentence or together with a reranker."""
        if constraints is None:
            return next(self.parse_sents([sent], n_best, rerank))
        if rerank is not None:
            raise ValueError("a reranker does not know constraints; leave out rerank or constraints")
        (sentence,) = self._sentences([sent])
        return map(self._parse, self.model.parse_nbest(sentence, n_best, constraints=constraints))

    def parse_sents(
        self, sents: Iterable[_Sentence], n_best: int = 1, rerank: Reranker | None = None, *, jobs: int | None = 1
    ) -> Iterator[Iterator[_Parse]]:
        """Find the parses of each sentence, in order, as `parse` does.

        sents: sentences; any iterable, read in batches as results are asked for."""
        is_empty: deque[bool] = deque()  # whether each sentence that was read and not yet answered is empty
        full = _full(self._sentences(sents), is_empty)
        if rerank is None:
            parses_of_each = self.model.parse_all(full, n_best, jobs=jobs)
        else:
            parses_of_each = rerank.parse_all(self.model, full, n_best, jobs=jobs)
        return (map(self._parse, parses) for parses in _with_empty(parses_of_each, is_empty))

    def raw_parse(self, sentence: str, n_best: int = 1, rerank: Reranker | None = None) -> Iterator[_Parse]:
        """Find up to `n_best` parses of a sentence of raw text, as NLTK's CoreNLPParser does.

        sentence: the text of one sentence, which the model's `tokenisation` divides into words."""
        return next(self.raw_parse_sents([sentence], n_best, rerank))

    def raw_parse_sents(
        self, sentences: Iterable[str], n_best: int = 1, rerank: Reranker | None = None, *, jobs: int | None = 1
    ) -> Iterator[Iterator[_Parse]]:
        """Find the parses of each sentence of raw text, in order, as `raw_parse` does."""
        if isinstance(sentences, str):
            raise TypeError(f"expected an iterable of sentences, got {sentences!r:.60}; for a text, call parse_text")
        divided = map(self.model.tokenisation.words, sentences)
        words: Any = ([token.word for token in tokens] for tokens in divided)
        return self.parse_sents(words, n_best, rerank, jobs=jobs)

    def parse_text(self, text: str, *, jobs: int | None = 1) -> Iterator[_Parse]:
        """Find the best parse of each sentence of a raw text, in order, as NLTK's CoreNLPParser does.

        text: the text, which the model's `tokenisation` divides into sentences and words."""
        return (self._parse(parses[0]) for parses in self.model.parse_text(text, jobs=jobs))

    def score(self, tree: _Tree) -> float:
        """Compute log2 |p̂| of the estimated probability of a tree with its words, as `logprob()` of a parse does.

        The logarithm is -inf for a tree with a tag, a label or a chain of labels that was never seen.

        Raises TypeError or ValueError for an object that is not a treebank tree, and EstimationError, a ValueError, for
        a tree that the parser could not learn from."""
        (log,) = self.model.score([self._tree(tree)]).log
        return float(log) / math.log(2)

    def surprisal(self, sent: _Sentence, unit: Unit = "bits") -> Surprisal:
        """Compute the surprisal of each token after the tokens before it, and its lexical and syntactic parts.

        The field `seen` tells the words of the training data, and the property `sentence` is the sum.

        Raises TypeError for an object that is not a sentence, and ValueError for an empty sentence, for another unit,
        and for a model whose estimates may be negative: one of the estimator `Spectral`."""
        (sentence,) = self._sentences([sent])
        surprisal: Surprisal = self.model.surprisal(sentence, unit)
        return surprisal


def _full(sentences: Iterable[Any], is_empty: deque[bool]) -> Iterator[Any]:
    """Leave out the sentences without words, of which NLTK wants no parses, and note which ones they are."""
    for sentence in sentences:
        words = sentence.forms if isinstance(sentence, dependency.DependencySentence) else sentence
        is_empty.append(not len(words))
        if not is_empty[-1]:
            yield sentence


def _with_empty(parses_of_each: Iterable[Any], is_empty: deque[bool]) -> Iterator[Any]:
    """Put an empty list in the place of each sentence that `_full` left out."""
    for parses in parses_of_each:
        while is_empty.popleft():
            yield []
        yield parses
    for _ in is_empty:
        yield []


class TaggerAdapter(ModelAdapter, SequentialBackoffTagger):
    """NLTK's `TaggerI` over a model that tags many sentences together; may be shared between threads.

    It may be the `backoff=` of a tagger of NLTK's, which asks it for the tags of unknown tokens.  It needs no backoff
    itself, because it finds a tag for every token."""

    _latest: tuple[list[str], list[Any]] = ([], [])  # the sentence that was tagged last for a chain, and its tags

    @property
    def _taggers(self) -> list[SequentialBackoffTagger]:
        """The chain of taggers that begins here, as NLTK's taggers ask for it."""
        return [self]

    def choose_tag(self, tokens: Sequence[str], index: int, history: Sequence[Any]) -> Any:
        """Find the tag of one token of a sentence, given the whole sentence.

        index: the place of the token, from 0.
        history: the tags of the tokens before it, which are ignored."""
        latest, tags = self._latest
        if latest != list(tokens):
            tags = [tag for _, tag in self.tag(tokens)]
            self._latest = (list(tokens), tags)  # one assignment, so that threads never see half of it
        return tags[index]

    @abstractmethod
    def _tags_of(self, sentences: list[list[str]]) -> Iterable[Iterable[Any]]:
        """Find the tags of each sentence."""

    def tag(self, tokens: Iterable[str]) -> list[tuple[str, Any]]:
        """Find the likeliest tag of each token, given the whole sentence, and return the tokens with their tags.

        Raises TypeError for a sentence that is not made of strings."""
        return self.tag_sents([tokens])[0]

    def tag_sents(self, sentences: Iterable[Iterable[str]]) -> list[list[tuple[str, Any]]]:
        """Tag sentences as `tag` does, but many together, for speed.

        sentences: any iterable, read once; each sentence is a list of tokens.

        Raises TypeError at the first sentence that is not made of strings; the sentences after it are not read."""
        return list(self._tagged(map(tokens_of, sentences)))

    def _tagged(self, sentences: Iterator[list[str]]) -> Iterator[list[tuple[str, Any]]]:
        while chunk := list(islice(sentences, _CHUNK)):
            for tokens, tags in zip(chunk, self._tags_of(chunk), strict=True):
                yield list(zip(tokens, tags, strict=True))
