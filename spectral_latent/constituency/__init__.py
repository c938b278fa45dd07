"""Constituency trees: the latent-variable PCFG."""

from spectral_latent.constituency.cleaning import base_label, clean
from spectral_latent.constituency.constituents import Constituent
from spectral_latent.constituency.conversion import Binarisation, Label
from spectral_latent.constituency.model import FALLBACK, ConstituencyModel, Parse
from spectral_latent.constituency.phrase import Phrase
from spectral_latent.constituency.phrase_grammar import ConstituencyOptions, PhraseGrammar
from spectral_latent.constituency.presets import preset
from spectral_latent.constituency.treebank import PhraseTraining, read_treebank

__all__ = [
    "FALLBACK",
    "Binarisation",
    "ConstituencyModel",
    "ConstituencyOptions",
    "Constituent",
    "Label",
    "Parse",
    "Phrase",
    "PhraseGrammar",
    "PhraseTraining",
    "base_label",
    "clean",
    "preset",
    "read_treebank",
]
