"""Events on Spark: from rows that come out of order to detections, once each, also over deaths."""

import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states import detecting
from penstock.errors import PenstockError
from penstock.model.events import Mode
from penstock.runtime import readiness
from penstock.runtime.supervisor import Settings
from tests.e2e.death import ANY, Reaper, live, reaping
from tests.e2e.support import PATIENCE, bag, figures, finish, results, rows_of, write_json

pytestmark = pytest.mark.spark

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


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark) as connection:
        yield connection


def ended(ps: Connection) -> None:
    ps.end("rooms")
    ps.end("smokes")
    finish(ps)


def shown(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in table.to_pylist()]


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


def test_sharing_is_seen(ps: Connection) -> None:
    ps.script(
        ROOMS
        + SMOKES
        + EVENTS
        + """
        CREATE EVENT blaze AS SELECT h.room, g.temp FROM ((smoke s SEQ hot h) SEQ hot g)
          PARTITION BY room WITHIN INTERVAL 1 MINUTE;
        CREATE QUERY q AS SELECT * FROM fire;
        CREATE QUERY r AS SELECT * FROM blaze;
        """
    )
    text = ps.sql("EXPLAIN EVENT fire").message
    assert "event fire in mode recent, as it runs" in text
    assert "shared with blaze" in text
    assert "smoke" in text
    drawn = json.loads(ps.sql("EXPLAIN EVENT blaze AS JSON").message)
    assert {"fire", "blaze"} in [set(node["events"]) for node in drawn["modes"][0]["nodes"]]
    assert ps.sql("EXPLAIN EVENT fire AS DOT").message.startswith("digraph")
    assert "primitive event hot" in ps.sql("EXPLAIN EVENT hot").message
    units = [row for row in rows_of(ps.sql("SHOW OPERATORS").table) if "events" in row["operator"]]
    assert len(units) == 1
    assert units[0]["queries"] == 2
    assert ps.sql("EXPLAIN SCHEDULE AS JSON").message
    assert ps.sql("EXPLAIN ESTIMATE SELECT * FROM blaze [CONTEXT chronicle]").message
    assert "detection of events" in ps.sql("EXPLAIN ALL").message
    assert rows_of(ps.sql("SHOW SHARING").table)
    promised = "WITH (max_latency => INTERVAL 1 HOUR) AS SELECT temp FROM fire"
    ps.script(
        f"CREATE QUERY p {promised}; CREATE QUERY p2 AS SELECT * FROM fire [CONTEXT chronicle]"
    )
    ps.push("smokes", rows("level", (1, "a", 1)))
    ps.push("rooms", rows("temp", (2, "a", 50)))
    with ps.subscribe("fire") as subscription:
        ps.push("smokes", rows("level", (60, "b", 1)))
        ps.push("rooms", rows("temp", (60, "b", 1)))
        next(iter(subscription))
    ended(ps)
    listed = {row["event"] for row in rows_of(ps.sql("SHOW EVENTS").table)}
    assert listed == {"hot", "smoke", "fire", "blaze"}
    assert "query q" in ps.sql("EXPLAIN q").message
    kinds = {row["column"]: row["type"] for row in rows_of(ps.sql("DESCRIBE fire").table)}
    assert kinds["_end"] == "timestamp"


