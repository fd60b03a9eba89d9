"""All metrics of a running Penstock, as the text that Prometheus reads."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import GaugeMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from penstock import __version__
from penstock.engine.spark.application.java_memory import java_memory
from penstock.runtime.loop.checkpoint_writer import CheckpointWriter
from penstock.runtime.views.inspected import Inspected
from penstock.server.metrics.memory_metrics import JavaMetrics
from penstock.server.metrics.query_metrics import query_metrics, state_metric
from penstock.server.metrics.request_metrics import RequestMetrics
from penstock.server.metrics.rule_metrics import rule_metrics
from penstock.server.metrics.stream_metrics import stream_metrics
from penstock.server.metrics.work_metrics import unit_metrics, work_metrics


@dataclass(frozen=True, slots=True)
class Watched:
    """What is measured of a home that is open."""

    inspected: Inspected
    checkpoints: CheckpointWriter


class Metrics:
    """What a scrape gives. Nothing rests for it: counts are read while they go on."""

    def __init__(self, watched: Callable[[], Watched | None]) -> None:
        """Look at nothing before the first scrape; `watched` is None while no home is open."""
        self._java = JavaMetrics(java_memory)
        self._registry = CollectorRegistry(auto_describe=False)
        self._scraping = threading.Lock()
        # They are a gauge more for every counter, which nobody asks for.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # it ships no annotation
        self.requests = RequestMetrics(self._registry)
        self._registry.register(Running(watched, self._java))
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

    def __init__(self, watched: Callable[[], Watched | None], java: JavaMetrics) -> None:
        self._watched, self._java = watched, java

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        watched = self._watched()
        is_up = watched is not None and watched.inspected.supervisor.fatal is None
        yield GaugeMetricFamily(
            "penstock_up", "1 while a home is open and goes on, else 0.", float(is_up)
        )
        yield InfoMetricFamily("penstock_build", "The version that runs.", {"version": __version__})
        if watched is not None:
            yield from self._metrics(watched.inspected, watched.checkpoints)

    def _metrics(self, of: Inspected, checkpoints: CheckpointWriter) -> Iterator[Metric]:
        now, controller = of.clock.now(), of.supervisor.quality.shedding_controller
        yield from work_metrics(of.supervisor, checkpoints)
        yield from unit_metrics(of.topology)
        yield from stream_metrics(of.topology, now)
        yield from query_metrics(of.topology, lambda gate: controller.share(gate, now), now)
        yield state_metric(of.directory, of.catalog)
        yield from rule_metrics(of.topology, of.pending_actions)
        yield from self._java.metrics()
