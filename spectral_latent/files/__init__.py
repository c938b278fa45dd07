"""Write objects to model files, and read them: arrays and JSON, rounded, compressed, and checked when they are read."""

from spectral_latent.files.codec import Contents, plain, read, write
from spectral_latent.files.compact import CompactOperators
from spectral_latent.files.declarations import Axes, Distinct, Given, Index, Probabilities, Shares, Sorted, Text
from spectral_latent.files.rounding import rounded_operators
from spectral_latent.files.storage import MAX_BYTES, ModelFileError, load_model, opened_model, save_model
from spectral_latent.files.stored_model import StoredModel
from spectral_latent.files.stored_operators import StoredOperators
from spectral_latent.files.temporary import temporary_folder

__all__ = [
    "MAX_BYTES",
    "Axes",
    "CompactOperators",
    "Contents",
    "Distinct",
    "Given",
    "Index",
    "ModelFileError",
    "Probabilities",
    "Shares",
    "Sorted",
    "StoredModel",
    "StoredOperators",
    "Text",
    "load_model",
    "opened_model",
    "plain",
    "read",
    "rounded_operators",
    "save_model",
    "temporary_folder",
    "write",
]
