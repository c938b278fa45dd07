"""Parts of speech from words alone: the anchor hidden Markov model (Stratos, Collins and Hsu 2016)."""

from spectral_latent.anchors.hulls import HullOptions
from spectral_latent.anchors.model import AnchorHMM, AnchorOptions
from spectral_latent.anchors.vocabulary import Types

__all__ = ["AnchorHMM", "AnchorOptions", "HullOptions", "Types"]
