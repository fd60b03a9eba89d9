"""What is told of events: who shares, what is held, what is wrong."""

import json

import pytest

from penstock.client import Connection
from penstock.errors import PenstockError
from tests.e2e.fires import EVENTS, ROOMS, SMOKES, ended, rows
from tests.e2e.support import figures, finish, results, rows_of, until

pytestmark = pytest.mark.spark


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
    until(ps, lambda: results(ps, "h").num_rows == 2)  # which may come by another run
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
    until(ps, lambda: figures(ps, "bad")["state"] == "FAILED")  # found while others go on
    assert "Division by zero" in figures(ps, "bad")["cause"]
    ps.sql("DROP QUERY bad")
    finish(ps)
