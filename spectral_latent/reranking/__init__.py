"""Rerank n-best lists by features of candidates and a perceptron."""

from spectral_latent.reranking.candidates import (
    Candidate,
    CandidateError,
    NBest,
    Parser,
    Tree,
    jackknife,
    jackknifed_nbest,
    parser_nbest,
    parses_to_nbest,
    words_of,
)
from spectral_latent.reranking.features import BaseFeatures, FeatureTable, LatentFeatures
from spectral_latent.reranking.perceptron import PerceptronOptions, PerceptronReranker
from spectral_latent.reranking.reranker import LATENT, N_CANDIDATES, CandidateFeatures, LatentModels, Reranker
from spectral_latent.reranking.templates import TreeTemplates

__all__ = [
    "LATENT",
    "N_CANDIDATES",
    "BaseFeatures",
    "Candidate",
    "CandidateError",
    "CandidateFeatures",
    "FeatureTable",
    "LatentFeatures",
    "LatentModels",
    "NBest",
    "Parser",
    "PerceptronOptions",
    "PerceptronReranker",
    "Reranker",
    "Tree",
    "TreeTemplates",
    "jackknife",
    "jackknifed_nbest",
    "parser_nbest",
    "parses_to_nbest",
    "words_of",
]
