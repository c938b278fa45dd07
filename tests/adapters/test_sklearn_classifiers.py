"""The latent tagger and latent tree models as estimators of scikit-learn's."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, cross_val_predict, cross_val_score

from spectral_latent import sequence
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence import TaggerOptions
from spectral_latent_sklearn import LatentTagClassifier
from tests.conformance.treebank import SENTENCES, TAGGED, TAGS

X = np.array([(number, word) for number, words in enumerate(SENTENCES) for word in words], dtype=object)
Y = np.array([tag for tags in TAGS for tag in tags])
SENTENCE = X[:, 0].astype(int)


@pytest.fixture(scope="module")
def fitted() -> LatentTagClassifier:
    return LatentTagClassifier(2, random_state=np.random.RandomState(0)).fit(X, Y)


def test_tags_are_those_of_the_library() -> None:
    seed = np.random.RandomState(7).randint(2**31 - 1)
    plain = sequence.LatentTagger.train(TAGGED, TaggerOptions(EstimatorOptions("em", n_states=2, seed=int(seed))))
    tagger = LatentTagClassifier(2, estimator="em", random_state=7).fit(X, Y)
    assert tagger.predict(X).tolist() == [tag for tags in plain.tag_all(SENTENCES) for tag in tags]
    assert tagger.classes_.tolist() == sorted(plain.tags)
    expected = np.concatenate([plain.posteriors(words) for words in SENTENCES])
    for column, tag in enumerate(tagger.classes_):
        np.testing.assert_array_equal(tagger.predict_proba(X)[:, column], expected[:, plain.tags.index(tag)])


def test_a_classifier_that_scikit_learn_can_cross_validate() -> None:
    """With accuracy by name, whole sentences, and predictions of all parts."""
    tagger = LatentTagClassifier(1, random_state=0)
    assert is_classifier(tagger)
    options: dict[str, Any] = {"cv": GroupKFold(3), "groups": SENTENCE}
    scores = cross_val_score(tagger, X, Y, scoring="accuracy", **options)
    found = cross_val_predict(tagger, X, Y, **options)
    sizes = [len(test) for _, test in GroupKFold(3).split(X, Y, SENTENCE)]
    assert np.average(scores, weights=sizes) == pytest.approx(np.mean(found == Y))
    assert np.mean(found == Y) > 0.9
    likely = cross_val_predict(tagger, X, Y, method="predict_proba", **options).argmax(axis=1)
    np.testing.assert_array_equal(np.unique(Y)[likely], found)


def test_tags_are_partly_known(fitted: LatentTagClassifier) -> None:
    """Known tags are kept, and every third tag that is hidden in training is found."""
    known = [tag if number % 3 else None for number, tag in enumerate(Y)]
    hidden = np.array([tag is None for tag in known])
    tagger = LatentTagClassifier(2, random_state=0).fit(X, np.array(known, dtype=object))
    assert np.mean((tagger.predict(X) == Y)[hidden]) > 0.9
    wrong = [TAGS[0][1], *[None] * (len(Y) - 1)]
    assert fitted.predict(X, wrong)[0] == TAGS[0][1] != fitted.predict(X)[0]
    with pytest.raises(ValueError, match="inconsistent"):
        fitted.predict(X, [None])


def test_requests_of_a_tagger_that_cannot_be_met(fitted: LatentTagClassifier) -> None:
    for rows, tags, message in (
        ([[1, "a"], [1, "b"]], ["A"], "inconsistent numbers of samples"),
        ([["a"]], ["A"], "X must have two columns, the sentence and the word, not 1"),
        ([[1, "a"], [1, 2.5]], ["A", "B"], "row 1 of X must have a word in its second column, not 2.5"),
        ([["dogs", "bark"], ["cats", "sleep"]], [["N", "V"], ["N", "V"]], "y should be a 1d array"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(fitted).fit(rows, tags)
    with pytest.raises(ValueError, match="Expected 2D array"):
        fitted.predict(["dog"])
    with pytest.raises(ValueError, match="n_states == 0, must be >= 1"):
        LatentTagClassifier(0).fit([[1, "a"]], ["A"])
    with pytest.raises(ValueError, match="estimator must be"):
        LatentTagClassifier(estimator="nonsense").fit([[1, "a"]], ["A"])
    with pytest.raises(NotFittedError):
        LatentTagClassifier().predict([[1, "a"]])
