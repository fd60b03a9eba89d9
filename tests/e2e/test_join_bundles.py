"""Joins of the same streams that run as one give what each gives alone, whoever comes or goes."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.plan.operators import JoinBundle
from penstock.runtime.loop.supervisor import Settings
from tests.e2e.reference.trial import LAW
from tests.e2e.support import bag, figures, finish, results, rows_of, stream_figures, until
from tests.examples import IS_WHOLE

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = "".join(
    f"""CREATE STREAM {name} (ts TIMESTAMP, k STRING, n INT, x DOUBLE)
TIMESTAMP BY ts SLACK INTERVAL 3 SECONDS FROM push();"""
    for name in "ab"
)
TRAINS = 5
ROWS = 25


def some_rows(seed: int, train: int, stream: str) -> list[dict[str, Any]]:
    """Return the rows of a train; times overlap those of the trains around it."""
    made = random.Random(f"{seed} {train} {stream}")
    return [
        {
            "ts": BEGIN + timedelta(seconds=train * 6 + made.random() * 12),
            "k": made.choice(("a", "b", None)),
            "n": made.randrange(6),
            "x": made.choice((None, made.random() * 10)),
        }
        for _ in range(ROWS)
    ]


WINDOWS = st.sampled_from((1, 3, 8))
CONDITIONS = ("", "a.n > {0}", "b.n = {0} AND a.x > 2", "a.n + b.n > {0}", "a.n % 2 = 0")
SHOWN = ("a.ts, a.k, b.n AS m", "a.*, b.x AS y", "a.n + b.n AS s, 'at {0}' AS l")


@st.composite
def queries(draw: st.DrawFn) -> str:
    number = draw(st.integers(0, 4))
    shown = draw(st.sampled_from(SHOWN)).format(number)
    where = draw(st.sampled_from(CONDITIONS)).format(number)
    joined = f"a [RANGE {draw(WINDOWS)} SECONDS] JOIN b [RANGE {draw(WINDOWS)} SECONDS]"
    return f"SELECT {shown} FROM {joined} ON a.k = b.k" + (f" WHERE {where}" if where else "")


@dataclass(frozen=True)
class Life:
    """A query, before which train it comes, and before which it goes."""

    sql: str
    comes: int
    goes: int


@st.composite
def lives(draw: st.DrawFn) -> Life:
    comes = draw(st.sampled_from((0, 0, 1, 3)))
    return Life(draw(queries()), comes, draw(st.integers(comes + 1, 2 * TRAINS)))


def push(ps: Connection, seed: int, train: int) -> None:
    """Push a train into each stream, one after the other is read.

    What is late for a query that has just begun depends on whether its first run has both.
    """
    for name in "ab":
        ps.push(name, some_rows(seed, train, name))
        settle(ps, name, (train + 1) * ROWS)


def settle(ps: Connection, stream: str, rows: int) -> None:
    """Wait until a number of rows of a stream has come in and been read by everyone."""

    def all_read() -> bool:
        seen = stream_figures(ps, stream)["rows"]
        waiting = [row["queued_rows"] for row in rows_of(ps.sql("SHOW QUERIES").table)]
        return seen >= rows and not any(waiting)

    def settled_twice() -> bool:
        before = all_read()
        with ps.system.quiescence.quiesced():
            pass  # a train that is being read stands in its buffer now
        return before and all_read()

    until(ps, settled_twice)


Answer = tuple[Counter[Any], int]


def answers(
    spark: SparkSession, home: Path, asked: Sequence[Life], seed: int, *, share: bool
) -> list[Answer]:
    """Return what each query delivered, and how many tuples came too late for it.

    Half-way everything is closed and opened again.
    """
    settings = Settings(share=share, checkpoint_seconds=0.5)
    found: dict[int, Answer] = {}
    for trains in (range(TRAINS // 2), range(TRAINS // 2, TRAINS)):
        with penstock.connect(home, spark=spark, settings=settings) as ps:
            if trains.start == 0:
                ps.script(f"{STREAMS} CREATE QUERY always AS SELECT k FROM a WHERE n < 0")
                ps.sql("CREATE QUERY also AS SELECT k FROM b WHERE n < 0")
            for train in trains:
                for number in (n for n, life in enumerate(asked) if life.goes == train):
                    found[number] = answer(ps, number)
                    ps.sql(f"DROP QUERY q{number}")
                coming = [n for n, life in enumerate(asked) if life.comes == train]
                if coming:
                    ps.script(";".join(f"CREATE QUERY q{n} AS {asked[n].sql}" for n in coming))
                push(ps, seed, train)
            if train == TRAINS - 1:
                for name in "ab":
                    ps.end(name)
                finish(ps)
                found |= {n: answer(ps, n) for n in range(len(asked)) if n not in found}
    return [found[number] for number in range(len(asked))]


def answer(ps: Connection, number: int) -> Answer:
    shown = figures(ps, f"q{number}")
    assert shown["state"] in ("RUNNING", "FINISHED"), shown["cause"]
    return bag(results(ps, f"q{number}")), shown["late_rows"]


@pytest.mark.timeout(600)
@settings(LAW, max_examples=12 if IS_WHOLE else 2)
@given(st.lists(lives(), min_size=5, max_size=8), st.integers(0, 9))
def test_sharing_a_join_changes_no_answer(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    asked: list[Life],
    seed: int,
) -> None:
    home = tmp_path_factory.mktemp("joins")
    together = answers(spark, home / "together", asked, seed, share=True)
    alone = answers(spark, home / "alone", asked, seed, share=False)
    for life, mine, theirs in zip(asked, together, alone, strict=True):
        assert mine == theirs, life


def bundles(ps: Connection) -> list[int]:
    """Return how many members each bundle of joins has."""
    units = [live.unit.bundle for live in ps.system.supervisor.topology.units.values()]
    return [len(each.members) for each in units if isinstance(each, JoinBundle)]


PAIRS = "SELECT a.n AS n, b.n AS m FROM a [RANGE {0} SECONDS] JOIN b [RANGE 2 SECONDS] ON a.k = b.k"

OWN = (
    "SELECT p.n AS n, q.n AS m FROM a [RANGE {0} SECONDS] p JOIN a [RANGE 1 SECOND] q ON p.k = q.k"
)


def test_who_stops_a_join_is_held_and_the_others_go_on(spark: SparkSession, tmp_path: Path) -> None:
    asked = {f"q{n}": PAIRS.format(n) for n in (1, 3)}
    asked["bad"] = PAIRS.format(2) + " WHERE 12 / a.n > 3"
    asked |= {f"own{n}": OWN.format(n) for n in (1, 2)}
    found: dict[bool, dict[str, Counter[Any]]] = {}
    for share in (True, False):
        settings = Settings(share=share)
        with penstock.connect(tmp_path / f"{share}", spark=spark, settings=settings) as ps:
            ps.script(STREAMS + ";".join(f"CREATE QUERY {n} AS {sql}" for n, sql in asked.items()))
            assert sorted(bundles(ps)) == ([2, 3] if share else [])
            for train in (0, 2):  # which have no time in common: nothing is late, read as it may
                for name in "ab":
                    ps.push(name, some_rows(1, train, name))
            for name in "ab":
                ps.end(name)
            finish(ps, held={"bad"})
            assert figures(ps, "bad")["state"] == "FAILED"
            found[share] = {name: bag(results(ps, name)) for name in asked if name != "bad"}
    assert found[True] == found[False]
    assert all(found[True].values())


def test_a_join_that_has_run_alone_brings_its_rows_into_a_bundle(
    spark: SparkSession, tmp_path: Path
) -> None:
    counts = []
    for share in (True, False):
        settings = Settings(share=share)
        with penstock.connect(tmp_path / f"{share}", spark=spark, settings=settings) as ps:
            ps.script(STREAMS + f"CREATE QUERY q8 AS {PAIRS.format(8)}")
            for train, window in enumerate((1, 2, 3)):
                push(ps, 2, train)
                assert bundles(ps) == ([train + 1] if share and train else [])
                ps.sql(f"CREATE QUERY q{window} AS {PAIRS.format(window)}")
            ps.sql("DROP QUERY q8")
            push(ps, 2, 3)
            explained, shared = ps.sql("EXPLAIN q2").message, str(ps.sql("SHOW SHARING").table)
            for name in "ab":
                ps.end(name)
            finish(ps)
            counts.append([bag(results(ps, f"q{window}")) for window in (1, 2, 3)])
            assert ("bundle of joins on k = k" in shared) == share
            assert ("keeps a tuple once" in explained) == share
    assert counts[0] == counts[1]
    assert all(counts[0])


def test_a_punctuated_stream_ends_a_bundle_of_joins(spark: SparkSession, tmp_path: Path) -> None:
    found = []
    for share in (True, False):
        settings = Settings(share=share)
        with penstock.connect(tmp_path / f"{share}", spark=spark, settings=settings) as ps:
            creates = ";".join(f"CREATE QUERY q{n} AS {PAIRS.format(n)}" for n in (1, 2))
            ps.script(STREAMS + creates)
            push(ps, 3, 0)
            ps.sql("PUNCTUATE a WHERE k = 'a'")
            for name in "ab":
                ps.push(name, [row for row in some_rows(3, 1, name) if row["k"] != "a"])
            for name in "ab":
                ps.end(name)
            finish(ps)
            assert bundles(ps) == []
            found.append([bag(results(ps, f"q{n}")) for n in (1, 2)])
    assert found[0] == found[1]
    assert all(found[0])
