"""Learn latent dependency grammars from dependency trees, and parse with them.

The names below are imported when they are first used, because files of words need only their sentences."""

from typing import TYPE_CHECKING

from spectral_latent._names import PresetName, import_when_used

if TYPE_CHECKING:
    from spectral_latent.dependency.arcs import ArcModel
    from spectral_latent.dependency.constraints import DependencyConstraints, PartialDependencies, unknown_tree
    from spectral_latent.dependency.conversion import Attachment, HeadSymbol
    from spectral_latent.dependency.model import DependencyModel
    from spectral_latent.dependency.options import DependencyOptions, preset
    from spectral_latent.dependency.relations import RelationModel
    from spectral_latent.dependency.training import prepare
    from spectral_latent.dependency.tree import BLANK, DependencySentence

__all__ = [
    "BLANK",
    "ArcModel",
    "Attachment",
    "DependencyConstraints",
    "DependencyModel",
    "DependencyOptions",
    "DependencySentence",
    "HeadSymbol",
    "PartialDependencies",
    "PresetName",
    "RelationModel",
    "prepare",
    "preset",
    "unknown_tree",
]

__getattr__ = import_when_used(
    __name__,
    {
        ".tree": ["BLANK", "DependencySentence"],
        ".arcs": ["ArcModel"],
        ".conversion": ["Attachment", "HeadSymbol"],
        ".constraints": ["DependencyConstraints", "PartialDependencies", "unknown_tree"],
        ".model": ["DependencyModel"],
        ".options": ["DependencyOptions", "preset"],
        ".relations": ["RelationModel"],
        ".training": ["prepare"],
    },
)
