"""Events on Spark: from rows that come out of order to detections, once each."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.client import Connection
from penstock.errors import PenstockError
from penstock.model.events import Mode
from tests.e2e.fires import EVENTS, ROOMS, SMOKES, ended, moment, rows, shown
from tests.e2e.support import bag, finish, results, rows_of, write_json

pytestmark = pytest.mark.spark


def test_a_sequence_is_told_to_who_subscribes_also_out_of_order(ps: Connection) -> None:
    ps.script(ROOMS + SMOKES + EVENTS)
    with ps.subscribe("fire"):
        pass
    ps.push("rooms", rows("temp", (12, "a", 50), (10, "a", 45), (11, "b", 60), (9, "a", 30)))
    ps.push("smokes", rows("level", (11, "a", 2), (8, "a", 1), (11, "b", 3), (7, "b", 0)))
    ps.push("rooms", rows("temp", (8, "a", 41), (90, "a", 70)))
    for stream, value in (("smokes", "level"), ("rooms", "temp")):  # NULL agrees with nothing
        ps.push(stream, [{"ts": moment(85), "room": None, value: 99}])
    ended(ps)
    found = results(ps, "fire")
    assert found.column_names == ["room", "level", "temp", "_start", "_end"]
    assert shown(found, "room", "level", "temp") == [("a", 1, 45), ("a", 2, 50)]
    assert [row["_end"].second - row["_start"].second for row in found.to_pylist()] == [2, 1]
    assert bag(rows_table(ps, "SELECT * FROM fire")) == bag(found)


def rows_table(ps: Connection, text: str) -> pa.Table:
    table = ps.sql(text).table
    assert table is not None
    return table


def test_queries_read_events_in_the_mode_they_ask_for(ps: Connection) -> None:
    modes = [mode for mode in Mode if mode is not Mode.CUMULATIVE]
    queries = "".join(
        f"CREATE QUERY in_{mode} AS SELECT level, temp, _end FROM fire [CONTEXT {mode}];"
        for mode in modes
    )
    cumulative = "CREATE QUERY in_cumulative AS SELECT level, temp FROM fire [CONTEXT cumulative];"
    ps.script(ROOMS + SMOKES + EVENTS + queries + cumulative)
    ps.push("smokes", rows("level", (1, "a", 1), (2, "a", 2), (4, "a", 3)))
    ps.push("rooms", rows("temp", (3, "a", 41), (5, "a", 42)))
    ended(ps)
    found = {mode: shown(results(ps, f"in_{mode}"), "level", "temp") for mode in modes}
    assert found == {
        Mode.RECENT: [(2, 41), (3, 42)],
        Mode.RECENT_UNIQUE: [(2, 41), (3, 42)],
        Mode.CHRONICLE: [(1, 41), (2, 42)],
        Mode.CONTINUOUS: [(1, 41), (2, 41), (3, 42)],
        Mode.UNRESTRICTED: [(1, 41), (2, 41), (1, 42), (2, 42), (3, 42)],
    }
    assert shown(results(ps, "in_cumulative"), "level", "temp") == [([1, 2], 41), ([3], 42)]


def test_a_row_is_used_up_once_and_ties_go_by_name(ps: Connection) -> None:
    names = ("zeta", "alpha", "mu")  # each is written first and last in some pair
    ties = [(one, other) for one in names for other in names if one != other]
    ps.script(
        ROOMS
        + SMOKES
        + "CREATE EVENT alpha AS SELECT room, temp MASK temp > 30 FROM rooms;"
        + "CREATE EVENT mu AS SELECT room, temp MASK temp > 20 FROM rooms;"
        + "CREATE EVENT zeta AS SELECT room, temp MASK temp > 10 FROM rooms;"
        + "CREATE EVENT twice AS SELECT a.temp AS a, b.temp AS b FROM (mu a SEQ mu b)"
        + "  WITHIN INTERVAL 1 HOUR;"
        + "CREATE EVENT warm_first AS SELECT a.temp AS a, b.temp AS b FROM (mu a SEQ mu b)"
        + "  WHERE a.temp > 39 WITHIN INTERVAL 1 HOUR;"
        + "".join(
            f"CREATE EVENT {one}_{other} AS SELECT x.temp AS x, y.temp AS y"
            f"  FROM ({one} x AND {other} y);"
            f"CREATE QUERY q_{one}_{other} AS SELECT * FROM {one}_{other};"
            for one, other in ties
        )
        + "".join(
            f"CREATE QUERY {event}_{mode} AS SELECT a, b FROM {event} [CONTEXT {mode}];"
            for event in ("twice", "warm_first")
            for mode in ("chronicle", "continuous", "recent_unique")
        )
    )
    ps.push("rooms", rows("temp", (1, "a", 50), (2, "a", 40), (3, "a", 60), (4, "a", 25)))
    ended(ps)
    for mode in ("chronicle", "continuous", "recent_unique"):
        assert shown(results(ps, f"twice_{mode}"), "a", "b") == [(50, 40), (60, 25)]
        assert shown(results(ps, f"warm_first_{mode}"), "a", "b") == [(50, 40), (60, 25)]
    for one, other in ties:
        first, second = ("x", "y") if one < other else ("y", "x")
        pairs = shown(results(ps, f"q_{one}_{other}"), first, second)
        # Recent: as the lesser name each row meets the row before it as the greater one.
        assert pairs[:3] == [(50, 50), (40, 50), (40, 40)]


def test_events_over_events_and_windows_over_events(ps: Connection) -> None:
    ps.script(
        ROOMS
        + SMOKES
        + EVENTS
        + """
        CREATE EVENT twice AS SELECT f.room, f.temp AS one, h.temp AS two
          FROM (fire f SEQ hot h) WHERE f.room = h.room WITHIN INTERVAL 5 MINUTES;
        CREATE EVENT serious AS SELECT room, temp MASK temp > 60 FROM fire;
        CREATE QUERY twices AS SELECT room, one, two FROM twice [CONTEXT chronicle];
        CREATE QUERY serious_ones AS SELECT room, temp FROM serious;
        CREATE QUERY fires AS SELECT window_start, count(*) AS c FROM fire [RANGE 10 SECONDS];
        """
    )
    ps.push("smokes", rows("level", (1, "a", 1), (20, "b", 2)))
    ps.push("rooms", rows("temp", (2, "a", 50), (3, "a", 70), (30, "b", 80), (31, "b", 90)))
    ended(ps)
    assert shown(results(ps, "twices"), "room", "one", "two") == [("a", 50, 70), ("b", 80, 90)]
    assert shown(results(ps, "serious_ones"), "room", "temp") == [("a", 70), ("b", 80), ("b", 90)]
    assert [c for (c,) in shown(results(ps, "fires"), "c")] == [2, 2]


def test_events_over_windows_tables_and_inline_selects(ps: Connection, tmp_path: Path) -> None:
    write_json(tmp_path / "watched.json", [{"room": "a"}])
    ps.script(
        ROOMS
        + SMOKES
        + f"""
        CREATE TABLE watched FROM files(path => '{tmp_path}/watched.json', format => 'json');
        CREATE QUERY means AS SELECT window_end, room, avg(temp) AS mean
          FROM rooms [RANGE 10 SECONDS] GROUP BY room;
        CREATE EVENT warm AS SELECT room, mean MASK mean > 40 FROM means;
        CREATE EVENT smoke AS SELECT room, level * 10 AS level
          MASK room IN (SELECT room FROM watched) FROM smokes;
        CREATE EVENT both AS SELECT w.room, s.level, w.mean, h.temp
          FROM (smoke s SEQ (SELECT ts, room, temp FROM rooms WHERE temp > 70) h SEQ warm w)
          PARTITION BY room WITHIN INTERVAL 1 MINUTE;
        CREATE QUERY q AS SELECT room, level, mean, temp, _end FROM both;
        CREATE QUERY first AS SELECT room, mean FROM both STOP AFTER 1 TUPLES;
        """
    )
    ps.push("smokes", rows("level", (1, "a", 3), (1.5, "b", 4)))
    ps.push("rooms", rows("temp", (2, "a", 72), (4, "a", 30), (5, "b", 90), (13, "a", 80)))
    ended(ps)
    found = results(ps, "q")
    told = shown(found, "room", "level", "mean", "temp")
    assert told == [("a", 30, 51.0, 72), ("a", 30, 80.0, 80)]
    assert [row["_end"].second for row in found.to_pylist()] == [10, 20]
    assert shown(results(ps, "first"), "mean") == [(51.0,)]
    with pytest.raises(PenstockError, match="IN_USE"):
        ps.sql("DROP TABLE watched")
    with pytest.raises(PenstockError, match="IN_USE"):
        ps.sql("DROP QUERY means")


def test_timers_conditions_and_expressions(ps: Connection) -> None:
    ps.script(
        ROOMS
        + SMOKES
        + EVENTS
        + """
        CREATE EVENT calm AS SELECT s.room, s.level FROM NOT(hot h)[smoke s, smoke e]
          WHERE s.room = h.room AND s.room = e.room WITHIN INTERVAL 5 MINUTES;
        CREATE EVENT reminder AS SELECT s.room FROM smoke s PLUS INTERVAL 10 SECONDS;
        CREATE EVENT ticking AS SELECT s.room, t.tick FROM P(smoke s, INTERVAL 2 SECONDS, hot h) t
          WHERE s.room = h.room;
        CREATE EVENT rising AS SELECT h.room, h.temp - g.temp AS rise, upper(h.room) AS loud
          FROM (hot g SEQ hot h) WHERE g.room = h.room AND g.temp < h.temp
          WITHIN INTERVAL 1 MINUTE;
        CREATE QUERY q1 AS SELECT room, level FROM calm;
        CREATE QUERY q2 AS SELECT room, _end FROM reminder;
        CREATE QUERY q3 AS SELECT room, tick FROM ticking;
        CREATE QUERY q4 AS SELECT room, rise, loud FROM rising;
        """
    )
    ps.push("smokes", rows("level", (1, "a", 1), (20, "a", 2), (40, "a", 3)))
    ps.push("rooms", rows("temp", (25, "a", 50), (26, "a", 60), (27, "a", 55)))
    ended(ps)
    assert shown(results(ps, "q1"), "room", "level") == [("a", 1)]
    assert [row["_end"].second for row in results(ps, "q2").to_pylist()][:2] == [11, 30]
    ticks = [row["tick"].second for row in results(ps, "q3").to_pylist()]
    assert ticks[:3] == [3, 5, 7]
    assert 25 not in ticks
    assert shown(results(ps, "q4"), "room", "rise", "loud") == [("a", 10, "A")]


def test_timers_fire_in_silence_where_the_stream_says_so(ps: Connection) -> None:
    idle = "IDLE AFTER INTERVAL 100 MILLISECONDS BY CLOCK FROM push();"
    ps.script(
        SMOKES.replace("FROM push();", idle)
        + """
        CREATE EVENT smoke AS SELECT room, level FROM smokes;
        CREATE EVENT reminder AS SELECT s.room FROM smoke s PLUS INTERVAL 1 SECOND;
        CREATE QUERY q AS SELECT room, _end FROM reminder;
        """
    )
    ps.push("smokes", rows("level", (1, "a", 1)))
    with ps.subscribe("q") as subscription:
        told = next(iter(subscription))
    assert (told["room"], told["_end"].second) == ("a", 2)


LANGUAGE = Path(__file__).parents[2] / "docs/reference/event_language.md"


def test_every_form_of_the_language_runs(ps: Connection) -> None:
    for block in re.findall(r"```sql\n(.*?)```", LANGUAGE.read_text(), re.DOTALL):
        ps.script(block)
    shown = {row["event"] for row in rows_of(ps.sql("SHOW EVENTS").table)}
    assert {"smoke_then_hot", "two_signs", "how_hot_it_was", "fire_again"} <= shown
    queries = "".join(f"CREATE QUERY q_{name} AS SELECT * FROM {name};" for name in sorted(shown))
    ps.script(queries)
    smoke = rows("level", (1, "a", 1), (40, "a", 1), (200, "a", 2), (300, "a", 3))
    ps.push("smoke_alarms", smoke)
    ps.push("room_temps", rows("temp", (2, "a", 50), (3, "a", 70), (210, "a", 65), (211, "a", 10)))
    ps.end("smoke_alarms")
    ps.end("room_temps")
    finish(ps)
    silent = [name for name in shown if not results(ps, f"q_{name}").num_rows]
    assert not silent


def test_late_occurrences_are_counted_and_can_be_read(ps: Connection) -> None:
    ps.script(ROOMS + SMOKES + EVENTS + "CREATE QUERY q AS SELECT * FROM fire;")
    ps.push("smokes", rows("level", (1, "a", 7), (60, "b", 1)))
    ps.push("rooms", rows("temp", (2, "a", 50), (60, "b", 44)))
    with ps.subscribe("q") as subscription:
        next(iter(subscription))
    ps.push("rooms", rows("temp", (3, "a", 51)))
    ended(ps)
    late = rows_of(ps.sql("SELECT * FROM q.late").table)
    assert [json.loads(row["occurrence"]) for row in late] == [{"room": "a", "temp": 51}]
    assert next(iter(rows_of(ps.sql("SHOW QUERIES").table)))["late_rows"] == 1
