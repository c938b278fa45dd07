"""Theorem 3: the error of estimated probabilities falls as one over the square root of the number of trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.consistency import (
    VARIANTS,
    errors,
    features_of,
    fitted,
    one_node_counted_once,
    plot,
    report,
    true_model,
)
from spectral_latent.estimation import EstimatorOptions, project_trees
from spectral_latent.inference import sample_trees

SIZES = [1_000, 4_000, 16_000, 64_000]


@pytest.fixture(scope="module")
def found() -> dict[str, np.ndarray]:
    return errors(SIZES, seeds=3)


@pytest.mark.parametrize("variant", [name for name, f in VARIANTS.items() if f is not one_node_counted_once])
def test_theorem_3_the_error_falls_with_the_square_root_of_the_sample(
    found: dict[str, np.ndarray], variant: str
) -> None:
    slope, _ = fitted(SIZES, found[variant])
    assert -0.65 < slope < -0.35


def test_all_nodes_give_smaller_errors_than_one_per_tree(found: dict[str, np.ndarray]) -> None:
    assert (np.median(found["all nodes"], axis=1) < np.median(found["one node per tree"], axis=1)).all()


def test_draws_counted_once_each_do_not_converge_to_the_truth(found: dict[str, np.ndarray]) -> None:
    assert (found["one node, counted once"] > 0.2).all()


def test_the_model_satisfies_the_conditions() -> None:
    trees = sample_trees(true_model(), 20_000, np.random.default_rng(0)).trees
    options = EstimatorOptions(states=4, scaling=None, cutoff=0.0)
    sigma = project_trees(trees, features_of(trees), options).sigma
    assert (sigma[:, 1] > 3 * sigma[:, 2]).all()  # two states, and noise


def test_the_table_and_the_figure(
    found: dict[str, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    report(SIZES, found)
    plot(SIZES, found, tmp_path / "figure.png")
    assert capsys.readouterr().out.count("\n|") == 1 + len(SIZES) + 1
    assert 5_000 < (tmp_path / "figure.png").stat().st_size < 60_000
