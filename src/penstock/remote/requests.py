"""Requests of the server's interface, as data: both clients send the same."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from penstock.remote.answers import ARROW, JSON
from penstock.remote.bodies import encoded
from penstock.runtime.durable.result_row import START, Position

# Statements that may give rows begin so; those are asked for as Arrow, which keeps all types.
GIVES_ROWS = ("select", "with", "show", "describe", "from", "values", "(")
PUSH_SECONDS = 120.0  # after which a server that takes rows is taken for gone
EVENT_SECONDS = 45.0  # three times the silence after which a server says that it lives
IDLE_SECONDS = 10.0  # that a server waits at most before it says that it is not idle


@dataclass(frozen=True, slots=True)
class Ask:
    """One request; `repeatable` says that to send it twice changes nothing."""

    method: str
    path: str
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False
    seconds: float | None = None  # of silence, after which the connection is taken for dead
    source: str = ""  # the SQL that errors tell places in


def statements(text: str, *, rows: bool) -> Ask:
    """Return what carries out a script; with `rows` its only statement's rows come as Arrow."""
    headers = {"Content-Type": JSON, "Accept": ARROW if rows else JSON}
    return Ask("POST", "/v1/sql", json.dumps({"sql": text}).encode(), headers, source=text)


def may_give_rows(text: str) -> bool:
    """Say whether a text seems to be one statement that gives rows; the server knows."""
    return text.lstrip().lower().startswith(GIVES_ROWS)


def push(stream: str, rows: object, key: str | None) -> tuple[Ask, int]:
    """Return what pushes rows, once however often it is sent, and how many they are."""
    kind, body, count = encoded(rows)
    headers = {"Content-Type": kind, "Idempotency-Key": key or uuid.uuid4().hex}
    path = f"/v1/streams/{_quoted(stream)}/rows"
    return Ask("POST", path, body, headers, repeatable=True, seconds=PUSH_SECONDS), count


def end(stream: str) -> Ask:
    """Return what ends a stream."""
    return Ask("POST", f"/v1/streams/{_quoted(stream)}/end", repeatable=True)


def idle(seconds: float) -> Ask:
    """Return what waits until everything is delivered, for some seconds at most."""
    params = {"seconds": f"{min(seconds, IDLE_SECONDS):g}"}
    return Ask("GET", "/v1/idle", params=params, repeatable=True, seconds=IDLE_SECONDS + 30)


def follow(query: str, after: Position | None) -> Ask:
    """Return what follows a query, behind a position or (None) from now on."""
    headers = {"Accept": "text/event-stream"}
    params: dict[str, str] = {}
    if after is None:
        params = {"after": "now"}
    elif after != START:
        headers["Last-Event-ID"] = f"{after[0]}-{after[1]}"
    path = f"/v1/queries/{_quoted(query)}/rows"
    return Ask("GET", path, b"", headers, params, repeatable=True, seconds=EVENT_SECONDS)


def _quoted(name: str) -> str:
    return quote(name.strip("`"), safe="")
