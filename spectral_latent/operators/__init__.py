"""Hold observable operators and their tensors, and read and write model files."""

from spectral_latent.operators.compact import CompactOperators
from spectral_latent.operators.contents import (
    Distinct,
    Shares,
    Sorted,
    array_from,
    options_from,
    plain_name,
    setting_from,
)
from spectral_latent.operators.low_rank import low_rank_tensor
from spectral_latent.operators.operators import ObservableOperators, PackedOperators
from spectral_latent.operators.rule_table import RuleTable, row_sums
from spectral_latent.operators.storage import MAX_BYTES, ModelFileError, load_model, opened_model, save_model
from spectral_latent.operators.stored_model import StoredModel
from spectral_latent.operators.stored_operators import arrays_of, operators_from
from spectral_latent.operators.tensors import Tensor, Tensors

__all__ = [
    "MAX_BYTES",
    "CompactOperators",
    "Distinct",
    "ModelFileError",
    "ObservableOperators",
    "PackedOperators",
    "RuleTable",
    "Shares",
    "Sorted",
    "StoredModel",
    "Tensor",
    "Tensors",
    "array_from",
    "arrays_of",
    "load_model",
    "low_rank_tensor",
    "opened_model",
    "operators_from",
    "options_from",
    "plain_name",
    "row_sums",
    "save_model",
    "setting_from",
]
