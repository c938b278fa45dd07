"""Offer the latent PCFG as a component of spaCy, which keeps constituents behind the attribute names of benepar.

| attribute of spans and tokens | value |
| --- | --- |
| `._.parse_string` | the brackets of a constituent |
| `._.labels` | the labels of the constituent, the outermost first; none for a word that is not a phrase |
| `._.constituents` | the constituent and all constituents below it, parents first |
| `._.children` | the constituents directly below the constituent |
| `._.parent` | the constituent directly above the constituent; None for a sentence |

Every word is a constituent.  White space belongs to no constituent: it is ignored at the beginning and the end of a
span.  All attributes of a span of white space are empty; `sent._.parse_string` therefore works for any sentence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span, Token
from spacy.training import Example

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent_spacy._component import Component, score_tags, spelt, words_of

_KEPT = "spectral_constituents"


class NotAConstituentError(ValueError):
    """A span whose attribute was read is not a constituent."""


class _Entry(NamedTuple):
    """A constituent, as a sentence keeps it.

    start, end: the first character of the constituent and the place after its last one, from the start of the sentence.
    labels: the labels of its phrases, the outermost first.
    tag: the tag, if it is a word."""

    start: int
    end: int
    labels: list[str]
    tag: str | None


def keep_constituents(doc: Doc, trees: Iterable[tuple[list[Token], Phrase]]) -> None:
    """Store the constituents of a document in it, parents first; they replace earlier ones.

    Each sentence keeps its own, by characters: spaCy moves them with the sentence to other documents (`as_doc` with
    user data, `Doc.from_docs`), and they hold when tokens are merged or split."""
    for key in _keys(doc):
        del doc.user_data[key]
    for words, tree in trees:
        sentence = words[0].sent
        sentence._.set(_KEPT, [list(entry) for entry in _entries(words, tree, sentence.start_char)])


def _entries(words: list[Token], tree: Phrase, offset: int) -> Iterator[_Entry]:
    """List the constituents of a tree over words, parents first; phrases over the same words are one constituent."""
    at = 0
    stack = [tree]
    while stack:
        node: Phrase | str = stack.pop()
        labels = []
        while isinstance(node, Phrase) and not node.is_preterminal():
            labels.append(node.label)
            if len(node.children) > 1:
                break
            (node,) = node.children
        assert isinstance(node, Phrase)
        last = words[at + sum(1 for _ in node.words()) - 1]
        tag = node.label if node.is_preterminal() else None
        yield _Entry(words[at].idx - offset, last.idx + len(last) - offset, labels, tag)
        if tag is None:
            stack += reversed([child for child in node.children if isinstance(child, Phrase)])
        else:
            at += 1


def _keys(doc: Doc) -> list[Any]:
    """List the keys under which a document keeps the constituents of sentences, with their first and last places."""
    return [key for key in doc.user_data if isinstance(key, tuple) and key[:2] == ("._.", _KEPT)]


class _Found(NamedTuple):
    """A constituent among those of its sentence.

    offset: the first character of the sentence.
    kept: the constituents of the sentence, as `_Entry` has them."""

    doc: Doc
    offset: int
    kept: list[Any]
    place: int

    @property
    def entry(self) -> _Entry:
        """The constituent itself."""
        return _Entry(*self.kept[self.place])

    @property
    def text(self) -> str:
        """The text of the constituent."""
        return self.doc.text[self.offset + self.entry.start : self.offset + self.entry.end]

    def span(self, label: str = "") -> Span:
        """Make the span of the constituent.  Raises ValueError if tokens were merged so that it ends within a token."""
        span = self.doc.char_span(self.offset + self.entry.start, self.offset + self.entry.end, label=label)
        if span is None:
            raise ValueError(
                f"the tokens have changed since the parse, and the constituent {self.text!r:.60} begins or ends within "
                f"a token; put 'spectral_constituency' after the component that merges them"
            )
        return span

    def below(self) -> Iterator[_Found]:
        """List the constituent and all constituents below it, parents first."""
        for at in range(self.place, len(self.kept)):
            found = self._replace(place=at)
            if found.entry.start >= self.entry.end:
                return
            yield found

    @property
    def above(self) -> _Found | None:
        """The constituent directly above, if there is one, and the document has all of it."""
        for at in range(self.place - 1, -1, -1):
            found = self._replace(place=at)
            if found.entry.end >= self.entry.end:
                begins, ends = self.offset + found.entry.start, self.offset + found.entry.end
                return found if begins >= 0 and ends <= len(self.doc.text) else None
        return None


def _locate(span: Span) -> _Found | None:
    """Find a span among the constituents that its document keeps; None for a span without words."""
    words = words_of(span)
    if not words:
        return None
    first, end = words[0].idx, words[-1].idx + len(words[-1])
    sentence = words[0].sent if span.doc.has_annotation("SENT_START") else span
    kept = sentence._.get(_KEPT)
    offset = sentence.start_char
    if kept is None:  # as after sentences were divided otherwise, or in a document that has a part of one
        keys = _keys(span.doc)
        if not keys:
            raise ValueError(
                "the document has no constituents; add the component 'spectral_constituency' to the pipeline, and make "
                "documents of spans by as_doc(copy_user_data=True)"
            )
        key = next((key for key in keys if key[2] <= first < key[3]), None)
        kept, offset = ([], 0) if key is None else (span.doc.user_data[key], key[2])
    for place in range(bisect_left(kept, first - offset, key=itemgetter(0)), len(kept)):
        entry = _Entry(*kept[place])
        if entry.start > first - offset:
            break
        if entry.end == end - offset:
            return _Found(span.doc, offset, kept, place)
    raise NotAConstituentError(f"the span {span.text!r:.60} is not a constituent")


def _below(span: Span) -> Iterator[_Found]:
    """List a constituent and all constituents below it, parents first; none for a span without words."""
    found = _locate(span)
    return iter(()) if found is None else found.below()


def _labels(span: Span) -> tuple[str, ...]:
    """List the labels of a constituent, the outermost first."""
    for found in _below(span):
        return tuple(found.entry.labels)
    return ()


def _constituents(span: Span) -> Iterator[Span]:
    """List a constituent and all constituents below it, parents first."""
    return (found.span() for found in _below(span))


def _children(span: Span) -> Iterator[Span]:
    """List the constituents directly below a constituent."""
    children: list[_Found] = []
    for found in islice(_below(span), 1, None):
        if not children or found.entry.start >= children[-1].entry.end:
            children.append(found)
    return (found.span() for found in children)


def _parent(span: Span) -> Span | None:
    """Find the constituent directly above a constituent; None for a sentence."""
    found = _locate(span)
    above = None if found is None else found.above
    return None if above is None else above.span()


def _parse_string(span: Span) -> str:
    """Write the brackets of a constituent."""
    made: list[tuple[_Entry, Phrase]] = []
    # Go from the last constituent to the first.  The children of a constituent are the last of `made` that end in it.
    for found in reversed(list(_below(span))):
        entry = found.entry
        children = []
        while made and made[-1][0].end <= entry.end:
            children.append(made.pop()[1])
        parts: tuple[Phrase | str, ...] = tuple(children)
        for label in [*([] if entry.tag is None else [entry.tag]), *reversed(entry.labels)]:
            parts = (Phrase(label, parts or (found.text,)),)
        made.append((entry, parts[0]))  # type: ignore[arg-type]
    return made[0][1].bracketed() if made else ""


def _labelled_spans(doc: Doc, name: str) -> list[Span]:
    """List the phrases of a document as labelled spans: those of `doc.spans` by that name, or those that it keeps."""
    if name in doc.spans:
        return list(doc.spans[name])
    phrases = []
    for key in _keys(doc):
        kept, (*_, start, end) = doc.user_data[key], key
        if start >= 0 and end <= len(doc.text):
            of_sentence = [_Found(doc, start, kept, place) for place in range(len(kept))]
            phrases += [found.span(label) for found in of_sentence for label in found.entry.labels]
    return phrases


_GETTERS: dict[str, Any] = {
    "parse_string": _parse_string,
    "labels": _labels,
    "constituents": _constituents,
    "children": _children,
    "parent": _parent,
}


def register_attributes() -> None:
    """Register the attributes of this module with spaCy."""
    Span.set_extension(_KEPT, default=None, force=True)
    for name, getter in _GETTERS.items():
        Span.set_extension(name, getter=getter, force=True)
        Token.set_extension(name, getter=_of_token(getter), force=True)


def _of_token(getter: Any) -> Any:
    """Make the getter of a token from that of a span."""
    return lambda token: getter(token.doc[token.i : token.i + 1])


register_attributes()


@Language.factory(
    "spectral_constituency",
    default_config={"model": "en"},
    assigns=["token.tag", *(f"{owner}._.{name}" for owner in ("span", "token") for name in _GETTERS)],
    default_score_weights={
        **{"constituents_f": 1.0, "constituents_p": 0.0, "constituents_r": 0.0, "constituents_per_type": None},
        "tag_acc": 0.0,
    },
)
class SpectralConstituency(Component):
    """A constituency parser: it sets the attributes listed in this module, and the tags of untagged words.

    A sentence that the grammar cannot derive has a flat tree labelled FALLBACK.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import spacy
    >>> trees = [Phrase("S", (Phrase("NNS", (noun,)), Phrase("VBP", (verb,))))
    ...     for noun in ("cats", "dogs") for verb in ("bark", "sleep")]
    >>> nlp = spacy.blank("en")
    >>> with TemporaryDirectory() as folder:
    ...     path = str(Path(folder, "model"))
    ...     ConstituencyModel.train(trees).save(path)
    ...     _ = nlp.add_pipe("sentencizer")
    ...     _ = nlp.add_pipe("spectral_constituency", config={"model": path})
    ...     doc = nlp("mice sleep")
    >>> [sent._.parse_string for sent in doc.sents]
    ['(S (NNS mice) (VBP sleep))']
    """

    models = (ConstituencyModel,)

    def _annotate(self, docs: Sequence[Doc], sentences: list[list[Token]]) -> None:
        trees: dict[Doc, list[tuple[list[Token], Phrase]]] = {doc: [] for doc in docs}
        parses = self.latent.parse_all((spelt(self.latent, words) for words in sentences), scored=False)
        for words, (parse,) in zip(sentences, parses, strict=True):
            trees[words[0].doc].append((words, parse.tree))
            tags = (node.label for node in parse.tree.nodes() if isinstance(node, Phrase) and node.is_preterminal())
            for token, tag in zip(words, tags, strict=True):
                token.tag_ = token.tag_ or tag
        for doc, of_doc in trees.items():
            keep_constituents(doc, of_doc)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:
        """Compute precision, recall and F1 of labelled phrases, `constituents_p`, `_r` and `_f`, and `tag_acc`.

        The phrases of a reference are those of `doc.spans["constituents"]`, or those that the component has found."""
        examples = list(examples)
        scores: dict[str, Any] = Scorer.score_spans(
            examples, "constituents", getter=_labelled_spans, has_annotation=_has_phrases, allow_overlap=True
        )
        return scores | score_tags(examples, "tag")


def _has_phrases(doc: Doc) -> bool:
    """Tell whether a document has phrases to compare."""
    return "constituents" in doc.spans or bool(_keys(doc))
