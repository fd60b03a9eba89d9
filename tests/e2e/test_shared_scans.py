"""Bundles on both sides of an open gate look at tuples together, and answer as if alone."""

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.tuples.gate import gate_state
from penstock.plan.operators import Gate
from penstock.runtime.loop.dispatch import shared_scans
from penstock.runtime.loop.dispatch.dispatcher import Dispatcher
from penstock.runtime.loop.dispatch.shared_scans import SharedScans
from penstock.runtime.loop.source_poller import SourcePoller
from penstock.runtime.quality.quality import Quality
from penstock.runtime.topology.topology import Topology
from penstock.runtime.work.live_unit import LiveUnit
from tests.e2e import scenario
from tests.e2e.death import Reaper, calm_and_disturbed, reaping
from tests.e2e.support import leave_alone, results, rows_of, shown, until, write_json
from tests.examples import NIGHTLY

pytestmark = pytest.mark.spark

SECOND = 1_000_000
STREAM = "CREATE STREAM s (ts TIMESTAMP, k INT, v DOUBLE) TIMESTAMP BY ts FROM push()"
SHOWN = "SELECT window_start, k, count(*) AS c, sum(v) AS total, avg(v) AS mean"
QUERIES = {
    "exact": f"{SHOWN} FROM s [RANGE 4 SECONDS] GROUP BY k",
    "some": f"{SHOWN} FROM s [RANGE 6 SECONDS] WHERE v > 1 GROUP BY k",
    "rough": f"{SHOWN} FROM s [RANGE 4 SECONDS] GROUP BY k",
    "rougher": f"{SHOWN} FROM s [RANGE 2 SECONDS] WHERE v > 2 GROUP BY k",
}
ERRORS = {"rough": 0.6, "rougher": 0.8}
TRAINS, ROWS, KEYS = 24, 1_000, 4


def train(number: int) -> pa.Table:
    """Return the tuples of a second; some have no value."""
    drawn = np.random.default_rng(number)
    values = np.round(drawn.exponential(3, ROWS), 3)
    return pa.table(
        {
            "ts": pa.array(
                np.sort(drawn.integers(0, SECOND, ROWS)) + SECOND * number,
                pa.timestamp("us", "UTC"),
            ),
            "k": pa.array(drawn.integers(0, KEYS, ROWS), pa.int32()),
            "v": pa.array(np.where(values < 0.1, np.nan, values), from_pandas=True),
        }
    )


