"""Hold trees as data: symbols and rules, skeletal trees, packed forests, and networkx graphs."""

from spectral_latent.trees.forest import Forest, ForestBuilder
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
    "Vocabulary",
    "from_networkx",
    "matches",
    "range_of",
    "ranges",
    "to_networkx",
]
