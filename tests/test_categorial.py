"""A formalism over words gets lexicon, charts, constraints, several members, files and n best from its rooms."""

from pathlib import Path

import numpy as np
import pytest

from spectral_latent.estimation import EM, Clusters, Spectral
from spectral_latent.grammar import GrammarOptions
from spectral_latent.model import Partial
from tests.categorial import CategorialModel, Derivation, words_of

NOUNS = ["dog", "cat", "bird", "house", "tree", *(f"{stem}ling" for stem in "bcdfghjklm")]  # the last ones are rare
P_VERBS = "((S\\NP)\\(S\\NP))/NP"
OPTIONS = [GrammarOptions(EM(Clusters(2))), GrammarOptions(Spectral(2, smoothing=5.0))]


def noun_phrase(rng: np.random.Generator) -> Derivation:
    share = np.array([0.18] * 5 + [0.01] * 10)
    phrase: Derivation = ("NP", ("NP/N", str(rng.choice(["the", "a"]))), ("N", str(rng.choice(NOUNS, p=share))))
    if rng.random() < 0.2:
        phrase = ("NP", phrase, ("NP\\NP", ("(NP\\NP)/NP", "in"), noun_phrase(rng)))
    return phrase


def draw(rng: np.random.Generator) -> Derivation:
    verb: Derivation = ("S\\NP", str(rng.choice(["sleeps", "sings"])))
    if rng.random() < 0.6:
        verb = ("S\\NP", ("(S\\NP)/NP", str(rng.choice(["sees", "likes"]))), noun_phrase(rng))
    if rng.random() < 0.3:
        verb = ("S\\NP", verb, ("(S\\NP)\\(S\\NP)", (P_VERBS, "in"), noun_phrase(rng)))
    return "S", noun_phrase(rng), verb


@pytest.fixture(scope="module")
def model() -> CategorialModel:
    rng = np.random.default_rng(0)
    return CategorialModel.train([draw(rng) for _ in range(300)], OPTIONS)


def test_unseen_words_have_trees(model: CategorialModel) -> None:
    words = ["the", "wugling", "sees", "a", "cat"]
    parse = model.parse(words)
    assert parse.tree == (
        "S",
        ("NP", ("NP/N", "the"), ("N", "wugling")),
        ("S\\NP", ("(S\\NP)/NP", "sees"), ("NP", ("NP/N", "a"), ("N", "cat"))),
    )
    assert np.isfinite(parse.log) and parse.log == pytest.approx(model.score([parse.tree]).log[0])
    shown = model.explain(words)
    for part in ("chart of grammar 2", "(NP the wugling)", "(N wugling)", str(parse.tree)):
        assert part in shown


def test_known_categories_are_obeyed(model: CategorialModel) -> None:
    words = ["a", "dog", "sees", "the", "cat", "in", "the", "house"]
    for category in (P_VERBS, "(NP\\NP)/NP"):
        (tree,) = [parse.tree for parse in model.parse_nbest(words, 9, constraints={5: category})]
        assert str((category, "in")) in str(tree)
        assert str((category, "in")) in model.explain(words, constraints={5: category})
    assert next(model.parse_all([Partial(words, {5: P_VERBS})]))[0] == model.parse(words, constraints={5: P_VERBS})
    with pytest.raises(ValueError, match="input 1: word 5 of 8 cannot have the category 'VERB'"):
        next(model.parse_all([Partial(words, {5: "VERB"})]))


def test_it_is_saved_and_parses(model: CategorialModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    again = CategorialModel.load(tmp_path / "model")
    assert again.fingerprint == model.fingerprint
    rng = np.random.default_rng(1)
    held_out = [draw(rng) for _ in range(20)]
    sentences = list(map(words_of, held_out))
    found = list(again.parse_all(sentences, 2))
    assert found == list(model.parse_all(sentences, 2))
    right = np.mean([parses[0].tree == tree for parses, tree in zip(found, held_out, strict=True)])
    assert right > 0.6
    drawn = CategorialModel(model.members[:1]).sample(5, rng)
    assert np.isfinite(CategorialModel(model.members[:1]).score(drawn).log).all()
