"""Train, parse, tag, score, compute surprisal, evaluate, rerank and inspect: what commands do, as plain functions.

Arguments and iterators go in, records come out.  Nothing here prints, or knows a command line.  The module `kinds` has
the one table of all kinds of models: the functions that train and evaluate each kind, read its sources and write its
answers.
"""

from spectral_latent.tasks.answers import Search, parse, score, surprisal, tag
from spectral_latent.tasks.evaluation import Gold
from spectral_latent.tasks.inspection import inspect
from spectral_latent.tasks.kinds import KINDS, Kind, load, load_model
from spectral_latent.tasks.reranking import evaluate_reranker, nbest_lists, read_lists, score_lists
from spectral_latent.tasks.verification import differences_of, train_again
from spectral_latent.tasks.watch import RequestError

__all__ = [
    "KINDS",
    "Gold",
    "Kind",
    "RequestError",
    "Search",
    "differences_of",
    "evaluate_reranker",
    "inspect",
    "load",
    "load_model",
    "nbest_lists",
    "parse",
    "read_lists",
    "score",
    "score_lists",
    "surprisal",
    "tag",
    "train_again",
]
