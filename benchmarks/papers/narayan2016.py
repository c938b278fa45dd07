"""Measure how well operators parse held-out trees, and choose numbers of states by it (Narayan and Cohen 2016).

The forests are built once, for any number of measurements, and moments are computed once, for the largest numbers of
states.  The moments for smaller numbers are parts of these, so that a trial needs no pass over the trees.  Symbols are
visited by falling frequency.  For each symbol every candidate is tried, with the numbers chosen so far for all other
symbols, and the best candidate is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from spectral_latent.constituency import ConstituencyModel, Phrase, PhraseGrammar, clean, unknown_phrase
from spectral_latent.estimation import (
    Listener,
    Moments,
    Progress,
    Projection,
    Spectral,
    operators_from_moments,
    silent,
    spectral_moments,
)
from spectral_latent.evaluation import score_brackets
from spectral_latent.grammar import Training
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import IntArray

__all__ = ["HeldOut", "search_states", "with_chosen_states"]


class HeldOut:
    """Gold trees, with the forests of their sentences under one coarse grammar.

    grammar: the grammar, whose coarse operators make the forests.
    gold: the gold trees; trees without words are left out.

    >>> tree = Phrase("S", (Phrase("A", ("a",)), Phrase("B", ("b",))))
    >>> model = ConstituencyModel.train([tree])
    >>> HeldOut(model.members[0], [tree]).f1(model.members[0].operators)
    100.0
    """

    def __init__(self, grammar: PhraseGrammar, gold: Iterable[Phrase]) -> None:
        self.grammar = grammar
        cleaned = [tree for tree in map(clean, gold) if tree is not None]
        sentences = [(tree, list(tree.words())) for tree in cleaned]
        self.items = [(tree, words, grammar.charts([words])) for tree, words in sentences]

    def f1(self, operators: ObservableOperators) -> float:
        """Parse the sentences under operators over the grammar's rules, and compute F1.

        operators: operators over the rules of the grammar, with any numbers of states."""
        model = ConstituencyModel((self.grammar.with_operators(operators),))
        pairs = []
        for gold, words, built in self.items:
            charts = built._replace(grammar=built.grammar.with_latent(operators))
            analysis = model.judge_parts(model.find_parts([unknown_phrase(words)], [charts]))
            ((parse,),) = model.parses(analysis, scored=False)
            pairs.append((gold, parse.tree))
        return score_brackets(pairs).f1


def search_states(
    moments: Moments,
    score: Callable[[Moments], float],
    candidates: Sequence[int],
    *,
    symbols: int | None = None,
    listener: Listener = silent,
) -> IntArray:
    """Find the numbers of states (S,) that score best, symbol by symbol."""
    states = moments.states.copy()
    order = np.argsort(-moments.count, kind="stable")[:symbols]
    best = score(moments)
    for done, a in enumerate(order, start=1):
        for m in sorted({m for m in candidates if m < moments.states[a]}):
            trial = states.copy()
            trial[a] = m
            if (trial_score := score(moments.truncate(trial))) > best:
                best = trial_score
                states = trial
        listener(Progress("states", done, len(order), score=best))
    return states


def with_chosen_states(
    training: Training[PhraseGrammar],
    gold: Iterable[Phrase],
    candidates: Sequence[int] = (1, 2, 4, 8, 12),
    *,
    symbols: int | None = 30,
    jobs: int | None = 1,
    listener: Listener = silent,
) -> ConstituencyModel:
    """Estimate the spectral model whose numbers of states parse held-out trees best; see `search_states`.

    A trial takes about as long as parsing the held-out trees.

    training: the prepared treebank, whose options name the largest number of states of a symbol.
    candidates: the numbers of states to try for a symbol.
    symbols: the number of symbols whose states are chosen, the most frequent first; None for all."""
    treebank = training.treebank
    options = training.coarse.options.estimator
    if not isinstance(options, Spectral):
        raise ValueError(f"states are chosen for the spectral estimator, not for {options!r}")
    projection = Projection.learn(treebank.shards, options, jobs, listener)
    moments = spectral_moments(treebank, projection, jobs)

    def solve(trial: Moments) -> ObservableOperators:
        """Estimate operators from the moments of one choice of states."""
        operators = operators_from_moments(trial, options.smoothing, treebank.priors)
        return replace(operators, singular_values=projection.singular_values)

    held_out = HeldOut(training.coarse.with_operators(solve(moments)), gold)
    states = search_states(
        moments, lambda trial: held_out.f1(solve(trial)), candidates, symbols=symbols, listener=listener
    )
    return ConstituencyModel((training.coarse.with_operators(solve(moments.truncate(states))),))
