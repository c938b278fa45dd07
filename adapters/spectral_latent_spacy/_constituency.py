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
from spacy.tokens import Doc, Span, Token

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent_spacy._component import Component, words_of

__all__ = ["NotAConstituentError", "SpectralConstituency", "keep_constituents", "register_attributes"]

_KEPT = "spectral_constituents"


class NotAConstituentError(ValueError):
    """A span whose attribute was read is not a constituent."""


class _Entry(NamedTuple):
    """A constituent, as the document keeps it.

    start, end: the first token of the constituent, and the first token after it.
    labels: the labels of its phrases, the outermost first.
    tag: the tag, if it is a word.
    """

    start: int
    end: int
    labels: list[str]
    tag: str | None


def keep_constituents(doc: Doc, trees: Iterable[tuple[list[Token], Phrase]]) -> None:
    """Store the constituents of a document in it, parents first; they replace earlier ones."""
    doc._.set(_KEPT, [list(entry) for words, tree in trees for entry in _entries(words, tree)])


def _entries(words: list[Token], tree: Phrase) -> Iterator[_Entry]:
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
        n_words = sum(1 for _ in node.words())
        tag = node.label if node.is_preterminal() else None
        yield _Entry(words[at].i, words[at + n_words - 1].i + 1, labels, tag)
        if tag is None:
            stack += reversed([child for child in node.children if isinstance(child, Phrase)])
        else:
            at += 1


def _locate(span: Span) -> tuple[list[Any], int]:
    """Find the stored constituents of a document, and the place of a span among them.

    For a span without words there are no constituents.

    Raises NotAConstituentError if the span is not a constituent, and ValueError if the document has no constituents.
    """
    kept: list[Any] | None = span.doc._.get(_KEPT)
    if kept is None:
        raise ValueError("the document has no constituents; add the component 'spectral_constituency' to the pipeline")
    words = words_of(span)
    if not words:
        return [], 0
    ends = (words[0].i, words[-1].i + 1)
    for place in range(bisect_left(kept, ends[0], key=itemgetter(0)), len(kept)):
        entry = _Entry(*kept[place])
        if entry.start > ends[0]:
            break
        if entry.end == ends[1]:
            return kept, place
    raise NotAConstituentError(f"the span {span.text!r:.60} is not a constituent")


def _below(kept: list[Any], place: int) -> Iterator[_Entry]:
    """List a constituent and all constituents below it, parents first."""
    for at in range(place, len(kept)):
        entry = _Entry(*kept[at])
        if entry.start >= _Entry(*kept[place]).end:
            return
        yield entry


def _spans(doc: Doc, entries: Iterable[_Entry]) -> Iterator[Span]:
    """Make the spans of constituents."""
    return (doc[entry.start : entry.end] for entry in entries)


def _labels(span: Span) -> tuple[str, ...]:
    """List the labels of a constituent, the outermost first."""
    for entry in _below(*_locate(span)):
        return tuple(entry.labels)
    return ()


def _constituents(span: Span) -> Iterator[Span]:
    """List a constituent and all constituents below it, parents first."""
    return _spans(span.doc, _below(*_locate(span)))


def _children(span: Span) -> Iterator[Span]:
    """List the constituents directly below a constituent."""
    children: list[_Entry] = []
    for entry in islice(_below(*_locate(span)), 1, None):
        if not children or entry.start >= children[-1].end:
            children.append(entry)
    return _spans(span.doc, children)


def _parent(span: Span) -> Span | None:
    """Find the constituent directly above a constituent; None for a sentence."""
    kept, place = _locate(span)
    for at in range(place - 1, -1, -1):
        above = _Entry(*kept[at])
        if above.end >= _Entry(*kept[place]).end:
            return span.doc[above.start : above.end]
    return None


def _parse_string(span: Span) -> str:
    """Write the brackets of a constituent."""
    made: list[tuple[_Entry, Phrase]] = []
    # Go from the last constituent to the first.  The children of a constituent are the last of `made` that end in it.
    for entry in reversed(list(_below(*_locate(span)))):
        children = []
        while made and made[-1][0].end <= entry.end:
            children.append(made.pop()[1])
        parts: tuple[Phrase | str, ...] = tuple(children)
        for label in [*([] if entry.tag is None else [entry.tag]), *reversed(entry.labels)]:
            parts = (Phrase(label, parts or (span.doc[entry.start].text,)),)
        made.append((entry, parts[0]))  # type: ignore[arg-type]
    return made[0][1].bracketed() if made else ""


def register_attributes() -> None:
    """Register the attributes of this module with spaCy."""
    Doc.set_extension(_KEPT, default=None, force=True)
    getters: dict[str, Any] = {
        "parse_string": _parse_string,
        "labels": _labels,
        "constituents": _constituents,
        "children": _children,
        "parent": _parent,
    }
    for name, getter in getters.items():
        Span.set_extension(name, getter=getter, force=True)
        Token.set_extension(name, getter=_of_token(getter), force=True)


def _of_token(getter: Any) -> Any:
    """Make the getter of a token from that of a span."""
    return lambda token: getter(token.doc[token.i : token.i + 1])


register_attributes()


class SpectralConstituency(Component):
    """A constituency parser: it sets the attributes listed in this module, and the tags of untagged words.

    A sentence that the grammar cannot derive has a flat tree labelled FALLBACK.

    name: the name of the component in its pipeline.
    path: the file of the model.

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
        parses = self.latent.parse_all(([token.text for token in words] for words in sentences), scored=False)
        for words, (parse,) in zip(sentences, parses, strict=True):
            trees[words[0].doc].append((words, parse.tree))
            tags = (node.label for node in parse.tree.nodes() if isinstance(node, Phrase) and node.is_preterminal())
            for token, tag in zip(words, tags, strict=True):
                token.tag_ = token.tag_ or tag
        for doc, of_doc in trees.items():
            keep_constituents(doc, of_doc)


@Language.factory("spectral_constituency", default_config={"model": "en"}, assigns=["token.tag"])
def _make_constituency(nlp: Language, name: str, model: str) -> SpectralConstituency:
    """Make the component."""
    return SpectralConstituency(name, model)
