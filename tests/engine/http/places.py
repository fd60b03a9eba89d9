"""Sources and sinks of HTTP as SQL would make them, for the test server."""

import sys
import time
from pathlib import Path
from typing import Any, cast

from penstock.clock import WallClock
from penstock.engine.allowed import Allowed
from penstock.engine.connectors.sources import build
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.received.received import Received
from penstock.model.definitions import Connector, Option, StreamDefinition
from penstock.model.schema import Column, Schema
from tests.unit.model.arrow_twin import arrow_without_spark

LOOPBACK = Allowed(hosts=frozenset({"127.0.0.1"}))
TEXTS = Schema((Column("said", "string"),))


def closed(home: Path, name: str, schema: Schema, **options: Option) -> Received:
    """Return a closed source on a home; without Spark it reads formats of one column."""
    definition = StreamDefinition("s", schema, Connector(name, tuple(options.items())))
    around = Surroundings(cast(Any, None), WallClock(), home, lambda: LOOPBACK)
    made = build(definition, around)
    assert isinstance(made, Received)
    return made


def receive(home: Path, name: str, **options: Option) -> None:
    """Receive into the log of a home until it is killed, and say when something has come."""
    source = closed(home, name, TEXTS, **options)
    source._reader.open = lambda: None  # type: ignore[method-assign]  # nothing is parsed here
    source.open(None)
    seen = source._log.rows
    while True:
        if source._log.rows > seen:
            sys.stdout.write("came\n")
            sys.stdout.flush()
        time.sleep(0.001)


if __name__ == "__main__":
    given = dict(zip(sys.argv[3::2], sys.argv[4::2], strict=True))
    with arrow_without_spark():
        receive(Path(sys.argv[1]), sys.argv[2], **given)
