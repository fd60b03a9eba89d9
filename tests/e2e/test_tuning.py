"""Flows that go over to another plan while they run, and what OPTIMIZE says."""

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.sites import SitesState
from penstock.errors import PenstockError
from penstock.functions import auto, fft3
from penstock.runtime.queries import tuner
from tests.e2e.support import PATIENCE, finish, shown, until

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
STREAM = "CREATE STREAM radio (ts TIMESTAMP, x COMPLEX VECTOR) TIMESTAMP BY ts FROM push();"


def windows(first: int, count: int, size: int = 64) -> dict[str, Any]:
    real, imaginary = np.random.default_rng(first).standard_normal((2, count, size))
    return {
        "ts": [BEGIN + timedelta(seconds=first + at) for at in range(count)],
        "x": (real + 1j * imaginary).astype(np.complex64),
    }


def states(ps: Connection) -> list[SitesState]:
    units = list(ps.system.topology.units.values())
    return [live.state for live in units if isinstance(live.state, SitesState)]


def spread_as(ps: Connection, plan: str) -> None:
    with ps.system.quiescence.quiesced():
        (state,) = states(ps)
        state.spread_as(plan)


def push_until(ps: Connection, sent: int, size: int, holds: Callable[[], bool]) -> int:
    """Let windows come until something holds, and return how many have come by then."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, shown(ps)
        ps.push("radio", windows(sent, 20, size))
        sent += 20
        time.sleep(0.1)
    return sent


def _ran(ps: Connection) -> int:
    return sum(state.ledger.runs["driver"] for state in states(ps))


def _delivered(ps: Connection) -> int:
    (count,) = ps.sql("SELECT count(*) AS n FROM spectrum").table["n"].to_pylist()
    return int(count)


def test_a_flow_goes_over_to_other_plans_and_gives_the_same_after_a_restart_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    given = [windows(first, 10) for first in range(0, 50, 10)]
    plans = ["split 2", "distribute 3", "split 2x2", "central"]
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(f"{STREAM} CREATE QUERY spectrum AS FLOW window_distribute(2, fft3) OVER radio;")
        for part, plan in zip(given[:3], plans, strict=False):
            ps.push("radio", part)
            time.sleep(0.3)
            spread_as(ps, plan)
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        (state,) = states(ps)
        assert state.plan == plans[2]
        ps.push("radio", given[3])
        until(ps, lambda: _ran(ps) > 0 and _delivered(ps) >= 39)
        shown = ps.sql("SHOW SITES spectrum").table.to_pylist()
        assert [row["function"] for row in shown].count("os_join") == 3
        spread_as(ps, plans[3])
        ps.push("radio", given[4])
        ps.end("radio")
        finish(ps)
        rows = list(ps.subscribe("spectrum"))
    assert [row["ts"] for row in rows] == [at for part in given for at in part["ts"]]
    expected = np.fft.fft(np.concatenate([part["x"] for part in given]), axis=1)
    assert np.abs(np.array([row["x"] for row in rows]) - expected).max() < 1e-4


def test_auto_chooses_for_itself_and_again_when_windows_grow(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuner, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(tuner, "RATE_FACTOR", math.inf)  # how many come depends on the machine
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(f"{STREAM} CREATE QUERY plain AS SELECT ts FROM radio;")
        ps.run(auto(fft3), over="radio", name="spectrum", sites="driver")
        for query, code in (
            ("plain", "BAD_QUERY"),
            ("spectrum", "BAD_QUERY"),
            ("x", "UNKNOWN_NAME"),
        ):
            with pytest.raises(PenstockError) as raised:
                ps.sql(f"OPTIMIZE QUERY {query}")
            assert raised.value.code == code
        grown = push_until(ps, 0, 64, lambda: bool(ps.system.tuner.tuned))
        (tuned,) = ps.system.tuner.tuned.values()
        assert {line.plan for line in tuned.lines} >= {"central", "distribute 2", "split 2"}
        table = ps.sql("OPTIMIZE QUERY spectrum").message
        assert table.startswith("runs as ")
        assert table in ps.sql("EXPLAIN spectrum").message
        assert "windows of 64 elements" in table
        told = "windows of 256 elements"
        sent = push_until(ps, grown, 256, lambda: told in ps.sql("EXPLAIN spectrum").message)
        ps.end("radio")
        finish(ps)
        found = [row["x"] for row in ps.subscribe("spectrum")]
    for first, last, size in ((0, grown, 64), (grown, sent, 256)):
        given = [windows(at, 20, size)["x"] for at in range(first, last, 20)]
        expected = np.fft.fft(np.concatenate(given), axis=1)
        assert np.abs(np.array(found[first:last]) - expected).max() < 1e-4


@pytest.mark.parametrize(
    "flow", ["pipe(auto(fft3), magnitude)", "auto(sample(4))", "auto(central(fft3))", "auto()"]
)
def test_auto_is_one_function_that_takes_each_item_for_itself(
    spark: SparkSession, tmp_path: Path, flow: str
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(STREAM)
        with pytest.raises(PenstockError) as raised:
            ps.sql(f"CREATE QUERY q AS FLOW {flow} OVER radio")
        assert raised.value.code == "BAD_FLOW"
        assert raised.value.place is not None
