"""Hold the parts of SciPy, each of which is imported when it is first used: loading and parsing need none."""

from typing import TYPE_CHECKING

from spectral_latent._names import import_when_used

if TYPE_CHECKING:
    from scipy import cluster, linalg, optimize, sparse, special, stats

__all__ = ["cluster", "linalg", "optimize", "sparse", "special", "stats"]

__getattr__ = import_when_used(__name__, {"scipy": __all__})
