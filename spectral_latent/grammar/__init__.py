"""Latent PCFGs over words: what the formalisms that parse sentences share."""

from spectral_latent.grammar.forests import SpanForest
from spectral_latent.grammar.grammar import GrammarData, GrammarOptions, LatentGrammar, ReadWords
from spectral_latent.grammar.words import spelling_of

__all__ = ["GrammarData", "GrammarOptions", "LatentGrammar", "ReadWords", "SpanForest", "spelling_of"]
