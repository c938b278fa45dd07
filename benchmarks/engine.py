"""The compiled inside pass against the same pass written with numpy, one edge at a time.

    python benchmarks/engine.py

Prints CPU milliseconds per sentence on pruned charts of NLTK's treebank sample, dev split, and checks that both agree;
and which share of the compiled pass is spent on checking the forest.
"""

from __future__ import annotations

import itertools
import time

import numpy as np

from spectral_latent.constituency import ConstituencyModel, clean
from spectral_latent.corpora import constituency_trees
from spectral_latent.inference import inside, total_weight
from spectral_latent.inference._checks import check_rules
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest

_REPEATS = 20  # of the check, which takes too little time to be measured once


def numpy_inside(operators: ObservableOperators, dense: list[np.ndarray], forest: Forest) -> float:
    """log |Σ_roots c¹ α|, with plain numpy."""
    alpha: list[np.ndarray] = []
    for item in range(forest.n_items):
        m = operators.states[forest.symbol[item]]
        total = np.zeros(m)
        for edge in range(forest.start[item], forest.start[item + 1]):
            left, right, rule = forest.left[edge], forest.right[edge], forest.rule[edge]
            if left < 0:
                total += operators.leaf[rule, :m]
            else:
                total += dense[rule].reshape(m, -1) @ np.multiply.outer(alpha[left], alpha[right]).ravel()
        alpha.append(total)
    weight = sum(operators.root[forest.symbol[root], : len(alpha[root])] @ alpha[root] for root in forest.root)
    return float(np.log(abs(weight)))


def main() -> None:
    """Train once, then time both on the same forests."""
    (grammar,) = ConstituencyModel.train(constituency_trees("nltk:treebank:train")).members
    gold = itertools.islice((tree for tree in map(clean, constituency_trees("nltk:treebank:dev")) if tree), 100)
    sentences = [list(tree.words()) for tree in gold]
    charts = (grammar.grammar.charts([words]) for words in sentences)
    forests = [(sentence.latent, spans.forest) for sentence, (spans,) in charts if spans is not None]
    dense = [tensor.multiplied_out() for tensor in grammar.grammar.operators.binary]
    total_weight(*forests[0], inside(*forests[0]))
    start = time.process_time()
    ours = [total_weight(operators, forest, inside(operators, forest)).log[0] for operators, forest in forests]
    compiled = time.process_time() - start
    start = time.process_time()
    for operators, forest in forests:  # as when it was just built: in the processor's cache
        for _ in range(_REPEATS):
            check_rules(operators, forest)
    checked = (time.process_time() - start) / _REPEATS
    start = time.process_time()
    theirs = [numpy_inside(operators, dense, forest) for operators, forest in forests]
    plain = time.process_time() - start
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    edges = np.mean([forest.n_edges for _, forest in forests])
    print("| inside pass | ms per sentence |\n| --- | ---: |")
    print(f"| numpy, edge by edge | {1000 * plain / len(forests):.1f} |")
    print(f"| compiled, factored tensors | {1000 * compiled / len(forests):.2f} |")
    print(f"| of which the check of the forest | {1000 * checked / len(forests):.3f} |")
    print(f"\nThe check is {checked / compiled:.2%} of the pass.")
    print(f"\n{len(forests)} sentences, {edges:.0f} edges each on average; {plain / compiled:.0f} times faster.")


if __name__ == "__main__":
    main()
