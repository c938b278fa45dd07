"""Find parts of speech in sentences without tags, by the anchor hidden Markov model (Stratos, Collins and Hsu 2016)."""

from spectral_latent._names import HullName
from spectral_latent.anchors.conversion import WordTypes
from spectral_latent.anchors.model import AnchorHMM
from spectral_latent.anchors.options import AnchorOptions, HullOptions, SpellingName

__all__ = ["AnchorHMM", "AnchorOptions", "HullName", "HullOptions", "SpellingName", "WordTypes"]
