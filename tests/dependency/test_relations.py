"""The classifier of relations: its features, probabilities and optimum by plain loops, its files, and treebanks."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spectral_latent.corpora import dependency_trees
from spectral_latent.dependency import (
    DependencyModel,
    DependencyOptions,
    DependencySentence,
    RelationModel,
    RelationOptions,
    TaggedTree,
    prepare,
)
from spectral_latent.dependency.relations import ArcFeatures
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.files import read, write
from tests.dependency.trees import children, random_tree

TEMPLATES = [
    "side tag.d tag.g",
    "side tag.d tag.g distance",
    "side tag.d tag.g tag.first",
    "side tag.d tag.g tag.last",
    "side tag.d tag.g tag.inner",
    "side tag.d tag.g word.inner",
    "side tag.d tag.g word.left",
    "side tag.d tag.before",
    "side tag.d tag.after",
    "side tag.d word.g",
    "side tag.d ending.g",
    "side word.d tag.g",
    "side ending.d tag.g",
    "tag.d tag.before tag.second",
    "tag.d tag.g tag.above",
    "tag.d tag.g word.first",
    "tag.d word.g tag.first",
    "tag.d word.g word.first",
    "word.d",
    "word.d word.g",
]
MORE = [
    "side other.d other.g",
    "side other.d tag.g",
    "side tag.d other.g",
    "side features.d tag.g",
    "side features.d features.g",
    "side tag.d features.g",
    "side features.d ending.g",
    "side ending.d ending.g",
    "side beginning.d tag.g",
    "side tag.d beginning.g",
    "side word.before tag.d",
    "side word.after tag.d",
    "side word.d tag.before",
    "side word.d tag.after",
]

Feature = tuple[object, ...]


def properties(tree: TaggedTree, d: int) -> dict[str, object]:
    """Of the arc to word d, all that features are made of."""
    words, tags, heads, others, morphology = tree
    g = heads[d - 1]
    left, right = children(tuple(heads), d)
    siblings = [word for word in range(1, len(words) + 1) if heads[word - 1] == g]
    on_the_way = [word for word in siblings if (d < word if d < g else word < d)]
    near = {
        "d": d,
        "g": g,
        "above": heads[g - 1] if g else 0,
        "before": d - 1,
        "after": d + 1,
        "second": d - 2,
        "first": min(left, default=0),
        "last": max(right, default=0),
        "left": max((word for word in siblings if word < g), default=0),
        "inner": (on_the_way[0] if d < g else on_the_way[-1]) if on_the_way else 0,
    }
    found: dict[str, object] = {
        "side": ("root" if g == 0 else "left" if g < d else "right"),
        "distance": min(int(math.log2(abs(d - g))) + 1, 7) if g else 0,
    }
    for name, place in near.items():
        there = 1 <= place <= len(words)
        found[f"tag.{name}"] = tags[place - 1] if there else None
        found[f"word.{name}"] = words[place - 1].lower() if there else None
        found[f"ending.{name}"] = words[place - 1].lower()[-3:] if there else None
        found[f"beginning.{name}"] = words[place - 1].lower()[:3] if there else None
        found[f"other.{name}"] = others[place - 1] if there and others else None
        found[f"features.{name}"] = morphology[place - 1] if there and morphology else None
    return found


def features(trees: Iterable[TaggedTree]) -> list[list[Feature]]:
    """One for each template, of the arc to each word; of more templates, if the trees have more columns."""
    trees = list(trees)
    templates = TEMPLATES + (MORE if any(tree.others for tree in trees) else [])
    arcs = [properties(tree, d) for tree in trees for d in range(1, len(tree.words) + 1)]
    return [[(template, *(arc[name] for name in template.split())) for template in templates] for arc in arcs]


WORDS = ["Ada", "bob", "cob", "dogs", "cogs", "eats", "is", "of"]


def draw(seed: int, n: int, words: list[str] = WORDS) -> tuple[list[TaggedTree], list[list[str]]]:
    """Random trees; relations follow from the dependant's tag, the side and the governor, but for one in twenty."""
    rng = np.random.default_rng(seed)
    trees, relations = [], []
    for _ in range(n):
        size = int(rng.integers(1, 8))
        tree = TaggedTree(
            rng.choice(words, size).tolist(), rng.choice(["X", "Y", "Z"], size).tolist(), random_tree(rng, size)
        )
        arcs = [properties(tree, d) for d in range(1, size + 1)]
        regular = [f"{arc['tag.d']}-{arc['side']}-{str(arc['word.g']) < 'd'}" for arc in arcs]
        trees.append(tree)
        relations.append(["root" if "root" in name else name if rng.random() < 0.95 else "any" for name in regular])
    return trees, relations


