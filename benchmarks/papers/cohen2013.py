"""Parsing accuracy by steps, after the slides of Cohen, Stratos, Collins, Foster and Ungar (2013).

| step | slide | added to the step before |
| --- | --- | --- |
| "plain" | 16 | the PCFG of relative frequencies |
| "annotated" | 28 | the plain PCFG with parent and sibling annotation |
| "out of the box" | 20 | the spectral estimator with all features; marginals keep their signs, undivided |
| "+ absolute marginals" | 22 | absolute values of negative marginals |
| "+ scaling" | 23, 24 | features scaled by inverse standard deviations, with the κ = 5 of slide 23 |
| "κ = 1" | | the library's default in place of the κ of the slides |
| "+ smoothing" | 26, 27 | moments smoothed by those of fewer parts: the spectral estimator of the library |
| "simple features" | 28 | the same with the rule above and the rule below alone |
| "EM" | 16, 27, 29 | expectation maximisation from random starts, 20 iterations |
| "hybrid" | 31 | expectation maximisation from the states that the moments show, 5 iterations |

The table has the numbers of slides 16, 20, 22, 24, 26, 27, 28 and 31.  Slide 31 does not say how its hybrid algorithm
goes from moments to EM; here most symbols of a treebank start from pivots (see docs/accuracy.md).

The slides learn from sections 2 to 21 of the full Penn treebank, which is not open, and parse section 22.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import click

from benchmarks.papers.tables import MarkdownTable, timed
from spectral_latent.constituency import Binarisation, ConstituencyModel, ConstituencyOptions, Phrase
from spectral_latent.corpora import CorpusError, constituency_trees
from spectral_latent.estimation import EM, Decomposition, Random, Spectral
from spectral_latent.evaluation import GoldTree, evaluate_parser, score_brackets

__all__ = ["STEPS", "print_steps", "step_options", "train_step"]

_SPECTRAL = ("out of the box", "+ absolute marginals", "+ scaling", "κ = 1", "+ smoothing", "simple features")
STEPS = ("plain", "annotated", *_SPECTRAL, "EM", "hybrid")
_ONE_STATE = ("plain", "annotated")
_PAPER_SCALING = 5.0  # κ of slide 23
_PAPER_STATES = 32  # of most of the paper's models
_PAPER_F1 = {
    ("plain", 1): "68.6",
    ("annotated", 1): "82.6",
    ("out of the box", 32): "55.1",
    ("+ absolute marginals", 32): "80.2",
    ("+ scaling", 32): "86.5",
    ("+ smoothing", 8): "85.6",
    ("+ smoothing", 16): "87.8",
    ("+ smoothing", 24): "88.5",
    ("+ smoothing", 32): "88.8",
    ("simple features", 32): "88.1",
    ("EM", 8): "86.9",
    ("EM", 16): "88.3",
    ("EM", 24): "88.4",
    ("EM", 32): "88.6",
    ("hybrid", 32): "89.9",
}
_PAPER_TIME = {("+ smoothing", 32): "< 10 h", ("EM", 32): "187 h"}


def step_options(step: str, n_states: int) -> ConstituencyOptions:
    """Choose the options of a step; the additions of later steps are off.

    >>> step_options("+ scaling", 8).estimator.smoothing is None
    True
    """
    default = ConstituencyOptions()
    if step == "annotated":
        return replace(default, binarisation=Binarisation(siblings=1, parents=1))
    if step == "EM":
        return replace(default, estimator=EM(Random(n_states), iterations=20, tolerance=0.0))
    if step == "hybrid":
        return replace(default, estimator=EM(Decomposition(n_states)))
    at = STEPS.index(step)
    scaling = Spectral.scaling if at >= STEPS.index("κ = 1") else _PAPER_SCALING
    estimator = Spectral(
        n_states,
        scaling=scaling if at >= STEPS.index("+ scaling") else None,
        smoothing=Spectral.smoothing if at >= STEPS.index("+ smoothing") else None,
    )
    return replace(
        default,
        estimator=estimator,
        marginals="absolute" if at >= STEPS.index("+ absolute marginals") else "undivided",
        features="simple" if step == "simple features" else "all",
    )


def train_step(trees: Sequence[Phrase], step: str, n_states: int) -> ConstituencyModel:
    """Train the model of a step; a plain PCFG parses with its own operators.

    >>> trees = [Phrase("S", (Phrase("A", (a,)), Phrase("B", ("b",)))) for a in "ab"]
    >>> train_step(trees, "plain", 1).parse(["a", "b"]).tree.bracketed()
    '(S (A a) (B b))'
    """
    model = ConstituencyModel.train(trees, step_options(step, n_states))
    if step not in _ONE_STATE:
        return model
    (grammar,) = model.members
    return ConstituencyModel((grammar.with_operators(grammar.coarse),))


def _rows(steps: Sequence[str], states: Sequence[int]) -> Iterator[tuple[str, int]]:
    """List the rows of the table: plain PCFGs once, every other step for every number of states."""
    for step in steps:
        for m in (1,) if step in _ONE_STATE else states:
            yield step, m


def _in_paper(numbers: dict[tuple[str, int], str], step: str, m: int) -> str:
    """Find the number of the paper for a row, or else its number for m = 32, marked as such."""
    if (step, m) in numbers:
        return numbers[step, m]
    return f"{numbers[step, _PAPER_STATES]} (m = {_PAPER_STATES})" if (step, _PAPER_STATES) in numbers else "-"


def print_steps(train: str, evaluate: str, steps: Sequence[str], states: Sequence[int]) -> None:
    """Print F1 and training times of steps beside those of the slides."""
    trees = list(constituency_trees(train))
    gold = [tree for tree in map(GoldTree.of, constituency_trees(evaluate)) if tree is not None]
    if not gold:
        raise CorpusError(f"{evaluate}: no trees to parse")
    warm = [Phrase("S", (Phrase("A", (a,)), Phrase("B", ("b",)))) for a in "ab"]
    click.echo(f"{len(trees)} trees of {train}, parsed: {len(gold)} sentences of {evaluate}.")
    click.echo("Paper: section 22 of the full Penn treebank, which is not open.  Training in CPU seconds.\n")
    table = MarkdownTable("step", "m", "paper F1", "F1", "F1 ≤ 40", "tags", "exact", "paper training", "training s")
    for step, m in _rows(steps, states):
        train_step(warm, step, min(m, 2)).parse(["a", "b"])  # compiles what the step needs
        model, seconds = timed(train_step, trees, step, m)
        parses = evaluate_parser(model, gold)
        pairs = ((sentence.tree, parse.tree) for sentence, parse in zip(gold, parses.parses, strict=True))
        scores = parses.score
        short = score_brackets(pairs, max_length=40)
        shares = (f"{share:.1f}" for share in (scores.f1, short.f1, scores.tagging_accuracy, scores.exact))
        hours = _in_paper(_PAPER_TIME, step, m)
        table.row(step, str(m), _in_paper(_PAPER_F1, step, m), *shares, hours, f"{seconds:.1f}")
