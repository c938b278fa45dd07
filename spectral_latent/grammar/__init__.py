"""Hold latent PCFGs over words, which constituency and dependency share."""

from spectral_latent.grammar.forests import SpanForest
from spectral_latent.grammar.latent_grammar import LatentGrammar
from spectral_latent.grammar.mean_inside import mean_inside_vectors
from spectral_latent.grammar.options import GrammarOptions, Limits, MarginalName
from spectral_latent.grammar.permits import Permits, cells, crossed_cells
from spectral_latent.grammar.sentence import Charts, SentenceGrammar
from spectral_latent.grammar.training import Training, prepare_grammar, spelling_of

__all__ = [
    "Charts",
    "GrammarOptions",
    "LatentGrammar",
    "Limits",
    "MarginalName",
    "Permits",
    "SentenceGrammar",
    "SpanForest",
    "Training",
    "cells",
    "crossed_cells",
    "mean_inside_vectors",
    "prepare_grammar",
    "spelling_of",
]
