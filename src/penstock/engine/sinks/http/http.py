"""http(url => …): each delivery is one request with its rows as JSON, at least once.

The request's Idempotency-Key is the home, the query and the number of the delivery: the same where
it comes again, so that a server that keeps such keys takes each delivery once.
"""

from importlib import import_module
from typing import Any

from penstock.engine.allowed import Allowed
from penstock.engine.clients.http.place import PLACE_OPTIONS, HttpPlace
from penstock.engine.options import Declared, one_of, read_options
from penstock.engine.sinks.json_lines import json_lines
from penstock.engine.sinks.sink import ALONE, Delivery, SinkSurroundings
from penstock.errors import SinkError
from penstock.model.definitions import Connector, QueryDefinition

OPTIONS = {
    **PLACE_OPTIONS,
    "method": Declared(one_of("post", "put"), default="post", about="of the request"),
    "format": Declared(
        one_of("array", "lines"), default="array", about="one array of rows, or a row a line"
    ),
}
TAKEN = range(200, 300)
TYPES = {"array": "application/json", "lines": "application/x-ndjson"}


class HttpSink:
    """One query's deliveries to one address."""

    repeatable = False

    def __init__(self, definition: QueryDefinition, around: SinkSurroundings = ALONE) -> None:
        options = _options(definition)
        self._place = HttpPlace.of(options, "http")
        self._query, self._around = definition.name, around
        self._method: str = options["method"].upper()
        self._format: str = options["format"]
        self._session: Any = None

    @classmethod
    def check(cls, definition: QueryDefinition) -> None:
        """Raise what is wrong with the options."""
        HttpPlace.of(_options(definition), "http")

    def require_allowed(self, allowed: Allowed) -> None:
        """Raise where the operator has not named the host."""
        self._place.require_allowed(allowed)

    def open(self) -> None:
        self.require_allowed(self._around.allowed())
        self.close()
        module = import_module("penstock.engine.clients.http.session")
        self._session = module.Session(self._place, SinkError)

    def write(self, delivery: Delivery) -> None:
        if self._session is None:
            raise SinkError(f"the sink of {self._query} is not open")
        key = f"{self._around.home()}/{delivery.query.lower()}/{delivery.number}"
        headers = {"Content-Type": TYPES[self._format], "Idempotency-Key": key}
        body = json_lines(delivery.rows)
        if self._format == "array":
            body = b"[" + body.rstrip(b"\n").replace(b"\n", b",") + b"]"
        response, _ = self._session.answer(self._method, headers=headers, body=body)
        if response.status_code not in TAKEN:
            raise self._session.failed(f"it answered {response.status_code}")

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None


def _options(definition: QueryDefinition) -> dict[str, Any]:
    return read_options(definition.sink or Connector("http"), OPTIONS)
