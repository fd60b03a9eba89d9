"""Figures: what is measured of many things of a kind, as one Prometheus metric each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from penstock.qos.monitor.durations import Durations

T = TypeVar("T")

# From what one small train takes to what nobody waits for; contracts lie between.
LIMITS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
ENDS = [*map(str, LIMITS), "+Inf"]

Labelled = Sequence[tuple[tuple[str, ...], T]]  # things by the values of their labels


@dataclass(frozen=True, slots=True)
class Counter(Generic[T]):
    """What only grows as long as the thing and this process live; None where it is not known."""

    name: str
    about: str
    value: Callable[[T], float | None]

    def family(self, labels: Sequence[str], things: Labelled[T]) -> Metric:
        """Return the metric with a sample for each thing."""
        found = CounterMetricFamily(self.name, self.about, labels=labels)
        for values, thing in things:
            if (value := self.value(thing)) is not None:
                found.add_metric(values, value)
        return found


@dataclass(frozen=True, slots=True)
class Gauge(Generic[T]):
    """What may rise and fall; None where it is not known."""

    name: str
    about: str
    value: Callable[[T], float | None]

    def family(self, labels: Sequence[str], things: Labelled[T]) -> Metric:
        """Return the metric with a sample for each thing."""
        found = GaugeMetricFamily(self.name, self.about, labels=labels)
        for values, thing in things:
            if (value := self.value(thing)) is not None:
                found.add_metric(values, value)
        return found


@dataclass(frozen=True, slots=True)
class Histogram(Generic[T]):
    """Durations since the start in cumulative buckets, and their sum; None where there is none."""

    name: str
    about: str
    value: Callable[[T], tuple[Durations, float] | None]

    def family(self, labels: Sequence[str], things: Labelled[T]) -> Metric:
        """Return the metric with the buckets of each thing of which durations are known."""
        found = HistogramMetricFamily(self.name, self.about, labels=labels)
        for values, thing in things:
            if (value := self.value(thing)) is not None:
                durations, total = value
                counts = durations.at_most(LIMITS)
                found.add_metric(values, list(zip(ENDS, counts, strict=True)), total)
        return found


Figure = Counter[T] | Gauge[T] | Histogram[T]


def families(
    figures: Sequence[Figure[T]], labels: Sequence[str], things: Labelled[T]
) -> Iterator[Metric]:
    """Yield the metric of each figure."""
    return (figure.family(labels, things) for figure in figures)
