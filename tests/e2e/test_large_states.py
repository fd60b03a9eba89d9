"""Partials that tasks keep in partitions give the rows that the driver's would, and stay there."""

import random
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.windows.aggregate import AggregateState
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.work.run_limits import RunLimits
from tests.e2e import scenario
from tests.e2e.death import Reaper, calm_and_disturbed, reaping
from tests.e2e.oracle.data import COLUMNS, as_table, make_rows
from tests.e2e.support import bag, finish, leave_alone, results, rows_of, until, write_json
from tests.examples import IS_WHOLE, NIGHTLY

pytestmark = pytest.mark.spark

ROWS, A_PUSH = (900, 45) if IS_WHOLE else (120, 30)
FEW = RunLimits(aggregate_rows=A_PUSH, flow_rows=A_PUSH)
# Tasks write all that comes, or what has come of several runs together.
ALWAYS = RunLimits(aggregate_rows=A_PUSH, flow_rows=A_PUSH, large_rows=0, state_rows=0)
TOGETHER = RunLimits(aggregate_rows=A_PUSH, flow_rows=A_PUSH, large_rows=100, state_rows=40)
FIRST = {
    "corrected": "SELECT window_start, g, sum(n) AS total, count(*) AS c FROM s [RANGE 20 SECONDS] "
    "GROUP BY g EMIT EARLY EVERY INTERVAL 40 SECONDS ALLOWED LATENESS INTERVAL 5 SECONDS",
}
OTHERS = {
    "all_kinds": "SELECT window_start, k, count(*) AS c, count(n) AS cn, sum(d) AS total, "
    "avg(x) AS mean, min(ts) AS low, max(k || 'z') AS high, stddev(n) AS spread, "
    "first(n) AS one, last(x) AS other, max_by(k, b) AS best, bool_and(flag) AS every_one, "
    "bit_xor(n) AS bits, count_if(flag) AS flags, approx_count_distinct(n) AS about, "
    "hll_sketch_estimate(hll_sketch_agg(n)) AS sketched "
    "FROM s [RANGE 20 SECONDS] GROUP BY k",
    "sliding": "SELECT window_end, upper(k) AS k, g, sum(n) AS total, count(*) AS c "
    "FROM s [RANGE 1 MINUTE SLIDE 20 SECONDS] GROUP BY upper(k), g HAVING count(*) > 1",
    "grown": "SELECT window_end, g, flag, sum(b) AS total "
    "FROM s [LANDMARK FROM TIMESTAMP '2026-03-01 11:59:00' EVERY 40 SECONDS] GROUP BY g, flag",
    "shaped": "SELECT window_start, named_struct('a', g, 'b', k) AS key, d, x, count(*) AS c "
    "FROM s [RANGE 2 MINUTES] GROUP BY named_struct('a', g, 'b', k), d, x",
    "most": "SELECT window_start, k, sum(n) AS total FROM s [RANGE 1 MINUTE] GROUP BY k "
    "ORDER BY total DESC, k LIMIT 3",
}
QUERIES = {**FIRST, **OTHERS} if IS_WHOLE else FIRST


def states(ps: Connection) -> dict[str, AggregateState]:
    topology = ps.system.topology
    found = {query.name: topology.units[query.input].state for query in topology.queries.values()}
    return {name: state for name, state in found.items() if isinstance(state, AggregateState)}


def partitioned(ps: Connection) -> set[str]:
    """Return the queries with partials in partitions."""
    return {
        name
        for name, state in states(ps).items()
        if any(part.partitions for part in state.partials.parts)
    }


def has_read(ps: Connection, rows: int) -> bool:
    return all(row["rows_in"] == rows for row in rows_of(ps.sql("SHOW QUERIES").table))


def pushed(ps: Connection, first: int, end: int) -> None:
    """Push rows, a run's at a time; the last run has the first row again, which is late by then."""
    whole = as_table(make_rows(43, ROWS))
    whole = pa.concat_tables([whole.slice(0, ROWS - 1), whole.slice(0, 1)])
    for start in range(first, end, A_PUSH):
        ps.push("s", whole.slice(start, A_PUSH))
        until(ps, lambda done=start + A_PUSH: has_read(ps, done))


