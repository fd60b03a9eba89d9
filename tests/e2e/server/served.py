"""A server within the test's own process, and clients of it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.server.access.caller import Role
from penstock.server.access.tokens import TokenFile, new_token
from penstock.server.configuration import resolved
from penstock.server.opening import settings_of
from penstock.server.serve import Listeners
from penstock.server.service import Service

PATIENCE = 120.0  # seconds: the machine may be busy


@dataclass(frozen=True, slots=True)
class Served:
    """A server that listens on a free port; `tokens` are secrets by the names of their roles.

    `pg` is where it speaks PostgreSQL's protocol, if a test has asked for that by `pg_port`.
    """

    service: Service
    connection: Connection
    url: str
    tokens: Mapping[str, str]
    listeners: Listeners
    pg: str = ""

    def client(self, role: str = "", **options: Any) -> httpx.Client:
        """Return a client with the token of a role."""
        headers = {"Authorization": f"Bearer {self.tokens[role]}"} if role else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=PATIENCE, **options)


@contextmanager
def served(
    home: Path,
    spark: SparkSession,
    settings: Mapping[str, Any] | None = None,
    roles: Mapping[str, tuple[Role, list[str] | None]] | None = None,
) -> Iterator[Served]:
    """Serve a home, with a token for each of these."""
    tokens = {}
    for name, (role, streams) in (roles or {}).items():
        tokens[name], token = new_token(name, role, streams)
        TokenFile(home).add(token)
    variables = {f"PENSTOCK_{name.upper()}": str(value) for name, value in (settings or {}).items()}
    given = {"home": str(home), "http.port": "0"}
    configuration = resolved(given, variables)
    service = Service(configuration)
    listeners = Listeners(service)
    listeners.start()
    try:
        with penstock.connect(
            home,
            spark=spark,
            settings=settings_of(configuration),
            commands=configuration.allow_commands,
        ) as connection:
            service.open(connection)
            try:
                url, *others = listeners.addresses()
                yield Served(service, connection, url, tokens, listeners, "".join(others))
            finally:
                service.stop()
                listeners.stop()
    finally:
        service.close()


def sql(client: httpx.Client, text: str) -> list[dict[str, Any]]:
    """Return what a script gave; it has to succeed."""
    response = client.post("/v1/sql", json={"sql": text})
    assert response.status_code == 200, response.text
    return list(response.json()["results"])


@dataclass(frozen=True, slots=True)
class Event:
    """One Server-Sent Event; `name` is empty where it is a row."""

    name: str
    id: str
    data: Any


def events(response: httpx.Response) -> Iterator[Event]:
    """Walk the events of a response, as a browser reads them."""
    found: dict[str, str] = {}
    for line in response.iter_lines():
        if not line and "data" in found:
            data = json.loads(found["data"])
            yield Event(found.get("event", ""), found.get("id", ""), data)
        if not line:
            found = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            found[name] = value
