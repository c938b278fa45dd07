"""Tell what the latent states, or the directions of the latent spaces, of a model stand for."""

from spectral_latent.inspection.directions import Direction, describe_directions
from spectral_latent.inspection.named import NamedOperators
from spectral_latent.inspection.states import Described, DescribedRule, describe_rules, describe_states

__all__ = [
    "Described",
    "DescribedRule",
    "Direction",
    "NamedOperators",
    "describe_directions",
    "describe_rules",
    "describe_states",
]
