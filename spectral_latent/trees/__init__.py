"""Trees as data: symbols and rules, skeletal trees, packed forests, and networkx graphs.  No word of language."""

from spectral_latent.trees.drawing import forest_to_networkx, rule_graph, s_trees_to_networkx, tree_layout
from spectral_latent.trees.forest import Forest
from spectral_latent.trees.graphs import MISSING, GraphError, GraphTrees, Symbol, from_networkx, to_networkx
from spectral_latent.trees.skeletal import SkeletalTrees
from spectral_latent.trees.symbols import BoolArray, FloatArray, IntArray, Rules, Vocabulary, matches, ranges

__all__ = [
    "MISSING",
    "BoolArray",
    "FloatArray",
    "Forest",
    "GraphError",
    "GraphTrees",
    "IntArray",
    "Rules",
    "SkeletalTrees",
    "Symbol",
    "Vocabulary",
    "forest_to_networkx",
    "from_networkx",
    "matches",
    "ranges",
    "rule_graph",
    "s_trees_to_networkx",
    "to_networkx",
    "tree_layout",
]
