"""Conditions that ask what streams, queries, events and archives hold when a rule is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from tests.e2e.death import bury, reaping
from tests.e2e.support import results, until
from tests.e2e.test_rules import HOUSE, reading, rooms, rule

pytestmark = pytest.mark.spark

DOORS = (
    HOUSE
    + """
CREATE STREAM doors (ts TIMESTAMP, room STRING, open BOOLEAN) FROM push()
  TIMESTAMP BY ts ARCHIVE FOR INTERVAL 1 DAY;
CREATE QUERY opened AS SELECT ts, room FROM doors WHERE open;
CREATE EVENT hot AS SELECT room, temp MASK temp > 60 FROM house;
"""
)


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark) as connection:
        connection.script(DOORS)
        yield connection


@pytest.fixture(scope="module")
def ps_once(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    home, actions = tmp_path_factory.mktemp("bad") / "home", {"f": lambda *_: None}
    with penstock.connect(home, spark=spark, actions=actions) as connection:
        connection.script(DOORS)
        yield connection


def door(second: int, room: str, is_open: bool = True) -> dict[str, object]:
    return {"ts": f"2026-01-01T00:00:{second:02}Z", "room": room, "open": is_open}


def opened(ps: Connection, *doors: dict[str, object]) -> None:
    """Push doors, and wait until they are in the results of `opened`, and so in the buffer."""
    before = results(ps, "opened").num_rows
    ps.push("doors", list(doors))
    wanted = before + sum(bool(each["open"]) for each in doors)
    until(ps, lambda: results(ps, "opened").num_rows == wanted)


CONDITIONS = {
    "EXISTS (SELECT 1 FROM opened o WHERE o.room = warm.room)": {"attic"},
    "room NOT IN (SELECT room FROM doors WHERE open)": {"bath", "hall"},
    "EXISTS (SELECT * FROM doors d WHERE d.room = warm.room AND NOT d.open)": {"bath"},
    "temp > (SELECT 20 + count(*) FROM doors) AND EXISTS (SELECT 1 FROM opened)": {"hall"},
    "temp < (SELECT max(temp) FROM warm)": set(),  # of which nothing is delivered yet
    "temp = (SELECT max(temp) FROM house h JOIN house i USING (room, temp))": {"hall"},
    "(SELECT count(*) FROM (SELECT DISTINCT room FROM opened) x) = 1 AND temp < 22": {"attic"},
    "1 < (WITH doors AS (SELECT 1 AS a) SELECT count(*) FROM doors)": set(),
    "NOT EXISTS (SELECT 1 FROM hot)": {"attic", "bath", "hall"},
    "(SELECT count(*) > 1 FROM doors)": {"attic", "bath", "hall"},
    "temp > 30": {"hall"},
}


def test_a_condition_may_ask_what_is_held(ps: Connection) -> None:
    with ps.subscribe("hot"):
        opened(ps, door(1, "attic"), door(2, "bath", is_open=False))
        ps.script(
            ";".join(
                f"CREATE RULE r{n} COUPLING immediate ON warm WHEN {condition} "
                f"DO INSERT INTO alarms SELECT room, {n} AS temp"
                for n, condition in enumerate(CONDITIONS)
            )
        )
        temps = {"attic": 21.0, "bath": 22.0, "hall": 31.0}
        ps.push("house", [reading(n, room, temp) for n, (room, temp) in enumerate(temps.items())])
        expected = {(room, n) for n, each in enumerate(CONDITIONS.values()) for room in each}
        until(ps, lambda: results(ps, "seen").num_rows >= len(expected))
        found = [(row["room"], int(row["temp"])) for row in results(ps, "seen").to_pylist()]
        assert sorted(found) == sorted(expected)
        assert {rule(ps, f"r{n}")["state"] for n in range(len(CONDITIONS))} == {"ENABLED"}
        assert not list(ps.system.home.spill.glob("*.parquet"))


def test_a_condition_asks_anew_at_each_occasion_also_after_a_restart(
    ps: Connection, spark: SparkSession, tmp_path: Path
) -> None:
    ps.sql(
        "CREATE RULE r ON house WHEN room IN (SELECT room FROM doors) "
        "DO INSERT INTO alarms SELECT room, temp"
    )
    (each,) = ps.system.topology.trigger_batches
    ps.push("house", [reading(1, "attic", 50)])
    until(ps, lambda: ps.system.pending_actions.place(each) == 1)
    opened(ps, door(1, "attic"))
    ps.push("house", [reading(2, "attic", 51)])
    until(ps, lambda: rule(ps, "r")["done"] == 1)
    with pytest.raises(PenstockError, match="needed by rule r"):
        ps.sql("DROP QUERY opened; DROP STREAM doors")
    ps.close()
    with penstock.connect(tmp_path / "home", spark=spark) as again:
        again.push("house", [reading(3, "attic", 52), reading(4, "hall", 53)])
        until(again, lambda: results(again, "seen").num_rows == 2)
        assert [row["temp"] for row in results(again, "seen").to_pylist()] == [51, 52]
        until(again, lambda: rule(again, "r")["done"] == 2)


def test_what_was_decided_is_not_asked_again_after_a_death(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reaping(tmp_path, monkeypatch) as reaper:
        ps = penstock.connect(tmp_path / "home", spark=spark)
        ps.script(DOORS)
        ps.sql(
            "CREATE RULE r ON house WHEN EXISTS (SELECT 1 FROM opened) "
            "DO INSERT INTO alarms SELECT room, temp"
        )
        (each,) = ps.system.topology.trigger_batches
        ps.push("house", [reading(1, "attic", 50)])
        until(ps, lambda: ps.system.pending_actions.place(each) == 1)
        opened(ps, door(1, "attic"))  # now it would fire, were it asked about the attic again
        bury(ps, reaper)
        reaper.live_until(None)
        with penstock.connect(tmp_path / "home", spark=spark) as again:
            again.push("house", [reading(2, "hall", 51)])
            until(again, lambda: "hall" in rooms(again))
            until(again, lambda: rule(again, "r")["done"] == 1)
            assert (rooms(again), rule(again, "r")["fired"]) == (["hall"], 1)


@pytest.mark.parametrize(
    ("condition", "code", "said"),
    [
        ("EXISTS (SELECT 1 FROM hot)", "BAD_QUERY", "nobody keeps"),
        ("EXISTS (SELECT 1 FROM none)", "UNKNOWN_NAME", "none"),
        ("EXISTS (SELECT 1 FROM doors d WHERE d.nothing = 1)", "UNKNOWN_COLUMN", "nothing"),
        ("temp > (SELECT max(nothing) FROM doors)", "UNKNOWN_COLUMN", "nothing"),
        ("EXISTS (SELECT 1 FROM doors [RANGE 1 MINUTE])", "BAD_QUERY", "window"),
        ("temp > (SELECT count(*) FROM doors d WHERE d.room = warm.room)", "BAD_QUERY", "itself"),
        ("(SELECT count(*) FROM doors)", "TYPE_MISMATCH", "BIGINT"),
    ],
)
def test_what_is_wrong_with_a_question_is_told(
    ps_once: Connection, condition: str, code: str, said: str
) -> None:
    with pytest.raises(PenstockError) as caught:
        ps_once.sql(f"CREATE RULE r ON warm WHEN {condition} DO CALL f")
    assert (caught.value.code, said in str(caught.value)) == (code, True), str(caught.value)
