"""Observable operators and the tensors they are made of."""

from spectral_latent.operators.low_rank import low_rank_tensor
from spectral_latent.operators.operators import ObservableOperators, PackedOperators
from spectral_latent.operators.rule_table import RuleTable, row_sums
from spectral_latent.operators.storage import (
    ModelFileError,
    arrays_of,
    column_from,
    load_model,
    name_of,
    opened_model,
    operators_from,
    options_from,
    plain_name,
    save_model,
)
from spectral_latent.operators.tensors import Tensor, Tensors

__all__ = [
    "ModelFileError",
    "ObservableOperators",
    "PackedOperators",
    "RuleTable",
    "Tensor",
    "Tensors",
    "arrays_of",
    "column_from",
    "load_model",
    "low_rank_tensor",
    "name_of",
    "opened_model",
    "operators_from",
    "options_from",
    "plain_name",
    "row_sums",
    "save_model",
]
