"""Rooms, smokes and the events over them that several files of tests use."""

from typing import Any

import pyarrow as pa

from penstock.client import Connection
from tests.e2e.support import finish

FROM = "TIMESTAMP BY ts SLACK INTERVAL 5 SECONDS FROM push();"
ROOMS = f"CREATE STREAM rooms (ts TIMESTAMP, room STRING, temp INT) {FROM}"
SMOKES = f"CREATE STREAM smokes (ts TIMESTAMP, room STRING, level INT) {FROM}"
EVENTS = """
CREATE EVENT hot AS SELECT room, temp MASK temp > 40 FROM rooms;
CREATE EVENT smoke AS SELECT room, level MASK level > 0 FROM smokes;
CREATE EVENT fire AS SELECT h.room, s.level, h.temp FROM (smoke s SEQ hot h)
  WHERE s.room = h.room WITHIN INTERVAL 1 MINUTE;
"""


def moment(second: float) -> str:
    return f"2026-01-01T00:{int(second) // 60:02d}:{second % 60:09.6f}Z"


def rows(name: str, *given: tuple[float, str, int]) -> list[dict[str, Any]]:
    return [{"ts": moment(second), "room": room, name: n} for second, room, n in given]


def ended(ps: Connection) -> None:
    ps.end("rooms")
    ps.end("smokes")
    finish(ps)


def shown(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in table.to_pylist()]
