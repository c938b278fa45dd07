"""
Trees that are not language
===========================

A latent tree model of anything that is a rooted, ordered, labelled tree: here of species whose ancestors lived in
climates that nobody has seen.  We sample trees from a known model, learn it back from their observations alone, and
predict observations that are missing.

Run it with ``python docs/tutorial_trees.py``; with matplotlib installed it also draws a tree.
"""

# %%
# A known model
# -------------
# Nodes are labelled ``ancestor`` or ``species``; a species is seen in a habitat.  Behind every node stands a climate:
# wet, mild or dry.  It mostly passes from parent to child, it says how often an ancestor has ancestors for children
# rather than species, and in which habitat a species is seen.

import importlib.util

import networkx as nx
import numpy as np

from spectral_latent.estimation import EstimatorOptions
from spectral_latent.graphs import GraphGrammar, GraphModel
from spectral_latent.operators import ObservableOperators, Tensor
from spectral_latent.trees import MISSING, Rules, SkeletalTrees, Symbol, to_networkx

CLIMATES = ["wet", "mild", "dry"]
HABITATS = ["sea", "river", "forest", "meadow", "desert"]
ANCESTOR, SPECIES = 0, 1

seen = np.array([[0.70, 0.25, 0.05, 0.00, 0.00], [0.00, 0.10, 0.70, 0.20, 0.00], [0.00, 0.00, 0.10, 0.15, 0.75]])
passes_on = np.where(np.eye(3) == 1, 0.93, 0.035)
splits = np.array([0.40, 0.45, 0.50])  # a child is an ancestor again


def pair(left: int, right: int) -> Tensor:
    """p(labels and climates of two children | climate of the parent)."""
    p = [splits if label == ANCESTOR else 1 - splits for label in (left, right)]
    return Tensor.of_dense(np.einsum("h,h,hi,hj->hij", *p, passes_on, passes_on))


pairs = [(left, right) for left in (ANCESTOR, SPECIES) for right in (ANCESTOR, SPECIES)]
truth_grammar = GraphGrammar(
    EstimatorOptions(),
    symbols=[Symbol("ancestor"), Symbol("species")],
    terminals=HABITATS,
    latent=ObservableOperators(
        rules=Rules(
            leaf=np.array([(SPECIES, x) for x in range(len(HABITATS))]),
            unary=np.empty((0, 2), dtype=np.int64),
            binary=np.array([(ANCESTOR, *labels) for labels in pairs]),
        ),
        states=np.array([3, 3]),
        root=np.array([[1 / 3, 1 / 3, 1 / 3], [0.0, 0.0, 0.0]]),
        leaf=seen.T,
        unary=np.empty((0, 3, 3)),
        binary=[pair(*labels) for labels in pairs],
        probabilities=True,
    ),
)
truth = GraphModel((truth_grammar,))

# %%
# Trees as graphs
# ---------------
# Trees are ``networkx.DiGraph`` objects, edges from parent to child, with a ``label`` at every node and an
# ``observation`` where something is seen.  Sampled nodes also have their ``state``, which no learner looks at.

rng = np.random.default_rng(1)
training, held_out = truth.sample(1500, rng), truth.sample(500, rng)
habitats = {tree: set(nx.get_node_attributes(tree, "observation").values()) for tree in held_out}
example = min((tree for tree in held_out if len(tree) > 8 and len(habitats[tree]) == 3), key=len)
for data in example.nodes.values():
    data["text"] = f"{data['label']} {data.get('observation', '')}".strip()
nx.write_network_text(example, with_labels="text")

# %%
# Learning
# --------
# Three models of the same trees.  ``plain`` has one state per label: it knows how often what follows what.

settings = {
    "plain": EstimatorOptions("em", n_states=1),
    "spectral": EstimatorOptions("spectral", n_states=3),
    "clusters-em": EstimatorOptions("clusters-em", n_states=3),
}
models = {name: GraphModel.train(training, options) for name, options in settings.items()} | {"truth": truth}

# %%
# How probable are other trees?
# -----------------------------
# The spectral model works in a basis of its own, where an estimate may come out negative: scores are a sign and a
# logarithm.  Means are over the trees that all models find possible.

scores = {name: model.score(held_out) for name, model in models.items()}
positive = np.all([score.sign > 0 for score in scores.values()], axis=0)
mean_log = {name: float(score.log[positive].mean()) for name, score in scores.items()}

# %%
# What is missing?
# ----------------
# An observation that exists but is unknown is ``MISSING``.  Scores sum over it, and ``predict`` gives its distribution
# in the light of the rest of the tree.


def with_gap(tree: nx.DiGraph) -> tuple[nx.DiGraph, int, str]:
    """The tree without one of its observations, where that was, and what it was."""
    gap = tree.copy()
    leaves = [node for node, data in tree.nodes(data=True) if "observation" in data]
    node = leaves[len(leaves) // 2]
    gap.nodes[node]["observation"] = MISSING
    return gap, node, tree.nodes[node]["observation"]


gaps = [with_gap(tree) for tree in held_out if len(tree) > 3]
right = {
    name: float(np.mean([next(iter(model.predict(tree)[node])) == what for tree, node, what in gaps]))
    for name, model in models.items()
}

print(f"\n{'':10}{'log p':>8}{'predicted':>12}")
for name in models:
    print(f"{name:10}{mean_log[name]:>8.2f}{right[name]:>12.0%}")
print(f"log p: mean over {positive.sum()} of {len(held_out)} other trees; predicted: missing habitats guessed\n")

gap, node, what = with_gap(example)
for name in ("plain", "spectral"):
    shares = ", ".join(f"{x} {p:.2f}" for x, p in models[name].predict(gap)[node].items())
    print(f"species {node} of the tree above, by the {name} model: {shares} (truth: {what})")

# %%
# Which climates?
# ---------------
# A model of probabilities gives the distribution of every node's state.  States have no names: which is which is
# chance.

posteriors = models["clusters-em"].marginals(example)
print(f"\nstates of the root in the model of EM from clusters: {np.round(posteriors[0], 2)}")

# %%
# A picture
# ---------
# The s-tree beneath has symbols for labels; nodes with more than two children would show their parts.  Its nodes are in
# post-order, children before parents, so that one pass places them: leaves side by side, parents above the middle.


def places(tree: SkeletalTrees) -> dict[int, tuple[float, float]]:
    """Place the nodes of one s-tree: across by their leaves, down by their depth."""
    depth = np.zeros(tree.n_nodes)
    for node in reversed(range(tree.n_nodes - 1)):
        depth[node] = depth[tree.parent[node]] + 1
    middle = tree.first_leaf + (tree.n_leaves - 1) / 2
    return {node: (float(x), -float(y)) for node, (x, y) in enumerate(zip(middle, depth, strict=True))}


if importlib.util.find_spec("matplotlib"):
    import matplotlib.pyplot as plt

    read, _ = truth_grammar.encode([example])
    names = [Symbol(symbol) for symbol in read.symbols]
    (s_tree,) = to_networkx(read.trees, names, read.terminals, nodes=range(read.trees.n_nodes))
    texts = {at: data.get("observation", data["label"].label) for at, data in s_tree.nodes(data=True)}
    figure, axes = plt.subplots(figsize=(8, 4))
    nx.draw(s_tree, places(read.trees), axes, labels=texts, node_color="white", font_size=9, arrows=False)
    if __name__ == "__main__":
        plt.show()
