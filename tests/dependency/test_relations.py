"""The model of relations: its candidates, features, probabilities and optimum by plain loops, its files, treebanks."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from spectral_latent.dependency import (
    DependencyModel,
    DependencyOptions,
    DependencySentence,
    RelationModel,
    prepare,
    relations,
)
from spectral_latent.dependency.arcs import ArcEvidence, arcs_of
from spectral_latent.dependency.relations import _BACK, _BUCKETS, _LEAST, _SPREAD, _TEMPLATES
from spectral_latent.estimation import EstimatorOptions
from spectral_latent.lexicon import buckets, signatures
from spectral_latent.lexicon.buckets import hash_name
from spectral_latent.trees import FloatArray
from tests.dependency.test_arcs import near_by_hand
from tests.dependency.trees import random_tree
from tests.oracles import mixed

OPTIONS = DependencyOptions(estimator=EstimatorOptions(n_states=2))
WORDS = ["Ada", "bob", "cob", "dogs", "cogs", "eats", "is", "of"]
ROOT, NONE = 7, 0  # the values of all attributes of the root, and of what is not there


def evidence_of(trees: Sequence[DependencySentence]) -> ArcEvidence:
    return ArcEvidence.of(trees, OPTIONS)


def named(model: RelationModel, trees: Sequence[DependencySentence]) -> list[list[str]]:
    """The likeliest relations of each tree."""
    labels = iter(model.judge(arcs_of(trees), evidence_of(trees)).label.tolist())
    return [[model.names[next(labels)] for _ in tree.forms] for tree in trees]


def posterior(model: RelationModel, trees: Sequence[DependencySentence]) -> FloatArray:
    """P(a | arc) of each word and relation, (n, K)."""
    choices, label = model._choices(arcs_of(trees), evidence_of(trees))
    found = np.zeros((len(choices.start) - 1, len(model.names)))
    found[choices.of_candidates(np.arange(len(found))), label] = model.share(choices)
    return found


def attributes(tree: DependencySentence, word: int) -> dict[str, int]:
    """The values of a word, of the root, or of a place without a word."""
    kinds = ("word", "lower", "tag", "other", "features", "form", "ending", "beginning")
    if not 1 <= word <= len(tree.forms):
        return dict.fromkeys(kinds, NONE)
    form = tree.forms[word - 1]
    lower = form.lower()
    names = (form, lower, tree.upos[word - 1], tree.xpos[word - 1], tree.feats[word - 1])
    names = (*names, repr(signatures(form)[0]), lower[-3:], lower[:3])
    return dict(zip(kinds, map(hash_name, names), strict=True))


def properties(tree: DependencySentence, d: int) -> dict[str, int]:
    """All that the features of the arc to word d may be made of."""
    heads = tree.heads or ()
    g = heads[d - 1]
    distances = (2, 3, 4, 5, 7, 10, 15)
    found = {"distance": 1 + sum(abs(g - d) >= least for least in distances) if g else 0}
    for step in range(-2, 3):
        suffix = f"{step:+}" if step else ""
        found |= {f"{kind} d{suffix}": value for kind, value in attributes(tree, d + step).items()}
        found |= {f"{kind} g{suffix}": value if g else ROOT for kind, value in attributes(tree, g + step).items()}
    near = near_by_hand(list(heads), g, d)
    for name in ("head of g", "first child", "last child", "inner sibling", "first of g", "last of g"):
        word = near[name] + 1  # below zero where there is none
        of_word = attributes(tree, word)
        found |= {f"{kind} {name}": ROOT if word == 0 else value for kind, value in of_word.items()}
    return found


def side_of(head: int, word: int) -> int:
    return 0 if head == 0 else 1 if head < word else 2


def buckets_by_hand(tree: DependencySentence, d: int, label: int) -> list[int]:
    """One for each template: the hash of its number, the side and its values, changed by the relation."""
    of_arc = properties(tree, d)
    found = []
    for number, template in enumerate(_TEMPLATES, start=1):
        state = mixed(number, side_of((tree.heads or ())[d - 1], d))
        for name in template:
            state = mixed(state, of_arc[name])
        found.append((state >> 20) % _BUCKETS ^ label * _SPREAD % _BUCKETS)
    return found


class Shares:
    """μ(a | ends) by counting through all arcs again."""

    def __init__(self, trees: Sequence[DependencySentence], names: Sequence[str]) -> None:
        self.names = names
        self.arcs = [
            (tag, (tree.upos[head - 1] if head else "the root"), side_of(head, word), relation)
            for tree in trees
            for word, (tag, head, relation) in enumerate(
                zip(tree.upos, tree.heads or (), tree.relations, strict=True), start=1
            )
            if relation != "_"
        ]

    def of(self, tag: str, other: str, side: int) -> list[float]:
        kind = Counter(a for _, _, s, a in self.arcs if bool(s) == bool(side))
        share = [kind[a] / kind.total() if kind else 1 / len(self.names) for a in self.names]
        for like in (
            [a for t, _, s, a in self.arcs if (t, s) == (tag, side)],
            [a for t, o, s, a in self.arcs if (t, o, s) == (tag, other, side)],
        ):
            share = [
                (like.count(a) + _BACK * before) / (len(like) + _BACK)
                for a, before in zip(self.names, share, strict=True)
            ]
        return share


def posterior_by_hand(model: RelationModel, shares: Shares, tree: DependencySentence, d: int) -> list[float]:
    head = (tree.heads or ())[d - 1]
    share = shares.of(tree.upos[d - 1], tree.upos[head - 1] if head else "the root", side_of(head, d))
    scores = [
        model.slope * math.log(mu) + sum(model.weights[bucket] for bucket in buckets_by_hand(tree, d, label))
        if mu > _LEAST * max(share)
        else -math.inf
        for label, mu in enumerate(share)
    ]
    total = sum(map(math.exp, scores))
    return [math.exp(score) / total for score in scores]


def draw(seed: int, n: int, words: list[str] = WORDS, tags: str = "XYZ") -> list[DependencySentence]:
    """Random trees; relations follow from the dependant's tag, the side and the governor, but for one in twenty."""
    rng = np.random.default_rng(seed)
    trees = []
    for _ in range(n):
        size = int(rng.integers(1, 8))
        forms, upos, xpos, feats = (
            tuple(rng.choice(list(values), size).tolist()) for values in (words, tags, "PQ", ("F=1", "_"))
        )
        heads = tuple(random_tree(rng, size))
        regular = [
            "root" if g == 0 else f"{upos[d - 1]}-{side_of(g, d)}-{forms[g - 1].lower() < 'd'}"
            for d, g in enumerate(heads, start=1)
        ]
        names = tuple(name if name == "root" or rng.random() < 0.95 else "any" for name in regular)
        trees.append(DependencySentence.of(forms, upos)._replace(xpos=xpos, feats=feats).with_heads(heads, names))
    return trees


