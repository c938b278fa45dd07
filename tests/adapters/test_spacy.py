"""The components of spaCy: constituents, tags and dependencies, in a blank pipeline."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import spacy
from spacy import displacy
from spacy.language import Language
from spacy.matcher import DependencyMatcher, Matcher
from spacy.tokens import Doc

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.constituency import ConstituencyModel
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.files import ModelFileError
from spectral_latent.sequence import LatentTagger
from spectral_latent_spacy import NotAConstituentError
from tests.conformance.treebank import DEPENDENCIES, PHRASES, SENTENCES, TAGGED

COMPONENTS = ("spectral_constituency", "spectral_tagger", "spectral_dependency")
TEXTS = [
    "she sees the cat with it",
    "the dog\n\n sleeps",
    " he likes a garden \n",
    "",
    "  \n ",
    "it runs",
]


class Models(NamedTuple):
    """A model for each component, and their files."""

    spectral_constituency: ConstituencyModel
    spectral_tagger: LatentTagger
    spectral_dependency: DependencyModel
    folder: Path


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Models:
    folder = tmp_path_factory.mktemp("models")
    made = Models(
        ConstituencyModel.train(PHRASES), LatentTagger.train(TAGGED), DependencyModel.train(DEPENDENCIES), folder
    )
    for name in COMPONENTS:
        getattr(made, name).save(folder / name)
    return made


def pipeline(models: Models, names: Iterable[str] = COMPONENTS) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    for name in names:
        nlp.add_pipe(name, config={"model": str(models.folder / name)})
    return nlp


@pytest.fixture(scope="module")
def nlp(models: Models) -> Language:
    return pipeline(models)


def document(nlp: Language, *sentences: list[str]) -> Doc:
    """Make a document of sentences whose words are known."""
    starts = [at == 0 for words in sentences for at in range(len(words))]
    return nlp(Doc(nlp.vocab, words=[word for words in sentences for word in words], sent_starts=starts))


def annotation(doc: Doc) -> Any:
    """Collect all that the components say of a document."""
    parses = [sent._.parse_string for sent in doc.sents]
    return parses, [(token.text, token.tag_, token.pos_, token.head.i, token.dep_) for token in doc]


def test_annotations_are_those_of_the_models(nlp: Language, models: Models) -> None:
    words = SENTENCES[:20]
    # the constituency component has none of the words' tags yet, the tagger comes after it, and the parser uses them
    doc = document(nlp, *words)
    assert [sent._.parse_string for sent in doc.sents] == [
        models.spectral_constituency.parse(sentence).tree.bracketed() for sentence in words
    ]
    for sent, sentence in zip(doc.sents, words, strict=True):
        tags = models.spectral_tagger.tag(sentence)
        assert [token.tag_ for token in sent] == tags
        parse = models.spectral_dependency.parse(DependencySentence.of(sentence, tags)).tree
        assert parse.heads is not None
        heads = [0 if token.head == token else token.head.i - sent.start + 1 for token in sent]
        assert heads == list(parse.heads)
        assert {token.dep_ for token in sent if token.head == token} == {"ROOT"}
        assert {token.dep_ for token in sent if token.head != token} <= {"dep"}


def test_spans_have_the_attributes_of_benepar(nlp: Language) -> None:
    (sent,) = document(nlp, ["she", "sees", "the", "cat"]).sents
    assert sent._.parse_string == "(S (NP (PRP she)) (VP (VBZ sees) (NP (DT the) (NN cat))))"
    assert sent._.labels == ("S",)
    assert sent._.parent is None
    assert [child.text for child in sent._.children] == ["she", "sees the cat"]
    texts = ["she sees the cat", "she", "sees the cat", "sees", "the cat", "the", "cat"]
    assert [part.text for part in sent._.constituents] == texts
    noun = sent[2:4]
    assert (noun._.labels, noun._.parse_string) == (("NP",), "(NP (DT the) (NN cat))")
    assert noun._.parent.text == "sees the cat"
    assert sent[0]._.labels == ("NP",)
    assert sent[1]._.labels == ()
    assert sent[1]._.parse_string == "(VBZ sees)"
    assert list(sent[1]._.children) == []
    for wrong in (sent[1:3], sent[0:2]):
        with pytest.raises(NotAConstituentError, match="is not a constituent"):
            _ = wrong._.labels


def test_white_space_is_no_word(nlp: Language) -> None:
    doc = nlp("  the dog\n\n sleeps \n")
    assert [token.is_space for token in doc].count(True) == 3
    (sent,) = doc.sents
    assert sent._.parse_string == "(S (NP (DT the) (NN dog)) (VP (VBZ sleeps)))"
    assert sent.root.text == "sleeps"
    for token in doc:
        if token.is_space:
            assert (token.tag_, token.pos_, token.dep_) == ("_SP", "SPACE", "dep")
            assert not token.head.is_space
            assert (token._.parse_string, token._.labels, token._.parent) == ("", (), None)
    blank = nlp("  \n ")
    (sent,) = blank.sents
    assert (sent._.parse_string, list(sent._.constituents), list(sent._.children)) == ("", [], [])
    assert blank[0].dep_ == "ROOT"
    assert len(nlp("")) == 0


def test_pipes_and_processes_give_what_calls_give(nlp: Language) -> None:
    """Batches of any size; processes that are sent the components."""
    expected = [annotation(nlp(text)) for text in TEXTS]
    assert [annotation(doc) for doc in nlp.pipe(TEXTS, batch_size=2)] == expected
    assert [annotation(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=2)] == expected


@pytest.mark.parametrize("way", ["disk", "bytes"])
def test_a_saved_pipeline_needs_no_other_file(way: str, models: Models, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    for name in COMPONENTS:
        (folder / name).write_bytes((models.folder / name).read_bytes())
    nlp = pipeline(models._replace(folder=folder))
    expected = [annotation(nlp(text)) for text in TEXTS]
    if way == "disk":
        nlp.to_disk(tmp_path / "saved")
    content = nlp.to_bytes()
    for name in COMPONENTS:
        (folder / name).unlink()
    if way == "disk":
        again = spacy.load(tmp_path / "saved")
    else:
        again = pipeline(models._replace(folder=folder)).from_bytes(content)
    assert [annotation(again(text)) for text in TEXTS] == expected


def test_spacys_own_tools_read_the_annotation(nlp: Language) -> None:
    doc = document(nlp, ["she", "sees", "the", "cat"])
    tokens = doc.to_json()["tokens"]
    assert [(token["tag"], token["head"]) for token in tokens] == [("PRP", 1), ("VBZ", 1), ("DT", 3), ("NN", 1)]
    matcher = Matcher(nlp.vocab)
    matcher.add("noun", [[{"TAG": "DT"}, {"TAG": "NN"}]])
    assert [doc[start:end].text for _, start, end in matcher(doc)] == ["the cat"]
    arcs = DependencyMatcher(nlp.vocab)
    verb = {"RIGHT_ID": "verb", "RIGHT_ATTRS": {"TAG": "VBZ"}}
    noun = {"LEFT_ID": "verb", "REL_OP": ">", "RIGHT_ID": "noun", "RIGHT_ATTRS": {"TAG": "NN"}}
    arcs.add("object", [[verb, noun]])
    assert [places for _, places in arcs(doc)] == [[1, 3]]
    assert displacy.render(doc, style="dep").count('<g class="displacy-arrow"') == 3


def test_components_leave_tags_that_there_are(models: Models) -> None:
    """The constituency parser gives tags to words that have none."""
    nlp = pipeline(models, ["spectral_constituency"])
    doc = Doc(nlp.vocab, words=["she", "sleeps"], sent_starts=[True, False], tags=["XX", ""])
    assert [token.tag_ for token in nlp(doc)] == ["XX", "VBZ"]


def test_universal_tags_are_parts_of_speech(tmp_path: Path) -> None:
    LatentTagger.train([[("dogs", "NOUN"), ("bark", "VERB")]] * 9).save(tmp_path / "tagger")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("spectral_tagger", config={"model": str(tmp_path / "tagger")})
    assert [(token.pos_, token.tag_) for token in nlp("dogs bark")] == [("NOUN", ""), ("VERB", "")]


def test_anchors_tag_by_their_labels(tmp_path: Path) -> None:
    anchors = AnchorHMM.train(SENTENCES, AnchorOptions(n_states=3))
    anchors.save(tmp_path / "bare")
    anchors.label(dict(zip(anchors.anchors, "ABC", strict=True))).save(tmp_path / "labelled")
    for name, file in {"bare": "bare", "labelled": "labelled"}.items():
        nlp = spacy.blank("en")
        nlp.add_pipe("sentencizer")
        nlp.add_pipe("spectral_tagger", config={"model": str(tmp_path / file)})
        if name == "labelled":
            assert {token.tag_ for token in nlp("she sees the cat")} <= {"A", "B", "C"}
        else:
            with pytest.raises(ValueError, match="needs tags, which the anchors of its model lack"):
                nlp("she sees")


def test_documents_without_sentences_are_refused(models: Models) -> None:
    for name in COMPONENTS:
        nlp = spacy.blank("en")
        nlp.add_pipe(name, config={"model": str(models.folder / name)})
        with pytest.raises(ValueError, match=f"'{name}' needs sentence boundaries"):
            nlp("she sleeps")
        assert len(nlp("")) == 0
        heard: list[str] = []
        nlp.set_error_handler(lambda name, _proc, _docs, error, heard=heard: heard.append(name))
        assert list(nlp.pipe(["she sleeps"])) == []
        assert heard == [name]


def test_models_of_other_kinds_are_refused(models: Models, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("spectral_dependency", config={"model": str(models.folder / "spectral_tagger")})
    with pytest.raises(ModelFileError, match="a LatentTagger, but the component 'spectral_dependency' needs a Depend"):
        nlp("she sleeps")
    for path in ("", str(tmp_path / "absent")):
        nlp.remove_pipe("spectral_dependency")
        nlp.add_pipe("spectral_dependency", config={"model": path})
        with pytest.raises(FileNotFoundError, match="finds no model"):
            nlp("she sleeps")


def test_a_document_that_was_not_parsed_says_so() -> None:
    nlp = spacy.blank("en")
    with pytest.raises(ValueError, match="add the component 'spectral_constituency'"):
        _ = nlp("she sleeps")[0:1]._.labels