def answers(
    home: Path, spark: SparkSession, limits: RunLimits
) -> tuple[dict[str, pa.Table], set[str]]:
    """Return all rows, also the late ones, over a home that is opened twice."""
    told = Settings(share=False, limits=limits, warm_seconds=0)
    with penstock.connect(home, spark=spark, settings=told) as ps:
        ps.sql(
            f"CREATE STREAM s ({COLUMNS.ddl()}) TIMESTAMP BY ts SLACK INTERVAL 1 SECOND "
            "FROM push(rows_per_train => 1)"
        )
        ps.script("".join(f"CREATE QUERY {name} AS {select};" for name, select in QUERIES.items()))
        pushed(ps, 0, ROWS // 2)
        kept = partitioned(ps)
    with penstock.connect(home, spark=spark, settings=told) as ps:
        assert partitioned(ps) == kept
        pushed(ps, ROWS // 2, ROWS)
        written = {path for path in (home / "spill").iterdir() if path.suffix == ".parquet"}
        parts = [part for state in states(ps).values() for part in state.partials.parts]
        assert written == {path for part in parts if part.rows.owned for path in part.rows.paths}
        ps.end("s")
        finish(ps)
        found = {name: results(ps, name) for name in QUERIES}
        for name in QUERIES:
            late = ps.sql(f"SELECT * FROM {name}.late").table
            found[f"{name}.late"] = late if late is not None else pa.table({})
        return found, kept


@pytest.mark.timeout(900)
@pytest.mark.parametrize("limits", [ALWAYS, pytest.param(TOGETHER, marks=NIGHTLY)])
def test_partials_in_partitions_give_the_rows_that_those_in_the_driver_do(
    limits: RunLimits, spark: SparkSession, tmp_path: Path
) -> None:
    expected, none = answers(tmp_path / "small", spark, FEW)
    found, kept = answers(tmp_path / "large", spark, limits)
    assert not none
    assert kept == set(QUERIES)
    for name, table in expected.items():
        assert bag(found[name]) == bag(table), name
        assert table.num_rows, name


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    limits = RunLimits(flow_rows=40, aggregate_rows=40, large_rows=0, state_rows=0)
    with reaping(tmp_path, monkeypatch, limits) as watching:
        yield watching


@pytest.mark.timeout(900)
def test_partials_in_partitions_survive_deaths_at_random(
    reaper: Reaper, spark: SparkSession, tmp_path: Path
) -> None:
    write_json(tmp_path / "s" / "rows.json", scenario.make_rows(160))
    script = (
        "CREATE STREAM IF NOT EXISTS s (id INT, ts TIMESTAMP, k STRING, n INT, x DOUBLE) "
        "TIMESTAMP BY ts SLACK INTERVAL 5 SECONDS "
        f"FROM files(path => '{tmp_path / 's'}', format => 'json', bounded => true, "
        "rows_per_train => 20);"
        "CREATE QUERY IF NOT EXISTS slid AS SELECT window_start, k, n, sum(id) AS ids, "
        "count(*) AS c FROM s [RANGE 60 SECONDS SLIDE 30 SECONDS] GROUP BY k, n "
        "INTO files(path => '{out}/slid', format => 'json')"
    )
    expected, found = calm_and_disturbed(
        reaper, spark, tmp_path, script, random.Random(5), 6 if IS_WHOLE else 2
    )
    assert expected["slid"]
    assert found == expected


PUNCTUATED = """
CREATE STREAM p (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push(rows_per_train => 1);
CREATE QUERY sums AS SELECT window_start, k, sum(n) AS total FROM p [RANGE 1 MINUTE] GROUP BY k;
CREATE QUERY others AS SELECT window_start, k, count(*) AS c FROM p [RANGE 1 MINUTE] GROUP BY k
"""


def test_groups_that_end_leave_their_partitions_and_nobody_else_comes_in(
    spark: SparkSession, tmp_path: Path
) -> None:
    limits = RunLimits(large_rows=0, state_rows=0)
    told = Settings(limits=limits, warm_seconds=0)
    with penstock.connect(tmp_path / "home", spark=spark, settings=told) as ps:
        leave_alone(ps)
        stream, sums, others = PUNCTUATED.split(";")
        ps.sql(stream)
        ps.sql(sums)
        at = scenario.BEGIN
        for row in ({"k": "a", "n": 1}, {"k": "b", "n": 2}, {"k": "a", "n": 4}):
            ps.push("p", [{"ts": at, **row}])
            until(ps, lambda: not ps.sql("SELECT 1 FROM system.units WHERE queued_rows > 0").table)
        until(ps, lambda: partitioned(ps) == {"sums"})
        ps.sql(others)  # which would share a bundle with it otherwise
        assert partitioned(ps) == {"sums"}
        ps.punctuate("p", "k = 'a'")
        until(
            ps, lambda: rows_of(results(ps, "sums")) == [{"window_start": at, "k": "a", "total": 5}]
        )
        later = at + timedelta(minutes=2)  # the first window that a query begun now answers for
        rows = ((at, "a", 8), (at, "b", 16), (later, "c", 32))
        ps.push("p", [{"ts": ts, "k": k, "n": n} for ts, k, n in rows])
        ps.end("p")
        finish(ps)
        assert [row["total"] for row in rows_of(results(ps, "sums"))] == [5, 18, 32]
        assert [row["n"] for row in rows_of(ps.sql("SELECT n FROM sums.late").table)] == [8]
        assert [row["k"] for row in rows_of(results(ps, "others"))] == ["c"]
