"""CPU that this process and its JVM have used: steadier than time where a machine is shared."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from benchmarks.beside import beside

TICKS = os.sysconf("SC_CLK_TCK")
SAMPLE_SECONDS = 0.05


@dataclass(slots=True)
class Usage:
    """CPU seconds used so far, at moments (seconds since 1970)."""

    moments: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def between(self, begin: float, end: float) -> float:
        """Return the CPU seconds used from one moment to another."""
        before, after = np.interp([begin, end], self.moments, self.seconds)
        return float(after - before)


@contextmanager
def sampling(spark: SparkSession) -> Iterator[Usage]:
    """Take samples until the block is left."""
    jvm = spark._jvm
    assert jvm is not None
    pid = int(jvm.java.lang.ProcessHandle.current().pid())
    usage = Usage()

    def sample(over: threading.Event) -> None:
        while not over.wait(SAMPLE_SECONDS):
            _take(usage, pid)

    _take(usage, pid)
    try:
        with beside(sample):
            yield usage
    finally:
        _take(usage, pid)


def _take(usage: Usage, pid: int) -> None:
    cells = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    usage.moments.append(time.time())
    usage.seconds.append((int(cells[11]) + int(cells[12])) / TICKS + time.process_time())
