"""SHED BY: under overload the tuples that are worth least go first."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.tuples.gate import gate_state
from penstock.errors import PenstockError
from penstock.plan.operators import Gate
from penstock.runtime.work.live_unit import LiveUnit
from tests.e2e.support import PATIENCE, leave_alone

pytestmark = pytest.mark.spark

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LOSES = "WITH (max_error => 0.6) AS"


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark) as connection:
        leave_alone(connection)  # nobody else sets gates
        connection.sql(
            "CREATE STREAM s (ts TIMESTAMP, n BIGINT, name STRING) TIMESTAMP BY ts FROM push();"
            "CREATE STREAM d (ts TIMESTAMP, n BIGINT) TIMESTAMP BY ts SHED BY -n FROM push()"
        )
        yield connection


def gates(ps: Connection) -> list[LiveUnit]:
    return [each for each in ps.system.topology.units.values() if isinstance(each.unit.root, Gate)]


def test_what_is_worth_least_goes_first_and_null_before_all(ps: Connection) -> None:
    ps.sql(f"CREATE QUERY q {LOSES} SELECT n FROM s SHED BY abs(n - 50)")
    (gate,) = gates(ps)
    assert "abs" in gate.unit.root.text()
    rows = [{"ts": NOON + timedelta(seconds=n), "n": n if n % 10 else None} for n in range(100)]
    with ps.subscribe("q") as subscription:
        ps.push("s", rows)
        first = [subscription.next(PATIENCE) for _ in range(100)]
        assert {row["_shed"] for row in first if row} == {0.0}
        gate_state(gate.state).keep = 0.5
        ps.push("s", [{**row, "ts": row["ts"] + timedelta(minutes=5)} for row in rows])
        left = [row for _ in range(48) if (row := subscription.next(PATIENCE))]
    worth = [abs(row["n"] - 50) for row in left]
    assert min(worth) >= 20
    shed = left[0]["_shed"]
    assert shed == pytest.approx(0.5, abs=0.06)
    assert left[0]["_error"] == shed


def test_a_stream_s_default_holds_where_tuples_are_shown(ps: Connection) -> None:
    ps.sql(f"CREATE QUERY shows {LOSES} SELECT n FROM d")
    ps.sql(f"CREATE QUERY own {LOSES} SELECT n FROM d SHED BY n + 1")
    ps.sql(f"CREATE QUERY sums {LOSES} SELECT sum(n) AS n FROM d [RANGE 1 SECONDS]")
    assert len({each.unit.root.text() for each in gates(ps)}) == 3
    assert sum("least" in each.unit.root.text() for each in gates(ps)) == 2


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        (f"{LOSES} SELECT n FROM s SHED BY name", "TYPE_MISMATCH", "is string"),
        (f"{LOSES} SELECT n FROM s SHED BY ts", "TYPE_MISMATCH", "is timestamp"),
        (f"{LOSES} SELECT n FROM s SHED BY price", "UNKNOWN_COLUMN", "price"),
        (f"{LOSES} SELECT n FROM s SHED BY sum(n)", "BAD_QUERY", "an aggregate"),
        (f"{LOSES} SELECT n FROM s SHED BY rand()", "NOT_REPEATABLE", "not the same"),
        (f"{LOSES} SELECT n FROM s SHED BY", "SQL", "an expression"),
        ("AS SELECT n FROM s SHED BY n", "BAD_QUERY", "without max_error"),
        (f"{LOSES} SELECT sum(n) AS n FROM s [RANGE 1 SECONDS] SHED BY n", "BAD_QUERY", "sum"),
        (f"{LOSES} SELECT DISTINCT n FROM s [RANGE 1 SECONDS] SHED BY n", "BAD_QUERY", "DISTINCT"),
    ],
)
def test_what_makes_no_sense_is_refused(ps: Connection, text: str, code: str, told: str) -> None:
    with pytest.raises(PenstockError) as refused:
        ps.sql(f"CREATE QUERY q {text}")
    assert told in refused.value.message
    assert refused.value.code.startswith(code)
    assert refused.value.hint or code in ("UNKNOWN_COLUMN", "SQL")
    assert refused.value.place is not None
    assert refused.value.place.column > 1 + len("CREATE QUERY q")


def test_a_stream_s_worth_of_the_wrong_type_is_refused(ps: Connection) -> None:
    with pytest.raises(PenstockError, match="what a tuple is worth is a number") as refused:
        ps.script("SHOW LOAD;\n  CREATE STREAM x (name STRING)\n  SHED BY name FROM push()")
    assert refused.value.place is not None
    assert (refused.value.place.line, refused.value.place.column) == (3, 3)