def trained() -> RelationModel:
    model = RelationModel.train(*draw(0, 60))
    assert model is not None
    return model


# ---------------------------------------------------------------------------------------------------------------------
# Features

names = st.sampled_from(["a", "A", "dogs", "cogs", "ß", "", "東京", "\ud800"])


def trees_of_a_sentence(more: bool) -> st.SearchStrategy[list[TaggedTree]]:
    """Heads may make cycles, or several roots, but no word is its own head; with more columns or without."""

    def columns(n: int, letters: str) -> st.SearchStrategy[list[str]]:
        return st.lists(st.sampled_from(letters), min_size=n if more else 0, max_size=n if more else 0)

    return st.integers(0, 7).flatmap(
        lambda n: st.builds(
            lambda words, tags, steps_of_each, others, morphology: [
                TaggedTree(words, tags, [(d + step) % (n + 1) for d, step in enumerate(steps, 1)], others, morphology)
                for steps in steps_of_each
            ],
            st.lists(names, min_size=n, max_size=n),
            st.lists(st.sampled_from("XYZ"), min_size=n, max_size=n),
            st.lists(st.lists(st.integers(1, n), min_size=n, max_size=n) if n else st.just([]), min_size=1, max_size=3),
            columns(n, "PQ"),
            columns(n, "FG"),
        )
    )


def tagged_trees(more: bool) -> st.SearchStrategy[list[TaggedTree]]:
    return st.lists(trees_of_a_sentence(more).map(lambda trees: trees[0]), max_size=3)


def compute(reader: ArcFeatures, trees: list[TaggedTree]) -> np.ndarray:
    """The features of the arc to each word of all trees."""
    found = reader.compute(trees)
    return found.features[found.which]


@given(st.booleans().flatmap(lambda more: st.lists(trees_of_a_sentence(more), max_size=5)))
def test_arcs_have_the_same_features_as_in_plain_loops(lists: list[list[TaggedTree]]) -> None:
    trees = list(itertools.chain.from_iterable(lists))
    found, wanted = compute(ArcFeatures.known(trees), trees), features(trees)
    if wanted:
        assert found.shape == (len(wanted), len(wanted[0]))
    pairs = {
        (number, name)
        for row, arc in zip(found.tolist(), wanted, strict=True)
        for number, name in zip(row, arc, strict=True)
    }
    assert len(pairs) == len({number for number, _ in pairs}) == len({name for _, name in pairs})


def test_far_heads_are_told_apart_by_magnitude() -> None:
    n = 300
    tree = TaggedTree(["a"] * n, ["X"] * n, (0, *[1] * (n - 1)))
    found = compute(ArcFeatures.known([tree]), [tree])[1:, TEMPLATES.index("side tag.d tag.g distance")]
    steps = [
        distance for distance, (one, other) in enumerate(itertools.pairwise(found.tolist()), start=2) if one != other
    ]
    assert steps == [2, 4, 8, 16, 32, 64]


@given(st.booleans().flatmap(lambda more: st.tuples(tagged_trees(more), tagged_trees(more))))
def test_what_is_not_known_has_features_of_its_own(both: tuple[list[TaggedTree], list[TaggedTree]]) -> None:
    """Those of unknown tags and words are of no known arc, all others are as if everything were known."""
    known, other = both
    if not any(tree.others for tree in known):
        other = [tree._replace(others=(), features=()) for tree in other]
    reader = ArcFeatures.known(known)
    number_of = dict(
        (name, number)
        for row, arc in zip(compute(reader, known).tolist(), features(known), strict=True)
        for number, name in zip(row, arc, strict=True)
    )
    for row, arc in zip(compute(reader, other).tolist(), features(other), strict=True):
        for number, name in zip(row, arc, strict=True):
            assert number_of.get(name, -1) == (number if name in number_of else -1)
            assert name in number_of or number not in number_of.values()


# ---------------------------------------------------------------------------------------------------------------------
# Probabilities


