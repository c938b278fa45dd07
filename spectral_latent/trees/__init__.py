"""Hold trees as data: symbols and rules, skeletal trees, packed forests, and networkx graphs."""

from spectral_latent.trees.builder import ForestBuilder, TreeBuilder
from spectral_latent.trees.drawing import s_trees_to_networkx, tree_layout
from spectral_latent.trees.forest import Forest
from spectral_latent.trees.graphs import MISSING, GraphError, GraphTrees, Symbol, from_networkx, to_networkx
from spectral_latent.trees.skeletal import SkeletalTrees
from spectral_latent.trees.symbols import BoolArray, FloatArray, IntArray, Rules, Vocabulary, matches, range_of, ranges

__all__ = [
    "MISSING",
    "BoolArray",
    "FloatArray",
    "Forest",
    "ForestBuilder",
    "GraphError",
    "GraphTrees",
    "IntArray",
    "Rules",
    "SkeletalTrees",
    "Symbol",
    "TreeBuilder",
    "Vocabulary",
    "from_networkx",
    "matches",
    "range_of",
    "ranges",
    "s_trees_to_networkx",
    "to_networkx",
    "tree_layout",
]
