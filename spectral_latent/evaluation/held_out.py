"""How well operators parse held-out trees, again and again: the sentences' forests are built once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spectral_latent.constituency import ConstituencyModel, Phrase, Treebank, clean
from spectral_latent.estimation import (
    Listener,
    Moments,
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
    """Gold trees, and the forests of their sentences under a model's plain grammar.

    >>> tree = Phrase("S", (Phrase("A", ("a",)), Phrase("B", ("b",))))
    >>> model = ConstituencyModel.train([tree])
    >>> HeldOut(model, [tree]).f1(model.grammar.operators)
    100.0
    """

    def __init__(self, model: ConstituencyModel, gold: Iterable[Phrase]) -> None:
        self.model = model
        cleaned = [tree for tree in map(clean, gold) if tree is not None]
        sentences = [(tree, list(tree.words())) for tree in cleaned]
        self.items = [(tree, words, model.forest(words)) for tree, words in sentences]

    def f1(self, operators: ObservableOperators) -> float:
        """F1 of the minimum-Bayes-risk trees under other operators over the model's rules.

        A sentence without a tree counts as one without brackets.
        """
        model = self.model.with_operators(operators)
        pairs = []
        for gold, words, forest in self.items:
            tree = None if forest is None else model.best_tree(forest, words)
            pairs.append((gold, tree or model.fallback(words).tree))
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
    projected = project_trees(data.trees, data.features, options, jobs)
    moments = spectral_moments(data, projected)

    def solved(trial: Moments) -> ObservableOperators:
        return spectral_operators(data, trial, options)

    held_out = HeldOut(treebank.model(solved(moments)), gold)
    states = search_states(
        moments, lambda trial: held_out.f1(solved(trial)), candidates, symbols=symbols, listener=listener
    )
    return treebank.model(solved(moments.truncated(states)))
