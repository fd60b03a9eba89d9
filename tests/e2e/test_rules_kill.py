"""After kill -9 at any moment rules have inserted every row once, the same as without the kill."""

import json
import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.runtime.work.run_limits import RunLimits
from tests.e2e.death import ANY, Reaper, before_it_flows, live, reaping
from tests.e2e.support import finish, results, rows_of, write_json

pytestmark = pytest.mark.spark

ROWS = 300
SCRIPT = """
CREATE STREAM IF NOT EXISTS house (ts TIMESTAMP, room STRING, n INT)
  FROM files(path => '{data}', format => 'json', bounded => true, rows_per_train => 20)
  TIMESTAMP BY ts;
CREATE STREAM IF NOT EXISTS alarms (ts TIMESTAMP, who STRING, n INT) FROM push() TIMESTAMP BY ts;
CREATE QUERY IF NOT EXISTS odd AS SELECT ts, room, n FROM house WHERE n % 2 = 1;
CREATE RULE IF NOT EXISTS now COUPLING immediate ON odd WHEN n > 10
  DO INSERT INTO alarms SELECT 'now' AS who, n, RAISE alarms('again', n + 1), CALL told;
CREATE RULE IF NOT EXISTS after COUPLING deferred ON odd
  DO INSERT INTO alarms SELECT 'after' AS who, n;
CREATE RULE IF NOT EXISTS later ON odd WHEN n > 20 AND room <> 'hall'
  DO INSERT INTO alarms SELECT 'later' AS who, n, CALL told;
CREATE EVENT IF NOT EXISTS pair AS SELECT b.n FROM (odd a SEQ odd b) WITHIN INTERVAL 10 SECONDS;
CREATE RULE IF NOT EXISTS pairs COUPLING immediate CONTEXT chronicle ON pair
  DO INSERT INTO alarms SELECT 'pair' AS who, n;
"""
# Where the system dies, in turn, and the how manieth time it gets there in that life.
POINTS = (
    ("firings INSERT INTO firings before", 2),
    ("firings INSERT INTO firings after", 4),
    ("firings INSERT INTO places after", 2),
    ("firings UPDATE after", 1),
    ("firings UPDATE after", 2),
    ("firings UPDATE after", 3),
    ("firings UPDATE after", 6),
    ("firings UPDATE before", 7),
    ("firings INSERT OR IGNORE before", 4),
    ("firings INSERT OR IGNORE after", 7),
    ("firings DELETE FROM firings before", 2),
    ("firings DELETE FROM firings after", 3),
    ("journal INSERT INTO runs rules before", 2),
    ("journal INSERT INTO runs rules after", 2),
    ("journal INSERT INTO checkpoints before", 1),
    ("journal COMMIT after", 2),
    *((ANY, random.Random(place).randrange(20, 200)) for place in range(8)),
)


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    with reaping(tmp_path, monkeypatch, RunLimits(flow_rows=50, rule_rows=30)) as watching:
        yield watching


@pytest.mark.timeout(1800)
def test_rules_that_die_at_any_point_insert_each_row_once(
    reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {"ts": str(begin + timedelta(seconds=n)), "room": ("hall", "attic", "bath")[n % 3], "n": n}
        for n in range(ROWS)
    ]
    write_json(tmp_path / "data" / "house.json", rows)
    odd = [row for row in rows if row["n"] % 2]
    expected = Counter(
        [("now", row["n"]) for row in odd if row["n"] > 10]
        + [("again", row["n"] + 1) for row in odd if row["n"] > 10]
        + [("after", row["n"]) for row in odd]
        + [("later", row["n"]) for row in odd if row["n"] > 20 and row["room"] != "hall"]
    )
    with penstock.connect(
        tmp_path / "peace",
        spark=spark,
        settings=reaper.settings,
        actions={"told": lambda *_: None},
    ) as peaceful:
        peaceful.script(SCRIPT.format(data=tmp_path / "data"))
        finish(peaceful)
        undisturbed = _inserted(peaceful)
    pairs = Counter(each for each in undisturbed.elements() if each[0] == "pair")
    assert undisturbed - pairs == expected
    assert len(pairs) > ROWS // 8
    waiting, missed, round_ = list(POINTS), [], 0
    while waiting:
        round_ += 1
        home, called = tmp_path / f"home-{round_}", Counter[int]()

        def told(table: pa.Table, _: str, called: Counter[int] = called) -> None:
            called.update(table["n"].to_pylist())

        over = False
        while not over:
            point = waiting.pop(0) if waiting else (None, 1)
            script = SCRIPT.format(data=tmp_path / "data")
            with before_it_flows(reaper, home, script, spark=spark, actions={"told": told}) as ps:
                reaper.live_until(*point)
            over = live(ps, reaper)
            if over and point[0]:
                missed.append(point)
        reaper.live_until(None)
        with ps:
            assert _inserted(ps) == undisturbed
            assert all(row["dead"] == 0 for row in rows_of(ps.sql("SHOW RULES").table))
        wanted = Counter(n for who, n in expected.elements() if who in ("now", "later"))
        assert not wanted - called  # at least once
    assert len(missed) <= len(POINTS) // 3, missed


def _inserted(ps: Connection) -> Counter[tuple[str, int]]:
    """Return what is in the stream that the rules have added to; nobody has read it before."""
    ps.sql("CREATE QUERY seen AS SELECT ts, who, n FROM alarms")
    ps.end("alarms")
    finish(ps)
    return Counter((row["who"], row["n"]) for row in results(ps, "seen").to_pylist())


POISON = """
CREATE STREAM IF NOT EXISTS house (ts TIMESTAMP, n INT)
  FROM files(path => '{data}', format => 'json', bounded => true, rows_per_train => 20)
  TIMESTAMP BY ts;
CREATE STREAM IF NOT EXISTS alarms (ts TIMESTAMP, who STRING, n INT) FROM push() TIMESTAMP BY ts;
CREATE RULE IF NOT EXISTS p COUPLING immediate ON house WHEN 1 / (n - 21) < 2
  DO INSERT INTO alarms SELECT 'p' AS who, CAST(n + 0 / (n - 31) AS INT) AS n;
"""
SOME_POINTS = (
    ("firings INSERT INTO firings after", 2),
    *((ANY, random.Random(place).randrange(10, 60)) for place in range(4)),
)


@pytest.mark.timeout(1800)
def test_tuples_that_fail_are_dead_letters_once_and_the_others_rows_once_whatever_dies(
    reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [{"ts": str(begin + timedelta(seconds=n)), "n": n} for n in range(60)]
    write_json(tmp_path / "data" / "house.json", rows)
    script, over = POISON.format(data=tmp_path / "data"), False
    waiting = list(SOME_POINTS)
    while not over:
        point = waiting.pop(0) if waiting else (None, 1)
        with before_it_flows(reaper, tmp_path / "home", script, spark=spark) as ps:
            reaper.live_until(*point)
        over = live(ps, reaper)
    reaper.live_until(None)
    with ps:
        assert _inserted(ps) == Counter(("p", n) for n in range(60) if n not in (21, 31))
        letters = rows_of(ps.sql("SELECT action, tuple FROM p.dead").table)
        failed = sorted(
            (row["action"].split()[0], json.loads(row["tuple"])["n"]) for row in letters
        )
        assert failed == [("INSERT", 31), ("WHEN", 21)]
        (told,) = rows_of(ps.sql("SHOW RULES").table)
        assert (told["fired"], told["done"], told["state"]) == (59, 58, "ENABLED")
