"""Observable operators and the tensors they are made of."""

from spectral_latent.operators.low_rank import low_rank_operators, low_rank_tensor
from spectral_latent.operators.operators import ObservableOperators, PackedOperators
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
from spectral_latent.operators.tensors import Tensor

__all__ = [
    "ModelFileError",
    "ObservableOperators",
    "PackedOperators",
    "Tensor",
    "arrays_of",
    "column_from",
    "load_model",
    "low_rank_operators",
    "low_rank_tensor",
    "name_of",
    "opened_model",
    "operators_from",
    "options_from",
    "plain_name",
    "save_model",
]
