"""Dependency trees: the latent dependency grammar, and the estimators of Dhillon et al. (2012)."""

from spectral_latent.dependency.arc_features import TaggedTree
from spectral_latent.dependency.conversion import Attachment, Label
from spectral_latent.dependency.embeddings import cca_embeddings, dependency_bigrams
from spectral_latent.dependency.model import DependencyModel, DependencyOptions, DependencyParse, DependencyTraining
from spectral_latent.dependency.observable import corrected_operators, paper_operators
from spectral_latent.dependency.observations import Observations
from spectral_latent.dependency.relations import RelationModel, RelationOptions
from spectral_latent.dependency.sentence import DependencySentence

__all__ = [
    "Attachment",
    "DependencyModel",
    "DependencyOptions",
    "DependencyParse",
    "DependencySentence",
    "DependencyTraining",
    "Label",
    "Observations",
    "RelationModel",
    "RelationOptions",
    "TaggedTree",
    "cca_embeddings",
    "corrected_operators",
    "dependency_bigrams",
    "paper_operators",
]
