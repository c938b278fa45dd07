"""Compare the time of works of two sizes."""

import time
from collections.abc import Callable


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Tell whether eight times the size takes far less than 64 times the CPU time, the least of three runs each."""

    def least(size: int) -> float:
        times = []
        for _ in range(3):
            begin = time.process_time()
            work(size)
            times.append(time.process_time() - begin)
        return min(times)

    return least(8 * size) < 24 * least(size)
