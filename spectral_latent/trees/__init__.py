"""Trees as data: symbols and rules, skeletal trees, packed forests.  No word of language."""

from spectral_latent.trees.forest import Forest
from spectral_latent.trees.skeletal import SkeletalTrees
from spectral_latent.trees.symbols import BoolArray, FloatArray, IntArray, Rules, Vocabulary

__all__ = ["BoolArray", "FloatArray", "Forest", "IntArray", "Rules", "SkeletalTrees", "Vocabulary"]
