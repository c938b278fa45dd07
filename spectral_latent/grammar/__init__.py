"""Hold latent PCFGs over words, which constituency and dependency share."""

from spectral_latent.grammar._coarse import Permits, cells, crossed_cells
from spectral_latent.grammar.forests import Charts, SentenceGrammar, SpanForest
from spectral_latent.grammar.latent_grammar import LatentGrammar, Training, prepare_grammar, spelling_of
from spectral_latent.grammar.options import GrammarOptions, Limits, MarginalName
from spectral_latent.grammar.sums import GrammarSums

__all__ = [
    "Charts",
    "GrammarOptions",
    "GrammarSums",
    "LatentGrammar",
    "Limits",
    "MarginalName",
    "Permits",
    "SentenceGrammar",
    "SpanForest",
    "Training",
    "cells",
    "crossed_cells",
    "prepare_grammar",
    "spelling_of",
]
