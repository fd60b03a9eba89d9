"""Every strategy on Spark: the same rows, changes while tuples flow, and what was measured."""

import itertools
import json
import logging
import math
import re
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf

import penstock
from penstock.client import Connection
from penstock.clock import HandClock
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.spark.jobs.profile import profile
from penstock.engine.trains.buffers import BufferBounds
from penstock.errors import BadOptionError, NotAllowedError, PenstockError, UnknownOptionError
from penstock.qos.contracts.strategy_need import PATIENCE_SECONDS, SHORT
from penstock.runtime.loop import control
from penstock.runtime.loop.control import memory_share
from penstock.runtime.loop.dispatch import dispatcher
from penstock.runtime.loop.dispatch.dispatcher import Dispatcher
from penstock.runtime.loop.supervisor import Settings
from penstock.runtime.quality import statistics
from penstock.runtime.work import live_unit
from penstock.schedule import STRATEGIES, Choice
from tests.e2e.support import (
    PATIENCE,
    bag,
    figures,
    finish,
    results,
    rows_of,
    stream_figures,
    until,
)

pytestmark = pytest.mark.spark

STREAM = """
CREATE STREAM s (ts TIMESTAMP, k STRING, n BIGINT) TIMESTAMP BY ts
  VALID FOR INTERVAL 4 SECONDS FROM push();
"""
QUERIES = {
    "plain": "SELECT k, n FROM s WHERE n % 3 = 0",
    "deep": "SELECT u, m FROM (SELECT upper(k) AS u, n * 2 AS m FROM s WHERE n % 2 = 0) AS d "
    "WHERE m > 9",
    "windows": "SELECT k, count(*) AS c, max(n) AS top, window_start FROM s [RANGE 10 SECONDS] "
    "WHERE n % 5 <> 1 GROUP BY k HAVING c > 1",
    "best": "SELECT k, sum(n) AS total, window_end FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS] "
    "GROUP BY k ORDER BY total DESC LIMIT 2",
    "steps": "SELECT k, adiff(n) AS d FROM s",
    "pairs": "SELECT a.n AS x, b.n AS y FROM s [RANGE 3 SECONDS] AS a, s [RANGE 3 SECONDS] AS b "
    "WHERE a.n = b.n + 1 AND a.k = 'a'",
    "above": "SELECT u, count(*) AS c, window_start FROM deep_rows [RANGE 10 SECONDS] GROUP BY u",
}
SCRIPT = (
    STREAM
    + "CREATE QUERY deep_rows AS SELECT ts, upper(k) AS u, n FROM s WHERE n % 2 = 0;"
    + "".join(f"CREATE QUERY {name} AS {text};" for name, text in QUERIES.items())
)
START = datetime(2026, 1, 1, 12, tzinfo=UTC)


def rows(first: int, last: int) -> list[dict[str, object]]:
    return [
        {"ts": START + timedelta(seconds=n), "k": "abc"[n % 3], "n": n} for n in range(first, last)
    ]


