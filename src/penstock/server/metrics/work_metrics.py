"""What there is to do and what was done: units, load, buffers and checkpoints."""

from collections.abc import Iterator, Sequence

from prometheus_client.metrics_core import Metric

from penstock.qos.load.load import Outlook
from penstock.runtime.loop.checkpoint_writer import CheckpointWriter
from penstock.runtime.loop.supervisor import Supervisor
from penstock.runtime.topology.topology import Topology
from penstock.runtime.views.relations.topology.units import kind_of
from penstock.runtime.work.live_unit import LiveUnit
from penstock.server.metrics.figure import Counter, Figure, Gauge, Histogram, families

UNIT_FIGURES: Sequence[Figure[LiveUnit]] = (
    Counter(
        "penstock_unit_busy_seconds",
        "Seconds that a unit's runs took; SHOW UNITS shows the first digits of its name.",
        lambda u: u.busy_seconds,
    ),
    Counter("penstock_unit_runs", "Runs of a unit.", lambda u: u.runs),
    Counter("penstock_unit_rows_in", "Rows that a unit has read.", lambda u: u.rows_in),
    Counter("penstock_unit_rows_out", "Rows that a unit has given.", lambda u: u.rows_out),
)
OUTLOOK_FIGURES: Sequence[Figure[Outlook]] = (
    Gauge(
        "penstock_load_ratio",
        "The share of its time that Spark needs for what comes in; above 1 it is too much.",
        lambda o: o.load,
    ),
    Gauge("penstock_load_forecast_ratio", "The load that is foreseen.", lambda o: o.ahead),
    Gauge("penstock_backlog_seconds", "How long what waits now will take.", lambda o: o.wait),
)
SUPERVISOR_FIGURES: Sequence[Figure[Supervisor]] = (
    Gauge("penstock_slots", "Units that may run at once.", lambda s: s.slots),
    Counter(
        "penstock_busy_seconds",
        "Seconds that the runs of all units took; divide its rate by the slots.",
        lambda s: s.statistics.busy_seconds,
    ),
    Counter(
        "penstock_deciding_seconds",
        "Seconds that choosing the next unit took.",
        lambda s: s.control.dispatcher.deciding_seconds,
    ),
    Counter(
        "penstock_shedding_changes",
        "Changes of what gates keep.",
        lambda s: s.quality.changes,
    ),
    Gauge("penstock_units", "Units that there are.", lambda s: len(s.topology.units)),
    Gauge(
        "penstock_buffer_memory_bytes",
        "Bytes that all buffers hold in memory.",
        lambda s: s.topology.buffers.memory_bytes(),
    ),
    Gauge(
        "penstock_buffer_bound_bytes",
        "Bytes that all buffers may hold in memory; what is more goes to disk.",
        lambda s: s.topology.buffers.bounds.total_bytes,
    ),
)
CHECKPOINT_FIGURES: Sequence[Figure[CheckpointWriter]] = (
    Histogram(
        "penstock_checkpoint_duration_seconds",
        "How long writing a checkpoint took.",
        lambda c: (c.durations, c.seconds_taken),
    ),
    Gauge(
        "penstock_checkpoint_timestamp_seconds",
        "When the last checkpoint was written.",
        lambda c: c.written_at,
    ),
    Gauge(
        "penstock_checkpoint_age_seconds",
        "How long ago the last checkpoint was written; more than that is never done again.",
        lambda c: None if c.written_at is None else c.clock.now() - c.written_at,
    ),
)


def unit_metrics(topology: Topology) -> Iterator[Metric]:
    """Yield the metrics of all units."""
    units = list(topology.units.items())
    seen = [((name, kind_of(live.unit)), live) for name, live in units]
    return families(UNIT_FIGURES, ("unit", "kind"), seen)


def work_metrics(supervisor: Supervisor, checkpoints: CheckpointWriter) -> Iterator[Metric]:
    """Yield the metrics of the whole."""
    yield from families(SUPERVISOR_FIGURES, (), [((), supervisor)])
    yield from families(OUTLOOK_FIGURES, (), [((), supervisor.quality.outlook)])
    yield from families(CHECKPOINT_FIGURES, (), [((), checkpoints)])
