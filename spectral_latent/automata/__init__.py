"""Weighted automata: learnt from strings or from any function of strings, and minimised."""

from spectral_latent.automata.choice import AutomatonOptions
from spectral_latent.automata.hankel import Counted, Hankel, strings_up_to
from spectral_latent.automata.model import WeightedAutomaton

__all__ = ["AutomatonOptions", "Counted", "Hankel", "WeightedAutomaton", "strings_up_to"]
