"""Hold the base of the pipeline components: their model, its place in a saved pipeline, and sentences of words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from spacy.pipeline import Pipe
from spacy.tokens import Doc, Token
from spacy.util import minibatch

from spectral_latent import load
from spectral_latent.files import ModelFileError, StoredModel
from spectral_latent.files.storage import MissingModelError

__all__ = ["Component", "words_of"]

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
    path: the file of the model.
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
        if not Path(path).is_file():
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
