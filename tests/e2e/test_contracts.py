"""Queries that allow an error: exact while nothing is dropped, and honest when something is."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.tuples.gate import gate_state
from penstock.errors import PenstockError
from penstock.plan.operators import Gate
from penstock.qos.contracts.answers import sampled
from tests.e2e.support import leave_alone, results, until

pytestmark = pytest.mark.spark

BODY = (
    "SELECT window_start, k, count(*) AS c, sum(v) AS total, avg(v) AS mean, sum(n) AS whole, "
    "count(v) FILTER (WHERE n > 5) AS some FROM s [RANGE 10 SECONDS] WHERE n > 1 GROUP BY k"
)
KEYS, WINDOWS, ROWS = 8, 5, 4_000


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark) as connection:
        connection.sql(
            "CREATE STREAM s (ts TIMESTAMP, k INT, v DOUBLE, n BIGINT) TIMESTAMP BY ts "
            f"FROM push(rows_per_train => {ROWS})"  # trains are known, so what gates drop is, too
        )
        yield connection


def window(number: int) -> pa.Table:
    drawn = np.random.default_rng(number)
    times = np.sort(drawn.integers(0, 10_000_000, ROWS)) + 10_000_000 * number
    values = drawn.exponential(3, ROWS)
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array(drawn.integers(0, KEYS, ROWS), pa.int32()),
            "v": pa.array(np.where(values < 0.1, np.nan, values), from_pandas=True),
            "n": pa.array(drawn.integers(0, 20, ROWS), pa.int64()),
        }
    )


def answers(ps: Connection, keep: float) -> tuple[pa.Table, pa.Table]:
    """Return the exact answers and those over a sample, both by window and key."""
    leave_alone(ps)  # nobody else sets gates, or knows what queries can do without
    ps.sql(f"CREATE QUERY exact AS {BODY}; CREATE QUERY rough WITH (max_error => 0.5) AS {BODY}")
    with ps.system.supervisor.resting():
        (gate,) = [u for u in ps.system.topology.units.values() if isinstance(u.unit.root, Gate)]
        gate_state(gate.state).keep = keep
    for number in range(WINDOWS + 1):
        ps.push("s", window(number))
    whole = KEYS * WINDOWS
    until(ps, lambda: all(results(ps, name).num_rows >= whole for name in ("exact", "rough")))
    order = [("window_start", "ascending"), ("k", "ascending")]
    return results(ps, "exact").sort_by(order), results(ps, "rough").sort_by(order)


def test_while_nothing_is_dropped_answers_are_exact(ps: Connection) -> None:
    exact, rough = answers(ps, 1.0)
    assert rough.schema.names == [*exact.schema.names, "_error", "_shed", "_rows"]
    assert rough.schema.types[:-3] == exact.schema.types
    for name in exact.schema.names:
        if exact.schema.field(name).type == pa.float64():
            np.testing.assert_allclose(rough[name], exact[name], rtol=1e-12)
        else:
            assert rough[name].equals(exact[name])
    assert set(rough["_error"].to_pylist()) == {0.0}
    assert set(rough["_shed"].to_pylist()) == {0.0}
    assert rough["_rows"].equals(exact["c"])


def test_over_a_sample_answers_are_as_wrong_as_they_say(ps: Connection) -> None:
    exact, rough = answers(ps, 0.3)
    bound = rough["_error"].to_numpy()
    assert bound.min() > 0
    assert bound.max() < 0.5
    np.testing.assert_allclose(rough["_shed"].to_numpy(), 0.7)
    for name in ("c", "total", "mean", "whole", "some"):
        truth = exact[name].to_numpy()
        off = np.abs(rough[name].to_numpy() - truth) / np.abs(truth)
        assert (off <= bound).mean() >= 0.95  # the widest of five bounds covers each of them
    (row,) = ps.sql("SHOW QOS").table.to_pylist()
    assert row["keep"] == 0.3
    assert row["shed_rows"] == pytest.approx(0.7 * ROWS * (WINDOWS + 1), rel=0.05)
    assert row["wrong_share"] == 0.0


def test_the_bounds_are_those_of_the_theory(ps: Connection) -> None:
    ps.sql("CREATE QUERY rough WITH (max_error => 0.5) AS SELECT ts FROM s")
    drawn = np.random.default_rng(5)
    rows = drawn.integers(1, 50, 40).astype(float)
    total, keep = rows * drawn.uniform(-3, 5, 40), 0.2
    squares = total**2 / rows * drawn.uniform(1, 3, 40)
    whole = sampled(rows, total, squares, keep)
    asked = {
        "_penstock_count_error({count}, {counts})": whole.count_error(),
        "_penstock_sum_error(abs({total}), {totals}, {rows})": whole.sum_error(),
        "_penstock_mean_error({total} / {count}, {count}, {counts}, {both}, {totals}, {rows})": (
            whole.average_error()
        ),
    }
    for text, expected in asked.items():
        calls = [
            text.format(
                rows=int(rows[n]),
                count=f"{whole.count[n]}D",
                total=f"{whole.total[n]}D",
                counts=f"{whole.count_variance[n]}D",
                both=f"{whole.covariance[n]}D",
                totals=f"{whole.total_variance[n]}D",
            )
            for n in range(len(rows))
        ]
        sql = f"SELECT array({', '.join(calls)}) AS found"
        (row,) = ps.system.sessions.analysis.sql(sql).collect()
        found = np.array([np.nan if each is None else each for each in row["found"]])
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_queries_that_no_sample_answers_are_answered_whole(ps: Connection) -> None:
    bodies = {
        "least": "SELECT min(v) AS m FROM s [RANGE 1 SECONDS]",
        "different": "SELECT count(DISTINCT k) AS d FROM s [RANGE 1 SECONDS]",
        "last": "SELECT count(*) AS c FROM s [ROWS 10]",
        "over": "SELECT c FROM (SELECT count(*) AS c FROM s [RANGE 1 SECONDS]) AS x",
    }
    for name, body in bodies.items():
        ps.sql(f"CREATE QUERY {name} WITH (max_error => 0.1) AS {body}")
        assert "_error" not in ps.system.directory.query(name).root.schema.names
    assert not [u for u in ps.system.topology.units.values() if isinstance(u.unit.root, Gate)]


def test_a_column_of_the_name_is_refused(ps: Connection) -> None:
    with pytest.raises(PenstockError, match="_error of its own"):
        ps.sql("CREATE QUERY q WITH (max_error => 0.1) AS SELECT v AS _error FROM s")
