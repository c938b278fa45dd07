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
from spacy.scorer import Scorer
from spacy.tokens import Doc, Token
from spacy.training import Example
from spacy.util import minibatch

from spectral_latent import load
from spectral_latent.anchors import AnchorHMM
from spectral_latent.dependency import BLANK, DependencyModel, DependencySentence
from spectral_latent.files import MissingModelError, ModelFileError, StoredModel
from spectral_latent.ready import find_model
from spectral_latent.sequence import LatentTagger

_FILE = "model"  # within the component's folder


def words_of(tokens: Iterable[Token]) -> list[Token]:
    """List the tokens that are words, not white space."""
    return [token for token in tokens if not token.is_space]


def spelt(model: Any, words: Sequence[Token]) -> list[str]:
    """Write the words of a sentence as the corpus of the model writes them, as for raw text."""
    ends = [token.idx + len(token) for token in words]
    has_space = [*(after.idx > end for end, after in zip(ends, words[1:], strict=False)), True]
    written: list[str] = model.tokenisation.spelt([token.text for token in words], has_space)
    return written


def score_tags(examples: Iterable[Example], *attributes: str) -> dict[str, Any]:
    """Compute the share of tokens whose attribute is right, for each attribute; None if the reference has none."""
    examples = list(examples)
    scores: dict[str, Any] = {}
    for attribute in attributes:
        scores |= Scorer.score_token_attr(examples, attribute, getter=_value)
    return scores


def _value(token: Token, attribute: str) -> Any:
    """Return the number of an attribute of a token, by which values are compared."""
    value = getattr(token, attribute)
    return value.key if attribute == "morph" else value


class Component(Pipe):
    """Base of components that annotate the sentences of a document by a model of this library.

    The file of the model is read when the component first needs it.  A saved pipeline includes the model, and does not
    need the file.

    model: the file of the model, or the name of a ready model.
    models: the classes of the models that a component may have."""

    models: ClassVar[tuple[type[StoredModel], ...]]

    def __init__(self, nlp: Language, name: str, model: str) -> None:
        self.name = name
        self.path = model
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
    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Compute the scores that `nlp.evaluate` shows, of predicted documents and their references."""

    @abstractmethod
    def _annotate(self, docs: Sequence[Doc], sentences: list[list[Token]]) -> None:
        """Annotate documents, given the words of each sentence that has words."""

    def __call__(self, doc: Doc) -> Doc:
        """Annotate a document."""
        self._annotate([doc], list(self._sentences(doc)))
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Annotate a stream of documents.

        If a batch fails, its documents are annotated one by one, and only those that fail go to the error handler.

        batch_size: the number of documents whose sentences are annotated together."""
        for docs in minibatch(stream, batch_size):  # type: ignore[no-untyped-call]
            try:
                self._annotate(docs, [sentence for doc in docs for sentence in self._sentences(doc)])
                failed = False
            except Exception:
                failed = True
            yield from self._annotated_singly(docs) if failed else docs

    def _annotated_singly(self, docs: Iterable[Doc]) -> Iterator[Doc]:
        """Annotate documents one by one; those that fail go to the error handler of the pipeline."""
        for doc in docs:
            try:
                self(doc)
            except Exception as error:
                self.get_error_handler()(self.name, self, [doc], error)
            else:
                yield doc

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
        """Write the model into a folder."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        self.latent.save(folder / _FILE)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Component:
        """Read the model that `to_disk` has written."""
        self._model = self._load(Path(path) / _FILE)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Give the bytes of the model's file."""
        with TemporaryDirectory() as folder:
            self.to_disk(folder)
            return (Path(folder) / _FILE).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Component:
        """Read the model from the bytes that `to_bytes` has given."""
        with TemporaryDirectory() as folder:
            (Path(folder) / _FILE).write_bytes(data)
            return self.from_disk(folder)


_ROOT = "ROOT"  # the names that spaCy has for the relations of roots and of white space
_OTHER = "dep"


