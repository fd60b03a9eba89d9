"""Standing queries over perspectives; the oracle is the same perspective asked once afterwards."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.client import Connection
from penstock.errors import PenstockError
from penstock.functions import stream_function
from tests.e2e.support import finish, rows_of, until, write_json

pytestmark = pytest.mark.spark
BEGIN = datetime(2026, 5, 1, tzinfo=UTC)
WHERE = "lat FROM 45.1 TO 45.3, lon FROM 7.1 TO 7.3"
HUGE = "lat FROM 0 TO 9, lon FROM 0 TO 9999999"
PERSPECTIVES = """
CREATE BASE heat FROM s (ts, lat, lon, t)
  RESOLUTION (time INTERVAL 1 SECOND, lat 1/10, lon 1/10);
CREATE BASE wet FROM s (ts, lat, lon, h)
  RESOLUTION (time INTERVAL 1 SECOND, lat 1/10, lon 1/10);
CREATE PERSPECTIVE clean FROM heat AS convert(CASE WHEN value BETWEEN -40 AND 40 THEN value END);
CREATE PERSPECTIVE steps FROM clean GRID (time INTERVAL 5 MINUTES SIZE INTERVAL 15 MINUTES)
  AS aggregate(avg);
CREATE PERSPECTIVE aligned FROM clean GRID (time INTERVAL 10 MINUTES) AS aggregate(median);
CREATE PERSPECTIVE humid FROM wet GRID (time INTERVAL 10 MINUTES) AS aggregate(median);
CREATE PERSPECTIVE felt FROM aligned, humid AS merge(aligned + humid / 10);
CREATE PERSPECTIVE field FROM felt GRID (lat 1/20, lon 1/20)
  AS interpolate(idw(neighbours => 3, fewest => 2));
CREATE PERSPECTIVE hours FROM aligned GRID (time INTERVAL 10 MINUTES EVERY INTERVAL 1 HOUR)
  AS aggregate(max);