def test_figures_tell_what_is_held_and_what_a_limit_dropped(ps: Connection) -> None:
    ps.script(
        ROOMS
        + SMOKES
        + EVENTS
        + """
        CREATE EVENT capped AS SELECT s.level, h.temp FROM (smoke s SEQ hot h)
          PARTITION BY room WITH (limit => 2);
        CREATE QUERY q AS SELECT level, temp FROM capped [CONTEXT unrestricted];
        CREATE QUERY r AS SELECT level, temp FROM capped [CONTEXT unrestricted] WHERE temp > 45;
        CREATE QUERY s AS SELECT level, temp FROM capped;
        CREATE QUERY h AS SELECT * FROM hot;
        """
    )
    ps.push("smokes", rows("level", *((n, "a", n) for n in range(1, 6)), (60, "b", 9)))
    ps.push("rooms", rows("temp", (10, "a", 50), (60, "b", 41)))
    with ps.subscribe("q") as subscription:
        assert next(iter(subscription))["level"] == 4
    found = rows_of(ps.sql("SHOW EVENTS").table)
    by_mode = {row["mode"]: row for row in found if row["event"] == "capped"}
    assert by_mode.keys() == {"unrestricted", "recent"}
    every = by_mode["unrestricted"]
    assert (every["readers"], every["detections"]) == (2, 2)
    assert (every["partial_matches"], every["dropped"]) == (2, 3)
    assert (by_mode["recent"]["dropped"], by_mode["recent"]["partial_matches"]) == (0, 1)
    (hot,) = [row for row in found if row["event"] == "hot"]
    assert (hot["mode"], hot["detections"], hot["operator"]) == (None, 2, "primitive")
    (unread,) = [row for row in found if row["event"] == "fire"]
    assert unread["state"] == "UNREAD"
    text = ps.sql("EXPLAIN EVENT capped").message
    assert "(smoke[room] SEQ hot[room]) unrestricted limit 2" in text
    assert "holds 2  dropped 3" in text
    assert "WITHIN 1 MINUTE" in ps.sql("EXPLAIN EVENT fire").message
    assert "nobody reads it" in ps.sql("EXPLAIN EVENT fire").message


def test_what_is_wrong_with_an_event_is_told(ps: Connection) -> None:
    ps.script(ROOMS + SMOKES + EVENTS + "CREATE QUERY q AS SELECT * FROM fire;")
    for text, code in WRONG:
        with pytest.raises(PenstockError) as refused:
            ps.sql(text)
        assert refused.value.code == code, text
        if code == "TYPE_MISMATCH" and "MASK" in text:
            assert refused.value.place is not None
            assert refused.value.place.column == text.index("MASK") + 6
    assert len(rows_of(ps.sql("SHOW EVENTS").table)) == 3


WRONG = (
    ("CREATE EVENT x AS SELECT room MASK temp FROM rooms", "TYPE_MISMATCH"),
    ("CREATE EVENT x AS SELECT room MASK room FROM rooms", "TYPE_MISMATCH"),
    ("CREATE EVENT x AS SELECT room MASK frob(temp) FROM rooms", "UNKNOWN_FUNCTION"),
    ("CREATE EVENT x AS SELECT room FROM nothing", "UNKNOWN_NAME"),
    ("CREATE EVENT x AS SELECT floor FROM rooms", "UNKNOWN_COLUMN"),
    ("CREATE EVENT x AS SELECT s.room FROM ANY(3, smoke s, hot h)", "BAD_EVENT"),
    ("CREATE EVENT x AS SELECT s.room FROM P(smoke s, INTERVAL 0 SECONDS, hot h)", "BAD_EVENT"),
    ("CREATE EVENT x AS SELECT s.room FROM (x s SEQ hot h)", "CYCLE"),
    ("CREATE EVENT x AS SELECT room FROM x", "CYCLE"),
    ("CREATE OR REPLACE EVENT smoke AS SELECT f.room FROM fire f", "IN_USE"),
    ("CREATE EVENT x AS SELECT count(*) AS c FROM rooms", "BAD_QUERY"),
    ("CREATE EVENT x AS SELECT s.level + array(1) AS y FROM (smoke s SEQ hot h)", "TYPE_MISMATCH"),
    ("CREATE EVENT hot AS SELECT room FROM rooms", "NAME_TAKEN"),
    ("CREATE EVENT rooms AS SELECT room FROM smokes", "NAME_TAKEN"),
    ("CREATE QUERY fire AS SELECT room FROM smokes", "NAME_TAKEN"),
    ("DROP EVENT smoke", "IN_USE"),
    ("DROP EVENT fire", "IN_USE"),
    ("DROP STREAM rooms", "IN_USE"),
    ("DROP EVENT nothing", "UNKNOWN_NAME"),
    ("DROP QUERY fire", "UNKNOWN_NAME"),
    ("EXPLAIN EVENT nothing", "UNKNOWN_NAME"),
    ("SELECT * FROM hot", "BAD_QUERY"),
    ("CREATE QUERY x AS SELECT * FROM rooms [CONTEXT recent]", "BAD_QUERY"),
    (
        "CREATE EVENT x AS SELECT s.room FROM (smoke s SEQ hot h) PARTITION BY floor",
        "UNKNOWN_COLUMN",
    ),
)


