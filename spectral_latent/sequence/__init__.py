"""Learn latent hidden Markov models of sequences, with tags and without."""

from spectral_latent.sequence.baum_welch import baum_welch
from spectral_latent.sequence.conversion import Alphabet, Sequences, rows_of
from spectral_latent.sequence.grammar import SequenceGrammar
from spectral_latent.sequence.hidden_markov import HiddenMarkov, untagged_rules
from spectral_latent.sequence.model import LatentHMM, LatentTagger, StateTagger, train_and_tag
from spectral_latent.sequence.options import HMMOptions, TaggerOptions, hmm_preset, preset
from spectral_latent.sequence.prediction import END, SequenceModel

__all__ = [
    "END",
    "Alphabet",
    "HMMOptions",
    "HiddenMarkov",
    "LatentHMM",
    "LatentTagger",
    "SequenceGrammar",
    "SequenceModel",
    "Sequences",
    "StateTagger",
    "TaggerOptions",
    "baum_welch",
    "hmm_preset",
    "preset",
    "rows_of",
    "train_and_tag",
    "untagged_rules",
]