def weights_of(model: RelationModel) -> dict[int, dict[int, float]]:
    """By the number of the feature, then by relation."""
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for feature, relation, weight in zip(*(column.tolist() for column in model.weights), strict=True):
        found[feature][relation] = weight
    return found


def test_probabilities_are_the_formula() -> None:
    model, (probes, _) = trained(), draw(7, 20, [*WORDS, "fog", "Unseen"])
    weights, posterior = weights_of(model), model.posterior(probes)
    from_root = [head == 0 for tree in probes for head in tree.heads]
    best = []
    for row, (arc, is_root) in enumerate(zip(compute(model.features, probes).tolist(), from_root, strict=True)):
        allowed = [name == "root" if is_root else name != "root" for name in model.names]
        scores = [sum(weights[f].get(a, 0.0) for f in arc) for a in range(len(model.names))]
        share = [math.exp(score) if may else 0.0 for score, may in zip(scores, allowed, strict=True)]
        np.testing.assert_allclose(posterior[row], np.array(share) / sum(share), rtol=1e-9)
        best.append(model.names[int(np.argmax(share))])
    found = model.relations(probes)
    assert [len(relations) for relations in found] == [len(tree.words) for tree in probes]
    assert [name for relations in found for name in relations] == best


def test_at_the_optimum_the_model_expects_what_the_data_show_less_the_penalty() -> None:
    (trees, relations), least = draw(3, 30), 2
    for name in sorted({name for row in relations for name in row}):  # each at the root and elsewhere
        trees.append(TaggedTree(["dogs", "eats"], ["X", "Y"], (2, 0)))
        relations.append([name, name])
    model = RelationModel.train(trees, relations, RelationOptions(0.5, 1000, min_count=least, least=0.0))
    assert model is not None
    label = [model.names.index(name) for row in relations for name in row]
    arcs = compute(model.features, trees).tolist()
    count = Counter(feature for arc in arcs for feature in arc)
    excess = Counter[tuple[int, int]]()
    for arc, a, p in zip(arcs, label, model.posterior(trees).tolist(), strict=True):
        for feature, b in itertools.product(arc, range(len(p))):
            excess[feature, b] += count[feature] ** -0.25 * (float(a == b) - p[b])
    seen = {(feature, a) for arc, a in zip(arcs, label, strict=True) for feature in arc if count[feature] >= least}
    weights = weights_of(model)
    assert {(feature, a) for feature, own in weights.items() for a in own} == seen
    for feature, a in seen:
        assert excess[feature, a] == pytest.approx(0.5 * weights[feature][a] * count[feature] ** 0.25, abs=5e-3)


@settings(max_examples=30)
@given(
    tagged_trees(True),
    tagged_trees(True),
    st.sampled_from([["x"], ["x", "_"], ["x", "y", "root", "é:東"]]),
    st.integers(1, 3),
)
def test_any_trees_have_relations(
    trees: list[TaggedTree], probes: list[TaggedTree], labels: list[str], least: int
) -> None:
    rng = np.random.default_rng(len(trees))
    relations = [rng.choice(labels, len(tree.words)).tolist() for tree in trees]
    model = RelationModel.train(trees, relations, RelationOptions(iterations=3, min_count=least))
    seen = {name for row in relations for name in row} - {"_"}
    if model is None:
        assert not seen
        return
    assert set(model.names) == seen
    posterior = model.posterior(probes)
    assert np.all(posterior >= 0)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    found = model.relations(probes)
    assert found == [model.relations([tree])[0] for tree in probes]
    at_root = {
        name for t, row in zip(trees, relations, strict=True) for h, name in zip(t.heads, row, strict=True) if not h
    } - {"_"}
    for tree, given_names in zip(probes, found, strict=True):
        assert set(given_names) <= seen
        assert all(name in at_root for h, name in zip(tree.heads, given_names, strict=True) if not h and at_root)
    again = read(RelationModel, *write(model))
    np.testing.assert_array_equal(again.posterior(probes), posterior)


def test_arcs_without_annotation_are_not_learnt_from() -> None:
    trees, relations = draw(4, 40)
    partly = [["_" if name == "any" else name for name in row] for row in relations]
    model = RelationModel.train(trees, partly)
    assert model is not None and "_" not in model.names and "any" not in model.names
    blank = [["_"] * len(row) for row in relations]
    assert RelationModel.train(trees, blank) is None
    more = RelationModel.train([*trees, *trees], [*partly, *blank])
    assert more is not None
    np.testing.assert_array_equal(more.posterior(trees), model.posterior(trees))


