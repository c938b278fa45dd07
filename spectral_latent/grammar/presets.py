"""Hold the options that the presets of constituency and of dependency parsers share."""

from __future__ import annotations

from spectral_latent.estimation import EM, Clusters

__all__ = ["BEAM", "THRESHOLD", "clusters_then_em"]

# Presets prune charts more than the default options.
BEAM = 5e-4
THRESHOLD = 2e-4


def clusters_then_em(n_states: int, iterations: int, rank: int) -> EM:
    """Choose clusters on spectral projections, then a few iterations of EM; tensors have few terms.

    >>> clusters_then_em(24, 2, 8).start
    Clusters(n_states=24, smoothing=5.0, rank=8)
    """
    return EM(Clusters(n_states, smoothing=5.0, rank=rank), iterations, state_smoothing=0.2)
