"""The anchor hidden Markov model as a whole: against textbook recursions, damaged files and treebanks."""

from dataclasses import replace

import numpy as np
import pytest

from spectral_latent.anchors import AnchorHMM, AnchorOptions
from spectral_latent.estimation import EstimationError
from tests.sequence.hmms import Posterior, forward_backward

PLAIN = AnchorOptions(spelling=False, prior=0.0)
KINDS = {"d": ["the", "a", "this"], "n": ["cat", "dogs", "Paris", "ships", "42", "x-ray"], "v": ["saw", "ran", "is"]}
KINDS |= {"p": ["of", "in"], "s": [".", "!"]}


def sentences(seed: int, n: int = 80) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    shapes = rng.choice(["dnvs", "dnvdns", "nvpdns", "dnpdnvs", "vs", "nvs"], n)
    found = [[KINDS[kind][int(rng.integers(len(KINDS[kind])))] for kind in shape] for shape in shapes]
    return [[words[0].capitalize(), *words[1:]] for words in found]


@pytest.fixture(scope="module")
def model() -> AnchorHMM:
    return AnchorHMM.train(sentences(0), AnchorOptions(n_states=5))


def test_every_state_has_an_anchor_that_no_other_emits(model: AnchorHMM) -> None:
    assert model.n_states == 5
    assert sorted(model.anchors.values()) == list(range(5))
    kind_of = {name.lower(): kind for kind, names in KINDS.items() for name in names}
    assert {kind_of[name] for name in model.anchors} == set("dnvps")
    for name, h in model.anchors.items():
        column = model.hidden.emission[:, model.words.index(name)]
        assert column[h] > 0
        assert np.delete(column, h) == pytest.approx(np.zeros(4), abs=1e-12)


def test_one_more_token_of_every_state_and_one_more_sentence() -> None:
    """The counts of states 0, 0, 1 in two sentences, where types are states; the second always ends."""
    model = AnchorHMM.train([["a", "a", "b"], ["a", "b"]] * 2, replace(PLAIN, n_states=2))
    assert model.anchors == {"a": 0, "b": 1}
    p = np.array([0.6, 0.4])  # of 10 tokens
    assert model.state_prior == pytest.approx(p)
    ends = 4 / 11
    counts, more = np.array([[2.0, 4.0, 0.0], [0.0, 0.0, 4.0]]), np.array([*((1 - ends) * p), ends])
    wanted = (counts + more) / np.array([[7.0], [5.0]])
    hidden = model.hidden
    assert hidden.stop == pytest.approx(wanted[:, 2])
    assert (1 - hidden.stop)[:, None] * hidden.transition == pytest.approx(wanted[:, :2])
    assert hidden.transition[1] == pytest.approx(p)
    assert hidden.initial == pytest.approx((4 * np.array([1.0, 0.0]) + p) / 5)


def test_anchors_may_be_given() -> None:
    """Each has a state of its own, in the order given, and the rest follows from them as from those that are found."""
    rows = sentences(4)
    found = AnchorHMM.train(rows, AnchorOptions(n_states=5))
    again = AnchorHMM.train(rows, AnchorOptions(n_states=5), anchors=[word.title() for word in found.anchors])
    assert again.anchors == found.anchors
    assert again.hidden.transition.tobytes() == found.hidden.transition.tobytes()
    few = AnchorHMM.train(rows, AnchorOptions(n_states=5, candidates=1), anchors=found.words[3:1:-1])
    assert list(few.anchors) == found.words[3:1:-1]


@pytest.mark.parametrize("anchors", [["the", "zebra"], ["the", "The"], []])
def test_words_that_cannot_be_anchors(anchors: list[str]) -> None:
    with pytest.raises(EstimationError, match="anchor"):
        AnchorHMM.train([["the", "cat"], ["the", "dog"]], anchors=anchors)


def by_the_book(model: AnchorHMM, words: list[str]) -> Posterior:
    """Posteriors (n, m) and log-probability, an unseen word x of which o(x | h) = p(h | x) (1 / N) / p(h)."""
    index = {name: x for x, name in enumerate(model.words)}
    emission, x = model.hidden.emission, []
    for name in words:
        if name.lower() in index:
            x.append(index[name.lower()])
        else:
            x.append(emission.shape[1])
            column = model.mixtures([name])[0] / model.tokens / model.state_prior
            emission = np.column_stack([emission, column])
    return forward_backward(replace(model.hidden, emission=emission), x)


@pytest.mark.parametrize("spelling", [True, False])
def test_unseen_words_are_as_likely_as_one_token(spelling: bool) -> None:
    model = AnchorHMM.train(sentences(6), AnchorOptions(n_states=5, spelling=spelling))
    rng = np.random.default_rng(0)
    for words in sentences(7, 15):
        for i in rng.integers(0, len(words), 2):
            words[i] = str(rng.choice(["towns", "Towns", "7-8", "喜欢", "xyzzy"]))
        assert model.posteriors(words) == pytest.approx(by_the_book(model, words).gamma, abs=1e-10)


def test_top_words_are_the_likeliest_of_each_state(model: AnchorHMM) -> None:
    top = model.top_words(3)
    for h, row in enumerate(top):
        best = sorted(model.hidden.emission[h].tolist(), reverse=True)[:3]
        assert [p for _, p in row] == best
        assert [model.hidden.emission[h, model.words.index(name)] for name, _ in row] == best
    assert [len(row) for row in model.top_words(999)] == [len(model.words)] * 5
    assert model.top_words(0) == [[]] * 5


def test_labels_of_anchors_make_a_tagger(model: AnchorHMM) -> None:
    tags = {name: name.upper() for name in model.anchors}
    labelled = model.label(tags)
    rows = [*sentences(11, 10), []]
    by_state = {h: tags[name] for name, h in model.anchors.items()}
    assert list(labelled.tag_all(rows)) == [[by_state[h] for h in row] for row in model.tag_all(rows)]
    assert model.labels is None
    assert list(model.tag_all(rows)) == list(replace(labelled, labels=None).tag_all(rows))
    assert labelled.label(dict.fromkeys(tags, 7)).tag(["the"]) == [7]
    (pairs,) = labelled.tag_text("the towns")
    assert pairs == list(zip(["the", "towns"], labelled.tag(["the", "towns"]), strict=True))
    with pytest.raises(ValueError, match="no tag"):
        model.label({})
    names = list(model.anchors)
    for each, labels in ((model, None), (labelled, [tags[name] for name in names])):
        assert each.description["anchors"] == names and each.description["labels"] == labels
        assert each.description["kind"] == AnchorHMM.kind


def test_known_labels_and_paths(model: AnchorHMM) -> None:
    """Labels that are known are those found; the likeliest path is that of the states."""
    labelled = model.label({name: name.upper() for name in model.anchors})
    for words in sentences(8, 5):
        free = labelled.tag(words)
        known = [free[0], None, *([set(labelled.tags)] * (len(words) - 2))][: len(words)]
        found = labelled.posteriors(words, known)
        assert found[0, list(labelled.tags).index(free[0])] == pytest.approx(1.0)
        assert labelled.tag(words, known)[0] == free[0]
        (path, log), *_ = model.paths(words, 2)
        encoded, hidden = model._encode([words])
        states, joint = hidden.likeliest_states(encoded)
        assert path == states.tolist()
        assert log == pytest.approx(joint - model.log_probabilities([words])[0], rel=1e-9)
    with pytest.raises(ValueError, match="must be None, a tag of the tagger"):
        labelled.tag(["the"], ["nonsense"])
