"""Queries that run as one bundle give what each gives alone, whoever joins or leaves when."""

import math
import random
import threading
from collections import Counter
from collections.abc import Sequence, Set
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.engine.states.sharing import passes
from penstock.engine.states.windows import closing_small
from penstock.engine.trains.buffers import BufferBounds
from penstock.plan.operators import Bundle, key
from penstock.plan.operators.bundles.member import Member
from penstock.plan.sharing import bundles
from penstock.plan.sharing import regroup as regrouping
from penstock.runtime.loop.supervisor import Settings
from tests.e2e.reference.trial import LAW
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
from tests.examples import IS_WHOLE

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STREAM = """CREATE STREAM s (ts TIMESTAMP, k STRING, t STRING, x DOUBLE, n INT)
TIMESTAMP BY ts SLACK INTERVAL 3 SECONDS FROM push()"""

Row = dict[str, Any]


def some_rows(seed: int, train: int, count: int = 40) -> list[Row]:
    """Return the rows of a train; times overlap those of the trains around it."""
    made = random.Random(seed * 100 + train)
    return [
        {
            "ts": BEGIN + timedelta(seconds=train * 6 + made.random() * 12),
            "k": made.choice("ab"),
            "t": made.choice(("Car", "Bus", None)),
            "x": made.choice((None, made.random() * 10, 5.0)),
            "n": made.randrange(6),
        }
        for _ in range(count)
    ]


