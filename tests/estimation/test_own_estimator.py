"""Estimators that are written outside of the package."""

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from click.testing import CliRunner

from spectral_latent import ConstituencyModel, GraphModel, LatentHMM, LatentTagger, load
from spectral_latent._options import AtLeast
from spectral_latent.cli import main
from spectral_latent.constituency import ConstituencyOptions
from spectral_latent.estimation import EM, Estimate, Estimator, Listener, Random, Treebank, silent
from spectral_latent.sequence import HMMOptions, TaggerOptions
from tests.conformance.test_models import GRAPHS
from tests.toy import toy_treebank


@dataclass(frozen=True)
class BestOfRandom(Estimator):
    """EM from several random starts, of which the likeliest result is taken."""

    n_starts: Annotated[int, AtLeast(1)] = 3
    n_states: Annotated[int, AtLeast(1)] = 2

    def fit(self, treebank: Treebank, *, jobs: int | None = 1, listener: Listener = silent) -> Estimate:
        starts = (EM(Random(self.n_states, seed=seed), 4, state_smoothing=0.0) for seed in range(self.n_starts))
        results = [start.fit(treebank, jobs=jobs, listener=listener) for start in starts]
        return max(results, key=lambda result: result.objective[-1])


OWN = BestOfRandom(n_starts=2)
PHRASES = toy_treebank(30)
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
    def fit(self, treebank: Treebank, *, jobs: int | None = 1, listener: Listener = silent) -> Any:
        return self.answer

    answer: ClassVar[Any] = None


@pytest.mark.parametrize("answer", [5, None, Estimate(None)])  # type: ignore[arg-type]
def test_an_estimator_that_returns_no_estimate_is_named(answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wrong, "answer", answer)
    with pytest.raises(TypeError, match=r"Wrong\.fit"):
        MODELS["graphs"](Wrong())


MODULE = """
from dataclasses import dataclass
from spectral_latent.estimation import EM, Estimator, Random, silent
@dataclass(frozen=True)
class OneStep(Estimator):
    def fit(self, treebank, *, jobs=1, listener=silent):
        return EM(Random(2), 1, state_smoothing=0.0).fit(treebank, jobs=jobs, listener=listener)
"""


def test_commands_import_the_module_of_an_estimator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the working folder, which is not on the path of an installed command."""
    (tmp_path / "mine.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        MODELS["tags"](import_module("mine").OneStep()).save("model")
    del sys.modules["mine"]
    done = CliRunner().invoke(main, ["--import", "mine", "tag", "model"], input="the dog\n")
    assert done.exit_code == 0 and sys.modules.pop("mine", None) is not None, done.output
