"""Suggest tags and phrases in INCEpTION, and learn from its trees: the protocol of its external recommenders.

| request | answer |
| --- | --- |
| POST /inception/predict | the document, with a suggestion for each tag or phrase |
| POST /inception/train | nothing, status 204: the parser has learnt the trees of the documents |

INCEpTION sends documents as a UIMA CAS in XMI, with the type system, and names one layer of spans and one feature with
the label.  A layer of single tokens gets tags, any other layer phrases; phrases of the same span are several
annotations, so that the layer must allow these to be stacked.  Alternatives of the same words are suggested, too.

A sentence has a tree if each token has a tag (`PosValue`), one phrase has all tokens, and no two phrases overlap.  Each
request has all documents, so that trees that were changed or removed follow.  Nothing is written to files.

The protocol: INCEpTION's Developer Guide, section External Recommender.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from spectral_latent.constituency import Phrase
from spectral_latent.correction.project import Project

if TYPE_CHECKING:
    from cassis import Cas

__all__ = ["add_routes", "add_suggestions", "read_document", "trees_of"]

_TYPES = "de.tudarmstadt.ukp.dkpro.core.api"
_SENTENCE = f"{_TYPES}.segmentation.type.Sentence"
_TOKEN = f"{_TYPES}.segmentation.type.Token"
_TAG = (f"{_TYPES}.lexmorph.type.pos.POS", "PosValue")
_IS_PREDICTED = "inception_internal_predicted"
_LARGEST = 1 << 28  # bytes of a request, which has all documents of a project


def add_routes(app: Any, project: Project) -> None:
    """Answer the requests of INCEpTION, too.

    app: the Flask application of a project.
    project: the project.
    """
    from flask import Response, abort, jsonify, request

    @app.post("/inception/predict")
    def predict() -> Response:
        """Suggest tags or phrases for a document of INCEpTION."""
        body, (cas,) = read_documents("document")
        add_suggestions(project, cas, body["metadata"])
        return jsonify(document=cas.to_xmi())

    @app.post("/inception/train")
    def train() -> tuple[str, int]:
        """Learn the trees of INCEpTION's documents."""
        body, documents = read_documents("documents")
        layer, feature = body["metadata"]["layer"], body["metadata"]["feature"]
        trees = (tree for cas in documents for tree in trees_of(cas, layer, feature))
        project.learn({str(number): tree for number, tree in enumerate(trees)})
        return "", 204

    def read_documents(key: str) -> tuple[Any, list[Any]]:
        """Read a request of INCEpTION, and its documents."""
        request.max_content_length = _LARGEST
        body: Any = request.get_json(silent=True)
        given = body.get(key) if isinstance(body, dict) else None
        if given is None:
            abort(400, f"not a request of INCEpTION: it has no {key}")
        try:
            return body, [read_document(body, each) for each in (given if key == "documents" else [given])]
        except ImportError:
            abort(501, "requests of INCEpTION need dkpro-cassis; run `pip install dkpro-cassis`")
        except ValueError as error:
            abort(400, str(error))


def read_document(body: Mapping[str, Any], document: Any) -> Cas:
    """Read a document of a request.

    body: the request, with `metadata` (`layer`, `feature`) and `typeSystem`.
    document: the document, with `xmi`.
    Raises ValueError if something is missing, is no XML, or if the type system has no such layer or feature, and
    ImportError without dkpro-cassis, which the extra `annotate` installs.
    """
    from cassis import load_cas_from_xmi, load_typesystem
    from cassis.typesystem import TypeNotFoundError
    from lxml.etree import XMLSyntaxError

    try:
        cas = load_cas_from_xmi(document["xmi"], load_typesystem(body["typeSystem"]), lenient=True)
        layer, feature = body["metadata"]["layer"], body["metadata"]["feature"]
        for name in (_SENTENCE, _TOKEN):
            cas.typesystem.get_type(name)
        known = cas.typesystem.get_type(layer).get_feature(feature)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a request of INCEpTION: {type(error).__name__} {error}"[:200]) from None
    except (XMLSyntaxError, ValueError) as error:
        raise ValueError(f"the document or the type system is no XML of a CAS: {error}"[:200]) from None
    except TypeNotFoundError as error:
        raise ValueError(f"the type system lacks a type: {error}"[:200]) from None
    if known is None:
        raise ValueError(f"the layer {layer} has no feature {feature!r:.60}")
    return cas


def _sentences(cas: Cas) -> Iterator[list[Any]]:
    """List the tokens of each sentence that has any."""
    for sentence in cas.select(_SENTENCE):
        if tokens := cas.select_covered(_TOKEN, sentence):
            yield tokens


def add_suggestions(project: Project, cas: Cas, metadata: Mapping[str, Any]) -> None:
    """Add the suggestions of a project's parser to a document.

    project: the project.
    cas: the document, which is changed.
    metadata: the `metadata` of the request.
    """
    layer, feature = metadata["layer"], metadata["feature"]
    of_words = layer == _TAG[0] or metadata.get("anchoringMode") == "singleToken"
    annotation = cas.typesystem.get_type(layer)
    has_score = annotation.get_feature(f"{feature}_score") is not None
    sentences = list(_sentences(cas))
    words = [[token.get_covered_text() for token in tokens] for tokens in sentences]
    for tokens, found in zip(sentences, project.parse(words), strict=True):
        if found.is_flat:  # nothing is known of the sentence
            continue
        likely = [*found.parts.items()]
        for part, several in found.alternatives.items():
            likely += [(other, p) for other, p in several if (*other[:2], other.is_tag) == (*part[:2], part.is_tag)]
        for part, p in dict(likely).items():
            if part.is_tag != of_words:
                continue
            values: dict[str, Any] = {feature: part.label, _IS_PREDICTED: True}
            if has_score:
                values[f"{feature}_score"] = round(p, 4)
            cas.add(annotation(begin=tokens[part.first].begin, end=tokens[part.end - 1].end, **values))


def trees_of(cas: Cas, layer: str, feature: str) -> Iterator[Phrase]:
    """List the trees of a document.

    cas: the document.
    layer: the layer of phrases.
    feature: the feature that has their labels.
    """
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
