"""`spectral-latent demo`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from spectral_latent.cli.notes import Notes, quiet_option

if TYPE_CHECKING:
    from spectral_latent.constituency import ConstituencyModel, Phrase
    from spectral_latent.evaluation import ParserEvaluation
    from spectral_latent.trees import FloatArray

__all__ = ["demo"]

_NAMES = ("plain PCFG", "spectral", "truth")
_HELD_OUT = 300


@click.command()
@quiet_option
def demo(quiet: bool) -> None:
    """Learn a known grammar from trees sampled from it, and compare.

    The grammar of the embedded treebank has latent states. A plain PCFG and a latent one are learnt from its trees
    alone, and parse other sentences beside the grammar itself, the best that any learner could do.
    """
    from spectral_latent.constituency import ConstituencyModel
    from spectral_latent.corpora.embedded import embedded_treebank, embedded_truth
    from spectral_latent.evaluation import GoldTree, evaluate_parser

    notes = Notes(quiet)
    trees, held_out = embedded_treebank(), embedded_treebank(_HELD_OUT, seed=1)
    notes.say("Compiling; this takes half a minute the first time")
    _learnt(trees[:20])
    notes.say(f"Learning from {len(trees)} trees")
    models, seconds = _learnt(trees)
    models.append(ConstituencyModel((embedded_truth(),)))
    notes.say(f"Parsing {len(held_out)} other sentences")
    gold = [tree for tree in map(GoldTree.of, held_out) if tree is not None]
    results = [evaluate_parser(model, gold, progress=partial(notes.progress, label="Parsing")) for model in models]
    click.echo(_table(results, _mean_logs(models, held_out), [*seconds, "-"]))
    click.echo(_example(results))


def _learnt(trees: Sequence[Phrase]) -> tuple[list[ConstituencyModel], list[str]]:
    """The plain and the spectral model, and the CPU seconds from trees to each."""
    from spectral_latent.constituency import ConstituencyModel, ConstituencyOptions, prepare

    start = time.process_time()
    (training,) = prepare(trees, [ConstituencyOptions()])
    coarse = time.process_time() - start
    models = [ConstituencyModel((grammar,)) for grammar in (training.coarse, training.estimate())]
    return models, [f"{coarse:.1f}", f"{time.process_time() - start:.1f}"]


def _mean_logs(models: Sequence[ConstituencyModel], trees: Sequence[Phrase]) -> FloatArray:
    """Each model's mean log p̂ over the trees to which all give a positive one."""
    import numpy as np

    weights = [model.score(trees) for model in models]
    positive = np.all([weight.sign > 0 for weight in weights], axis=0)
    return np.array([weight.log[positive].mean() for weight in weights])


def _table(results: Sequence[ParserEvaluation], mean_logs: FloatArray, seconds: Sequence[str]) -> str:
    lines = [f"{'':<12}{'F1':>8}{'exact':>8}{'log p':>8}{'training':>10}"]
    for name, result, log, taken in zip(_NAMES, results, mean_logs, seconds, strict=True):
        lines.append(f"{name:<12}{result.scores.f1:>8.1f}{result.scores.exact:>8.1f}{log:>8.1f}{taken:>10}")
    lines.append("log p: mean over the held-out trees that have p > 0 everywhere; training: CPU seconds")
    return "\n".join(lines)


def _example(results: Sequence[ParserEvaluation]) -> str:
    """The trees of the shortest sentence that the plain PCFG alone parses unlike the truth."""
    by_sentence = zip(*([parse.tree for parse in result.parses] for result in results), strict=True)
    telling = [trees for trees in by_sentence if trees[0] != trees[1] == trees[2]]
    if not telling:
        return ""
    trees = min(telling, key=lambda trees: len(list(trees[0].words())))
    lines = [f"{name:<12}{tree.bracketed()}" for name, tree in zip(_NAMES, trees, strict=True)]
    return "\n".join(["", " ".join(trees[0].words()), *lines])
