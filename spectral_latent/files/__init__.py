"""Write objects to model files, and read them: arrays and JSON, rounded, compressed, and checked when they are read."""

from spectral_latent.files.codec import (
    TEXT,
    Axes,
    Contents,
    Given,
    Index,
    are_distinct,
    are_one_line,
    are_probabilities,
    are_sorted,
    plain,
    read,
    sum_to_one,
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
    "TEXT",
    "Axes",
    "CompactOperators",
    "Contents",
    "Given",
    "Index",
    "MissingModelError",
    "ModelFileError",
    "StoredModel",
    "are_distinct",
    "are_one_line",
    "are_probabilities",
    "are_sorted",
    "load_model",
    "open_model",
    "plain",
    "read",
    "round_operators",
    "save_model",
    "sum_to_one",
    "temporary_folder",
    "write",
    "write_whole",
]
