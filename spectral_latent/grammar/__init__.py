"""Latent PCFGs over words: what the formalisms that parse sentences share."""

from spectral_latent.grammar.forests import SpanForest
from spectral_latent.grammar.grammar import GrammarOptions, LatentGrammar, ReadWords
from spectral_latent.grammar.training import GrammarTraining, spelling_of

__all__ = ["GrammarOptions", "GrammarTraining", "LatentGrammar", "ReadWords", "SpanForest", "spelling_of"]
