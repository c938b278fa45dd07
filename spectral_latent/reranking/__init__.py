"""Rerank n-best lists by features of candidates and their weights."""

from spectral_latent.reranking.candidates import (
    Candidate,
    CandidateError,
    NBest,
    Parser,
    Tree,
    jackknifed_nbest,
    parser_nbest,
    parses_to_nbest,
    words_of,
)
from spectral_latent.reranking.choice import CandidateChoice, RerankerOptions
from spectral_latent.reranking.features import FeatureTable
from spectral_latent.reranking.lists import (
    NBestFormat,
    best_trees,
    nbest_format,
    parse_nbest,
    read_nbest,
    write_nbest,
)
from spectral_latent.reranking.reranker import LATENT, N_CANDIDATES, CandidateFeatures, LatentModels, Reranker

__all__ = [
    "LATENT",
    "N_CANDIDATES",
    "Candidate",
    "CandidateChoice",
    "CandidateError",
    "CandidateFeatures",
    "FeatureTable",
    "LatentModels",
    "NBest",
    "NBestFormat",
    "Parser",
    "Reranker",
    "RerankerOptions",
    "Tree",
    "best_trees",
    "jackknifed_nbest",
    "nbest_format",
    "parse_nbest",
    "parser_nbest",
    "parses_to_nbest",
    "read_nbest",
    "words_of",
    "write_nbest",
]
