"""Suggest tags and phrases in INCEpTION, and learn from its trees: the protocol of its external recommenders.

| request | answer |
| --- | --- |
| POST /inception/TOKEN/predict | the document, with a suggestion for each tag or phrase |
| POST /inception/TOKEN/train | nothing, status 204: the parser has learnt the trees of the documents |

INCEpTION can send no header of ours, and cuts a query from the address; so the token of the server is in the path.

INCEpTION sends documents as a UIMA CAS in XMI, with the type system, and names one layer of spans and one feature with
the label.  A layer of single tokens gets tags, any other layer phrases; phrases of the same span are several
annotations, so that the layer must allow these to be stacked.  Alternatives of the same words are suggested, too.

A sentence has a tree if each token has a tag (`PosValue`), one phrase has all tokens, and no two phrases overlap.  Each
request has all documents, so that trees that were changed or removed follow.  Nothing is written to files.

The protocol: INCEpTION's Developer Guide, section External Recommender.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spectral_latent.constituency import Phrase
from spectral_latent_annotate._project import Project

if TYPE_CHECKING:
    from cassis import Cas

_TYPES = "de.tudarmstadt.ukp.dkpro.core.api"
_SENTENCE = f"{_TYPES}.segmentation.type.Sentence"
_TOKEN = f"{_TYPES}.segmentation.type.Token"
_TAG = (f"{_TYPES}.lexmorph.type.pos.POS", "PosValue")
_IS_PREDICTED = "inception_internal_predicted"
_STRING, _BOOLEAN = "uima.cas.String", "uima.cas.Boolean"
_LARGEST = 1 << 26  # bytes of a request, which has all documents of a project
_ENCODING = re.compile(r"<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)")


def add_routes(app: Any, project: Project) -> None:
    """Answer the requests of INCEpTION, too."""
    from flask import Response, abort, jsonify

    from spectral_latent_annotate._connections import read_json

    @app.post("/inception/predict")
    @app.post("/inception/<token>/predict")
    def predict(token: str = "") -> Response:
        """Suggest tags or phrases for a document of INCEpTION."""
        body: Any = read_json(_LARGEST)
        documents = [body.get("document")] if isinstance(body, dict) else []
        ((cas,), layer, feature) = read_documents(body, documents, predicted=True)
        try:
            add_suggestions(project, cas, layer, feature, body["metadata"].get("anchoringMode") == "singleToken")
        except ValueError as error:
            abort(400, str(error))
        return jsonify(document=cas.to_xmi())

    @app.post("/inception/train")
    @app.post("/inception/<token>/train")
    def train(token: str = "") -> tuple[str, int]:
        """Learn the trees of INCEpTION's documents."""
        body: Any = read_json(_LARGEST)
        given = body.get("documents") if isinstance(body, dict) else None
        if not isinstance(given, list):
            abort(400, "not a request of INCEpTION: `documents` is no list")
        documents, layer, feature = read_documents(body, given, predicted=False)
        try:
            trees = (tree for cas in documents for tree in trees_of(cas, layer, feature))
            project.learn({str(number): tree for number, tree in enumerate(trees)})
        except ValueError as error:
            abort(400, str(error))
        return "", 204

    def read_documents(body: Any, documents: list[Any], *, predicted: bool) -> tuple[list[Cas], str, str]:
        """Read the documents of a request, and the names of its layer and its feature."""
        try:
            types = _text_in(body, "typeSystem")
            metadata = body.get("metadata")
            layer, feature = _text_in(metadata, "layer"), _text_in(metadata, "feature")
            found = [read_document(_text_in(each, "xmi"), types, layer, feature, predicted) for each in documents]
        except ImportError:
            abort(501, "requests of INCEpTION need dkpro-cassis; run `pip install dkpro-cassis`")
        except (ValueError, RecursionError) as error:
            abort(400, str(error))
        return found, layer, feature


def _text_in(given: Any, key: str) -> str:
    """Return a text of a request: no number, which a reader of XML would take for an open file of this process."""
    if not isinstance(given, dict) or not isinstance(given.get(key), str):
        raise ValueError(f"not a request of INCEpTION: `{key}` is no text")
    return str(given[key])