def test_what_is_no_tree_is_refused() -> None:
    good, model = TaggedTree(["a", "b"], ["X", "Y"], [2, 0]), trained()
    for tags, heads in (([], [0]), (["X"], []), (["X"], [2]), (["X"], [-1])):
        tree = TaggedTree(["a"], tags, heads)
        with pytest.raises(ValueError, match="sentence 2"):
            RelationModel.train([good, tree], [["x", "root"], ["x"]])
        with pytest.raises(ValueError, match="sentence 2"):
            model.relations([good, tree])
    with pytest.raises(ValueError, match="sentence 2 has 1 words and 2 relations"):
        RelationModel.train([good, TaggedTree(["a"], ["X"], [0])], [["x", "root"], ["x", "y"]])


# ---------------------------------------------------------------------------------------------------------------------
# Files


@pytest.mark.parametrize(
    "change",
    [
        lambda model: {"weights": model.weights._replace(feature=model.weights.feature * 0 + model.features.end)},
        lambda model: {"weights": model.weights._replace(relation=model.weights.relation + 100)},
        lambda model: {"possible": model.possible & False},
    ],
)
def test_parts_that_do_not_fit_are_refused(change: Callable[[RelationModel], dict[str, Any]]) -> None:
    model = trained()
    with pytest.raises(ValueError, match=r"must lie in|no relation is possible"):
        replace(model, **change(model))


# ---------------------------------------------------------------------------------------------------------------------
# In the parser

OPTIONS = DependencyOptions(estimator=EstimatorOptions(n_states=2))


def sentence(words: str, tags: str, heads: tuple[int, ...], relations: str) -> DependencySentence:
    made = DependencySentence.of(words.split(), tags.split())
    return made.with_heads(heads, tuple(relations.split()))


TREES = [
    sentence(f"{subject} {verb} {thing}", "N V N", (2, 0, 2), "nsubj root obj")
    for subject in ("dogs", "cats")
    for verb in ("chase", "see")
    for thing in ("mice", "birds")
] + [sentence("big dogs sleep", "A N V", (2, 3, 0), "amod nsubj root")] * 4


@pytest.fixture(scope="module")
def parser() -> DependencyModel:
    return DependencyModel.train(TREES, OPTIONS)


def test_parses_have_relations(parser: DependencyModel) -> None:
    probe = DependencySentence.of(["big", "mice", "chase", "cats"], ["A", "N", "V", "N"])
    parse = parser.parse(probe._replace(relations=("x",) * 4))
    assert parse.tree.heads == (2, 3, 0, 3)
    assert parse.tree.relations == ("amod", "nsubj", "root", "obj")
    assert sorted(parser.description["relations"]) == ["amod", "nsubj", "obj", "root"]
    for other in parser.parse_nbest(probe, 5):
        tree = other.tree
        assert tree.heads is not None and parser.relations is not None
        assert [tree.relations] == parser.relations.relations([TaggedTree(tree.forms, tree.xpos, tree.heads)])
    (training,) = prepare(TREES, [OPTIONS])
    assert DependencyModel((training.estimate(),), parser.relations).parse(probe).tree == parse.tree


# ---------------------------------------------------------------------------------------------------------------------
# Treebanks


def arcs_of(sentences: Iterable[DependencySentence]) -> list[TaggedTree]:
    return [TaggedTree(one.forms, one.upos, one.heads or ()) for one in sentences]


def test_accuracy_given_the_tree(shared_file: Callable[[str], Path]) -> None:
    seen, gold = (list(dependency_trees(shared_file(f"ud/de_gsd/de_gsd-ud-{part}.conllu"))) for part in ("dev", "test"))
    model = RelationModel.train(arcs_of(seen), [one.relations for one in seen])
    assert model is not None
    found = model.relations(arcs_of(gold))
    same = [
        name == other
        for one, others in zip(gold, found, strict=True)
        for name, other in zip(one.relations, others, strict=True)
    ]
    assert np.mean(same) > 0.895
    for one, others in zip(gold, found, strict=True):
        assert [name == "root" for name in others] == [head == 0 for head in one.heads or ()]
