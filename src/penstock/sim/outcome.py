"""Outcome: what a simulated run came to."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Outcome:
    """Figures of one run. A tuple counts once for each query whose path it goes to the end of."""

    utility: float  # TIME 4.3, normalised (C3): 1 where every result is in time
    on_time: Mapping[str, float]  # by query, the share of its results
    delivered: Mapping[str, float]  # by query, tuples, in time or not
    mean_latency: float
    max_latency: float
    total_latency: float
    mean_bytes: float
    peak_bytes: float
    finished: float  # tuples
    discarded: float
    decisions: int
    switches: int
    rows_a_run: float
    busy_seconds: float
    overhead_seconds: float
    seconds: float  # until all was done
    trace: tuple[tuple[float, float, float], ...] = ()  # time, bytes and tuples that waited


@dataclass(slots=True)
class Tally:
    """Counts while a run goes on."""

    in_time: dict[str, float] = field(default_factory=dict)
    delivered: dict[str, float] = field(default_factory=dict)
    runs: int = 0
    rows: float = 0.0
    finished: float = 0.0
    total_latency: float = 0.0
    max_latency: float = 0.0
    discarded: float = 0.0
    decisions: int = 0
    switches: int = 0
    busy_seconds: float = 0.0
    overhead_seconds: float = 0.0
    peak_bytes: float = 0.0
    byte_seconds: float = 0.0
    trace: list[tuple[float, float, float]] = field(default_factory=list)

    def deliver(self, query: str, tuples: float, latency: float, *, in_time: bool) -> None:
        """Count results of a query."""
        self.finished += tuples
        self.delivered[query] = self.delivered.get(query, 0.0) + tuples
        self.total_latency += tuples * latency
        self.max_latency = max(self.max_latency, latency)
        if in_time:
            self.in_time[query] = self.in_time.get(query, 0.0) + tuples

    def outcome(
        self, expected: Mapping[str, float], weights: Mapping[str, float], seconds: float
    ) -> Outcome:
        """Return the figures, over what each query could have had."""
        shares = {
            name: self.in_time.get(name, 0.0) / most for name, most in expected.items() if most > 0
        }
        total = math.fsum(weights[name] for name in shares)
        score = math.fsum(weights[name] * share for name, share in shares.items())
        return Outcome(
            utility=score / total if total else 1.0,
            on_time=shares,
            delivered=dict(self.delivered),
            mean_latency=self.total_latency / self.finished if self.finished else 0.0,
            max_latency=self.max_latency,
            total_latency=self.total_latency,
            mean_bytes=self.byte_seconds / seconds if seconds else 0.0,
            peak_bytes=self.peak_bytes,
            finished=self.finished,
            discarded=self.discarded,
            decisions=self.decisions,
            switches=self.switches,
            rows_a_run=self.rows / self.runs if self.runs else 0.0,
            busy_seconds=self.busy_seconds,
            overhead_seconds=self.overhead_seconds,
            seconds=seconds,
            trace=tuple(self.trace),
        )
