"""What Spark's Java takes of the driver's memory; our own process tells that by itself."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from prometheus_client.metrics_core import Metric

from penstock.engine.spark.application.java_memory import JavaMemory
from penstock.server.metrics.figure import Counter, Figure, Gauge, families

PATIENCE_SECONDS = 0.5  # a scrape must not wait for a Java that collects garbage

JAVA_FIGURES: Sequence[Figure[JavaMemory]] = (
    Gauge("penstock_java_heap_bytes", "Bytes of Java's heap that are in use.", lambda j: j.heap),
    Gauge(
        "penstock_java_heap_bound_bytes", "Bytes that Java's heap may have.", lambda j: j.heap_bound
    ),
    Gauge(
        "penstock_java_outside_heap_bytes",
        "Bytes that Java has in use outside of its heap.",
        lambda j: j.outside_heap,
    ),
    Gauge(
        "penstock_java_resident_memory_bytes",
        "Bytes of memory that the Java process has.",
        lambda j: j.resident,
    ),
    Counter(
        "penstock_java_collecting_seconds",
        "Seconds that Java spent collecting garbage.",
        lambda j: j.collecting_seconds,
    ),
)


class JavaMetrics:
    """Asks in a thread of its own; without an answer in time the metrics are left out."""

    def __init__(self, ask: Callable[[], JavaMemory | None]) -> None:
        self._ask = ask
        self._asker = ThreadPoolExecutor(1, thread_name_prefix="java-memory")
        self._asked: Future[JavaMemory | None] | None = None

    def metrics(self) -> Iterator[Metric]:
        """Yield the metrics, without samples where Java has not answered."""
        self._asked = self._asked or self._asker.submit(self._ask)  # or it is still being asked
        found = None
        if wait((self._asked,), PATIENCE_SECONDS).done:
            asked, self._asked = self._asked, None
            # A Java that is about to end fails in many ways; all else is worth a scrape.
            found = asked.result() if asked.exception() is None else None
        return families(JAVA_FIGURES, (), [] if found is None else [((), found)])

    def close(self) -> None:
        """Ask no more."""
        self._asker.shutdown(wait=False, cancel_futures=True)