@pytest.fixture
def went(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return how many units went together, each time that some did."""
    found: list[int] = []
    start = Dispatcher._start_shared_scan

    def started(self: Dispatcher, shared_scan: shared_scans.SharedScan) -> None:
        found.append(len(shared_scan.going))
        start(self, shared_scan)

    monkeypatch.setattr(Dispatcher, "_start_shared_scan", started)
    monkeypatch.setattr(shared_scans, "KNOWN_RUNS", 1)
    return found


def answered(spark: SparkSession, home: Path, keeps: dict[int, float]) -> dict[str, pa.Table]:
    """Return what each query answers where gates keep another share from some trains on."""
    with penstock.connect(home, spark=spark) as ps:
        ps.sql(STREAM)
        leave_alone(ps)  # nobody else sets gates, or knows what queries can do without
        for name, body in QUERIES.items():
            goals = f"WITH (max_error => {ERRORS[name]}) " if name in ERRORS else ""
            ps.sql(f"CREATE QUERY {name} {goals}AS {body}")
        gates = gates_of(ps)
        assert len(gates) == 2
        for number in range(TRAINS + 1):
            for gate in map(gate_state, (live.state for live in gates)):
                gate.keep = keeps.get(number, gate.keep)
            push(ps, train(number))
        until(ps, lambda: all(results(ps, n).num_rows >= least(n) for n in QUERIES))
        order = [("window_start", "ascending"), ("k", "ascending")]
        return {name: results(ps, name).sort_by(order) for name in QUERIES}


def least(name: str) -> int:
    """Return how many rows a query answers with, at least."""
    seconds = int(QUERIES[name].partition("RANGE ")[2].split()[0])
    return KEYS * (TRAINS // seconds)


def push(ps: Connection, rows: pa.Table) -> None:
    """Let tuples come, and wait until all is done with them that can be."""
    gates = gates_of(ps)
    before = [gate.rows_in for gate in gates]
    ps.push("s", rows)
    until(ps, lambda: all(g.rows_in == b + ROWS for g, b in zip(gates, before, strict=True)))
    until(ps, lambda: not ps.system.topology.buffers.waited_for() or bool(held(ps)))


def gates_of(ps: Connection) -> list[LiveUnit]:
    return [u for u in ps.system.topology.units.values() if isinstance(u.unit.root, Gate)]


@pytest.mark.parametrize(
    "keeps",
    [pytest.param({}, marks=NIGHTLY), {9: 0.5, 14: 1.0}],  # before it shuts, a gate is open, too
    ids=["gates are open", "gates shut for a while"],
)
def test_together_equals_apart(
    spark: SparkSession,
    tmp_path: Path,
    went: list[int],
    keeps: dict[int, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together = answered(spark, tmp_path / "together", keeps)
    assert max(went) == 3  # the exact ones are one bundle, and each gate has one behind it
    assert len(went) > TRAINS // 4
    went.clear()
    monkeypatch.setattr(SharedScans, "of", lambda *_: None)
    monkeypatch.setattr(SharedScans, "is_whole", lambda *_: False)
    apart = answered(spark, tmp_path / "apart", keeps)
    assert went == []
    for name, alone in apart.items():
        table = together[name]
        assert table.schema == alone.schema
        for each in ("window_start", "k", "c"):
            assert table[each].equals(alone[each]), (name, each)
        for each in ("total", "mean", *(("_shed", "_rows") if name in ERRORS else ())):
            np.testing.assert_allclose(table[each], alone[each], rtol=1e-9, err_msg=name)
        if name in ERRORS:  # values of which nothing was dropped are no part of a sample
            bound, before = table["_error"].to_numpy(), alone["_error"].to_numpy()
            assert (bound >= before - 1e-12).all()
            assert (bound <= before * 1.1 + 1e-12).all()
            assert (bound > 0).any() == bool(keeps)


def test_who_fails_is_held_and_those_beside_it_go_on(
    spark: SparkSession, tmp_path: Path, went: list[int]
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.sql(STREAM)
        leave_alone(ps)  # nobody shuts the gate
        ps.sql(f"CREATE QUERY exact AS {QUERIES['exact']}")
        ps.sql(f"CREATE QUERY rough WITH (max_error => 0.5) AS {QUERIES['rough']}")
        ps.sql(
            "CREATE QUERY bad AS SELECT k, count(*) AS c, sum(1 / (v - 100)) AS x "
            "FROM s [RANGE 4 SECONDS] GROUP BY k"
        )
        for number in range(TRAINS):
            rows = train(number)
            if number == TRAINS // 2:
                assert went
                hundred = pa.array(np.full(ROWS, 100.0))
                rows = rows.set_column(2, "v", hundred)
            push(ps, rows)
        wanted = KEYS * (TRAINS // 4 - 1)
        until(ps, lambda: all(results(ps, n).num_rows >= wanted for n in ("exact", "rough")))
        assert held(ps) == ["bad"], shown(ps)


def held(ps: Connection) -> list[str]:
    rows = rows_of(ps.sql("SHOW QUERIES").table)
    return [row["query"] for row in rows if row["state"] == "FAILED"]


def has_to_read(topology: Topology) -> bool:
    """Say whether somebody is not done with the last train: so nobody runs ahead of the others.

    A train without rows may wait before a delivery that is to be done again, until that one's come.
    """
    return any(
        train.rows.count
        for buffer in topology.buffers.waited_for()
        for reader in buffer.behind()
        for train in buffer.waiting(reader)
    )


@pytest.fixture
def reaper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaper]:
    monkeypatch.setattr(
        SourcePoller, "_is_ahead", lambda source_poller, _: has_to_read(source_poller.topology)
    )
    monkeypatch.setattr(Quality, "look", lambda *_: None)  # nobody shuts the gate
    with reaping(tmp_path, monkeypatch) as watching:
        yield watching


def test_deaths_change_nothing(
    reaper: Reaper, spark: SparkSession, tmp_path: Path, went: list[int]
) -> None:
    write_json(tmp_path / "s" / "rows.json", scenario.make_rows(400, seed=3))
    body = "SELECT window_start, k, count(*) AS c, sum(n) AS total FROM s [RANGE 20 SECONDS]"
    script = [
        "CREATE STREAM IF NOT EXISTS s (id INT, ts TIMESTAMP, k STRING, n INT, x DOUBLE) "
        f"TIMESTAMP BY ts SLACK INTERVAL 5 SECONDS FROM files(path => '{tmp_path / 's'}', "
        "format => 'json', bounded => true, rows_per_train => 20)"
    ]
    script += [
        f"CREATE QUERY IF NOT EXISTS {name} {goals} AS {body} GROUP BY k "
        f"INTO files(path => '{{out}}/{name}', format => 'json')"
        for name, goals in (("exact", ""), ("rough", "WITH (max_error => 0.5)"))
    ]
    expected, found = calm_and_disturbed(
        reaper, spark, tmp_path, ";\n".join(script), random.Random(5), 6
    )
    assert went
    assert all(expected.values())
    assert found == expected
