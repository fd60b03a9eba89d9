"""All metrics of a running Penstock, as the text that Prometheus reads."""

import threading
from collections.abc import Iterator

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.metrics_core import InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock import __version__
from penstock.engine.spark.application.java_memory import java_memory
from penstock.runtime.loop.checkpoint_writer import CheckpointWriter
from penstock.runtime.views.inspected import Inspected
from penstock.server.metrics.memory_metrics import JavaMetrics
from penstock.server.metrics.query_metrics import query_metrics
from penstock.server.metrics.request_metrics import RequestMetrics
from penstock.server.metrics.rule_metrics import rule_metrics
from penstock.server.metrics.stream_metrics import stream_metrics
from penstock.server.metrics.work_metrics import unit_metrics, work_metrics


class Metrics:
    """What a scrape gives. Nothing rests for it: counts are read while they go on."""

    def __init__(self, inspected: Inspected, checkpoints: CheckpointWriter) -> None:
        """Look at nothing before the first scrape."""
        self._java = JavaMetrics(java_memory)
        self._registry = CollectorRegistry(auto_describe=False)
        self._scraping = threading.Lock()
        self.requests = RequestMetrics(self._registry)
        self._registry.register(Running(inspected, checkpoints, self._java))
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format; one scrape at a time."""
        with self._scraping:
            return generate_latest(self._registry)

    def close(self) -> None:
        """Let go of the thread that asks Java."""
        self._java.close()


class Running(Collector):
    """The metrics that are made when somebody asks."""

    def __init__(
        self, inspected: Inspected, checkpoints: CheckpointWriter, java: JavaMetrics
    ) -> None:
        self._inspected, self._checkpoints, self._java = inspected, checkpoints, java

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        of, now = self._inspected, self._inspected.clock.now()
        controller = of.supervisor.quality.shedding_controller
        yield InfoMetricFamily("penstock_build", "The version that runs.", {"version": __version__})
        yield from work_metrics(of.supervisor, self._checkpoints)
        yield from unit_metrics(of.topology)
        yield from stream_metrics(of.topology, now)
        yield from query_metrics(of.topology, lambda gate: controller.share(gate, now), now)
        yield from rule_metrics(of.topology, of.pending_actions)
        yield from self._java.metrics()
