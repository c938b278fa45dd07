"""Scores of parses and taggings against gold."""

from spectral_latent.evaluation.brackets import BracketScores, score_brackets
from spectral_latent.evaluation.held_out import HeldOut, with_chosen_states

__all__ = ["BracketScores", "HeldOut", "score_brackets", "with_chosen_states"]