WINDOWS = ("RANGE 6 SECONDS", "RANGE 12 SECONDS SLIDE 4 SECONDS", "RANGE 500 MILLISECONDS")
SHOWN = (
    "count(*) AS c, sum(n) AS s",
    "avg(x) AS a, max(t) AS m",
    "window_start, min(x) AS l, first(n) AS f",
)
CONDITIONS = (
    "x > {0}",
    "x <= {0} AND x >= {1}",
    "n = {1}",
    "n IN ({0}, {1})",
    "n <> {0} AND x < {1}",
    "t = 'Car' AND x > {1}",
    "n BETWEEN {1} AND {0}",
    "n % 2 = 0 AND x > {0}",
    "t LIKE 'B%' OR n > {0}",
    "",
)
KEPT = ("", " HAVING count(*) > {1}")
FLOWS = (
    "SELECT * FROM s WHERE {where}",
    "SELECT n AS m, k FROM s WHERE {where}",
    "SELECT k, n * 2 AS d, n > {0} AS more, 'no {1}' AS l FROM s WHERE {where}",
    "SELECT d FROM (SELECT n + 1 AS d, t FROM s WHERE {where}) AS i WHERE d > {1}",
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    numbers = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    condition = draw(st.sampled_from(CONDITIONS)).format(*numbers)
    if condition and draw(st.booleans()):
        return draw(st.sampled_from(FLOWS)).format(*numbers, where=condition)
    where = f" WHERE {condition}" if condition else ""
    having = draw(st.sampled_from(KEPT)).format(*numbers)
    window, shown = draw(st.sampled_from(WINDOWS)), draw(st.sampled_from(SHOWN))
    keys = draw(st.sampled_from(("k", "k, t", "upper(k) AS u", "")))
    grouped = f" GROUP BY {keys.removesuffix(' AS u')}" if keys else ""
    columns = f"{keys}, {shown}" if keys else shown
    return f"SELECT {columns} FROM s [{window}]{where}{grouped}{having}"


@dataclass(frozen=True)
class Life:
    """A query, before which train it comes, and before which it goes."""

    sql: str
    comes: int
    goes: int


TRAINS = 6
FEWEST_LIVES = 10 if IS_WHOLE else 6


@st.composite
def lives(draw: st.DrawFn) -> Life:
    comes = draw(st.sampled_from((0, 0, 0, 1, 3, 4)))
    return Life(draw(queries()), comes, draw(st.integers(comes + 1, 2 * TRAINS)))


def settled(ps: Connection, rows: int, but: Set[str] = frozenset()) -> None:
    """Wait until a number of rows has come in and been read by everyone, but for some."""

    def all_read() -> bool:
        seen = stream_figures(ps, "s")
        others = (row for row in rows_of(ps.sql("SHOW QUERIES").table) if row["query"] not in but)
        return seen["rows"] >= rows and not any(row["queued_rows"] for row in others)

    def settled_twice() -> bool:
        before = all_read()
        with ps.system.quiescence.quiesced():
            pass  # a train that is being read stands in its buffer now
        return before and all_read()

    until(ps, settled_twice)


def answers(
    spark: SparkSession, home: Path, asked: Sequence[Life], seed: int, *, share: bool
) -> list[tuple[Counter[Any], int]]:
    """Return what each query delivered, and how many tuples came too late for it."""
    settings = Settings(share=share, checkpoint_seconds=0.5)
    found: dict[int, tuple[Counter[Any], int]] = {}
    with penstock.connect(home, spark=spark, settings=settings) as ps:
        ps.script(f"{STREAM}; CREATE QUERY always AS SELECT k FROM s WHERE n < 0")
        for train in range(TRAINS):
            coming = [n for n, life in enumerate(asked) if life.comes == train]
            for number in (n for n, life in enumerate(asked) if life.goes == train):
                found[number] = answer(ps, number)
                ps.sql(f"DROP QUERY q{number}")
            if coming:
                ps.script(";".join(f"CREATE QUERY q{n} AS {asked[n].sql}" for n in coming))
            rows = some_rows(seed, train)
            ps.push("s", rows)
            settled(ps, (train + 1) * len(rows))
        ps.end("s")
        finish(ps)
        found |= {n: answer(ps, n) for n in range(len(asked)) if n not in found}
    return [found[number] for number in range(len(asked))]


def answer(ps: Connection, number: int) -> tuple[Counter[Any], int]:
    shown = figures(ps, f"q{number}")
    assert shown["state"] in ("RUNNING", "FINISHED"), shown["cause"]
    return bag(results(ps, f"q{number}")), shown["late_rows"]


@pytest.mark.timeout(900)
@settings(LAW, max_examples=3)  # each of many queries, so that every form is among them
@given(
    st.lists(lives(), min_size=FEWEST_LIVES, max_size=FEWEST_LIVES + 4),
    st.integers(0, 9),
    st.booleans(),
)
def test_sharing_changes_no_answer(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    asked: list[Life],
    seed: int,
    arrow: bool,
) -> None:
    home = tmp_path_factory.mktemp("bundles")
    with ExitStack() as patches:
        # Lots so small that who leaves lets others be laid together.
        for module in (bundles, regrouping):
            patches.enter_context(mock.patch.object(module, "A_LOT", 2))
        if not arrow:  # Spark does it all
            patches.enter_context(mock.patch.object(passes, "scan_places", return_value=[]))
            patches.enter_context(mock.patch.object(closing_small, "FEW", -1))
        together = answers(spark, home / "together", asked, seed, share=True)
    alone = answers(spark, home / "alone", asked, seed, share=False)
    for life, mine, theirs in zip(asked, together, alone, strict=True):
        assert mine == theirs, life


def test_who_stops_a_bundle_is_held_and_the_others_go_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    windows = "SELECT k, count(*) AS c FROM s [RANGE 6 SECONDS] WHERE {0} GROUP BY k"
    flows = "SELECT k FROM s WHERE {0}"
    asked = {f"w{n}": windows.format(f"x > {n}") for n in range(4)}
    asked |= {f"f{n}": flows.format(f"x > {n}") for n in range(4)}
    asked |= {"careful": windows.format("12 / (n + 1) > 3")}
    bad = {"w_bad": windows.format("12 / n > 3"), "f_bad": flows.format("12 / n > 3")}
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        creates = [f"CREATE QUERY {name} AS {sql}" for name, sql in (asked | bad).items()]
        ps.script(";".join([STREAM, *creates]))
        for train in range(3):
            rows = [row | {"n": 1 + train % 2} for row in some_rows(1, train)]
            rows[0]["n"] = 0 if train == 1 else 1  # the second train stops them
            ps.push("s", rows)
            settled(ps, 40 * (train + 1), but=set(bad))
        ps.end("s")
        finish(ps, held=bad)
        for name in bad:
            held = figures(ps, name)
            assert held["state"] == "FAILED"
            assert "Division by zero" in held["cause"]
            assert "train 2" in held["cause"]
        for name, sql in asked.items():
            assert figures(ps, name)["state"] == "FINISHED"
            assert sum(bag(results(ps, name)).values()) > 0, sql


def test_what_arrow_would_not_say_as_spark_does_is_asked_of_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    shown = (
        "k, max(x) AS h, min(x) AS l",
        "t, sum(CAST(n AS DECIMAL(10, 2))) AS d, count(*) AS c",
        "make_dt_interval(0, 0, n) AS i, sum(x) AS s",
        "x, count(*) AS c, sum(CAST(n AS BIGINT) * 100000000000000000) AS b",
    )
    asked = [
        f"SELECT {each} FROM s [RANGE 6 SECONDS] GROUP BY {each.split(' AS ')[0].split(', max')[0]}"
        for each in (*shown[:1], *shown[2:3])
    ]
    asked += [
        f"SELECT {shown[1]} FROM s [RANGE 6 SECONDS] WHERE n > 1 GROUP BY t",
        f"SELECT {shown[3]} FROM s [RANGE 6 SECONDS] GROUP BY x",
    ]
    rows = [row | {"x": math.nan if row["n"] == 3 else row["x"]} for row in some_rows(5, 0)]
    found = []
    for share in (True, False):
        settings = Settings(share=share)
        home = tmp_path / str(share)
        with penstock.connect(home, spark=spark, settings=settings) as ps:
            creates = [f"CREATE QUERY q{n} AS {sql}" for n, sql in enumerate(asked)]
            ps.script(";".join([STREAM, *creates]))
            ps.push("s", rows)
            ps.end("s")
            finish(ps)
            names = [f"q{n}" for n in range(len(asked))]
            assert {figures(ps, name)["state"] for name in names} == {"FINISHED"}
            found.append([sorted(map(str, rows_of(results(ps, name)))) for name in names])
    together, alone = found
    assert together == alone
    assert "nan" in str(together)


def test_lots_that_were_left_are_laid_together_at_a_checkpoint(
    spark: SparkSession, tmp_path: Path
) -> None:
    sql = "SELECT k, count(*) AS c FROM s [RANGE 20 SECONDS] WHERE n % {0} = 0 GROUP BY k"
    settings = Settings(checkpoint_seconds=0.2)
    with ExitStack() as patches:
        for module in (bundles, regrouping):
            patches.enter_context(mock.patch.object(module, "A_LOT", 2))
        ps = patches.enter_context(
            penstock.connect(tmp_path / "home", spark=spark, settings=settings)
        )
        creates = [f"CREATE QUERY q{n} AS {sql.format(n)}" for n in (1, 2, 3, 4)]
        ps.script(";".join([STREAM, *creates]))
        ps.push("s", some_rows(4, 0))
        settled(ps, 40)
        lots = {member.key: member.lot for member in members_in(ps)}
        assert sorted(lots.values()) == [0, 0, 1, 1]
        names = {key(ps.system.topology.queries[f"q{n}"].root): n for n in (1, 2, 3, 4)}
        gone = [next(names[root] for root in lots if lots[root] == lot) for lot in (0, 1)]
        for n in gone:
            ps.sql(f"DROP QUERY q{n}")
        until(ps, lambda: len({member.lot for member in members_in(ps)}) == 1)
        ps.push("s", some_rows(4, 1))
        ps.end("s")
        finish(ps)
        rows = [*some_rows(4, 0), *some_rows(4, 1)]
        for n in {1, 2, 3, 4} - set(gone):
            counted = sum(row["c"] for row in rows_of(results(ps, f"q{n}")))
            assert counted == sum(row["n"] % n == 0 for row in rows)


def members_in(ps: Connection) -> list[Member]:
    """Return the members of the one bundle."""
    with ps.system.supervisor.resting():
        found = [live.unit.bundle for live in ps.system.topology.units.values()]
    (bundle_,) = [each for each in found if isinstance(each, Bundle)]
    return list(bundle_.members)


def test_a_slow_sink_slows_nobody_and_says_what_it_missed(
    spark: SparkSession, tmp_path: Path
) -> None:
    release, bounds = threading.Event(), BufferBounds(queue_bytes=200)
    with penstock.connect(tmp_path / "home", spark=spark, bounds=bounds) as ps:
        sql = "SELECT k, count(*) AS c FROM s [RANGE 2 SECONDS] WHERE n > {0} GROUP BY k"
        creates = [f"CREATE QUERY q{n} AS {sql.format(n)}" for n in (0, 1)]
        ps.script(";".join([STREAM, *creates]))
        ps.callback("q0", lambda *_: release.wait(PATIENCE))
        for train in range(8):
            ps.push("s", some_rows(3, train))
            settled(ps, 40 * (train + 1), but={"q0"})
        assert figures(ps, "q1")["rows_out"] > 8
        until(ps, lambda: figures(ps, "q0")["state"] == "FAILED")
        held = figures(ps, "q0")
        assert "rows that waited for it were left out" in held["cause"]
        release.set()
        ps.sql("RESUME QUERY q0")
        ps.end("s")
        finish(ps)
        assert figures(ps, "q0")["state"] == "FINISHED"


def test_a_punctuation_closes_the_windows_of_members_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        sql = "SELECT k, count(*) AS c FROM s [RANGE 1 HOUR] WHERE n > {0} GROUP BY k"
        creates = [f"CREATE QUERY q{n} AS {sql.format(n)}" for n in (0, 1)]
        ps.script(";".join([STREAM, *creates]))
        rows = some_rows(2, 0)
        ps.push("s", rows)
        settled(ps, len(rows))
        ps.punctuate("s", "k = 'a'")
        until(ps, lambda: all(figures(ps, f"q{n}")["rows_out"] for n in (0, 1)))
        for n in (0, 1):
            wanted = sum(row["k"] == "a" and row["n"] > n for row in rows)
            assert bag(results(ps, f"q{n}")) == Counter({("a", wanted): 1})


def test_who_comes_back_to_a_bundle_begins_anew(spark: SparkSession, tmp_path: Path) -> None:
    sql = "SELECT k, count(*) AS c FROM s [RANGE 6 SECONDS] WHERE n > {0} GROUP BY k"
    creates = [f"CREATE QUERY q{n} AS {sql.format(n)}" for n in (0, 1)]
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(";".join([STREAM, *creates]))
        for train in range(3):
            if train == 1:
                ps.sql("DROP QUERY q1")
            if train == 2:
                ps.sql(creates[1])
            ps.push("s", some_rows(3, train))
            settled(ps, 40 * (train + 1))
        assert [figures(ps, f"q{n}")["rows_in"] for n in (0, 1)] == [120, 40]
        ps.end("s")
        finish(ps)
