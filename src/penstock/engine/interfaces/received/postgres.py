"""`postgres`: the rows of a table as they are, then each change of one, in the order of commits.

A replication slot of PostgreSQL keeps what was committed until it is told that nobody needs it. It
is asked what there is (peek), that goes into the log with the place in PostgreSQL's own (LSN) in
the same record, and only then the slot is told. What is peeked at again after a crash ends at or
before the place of the log's last record, and is left out: each change comes exactly once.

The rows as they are come from a snapshot that is taken when the slot is there. A transaction that
this snapshot has seen is left out of the changes.
"""

import json
from collections.abc import Callable, Sequence
from datetime import timedelta
from importlib import import_module
from typing import Any
from uuid import uuid4

from penstock.engine.allowed import Allowed
from penstock.engine.clients.postgres.pgoutput import UNCHANGED, Change, Committed, Decoder, Value
from penstock.engine.clients.postgres.place import PLACE_OPTIONS, PostgresPlace
from penstock.engine.interfaces.durable import make_home, read_json, write_json
from penstock.engine.interfaces.interface import Surroundings
from penstock.engine.interfaces.received.messages import (
    PAYLOAD_OPTIONS,
    Message,
    MessageReader,
    check_messages,
    told_columns,
)
from penstock.engine.interfaces.received.received import LOG_OPTIONS, Intake, Received
from penstock.engine.options import Declared, flag, interval, read_options, text
from penstock.errors import SourceError
from penstock.model.definitions import StreamDefinition

TOLD = {"change_column": ("origin", "string")}
OPTIONS = {
    **PLACE_OPTIONS,
    "table": Declared(text, required=True, about="the table whose changes are read"),
    "publication": Declared(text, required=True, about="a publication of the table"),
    "slot": Declared(text, about="the replication slot; one of its own is made if left out"),
    "snapshot": Declared(flag, default=True, about="the rows as they are come first"),
    "every": Declared(
        interval, default=timedelta(seconds=0.5), about="between two questions, where nothing came"
    ),
    "change_column": Declared(
        text, about="the column that says 'insert', 'update' or 'delete' (or 'snapshot')"
    ),
    **LOG_OPTIONS,
}
FORMAT = {name: declared.default for name, declared in PAYLOAD_OPTIONS.items()}
MOST_CHANGES = 10_000  # that are asked for at once; a transaction is always whole
MOST_SNAPSHOT = 1_000_000  # rows that come as one record: all or none, after a crash
# Numbers of types whose text is none that JSON takes for a string.
NUMBERS = frozenset({20, 21, 23, 700, 701, 1700})
BOOLEAN, TIMESTAMP, TIMESTAMPTZ = 16, 1114, 1184

MAKE_SLOT = "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')"
SLOT = "SELECT slot_name FROM pg_replication_slots WHERE slot_name = %s AND plugin = 'pgoutput'"
PUBLISHED = (
    "SELECT 1 FROM pg_publication_tables WHERE (pubname, schemaname, tablename) = (%s, %s, %s)"
)
PEEK = (
    "SELECT data FROM pg_logical_slot_peek_binary_changes(%s, NULL, %s, "
    "'proto_version', '1', 'publication_names', %s)"
)
ADVANCE = "SELECT pg_replication_slot_advance(%s, %s::pg_lsn)"
COLUMNS = (
    "SELECT attname, atttypid FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 "
    "AND NOT attisdropped AND attgenerated = '' ORDER BY attnum"
)


class PostgresChanges(Received):
    """One stream of a table's changes."""

    def __init__(self, definition: StreamDefinition, around: Surroundings) -> None:
        options = options_of(definition)
        told = told_columns(definition, options, TOLD)
        reader = MessageReader(definition, {**FORMAT, "format": "json"}, told, around)
        super().__init__(definition, around, ChangeReader(options, around), reader)

    @staticmethod
    def check(definition: StreamDefinition) -> None:
        options_of(definition)