def test_a_mask_that_fails_holds_only_its_own_readers(ps: Connection) -> None:
    ps.script(
        ROOMS
        + SMOKES
        + EVENTS
        + """
        CREATE EVENT odd AS SELECT room, temp MASK 100 / (temp - 50) > 3 FROM rooms;
        CREATE EVENT odd_fire AS SELECT o.room FROM (smoke s SEQ odd o) PARTITION BY room;
        CREATE QUERY good AS SELECT room, temp FROM fire;
        CREATE QUERY bad AS SELECT room FROM odd_fire;
        """
    )
    ps.push("smokes", rows("level", (1, "a", 1)))
    ps.push("rooms", rows("temp", (2, "a", 50), (3, "a", 60)))
    ps.end("smokes")
    ps.end("rooms")
    with ps.subscribe("good") as subscription:
        found = [row for row, _ in zip(subscription, range(2), strict=False)]
    assert len(found) == 2
    deadline = time.monotonic() + PATIENCE
    while figures(ps, "bad")["state"] != "FAILED":  # culprits are found while others go on
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "Division by zero" in figures(ps, "bad")["cause"]
    ps.sql("DROP QUERY bad")
    finish(ps)


# -- over restarts and deaths ------------------------------------------------------------

OFTEN = Settings(checkpoint_seconds=0.1)
MODES = ("recent", "chronicle", "cumulative", "unrestricted")


def script(directory: Path, trains: int) -> str:
    """Return a script over files, with {out} where results go."""
    streams = "".join(
        f"CREATE STREAM IF NOT EXISTS {name} (id INT, ts TIMESTAMP, room STRING, {value} INT) "
        f"TIMESTAMP BY ts SLACK INTERVAL 5 SECONDS FROM files(path => '{directory / name}', "
        f"format => 'json', bounded => true, rows_per_train => {trains});"
        for name, value in (("rooms", "temp"), ("smokes", "level"))
    )
    events = """
    CREATE EVENT IF NOT EXISTS hot AS SELECT id, room, temp MASK temp > 40 FROM rooms;
    CREATE EVENT IF NOT EXISTS smoke AS SELECT id, room, level MASK level > 1 FROM smokes;
    CREATE EVENT IF NOT EXISTS fire AS SELECT h.room, s.id AS s, h.id AS h
      FROM (smoke s SEQ hot h) PARTITION BY room WITHIN INTERVAL 20 SECONDS;
    CREATE EVENT IF NOT EXISTS any_two AS SELECT s.id AS s, h.id AS h
      FROM (smoke s AND hot h) WITHIN INTERVAL 2 SECONDS;
    CREATE EVENT IF NOT EXISTS calm AS SELECT s.room, s.id AS s, e.id AS e
      FROM NOT(hot h)[smoke s, smoke e] PARTITION BY room WITHIN INTERVAL 30 SECONDS;
    """
    queries = "".join(
        f"CREATE QUERY IF NOT EXISTS {event}_{mode} AS SELECT * FROM {event} [CONTEXT {mode}] "
        f"INTO files(path => '{{out}}/{event}_{mode}', format => 'json');"
        for event in ("fire", "any_two", "calm")
        for mode in MODES
    )
    return streams + events + queries


def write(directory: Path, count: int) -> None:
    random_ = random.Random(5)
    for name, value, most in (("rooms", "temp", 80), ("smokes", "level", 4)):
        times = sorted(random_.sample(range(0, 240_000, 100), count))
        given = [
            {
                "id": number,
                "ts": moment(time / 1000 + 10),
                "room": random_.choice("ab"),
                value: random_.randrange(most),
            }
            for number, time in enumerate(times)
        ]
        given.sort(key=lambda row: (row["ts"], random_.random()))
        shuffled = sorted(enumerate(given), key=lambda each: each[0] + random_.randrange(3))
        write_json(directory / name / "rows.json", [row for _, row in shuffled])


