"""Writes deliveries into PostgreSQL until it is killed, going on behind what a file remembers."""

import sys
from pathlib import Path

import pyarrow as pa

from penstock.engine.allowed import Allowed
from penstock.engine.sinks.postgres.postgres import PostgresSink
from penstock.engine.sinks.sink import Delivery, SinkSurroundings
from penstock.model.definitions import Connector, Option, QueryDefinition, Secret


def main(journal: Path, host: str, port: str, database: str, user: str) -> None:
    """Write three rows a delivery; the journal hears of each behind the sink, as ours does."""
    options: dict[str, Option] = {
        "host": host,
        "port": int(port),
        "database": database,
        "user": user,
        "password": Secret("PG"),
        "table": "cars",
        "create": True,
    }
    definition = QueryDefinition("fast", "", sink=Connector("postgres", tuple(options.items())))
    allowed = Allowed(hosts=frozenset({host}))
    sink = PostgresSink(definition, SinkSurroundings(lambda: "home", lambda: allowed))
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
