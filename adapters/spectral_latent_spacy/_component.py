"""Offer taggers and the latent dependency grammar as components of spaCy; hold the base of all components."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.parts_of_speech import IDS as UNIVERSAL
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Token
from spacy.util import minibatch

from spectral_latent import load
from spectral_latent.anchors import AnchorHMM
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.dependency.tree import BLANK
from spectral_latent.files import ModelFileError, StoredModel
from spectral_latent.files.storage import MissingModelError
from spectral_latent.ready import find_model
from spectral_latent.sequence import LatentTagger

__all__ = ["Component", "SpectralDependency", "SpectralTagger", "words_of"]

_FILE = "model"  # within the component's folder


def words_of(tokens: Iterable[Token]) -> list[Token]:
    """List the tokens that are words, not white space.

    tokens: the tokens of a sentence.
    """
    return [token for token in tokens if not token.is_space]


class Component(Pipe):
    """Base of components that annotate the sentences of a document by a model of this library.

    The file of the model is read when the component first needs it.  A saved pipeline includes the model, and does not
    need the file.

    name: the name of the component in its pipeline.
    path: the file of the model, or the name of a ready model.
    models: the classes of the models that a component may have.
    """

    models: ClassVar[tuple[type[StoredModel], ...]]

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        self._model: Any = None

    @property
    def latent(self) -> Any:
        """The model.  Raises ModelFileError if its file is absent, or not a model that the component may have."""
        if self._model is None:
            self._model = self._load(self.path)
        return self._model

    def _load(self, path: str | Path) -> StoredModel:
        """Read a model from its file."""
        if not find_model(path).is_file():
            raise MissingModelError(
                f"the component {self.name!r} finds no model at {str(path)!r}; train one by `spectral-latent train`, "
                f'and name its file: add_pipe(..., config={{"model": FILE}})'
            )
        model = load(path)
        if not isinstance(model, self.models):
            needed = " or a ".join(kind.__name__ for kind in self.models)
            raise ModelFileError(f"{path}: a {type(model).__name__}, but the component {self.name!r} needs a {needed}")
        return model

    @abstractmethod
    def _annotate(self, docs: Sequence[Doc], sentences: list[list[Token]]) -> None:
        """Annotate documents, given the words of each sentence that has words."""

    def __call__(self, doc: Doc) -> Doc:
        """Annotate a document.

        Raises ValueError for a document without sentence boundaries.
        """
        self._annotate([doc], list(self._sentences(doc)))
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream of documents; errors go to the handler of the pipeline.

        stream: the documents to annotate.
        batch_size: the number of documents whose sentences are annotated together.
        """
        for docs in minibatch(stream, batch_size):  # type: ignore[no-untyped-call]
            try:
                self._annotate(docs, [sentence for doc in docs for sentence in self._sentences(doc)])
                yield from docs
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)

    def _sentences(self, doc: Doc) -> Iterator[list[Token]]:
        """List the words of each sentence that has words.  Raises ValueError if there are no sentence boundaries."""
        if not len(doc):
            return
        if not doc.has_annotation("SENT_START"):
            raise ValueError(
                f"the component {self.name!r} needs sentence boundaries, which the document {doc.text!r:.60} lacks; "
                f"put 'sentencizer' or another component that finds sentences before it"
            )
        yield from filter(None, map(words_of, doc.sents))

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder.

        path: the folder, which is made if it is absent.
        exclude: an argument of the interface that is not used.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self.latent.save(folder / _FILE)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Component:
        """Read the model that `to_disk` has written.

        path: the folder of the component in a saved pipeline.
        exclude: an argument of the interface that is not used.
        """
        self._model = self._load(Path(path) / _FILE)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Give the bytes of the model's file.

        exclude: an argument of the interface that is not used.
        """
        with TemporaryDirectory() as folder:
            self.to_disk(folder)
            return (Path(folder) / _FILE).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Component:
        """Read the model from the bytes that `to_bytes` has given.

        data: the bytes that `to_bytes` returned.
        exclude: an argument of the interface that is not used.
        """
        with TemporaryDirectory() as folder:
            (Path(folder) / _FILE).write_bytes(data)
            return self.from_disk(folder)


_ROOT = "ROOT"  # the names that spaCy has for the relations of roots and of white space
_OTHER = "dep"


class SpectralDependency(Component):
    """A dependency parser: `token.head`, `token.dep_`, and tags of untagged words, `token.pos_` or `token.tag_`.

    It uses the tags that earlier components have found, if it knows these tags.  White space depends on the word before
    it, or on the first word of the sentence.

    name: the name of the component in its pipeline.
    path: the file of the model.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import spacy
    >>> trees = [DependencySentence.of(["big", noun, "bark"], ["ADJ", "NOUN", "VERB"]).with_heads((2, 3, 0))
    ...     for noun in ("cats", "dogs")]
    >>> nlp = spacy.blank("en")
    >>> with TemporaryDirectory() as folder:
    ...     path = str(Path(folder, "model"))
    ...     DependencyModel.train(trees).save(path)
    ...     _ = nlp.add_pipe("sentencizer")
    ...     _ = nlp.add_pipe("spectral_dependency", config={"model": path})
    ...     [token.head.text for token in nlp("big mice bark")]
    ['mice', 'bark', 'bark']
    """

    models = (DependencyModel,)

    def _annotate(self, docs: Sequence[Doc], sentences: list[list[Token]]) -> None:
        heads = {doc: _heads_of_spaces(doc) for doc in docs}
        relations = {doc: [_ROOT if i == head else _OTHER for i, head in enumerate(heads[doc])] for doc in docs}
        parses = self.latent.parse_all(map(_sentence_of, sentences), scored=False)
        for words, (parse,) in zip(sentences, parses, strict=True):
            doc = words[0].doc
            found = parse.tree
            for token, head, relation in zip(words, found.heads, found.relations, strict=True):
                heads[doc][token.i] = words[head - 1].i if head else token.i
                named = _OTHER if relation == BLANK else relation
                relations[doc][token.i] = named if head else _ROOT
            _fill_tags(words, found)
        for doc in docs:
            _attach(doc, heads[doc], relations[doc])


def _sentence_of(words: Sequence[Token]) -> DependencySentence:
    """Make a sentence of words, with the tags that they have."""
    sentence = DependencySentence.of([token.text for token in words])
    upos = tuple(token.pos_ or BLANK for token in words)
    xpos = tuple(token.tag_ or BLANK for token in words)
    return sentence.with_tags("upos", upos).with_tags("xpos", xpos)


def _heads_of_spaces(doc: Doc) -> list[int]:
    """Find the heads of white space; every word, and the first token of a sentence without words, is its own head."""
    heads: list[int] = []
    for sentence in doc.sents if len(doc) else ():
        above = next((token for token in sentence if not token.is_space), sentence[0])
        for token in sentence:
            above = above if token.is_space else token
            heads.append(above.i)
    return heads


def _fill_tags(words: Sequence[Token], found: DependencySentence) -> None:
    """Give words without tags the tags of a parse."""
    for token, upos, xpos in zip(words, found.upos, found.xpos, strict=True):
        if not token.pos_ and upos in UNIVERSAL:
            token.pos_ = upos
        if not token.tag_ and xpos != BLANK:
            token.tag_ = xpos


def _attach(doc: Doc, heads: list[int], relations: list[str]) -> None:
    """Write heads and relations into a document."""
    distance = np.array(heads, dtype=np.int64) - np.arange(len(doc))
    relation = np.array([doc.vocab.strings.add(name) for name in relations], dtype=np.uint64)
    columns: Any = np.stack([distance.astype(np.uint64), relation], axis=1)
    if len(doc):
        doc.from_array([HEAD, DEP], columns)


@Language.factory("spectral_dependency", default_config={"model": "en-ud"}, assigns=["token.head", "token.dep"])
def _make_dependency(nlp: Language, name: str, model: str) -> SpectralDependency:
    """Make the component."""
    return SpectralDependency(name, model)


class SpectralTagger(Component):
    """A tagger: it sets `token.pos_` if all its tags are universal parts of speech, else `token.tag_`.

    The model is a `LatentTagger`, or an `AnchorHMM` whose anchors are labelled.

    name: the name of the component in its pipeline.
    path: the file of the model.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import spacy
    >>> nlp = spacy.blank("en")
    >>> with TemporaryDirectory() as folder:
    ...     path = str(Path(folder, "model"))
    ...     LatentTagger.train([[("dogs", "NOUN"), ("bark", "VERB")]] * 9).save(path)
    ...     _ = nlp.add_pipe("sentencizer")
    ...     _ = nlp.add_pipe("spectral_tagger", config={"model": path})
    ...     [token.pos_ for token in nlp("dogs bark")]
    ['NOUN', 'VERB']
    """

    models = (LatentTagger, AnchorHMM)

    @cached_property
    def _attribute(self) -> str:
        """The attribute of tokens that holds the tags of the model.  Raises ValueError for anchors without labels."""
        tags = self.latent.labels if isinstance(self.latent, AnchorHMM) else self.latent.tags
        if tags is None:
            raise ValueError(
                f"the component {self.name!r} needs tags, which the anchors of its model lack; label them by "
                f"`spectral-latent anchors`"
            )
        return "pos_" if all(tag in UNIVERSAL for tag in tags) else "tag_"

    def _annotate(self, docs: Sequence[Doc], sentences: list[list[Token]]) -> None:
        tags_of = self.latent.tag_all([token.text for token in words] for words in sentences)
        for words, tags in zip(sentences, tags_of, strict=True):
            for token, tag in zip(words, tags, strict=True):
                setattr(token, self._attribute, str(tag))
        for token in (token for doc in docs for token in doc if token.is_space):
            token.pos_, token.tag_ = "SPACE", "_SP"


@Language.factory("spectral_tagger", default_config={"model": ""}, assigns=["token.tag", "token.pos"])
def _make_tagger(nlp: Language, name: str, model: str) -> SpectralTagger:
    """Make the component."""
    return SpectralTagger(name, model)
