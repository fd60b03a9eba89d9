"""MavStream's own examples (MAV-25, MAV-26, its plans of rooms and devices), asked here."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.client import Connection, connect
from tests.e2e.support import bag, finish, results

pytestmark = pytest.mark.spark

Row = dict[str, Any]
DAY = datetime(2003, 12, 13, tzinfo=UTC)
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
DEVICES = "(ts TIMESTAMP, device STRING, room STRING, status STRING, temp INT) TIMESTAMP BY ts"


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with connect(tmp_path / "home", spark=spark) as connection:
        yield connection


def readings() -> list[Row]:
    """Return a day of a home: a reading every seven minutes."""
    return [
        {
            "ts": DAY + number * 7 * MINUTE,
            "device": f"M{number % 5}",
            "room": "ABC"[number % 3],
            "status": "Off" if number % 4 == 0 else "On",
            "temp": 15 + number % 11,
        }
        for number in range(24 * 60 // 7)
    ]


def within(start: datetime, end: datetime, holds: Callable[[Row], bool] = lambda _: True) -> int:
    return sum(1 for row in readings() if start <= row["ts"] < end and holds(row))


def at(hours: float) -> datetime:
    return DAY + hours * HOUR


def time(hours: float) -> str:
    return f"TIMESTAMP '{at(hours):%Y-%m-%d %H:%M:%S}'"


def asked(ps: Connection, queries: dict[str, str]) -> dict[str, Counter[tuple[Any, ...]]]:
    """Return what each query gives over the day, pushed in trains of an hour or so."""
    ps.sql(f"CREATE STREAM home {DEVICES} FROM push();")
    ps.script("".join(f"CREATE QUERY {name} AS {sql};" for name, sql in queries.items()))
    rows = readings()
    for first in range(0, len(rows), 9):
        ps.push("home", rows[first : first + 9])
    ps.end("home")
    finish(ps)
    return {name: bag(results(ps, name)) for name in queries}


def test_the_windows_of_the_taxonomy(ps: Connection) -> None:
    found = asked(
        ps,
        {
            # people entering from nine to five: a snapshot
            "entering": f"SELECT count(*) AS n FROM home "
            f"[BEGIN {time(9)} END {time(17)} HOP (8 HOURS, 8 HOURS) UNTIL {time(17)}]",
            # device usage in Room A from nine, every hour until five: a landmark
            "usage": f"SELECT window_end, count(*) AS n FROM home "
            f"[BEGIN {time(9)} END {time(10)} HOP (0, 1 HOUR) UNTIL {time(17)}] WHERE room = 'A'",
            # devices turned off over one hour, every ten minutes: overlapping
            "off": f"SELECT window_start, count(*) AS n FROM home "
            f"[BEGIN {time(10)} END {time(11)} HOP (10 MINUTES, 10 MINUTES) UNTIL {time(12)}] "
            f"WHERE status = 'Off'",
            # the hourly average temperature from ten to ten: disjoint
            "hourly": f"SELECT window_start, avg(temp) AS t FROM home "
            f"[BEGIN {time(10)} END {time(11)} HOP (1 HOUR, 1 HOUR) UNTIL {time(22)}]",
            # of every 100 transactions, those from Room A
            "transactions": "SELECT window_start, window_end, count(*) AS n FROM home "
            "[BEGIN 1 END 100 HOP (100, 100)] WHERE room = 'A'",
        },
    )
    assert found["entering"] == Counter([(within(at(9), at(17)),)])
    in_a = [(at(9 + n), within(at(9), at(9 + n), lambda r: r["room"] == "A")) for n in range(1, 9)]
    assert found["usage"] == Counter(in_a)
    starts = [at(10) + n * 10 * MINUTE for n in range(12)]
    off = [(start, within(start, start + HOUR, lambda r: r["status"] == "Off")) for start in starts]
    assert found["off"] == Counter((start, n) for start, n in off if n)
    means = {
        start: [row["temp"] for row in readings() if start <= row["ts"] < start + HOUR]
        for start in (at(10 + n) for n in range(12))
    }
    hourly = Counter({(s, float(f"{sum(t) / len(t):.9g}")): 1 for s, t in means.items()})
    assert found["hourly"] == hourly
    numbered = list(enumerate(readings(), 1))
    counted = [
        (
            first,
            first + 99,
            sum(1 for n, r in numbered if first <= n < first + 100 and r["room"] == "A"),
        )
        for first in range(1, len(numbered) + 1, 100)
    ]
    assert found["transactions"] == Counter(counted)


def test_common_device_usage_of_two_rooms(ps: Connection) -> None:
    """PROJECT(device, room, time) over JOIN(device) of SELECT(room = A) and SELECT(room = B)."""
    found = asked(
        ps,
        {
            "both": "SELECT a.device, a.ts AS a_ts, b.ts AS b_ts "
            "FROM (SELECT * FROM home WHERE room = 'A') [RANGE 90 MINUTES] AS a "
            "JOIN (SELECT * FROM home WHERE room = 'B') [RANGE 90 MINUTES] AS b "
            "ON a.device = b.device"
        },
    )
    rows = readings()
    pairs = [
        (a["device"], a["ts"], b["ts"])
        for a in rows
        for b in rows
        if (a["room"], b["room"]) == ("A", "B")
        and a["device"] == b["device"]
        and abs(a["ts"] - b["ts"]) <= 90 * MINUTE
    ]
    assert found["both"] == Counter(pairs)
    assert pairs


def test_a_condition_of_the_select_operator(ps: Connection) -> None:
    found = asked(ps, {"m4": "SELECT ts FROM home WHERE device = 'M4' and status = 'On'"})
    meant = [r["ts"] for r in readings() if (r["device"], r["status"]) == ("M4", "On")]
    assert found["m4"] == Counter((ts,) for ts in meant)
