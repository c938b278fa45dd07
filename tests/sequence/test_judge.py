"""The model of tags: what it sees, what it leaves alone, and what it gains."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_latent.corpora import dependency_trees
from spectral_latent.estimation import EM, Clusters
from spectral_latent.lexicon import JudgeOptions
from spectral_latent.lexicon.buckets import N_BUCKETS, hash_name
from spectral_latent.lexicon.spelling import character_classes, without_runs
from spectral_latent.sequence import LatentTagger, TaggerOptions, preset, train_and_tag
from spectral_latent.sequence.decoding import tag_matrix, tag_parts
from spectral_latent.sequence.judge import _TEMPLATES, TagChoices, TagEvidence, TagModel
from tests.oracles import mixed

OPTIONS = TaggerOptions(EM(Clusters(2)), judge=JudgeOptions(folds=2, penalty=0.1))
WORDS = [["a", "b"], [], ["c"]]
POSTERIORS = np.array([[0.6, 0.3, 0.1], [0.99, 0.005, 0.005], [0.2, 0.4, 0.4]])
PARTS = tag_parts(np.array([0, 2, 2, 3]), *np.nonzero(POSTERIORS), POSTERIORS.ravel())


def evidence(least: float) -> TagEvidence:
    return TagEvidence(WORDS, ["N", "V", "A"], least)


def tagged(n: int) -> list[list[tuple[str, str]]]:
    """Draw sentences in which the tag of `x` is that of the word three places before, which no bigram of tags shows."""
    rng = np.random.default_rng(3)
    rows = []
    for _ in range(n):
        kind = rng.integers(2)
        middle = [(str(rng.choice(["m", "n", "o"])), "M")]
        rows.append([(f"{'pq'[kind]}", "K"), *middle, ("x", "AB"[kind])])
    return rows


def test_choices_are_the_likely_tags_of_each_word() -> None:
    found = TagChoices.of(PARTS, evidence(0.01), np.array([1, 0, 0]))
    assert found.best.tolist() == [0, 0, 1]
    assert found.word.tolist() == [0, 2] and found.tag.tolist() == [0, 1, 2, 0, 1, 2]
    assert found.choices.start.tolist() == [0, 3, 6]
    assert found.choices.is_right.tolist() == [False, True, False, True, False, False]
    np.testing.assert_allclose(np.exp(found.choices.log), [0.6, 0.3, 0.1, 0.2, 0.4, 0.4])


def test_features_are_those_of_plain_loops() -> None:
    """Of every tag of every word, one for each template: the hash of its number, the tag and its values."""
    sentences, tags = [["The", "dogs", "bark"], ["x"], ["A", "b-c", "D1", "the"]], ["N", "V", "A"]
    first = np.array([0, 3, 4, 8])
    posteriors = np.random.default_rng(0).dirichlet(np.ones(3), 8)
    parts = tag_parts(first, *np.nonzero(posteriors), posteriors.ravel())
    found = TagChoices.of(parts, TagEvidence(sentences, tags, 0.0)).choices.buckets

    def value(s: int, at: int, name: str) -> int:
        kind, length, step = re.fullmatch(r"([a-z]+) ?(\d)?([+-]\d)?", name).groups()  # type: ignore[union-attr]
        words, at = sentences[s], at + int(step or 0)
        if not 0 <= at < len(words):
            return 0
        if kind == "opens":
            return int(at == 0)
        word, lower, size = words[at], words[at].lower(), int(length or 0)
        texts = {"word": word, "lower": lower, "ending": lower[-size:], "beginning": lower[:size]}
        texts |= {"shape": without_runs(character_classes(word)), "tag": tags[posteriors[first[s] + at].argmax()]}
        return hash_name(texts[kind])

    rows = []
    for s, at, tag in ((s, at, tag) for s, words in enumerate(sentences) for at in range(len(words)) for tag in tags):
        states = [mixed(number, hash_name(tag)) for number in range(1, len(_TEMPLATES) + 1)]
        for number, template in enumerate(_TEMPLATES):
            for name in template:
                states[number] = mixed(states[number], value(s, at, name))
        rows.append([(state >> 20) % N_BUCKETS for state in states])
    np.testing.assert_array_equal(found, rows)


def test_judgements_keep_the_sum_of_each_word() -> None:
    rng = np.random.default_rng(0)
    model = TagModel(0.7, rng.normal(0.0, 0.3, len(TagModel.plain().weights)))
    judged = tag_matrix(model.judge(PARTS, evidence(0.15)), WORDS, 3)
    np.testing.assert_allclose(judged.sum(axis=1), 1.0)
    np.testing.assert_array_equal(judged[1], POSTERIORS[1])  # one likely tag
    assert judged[0, 2] == 0.1 and judged[0, 0] != 0.6
    best = TagChoices.of(PARTS, evidence(0.15)).judged_best(model)
    assert best.tolist() == judged.argmax(axis=1).tolist()
    np.testing.assert_allclose(TagModel.plain().judge(PARTS, evidence(0.01)).posterior, PARTS.posterior)


def test_a_judge_sees_words_that_no_pair_of_tags_shows(tmp_path: Path) -> None:
    rows = tagged(100)
    tagger = LatentTagger.train(rows, OPTIONS)
    tagger.save(tmp_path / "model")
    for each in (tagger, LatentTagger.load(tmp_path / "model")):
        assert all(each.tag([word for word, _ in row]) == [tag for _, tag in row] for row in rows)
    assert tagger.tag(["p", "m", "x"], [None, None, "B"]) == ["K", "M", "B"]  # what is known stays
    # All verbs ask the judge, alone and together, in one process or several.
    words = [[word for word, _ in row] for row in rows[:40]]
    found = [[tag for _, tag in tagger.parse(each).tree] for each in words]
    assert found == [tagger.tag(each) for each in words] == list(tagger.tag_all(words))
    grammar = replace(tagger.grammar, options=replace(OPTIONS, judge=None))
    alone = replace(tagger, members=(grammar,), judge=None)
    assert found != [alone.tag(each) for each in words]
    assert list(tagger.parse_all(words, 3)) == [tagger.parse_nbest(each, 3) for each in words]
    with pytest.raises(ValueError, match="a tagger has a judge if its options have"):
        replace(tagger, judge=None)


def test_tags_come_from_models_of_other_sentences() -> None:
    """A tag that one sentence alone has is never found there, and the tagger is the one that `train` makes."""
    rows = [[("p", "ODD"), ("m", "M"), ("x", "A")], *tagged(50)]
    tagger, anew = train_and_tag(rows, OPTIONS)
    assert list(map(len, anew)) == [3] * 51 and anew[0][0] != "ODD"
    again = LatentTagger.train(rows, OPTIONS)
    assert tagger.judge is not None and again.judge is not None
    np.testing.assert_array_equal(tagger.judge.weights, again.judge.weights)
    assert train_and_tag([[("yes", "UH")]], OPTIONS)[1] == [["UH"]]
    with pytest.raises(ValueError, match="must have a judge"):
        train_and_tag(rows, preset("fast"))


def test_what_a_judge_gains(shared_file: Callable[[str], Any]) -> None:
    """On Greek, of 600 sentences; measured 93.9 with a judge, and 93.5 without one."""
    folder = shared_file("ud/el_gdt")
    trees = [list(dependency_trees(folder / f"el_gdt-ud-{part}.conllu")) for part in ("train", "dev")]
    train = [list(zip(tree.forms, tree.upos, strict=True)) for tree in trees[0][:600]]
    shares = []
    for options in (preset("accurate"), replace(preset("accurate"), judge=None)):
        found = LatentTagger.train(train, options).tag_all([tree.forms for tree in trees[1]])
        gold = np.concatenate([tree.upos for tree in trees[1]])
        shares.append(100 * np.mean(np.concatenate(list(found)) == gold))
    assert shares[0] > 93.5 and shares[0] > shares[1], shares
