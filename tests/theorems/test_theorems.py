"""The theorems of the long paper, each as one test over every structure; docs/theory.md refers to them.

Populations are enumerated: every tree, with every choice of states (equation 2), so that expectations are exact.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from spectral_latent.estimation import (
    EstimationError,
    EstimatorOptions,
    FeatureColumns,
    LoweredStates,
    Moments,
    Progress,
    ProjectedTrees,
    TrainingData,
    draw_one_node_per_tree,
    estimate,
    inside_templates,
    outside_templates,
    project_trees,
    spectral,
)
from spectral_latent.inference import collapse, inside, marginals, outside, sample_trees, total_weight, tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest
from tests.oracles import Lpcfg, cky_forest, figure_2
from tests.theorems.populations import STRUCTURES, Population, random_model

EXACT = EstimatorOptions(states=8, scaling=None, smoothing=None, cutoff=1e-7)

every_structure = pytest.mark.parametrize("seed", [3, 6])
every_structure = (lambda mark, seeds: lambda test: mark(seeds(test)))(
    pytest.mark.parametrize("name", STRUCTURES), every_structure
)