def trained(trees: Sequence[DependencySentence], **settings: Any) -> RelationModel:
    model = RelationModel.learn_from(trees, OPTIONS, **settings)
    assert model is not None
    return model


def test_probabilities_are_those_of_plain_loops() -> None:
    trees, probes = draw(0, 60), draw(7, 20, [*WORDS, "fog", "Unseen"], "XYZU")
    model = trained(trees)
    assert np.count_nonzero(model.weights) > 100
    shares = Shares(trees, model.names)
    wanted = [posterior_by_hand(model, shares, tree, d) for tree in probes for d in range(1, len(tree.forms) + 1)]
    np.testing.assert_allclose(posterior(model, probes), wanted, rtol=1e-9)
    arcs = arcs_of(probes)
    given = arcs._replace(posterior=np.random.default_rng(1).random(len(arcs.end)))
    judged = model.judge(given, evidence_of(probes))
    np.testing.assert_allclose(judged.posterior, given.posterior * np.max(wanted, axis=1))
    np.testing.assert_array_equal(judged.label, np.argmax(wanted, axis=1))
    for before, after in zip(given[:3], judged[:3], strict=True):
        np.testing.assert_array_equal(before, after)


def test_at_the_optimum_the_model_expects_what_the_data_show_less_the_penalty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "_ITERATIONS", 2000)
    monkeypatch.setattr(buckets, "_PARTS", 1 << 12)
    trees = draw(3, 30)
    model = trained(trees)
    likely = posterior(model, trees)
    excess = defaultdict[int, float](float)
    at = 0
    for tree in trees:
        for d, name in enumerate(tree.relations, start=1):
            for label, p in enumerate(likely[at].tolist()):
                for bucket in buckets_by_hand(tree, d, label) if 0.0 < p < 1.0 else []:
                    excess[bucket] += float(model.names[label] == name) - p
            at += 1
    weighed = np.flatnonzero(model.weights).tolist()
    assert weighed and set(weighed) <= set(excess)
    for bucket, sum_ in excess.items():
        assert sum_ == pytest.approx(relations._PENALTY * model.weights[bucket], abs=0.02)


def test_arcs_without_annotation_are_not_learnt_from() -> None:
    trees = draw(4, 20)
    partly = [
        tree._replace(relations=tuple("_" if name == "any" else name for name in tree.relations)) for tree in trees
    ]
    blank = [tree._replace(relations=("_",) * len(tree.forms)) for tree in trees]
    model = trained(partly)
    assert "_" not in model.names and "any" not in model.names
    assert RelationModel.learn_from(blank, OPTIONS) is None
    np.testing.assert_array_equal(posterior(trained([*partly, *blank]), trees), posterior(model, trees))


def test_parses_have_the_relations_of_the_model() -> None:
    """Also one of many parses, whatever relations its sentence has, and of a grammar that gets the model later."""
    trees = [tree for tree in draw(0, 60) if len(tree.roots) == 1]
    parser = DependencyModel.train(trees, OPTIONS)
    assert parser.relations is not None
    assert parser.description["relations"] == sorted(parser.relations.names)
    (training,) = prepare(trees, [OPTIONS])
    later = DependencyModel((training.estimate(),), parser.relations)
    for probe in trees[:10]:
        given = probe.without_tree()._replace(relations=("x",) * len(probe.forms))
        found = [parse.tree for parse in parser.parse_nbest(given, 5)]
        assert [list(tree.relations) for tree in found] == named(parser.relations, found)
        assert later.parse(given).tree == found[0]
