"""Learn latent hidden Markov models of sequences, with tags and without."""

from spectral_latent._names import PresetName
from spectral_latent.sequence.baum_welch import baum_welch, chain_sums, state_posteriors, supported_states
from spectral_latent.sequence.conversion import Alphabet, Sequences, rows_of
from spectral_latent.sequence.gaussian import GaussianLearner, GaussianMarkov, train_gaussian
from spectral_latent.sequence.grammar import SequenceGrammar
from spectral_latent.sequence.hidden_markov import HiddenMarkov, draw_states, untagged_rules
from spectral_latent.sequence.model import LatentHMM, LatentTagger, StateTagger, train_and_tag
from spectral_latent.sequence.options import HMMOptions, TaggerOptions, hmm_preset, preset
from spectral_latent.sequence.prediction import END, SequenceModel

__all__ = [
    "END",
    "Alphabet",
    "GaussianLearner",
    "GaussianMarkov",
    "HMMOptions",
    "HiddenMarkov",
    "LatentHMM",
    "LatentTagger",
    "PresetName",
    "SequenceGrammar",
    "SequenceModel",
    "Sequences",
    "StateTagger",
    "TaggerOptions",
    "baum_welch",
    "chain_sums",
    "draw_states",
    "hmm_preset",
    "preset",
    "rows_of",
    "state_posteriors",
    "supported_states",
    "train_and_tag",
    "train_gaussian",
    "untagged_rules",
]
