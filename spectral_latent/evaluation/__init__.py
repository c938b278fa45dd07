"""Scores of parses and taggings against gold."""

from spectral_latent.evaluation.brackets import BracketScores, score_brackets

__all__ = ["BracketScores", "score_brackets"]