def _plain_xml(text: str) -> str:
    """Return XML that names no entities and no files.  Raises ValueError for other XML."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("the XML has a document type, which INCEpTION does not send and which could name files")
    if (encoding := _ENCODING.search(text)) and encoding[1].lower() not in ("utf-8", "us-ascii", "ascii"):
        raise ValueError(f"the XML is declared to be in {encoding[1]!r:.40}, where UTF-8 is sent")
    return text


def read_document(xmi: str, types: str, layer: str, feature: str, predicted: bool) -> Cas:
    """Read a document of a request."""
    from cassis import load_cas_from_xmi, load_typesystem
    from cassis.typesystem import TypeNotFoundError
    from lxml.etree import LxmlError

    wanted = [(layer, feature, _STRING), (layer, _IS_PREDICTED, _BOOLEAN) if predicted else (*_TAG, _STRING)]
    try:
        system = load_typesystem(_plain_xml(types))
        for name in (_SENTENCE, _TOKEN):
            system.get_type(name)
        for name, each, range_ in wanted:
            known = system.get_type(name).get_feature(each)
            if known is None or known.rangeType.name != range_:
                raise ValueError(f"the layer {name} has no feature {each!r:.60} of the type {range_}")
        return load_cas_from_xmi(_plain_xml(xmi), system, lenient=True)
    except TypeNotFoundError as error:
        raise ValueError(f"the type system lacks a type: {error}"[:200]) from None
    except (LxmlError, LookupError, TypeError, AttributeError, AssertionError, ArithmeticError) as error:
        raise ValueError(f"no XML of a CAS: {type(error).__name__} {error}"[:200]) from None


def _sentences(cas: Cas) -> Iterator[list[Any]]:
    """List the tokens of each sentence that has any."""
    for sentence in cas.select(_SENTENCE):
        if tokens := cas.select_covered(_TOKEN, sentence):
            yield tokens


def add_suggestions(project: Project, cas: Cas, layer: str, feature: str, of_tokens: bool) -> None:
    """Add the suggestions of a project's parser to a document."""
    of_words = layer == _TAG[0] or of_tokens
    annotation = cas.typesystem.get_type(layer)
    has_score = annotation.get_feature(f"{feature}_score") is not None
    sentences = list(_sentences(cas))
    words = [[token.get_covered_text() for token in tokens] for tokens in sentences]
    for tokens, found in zip(sentences, project.parse(words), strict=True):
        if found.is_flat:  # nothing is known of the sentence
            continue
        likely = [*found.parts.items()]
        for part, several in found.alternatives.items():
            likely += [(other, p) for other, p in several if other.is_tag == part.is_tag]
        for part, p in dict(likely).items():
            if part.is_tag != of_words:
                continue
            values: dict[str, Any] = {feature: part.label, _IS_PREDICTED: True}
            if has_score:
                values[f"{feature}_score"] = round(p, 4)
            cas.add(annotation(begin=tokens[part.first].begin, end=tokens[part.end - 1].end, **values))


def trees_of(cas: Cas, layer: str, feature: str) -> Iterator[Phrase]:
    """List the trees of a document."""
    for tokens in _sentences(cas):
        tags = {(tag.begin, tag.end): tag.get(_TAG[1]) for tag in cas.select(_TAG[0]) if not tag.get(_IS_PREDICTED)}
        leaves = [(tags.get((token.begin, token.end)) or "", token.get_covered_text()) for token in tokens]
        begin, end = tokens[0].begin, tokens[-1].end
        spans = [
            (span.begin, -span.end, span.get(feature))
            for span in cas.select(layer)
            if begin <= span.begin and span.end <= end and span.get(feature) and not span.get(_IS_PREDICTED)
        ]
        if all(tag for tag, _ in leaves) and spans:
            places = [(token.begin, token.end) for token in tokens]
            tree = _nested(sorted(spans, key=lambda span: span[:2]), leaves, places)
            if tree is not None:
                yield tree


def _nested(
    spans: list[tuple[int, int, str]], leaves: list[tuple[str, str]], places: list[tuple[int, int]]
) -> Phrase | None:
    """Build the tree of sorted spans over tagged words; None if they overlap, or if no span has all words."""
    # Each open phrase has its end, its label and its children; a phrase is closed when its last word is there.
    opened: list[tuple[int, str, list[Phrase | str]]] = []
    top: Phrase | None = None
    at = 0
    for (first, last), (tag, word) in zip(places, leaves, strict=True):
        while at < len(spans) and spans[at][0] == first:
            opened.append((-spans[at][1], spans[at][2], []))
            at += 1
        if not opened:
            return None
        opened[-1][2].append(Phrase(tag, (word,)))
        while opened and opened[-1][0] == last:
            _, label, children = opened.pop()
            top = Phrase(label, tuple(children))
            if opened:
                opened[-1][2].append(top)
        if any(end <= last for end, _, _ in opened):
            return None
    return top if not opened and at == len(spans) and places[-1][1] == -spans[0][1] else None
