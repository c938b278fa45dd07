"""Readers of treebanks."""

from spectral_latent.corpora.alpino import parse_alpino
from spectral_latent.corpora.brackets import parse_brackets, read_brackets
from spectral_latent.corpora.nltk_trees import phrase_from_nltk, phrase_to_nltk
from spectral_latent.corpora.sources import constituency_trees
from spectral_latent.corpora.text import CorpusError

__all__ = [
    "CorpusError",
    "constituency_trees",
    "parse_alpino",
    "parse_brackets",
    "phrase_from_nltk",
    "phrase_to_nltk",
    "read_brackets",
]
