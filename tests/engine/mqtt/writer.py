"""Publishes deliveries until it is killed, going on behind what a file remembers."""

import sys
from pathlib import Path

import pyarrow as pa

from penstock.engine.sinks.mqtt.mqtt import MqttSink
from penstock.engine.sinks.sink import Delivery, SinkSurroundings
from penstock.model.definitions import Connector, Option, QueryDefinition
from tests.engine.mqtt.places import LOOPBACK


def main(journal: Path, topic: str, port: int) -> None:
    """Write three rows a delivery; the journal hears of each behind the sink, as ours does."""
    options: dict[str, Option] = {"host": "127.0.0.1", "port": port, "topic": topic}
    definition = QueryDefinition("fast", "", sink=Connector("mqtt", tuple(options.items())))
    sink = MqttSink(definition, SinkSurroundings(lambda: "home", lambda: LOOPBACK))
    number = len(journal.read_bytes()) if journal.exists() else 0
    sink.open()
    with journal.open("ab", buffering=0) as memory:
        while True:
            number += 1
            sink.write(Delivery("fast", number, pa.table({"id": [number] * 3, "at": [0, 1, 2]})))
            memory.write(b".")
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
