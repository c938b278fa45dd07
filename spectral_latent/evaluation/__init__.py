"""Score parses and tags against gold annotation."""

from spectral_latent.evaluation.models import (
    ParserEvaluation,
    TaggerEvaluation,
    evaluate_columns,
    evaluate_dependency_parser,
    evaluate_parser,
    evaluate_tagger,
    measure_perplexity,
)
from spectral_latent.evaluation.scores import (
    AttachmentScore,
    BracketScores,
    TaggingScore,
    many_to_one,
    one_to_one,
    score_attachments,
    score_brackets,
    score_tags,
    v_measure,
)
from spectral_latent.evaluation.universal import score_columns

__all__ = [
    "AttachmentScore",
    "BracketScores",
    "ParserEvaluation",
    "TaggerEvaluation",
    "TaggingScore",
    "evaluate_columns",
    "evaluate_dependency_parser",
    "evaluate_parser",
    "evaluate_tagger",
    "many_to_one",
    "measure_perplexity",
    "one_to_one",
    "score_attachments",
    "score_brackets",
    "score_columns",
    "score_tags",
    "v_measure",
]
