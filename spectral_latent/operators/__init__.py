"""Hold observable operators, their tensors, and tables of rules."""

from spectral_latent.operators.low_rank import low_rank_tensor
from spectral_latent.operators.operators import Counts, ExpectedCounts, ObservableOperators, PackedOperators, row_sums
from spectral_latent.operators.tensors import Tensor, Tensors

__all__ = [
    "Counts",
    "ExpectedCounts",
    "ObservableOperators",
    "PackedOperators",
    "Tensor",
    "Tensors",
    "low_rank_tensor",
    "row_sums",
]
