"""Check what models do that take weights, an estimator or a number of jobs."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_latent._names import EstimatorName
from spectral_latent.estimation import ESTIMATORS, EstimationError, Progress
from tests.conformance.model import ModelConformance, contents, with_option
from tests.streams import make_shards


class EstimatedConformance(ModelConformance):
    """Checks of a model whose latent states one of the estimators finds, from weighted examples and on threads."""

    estimator: tuple[str, ...] = ("estimator",)  # the path to the estimator

    def _with(self, name: EstimatorName, **values: Any) -> Any:
        """Change the estimator in the first of the settings."""
        estimator = ESTIMATORS[name].with_settings(**{"n_states": 4} | values)
        return with_option(self.settings[0], self.estimator, estimator) if self.estimator else estimator

    @pytest.mark.parametrize("estimator", ["clustering", "moments-em"])
    def test_models_of_other_estimators_come_back_from_files(self, estimator: EstimatorName, tmp_path: Path) -> None:
        options = self._with(estimator, n_states=2, iterations=2)
        self.check_round_trip(self.learn(self.examples[:10], options), tmp_path)

    def test_the_sizes_of_a_model_name_its_largest_number_of_states(self, models: list[Any]) -> None:
        for model in models:
            most = int(model.members[0].operators.states.max())
            assert most in map(int, re.findall(r"(\d+) states?", model.sizes))

    def test_a_model_keeps_the_objective_of_every_iteration(self, tmp_path: Path) -> None:
        """The objective is what a listener is told, also in the file; an estimator without EM has none."""
        for estimator in ("clustering", "clusters-em"):
            options = self._with(estimator, iterations=3, tolerance=0.0)
            heard: list[Progress] = []
            model = self.train(options, listener=heard.append)
            told = [progress.score for progress in heard if progress.stage.endswith("EM")]
            assert len(told) == (4 if estimator == "clusters-em" else 0)
            np.testing.assert_array_equal(np.ravel(model.description.get("objective", [])), np.round(told, 2))
            model.save(tmp_path / "model")
            assert self.load(tmp_path / "model").description == model.description

    def test_weights_of_examples(self, models: list[Any], tmp_path: Path) -> None:
        """Weights of one change nothing, and a weight of zero leaves an example out."""
        examples = self.examples
        of_weights = [(models[0], [1] * len(examples))]
        of_weights.append((self.learn(examples[3:], self.settings[0]), [0, 0, 0, *of_weights[0][1][3:]]))
        for model, weights in of_weights:
            model.save(tmp_path / "expected")
            self.learn(iter(examples), self.settings[0], weights=iter(weights)).save(tmp_path / "weighted")
            assert (tmp_path / "weighted").read_bytes() == (tmp_path / "expected").read_bytes()

    def test_an_example_of_weight_two_counts_twice(self, tmp_path: Path) -> None:
        """All numbers of the model are the same up to rounding."""
        examples = self.examples
        weights = [1 + number % 3 for number in range(len(examples))]
        weighted = self.learn(iter(examples), self.settings[0], weights=weights)
        repeated = [example for example, weight in zip(examples, weights, strict=True) for _ in range(weight)]
        self._compare(weighted, self.learn(repeated, self.settings[0]), tmp_path)

    def _compare(self, one: Any, other: Any, folder: Path) -> None:
        """Compare the numbers of two models, up to rounding."""
        one.save(folder / "one")
        other.save(folder / "other")
        found, _ = contents(folder / "one")
        expected, _ = contents(folder / "other")
        assert set(found) == set(expected)
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, rtol=2e-3, atol=1e-4, err_msg=name)

    def test_weights_that_make_no_sense_are_refused(self) -> None:
        examples = self.examples
        for weights in ([1.0], [1.0] * (len(examples) + 1), [-1.0] * len(examples), [float("nan")] * len(examples)):
            with pytest.raises(EstimationError, match="weight"):
                self.learn(iter(examples), self.settings[0], weights=weights)
        with pytest.raises(EstimationError, match="no trees"):
            self.learn(iter(examples), self.settings[0], weights=[0.0] * len(examples))

    def test_shards_are_learnt_alike_in_memory_in_files_and_by_several_jobs(
        self, models: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """To the byte; all examples at once give the same numbers up to rounding."""
        make_shards(monkeypatch, 150, in_files=False)
        in_memory = self.train(self.settings[0])
        make_shards(monkeypatch, 150, in_files=True)
        in_memory.save(tmp_path / "memory")
        self.train(self.settings[0], jobs=2).save(tmp_path / "files")
        assert (tmp_path / "memory").read_bytes() == (tmp_path / "files").read_bytes()
        self._compare(in_memory, models[0], tmp_path)


class AnswersByProcesses:
    """Checks of a model that answers by several processes."""

    def test_answers_are_the_same_for_any_number_of_jobs(self, models: list[Any]) -> None:
        assert isinstance(self, ModelConformance)
        inputs = self.inputs * 3  # more than a batch
        assert self.many(models[0], inputs, jobs=2) == self.many(models[0], inputs, jobs=1)
        for wrong in ("2", 2.5, True, 0, -1):
            with pytest.raises(ValueError, match="jobs must be an integer of at least 1 or None"):
                self.many(models[0], inputs, jobs=wrong)  # type: ignore[arg-type]
