"""Learn latent dependency grammars from dependency trees, and parse with them."""

from spectral_latent.dependency.arc_features import TaggedTree
from spectral_latent.dependency.constraints import DependencyConstraints, PartialDependencies, unknown_tree
from spectral_latent.dependency.conversion import Attachment, HeadSymbol
from spectral_latent.dependency.model import DependencyModel, prepare
from spectral_latent.dependency.options import DependencyOptions
from spectral_latent.dependency.presets import preset
from spectral_latent.dependency.relations import RelationModel, RelationOptions
from spectral_latent.dependency.sentence import DependencySentence

__all__ = [
    "Attachment",
    "DependencyConstraints",
    "DependencyModel",
    "DependencyOptions",
    "DependencySentence",
    "HeadSymbol",
    "PartialDependencies",
    "RelationModel",
    "RelationOptions",
    "TaggedTree",
    "prepare",
    "preset",
    "unknown_tree",
]
