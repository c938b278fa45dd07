"""Sequences: the latent hidden Markov model."""

from spectral_latent.sequence.alphabet import Alphabet
from spectral_latent.sequence.anchor_model import AnchorHMM, AnchorOptions
from spectral_latent.sequence.assumptions import Assumptions, check_assumptions, log_likelihood_per_word
from spectral_latent.sequence.baselines import baum_welch_of_seeds, cluster_model, max_marginal_states
from spectral_latent.sequence.brown import brown_clusters
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.hidden_markov import HiddenMarkov, UntaggedShard, baum_welch
from spectral_latent.sequence.hulls import HullOptions
from spectral_latent.sequence.log_linear import LogLinearOptions, log_linear
from spectral_latent.sequence.model import END, LatentHMM
from spectral_latent.sequence.training import SequenceOptions
from spectral_latent.sequence.vocabulary import Types

__all__ = [
    "END",
    "Alphabet",
    "AnchorHMM",
    "AnchorOptions",
    "Assumptions",
    "HiddenMarkov",
    "HullOptions",
    "LatentHMM",
    "LogLinearOptions",
    "SequenceOptions",
    "Sequences",
    "Types",
    "UntaggedShard",
    "baum_welch",
    "baum_welch_of_seeds",
    "brown_clusters",
    "check_assumptions",
    "cluster_model",
    "log_likelihood_per_word",
    "log_linear",
    "max_marginal_states",
]
