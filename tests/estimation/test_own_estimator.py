"""Estimators that are written outside of the package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest

from spectral_latent import ConstituencyModel, GraphModel, LatentHMM, LatentTagger, load
from spectral_latent._options import AtLeast, Options
from spectral_latent.constituency import ConstituencyOptions
from spectral_latent.corpora.embedded import embedded_treebank
from spectral_latent.estimation import EM, Estimate, Estimator, Listener, Random, Treebank, silent
from spectral_latent.files import ModelFileError
from spectral_latent.sequence import HMMOptions, TaggerOptions
from tests.conformance.test_models import GRAPHS


@dataclass(frozen=True)
class BestOfRandom(Estimator):
    """EM from several random starts, of which the likeliest result is taken."""

    n_starts: Annotated[int, AtLeast(1)] = 3
    n_states: Annotated[int, AtLeast(1)] = 2

    def fit(self, treebank: Treebank, *, jobs: int | None = 1, listener: Listener = silent) -> Estimate:
        """Fit all, and take the best."""
        starts = (EM(Random(self.n_states, seed=seed), 4, state_smoothing=0.0) for seed in range(self.n_starts))
        results = [start.fit(treebank, jobs=jobs, listener=listener) for start in starts]
        return max(results, key=lambda result: result.log_likelihood[-1])


OWN = BestOfRandom(n_starts=2)
PHRASES = embedded_treebank(30)
SENTENCES = [["the", "cat", "sleeps"], ["a", "dog", "barks"]] * 12
TAGGED = [list(zip(words, "DNV", strict=True)) for words in SENTENCES]
MODELS = {
    "phrases": lambda own: ConstituencyModel.train(PHRASES, ConstituencyOptions(estimator=own)),
    "tags": lambda own: LatentTagger.train(TAGGED, TaggerOptions(own)),
    "sequences": lambda own: LatentHMM.train(SENTENCES, HMMOptions(own, choose_states=False)),
    "graphs": lambda own: GraphModel.train(GRAPHS[:20], own),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_trains_with_it_and_keeps_it_in_its_file(name: str, tmp_path: Path) -> None:
    model = MODELS[name](OWN)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.options == model.options
    assert getattr(again.options, "estimator", again.options) == OWN


@dataclass(frozen=True)
class Wrong(Estimator):
    """Return what is no estimate."""

    def fit(self, treebank: Treebank, *, jobs: int | None = 1, listener: Listener = silent) -> Any:
        """Forget to estimate."""
        return self.answer

    answer: ClassVar[Any] = None


@pytest.mark.parametrize("name", MODELS)
def test_an_estimator_that_returns_no_estimate_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: Any = None
    for answer, message in [
        (5, "Wrong.fit must return an Estimate, not 5"),
        (None, "Wrong.fit must return an Estimate, not None"),
        (Estimate(nothing), "Wrong.fit must return an Estimate of ObservableOperators, not of None"),
    ]:
        monkeypatch.setattr(Wrong, "answer", answer)
        with pytest.raises(TypeError, match=message):
            MODELS[name](Wrong())


def test_files_of_an_unknown_estimator_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MODELS["graphs"](OWN).save(tmp_path / "model")
    known: dict[str, type[Options]] = {name: kind for name, kind in Estimator.kinds.items() if kind is not BestOfRandom}
    monkeypatch.setattr(Estimator, "kinds", known)
    with pytest.raises(ModelFileError, match="'BestOfRandom' is no Estimator of the library") as error:
        load(tmp_path / "model")
    assert "import its module" in str(error.value)
    assert "damaged" not in str(error.value) and "train it again" not in str(error.value)
