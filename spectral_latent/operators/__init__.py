"""Observable operators and the tensors they are made of."""

from spectral_latent.operators.operators import ObservableOperators, PackedOperators
from spectral_latent.operators.tensors import Tensor

__all__ = ["ObservableOperators", "PackedOperators", "Tensor"]