class ChangeReader:
    """Asks a slot for changes."""

    def __init__(self, options: dict[str, Any], around: Surroundings) -> None:
        self._place = PostgresPlace.of(options)
        self._options = options
        self._table: str = options["table"]
        self._every: float = options["every"].total_seconds()
        self._allowed: Callable[[], Allowed] = around.allowed
        self._kept = around.home / "slot.json"

    def check(self) -> None:
        self._place.require_allowed(self._allowed())

    def receive(self, intake: Intake) -> None:
        self.check()
        module = import_module("penstock.engine.clients.postgres.session")
        session = module.Session(self._place, SourceError)
        try:
            slot = self._slot(session)
            if intake.mark is None and self._options["snapshot"]:
                self._snapshot(session, module, intake)
            decoder = Decoder()
            intake.works()
            while not intake.stop.is_set():
                if not self._ask(session, slot, decoder, intake):
                    intake.stop.wait(self._every)
        finally:
            session.close()

    def _slot(self, session: Any) -> str:
        """Return the slot, making it where there has never been one."""
        make_home(self._kept.parent)
        kept = read_json(self._kept)
        if kept is None:
            name = self._options["slot"] or f"penstock_{uuid4().hex[:16]}"
            kept = {"slot": name, "made": False}
            write_json(self._kept, kept)
        slot = str(kept["slot"])
        with session.transaction() as cursor:
            where = (self._options["publication"], self._place.schema, self._table)
            if not cursor.execute(PUBLISHED, where).fetchone():
                raise SourceError(
                    f"{self._place}: publication {where[0]} has no table {where[1]}.{where[2]}",
                    hint=f'CREATE PUBLICATION {where[0]} FOR TABLE "{where[2]}", there',
                )
            there = cursor.execute(SLOT, (slot,)).fetchone() is not None
        if not there and kept["made"]:
            raise SourceError(
                f"{self._place} no longer has the replication slot {slot}: changes are lost",
                hint="drop the stream and make it again; it begins with the rows as they are",
            )
        if not there:
            with session.transaction() as cursor:
                cursor.execute(MAKE_SLOT, (slot,))
        if not kept["made"]:
            write_json(self._kept, {**kept, "made": True})
        return slot

    def _snapshot(self, session: Any, module: Any, intake: Intake) -> None:
        """Keep all rows as they are, as one record, with what they have seen."""
        with session.transaction(read_only=True) as cursor:
            (seen,) = cursor.execute("SELECT pg_current_snapshot()::text").fetchone()
            name = module.named(self._place.schema, self._table)
            found = cursor.execute(COLUMNS, (name.as_string(cursor),)).fetchall()
            columns, types = zip(*found, strict=True)
            texts = module.SQL(", ").join(
                module.SQL("{}::text").format(module.Identifier(each)) for each in columns
            )
            cursor.execute(
                module.SQL("SELECT {} FROM {} LIMIT {}").format(texts, name, MOST_SNAPSHOT + 1)
            )
            rows = cursor.fetchall()
        if len(rows) > MOST_SNAPSHOT:
            raise SourceError(
                f"{self._table} has more than {MOST_SNAPSHOT:,} rows, too many for a snapshot",
                hint="snapshot => false reads what changes from now on; CREATE TABLE … FROM "
                "postgres(…) has the rows as they are",
            )
        mark = json.dumps({"end": 0, "seen": seen})
        bodies = [_body(columns, types, row) for row in rows]
        messages = [Message("snapshot", body, mark=mark) for body in bodies if body is not None]
        intake.append(messages)
        intake.mark = mark  # also where there were no rows; then a restart takes another snapshot

    def _ask(self, session: Any, slot: str, decoder: Decoder, intake: Intake) -> bool:
        """Keep what was committed since, and tell the slot; say whether there was anything."""
        quoted = self._options["publication"].replace('"', '""')
        with session.transaction() as cursor:
            asked = (slot, MOST_CHANGES, f'"{quoted}"')
            messages = [bytes(row[0]) for row in cursor.execute(PEEK, asked).fetchall()]
        found = list(decoder.transactions(messages))
        if not found:
            return False
        mark: dict[str, Any] = json.loads(intake.mark) if intake.mark else {"end": 0, "seen": ""}
        fresh = [
            each
            for each in found
            if each.end > mark["end"] and not _is_seen(each.number, mark["seen"])
        ]
        last = json.dumps({**mark, "end": max(found[-1].end, mark["end"])})
        intake.append([m for each in fresh for m in self._messages(each, last)])
        if intake.stop.is_set():
            return False  # it may not have been kept
        with session.transaction() as cursor:
            cursor.execute(ADVANCE, (slot, _lsn(found[-1].end)))
        return True

    def _messages(self, committed: Committed, mark: str) -> list[Message]:
        ours = (self._place.schema, self._table)
        changes = [c for c in committed.changes if (c.relation.schema, c.relation.name) == ours]
        return [self._message(change, mark) for change in changes]

    def _message(self, change: Change, mark: str) -> Message:
        if change.what == "truncate":
            return Message("", gap=f"{self._table} was truncated", mark=mark)
        body = _body(change.relation.columns, change.relation.types, change.values)
        if body is None:
            gap = f"an update of {self._table} left a large value as it was, and does not tell it"
            return Message("", gap=f"{gap}: ALTER TABLE … REPLICA IDENTITY FULL", mark=mark)
        return Message(change.what, body, mark=mark)


def _body(columns: Sequence[str], types: Sequence[int], values: Sequence[Value]) -> bytes | None:
    """Return a row as JSON, or None where it does not tell all of itself."""
    if any(value is UNCHANGED for value in values):
        return None
    cells = (
        f"{json.dumps(name)}:{_cell(kind, value)}"
        for name, kind, value in zip(columns, types, values, strict=True)
    )
    return ("{" + ",".join(cells) + "}").encode()


def _cell(kind: int, value: Any) -> str:
    """Return a value of PostgreSQL's text as JSON writes it."""
    if value is None:
        return "null"
    if kind in NUMBERS and value not in ("NaN", "Infinity", "-Infinity"):
        return str(value)
    if kind == BOOLEAN:
        return "true" if value in ("t", "true") else "false"
    if kind == TIMESTAMPTZ:
        value = str(value).replace(" ", "T").replace("+00", "Z")
    elif kind == TIMESTAMP:
        value = str(value).replace(" ", "T")
    return json.dumps(value)


def _is_seen(number: int, snapshot: str) -> bool:
    """Say whether a snapshot (`xmin:xmax:xip,…`) has seen a transaction, by its low 32 bits."""
    if not snapshot:
        return False
    _, end, running = snapshot.split(":")
    ahead = (number - int(end)) & 0xFFFFFFFF  # they go round: half of them lie ahead
    is_running = any(int(each) & 0xFFFFFFFF == number for each in running.split(",") if each)
    return ahead >= 1 << 31 and not is_running


def _lsn(place: int) -> str:
    """Return a place in PostgreSQL's log as it writes it."""
    return f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"


def options_of(definition: StreamDefinition) -> dict[str, Any]:
    """Return the checked options."""
    options = read_options(definition.source, OPTIONS)
    check_messages(definition, options, TOLD)
    return options
