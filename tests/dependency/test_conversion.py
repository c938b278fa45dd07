"""s-trees of dependency trees: read back, mirrored, and weighed along the dependency tree, over all trees."""

import itertools

import numpy as np
import pytest

from spectral_latent.dependency import Attachment, DependencySentence, HeadSymbol
from spectral_latent.dependency.conversion import (
    DependencyTrees,
    Side,
    convert_trees,
    list_possible_rules,
    mark_right_heads,
)
from spectral_latent.estimation import EstimationError
from spectral_latent.trees import SkeletalTrees, Vocabulary
from tests.dependency.trees import Heads, children, spanning_trees
from tests.oracles import Tree, nested

SIDES: list[Side] = ["left", "right"]


EVERY_TREE = [heads for n in range(1, 6) for heads in spanning_trees(n)]


def tags_of(heads: Heads) -> list[str]:
    """A tag for each word; the same tag at different places."""
    return ["ABC"[word * word % 3] for word in range(len(heads))]


def converted(
    trees: list[Heads], attachment: Attachment, labels: Vocabulary[HeadSymbol] | None = None
) -> DependencyTrees:
    sentences = [DependencySentence.of(["w"] * len(heads)).with_heads(heads) for heads in trees]
    return convert_trees(sentences, map(tags_of, trees), attachment, Vocabulary() if labels is None else labels)


def labelled(heads: Heads, first: Side) -> Tree:
    """The s-tree by definition: (label, place) or (label, left, right)."""

    def under(word: int) -> Tree:
        left, right = (
            [(side, child) for child in mine] for side, mine in zip(SIDES, children(heads, word), strict=True)
        )
        attached = left + right if first == "left" else right + left
        roles = [*(side for side, _ in attached), "complete"]
        tag = tags_of(heads)[word - 1]
        chain: Tree = (HeadSymbol(tag, roles[0]), word - 1)  # type: ignore[arg-type]
        for above, (side, child) in zip(roles[1:], attached, strict=True):
            label = HeadSymbol(tag, above)  # type: ignore[arg-type]
            chain = (label, chain, under(child)) if side == "right" else (label, under(child), chain)
        return chain

    return under(heads.index(0) + 1)


def named(tree: Tree, labels: Vocabulary[HeadSymbol]) -> Tree:
    """The tree with numbers for labels."""
    label, *rest = tree
    return (labels[label], *(part if isinstance(part, int) else named(part, labels) for part in rest))


@pytest.mark.parametrize("first", SIDES)
def test_every_tree_has_the_s_tree_of_the_definition(first: Side) -> None:
    assert [len(spanning_trees(n)) for n in range(1, 6)] == [1, 2, 9, 64, 625]
    labels = Vocabulary[HeadSymbol]()
    trees, _ = converted(EVERY_TREE, Attachment(first), labels)
    start = np.concatenate([[0], np.cumsum([len(heads) for heads in EVERY_TREE])])
    places = SkeletalTrees(
        trees.symbol,
        trees.left,
        trees.right,
        np.where(trees.is_leaf, trees.terminal - start[trees.tree], -1),
        trees.root,
    )
    assert nested(places) == [named(labelled(heads, first), labels) for heads in EVERY_TREE]


@pytest.mark.parametrize("first", SIDES)
@pytest.mark.parametrize("refined", [True, False])
def test_possible_rules_are_those_that_trees_have(first: Side, refined: bool) -> None:
    """All of them, and no others: up to five words, every rule between labels that occur is in some tree."""
    labels = Vocabulary[HeadSymbol]()
    attachment = Attachment(first, refined)
    every_tag = [list(tags) for tags in itertools.product("AB", repeat=3)]
    small = [heads for heads in EVERY_TREE if len(heads) == 3]
    sentences = [DependencySentence.of(["w", "w", "w"]).with_heads(heads) for heads in small for _ in every_tag]
    trees, _ = convert_trees(sentences, every_tag * len(small), attachment, labels)
    wider = [heads for heads in EVERY_TREE if len(heads) > 3]
    tags = [list(np.random.default_rng(i).choice(["A", "B"], len(heads))) for i, heads in enumerate(wider * 4)]
    sentences = [DependencySentence.of(["w"] * len(heads)).with_heads(heads) for heads in wider * 4]
    more, _ = convert_trees(sentences, tags, attachment, labels)
    rules, dependant_is_right = list_possible_rules(labels.names, attachment)
    seen = {tuple(rule) for part in (trees, more) for rule in part.rules.binary.tolist()}
    assert {tuple(rule) for rule in rules.tolist()} == seen and len(rules) == len(seen)
    np.testing.assert_array_equal(dependant_is_right, ~mark_right_heads(labels.names, rules))


def test_every_array_of_heads_is_a_tree_or_refused() -> None:
    for heads in itertools.product(range(-1, 5), repeat=3):
        sentence = DependencySentence.of(["w", "w", "w"]).with_heads(heads)
        if heads in EVERY_TREE:
            assert len(convert_trees([sentence], [["A"] * 3], Attachment(), Vocabulary()).trees.root) == 1
        else:
            with pytest.raises(EstimationError, match="sentence 1"):
                convert_trees([sentence], [["A"] * 3], Attachment(), Vocabulary())
