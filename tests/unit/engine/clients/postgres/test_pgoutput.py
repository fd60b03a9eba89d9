"""Messages of pgoutput as the documentation lays them out."""

import struct

from penstock.engine.clients.postgres.pgoutput import UNCHANGED, Change, Committed, Decoder

BEGIN = b"B" + struct.pack(">qqI", 100, 0, 7)
COMMIT = b"C" + struct.pack(">Bqqq", 0, 100, 120, 1_000_000)
COLUMNS = b"\1id\0" + struct.pack(">Ii", 25, -1) + b"\0mph\0" + struct.pack(">Ii", 23, -1)
TABLE = b"R" + struct.pack(">I", 5) + b"public\0cars\0d" + struct.pack(">h", 2) + COLUMNS


def cell(value: str | None) -> bytes:
    if value is None:
        return b"n"
    data = value.encode()
    return b"u" if value == "?" else b"t" + struct.pack(">i", len(data)) + data


def row(*values: str | None) -> bytes:
    return struct.pack(">h", len(values)) + b"".join(map(cell, values))


def changes(*messages: bytes) -> list[tuple[str, list[object]]]:
    (found,) = Decoder().transactions([BEGIN, TABLE, *messages, COMMIT])
    assert (found.number, found.end, found.micros) == (7, 120, 946_684_801_000_000)
    return [(change.what, list(change.values)) for change in found.changes]


def test_rows_come_with_their_table_and_the_end_of_their_commit() -> None:
    insert = b"I" + struct.pack(">I", 5) + b"N" + row("ä", None)
    (found,) = Decoder().transactions([BEGIN, TABLE, insert, COMMIT])
    assert isinstance(found, Committed)
    (change,) = found.changes
    assert isinstance(change, Change)
    assert (change.relation.schema, change.relation.name) == ("public", "cars")
    assert (change.relation.columns, change.relation.types) == (("id", "mph"), (25, 23))
    assert list(change.values) == ["ä", None]


def test_an_update_has_the_new_row_and_what_it_left_alone_from_the_old_one() -> None:
    head = b"U" + struct.pack(">I", 5)
    assert changes(head + b"N" + row("a", "?")) == [("update", ["a", UNCHANGED])]
    by_key = head + b"K" + row("a", None) + b"N" + row("b", "?")
    assert changes(by_key) == [("update", ["b", UNCHANGED])]
    by_row = head + b"O" + row("a", "3") + b"N" + row("b", "?")
    assert changes(by_row) == [("update", ["b", "3"])]


def test_deletes_and_truncates_and_what_says_nothing_of_rows() -> None:
    delete = b"D" + struct.pack(">I", 5) + b"K" + row("a", None)
    truncate = b"T" + struct.pack(">iBI", 1, 0, 5)
    origin = b"O" + struct.pack(">q", 1) + b"elsewhere\0"
    assert changes(origin, delete, truncate) == [("delete", ["a", None]), ("truncate", [])]


def test_a_transaction_that_has_not_ended_is_none() -> None:
    assert list(Decoder().transactions([BEGIN, TABLE])) == []