@pytest.fixture(scope="module")
def expected(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """Return what round robin gives."""
    home = tmp_path_factory.mktemp("expected")
    with penstock.connect(home, spark=spark, settings=Settings(share=False)) as ps:
        return run(ps, ["round_robin"])


def run(ps: Connection, strategies: list[str]) -> dict[str, object]:
    """Push rows while one strategy follows another, and return what queries gave, in order."""
    ps.script(SCRIPT)
    for number in range(8):
        ps.sql(f"SET STRATEGY {strategies[number % len(strategies)]}")
        ps.push("s", rows(10 * number, 10 * number + 10))
        until(ps, partial(has_read, ps, "plain", 10 * number + 10))  # the others may be behind
    ps.end("s")
    finish(ps)
    return answers(ps)


def has_read(ps: Connection, query: str, count: int) -> bool:
    """Say whether so many rows came, and a query has read all of them."""
    came = stream_figures(ps, "s")["rows"] >= count
    return bool(came and not figures(ps, query)["queued_rows"])


def answers(ps: Connection) -> dict[str, object]:
    """Return what queries gave, the plain ones in order; no strategy was ever wrong."""
    assert not ps.system.supervisor.control.defects
    plain = {name: results(ps, name).to_pylist() for name in ("plain", "deep", "steps")}
    return plain | {name: bag(results(ps, name)) for name in QUERIES if name not in plain}


@pytest.mark.parametrize(
    "strategies",
    [
        ["pcs", "basic", "chain", "round_robin"],
        ["segment", "simplified_segment", "fifo", "weighted_round_robin"],
        ["earliest_deadline", "least_laxity", "optprofit_paper", "basic"],
        [
            "optprofit WITH (handling => profit_dominant)",
            "basic WITH (handling => deadline_dominant)",
            "adaptive WITH (objective => memory, period => INTERVAL 1 SECOND)",
        ],
    ],
    ids=lambda each: each[0].split()[0],
)
def test_strategies_that_follow_each_other_give_the_rows_of_round_robin(
    spark: SparkSession, tmp_path: Path, expected: dict[str, object], strategies: list[str]
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark, settings=Settings(share=False)) as ps:
        assert run(ps, strategies) == expected


def test_bundles_give_the_same_rows_under_other_strategies(
    spark: SparkSession, tmp_path: Path, expected: dict[str, object]
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        assert run(ps, ["pcs", "basic", "optprofit", "chain"]) == expected


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark) as connection:
        yield connection


@pytest.mark.parametrize(
    ("statement", "error", "hint"),
    [
        ("SET STRATEGY fastest", UnknownOptionError, "round_robin"),
        ("SET STRATEGY pcs WITH (gamma => 1)", UnknownOptionError, "no parameters"),
        ("SET STRATEGY simplified_segment WITH (gamma => 1.5)", BadOptionError, ""),
        ("SET STRATEGY simplified_segment WITH (gamma => wide)", BadOptionError, ""),
        ("SET STRATEGY optprofit WITH (handling => profit_dominant, u => 0)", BadOptionError, ""),
        ("SET STRATEGY optprofit WITH (handling => greedy)", UnknownOptionError, "dominant"),
        ("SET STRATEGY optprofit WITH (handling => 1 + 1)", BadOptionError, ""),
        ("SET STRATEGY adaptive WITH (objective => beauty)", UnknownOptionError, "memory"),
        ("SET STRATEGY adaptive WITH (period => INTERVAL 0 SECONDS)", BadOptionError, ""),
        ("SET STRATEGY adaptive WITH (period => true)", BadOptionError, ""),
        ("SET BATCHING most", UnknownOptionError, "intelligent"),
        ("SET BATCHING fixed_length", BadOptionError, "rows"),
        ("SET BATCHING fixed_length WITH (rows => -1)", BadOptionError, ""),
        ("SET BATCHING intelligent WITH (alpha => 0)", BadOptionError, ""),
        ("SET BATCHING intelligent WITH (beta => -4)", BadOptionError, ""),
        ("EXPLAIN SCHEDULE INTO '/no/such/place.txt'", NotAllowedError, "writable"),
    ],
)
def test_what_cannot_decide_is_refused_and_the_old_goes_on(
    ps: Connection, statement: str, error: type[PenstockError], hint: str
) -> None:
    with pytest.raises(error) as raised:
        ps.sql(statement)
    assert hint in raised.value.hint
    (row,) = rows_of(ps.sql("SHOW STRATEGY").table)
    assert (row["strategy"], row["batching"]) == ("round_robin", "everything")


def test_what_is_set_is_kept_over_a_restart_and_goes_before_the_settings(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = Settings(strategy=Choice("fifo"))
    with penstock.connect(tmp_path / "home", spark=spark, settings=settings) as ps:
        assert rows_of(ps.sql("SHOW STRATEGY").table)[0]["strategy"] == "fifo"
        ps.sql("SET STRATEGY simplified_segment WITH (gamma => 0.5)")
        ps.sql("SET BATCHING fixed_length WITH (rows => 100)")
    with penstock.connect(tmp_path / "home", spark=spark, settings=settings) as ps:
        (row,) = rows_of(ps.sql("SHOW STRATEGY").table)
    assert row["strategy"] == "simplified_segment WITH (gamma => 0.5)"
    assert row["batching"] == "fixed_length WITH (rows => 100)"


def test_units_of_a_fine_cut_go_on_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    fine = Settings(share=False)
    with penstock.connect(tmp_path / "home", spark=spark, settings=fine) as ps:
        ps.script(STREAM + f"CREATE QUERY deep AS {QUERIES['deep']}; SET STRATEGY basic;")
        units = len(ps.system.topology.units)
        ps.push("s", rows(0, 20))
    with penstock.connect(tmp_path / "home", spark=spark, settings=fine) as ps:
        assert len(ps.system.topology.units) == units > 1
        ps.push("s", rows(20, 40))
        ps.end("s")
        finish(ps)
        assert [row["m"] for row in results(ps, "deep").to_pylist()] == list(range(12, 80, 4))


def count_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time pass by what SELECTs have to do, and not by how long that takes on this machine."""
    clock, select = threading.local(), Processor.select  # SELECTs of other threads cost others

    def now() -> float:
        return float(getattr(clock, "seconds", 0.0))

    def counted(given: Processor, leaves: Any, sql: str, *rest: Any, **named: Any) -> Any:
        many = sum(each.count for rows, _ in leaves.values() for each in rows)
        dear = 5e-4 * many / 4 if "slow" in sql else 0.0  # it is called for every fourth tuple
        clock.seconds = now() + 0.01 + 1e-6 * many * sql.count("SELECT") + dear
        return select(given, leaves, sql, *rest, **named)

    monkeypatch.setattr(Processor, "select", counted)
    monkeypatch.setattr(live_unit, "time", SimpleNamespace(perf_counter=now))
    monkeypatch.setattr(dispatcher, "profile", partial(profile, timer=now))


def register_slow(ps: Connection) -> None:
    """Give SQL a function that is said to be slow."""

    def slow(values):  # type: ignore[no-untyped-def]  # Spark reads the hints of what it is given
        return values

    import pyarrow as pa  # noqa: PLC0415

    slow.__annotations__ = {"values": pa.Array, "return": pa.Array}
    sessions = ps.system.sessions
    for session in (sessions.small, sessions.large, sessions.wide, sessions.analysis):
        session.udf.register("slow", arrow_udf(slow, "bigint"))


def test_operators_show_what_they_cost_and_what_they_keep(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_work(monkeypatch)
    monkeypatch.setattr(statistics, "FREE_SECONDS", math.inf)  # for trials, on a busy machine
    with penstock.connect(tmp_path / "home", spark=spark, settings=Settings(share=False)) as ps:
        register_slow(ps)
        ps.script(
            STREAM
            + "CREATE QUERY dear AS SELECT k, slow(n) AS m FROM s WHERE n % 4 = 0;"
            + "CREATE QUERY cheap AS SELECT k, n + 1 AS m FROM s WHERE n % 2 = 0;"
            + "CREATE QUERY kept AS SELECT k, n FROM s WHERE n % 10 = 0;"
        )
        deadline = time.monotonic() + PATIENCE
        for number in itertools.count():
            ps.push("s", rows(400 * number, 400 * number + 400))
            ps.wait(0.4)
            table = rows_of(ps.sql("SHOW OPERATORS").table)
            if number >= 12 and all(row["how"] != "not yet" for row in table):
                break
            assert time.monotonic() < deadline, table
        ps.end("s")
        finish(ps)
    by_text = {row["operator"]: row for row in table}
    slow = next(row for text, row in by_text.items() if "slow" in text)
    cheap = next(row for text, row in by_text.items() if "+ 1" in text)
    tenth = next(row for text, row in by_text.items() if "% 10" in text)
    quarter = next(row for text, row in by_text.items() if "% 4" in text)
    assert tenth["selectivity"] == pytest.approx(0.1, rel=0.1)  # of a sample of 64 or more
    assert tenth["how"] == "apportioned"  # its unit also has a projection
    assert quarter["selectivity"] == pytest.approx(0.25, rel=0.1)
    assert quarter["rows_out"] == pytest.approx(slow["rows_in"])
    assert slow["cost_us"] >= 400  # and its part of what every run costs
    assert slow["cost_us"] > 3 * cheap["cost_us"]
    assert slow["cost_us"] > 3 * quarter["cost_us"]
    assert all(row["runs"] > 0 and row["in_per_s"] > 0 for row in table)
    assert all(row["error"] is None or row["error"] >= 0 for row in table)


def test_a_strategy_that_names_what_is_not_ready_is_logged_and_round_robin_goes_on(
    ps: Connection, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(STRATEGIES["fifo"], "next", lambda *_: "nobody")
    ps.script(STREAM + f"CREATE QUERY plain AS {QUERIES['plain']}; SET STRATEGY fifo;")
    with caplog.at_level(logging.WARNING, "penstock"):
        ps.push("s", rows(0, 9))
        ps.end("s")
        finish(ps)
    assert [row["n"] for row in results(ps, "plain").to_pylist()] == [0, 3, 6]
    assert "not ready" in caplog.text
    assert rows_of(ps.sql("SHOW STRATEGY").table)[0]["defects"] > 0


def test_the_schedule_says_who_is_next_and_why_and_changes_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"settings": Settings(share=False), "writable": [tmp_path]}
    with penstock.connect(tmp_path / "home", spark=spark, **given) as ps:
        ps.script(SCRIPT)
        ps.sql("SET STRATEGY pcs")
        with ps.system.supervisor.resting():
            ps.push("s", rows(0, 30))
            ps.system.supervisor._stages.source_poller.start(ps.system.clock.now())
            ps.system.supervisor._pool.settle_all(0.02)
            text = ps.sql("EXPLAIN SCHEDULE").message
            assert ps.sql("EXPLAIN SCHEDULE").message.splitlines()[-1] == text.splitlines()[-1]
        assert "strategy pcs" in text
        assert "capacity" in text.splitlines()[-1]
        assert text.count(" next") >= 1
        ps.sql(f"EXPLAIN SCHEDULE AS JSON INTO '{tmp_path}/measured.json'")
        measured = json.loads((tmp_path / "measured.json").read_text())
        assert {each["query"] for each in measured["queries"]} == {*QUERIES, "deep_rows"}
        nodes = {each["node"]: each for each in (*measured["nodes"], *measured["streams"])}
        assert all(below in nodes for each in measured["nodes"] for below in each["inputs"])
        ps.end("s")
        finish(ps)


def test_batching_by_length_takes_that_many_tuples_a_run(ps: Connection) -> None:
    ps.script(STREAM + f"CREATE QUERY plain AS {QUERIES['plain']};")
    ps.sql("SET BATCHING fixed_length WITH (rows => 10)")
    with ps.system.supervisor.resting():
        for number in range(6):
            ps.push("s", rows(5 * number, 5 * number + 5))
    ps.end("s")
    finish(ps)
    (live,) = ps.system.topology.units.values() or [None]
    assert [row["n"] for row in results(ps, "plain").to_pylist()] == list(range(0, 30, 3))
    assert live is None or live.runs >= 3


def test_the_statements_of_the_reference_that_set_and_show_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    text = (Path(__file__).parents[2] / "docs/reference/sql.md").read_text()
    part = text[text.index("## SET STRATEGY") : text.index("## SELECT")]
    blocks = re.findall(r"```sql\n(.*?)```", part, re.DOTALL)
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            "CREATE STREAM traffic (ts TIMESTAMP, car_id STRING, type STRING, mph INT) "
            "TIMESTAMP BY ts FROM push();"
            "CREATE QUERY fast_cars AS SELECT car_id FROM traffic WHERE mph > 60;"
            "CREATE EVENT speeding AS SELECT car_id, mph MASK mph > 90 FROM traffic"
        )
        given = [each for block in blocks for each in ps.script(block)]
        assert len(given) >= 15
        assert all(each.message or each.table is not None for each in given)
        (row,) = rows_of(ps.sql("SHOW STRATEGY").table)
        assert (row["strategy"], row["batching"]) == ("round_robin", "everything")


def test_memory_that_is_short_changes_the_strategy_until_it_has_been_enough_for_long(
    spark: SparkSession,
    tmp_path: Path,
    expected: dict[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # There is room for about four trains, and nobody takes them before it is seen that they wait.
    start, may_run = Dispatcher.start, threading.Event()
    monkeypatch.setattr(
        Dispatcher, "start", lambda *given: start(*given) if may_run.is_set() else None
    )
    monkeypatch.setattr(control, "OBSERVED_SHARE", math.inf)  # a look takes no time
    clock, bounds = (
        HandClock(1000.0),
        BufferBounds(buffer_bytes=1_000, total_bytes=10_000, keep_bytes=0),
    )
    with penstock.connect(tmp_path / "home", spark=spark, clock=clock, bounds=bounds) as ps:
        ps.script(SCRIPT.replace("push()", "push(rows_per_train => 10)"))
        ps.sql("SET STRATEGY need")
        assert strategy(ps) == "need: pcs"
        for number in range(7):
            ps.push("s", rows(10 * number, 10 * number + 10))
        until(ps, lambda: memory_share(ps.system.topology) > SHORT)
        pass_time(ps, clock, control.OBSERVE_SECONDS)
        until(ps, lambda: strategy(ps) == "need: simplified_segment")
        may_run.set()
        until(ps, lambda: not ps.system.topology.buffers.waited_for())
        pass_time(ps, clock, control.OBSERVE_SECONDS)
        assert ps.system.supervisor.control.need.enough_since is not None
        pass_time(ps, clock, PATIENCE_SECONDS * 0.8)
        assert strategy(ps) == "need: simplified_segment"
        pass_time(ps, clock, PATIENCE_SECONDS * 0.4)
        until(ps, lambda: strategy(ps) == "need: pcs")
        ps.push("s", rows(70, 80))
        ps.end("s")
        finish(ps)
        assert answers(ps) == expected


def strategy(ps: Connection) -> str:
    (row,) = rows_of(ps.sql("SHOW STRATEGY").table)
    return str(row["strategy"])


def pass_time(ps: Connection, clock: HandClock, seconds: float) -> None:
    """Let the clock go on, and wait until what there is has been looked at since."""
    clock.sleep(seconds)
    until(ps, lambda: ps.system.supervisor.control._next_look > clock.now())
