"""Raw text, tokens, spaCy and NLTK are four roads to one answer: the same words in, the same trees and tags out."""

import re
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
import spacy
from spacy.tokens import Doc

from spectral_latent.constituency import ConstituencyModel, Phrase
from spectral_latent.corpora import phrase_from_nltk
from spectral_latent.dependency import DependencyModel, DependencySentence
from spectral_latent.kinds import load
from spectral_latent.sequence import LatentTagger
from spectral_latent_nltk import LatentHMMTagger, SpectralDependencyParser, SpectralParser, sentence_from_nltk

TEXTS = {
    "web": 'He said: "The old man (who saw the ship) isn\'t here." They can’t go... "No!", she said. '
    "It cost $5—or €3—in “New York”, didn't it? Mr. Smith's dogs' house [sic] is 1,000.50 m² big; etc.",
    "treebank": '"no" (1)',
}


class Road(NamedTuple):
    """A text, and a model of each kind that writes words in a way of its own, with their files."""

    text: str
    constituency: ConstituencyModel
    dependency: DependencyModel
    tagger: LatentTagger
    files: dict[str, str]

    def words(self, model: Any) -> list[list[str]]:
        return [[token.word for token in sentence] for sentence in model.tokenisation.sentences(self.text)]

    def document(self, kind: str) -> Doc:
        """Annotate spaCy's document of the same tokens."""
        nlp = spacy.blank("en")
        nlp.add_pipe(f"spectral_{kind}", config={"model": self.files[kind]})
        sentences = list(getattr(self, kind).tokenisation.sentences(self.text))
        tokens = [token for sentence in sentences for token in sentence]
        spaces = [token.end < after.first for token, after in pairwise(tokens)]
        starts = [at == 0 for sentence in sentences for at in range(len(sentence))]
        return nlp(Doc(nlp.vocab, [token.shown for token in tokens], [*spaces, False], sent_starts=starts))


@pytest.fixture(scope="module", params=TEXTS)
def road(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Road:
    """Ready models, whose corpora write marks as texts do; and models of the marks of the Penn Treebank."""
    text = TEXTS[request.param]
    files = {kind: str(tmp_path_factory.mktemp("models") / kind) for kind in ("constituency", "dependency", "tagger")}
    if request.param == "web":
        files |= {"constituency": "en", "dependency": "en-ud"}
        phrases = [parse.tree for (parse,) in ConstituencyModel.load("en").parse_text(text)]
    else:
        leaves = [("``", "``"), ("NN", "no"), ("''", "''"), ("-LRB-", "-LRB-"), ("CD", "1"), ("-RRB-", "-RRB-")]
        phrases = [Phrase("S", tuple(Phrase(tag, (word,)) for tag, word in leaves))] * 9
        ConstituencyModel.train(phrases).save(files["constituency"])
        tree = DependencySentence.of([word for _, word in leaves], [tag for tag, _ in leaves])
        DependencyModel.train([tree.with_heads((2, 0, 2, 2, 2, 2))] * 9).save(files["dependency"])
    tagged = [[(next(leaf.words()), leaf.label) for leaf in phrase.preterminals()] for phrase in phrases]
    LatentTagger.train(tagged).save(files["tagger"])
    return Road(text, *map(load, files.values()), files)


def without_words(brackets: str) -> str:
    """Leave out the words, which spaCy writes as the text does."""
    return re.sub(r" [^()\s]+\)", ")", brackets)


def test_phrases(road: Road) -> None:
    model = road.constituency
    words = road.words(model)
    expected = [parse.tree.bracketed() for (parse,) in model.parse_text(road.text)]
    assert [model.parse(each).tree.bracketed() for each in words] == expected
    parser = SpectralParser(model)
    for trees in (parser.parse_text(road.text), map(parser.parse_one, words)):
        assert [phrase_from_nltk(tree).bracketed() for tree in trees] == expected
    found = [without_words(sent._.parse_string) for sent in road.document("constituency").sents]
    assert found == list(map(without_words, expected))


def test_dependencies(road: Road) -> None:
    model = road.dependency
    words = road.words(model)
    expected = [columns(parse.tree) for (parse,) in model.parse_text(road.text)]
    assert [columns(model.parse(DependencySentence.of(each)).tree) for each in words] == expected
    parser = SpectralDependencyParser(model)
    for graphs in (parser.parse_text(road.text), map(parser.parse_one, words)):
        assert [columns(sentence_from_nltk(graph)) for graph in graphs] == expected
    found = [list(map(columns_of_token, sent)) for sent in road.document("dependency").sents]
    assert found == [[row[1:] for row in rows] for rows in expected]


def columns(tree: DependencySentence) -> list[tuple[Any, ...]]:
    assert tree.heads is not None
    relations = ["root" if head == 0 else tree.relations[at] for at, head in enumerate(tree.heads)]
    return list(zip(tree.forms, tree.heads, relations, tree.upos, tree.lemmas, tree.feats, strict=True))


def columns_of_token(token: Any) -> tuple[Any, ...]:
    head, relation = (0, "root") if token.head == token else (token.head.i - token.sent.start + 1, token.dep_)
    rest = (token.pos_ or token.tag_, token.lemma_, str(token.morph))
    return head, "_" if relation == "dep" else relation, *(each or "_" for each in rest)


def test_tags(road: Road) -> None:
    model = road.tagger
    words = road.words(model)
    expected = [[tag for _, tag in pairs] for pairs in model.tag_text(road.text)]
    assert [model.tag(each) for each in words] == expected
    assert [[tag for _, tag in pairs] for pairs in LatentHMMTagger(model).tag_sents(words)] == expected
    assert [[token.tag_ for token in sent] for sent in road.document("tagger").sents] == expected
