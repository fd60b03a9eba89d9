"""Gates behind other queries, in a row, and before the sides of a join."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.tuples.gate import gate_state
from penstock.plan.operators import Gate
from tests.e2e.support import finish, leave_alone, results, stream_figures, until

pytestmark = pytest.mark.spark

ROWS, KEYS, WINDOWS = 3_000, 6, 4
SUMS = "SELECT window_start, k, count(*) AS c, sum(n) AS v FROM {} [RANGE 10 SECONDS] GROUP BY k"
ORDER = [("window_start", "ascending"), ("k", "ascending")]
JOIN = (
    "SELECT a.ts, a.k, a.n FROM s [RANGE 1 SECONDS] AS a JOIN t [RANGE 1 SECONDS] AS b ON a.n = b.n"
)
QUERIES = f"""
CREATE QUERY some AS SELECT ts, k, n FROM s WHERE n > 3;
CREATE QUERY exact AS {SUMS.format("some")};
CREATE QUERY behind WITH (max_error => 0.5) AS {SUMS.format("some")};
CREATE QUERY few WITH (max_error => 0.3) AS SELECT * FROM s WHERE n > 3;
CREATE QUERY fewer WITH (max_error => 0.5) AS {SUMS.format("few")};
CREATE QUERY least WITH (max_error => 0.4) AS SELECT *, n + 1 AS m FROM few;
CREATE QUERY met AS {JOIN};
CREATE QUERY pairs WITH (max_error => 0.5) AS {SUMS.format(f"({JOIN}) AS j")};
CREATE QUERY meets WITH (max_error => 0.9) AS SELECT a.*, b.k AS other
  FROM s [RANGE 1 SECONDS] AS a JOIN t [RANGE 1 SECONDS] AS b ON a.n = b.n
"""
KEEPS = {0.3: 0.8, 0.4: 0.75, 0.5: 0.5, 0.9: 0.6}  # of gates, by the error they are for


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark) as connection:
        for name in ("s", "t"):
            connection.sql(
                f"CREATE STREAM {name} (ts TIMESTAMP, k INT, n BIGINT) TIMESTAMP BY ts FROM push()"
            )
        leave_alone(connection)  # nobody else sets gates
        yield connection


def window(number: int, rows: int) -> pa.Table:
    drawn = np.random.default_rng(number + rows)
    times = np.sort(drawn.integers(0, 10_000_000, rows)) + 10_000_000 * number
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array(drawn.integers(0, KEYS, rows), pa.int32()),
            "n": pa.array(drawn.integers(0, 20, rows), pa.int64()),
        }
    )


def fed(ps: Connection) -> dict[str, dict[str, Any]]:
    """Let all queries answer all, over gates that keep what is said above; return SHOW QOS."""
    ps.sql(QUERIES)
    with ps.system.supervisor.resting():
        for live in ps.system.topology.units.values():
            if isinstance(gate := live.unit.root, Gate):
                gate_state(live.state).keep = KEEPS[gate.max_error]
    for number in range(WINDOWS):  # one by one: which tuples gates drop depends on the trains
        for name, rows in (("s", ROWS), ("t", ROWS // 10)):
            ps.push(name, window(number, rows))
            settle(ps, name, rows * (number + 1))
    until(ps, lambda: all(results(ps, name).num_rows for name in ("behind", "fewer", "pairs")))
    qos = {row["query"]: row for row in ps.sql("SHOW QOS").table.to_pylist()}
    ps.end("s")
    ps.end("t")
    finish(ps)
    return qos


def settle(ps: Connection, stream: str, rows: int) -> None:
    """Wait until so many tuples of a stream are read, and all is done that can be."""
    until(ps, lambda: stream_figures(ps, stream)["rows"] == rows)
    with ps.system.supervisor.resting():
        pass  # what has been read stands in its buffer now
    until(ps, lambda: not ps.system.topology.buffers.waited_for())


def test_gates_stand_where_a_query_s_own_way_begins_and_multiply(ps: Connection) -> None:
    qos = fed(ps)
    exact = results(ps, "exact").sort_by(ORDER)
    assert exact.num_rows == KEYS * WINDOWS
    for name, shed, weight in (("behind", 0.5, 2.0), ("fewer", 0.6, 2.5)):
        rough = results(ps, name).sort_by(ORDER)
        assert rough.schema.names == [*exact.schema.names, "_error", "_shed", "_rows"]
        np.testing.assert_allclose(rough["_shed"], shed)
        bound = rough["_error"].to_numpy()
        np.testing.assert_array_equal(
            rough["c"], np.floor(weight * rough["_rows"].to_numpy() + 0.5)
        )
        for column in ("c", "v"):
            truth = exact[column].to_numpy()
            off = np.abs(rough[column].to_numpy() - truth) / truth
            assert (off <= bound).mean() >= 0.8  # of two dozen; how often it is, is tested by many
    least = results(ps, "least")
    assert least.schema.names == ["ts", "k", "n", "m", "_error", "_shed", "_rows"]
    np.testing.assert_allclose(least["_shed"], 0.4)
    meets = results(ps, "meets")
    assert meets.schema.names == ["ts", "k", "n", "other", "_error", "_shed", "_rows"]
    np.testing.assert_allclose(meets["_error"], 1 - 0.6 * 0.6)
    assert meets.num_rows == pytest.approx(0.36 * results(ps, "met").num_rows, rel=0.15)
    pairs = results(ps, "pairs")
    np.testing.assert_array_equal(pairs["c"], 2 * pairs["_rows"].to_numpy())
    assert qos["fewer"]["keep"] == pytest.approx(0.4)
    assert [each.split(":")[0] for each in qos["fewer"]["shed_at"].split(", ")] == [
        "before s",
        "behind few",
    ]
    assert qos["behind"]["shed_at"].startswith("behind some: ")
    assert qos["pairs"]["shed_at"].startswith("behind met: ")  # which does the same join
    assert qos["meets"]["shed_at"].count("before") == 2
