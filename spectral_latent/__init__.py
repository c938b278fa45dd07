"""Latent-variable PCFGs, HMMs and dependency trees, estimated by spectral learning.

The names below are imported when they are first used, so that `import spectral_latent` costs nothing.
"""

from typing import TYPE_CHECKING, Any

from spectral_latent._names import import_when_used
from spectral_latent._version import __version__

if TYPE_CHECKING:
    from spectral_latent.anchors import AnchorHMM
    from spectral_latent.automata import WeightedAutomaton
    from spectral_latent.constituency import ConstituencyModel, preset
    from spectral_latent.dependency import DependencyModel
    from spectral_latent.estimation import EstimatorOptions
    from spectral_latent.graphs import GraphModel
    from spectral_latent.kinds import load
    from spectral_latent.model import LatentTreeModel
    from spectral_latent.reranking import Reranker
    from spectral_latent.sequence import LatentHMM, LatentTagger

__all__ = [
    "AnchorHMM",
    "ConstituencyModel",
    "DependencyModel",
    "EstimatorOptions",
    "GraphModel",
    "LatentHMM",
    "LatentTagger",
    "LatentTreeModel",
    "Reranker",
    "WeightedAutomaton",
    "__version__",
    "load",
    "preset",
]

_MODULES = {
    ".anchors": ["AnchorHMM"],
    ".automata": ["WeightedAutomaton"],
    ".constituency": ["ConstituencyModel", "preset"],
    ".dependency": ["DependencyModel"],
    ".estimation": ["EstimatorOptions"],
    ".graphs": ["GraphModel"],
    ".kinds": ["load"],
    ".model": ["LatentTreeModel"],
    ".reranking": ["Reranker"],
    ".sequence": ["LatentHMM", "LatentTagger"],
}  # where names are imported from

_ADAPTERS = {
    "spectral_latent_nltk": {
        *("AnchorTagger", "LatentHMMTagger", "ParseGraph", "ParseTree", "SpectralDependencyParser", "SpectralParser"),
        *("partial_from_nltk", "phrase_to_nltk", "sentence_from_nltk", "sentence_to_nltk", "to_nbest"),
    },
    "spectral_latent_sklearn": {"SpectralGaussianHMM", "SpectralHMM"},
    "spectral_latent_spacy": {
        *("NotAConstituentError", "SpectralConstituency", "SpectralDependency", "SpectralTagger"),
    },
}  # names that people look for here


_import = import_when_used(__name__, _MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used; see PEP 562."""
    for package, names in _ADAPTERS.items():
        if name in names:
            raise ImportError(f"{name} is in another package: from {package} import {name}", name=__name__)
    return _import(name)


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
