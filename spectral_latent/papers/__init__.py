"""The papers that the library stands on: algorithms that no model of the library needs, and tables made again.

`python -m spectral_latent.papers --help` lists a command for each paper.
"""

from spectral_latent.papers.assumptions import Assumptions, check_assumptions
from spectral_latent.papers.baselines import (
    decode_states,
    score_per_word,
    solve_closed_form,
    train_baum_welch,
    train_cluster_hmm,
)
from spectral_latent.papers.brown import find_brown_clusters
from spectral_latent.papers.embeddings import embed_by_arcs, embed_by_contexts
from spectral_latent.papers.featurized import FeaturizedOptions, train_featurized_hmm
from spectral_latent.papers.observable import estimate_corrected_operators, estimate_paper_operators
from spectral_latent.papers.observations import Observations

__all__ = [
    "Assumptions",
    "FeaturizedOptions",
    "Observations",
    "check_assumptions",
    "decode_states",
    "embed_by_arcs",
    "embed_by_contexts",
    "estimate_corrected_operators",
    "estimate_paper_operators",
    "find_brown_clusters",
    "score_per_word",
    "solve_closed_form",
    "train_baum_welch",
    "train_cluster_hmm",
    "train_featurized_hmm",
]