"""
ASKED = {
    "overlapping": "SELECT * FROM steps",
    "merged": "SELECT time, lat, lon, value * 2 AS twice, reason FROM felt WHERE value > 8",
    "maps": f"SELECT * FROM field WITHIN ({WHERE})",
    "later": "SELECT * FROM field "
    f"WITHIN (time FROM '2026-05-01 00:30' TO '2026-05-01 01:10', {WHERE})",
    "course": "SELECT * FROM hours WITHIN (time FROM '2026-05-01 00:10' TO '2026-05-01 01:20')",
    "raw": "SELECT * FROM heat",
}


def readings(count: int = 90, seed: int = 3) -> list[dict[str, object]]:
    """Return readings of five stations over two hours, out of order by up to 20 seconds."""
    drawn = random.Random(seed)
    rows: list[dict[str, object]] = []
    places = [(45 + drawn.randint(0, 4) / 10, 7 + drawn.randint(0, 4) / 10) for _ in range(5)]
    for at in range(count):
        lat, lon = places[drawn.randrange(5)]
        seconds = at * 7200 // count - drawn.randint(0, 20)
        if 2400 < seconds < 3300:
            continue  # no station says anything for a while
        ts = BEGIN + timedelta(seconds=max(0, seconds), microseconds=at)
        t = 99 if at % 37 == 0 else drawn.randint(-20, 60) / 4
        rows.append({"ts": ts, "lat": lat, "lon": lon, "t": t, "h": drawn.randint(0, 100)})
    return rows


def stream_sql(source: str, more: str = "") -> str:
    return (
        "CREATE STREAM IF NOT EXISTS s (ts TIMESTAMP, lat DOUBLE, lon DOUBLE, t DOUBLE, h INT) "
        f"TIMESTAMP BY ts SLACK INTERVAL 30 SECONDS {more} FROM {source}"
    )


def test_slices_are_those_of_a_select_afterwards(ps: Connection) -> None:
    ps.sql(stream_sql("push()", "ARCHIVE FOR INTERVAL 10 DAYS"))
    ps.script(PERSPECTIVES)
    ps.script("; ".join(f"CREATE QUERY {name} AS {asked}" for name, asked in ASKED.items()))
    rows = readings()
    for at in range(0, len(rows), 45):
        ps.push("s", rows[at : at + 45])
    ps.end("s")
    finish(ps)
    by = " ORDER BY time, lat, lon"
    for name, asked in ASKED.items():
        found = ps.sql(f"SELECT * FROM {name}{by}").table
        expected = ps.sql(asked + by).table
        assert expected is not None
        assert expected.num_rows, name
        assert rows_of(found) == rows_of(expected), name
        assert not rows_of(ps.sql(f"SELECT * FROM {name}.late").table)


HOURLY = (
    "CREATE BASE heat FROM s (ts, lat, lon, t);"
    "CREATE PERSPECTIVE hourly FROM heat GRID (time INTERVAL 1 HOUR) AS aggregate(avg)"
)


def reading(minutes: float, value: float, lat: float = 45.0) -> dict[str, object]:
    return {"ts": BEGIN + timedelta(minutes=minutes), "lat": lat, "lon": 7.0, "t": value, "h": 0}


def test_a_late_reading_is_kept_apart_and_a_restart_goes_on(
    opener: Callable[[], Connection],
) -> None:
    with opener() as ps:
        ps.script(f"{stream_sql('push()')}; {HOURLY}; CREATE QUERY q AS SELECT * FROM hourly")
        ps.push("s", [reading(10, 1), reading(70, 5)])
        until(ps, lambda: len(rows_of(ps.sql("SELECT * FROM q").table)) == 1)
        ps.push("s", [reading(20, 99), reading(80, 7)])  # the first hour has been given
        until(ps, lambda: len(rows_of(ps.sql("SELECT * FROM q.late").table)) == 1)
    with opener() as ps:
        ps.push("s", [reading(130, 2)])
        ps.end("s")
        finish(ps)
        found = rows_of(ps.sql("SELECT * FROM q ORDER BY time").table)
        assert [row["value"] for row in found] == [1, 6, 2]
        (late,) = rows_of(ps.sql("SELECT * FROM q.late").table)
        assert (late["base"], late["value"]) == ("heat", 99)


def test_an_alert_stands_over_the_cells_of_new_slices(ps: Connection) -> None:
    """The newest temperature differs from the one before by more than five degrees (5.10.1)."""
    ps.script(f"{stream_sql('push()')}; {HOURLY}")
    ps.script(
        "CREATE QUERY changes AS SELECT time, lat, lon, value, "
        "adiff(value) OVER (PARTITION BY lat, lon) AS change FROM hourly;"
        "CREATE EVENT jump AS SELECT lat, lon, value, change MASK abs(change) > 5 FROM changes;"
        "CREATE EVENT hot AS SELECT lat, value MASK value > 30 FROM hourly;"
        "CREATE QUERY jumps AS SELECT * FROM jump; CREATE QUERY hots AS SELECT * FROM hot"
    )
    values = {45.0: (10, 12, 20, 21), 45.5: (10, 3, 4, 31)}
    rows = [
        reading(60 * hour + 5, each[hour], lat) for hour in range(4) for lat, each in values.items()
    ]
    for row in rows:
        ps.push("s", [row])
    ps.end("s")
    finish(ps)
    found = rows_of(ps.sql("SELECT * FROM jumps ORDER BY _end, lat").table)
    assert [(row["lat"], row["change"]) for row in found] == [(45.5, -7), (45.0, 8), (45.5, 27)]
    assert [row["value"] for row in rows_of(ps.sql("SELECT * FROM hots").table)] == [31]


@stream_function(over="table")
def in_fahrenheit(cells: pa.Table) -> pa.Table:
    place = cells.column_names.index("value")
    return cells.set_column(place, "value", pc.add(pc.multiply(cells["value"], 1.8), 32.0))


def test_a_function_in_python_stands_between_perspectives(ps: Connection) -> None:
    """Cells are a stream to a flow, and what it gives is a base again."""
    ps.register(in_fahrenheit)
    ps.script(
        f"{stream_sql('push()')}; {HOURLY};"
        "CREATE QUERY cells AS SELECT time, lat, lon, value FROM hourly;"
        "CREATE QUERY warm AS FLOW in_fahrenheit OVER cells;"
        "CREATE BASE again FROM warm (time, lat, lon, value) RESOLUTION (time INTERVAL 1 HOUR);"
        "CREATE PERSPECTIVE half_days FROM again GRID (time INTERVAL 12 HOURS) AS aggregate(max);"
        "CREATE QUERY warmest AS SELECT * FROM half_days"
    )
    ps.push("s", [reading(60 * hour + 5, hour) for hour in range(30)])
    ps.end("s")
    finish(ps)
    found = rows_of(ps.sql("SELECT * FROM warmest ORDER BY time").table)
    assert [round(row["value"] - 32, 9) for row in found] == [19.8, 41.4, 52.2]


WRONG = (
    ("CREATE QUERY q AS SELECT * FROM field", "BAD_GRID"),
    ("CREATE QUERY q AS SELECT * FROM field WITHIN (lat FROM 45 TO 46)", "BAD_GRID"),
    (f"CREATE QUERY q AS SELECT * FROM twice WITHIN ({WHERE})", "NOT_YET"),
    ("CREATE QUERY q AS SELECT * FROM hours", "BAD_GRID"),
    ("CREATE QUERY q AS SELECT * FROM steps WITHIN (lat FROM 1.00001 TO 1.00002)", "BAD_GRID"),
    (f"CREATE QUERY q AS SELECT * FROM field WITHIN ({HUGE})", "BAD_GRID"),
    ("CREATE QUERY q AS SELECT * FROM s WITHIN (lat FROM 1 TO 2)", "BAD_GRID"),
    ("CREATE QUERY q AS SELECT * FROM untimed", "BAD_GRID"),
    ("CREATE QUERY q AS SELECT * FROM stored", "BAD_GRID"),
    ("CREATE QUERY q AS SELECT * FROM files", "BAD_GRID"),
    ("DROP PERSPECTIVE steps", "IN_USE"),
    ("DROP BASE heat", "IN_USE"),
    ("DROP STREAM s", "IN_USE"),
)  # fmt: skip


def test_what_cannot_stand_is_told(ps: Connection, tmp_path: Path) -> None:
    write_json(tmp_path / "kept.json", [])
    ps.script(
        f"{stream_sql('push()')};{PERSPECTIVES}"
        "CREATE PERSPECTIVE twice FROM field GRID (lat 1/40) AS interpolate(nearest);"
        "CREATE STREAM unordered (ts TIMESTAMP, lat DOUBLE, lon DOUBLE, t DOUBLE) FROM push();"
        "CREATE BASE untimed FROM unordered (ts, lat, lon, t);"
        f"CREATE TABLE kept (ts TIMESTAMP, lat DOUBLE, lon DOUBLE, t DOUBLE) "
        f"FROM files(path => '{tmp_path / 'kept.json'}', format => 'json');"
        "CREATE BASE stored FROM kept (ts, lat, lon, t);"
        "CREATE BASE files FROM netcdf(path => 'none.nc') (ts, lat, lon, t);"
        "CREATE QUERY over AS SELECT * FROM steps"
    )
    for text, code in WRONG:
        with pytest.raises(PenstockError) as refused:
            ps.sql(text)
        assert (refused.value.code, text) == (code, text)
