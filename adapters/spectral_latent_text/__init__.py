"""Parse raw text: find sentences, words, tags, features and lemmas, and the dependency trees of the words.

`PIPELINE` is what `spectral_latent` knows of the package without importing the rest of it; the other names are imported
when they are first used.
"""

from typing import TYPE_CHECKING

from spectral_latent.kinds import Kind, import_when_used

if TYPE_CHECKING:
    from spectral_latent_text._lemmas import Lemmatiser
    from spectral_latent_text._pipeline import TextPipeline
    from spectral_latent_text._segmentation import LearntTokenisation, Segmenter

__all__ = ["PIPELINE", "LearntTokenisation", "Lemmatiser", "Segmenter", "TextPipeline"]

PIPELINE = Kind(
    "spectral_latent_text",
    "TextPipeline",
    "a text pipeline",
    extends="dependency",
    training="""Train a pipeline from raw text to dependency trees, one file for a language.

    It learns to divide text from the comments `# text`, and tags, features and lemmas.  Its parser learns from
    predicted tags and features.

    \b
    Example:
      spectral-latent train pipeline en-train.conllu -o en.model""",
)

__getattr__ = import_when_used(
    __name__,
    {
        "._segmentation": ["LearntTokenisation", "Segmenter"],
        "._lemmas": ["Lemmatiser"],
        "._pipeline": ["TextPipeline"],
    },
)
