"""The page runs, its statements are true, and it computes the same as the library."""

import contextlib
import io
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spectral_latent.estimation import EstimatorOptions, FeatureColumns, Shard, Treebank, estimate
from spectral_latent.inference import tree_weights
from spectral_latent.operators import ObservableOperators
from spectral_latent.trees import Forest, SkeletalTrees, Vocabulary

PAGE = Path(__file__).resolve().parents[1] / "docs/course_4_grammar.py"


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        ran = runpy.run_path(str(PAGE))
    return {**ran, "printed": printed.getvalue()}


def skeletal(page: dict[str, Any], trees: list[Any], symbols: Vocabulary[str], words: Vocabulary[str]) -> SkeletalTrees:
    """Convert the trees of the page to columns."""
    listed = [node for tree in trees for node, _, _ in page["nodes"](tree)]
    number = {id(node): at for at, node in enumerate(listed)}
    is_leaf = [isinstance(node[1], str) for node in listed]
    return SkeletalTrees.of(
        [symbols.add(node[0]) for node in listed],
        left=[-1 if leaf else number[id(node[1])] for node, leaf in zip(listed, is_leaf, strict=True)],
        right=[-1 if leaf else number[id(node[2])] for node, leaf in zip(listed, is_leaf, strict=True)],
        terminal=[words.add(node[1]) if leaf else -1 for node, leaf in zip(listed, is_leaf, strict=True)],
        root=[number[id(tree)] for tree in trees],
    )


def weights(operators: ObservableOperators, trees: SkeletalTrees) -> np.ndarray:
    weight = tree_weights(operators, Forest.of_trees(trees, operators.rules))
    return weight.sign * np.exp(weight.log)


def test_the_library_computes_the_same(page: dict[str, Any]) -> None:
    symbols: Vocabulary[str] = Vocabulary()
    words: Vocabulary[str] = Vocabulary()
    trees = skeletal(page, page["treebank"], symbols, words)
    features: Vocabulary[Any] = Vocabulary()
    inside, outside = (
        np.array([[features.add(value) for value in node[column]] for node in page["every_node"]]) for column in (1, 2)
    )
    treebank = Treebank.of([Shard.of(trees, FeatureColumns(inside, outside))])
    new = skeletal(page, page["unseen"], symbols, words)
    for name, n_states in (("plain", 1), ("spectral", page["STATES"])):
        options = EstimatorOptions("spectral", n_states=n_states, scaling=None, smoothing=None)
        if name == "plain":
            operators = ObservableOperators.probabilities_of(treebank.counts)
        else:
            operators = estimate(treebank, options).operators
        expected = weights(operators, new)
        found = [page["probability"](page[name], tree) for tree in page["unseen"]]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-15)


def test_the_page_says_what_is_so(page: dict[str, Any]) -> None:
    accuracy = page["accuracy"]
    assert accuracy["spectral"] > accuracy["plain"] + 0.1
    assert accuracy["spectral"] > 0.8
    hidden = {a for a, values in page["sigma"].items() if len(values) > 1 and values[1] > 0.1}
    assert hidden == {"P", "PP"}
    assert "new sentences have the right tree" in page["printed"]


def test_the_page_has_about_a_hundred_lines() -> None:
    code = PAGE.read_text(encoding="utf-8").split('"""', 2)[2]
    assert sum(bool(line.partition("#")[0].strip()) for line in code.splitlines()) <= 120
