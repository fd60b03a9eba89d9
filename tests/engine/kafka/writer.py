"""Writes deliveries into Kafka until it is killed, going on behind what a file remembers."""

import sys
from pathlib import Path

import pyarrow as pa

from penstock.engine.allowed import Allowed
from penstock.engine.sinks.kafka.kafka import KafkaSink
from penstock.engine.sinks.sink import Delivery, SinkSurroundings
from penstock.model.definitions import Connector, QueryDefinition


def main(journal: Path, servers: str, topic: str) -> None:
    """Write three rows a delivery; the journal hears of each behind the sink, as ours does."""
    options = (("servers", servers), ("topic", topic))
    definition = QueryDefinition(topic, "", sink=Connector("kafka", options))
    allowed = Allowed(hosts=frozenset({"127.0.0.1"}))
    sink = KafkaSink(definition, SinkSurroundings(lambda: "home", lambda: allowed))
    number = len(journal.read_bytes()) if journal.exists() else 0
    sink.expect(number + 1)  # the one that was under way
    sink.open()
    with journal.open("ab", buffering=0) as memory:
        while True:
            number += 1
            sink.write(Delivery("fast", number, pa.table({"id": [number] * 3})))
            memory.write(b".")
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
