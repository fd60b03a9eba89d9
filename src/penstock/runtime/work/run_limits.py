"""How much of what waits is taken at once."""

from dataclasses import dataclass

from penstock.engine.spark.jobs.processor import DRIVER_ROWS, LARGE, LARGE_STATES
from penstock.engine.trains.rows import SMALL_BYTES, SMALL_ROWS


@dataclass(frozen=True, slots=True)
class RunLimits:
    """The most that one run, one delivery and one look of rules take of the trains that wait.

    A single train is always taken, however large it is.
    """

    # Coalescing beyond a local relation would not keep the rows' order.
    flow_rows: int = SMALL_ROWS
    flow_bytes: int = SMALL_BYTES
    aggregate_rows: int = 500_000
    aggregate_bytes: int = 256 << 20  # rows may hold vectors, and those of a run are in memory
    delivery_rows: int = 500_000  # a delivery is a table in the driver
    delivery_bytes: int = 64 << 20
    light_rows: int = SMALL_ROWS  # deliveries so small go together: nobody waits long for them
    rule_rows: int = 500_000  # as much as a delivery
    rule_bytes: int = 64 << 20
    driver_rows: int = DRIVER_ROWS  # Arrow answers so many in the driver where it can; 0: Spark all
    # Trains that will have more are written by Spark's tasks, and never pass the driver.
    large_rows: int = LARGE.rows
    large_bytes: int = LARGE.size
    # What states keep of more is in partitions that tasks write, and never passes it either.
    state_rows: int = LARGE_STATES.rows
    state_bytes: int = LARGE_STATES.size


RUN_LIMITS = RunLimits()
