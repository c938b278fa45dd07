"""Reranking of n-best lists: features of candidates, and a perceptron that chooses among them."""

from spectral_latent.reranking.candidates import Candidate, CandidateError, NBest, Tree, words_of
from spectral_latent.reranking.features import BaseFeatures, ListTransformer
from spectral_latent.reranking.jackknife import jackknifed
from spectral_latent.reranking.perceptron import PerceptronOptions, PerceptronReranker
from spectral_latent.reranking.tables import FeatureTable, group_of, is_in_group
from spectral_latent.reranking.templates import TreeTemplates

__all__ = [
    "BaseFeatures",
    "Candidate",
    "CandidateError",
    "FeatureTable",
    "ListTransformer",
    "NBest",
    "PerceptronOptions",
    "PerceptronReranker",
    "Tree",
    "TreeTemplates",
    "group_of",
    "is_in_group",
    "jackknifed",
    "words_of",
]
