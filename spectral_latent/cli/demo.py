"""`spectral-latent demo`."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from spectral_latent.cli.console import Console
from spectral_latent.cli.options import quiet_option

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel, Phrase
    from spectral_latent.evaluation import BracketScores, ParserEvaluation
    from spectral_latent.trees import FloatArray

__all__ = ["demo"]

_NAMES = ("plain PCFG", "spectral", "truth")
_HELD_OUT = 300
_NEXT = """
Next, a parser of English from NLTK's treebank, and its first tree:
  {python} -m nltk.downloader treebank && {command} train constituency nltk:treebank -o english.model
  echo "She didn't see it." | {command} parse english.model --text"""


@click.command()
@quiet_option
def demo(quiet: bool) -> None:
    """Learn a grammar with latent states from trees, and compare it with the truth.

    The trees are drawn from a known grammar with latent states. A plain PCFG and a latent PCFG learn from the trees
    alone. Both parse other sentences, and so does the known grammar, which no learner can exceed.

    \b
    Example:
      spectral-latent demo
    """
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.corpora.embedded import embedded_treebank, embedded_truth
    from spectral_latent.evaluation import GoldTree, evaluate_parser

    console = Console(quiet)
    trees = embedded_treebank()
    held_out = embedded_treebank(_HELD_OUT, seed=1)
    _train(trees[:20])  # compiles the functions whose time is measured below
    console.message(f"Training on {len(trees)} trees")
    models, seconds = _train(trees)
    models.append(ConstituencyModel((embedded_truth(),)))
    console.message(f"Parsing {len(held_out)} other sentences")
    gold = [tree for tree in map(GoldTree.of, held_out) if tree is not None]
    evaluations = [evaluate_parser(model, gold, progress=partial(console.bar, label="Parsing")) for model in models]
    click.echo(_table(evaluations, _mean_logs(models, held_out), [*seconds, "-"]))
    click.echo(_example(evaluations))
    command = "spectral-latent" if shutil.which("spectral-latent") else f"{sys.executable} -m spectral_latent"
    click.echo(_NEXT.format(python=sys.executable, command=command))


def _train(trees: Sequence[Phrase]) -> tuple[list[ConstituencyModel], list[str]]:
    """Train a plain and a spectral model; return the models, and the CPU seconds of each training."""
    from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, prepare

    start = time.process_time()
    (training,) = prepare(trees, [ConstituencyOptions()])
    coarse = time.process_time() - start
    models = [ConstituencyModel((grammar,)) for grammar in (training.coarse, training.estimate())]
    return models, [f"{coarse:.1f}", f"{time.process_time() - start:.1f}"]


def _mean_logs(models: Sequence[ConstituencyModel], trees: Sequence[Phrase]) -> FloatArray:
    """Compute each model's mean log p̂ (M,) over the trees to which all models give a positive p̂."""
    import numpy as np

    weights = [model.score(trees) for model in models]
    positive = np.all([weight.sign > 0 for weight in weights], axis=0)
    return np.array([weight.log[positive].mean() for weight in weights])


def _table(
    evaluations: Sequence[ParserEvaluation[Phrase, BracketScores]], mean_logs: FloatArray, seconds: Sequence[str]
) -> str:
    """Write a table with a row for each model."""
    lines = [f"{'':<12}{'F1':>8}{'exact':>8}{'log p':>8}{'training':>10}"]
    for name, evaluation, log, taken in zip(_NAMES, evaluations, mean_logs, seconds, strict=True):
        lines.append(f"{name:<12}{evaluation.score.f1:>8.1f}{evaluation.score.exact:>8.1f}{log:>8.1f}{taken:>10}")
    lines.append("log p: mean over the held-out trees that have p > 0 everywhere; training: CPU seconds")
    return "\n".join(lines)


def _example(evaluations: Sequence[ParserEvaluation[Phrase, BracketScores]]) -> str:
    """Write the trees of the shortest sentence that only the plain PCFG does not parse as the truth does."""
    by_sentence = zip(*([parse.tree for parse in evaluation.parses] for evaluation in evaluations), strict=True)
    telling = [trees for trees in by_sentence if trees[0] != trees[1] == trees[2]]
    if not telling:
        return ""
    trees = min(telling, key=lambda trees: len(list(trees[0].words())))
    lines = [f"{name:<12}{tree.bracketed()}" for name, tree in zip(_NAMES, trees, strict=True)]
    return "\n".join(["", " ".join(trees[0].words()), *lines])
