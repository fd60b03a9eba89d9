"""Changes while rows flow, the ways out, and the caller's Spark."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from penstock.runtime.durable.result_row import START
from penstock.runtime.work.subscription import Subscription
from tests.e2e.numbered import STREAM, Opener, arrive, code, numbers, push, state
from tests.e2e.support import (
    PATIENCE,
    figures,
    finish,
    until,
)

pytestmark = pytest.mark.spark


# -- changes while rows flow ----------------------------------------------------------------


@contextmanager
def flowing(ps: Connection) -> Iterator[list[int]]:
    """Push one row after the other until the end of the block; give the numbers."""
    pushed: list[int] = []
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            push(ps, len(pushed))
            pushed.append(len(pushed))
            time.sleep(0.005)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield pushed
    finally:
        over.set()
        thread.join()


def test_queries_that_come_and_go_leave_the_others_alone(ps: Connection) -> None:
    ps.sql(
        STREAM + "CREATE QUERY a AS SELECT n FROM s WHERE n >= 0 AND k = 'a';"
        "CREATE QUERY w AS SELECT window_start AS w, count(*) AS n FROM s [RANGE 10 SECONDS]"
    )
    with flowing(ps) as pushed:
        for number in range(4):
            until(ps, lambda number=number: len(pushed) > 20 * number)
            x, y = f"x{number}", f"y{number}"
            ps.sql(f"CREATE QUERY {x} AS SELECT n + 1 AS {x} FROM s WHERE k = 'a' AND n >= 0")
            ps.sql(f"CREATE QUERY {y} AS SELECT max(n) AS {y} FROM s [RANGE 5 SECONDS]")
            if number:
                ps.sql(f"DROP QUERY x{number - 1}; DROP QUERY y{number - 1}")
    ps.end("s")
    finish(ps)
    assert numbers(ps, "a") == pushed
    counted = numbers(ps, "w")
    assert sum(counted) == len(pushed)
    assert counted[:-1] == [10] * (len(counted) - 1)


def test_a_second_query_that_shares_a_filter_cuts_the_first_without_loss(ps: Connection) -> None:
    ps.sql(STREAM + "CREATE QUERY a AS SELECT n, k FROM s WHERE n % 2 = 0")
    with flowing(ps) as pushed:
        until(ps, lambda: len(numbers(ps, "a")) > 10)
        ps.sql("CREATE QUERY b AS SELECT n FROM s WHERE n % 2 = 0")
        assert "(shared with b)" in ps.sql("EXPLAIN a").message
        until(ps, lambda: len(numbers(ps, "b")) > 10)
    ps.end("s")
    finish(ps)
    even = [n for n in pushed if n % 2 == 0]
    assert numbers(ps, "a") == even
    second = numbers(ps, "b")
    assert second == even[-len(second) :]


def test_a_second_query_over_the_same_windows_shares_their_state(ps: Connection) -> None:
    ps.sql(
        STREAM + "CREATE QUERY a AS SELECT window_start, count(*) AS n FROM s [RANGE 10 SECONDS]"
    )
    push(ps, *range(5))
    until(ps, lambda: figures(ps, "a")["rows_in"] == 5)
    ps.sql("CREATE QUERY b AS SELECT window_end, count(*) + 1 AS n FROM s [RANGE 10 SECONDS]")
    push(ps, *range(5, 12))
    assert arrive(ps, "a", 1) == [10]
    assert arrive(ps, "b", 1) == [11]


# -- ways out -----------------------------------------------------------------------------


def next_number(subscription: Subscription) -> int:
    found = subscription.next(PATIENCE)
    assert found is not None
    return int(found["n"])


def test_a_subscriber_reads_from_the_start_from_now_or_from_a_position(ps: Connection) -> None:
    ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s")
    push(ps, 1, 2)
    push(ps, 3)
    arrive(ps, "q", 3)
    with ps.subscribe("q") as everything:
        assert [next_number(everything) for _ in range(2)] == [1, 2]
        second = everything.position
        assert next_number(everything) == 3
    with ps.subscribe("q", after=second) as rest, ps.subscribe("q", after=None) as new:
        push(ps, 4)
        assert [next_number(rest) for _ in range(2)] == [3, 4]
        assert next_number(new) == 4
        assert rest.position == new.position > START


def test_a_subscriber_goes_on_over_a_restart_by_its_position(opener: Opener) -> None:
    with opener() as ps:
        ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s")
        push(ps, 1, 2, 3)
        arrive(ps, "q", 3)
        with ps.subscribe("q") as subscription:
            seen, position = [next_number(subscription)], subscription.position
    with opener() as ps:
        push(ps, 4)
        ps.end("s")
        finish(ps)
        seen += [each["n"] for each in ps.subscribe("q", after=position)]
    assert seen == [1, 2, 3, 4]


def test_a_callback_is_called_once_a_delivery_and_holds_its_query_when_it_raises(
    ps: Connection,
) -> None:
    seen: list[tuple[int, list[int]]] = []
    broken = threading.Event()

    def call(rows: pa.Table, number: int) -> None:
        if broken.is_set():
            raise ValueError("broken")
        seen.append((number, rows["n"].to_pylist()))

    ps.sql(STREAM + "CREATE QUERY q AS SELECT n FROM s; CREATE QUERY other AS SELECT n FROM s")
    ps.callback("q", call)
    push(ps, 1)
    until(ps, lambda: seen == [(1, [1])])
    broken.set()
    push(ps, 2)
    until(ps, lambda: state(ps, "q") == "FAILED")
    push(ps, 3)
    assert arrive(ps, "other", 3) == [1, 2, 3]
    broken.clear()
    ps.sql("RESUME QUERY q")
    until(ps, lambda: [n for _, rows in seen for n in rows] == [1, 2, 3])
    assert [number for number, _ in seen] == sorted({number for number, _ in seen})


def test_a_tap_sees_every_delivery_of_every_query(ps: Connection) -> None:
    seen: list[tuple[str, int]] = []
    ps.tap(lambda delivery: seen.append((delivery.query, delivery.rows.num_rows)))
    ps.sql(
        STREAM + "CREATE QUERY a AS SELECT n FROM s; CREATE QUERY b AS SELECT n FROM s WHERE n > 1"
    )
    push(ps, 1, 2)
    until(ps, lambda: sorted(seen) == [("a", 2), ("b", 1)])


# -- inside the caller's Spark ----------------------------------------------------------------


def test_the_callers_spark_is_left_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    others = {each.name for each in spark.catalog.listTables()}
    spark.sql("SELECT 42 AS x").createOrReplaceTempView("mine")
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    before = dict(spark.conf.getAll)
    try:
        with penstock.connect(tmp_path / "home", spark=spark) as ps:
            ps.sql(
                STREAM
                + "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k"
            )
            push(ps, 1, 2)
            ps.end("s")
            finish(ps)
            assert numbers(ps, "q") == [2]
            assert {each.name for each in spark.catalog.listTables()} == others | {"mine"}
            assert code(ps, "SELECT * FROM mine") == "UNKNOWN_NAME"
        assert dict(spark.conf.getAll) == before
        assert spark.table("mine").collect()[0]["x"] == 42
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
        spark.catalog.dropTempView("mine")


def test_a_home_is_free_again_after_close_and_closing_twice_is_nothing(opener: Opener) -> None:
    ps = opener()
    with pytest.raises(PenstockError) as refused:
        opener()
    assert refused.value.code == "HOME_BUSY"
    ps.close()
    ps.close()
    opener().close()
