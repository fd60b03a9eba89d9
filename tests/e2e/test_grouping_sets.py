"""ROLLUP, CUBE and GROUPING SETS give Spark's own rows, window by window, over every window."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from tests.e2e.oracle.batch import Batch
from tests.e2e.oracle.data import COLUMNS, as_table, make_rows
from tests.e2e.oracle.queries import Query
from tests.e2e.support import EACH_TRAIN_ALONE, bag, figures, finish, results, rows_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

AGGREGATES = "count(*) AS n, sum(d) AS total, max(k) AS most, median(x) AS middle"
KEPT = "count(*) AS n, avg(b) AS mean, count(DISTINCT g) AS gs, stddev(n) AS spread"
TOLD = "grouping(k) AS no_k, grouping(g) AS no_g, grouping_id() AS id"
# The keys that are shown, the clause, what is computed.
GROUPINGS = (
    ("k, g", "ROLLUP (k, g)", f"{TOLD}, {KEPT}"),
    ("k, g", "k, g WITH ROLLUP", KEPT),
    ("k, g", "CUBE (k, g)", f"{TOLD}, {AGGREGATES}"),
    ("k, g", "GROUPING SETS ((g), (k, g), (), ())", f"{TOLD}, {KEPT}"),
    ("k, g, flag", "flag, GROUPING SETS ((k, flag), g)", f"{TOLD}, {AGGREGATES}"),
    ("upper(k) AS k, g % 2 AS g", "ROLLUP (upper(k), g % 2)", f"grouping(g % 2) AS no, {KEPT}"),
    ("flag, g, k", "ROLLUP (flag), CUBE (g, k)", f"grouping_id() AS id, {KEPT}"),
    ("k", "k, g GROUPING SETS ((k), (g))", f"{TOLD}, {KEPT}"),
    ("k, g", "k, g GROUPING SETS ((k))", f"{TOLD}, {KEPT}"),
    ("k, g", "ROLLUP (k), g", f"{TOLD}, {KEPT}"),
    ("k", "ROLLUP (k) HAVING grouping(k) = 1 OR count(*) > 3", KEPT),
)
# Forms that Spark takes by themselves only, as they are written beside the window.
BESIDE_OTHERS = {
    "k, g WITH ROLLUP": "ROLLUP (k, g)",
    "k, g GROUPING SETS ((k), (g))": "GROUPING SETS ((k), (g))",
    "k, g GROUPING SETS ((k))": "k, g GROUPING SETS ((w, k))",
}
SPANS = (("60 seconds", "60 seconds"), ("30 seconds", "10 seconds"))
CONTENT = ("ROWS 20 SLIDE 5", "SESSION GAP 2 SECONDS", "PARTITION BY g ROWS 7", "WHEN count(*) = 4")
CONTENT += ("LANDMARK FROM TIMESTAMP '2026-03-01 11:57:00' EVERY 1 MINUTE",)
SETS = ("(k, g)", "(g)", "()")
ROWS_A_TRAIN = 110  # two trains and three


def test_grouping_sets_of_spans_equal_the_batch(spark: SparkSession, tmp_path: Path) -> None:
    queries = [both(f"q{at}", *SPANS[at % 2], *each) for at, each in enumerate(GROUPINGS)]
    whole = as_table(make_rows(17, 300))
    batch = Batch(spark)
    batch.see({"s": whole})
    with penstock.connect(tmp_path, spark=spark, settings=EACH_TRAIN_ALONE) as ps:
        run(ps, whole, {query.name: query.stream for query in queries})
        for query, expected in batch.answers(queries):
            found = results(ps, query.name)
            assert bag(found) == bag(expected), query.stream
            assert found.schema.types == expected.schema.types, query.stream
            assert found.num_rows, query.stream


def both(name: str, size: str, slide: str, keys: str, group: str, computed: str) -> Query:
    """Return a query in both languages."""
    clause, _, having = group.partition(" HAVING ")
    having = f" HAVING {having}" if having else ""
    return Query(
        name,
        f"SELECT window_start AS w, {keys}, {computed} FROM s [RANGE {size} SLIDE {slide}] "
        f"GROUP BY {clause}{having}",
        f"SELECT w, {keys}, {computed} "
        f"FROM (SELECT *, window(ts, '{size}', '{slide}').start AS w FROM s) "
        f"GROUP BY w, {BESIDE_OTHERS.get(clause, clause)}{having}",
    )


def test_grouping_sets_equal_the_groupings_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    """The windows that Spark does not have: each set is what a GROUP BY of its keys gives."""
    whole = as_table(make_rows(18, 160, minutes=3))
    queries: dict[str, str] = {}
    for at, window in enumerate(CONTENT):
        select = f"count(*) AS n, sum(b) AS total, max(k) AS most, median(x) AS m FROM s [{window}]"
        bounds = "window_start, window_end"
        queries[f"all{at}"] = (
            f"SELECT {bounds}, k, g, {select} GROUP BY GROUPING SETS ({', '.join(SETS)})"
        )
        for place, keys in enumerate(SETS):
            shown = ", ".join(
                key if key in keys else f"CAST(NULL AS {kind}) AS {key}"
                for key, kind in (("k", "STRING"), ("g", "INT"))
            )
            group = f" GROUP BY {keys[1:-1]}" if keys != "()" else ""
            queries[f"one{at}_{place}"] = f"SELECT {bounds}, {shown}, {select}{group}"
    with penstock.connect(tmp_path, spark=spark, settings=EACH_TRAIN_ALONE) as ps:
        run(ps, whole, queries)
        for at, window in enumerate(CONTENT):
            found = bag(results(ps, f"all{at}"))
            one_by_one: Counter[tuple[Any, ...]] = Counter()
            for place in range(len(SETS)):
                one_by_one += bag(results(ps, f"one{at}_{place}"))
            assert found == one_by_one, window
            assert found, window


def test_a_late_tuple_is_late_once(spark: SparkSession, tmp_path: Path) -> None:
    rows = make_rows(19, 300)
    with penstock.connect(tmp_path, spark=spark, settings=EACH_TRAIN_ALONE) as ps:
        run(
            ps,
            as_table(rows),
            {
                "rolled": "SELECT k, count(*) AS n FROM s [RANGE 5 SECONDS] GROUP BY CUBE (k, g)",
                "plain": "SELECT count(*) AS n FROM s [RANGE 5 SECONDS]",
            },
            slack="1 SECOND",
        )
        assert figures(ps, "rolled")["late_rows"] == figures(ps, "plain")["late_rows"] > 0
        late = [rows_of(ps.sql(f"SELECT * FROM {name}.late").table) for name in ("rolled", "plain")]
        assert bag(pa.Table.from_pylist(late[0])) == bag(pa.Table.from_pylist(late[1]))


def run(
    ps: Connection, whole: pa.Table, queries: dict[str, str], slack: str = "10 SECONDS"
) -> None:
    """Run queries over a stream of these rows, cut into trains, to its end."""
    ps.script(
        f"CREATE STREAM s ({COLUMNS.ddl()}) TIMESTAMP BY ts SLACK INTERVAL {slack} "
        "FROM push(rows_per_train => 1);"
        + "".join(f"CREATE QUERY {name} AS {text};" for name, text in queries.items())
    )
    for start in range(0, whole.num_rows, ROWS_A_TRAIN):
        ps.push("s", whole.slice(start, ROWS_A_TRAIN))
    ps.end("s")
    finish(ps)
    for name in queries:
        assert figures(ps, name)["state"] == "FINISHED", figures(ps, name)
