"""Receives messages of a topic into the log of a home until it is killed; needs no Spark."""

import sys
import time
from pathlib import Path
from typing import Any, cast

from penstock.clock import WallClock
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.received.mqtt import Mqtt
from penstock.model.definitions import Connector, Option, StreamDefinition
from penstock.model.schema import Column, Schema
from tests.engine.mqtt.places import LOOPBACK
from tests.unit.model.arrow_twin import arrow_without_spark


def main(home: Path, topic: str, port: int) -> None:
    """Say a line for each train that waits."""
    options: dict[str, Option] = {
        "host": "127.0.0.1",
        "port": port,
        "topic": topic,
        "format": "text",
        "topic_column": "topic",
        "retained_column": "kept",
        "again_column": "again",
    }
    names = ("said", "topic", "kept", "again")
    kinds = ("string", "string", "boolean", "boolean")
    schema = Schema(tuple(map(Column, names, kinds)))
    definition = StreamDefinition("s", schema, Connector("mqtt", tuple(options.items())))
    around = Surroundings(cast(Any, None), WallClock(), home, lambda: LOOPBACK)
    source = Mqtt(definition, around)
    source.open(None)
    seen = source._log.rows
    while True:
        if source._log.rows > seen:
            sys.stdout.write("came\n")
            sys.stdout.flush()
        time.sleep(0.001)


if __name__ == "__main__":
    with arrow_without_spark():
        main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
