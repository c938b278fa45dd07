"""Find parts of speech in sentences without tags, by the anchor hidden Markov model (Stratos, Collins and Hsu 2016)."""

from spectral_latent.anchors.hulls import AnchorOptions, WordTypes
from spectral_latent.anchors.model import AnchorHMM

__all__ = ["AnchorHMM", "AnchorOptions", "WordTypes"]
