"""Compute truncated singular value decompositions of sparse matrices."""

from __future__ import annotations

import logging

import numpy as np

from spectral_latent import _scipy as scipy
from spectral_latent.trees import FloatArray

_SMALL = 400  # below this size, a dense decomposition is faster than an iterative one
_MOST_DENSE = 1 << 22  # the largest size of a matrix that is made dense as a whole
_BLOCK = 4096  # the number of rows of a large matrix that are made dense together
_log = logging.getLogger(__name__)


def truncated_svd(
    matrix: scipy.sparse.csr_array, rank: int, seed: int = 0
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute the leading singular triplets U (d, k), σ (k,), V (d', k) of a matrix (d, d'); k = min(rank, d, d').

    The same matrix and seed give the same bits.  A matrix with a short side is decomposed without iteration; if its
    other side is long, it is made dense in blocks.

    matrix: (d, d') the matrix."""
    rank = min(rank, *matrix.shape)
    short = min(matrix.shape)
    if short > max(_SMALL, 2 * rank):
        u, sigma, v = _iterate(matrix, rank, seed)
    elif short * max(matrix.shape) <= _MOST_DENSE:
        u, sigma, v = _dense_svd(matrix.toarray())
    elif matrix.shape[0] >= matrix.shape[1]:
        u, sigma, v = _tall_svd(matrix, rank)
    else:
        v, sigma, u = _tall_svd(matrix.T.tocsr(), rank)
    return u[:, :rank], sigma[:rank].astype(np.float64), v[:, :rank]


def _iterate(matrix: scipy.sparse.csr_array, rank: int, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute triplets by ARPACK, or by PROPACK if ARPACK does not converge."""
    start = np.random.default_rng(seed).uniform(0.5, 1.5, min(matrix.shape))
    try:
        u, sigma, vt = scipy.sparse.linalg.svds(matrix, k=rank, v0=start, solver="arpack")
    except scipy.sparse.linalg.ArpackError as error:
        _log.warning("ARPACK gives up on a matrix of %d by %d features (%s); PROPACK goes on", *matrix.shape, error)
        start = np.random.default_rng(seed).uniform(0.5, 1.5, matrix.shape[0])
        u, sigma, vt = scipy.sparse.linalg.svds(matrix, k=rank, v0=start, solver="propack")
    order = np.argsort(-sigma, kind="stable")
    return u[:, order], sigma[order].astype(np.float64), vt[order].T


def _dense_svd(matrix: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute all triplets of a matrix (d, d')."""
    try:
        u, sigma, vt = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:  # divide and conquer may fail to converge where the plain algorithm does not
        u, sigma, vt = scipy.linalg.svd(matrix, full_matrices=False, lapack_driver="gesvd")
    return u, sigma, vt.T


def _tall_svd(matrix: scipy.sparse.csr_array, rank: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute the leading triplets of a matrix (d, d') with d much larger than d'.

    With matrix = Q R, whose factor R (d', d') is found block by block, V and σ are those of R, and U = matrix V / σ.
    """
    triangle = np.zeros((0, matrix.shape[1]))
    for at in range(0, matrix.shape[0], _BLOCK):
        (triangle,) = scipy.linalg.qr(
            np.concatenate([triangle, matrix[at : at + _BLOCK].toarray()]), mode="r", check_finite=False
        )
        triangle = triangle[: matrix.shape[1]]
    _, sigma, v = _dense_svd(triangle)
    sigma = sigma[:rank]
    v = v[:, :rank]
    return matrix @ (v * np.divide(1.0, sigma, out=np.zeros_like(sigma), where=sigma > 0)), sigma, v
