"""How well operators parse held-out trees, again and again: the sentences' forests are built once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spectral_latent.constituency import ConstituencyModel, Phrase, PhraseGrammar, Treebank, clean
from spectral_latent.estimation import (
    EstimationError,
    Listener,
    Moments,
    TrainingData,
    project_trees,
    search_states,
    silent,
    spectral_moments,
    spectral_operators,
)
from spectral_latent.evaluation.brackets import score_brackets
from spectral_latent.operators import ObservableOperators

__all__ = ["HeldOut", "with_chosen_states"]


class HeldOut:
    """Gold trees, and the forests of their sentences under one coarse grammar.

    >>> tree = Phrase("S", (Phrase("A", ("a",)), Phrase("B", ("b",))))
    >>> model = ConstituencyModel.train([tree])
    >>> HeldOut(model.members[0], [tree]).f1(model.members[0].grammar.operators)
    100.0
    """

    def __init__(self, grammar: PhraseGrammar, gold: Iterable[Phrase]) -> None:
        self.grammar = grammar
        cleaned = [tree for tree in map(clean, gold) if tree is not None]
        sentences = [(tree, list(tree.words())) for tree in cleaned]
        self.items = [(tree, words, grammar.grammar.chart(words)) for tree, words in sentences]

    def f1(self, operators: ObservableOperators) -> float:
        """F1 of the trees found under other operators over the grammar's rules.

        A sentence without a tree counts as one without brackets.
        """
        grammar = self.grammar.with_operators(operators)
        model, pairs = ConstituencyModel((grammar,)), []
        for gold, words, built in self.items:
            chart = built._replace(grammar=built.grammar.with_latent(operators))
            (parse,) = model.parses([chart], words, 1) or [model.fallback(words)]
            pairs.append((gold, parse.tree))
        return score_brackets(pairs).f1


def with_chosen_states(
    treebank: Treebank,
    gold: Iterable[Phrase],
    candidates: Sequence[int] = (1, 2, 4, 8, 12),
    *,
    symbols: int | None = 30,
    jobs: int = 1,
    listener: Listener = silent,
) -> ConstituencyModel:
    """The spectral model whose numbers of states parse held-out trees best; see `search_states`.

    The most states are those of the treebank's options.  A trial takes about as long as parsing the held-out trees.
    """
    data, options = treebank.grammar.data, treebank.options.estimator
    if not isinstance(data, TrainingData):
        raise EstimationError("states are chosen for treebanks in memory, such as those of `Treebank.of`")
    projected = project_trees(data.trees, data.features, options, jobs)
    moments = spectral_moments(data, projected)

    def solved(trial: Moments) -> ObservableOperators:
        return spectral_operators(data, trial, options)

    held_out = HeldOut(treebank.with_operators(solved(moments)), gold)
    states = search_states(
        moments, lambda trial: held_out.f1(solved(trial)), candidates, symbols=symbols, listener=listener
    )
    return ConstituencyModel((treebank.with_operators(solved(moments.truncated(states))),))
