"""Write objects to model files, and read them: arrays and JSON, rounded, compressed, and checked when they are read."""

from spectral_latent.files.codec import (
    Axes,
    Contents,
    Distinct,
    Given,
    Index,
    OneLine,
    Probabilities,
    Shares,
    Sorted,
    Text,
    plain,
    read,
    write,
)
from spectral_latent.files.operators import CompactOperators, round_operators
from spectral_latent.files.storage import (
    MAX_BYTES,
    MissingModelError,
    ModelFileError,
    load_model,
    open_model,
    save_model,
    temporary_folder,
    write_whole,
)
from spectral_latent.files.stored_model import StoredModel

__all__ = [
    "MAX_BYTES",
    "Axes",
    "CompactOperators",
    "Contents",
    "Distinct",
    "Given",
    "Index",
    "MissingModelError",
    "ModelFileError",
    "OneLine",
    "Probabilities",
    "Shares",
    "Sorted",
    "StoredModel",
    "Text",
    "load_model",
    "open_model",
    "plain",
    "read",
    "round_operators",
    "save_model",
    "temporary_folder",
    "write",
    "write_whole",
]