@Language.factory(
    "spectral_dependency",
    default_config={"model": "en-ud"},
    assigns=["token.head", "token.dep", "token.pos", "token.tag", "token.lemma", "token.morph"],
    default_score_weights={
        **{"dep_uas": 0.5, "dep_las": 0.5, "dep_las_per_type": None},
        **{"tag_acc": 0.0, "pos_acc": 0.0, "lemma_acc": 0.0, "morph_acc": 0.0, "morph_per_feat": None},
    },
)
class SpectralDependency(Component):
    """A dependency parser: `token.head` and `token.dep_`, and what its model finds where earlier components found
    nothing: `token.pos_`, `token.tag_`, `token.lemma_` and `token.morph`.

    It uses the tags that earlier components have found, if it knows these tags.  `nlp.evaluate` shows the scores of
    spaCy's parser, tagger, lemmatizer and morphologizer.  White space depends on the word before
    it, or on the first word of the sentence.

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
        parses = self.latent.parse_all((_sentence_of(self.latent, words) for words in sentences), scored=False)
        for words, (parse,) in zip(sentences, parses, strict=True):
            doc = words[0].doc
            found = parse.tree
            for token, head, relation in zip(words, found.heads, found.relations, strict=True):
                heads[doc][token.i] = words[head - 1].i if head else token.i
                named = _OTHER if relation == BLANK else relation
                relations[doc][token.i] = named if head else _ROOT
            _fill(words, found)
        for doc in docs:
            _attach(doc, heads[doc], relations[doc])

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Compute the scores of heads, relations, tags, lemmas and features."""
        examples = list(examples)
        scores: dict[str, Any] = Scorer.score_deps(examples, "dep", getter=_relation, ignore_labels=("p", "punct"))
        scores |= score_tags(examples, "tag", "pos", "morph", "lemma")
        return scores | Scorer.score_token_attr_per_feat(examples, "morph", getter=_value)


def _relation(token: Token, attribute: str) -> str:
    """Return a relation in lower case, as spaCy's parser compares it."""
    return str(token.vocab.strings[getattr(token, attribute)]).lower()


def _sentence_of(model: DependencyModel, words: Sequence[Token]) -> DependencySentence:
    """Make a sentence of words, with the tags, lemmas and features that they have."""
    sentence = DependencySentence.of(spelt(model, words))
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


def _fill(words: Sequence[Token], found: DependencySentence) -> None:
    """Give words the tags, lemmas and features of a parse, where they have none."""
    has_features = any(feats != BLANK for feats in found.feats)
    for token, upos, xpos, lemma, feats in zip(words, found.upos, found.xpos, found.lemmas, found.feats, strict=True):
        if not token.pos_ and upos in UNIVERSAL:
            token.pos_ = upos
        own = xpos if xpos != BLANK or upos in UNIVERSAL else upos  # a treebank may have tags of its own in UPOS
        if not token.tag_ and own != BLANK:
            token.tag_ = own
        if not token.lemma_ and (lemma != BLANK or token.text == BLANK):
            token.lemma_ = lemma
        if has_features and not token.has_morph():
            token.set_morph("" if feats == BLANK else feats)  # type: ignore[attr-defined]


def _attach(doc: Doc, heads: list[int], relations: list[str]) -> None:
    """Write heads and relations into a document."""
    distance = np.array(heads, dtype=np.int64) - np.arange(len(doc))
    relation = np.array([doc.vocab.strings.add(name) for name in relations], dtype=np.uint64)
    columns: Any = np.stack([distance.astype(np.uint64), relation], axis=1)
    if len(doc):
        doc.from_array([HEAD, DEP], columns)


@Language.factory(
    "spectral_tagger",
    default_config={"model": ""},
    assigns=["token.tag", "token.pos"],
    default_score_weights={"tag_acc": 0.5, "pos_acc": 0.5},
)
class SpectralTagger(Component):
    """A tagger: it sets `token.pos_` if all its tags are universal parts of speech, else `token.tag_`.

    The model is a `LatentTagger`, or an `AnchorHMM` whose anchors are labelled.

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
                f"`spectral-latent label`"
            )
        return "pos_" if all(tag in UNIVERSAL for tag in tags) else "tag_"

    def _annotate(self, docs: Sequence[Doc], sentences: list[list[Token]]) -> None:
        tags_of = self.latent.tag_all(spelt(self.latent, words) for words in sentences)
        for words, tags in zip(sentences, tags_of, strict=True):
            for token, tag in zip(words, tags, strict=True):
                setattr(token, self._attribute, str(tag))
        for token in (token for doc in docs for token in doc if token.is_space):
            token.pos_, token.tag_ = "SPACE", "_SP"

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Compute the accuracy of the tags that the model finds: `pos_acc` if they are universal, else `tag_acc`."""
        return score_tags(examples, self._attribute.removesuffix("_"))
