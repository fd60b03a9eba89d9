"""What a driver holds: memory of its Python process, and of the heap of its JVM."""

import gc
import os
from pathlib import Path

from pyspark.sql import SparkSession

PAGE = os.sysconf("SC_PAGE_SIZE")


def held(spark: SparkSession) -> dict[str, int]:
    """Return the bytes held once garbage is collected."""
    gc.collect()
    jvm = spark._jvm
    assert jvm is not None
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    return {"python": resident, "heap": int(runtime.totalMemory() - runtime.freeMemory())}
