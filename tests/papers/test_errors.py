"""Errors that fall have a slope, and others do not converge."""

import numpy as np

from benchmarks.papers.errors import plot_errors


def test_errors_that_do_not_fall_are_joined() -> None:
    sizes = [100, 1000, 10000]
    falling = np.outer([1.0, 0.1, 0.01], [1.0, 1.0])
    axes = plot_errors(sizes, {"right": falling, "wrong": np.ones((3, 2))})
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["right: slope −1.00", "wrong: no convergence"]
    np.testing.assert_allclose(axes.get_lines()[1].get_ydata(), [1.0, 0.01])
    from matplotlib import pyplot  # not at the head of the module, which every process imports that collects tests

    pyplot.close(axes.figure)
