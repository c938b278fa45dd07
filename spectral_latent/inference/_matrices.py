"""Multiply vectors by the matrices of tensors, which are parts of one flat array.

Vectors are given as an array and the number of a row, because compiled code would make a new array for a part of one.
"""

from __future__ import annotations

from spectral_latent._compiled import pass_part, place
from spectral_latent.trees import FloatArray

__all__ = ["multiply", "multiply_transposed"]


@pass_part
def multiply(
    data: FloatArray, at: int, n: int, m: int, vectors: FloatArray, row: int, out: FloatArray, out_row: int
) -> None:
    """Set out[out_row, :n] to A vectors[row, :m], where A is the matrix (n, m) that begins at data[at].

    data: the numbers of all tensors, flat, (offset[-1],).
    vectors: (k, M) the array with the vector.
    out: (l, M') the array that gets the result.
    """
    i = 0
    # Four rows of A at a time, because the processor waits between two additions to the same sum.
    while i + 4 <= n:
        first = at + i * m
        second = first + m
        third = first + 2 * m
        fourth = first + 3 * m
        sum_1 = sum_2 = sum_3 = sum_4 = 0.0
        for j in range(m):
            number = vectors[row, j]
            sum_1 += data[place(first + j)] * number
            sum_2 += data[place(second + j)] * number
            sum_3 += data[place(third + j)] * number
            sum_4 += data[place(fourth + j)] * number
        out[out_row, place(i)] = sum_1
        out[out_row, place(i + 1)] = sum_2
        out[out_row, place(i + 2)] = sum_3
        out[out_row, place(i + 3)] = sum_4
        i += 4
    while i < n:
        first = at + i * m
        total = 0.0
        for j in range(m):
            total += data[place(first + j)] * vectors[row, j]
        out[out_row, place(i)] = total
        i += 1


@pass_part
def multiply_transposed(
    data: FloatArray, at: int, n: int, m: int, vectors: FloatArray, row: int, out: FloatArray, out_row: int
) -> None:
    """Set out[out_row, :m] to Aᵀ vectors[row, :n], where A is the matrix (n, m) that begins at data[at].

    data: the numbers of all tensors, flat, (offset[-1],).
    vectors: (k, M) the array with the vector.
    out: (l, M') the array that gets the result.
    """
    for j in range(m):
        out[out_row, j] = 0.0
    i = 0
    # Four rows of A at a time, so that each sum is read and written a quarter as often.
    while i + 4 <= n:
        first = at + i * m
        second = first + m
        third = first + 2 * m
        fourth = first + 3 * m
        number_1, number_2 = vectors[row, place(i)], vectors[row, place(i + 1)]
        number_3, number_4 = vectors[row, place(i + 2)], vectors[row, place(i + 3)]
        for j in range(m):
            out[out_row, j] += (
                number_1 * data[place(first + j)]
                + number_2 * data[place(second + j)]
                + number_3 * data[place(third + j)]
                + number_4 * data[place(fourth + j)]
            )
        i += 4
    while i < n:
        first = at + i * m
        number = vectors[row, place(i)]
        for j in range(m):
            out[out_row, j] += number * data[place(first + j)]
        i += 1
