"""`http`: an address that is asked again and again, by a cursor where it has one.

An answer is in the log, with the cursor behind it, before it is asked again: each row is there once
where the same cursor gives what comes behind it. Without a cursor every answer that is not the
last one again (by its ETag, or byte for byte) is rows.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any

from penstock.engine.allowed import Allowed
from penstock.engine.clients.http.place import PLACE_OPTIONS, HttpPlace
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.received.messages import (
    PAYLOAD_OPTIONS,
    Message,
    MessageReader,
    check_messages,
)
from penstock.engine.interfaces.received.received import LOG_OPTIONS, Intake, Received
from penstock.engine.options import Declared, interval, read_options, text
from penstock.errors import BadOptionError, SourceError
from penstock.model.definitions import StreamDefinition

OPTIONS = {
    **PLACE_OPTIONS,
    "every": Declared(interval, default=timedelta(seconds=10), about="between two questions"),
    **PAYLOAD_OPTIONS,
    "rows": Declared(text, about="with json: where in an answer the rows are, such as data.items"),
    "cursor": Declared(text, about="with json: where in an answer the next cursor is"),
    "row_cursor": Declared(text, about="with json: the cursor in an answer's last row"),
    "cursor_param": Declared(text, about="the parameter of the url that takes the cursor"),
    **LOG_OPTIONS,
}
OK, NO_CONTENT, UNCHANGED = 200, 204, 304


class Http(Received):
    """One stream of answers."""

    def __init__(self, definition: StreamDefinition, around: Surroundings) -> None:
        options = options_of(definition)
        reader = MessageReader(definition, options, (), around)
        super().__init__(definition, around, Poller(options, around), reader)

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        options_of(definition)


class Poller:
    """Asks an address."""

    def __init__(self, options: dict[str, Any], around: Surroundings) -> None:
        self._place = HttpPlace.of(options, "http")
        self._options = options
        self._every: float = options["every"].total_seconds()
        self._allowed: Callable[[], Allowed] = around.allowed

    def check(self) -> None:
        self._place.require_allowed(self._allowed())

    def receive(self, intake: Intake) -> None:
        session = import_module("penstock.engine.clients.http.session")
        asking = session.Session(self._place, SourceError)
        try:
            while not intake.stop.is_set():
                self.check()
                came = self._ask(asking, intake)
                intake.works()
                if not (came and self._options["cursor_param"]):  # else more may wait
                    intake.stop.wait(self._every)
        finally:
            asking.close()

    def _ask(self, asking: Any, intake: Intake) -> bool:
        """Keep what is answered; say whether it was anything."""
        mark: dict[str, str] = json.loads(intake.mark) if intake.mark else {}
        name = self._options["cursor_param"]
        params = {name: mark["cursor"]} if name and "cursor" in mark else None
        headers = {"If-None-Match": mark["etag"]} if "etag" in mark else None
        response, body = asking.answer("GET", params=params, headers=headers)
        if response.status_code in (NO_CONTENT, UNCHANGED):
            return False
        if response.status_code != OK:
            raise asking.failed(f"it answered {response.status_code}")
        items, following = self._taken(body)
        if not items:
            return False
        if name:
            following = self._moved(following, mark.get("cursor"))
            new = {"cursor": following}
        else:
            digest = hashlib.sha256(body).hexdigest()
            if mark.get("digest") == digest:
                return False
            etag = response.headers.get("ETag")
            new = {"digest": digest} | ({"etag": etag} if etag else {})
        kept = json.dumps(new)
        intake.append([Message(str(self._place), item, mark=kept) for item in items])
        return True

    def _taken(self, body: bytes) -> tuple[Sequence[bytes], Any]:
        """Return the rows of an answer as messages, and the cursor behind them."""
        if self._options["format"] == "bytes":
            return ([body] if body else []), None
        if self._options["format"] != "json":
            return [line for line in body.splitlines() if line.strip()], None
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError):
            raise SourceError(
                f"{self._place} answered something that is no JSON",
                hint="format => 'csv' and 'text' take lines, 'bytes' takes all as one row",
            ) from None
        rows = found_at(answer, self._options["rows"])
        if rows is None:
            raise SourceError(
                f"{self._place} answered nothing at {self._options['rows'] or 'all'}",
                hint="rows => 'data.items' names the fields that lead to the rows",
            )
        items = rows if isinstance(rows, list) else [rows]
        if self._options["row_cursor"]:
            following = found_at(items[-1], self._options["row_cursor"]) if items else None
        else:
            following = found_at(answer, self._options["cursor"])
        return [json.dumps(item).encode() for item in items], following

    def _moved(self, following: Any, before: str | None) -> str:
        """Return the next cursor as text; SourceError where rows came and it stands still."""
        if following is None or isinstance(following, dict | list) or str(following) == before:
            raise SourceError(
                f"{self._place} answered rows and no other cursor than before",
                hint="cursor => … names where in an answer it is, row_cursor => … where in the "
                "last row; the rows would come again and again",
            )
        return str(following)


def found_at(value: Any, path: str | None) -> Any:
    """Return what fields, with dots between, lead to; None where one is missing."""
    for name in path.split(".") if path else ():
        value = value.get(name) if isinstance(value, dict) else None
    return value


def options_of(definition: StreamDefinition) -> dict[str, Any]:
    """Return the checked options."""
    options = read_options(definition.source, OPTIONS)
    HttpPlace.of(options, "http")
    check_messages(definition, options, {})
    given = [name for name in ("cursor", "row_cursor") if options[name]]
    if len(given) > 1 or bool(given) != bool(options["cursor_param"]):
        raise BadOptionError(
            "cursor_param of http goes with one of cursor and row_cursor",
            hint="http(…, row_cursor => 'id', cursor_param => 'since')",
        )
    if options["format"] != "json" and (given or options["rows"]):
        raise BadOptionError("rows, cursor and row_cursor of http go with format => 'json'")
    return options
