"""What is done with a window: an FFT of each channel, once, or so often that it takes its time."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.flows.signals import CHANNELS, SAMPLE

Spectrum = Callable[[Any], Any]  # of the samples along the last axis

DEAR_SECONDS = 0.0012  # a window: the aim is about functions of a millisecond or more


def spectrum(times: int) -> Spectrum:
    """Return a function that makes the FFT so many times, and gives the last one.

    It is made here, so that Spark sends it by value.
    """

    def made(samples: Any) -> Any:
        for _ in range(times):
            found = np.fft.fft(samples)
        return found.astype(np.complex64, copy=False)

    return made


def times_for(size: int, seconds: float = DEAR_SECONDS) -> int:
    """Return how often the FFT has to be made to take so long for a window of three channels."""
    rows = np.ones((len(CHANNELS), size), SAMPLE)
    took = []
    for _ in range(50):
        began = time.perf_counter()
        np.fft.fft(rows)
        took.append(time.perf_counter() - began)
    return max(1, int(np.ceil(seconds / median(took))))
