"""The algorithms that the papers describe or compare with, and that no model of the library needs."""

from spectral_latent.papers.assumptions import Assumptions, check_assumptions, log_likelihood_per_word
from spectral_latent.papers.baselines import baum_welch_of_seeds, cluster_model, max_marginal_states
from spectral_latent.papers.brown import brown_clusters
from spectral_latent.papers.embeddings import cca_embeddings, dependency_bigrams
from spectral_latent.papers.log_linear import LogLinearOptions, log_linear
from spectral_latent.papers.observable import corrected_operators, paper_operators
from spectral_latent.papers.observations import Observations

__all__ = [
    "Assumptions",
    "LogLinearOptions",
    "Observations",
    "baum_welch_of_seeds",
    "brown_clusters",
    "cca_embeddings",
    "check_assumptions",
    "cluster_model",
    "corrected_operators",
    "dependency_bigrams",
    "log_likelihood_per_word",
    "log_linear",
    "max_marginal_states",
    "paper_operators",
]
