"""The latent tagger as an estimator of scikit-learn's."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from spectral_latent import sequence
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.sequence import TaggerOptions
from spectral_latent_sklearn import LatentTagClassifier
from tests.conformance.treebank import SENTENCES, TAGGED, TAGS


@pytest.fixture(scope="module")
def fitted() -> LatentTagClassifier:
    return LatentTagClassifier(2, random_state=np.random.RandomState(0)).fit(SENTENCES, TAGS)


def test_tags_are_those_of_the_library() -> None:
    seed = np.random.RandomState(7).randint(2**31 - 1)
    plain = sequence.LatentTagger.train(TAGGED, TaggerOptions(EstimatorOptions("em", n_states=2, seed=int(seed))))
    tagger = LatentTagClassifier(2, estimator="em", random_state=7).fit(SENTENCES, TAGS)
    assert tagger.predict(SENTENCES) == list(plain.tag_all(SENTENCES))
    assert tagger.classes_ == plain.tags
    for words, p in zip(SENTENCES, tagger.predict_proba(SENTENCES), strict=True):
        np.testing.assert_array_equal(p, plain.posteriors(words))


def test_scores_count_words(fitted: LatentTagClassifier) -> None:
    found = fitted.predict(SENTENCES)
    right = sum(a == b for row, tags in zip(found, TAGS, strict=True) for a, b in zip(row, tags, strict=True))
    assert fitted.score(SENTENCES, TAGS) == pytest.approx(right / sum(map(len, TAGS)))
    assert fitted.predict([[], ["dog"]])[0] == []


def test_clones_searches_and_pipelines(fitted: LatentTagClassifier) -> None:
    again = clone(fitted)
    assert again.get_params() == fitted.get_params() | {"random_state": again.random_state}
    search = GridSearchCV(LatentTagClassifier(random_state=0), {"n_states": [1, 2]}, cv=2).fit(SENTENCES, TAGS)
    assert search.best_params_["n_states"] in (1, 2)
    assert search.best_score_ > 0.9
    upper = FunctionTransformer(lambda rows: [[word.upper() for word in row] for row in rows])
    scores = cross_val_score(make_pipeline(upper, LatentTagClassifier(1, random_state=0)), SENTENCES, TAGS, cv=2)
    assert (scores > 0.8).all()


def test_requests_that_cannot_be_met(fitted: LatentTagClassifier) -> None:
    with pytest.raises(ValueError, match="sentence 2 has 2 words, but 1 tags"):
        clone(fitted).fit([["a"], ["b", "c"]], [["A"], ["B"]])
    with pytest.raises(ValueError, match="X has 1 sentences, but y has 2"):
        clone(fitted).fit([["a"]], [["A"], ["B"]])
    with pytest.raises(ValueError, match="sentence 1 must be a list of words"):
        fitted.score(["dog"], [["N", "N", "N"]])
    with pytest.raises(ValueError, match="not an empty one"):
        clone(fitted).fit([], [])
    with pytest.raises(ValueError, match="expected a list of sentences, not 'dog'"):
        fitted.predict("dog")
    with pytest.raises(ValueError, match="no words to score"):
        fitted.score([[]], [[]])
    with pytest.raises(ValueError, match="n_states must be an integer of at least 1, not 0"):
        LatentTagClassifier(0).fit([["a"]], [["A"]])
    with pytest.raises(ValueError, match="estimator must be"):
        LatentTagClassifier(estimator="nonsense").fit([["a"]], [["A"]])
    with pytest.raises(NotFittedError):
        LatentTagClassifier().predict([["a"]])


def test_checks_of_scikit_learn() -> None:
    """Those of arrays do not apply to lists of lists, of which scikit-learn warns."""
    with pytest.warns(SkipTestWarning, match="Can't test estimator LatentTagClassifier"):
        checks = check_estimator(LatentTagClassifier(), on_skip=None)
    assert [check["status"] for check in checks] == ["passed"]
