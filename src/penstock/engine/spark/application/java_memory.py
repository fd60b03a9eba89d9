"""What Spark's Java process takes of the driver's memory."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

MILLI = 1000.0


@dataclass(frozen=True, slots=True)
class JavaMemory:
    """Bytes, and the seconds that collecting garbage took; `resident` is None where not known."""

    heap: int
    heap_bound: int
    outside_heap: int
    collecting_seconds: float
    resident: int | None


def java_memory() -> JavaMemory | None:
    """Return what Java takes now, None where there is none that answers.

    It waits as long as Java does, which may be long while that collects garbage.
    """
    gateway = SparkContext._gateway
    if gateway is None:
        return None
    with suppress(Py4JError, OSError):
        beans: Any = gateway.jvm.java.lang.management.ManagementFactory
        memory = beans.getMemoryMXBean()
        heap = memory.getHeapMemoryUsage()
        collected = sum(each.getCollectionTime() for each in beans.getGarbageCollectorMXBeans())
        return JavaMemory(
            heap.getUsed(),
            heap.getMax(),
            memory.getNonHeapMemoryUsage().getUsed(),
            collected / MILLI,
            _resident(getattr(gateway, "proc", None)),
        )
    return None


def _resident(process: Any) -> int | None:
    """Return what a child of ours has in memory, as Linux tells it."""
    if process is None:
        return None
    with suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) << 10
    return None