def lines_of(out: Path) -> dict[str, Counter[str]]:
    return {
        path.name: Counter(
            line for part in path.glob("part-*") for line in part.read_text().splitlines()
        )
        for path in sorted(out.iterdir())
    }


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    monkeypatch.setattr(readiness, "AGGREGATE_ROWS", 40)
    with reaping(tmp_path, monkeypatch) as watching:
        yield watching


def test_deaths_change_no_detection_and_neither_does_the_cut(
    reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    write(tmp_path, 150)
    reaper.live_until(None)
    with penstock.connect(tmp_path / "calm", spark=spark) as ps:
        ps.script(script(tmp_path, 1000).format(out=tmp_path / "expected"))
        finish(ps)
    expected = lines_of(tmp_path / "expected")
    assert len(expected) == 3 * len(MODES)
    assert all(expected.values())
    deaths: Sequence[int] = (25, 60, 110, 40)
    over, lives = False, 0
    while not over:
        reaper.live_until(None)
        ps = penstock.connect(tmp_path / "home", spark=spark, settings=OFTEN)
        ps.script(script(tmp_path, 20).format(out=tmp_path / "out"))
        if lives < len(deaths):
            reaper.live_until(ANY, deaths[lives])
        lives += 1
        over = live(ps, reaper)
    reaper.live_until(None)
    ps.close()
    assert lives > 2
    assert lines_of(tmp_path / "out") == expected


def test_events_spread_over_workers_are_detected_as_in_one_place(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 200)
    spread: list[int] = []
    real = detecting.Detecting._spread

    def counted(self: detecting.Detecting, *given: Any) -> Any:
        answer = real(self, *given)
        spread.append(sum(table.num_rows for table in answer.detections.values()))
        return answer

    monkeypatch.setattr(detecting.Detecting, "_spread", counted)
    outs = {}
    for name, most in (("driver", 10**9), ("workers", 12)):
        monkeypatch.setattr(detecting.Detecting, "pays", lambda _, rows, most=most: rows >= most)
        monkeypatch.setattr(readiness, "AGGREGATE_ROWS", 60)
        with penstock.connect(tmp_path / name, spark=spark) as ps:
            keyed = "(smoke s AND hot h) PARTITION BY room WITHIN"
            text = script(tmp_path, 30).replace("(smoke s AND hot h) WITHIN", keyed)
            ps.script(text.format(out=tmp_path / f"{name}_out"))
            finish(ps)
        outs[name] = lines_of(tmp_path / f"{name}_out")
    assert len(spread) > 2
    assert sum(spread) > 0
    assert outs["workers"] == outs["driver"]


def test_an_event_that_was_subscribed_to_goes_on_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(ROOMS + SMOKES + EVENTS)
        with ps.subscribe("fire"):
            pass
        ps.push("smokes", rows("level", (1, "a", 7)))
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.push("rooms", rows("temp", (2, "a", 50)))
        ended(ps)
        assert shown(results(ps, "fire"), "level", "temp") == [(7, 50)]
        with pytest.raises(PenstockError, match="IN_USE"):
            ps.sql("DROP STREAM rooms")


def test_events_run_alone_where_nothing_is_shared(spark: SparkSession, tmp_path: Path) -> None:
    settings = Settings(share=False)
    with penstock.connect(tmp_path / "home", spark=spark, settings=settings) as ps:
        more = "CREATE QUERY q AS SELECT room, temp FROM fire WHERE temp > 45;"
        ps.script(ROOMS + SMOKES + EVENTS + more)
        ps.push("smokes", rows("level", (1, "a", 7)))
        ps.push("rooms", rows("temp", (2, "a", 50), (3, "a", 44)))
        ended(ps)
        assert shown(results(ps, "q"), "room", "temp") == [("a", 50)]
        assert ps.sql("EXPLAIN EVENT fire").message


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
