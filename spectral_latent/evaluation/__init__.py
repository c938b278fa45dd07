"""Scores of parses and taggings against gold."""

from spectral_latent.evaluation.brackets import BracketScores, score_brackets
from spectral_latent.evaluation.held_out import HeldOut, with_chosen_states
from spectral_latent.evaluation.tagging import TaggingScore, many_to_one, one_to_one, score_tags, v_measure

__all__ = [
    "BracketScores",
    "HeldOut",
    "TaggingScore",
    "many_to_one",
    "one_to_one",
    "score_brackets",
    "score_tags",
    "v_measure",
    "with_chosen_states",
]
