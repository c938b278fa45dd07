"""Reranking of n-best lists: features of candidates, and a perceptron that chooses among them."""

from spectral_latent.reranking.candidates import Candidate, CandidateError, NBest, Tree, words_of
from spectral_latent.reranking.features import BaseFeatures, ListTransformer
from spectral_latent.reranking.jackknife import jackknifed
from spectral_latent.reranking.latent import LatentFeatures
from spectral_latent.reranking.own import (
    all_best_parses,
    best_parses,
    jackknifed_lists,
    load_reranker,
    nbest_of_parses,
    own_lists,
)
from spectral_latent.reranking.perceptron import PerceptronOptions, PerceptronReranker
from spectral_latent.reranking.reranker import Reranker, feature_table
from spectral_latent.reranking.tables import FeatureTable, group_of, is_in_group
from spectral_latent.reranking.templates import TreeTemplates

__all__ = [
    "BaseFeatures",
    "Candidate",
    "CandidateError",
    "FeatureTable",
    "LatentFeatures",
    "ListTransformer",
    "NBest",
    "PerceptronOptions",
    "PerceptronReranker",
    "Reranker",
    "Tree",
    "TreeTemplates",
    "all_best_parses",
    "best_parses",
    "feature_table",
    "group_of",
    "is_in_group",
    "jackknifed",
    "jackknifed_lists",
    "load_reranker",
    "nbest_of_parses",
    "own_lists",
    "words_of",
]
