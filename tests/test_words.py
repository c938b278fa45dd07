"""Words get their tags by definition, and are placed into trees without a change of the phrases."""

import re
from collections import Counter, defaultdict

import pytest

from benchmarks import words
from spectral_latent.constituency import Phrase
from spectral_latent.constituency.cleaning import tagged_words
from spectral_latent.corpora import parse_brackets

NOUN_OR_VERB = "NN VB VBP"


def test_the_list_has_each_word_once_with_tags_of_penn() -> None:
    listed = words.read_words()
    assert len({word.form for word in listed}) == len(listed) > 5_000
    assert all(word.tags and set(word.tags.split()) <= words.TAGS and 0 <= word.verbal <= 10 for word in listed)
    assert {("purr", NOUN_OR_VERB), ("bit", "NN VBD")} < {(word.form, word.tags) for word in listed}


def test_shares_are_those_of_words_alike() -> None:
    listed = [words.Word(form, NOUN_OR_VERB, verbal) for form, verbal in (("purr", 5), ("bark", 5), ("walk", 2))]
    seen = {"bark": {"NN": 1.0, "VB": 3.0, "NNP": 8.0}, "walk": {"NN": 2.0}}
    shares = words.learn_shares(listed, seen)
    # All words with these tags: those of `bark` and `walk`, and one word that is divided equally.
    far = {"NN": 0.25 + 1.0 + 1 / 3, "VB": 0.75 + 1 / 3, "VBP": 1 / 3}
    strength = words.STRENGTH
    for tag, near in {"NN": 0.25, "VB": 0.75, "VBP": 0.0}.items():
        assert shares["purr"][tag] == pytest.approx((near + strength * far[tag] / 3) / (1 + strength))
    assert shares["bark"] == shares["purr"]
    assert sum(shares["walk"].values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("form", "places"),
    [
        ("purr", ["NN", "VB", "VB", "VP VBP"]),  # new
        ("walk", ["NN", "VB", "VB"]),  # rare
        ("bark", ["VB"]),  # frequent
    ],
)
def test_places_are_those_of_the_rule(form: str, places: list[str]) -> None:
    seen = {"walk": {"NN": 1.0}, "bark": {"NN": 40.0}}
    share = {"VB": 0.6, "NN": 0.3, "VBP": 0.1}
    assert words.places_of(words.Word(form, NOUN_OR_VERB, 5), share, seen.get(form, {})) == places


def test_words_are_placed_into_copies_of_trees() -> None:
    text = """(S (NP (DT The) (NN dog)) (VP (VBZ barks)) (. .)) (S (NP (NNS dogs)) (VP (VBP bark)) (. .))
        (S (NP (PRP they)) (VP (VBP bite) (NP (PRP me))) (. .)) (S (NP (NNP Kim)) (VP (MD may) (VP (VB sit))) (. .))
        (S (NP (NNP May)) (VP (MD may) (VP (VB be))) (. .))"""
    trees = list(parse_brackets(text))
    listed = [words.Word("purr", NOUN_OR_VERB, 5), words.Word("may", NOUN_OR_VERB, 5), words.Word("dog", "NN VBZ", 0)]
    weighted = [*((tree, 1.0) for tree in trees), (trees[-1], words.FREQUENT)]  # `may` and `be` are frequent
    placed = list(words.place(weighted, listed))

    def outline(tree: Phrase) -> str:
        return re.sub(r" [^ ()]+\)", ")", tree.bracketed())

    assert {outline(tree) for tree, _ in placed} <= {outline(tree) for tree in trees}
    assert {weight for _, weight in placed} == {words.WEIGHT}
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for tree, _ in placed:
        found.update({word: found[word] + Counter([tag]) for tag, word in tagged_words(tree)})
    assert sum("(VP (VBP purr))" in tree.bracketed() for tree, _ in placed) == 1
    likeliest = max(NOUN_OR_VERB.split(), key=words.learn_shares(listed, {"dog": {"NN": 1.0}})["purr"].__getitem__)
    assert found["purr"] == Counter(["NN", "VB", likeliest, "VBP"])
    assert found["dog"]["VBZ"] == 1
    assert set(found["may"]) <= {"MD"} and set(found["be"]) <= {"VB"}
    assert list(words.place(weighted, listed)) == placed
