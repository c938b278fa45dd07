"""The components of spaCy: constituents, tags and dependencies, in a blank pipeline."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span, Token
from spacy.training import Example

from spectral_latent import load
from spectral_latent.constituency import ConstituencyModel
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.files import ModelFileError
from spectral_latent.sequence import LatentTagger
from spectral_latent_spacy import NotAConstituentError
from spectral_latent_spacy._component import spelt, words_of
from spectral_latent_spacy._constituency import register_attributes
from spectral_latent_text import TextPipeline
from tests.conformance.treebank import DEPENDENCIES, PHRASES, SENTENCES, TAGGED
from tests.text.test_pipeline import sentences

COMPONENTS = ("spectral_constituency", "spectral_tagger", "spectral_dependency")
TEXTS = ["she sees the cat with it", "the dog\n\n sleeps", " he likes a garden \n", "", "  \n ", "it runs"]


def test_attributes_may_be_registered_again() -> None:
    register_attributes()
    assert Span.has_extension("parse_string") and Token.has_extension("parse_string")


def test_words_are_spelt_as_in_raw_text() -> None:
    model = load("en")
    text = 'He (or "she") said "yes" and "so".'
    words = words_of(spacy.blank("en")(text))
    assert spelt(model, words) == [token.word for token in model.tokenisation.words(text)]


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
    joined = nlp(
        Doc(nlp.vocab, words=["the", "dog", "sleeps"], spaces=[True, False, False], sent_starts=[True, False, False])
    )
    assert [part.text for part in joined[:2]._.constituents] == ["the dog", "the", "dog"]
    assert [child.text for child in joined[:]._.children] == ["the dog", "sleeps"]
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


def test_universal_tags_are_parts_of_speech(tmp_path: Path) -> None:
    LatentTagger.train([[("dogs", "NOUN"), ("bark", "VERB")]] * 9).save(tmp_path / "tagger")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("spectral_tagger", config={"model": str(tmp_path / "tagger")})
    doc = nlp("dogs bark")
    assert [(token.pos_, token.tag_) for token in doc] == [("NOUN", ""), ("VERB", "")]
    assert nlp.evaluate([Example(nlp.make_doc(doc.text), doc)])["pos_acc"] == 1.0


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


def labelled(doc: Doc) -> set[tuple[str, tuple[str, ...]]]:
    """Collect the text and the labels of every span of tokens that is a constituent with labels."""
    found = set()
    for first in range(len(doc)):
        for end in range(first + 1, len(doc) + 1):
            with suppress(NotAConstituentError):
                if labels := doc[first:end]._.labels:
                    found.add((doc[first:end].text, labels))
    return found


def test_constituents_are_those_of_the_same_words_after_tokens_are_merged_or_split(nlp: Language) -> None:
    before = labelled(document(nlp, ["she", "sees", "the", "cat"], ["the", "dog", "sleeps"]))
    doc = document(nlp, ["she", "sees", "the", "cat"], ["the", "dog", "sleeps"])
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[2:4])  # a whole constituent
        retokenizer.split(doc[6], ["sle", "eps"], [doc[6], doc[6]])
    assert labelled(doc) == before
    (first, second) = doc.sents
    assert first._.parse_string == "(S (NP (PRP she)) (VP (VBZ sees) (NP (DT the) (NN cat))))"
    assert second._.parse_string == "(S (NP (DT the) (NN dog)) (VP (VBZ sleeps)))"
    with pytest.raises(ValueError, match=r"tokens have changed .*'the'"):
        list(first._.constituents)
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[1:3])  # parts of two constituents, a sentence's last ones
    assert labelled(doc) < before


@pytest.mark.parametrize("name", COMPONENTS)
def test_one_bad_document_does_not_take_its_batch(models: Models, name: str) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe(name, config={"model": str(models.folder / name)})
    docs = [nlp.make_doc(text) for text in ("it runs", "she sleeps", "it sleeps", "she runs")]
    for doc in (docs[0], docs[1], docs[3]):
        doc[0].is_sent_start, doc[1].is_sent_start = True, False
    expected = [annotation(nlp(doc.copy())) for doc in (docs[0], docs[1], docs[3])] if name == COMPONENTS[0] else None
    given_up: list[list[str]] = []
    nlp.set_error_handler(lambda _name, _proc, failed, _error: given_up.append([doc.text for doc in failed]))
    found = list(nlp.pipe(docs, batch_size=4))
    assert [doc.text for doc in found] == ["it runs", "she sleeps", "she runs"]
    assert given_up == [["it sleeps"]]
    assert expected is None or [annotation(doc) for doc in found] == expected


def test_evaluation_scores_every_component(nlp: Language) -> None:
    gold = nlp("she sees the cat. it runs.")
    names = ("dep_uas", "dep_las", "tag_acc", "constituents_p", "constituents_r", "constituents_f")
    scores = nlp.evaluate([Example(nlp.make_doc(gold.text), gold)])
    assert [scores[name] for name in names] == pytest.approx([1.0] * 6)
    phrases = [Span(gold, x.start, x.end, y) for sent in gold.sents for x in sent._.constituents for y in x._.labels]
    wrong = gold.copy()
    wrong[0].tag_ = "NN"
    wrong[2].head = wrong[0]
    wrong.spans["constituents"] = [
        Span(wrong, 1, 3, "PP"),
        *(Span(wrong, x.start, x.end, x.label) for x in phrases[:2]),
    ]
    scores = nlp.evaluate([Example(nlp.make_doc(gold.text), wrong)])
    assert (scores["tag_acc"], scores["dep_uas"]) == pytest.approx((7 / 8, 7 / 8))
    assert (scores["constituents_r"], scores["constituents_p"]) == pytest.approx((2 / 3, 2 / len(phrases)))
    for name in COMPONENTS:
        weights = nlp.get_pipe_meta(name).default_score_weights
        assert weights.keys() & scores.keys() and weights.keys() <= scores.keys() | {"pos_acc"}


def test_lemmas_and_features_are_those_of_the_model(tmp_path: Path) -> None:
    gold = [tree._replace(xpos=("NNS", "VBP"), comments=(f"text = {' '.join(tree.forms)}",)) for tree in sentences()]
    TextPipeline.train(gold * 3).save(tmp_path / "model")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("spectral_dependency", config={"model": str(tmp_path / "model")})
    doc = nlp("dogs run")
    assert [token.lemma_ for token in doc] == ["dog", "run"]
    assert [str(token.morph) for token in doc] == ["Number=Plur", ""]
    assert all(token.has_morph() for token in doc)
    kept = nlp(Doc(nlp.vocab, words=["dogs", "run"], sent_starts=[True, False], lemmas=["x", ""], morphs=["A=B", ""]))
    assert [(token.lemma_, str(token.morph)) for token in kept] == [("x", "A=B"), ("run", "")]
    assigned = nlp.get_pipe_meta("spectral_dependency").assigns
    assert {"token.lemma", "token.morph", "token.pos", "token.tag", "token.head", "token.dep"} == {*assigned}
    scores = nlp.evaluate([Example(nlp.make_doc(doc.text), doc)])
    assert [scores[name] for name in ("lemma_acc", "morph_acc", "pos_acc", "tag_acc", "dep_las")] == [1.0] * 5


def test_constituents_go_with_their_sentences_to_other_documents(nlp: Language) -> None:
    doc = document(nlp, ["she", "sees", "the", "cat"], ["the", "dog", "sleeps"])
    first, second = doc.sents
    copy = second.as_doc(copy_user_data=True)
    assert [sent._.parse_string for sent in copy.sents] == [second._.parse_string]
    assert labelled(copy) == {each for each in labelled(doc) if each[0] in second.text}
    part = doc[2:7].as_doc(copy_user_data=True)  # the end of one sentence, and another one
    assert [found._.labels for found in (part[:2], part[2:5], part[2:4])] == [("NP",), ("S",), ("NP",)]
    assert part[:2]._.parent is None and part[2:4]._.parent.text == "the dog sleeps"
    joined = Doc.from_docs([doc, document(nlp, ["it", "runs"]), doc])
    assert [sent._.parse_string for sent in joined.sents] == [
        *(first._.parse_string, second._.parse_string, "(S (NP (PRP it)) (VP (VBZ runs)))"),
        *(first._.parse_string, second._.parse_string),
    ]
    with pytest.raises(ValueError, match=r"as_doc\(copy_user_data=True\)"):
        _ = second.as_doc()[:1]._.labels
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert labelled(again) == labelled(doc)
