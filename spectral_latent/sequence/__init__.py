"""Sequences: the latent hidden Markov model."""

from spectral_latent.sequence.alphabet import Alphabet
from spectral_latent.sequence.conversion import Sequences
from spectral_latent.sequence.hidden_markov import HiddenMarkov, UntaggedShard, baum_welch
from spectral_latent.sequence.model import END, LatentHMM
from spectral_latent.sequence.training import SequenceOptions

__all__ = [
    "END",
    "Alphabet",
    "HiddenMarkov",
    "LatentHMM",
    "SequenceOptions",
    "Sequences",
    "UntaggedShard",
    "baum_welch",
]
