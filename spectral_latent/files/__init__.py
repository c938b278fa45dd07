"""Write objects to model files, and read them: arrays and JSON, rounded, compressed, and checked when they are read."""

from spectral_latent.files.compact import CompactOperators
from spectral_latent.files.contents import (
    Distinct,
    Shares,
    Sorted,
    array_from,
    options_from,
    plain_name,
    setting_from,
)
from spectral_latent.files.rounding import rounded_operators
from spectral_latent.files.storage import MAX_BYTES, ModelFileError, load_model, opened_model, save_model
from spectral_latent.files.stored_model import StoredModel
from spectral_latent.files.stored_operators import arrays_of, operators_from
from spectral_latent.files.temporary import temporary_folder

__all__ = [
    "MAX_BYTES",
    "CompactOperators",
    "Distinct",
    "ModelFileError",
    "Shares",
    "Sorted",
    "StoredModel",
    "array_from",
    "arrays_of",
    "load_model",
    "opened_model",
    "operators_from",
    "options_from",
    "plain_name",
    "rounded_operators",
    "save_model",
    "setting_from",
    "temporary_folder",
]
