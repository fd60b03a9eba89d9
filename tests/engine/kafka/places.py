"""Sources and sinks of Kafka as SQL would make them, for the broker of the tests."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.clock import Clock, WallClock
from penstock.engine.allowed import Allowed
from penstock.engine.interfaces.interface import Boundary, Ingest, Surroundings
from penstock.engine.interfaces.kafka.kafka import Kafka
from penstock.model.definitions import Connector, Option, StreamDefinition
from penstock.model.schema import Column, Schema
from tests.servers.kafka import KafkaServer

LOOPBACK = Allowed(hosts=frozenset({"127.0.0.1"}))
PATIENCE = 60.0  # seconds for any one wait: the machine may be busy
CARS = Schema((Column("ts", "timestamp"), Column("id", "string"), Column("mph", "int")))


def connector(server: KafkaServer, **options: Option) -> Connector:
    """Return the connector with some options."""
    return Connector("kafka", tuple({"servers": server.servers, **options}.items()))


class Reading:
    """A stream that is read by hand: what it has offered, and what that held."""

    def __init__(self, source: Kafka) -> None:
        self.source = source
        self.boundaries: list[Boundary] = []
        self.ingests: list[Ingest] = []

    def rows(self, most: int) -> list[dict[str, Any]]:
        """Return the next rows once so many have come, or all up to the source's end."""
        first = len(self.ingests)
        self.until(lambda: self.source.ended or self._count(first) >= most)
        return [row for each in self.ingests[first:] for row in self._table(each).to_pylist()]

    def rejects(self) -> list[dict[str, Any]]:
        """Return all rejects so far."""
        found = [each.rejects for each in self.ingests if each.rejects is not None]
        return [row for table in found for row in table.to_pylist()]

    def until(self, done: Callable[[], bool]) -> None:
        """Take whatever comes until something holds."""
        deadline = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < deadline
            if (offer := self.source.next()) is None:
                time.sleep(0.01)
                continue
            self.boundaries.append(offer.boundary)
            self.ingests.append(self.source.read(offer.boundary))

    def _count(self, first: int) -> int:
        return sum(self._table(each).num_rows for each in self.ingests[first:])

    @staticmethod
    def _table(ingest: Ingest) -> pa.Table:
        assert isinstance(ingest.rows, pa.Table)
        return ingest.rows


@contextmanager
def reading(
    definition: StreamDefinition,
    spark: SparkSession,
    home: Path,
    after: Boundary | None = None,
    clock: Clock | None = None,
) -> Iterator[Reading]:
    """Open a stream of Kafka on a home."""
    around = Surroundings(spark, clock or WallClock(), home, lambda: LOOPBACK)
    source = Kafka(definition, around)
    source.open(after)
    try:
        yield Reading(source)
    finally:
        source.close()
