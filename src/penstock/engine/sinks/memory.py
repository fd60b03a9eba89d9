"""Results kept in a dict: the twin that tests use; SQL cannot name it."""

import pyarrow as pa

from penstock.engine.sinks.sink import Delivery


class MemorySink:
    """Keeps every delivery's rows by number in `deliveries`."""

    repeatable = True

    def __init__(self) -> None:
        self.deliveries: dict[int, pa.Table] = {}

    def open(self) -> None:
        """Nothing is needed."""

    def write(self, delivery: Delivery) -> None:
        self.deliveries[delivery.number] = delivery.rows

    def close(self) -> None:
        """Nothing is held that has to be let go."""
