"""Constituency trees: the latent-variable PCFG."""

from spectral_latent.constituency.cleaning import base_label, clean
from spectral_latent.constituency.conversion import Binarisation, Label
from spectral_latent.constituency.model import FALLBACK, ConstituencyModel, ConstituencyOptions, Parse, Treebank
from spectral_latent.constituency.phrase import Phrase

__all__ = [
    "FALLBACK",
    "Binarisation",
    "ConstituencyModel",
    "ConstituencyOptions",
    "Label",
    "Parse",
    "Phrase",
    "Treebank",
    "base_label",
    "clean",
]
